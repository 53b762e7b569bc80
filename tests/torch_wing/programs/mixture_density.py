"""A mixture density network: MixtureSameFamily, its likelihood by hand, draws, OneCycleLR."""

import math

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal
from torch.utils.data import DataLoader, TensorDataset, random_split


class MixtureDensityHead(nn.Module):
    def __init__(self, in_features, out_features, num_gaussians):
        super().__init__()
        self.out_features, self.num_gaussians = out_features, num_gaussians
        self.pi = nn.Sequential(nn.Linear(in_features, num_gaussians), nn.LogSoftmax(dim=1))
        self.mu = nn.Linear(in_features, out_features * num_gaussians)
        self.log_sigma = nn.Linear(in_features, out_features * num_gaussians)

    def forward(self, x):
        shape = (-1, self.num_gaussians, self.out_features)
        return self.pi(x), self.mu(x).view(*shape), self.log_sigma(x).view(*shape).clamp(-5, 3)


class MDN(nn.Module):
    def __init__(self, hidden=24, num_gaussians=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.ELU(inplace=True)
        )
        self.head = MixtureDensityHead(hidden, 2, num_gaussians)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_normal_(module.weight, gain=nn.init.calculate_gain("tanh"))
            nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.head(self.body(x))

    def distribution(self, x):
        log_pi, mu, log_sigma = self(x)
        components = Independent(Normal(mu, log_sigma.exp()), 1)
        return MixtureSameFamily(Categorical(logits=log_pi), components)


def gaussian_nll(log_pi, mu, log_sigma, y):
    z = (y.unsqueeze(1).expand_as(mu) - mu) * torch.exp(-log_sigma)
    log_prob = -0.5 * z.pow(2) - log_sigma - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(log_pi + log_prob.sum(dim=-1), dim=-1)


def build():
    return MDN()


def train(model):
    rng = np.random.default_rng(3)
    t = rng.uniform(0, 1, 120)
    x = t + 0.3 * np.sin(2 * np.pi * t) + rng.uniform(-0.1, 0.1, 120)
    data = TensorDataset(
        torch.from_numpy(x).float().unsqueeze(-1),
        torch.from_numpy(np.stack([t, np.cos(6 * t)], 1)).to(torch.float32),
    )
    train_set, valid_set = random_split(data, [0.8, 0.2], torch.Generator().manual_seed(0))
    assert len(train_set) == 96 and len(valid_set) == 24
    loader = DataLoader(data, batch_size=24, shuffle=False, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, steps_per_epoch=len(loader), epochs=4, pct_start=0.25
    )
    found = []
    for epoch in range(4):
        model.train()
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad(set_to_none=True)
            dist = model.distribution(xb)
            loss = -dist.log_prob(yb).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
            optimizer.step()
            scheduler.step()
            running += loss.item() * xb.size(0)
        found += [running / len(data), scheduler.get_last_lr()[0]]
    model.eval()
    with torch.no_grad():
        grid = torch.linspace(0, 1, 5).view(-1, 1)
        by_hand = gaussian_nll(*model(grid), torch.zeros(5, 2))
        dist = model.distribution(grid)
        assert torch.allclose(by_hand, -dist.log_prob(torch.zeros(5, 2)), atol=1e-4)
        draws = dist.sample((7,))
        assert draws.shape == (7, 5, 2) and draws.isfinite().all()
        found += by_hand.tolist() + dist.mean.flatten().tolist()
        found.append(dist.mixture_distribution.entropy().mean().item())
    return found
