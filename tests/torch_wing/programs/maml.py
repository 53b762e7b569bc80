"""MAML: weights as a dict, inner steps with create_graph, an outer step through them."""

import math
from collections import OrderedDict

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("l1", nn.Linear(1, 20)),
                    ("relu1", nn.ReLU()),
                    ("l2", nn.Linear(20, 20)),
                    ("relu2", nn.ReLU()),
                    ("l3", nn.Linear(20, 1)),
                ]
            )
        )

    def forward(self, x):
        return self.net(x)

    def argforward(self, x, weights):
        x = F.linear(x, weights[0], weights[1])
        x = F.relu(x)
        x = F.linear(x, weights[2], weights[3])
        x = F.relu(x)
        return F.linear(x, weights[4], weights[5])


def build():
    return Net()


def train(model):
    rng = np.random.default_rng(0)
    weights = list(model.parameters())
    meta_optimiser = torch.optim.Adam(weights, 1e-2)
    criterion = nn.MSELoss()
    losses = []
    for step in range(10):
        meta_loss = 0
        for task in range(3):
            amplitude, phase = rng.uniform(0.1, 5.0), rng.uniform(0, math.pi)
            x = torch.tensor(rng.uniform(-5, 5, (10, 1)), dtype=torch.float)
            y = amplitude * torch.sin(x + phase)
            temp_weights = [w.clone() for w in weights]
            for _ in range(2):
                loss = criterion(model.argforward(x[:5], temp_weights), y[:5])
                grad = torch.autograd.grad(loss, temp_weights, create_graph=True)
                temp_weights = [w - 0.01 * g for w, g in zip(temp_weights, grad)]
            meta_loss = meta_loss + criterion(model.argforward(x[5:], temp_weights), y[5:])
        meta_grads = torch.autograd.grad(meta_loss / 3, weights)
        for w, g in zip(weights, meta_grads):
            w.grad = g
        meta_optimiser.step()
        losses.append(meta_loss.item() / 3)
    return losses
