"""A Wasserstein GAN whose critic is held to a slope of 1: the penalty is a gradient, and is
differentiated once more."""

import numpy as np
import torch
import torch.nn as nn
from torch import autograd


def build():
    generator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
    critic = nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)
    )
    return nn.ModuleList([generator, critic])


def gradient_penalty(critic, real, fake, alpha):
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = critic(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True,
        retain_graph=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def train(models):
    generator, critic = models
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    rng = np.random.default_rng(0)

    def draw(*shape):
        return torch.tensor(rng.normal(size=shape), dtype=torch.float32)

    losses = []
    for _ in range(10):
        for _ in range(3):
            real = draw(32, 2) * 0.3 + torch.tensor([2.0, -1.0])
            fake = generator(draw(32, 2)).detach()
            alpha = torch.tensor(rng.uniform(size=(32, 1)), dtype=torch.float32)
            opt_d.zero_grad()
            penalty = gradient_penalty(critic, real.data, fake.data, alpha)
            d_loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
            d_loss.backward()
            opt_d.step()
        opt_g.zero_grad()
        g_loss = -critic(generator(draw(32, 2))).mean()
        g_loss.backward()
        opt_g.step()
        losses += [d_loss.item(), g_loss.item()]
    return losses
