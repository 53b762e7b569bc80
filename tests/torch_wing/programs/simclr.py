"""SimCLR: a projection head, NT-Xent by masks and -inf, LARS-like groups, warm restarts."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.projector = nn.Sequential(
            nn.Linear(16, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(inplace=True),
            nn.Linear(16, 8),
        )  # fmt: skip

    def forward(self, x):
        return self.projector(self.encoder(x))


def nt_xent(z_i, z_j, temperature=0.5):
    batch = z_i.shape[0]
    z = F.normalize(torch.cat([z_i, z_j], dim=0), dim=1)
    sim = z @ z.T / temperature
    mask = torch.eye(2 * batch, dtype=torch.bool, device=z.device)
    sim = sim.masked_fill(mask, float("-inf"))
    targets = torch.cat([torch.arange(batch, 2 * batch), torch.arange(batch)])
    return F.cross_entropy(sim, targets)


def info_nce_logits(features, temperature=0.5):
    labels = torch.cat([torch.arange(features.shape[0] // 2) for i in range(2)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    features = F.normalize(features, dim=1)
    similarity = torch.matmul(features, features.T)
    mask = torch.eye(labels.shape[0], dtype=torch.bool)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity = similarity[~mask].view(similarity.shape[0], -1)
    positives = similarity[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity[~labels.bool()].view(similarity.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1) / temperature
    return logits, torch.zeros(logits.shape[0], dtype=torch.long)


def build():
    return SimCLR()


def train(model):
    rng = np.random.default_rng(0)
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": 1e-2}, {"params": rest}]
    optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4)
    found = []
    for step in range(10):
        x = rng.normal(size=(8, 1, 6, 6))
        a = torch.tensor(x + 0.1 * rng.normal(size=x.shape)).float()
        b = torch.tensor(x + 0.1 * rng.normal(size=x.shape)).float()
        z_i, z_j = model(a), model(b)
        loss = nt_xent(z_i, z_j)
        logits, labels = info_nce_logits(torch.cat([z_i, z_j]))
        both = loss + F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        both.backward()
        optimizer.step()
        scheduler.step()
        top = logits.topk(1, dim=1)[1].squeeze().eq(labels).float().mean()
        found += [both.item(), top.item(), scheduler.get_last_lr()[0]]
    return found
