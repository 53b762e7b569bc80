"""A physics-informed network: u'' = -u, u(0) = 0, u'(0) = 1, from derivatives of the network."""

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1)
        )

    def forward(self, t):
        return self.net(t)


def build():
    return PINN()


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def train(model):
    t = torch.linspace(0, 2, 40).view(-1, 1).requires_grad_(True)
    start = torch.tensor(0.0).view(-1, 1).requires_grad_(True)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        u = model(t)
        dudt = derivative(u, t)
        d2udt2 = derivative(dudt, t)
        physics = torch.mean((d2udt2 + u) ** 2)
        u0 = model(start)
        boundary = (torch.squeeze(u0) - 0) ** 2 + (torch.squeeze(derivative(u0, start)) - 1) ** 2
        loss = physics + boundary
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
