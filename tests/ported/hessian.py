"""A Hessian, row by row, by differentiating a gradient; and one step of Newton's method."""

import torch


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def build():
    return {"x": torch.tensor([-1.2, 1.0, 0.8], dtype=torch.float64, requires_grad=True)}


def hessian(f, x):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    rows = []
    for i in range(x.numel()):
        (row,) = torch.autograd.grad(g[i], x, retain_graph=True)
        rows.append(row)
    return g.detach(), torch.stack(rows)


def train(p):
    x = p["x"]
    found = []
    for _ in range(12):
        g, h = hessian(rosenbrock, x)
        assert torch.allclose(h, h.T)
        with torch.no_grad():
            x -= torch.linalg.solve(h, g)
        found += [rosenbrock(x).item(), g.norm().item(), h.diagonal().sum().item()]
    return [*found, *x.tolist()]
