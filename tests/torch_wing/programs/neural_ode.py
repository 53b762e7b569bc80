"""A neural ODE on spirals: Runge-Kutta through the graph, and the adjoint as a Function."""

import numpy as np
import torch
import torch.nn as nn


class ODEFunc(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))
        self.nfe = 0
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y**3)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, t):
    solution = torch.empty(len(t), *y0.shape, dtype=y0.dtype, device=y0.device)
    states = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        states.append(rk4_step(func, t0, t1 - t0, states[-1]))
    solution[...] = torch.stack([s.detach() for s in states])
    return torch.stack(states, dim=0), solution


def flatten(tensors):
    return torch.cat([t.contiguous().view(-1) for t in tensors])


class Adjoint(torch.autograd.Function):
    """y(1) from y(0) by Euler steps; backward integrates the adjoint with the same steps."""

    @staticmethod
    def forward(ctx, y0, flat_params, func, steps):
        ctx.func, ctx.steps = func, steps
        with torch.no_grad():
            ys = [y0]
            for i in range(steps):
                ys.append(ys[-1] + func(i / steps, ys[-1]) / steps)
        ctx.save_for_backward(*ys[:-1])
        return ys[-1]

    @staticmethod
    def backward(ctx, grad_output):
        a, params = grad_output, tuple(ctx.func.parameters())
        total = torch.zeros_like(flatten(params))
        for i, y in reversed(list(enumerate(ctx.saved_tensors))):
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = ctx.func(i / ctx.steps, y)
                vjp_y, *vjp_params = torch.autograd.grad(f, (y, *params), a / ctx.steps)
            a = a + vjp_y
            total = total + flatten(vjp_params)
        return a, total, None, None


def build():
    return ODEFunc()


def train(func):
    rng = np.random.default_rng(0)
    true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    t = torch.linspace(0.0, 2.0, 12)
    with torch.no_grad():
        true_y, copy = odeint(lambda s, y: torch.mm(y**3, true_A), torch.tensor([[2.0, 0.0]]), t)
    assert torch.equal(true_y, copy)
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    found = []
    for itr in range(12):
        s = torch.from_numpy(rng.choice(np.arange(8, dtype=np.int64), 5, replace=False))
        batch_y0 = true_y[s]
        batch_t = t[:4]
        batch_y = torch.stack([true_y[s + i] for i in range(4)], dim=0)
        optimizer.zero_grad()
        pred_y, _ = odeint(func, batch_y0, batch_t)
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    found.append(func.nfe)
    y0 = torch.tensor([[1.0, 0.5]], requires_grad=True)
    end = Adjoint.apply(y0, flatten(list(func.parameters())), func, 6)
    end.square().sum().backward()
    found += y0.grad.flatten().tolist()
    found += [p.grad.norm().item() for p in func.parameters()]
    return found
