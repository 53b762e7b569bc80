"""A physics-informed network for Burgers' equation: second derivatives, Adam, then L-BFGS."""

from collections import OrderedDict

import numpy as np
import torch


class DNN(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.depth = len(layers) - 1
        self.activation = torch.nn.Tanh
        layer_list = []
        for i in range(self.depth - 1):
            layer_list.append((f"layer_{i}", torch.nn.Linear(layers[i], layers[i + 1])))
            layer_list.append((f"activation_{i}", self.activation()))
        layer_list.append((f"layer_{self.depth - 1}", torch.nn.Linear(layers[-2], layers[-1])))
        self.layers = torch.nn.Sequential(OrderedDict(layer_list))
        self.lambda_1 = torch.nn.Parameter(torch.tensor([0.0]))
        self.register_parameter("lambda_2", torch.nn.Parameter(torch.tensor([-4.0])))

    def forward(self, x):
        return self.layers(x)


class PhysicsInformedNN:
    def __init__(self, dnn, X, u, lb, ub):
        self.lb, self.ub = torch.tensor(lb).float(), torch.tensor(ub).float()
        self.x = torch.tensor(X[:, 0:1], dtype=torch.float32, requires_grad=True)
        self.t = torch.tensor(X[:, 1:2]).float().requires_grad_()
        self.u = torch.tensor(u).float()
        self.dnn = dnn
        self.optimizer = torch.optim.LBFGS(
            self.dnn.parameters(), lr=1.0, max_iter=6, max_eval=20, history_size=10,
            tolerance_grad=1e-5, tolerance_change=1.0 * np.finfo(float).eps,
            line_search_fn="strong_wolfe",
        )  # fmt: skip
        self.optimizer_Adam = torch.optim.Adam(self.dnn.parameters(), lr=5e-3)
        self.history = []

    def net_u(self, x, t):
        X = torch.cat([x, t], dim=1)
        return self.dnn(2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0)

    def net_f(self, x, t):
        lambda_1, lambda_2 = self.dnn.lambda_1, torch.exp(self.dnn.lambda_2)
        u = self.net_u(x, t)
        u_t = torch.autograd.grad(
            u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
        )[0]
        u_x = torch.autograd.grad(
            u, x, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
        )[0]
        u_xx = torch.autograd.grad(
            u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True
        )[0]
        return u_t + lambda_1 * u * u_x - lambda_2 * u_xx

    def loss(self):
        u_pred, f_pred = self.net_u(self.x, self.t), self.net_f(self.x, self.t)
        return torch.mean((self.u - u_pred) ** 2) + torch.mean(f_pred**2)

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        return loss

    def train(self, n):
        self.dnn.train()
        for _ in range(n):
            loss = self.loss()
            self.optimizer_Adam.zero_grad()
            loss.backward()
            self.optimizer_Adam.step()
            self.history += [loss.item(), self.dnn.lambda_1.item()]
        self.history.append(self.optimizer.step(self.closure).item())

    def predict(self, X):
        x = torch.tensor(X[:, 0:1], requires_grad=True).float()
        t = torch.tensor(X[:, 1:2], requires_grad=True).float()
        self.dnn.eval()
        u, f = self.net_u(x, t), self.net_f(x, t)
        return u.detach().cpu().numpy(), f.detach().cpu().numpy()


def build():
    return DNN([2, 12, 12, 1])


def train(dnn):
    rng = np.random.default_rng(1)
    X = np.stack([rng.uniform(-1, 1, 30), rng.uniform(0, 1, 30)], 1)
    u = -np.sin(np.pi * X[:, :1]) * np.exp(-X[:, 1:])
    model = PhysicsInformedNN(dnn, X, u, X.min(0), X.max(0))
    model.train(10)
    u_pred, f_pred = model.predict(X[:4])
    with torch.no_grad():
        error = torch.linalg.norm(torch.tensor(u[:4]) - torch.tensor(u_pred), 2) / 4
    return [*model.history, *u_pred.ravel().tolist(), float(np.abs(f_pred).mean()), error.item()]
