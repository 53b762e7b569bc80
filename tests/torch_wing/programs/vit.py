"""A vision transformer, distilled: patches by unfold and reshape, attention by hand, KL loss."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, img_size=8, patch_size=4, in_chans=1, embed_dim=12):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, dim, heads=3):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x):
        x = x + self.gamma * self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, dim=12, depth=2, classes=3):
        super().__init__()
        self.patch_embed = PatchEmbed(embed_dim=dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches + 1, dim))
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.02)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def build():
    teacher = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    return ViT(), teacher


def train(models):
    student, teacher = models
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(12, 1, 8, 8)), dtype=torch.float32)
    y = torch.tensor(rng.integers(0, 3, size=12))
    teacher.eval()
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
    rest = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=9)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, rest], milestones=[3])
    found = []
    for step in range(12):
        with torch.no_grad():
            soft = teacher(x)
        logits = student(x)
        T = 2.0
        kd = F.kl_div(F.log_softmax(logits / T, dim=1), F.softmax(soft / T, dim=1),
                      reduction="batchmean") * T * T  # fmt: skip
        loss = 0.5 * F.cross_entropy(logits, y) + 0.5 * kd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        found += [loss.item(), optimizer.param_groups[0]["lr"]]
    return found
