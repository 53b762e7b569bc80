"""Diffusion: a tiny U-Net with time embeddings, buffers of a schedule, sampling; AdamW, cosine."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        device = time.device
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, in_ch, out_ch, time_emb_dim):
        super().__init__()
        self.time_mlp = nn.Linear(time_emb_dim, out_ch)
        self.conv1 = nn.Conv2d(in_ch, out_ch, 3, padding=1)
        self.conv2 = nn.Conv2d(out_ch, out_ch, 3, padding=1)
        self.norm = nn.GroupNorm(2, out_ch)
        self.act = nn.SiLU()

    def forward(self, x, t):
        h = self.norm(self.act(self.conv1(x)))
        h = h + self.act(self.time_mlp(t))[(...,) + (None,) * 2]
        return self.act(self.conv2(h))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(8), nn.Linear(8, 8), nn.GELU())
        self.down = Block(1, 4, 8)
        self.pool = nn.MaxPool2d(2)
        self.mid = Block(4, 8, 8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.out_block = Block(8, 4, 8)
        self.out = nn.Conv2d(4, 1, 1)
        betas = torch.linspace(1e-4, 0.2, 20)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas_cumprod", alphas_cumprod)
        self.register_buffer("prev", F.pad(alphas_cumprod[:-1], (1, 0), value=1.0), False)

    def forward(self, x, timestep):
        t = self.time_mlp(timestep)
        a = self.down(x, t)
        b = self.mid(self.pool(a), t)
        return self.out(self.out_block(torch.cat([self.up(b), a], dim=1), t))


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


def build():
    return UNet()


def train(model):
    rng = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15)
    losses = []
    for _ in range(15):
        x0 = torch.from_numpy(np.sign(rng.normal(size=(6, 1, 8, 8))).astype("float32"))
        noise = torch.from_numpy(rng.normal(size=(6, 1, 8, 8)).astype("float32"))
        t = torch.from_numpy(rng.integers(0, 20, 6)).long()
        keep = extract(model.alphas_cumprod, t, x0.shape)
        noisy = keep.sqrt() * x0 + (1 - keep).sqrt() * noise
        loss = F.smooth_l1_loss(noise, model(noisy, t))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        img = torch.from_numpy(rng.normal(size=(1, 1, 8, 8)).astype("float32"))
        for i in reversed(range(20)):
            t = torch.full((1,), i, dtype=torch.long)
            beta = extract(model.betas, t, img.shape)
            keep = extract(model.alphas_cumprod, t, img.shape)
            mean = (img - beta * model(img, t) / torch.sqrt(1.0 - keep)) / torch.sqrt(1 - beta)
            variance = beta * (1.0 - extract(model.prev, t, img.shape)) / (1.0 - keep)
            z = torch.from_numpy(rng.normal(size=(1, 1, 8, 8)).astype("float32"))
            img = mean if i == 0 else mean + torch.sqrt(variance) * z
        img = img.clamp(-1, 1)
    return [*losses, img.mean().item(), img.std().item()]
