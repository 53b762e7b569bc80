"""Batch norm by hand, and its derivatives by hand beside autograd's."""

import numpy as np
import torch
import torch.nn.functional as F


def build():
    rng = np.random.default_rng(0)
    sizes = {"W1": (10, 20), "bngain": (1, 20), "bnbias": (1, 20), "W2": (20, 5), "b2": (5,)}
    draws = {name: torch.tensor(rng.normal(0, 0.3, s)).float() for name, s in sizes.items()}
    for p in draws.values():
        p.requires_grad = True
    return draws


def train(p):
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.normal(size=(32, 10)).astype(np.float32))
    y = torch.tensor(rng.integers(0, 5, 32))
    losses = []
    for step in range(30):
        hprebn = x @ p["W1"]
        bnmeani = hprebn.mean(0, keepdim=True)
        bnvar = hprebn.var(0, keepdim=True, unbiased=True)
        bnraw = (hprebn - bnmeani) * (bnvar + 1e-5) ** -0.5
        hpreact = p["bngain"] * bnraw + p["bnbias"]
        h = torch.tanh(hpreact)
        logits = h @ p["W2"] + p["b2"]
        loss = F.cross_entropy(logits, y)
        for t in p.values():
            t.grad = None
        logits.retain_grad()
        hprebn.retain_grad()
        loss.backward()

        n = x.shape[0]
        dlogits = F.softmax(logits, 1)
        dlogits = (dlogits - F.one_hot(y, num_classes=5).float()) / n
        dhpreact = (1 - h**2) * (dlogits @ p["W2"].T)
        dbnraw = p["bngain"] * dhpreact
        dhprebn = (
            (bnvar + 1e-5) ** -0.5
            / n
            * (n * dbnraw - dbnraw.sum(0) - n / (n - 1) * bnraw * (dbnraw * bnraw).sum(0))
        )
        assert torch.allclose(dlogits, logits.grad, atol=1e-6)
        assert torch.allclose(dhprebn, hprebn.grad, atol=1e-6)
        for t in p.values():
            t.data += -0.5 * t.grad
        losses.append(loss.item())
    return losses
