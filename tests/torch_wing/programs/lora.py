"""LoRA: a frozen base whose Linears are replaced by setattr, only the adapters trained, merged."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 2, alpha: int = 4):
        super().__init__()
        self.base = base
        self.base.weight.requires_grad = False
        if self.base.bias is not None:
            self.base.bias.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.lora_B @ self.lora_A * self.scaling
        return self.base


def inject(model, r=2):
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear):
            parent_name, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent_name), child, LoRALinear(module, r))
    return model


def build():
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 3)))
    for p in model.parameters():
        p.requires_grad_(False)
    return inject(model)


def train(model):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(20, 4)), dtype=torch.float32)
    y = torch.tensor(rng.integers(0, 3, 20))
    trainable = [p for p in model.parameters() if p.requires_grad]
    found = [len(trainable), sum(p.numel() for p in trainable), len(list(model.parameters()))]
    optimizer = torch.optim.AdamW(trainable, lr=5e-2, weight_decay=0.0)
    before = model[0].base.weight.clone()
    for _ in range(15):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    found.append(float(torch.equal(before, model[0].base.weight)))
    adapters = {k: v for k, v in model.state_dict().items() if "lora_" in k}
    found.append(len(adapters))
    wanted = model(x).detach()
    model[0] = model[0].merge()
    setattr(model[2], "0", model[2][0].merge())
    found.append(float(torch.allclose(model(x), wanted, atol=1e-5)))
    return found
