"""Two moons, parted by a network with a hinge loss, as micrograd's demo does it."""

import numpy as np
import torch
import torch.nn as nn


def data():
    rng = np.random.default_rng(1337)
    angle = rng.uniform(0, np.pi, 100)
    upper = np.stack([np.cos(angle[:50]), np.sin(angle[:50])], 1)
    lower = np.stack([1 - np.cos(angle[50:]), 0.5 - np.sin(angle[50:])], 1)
    x = np.concatenate([upper, lower]) + rng.normal(0, 0.1, (100, 2))
    y = np.array([-1.0] * 50 + [1.0] * 50)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def build():
    return nn.Sequential(
        nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)
    )


def train(model):
    x, y = data()
    losses = []
    for k in range(60):
        scores = model(x).squeeze(1)
        loss = (1 - y * scores).relu().mean()
        loss = loss + 1e-4 * sum((p * p).sum() for p in model.parameters())
        model.zero_grad()
        loss.backward()
        lr = 1.0 - 0.9 * k / 100
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * lr * p.grad
        losses.append(loss.item())
    right = ((model(x).squeeze(1) > 0) == (y > 0)).float().mean().item()
    return [*losses, right]
