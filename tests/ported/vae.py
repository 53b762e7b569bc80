"""A variational autoencoder: the reparametrisation trick, and a KL term in closed form."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc21 = nn.Linear(32, 2)
        self.fc22 = nn.Linear(32, 2)
        self.fc3 = nn.Linear(2, 32)
        self.fc4 = nn.Linear(32, 16)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar, eps):
        std = torch.exp(0.5 * logvar)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x, eps):
        mu, logvar = self.encode(x.view(-1, 16))
        z = self.reparameterize(mu, logvar, eps)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 16), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def build():
    return VAE()


def train(model):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, 64)
    images = np.zeros((64, 4, 4), np.float32)
    images[np.arange(64), rows] = 1
    loader = DataLoader(TensorDataset(torch.from_numpy(images)), batch_size=16, shuffle=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    model.train()
    for epoch in range(10):
        total = 0.0
        for batch_idx, (data,) in enumerate(loader):
            eps = torch.from_numpy(rng.normal(size=(len(data), 2)).astype(np.float32))
            optimizer.zero_grad()
            recon, mu, logvar = model(data, eps)
            loss = loss_function(recon, data, mu, logvar)
            loss.backward()
            total += loss.item()
            optimizer.step()
        losses.append(total / len(loader.dataset))
    return losses
