"""Distillation: soft targets, hints through forward hooks, attention maps, mixup, an EMA."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset


def conv_block(inp, out, stride=1):
    return nn.Sequential(
        nn.Conv2d(inp, out, 3, stride, 1, bias=False), nn.GroupNorm(2, out), nn.SiLU(inplace=True)
    )


class Net(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        self.stem = conv_block(1, width)
        self.stages = nn.ModuleDict({
            "one": nn.Sequential(conv_block(width, width), conv_block(width, width)),
            "two": conv_block(width, 2 * width, stride=2),
        })  # fmt: skip
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.flatten = nn.Flatten()
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages.values():
            x = stage(x)
        return self.head(self.flatten(self.pool(x)))


class Features:
    def __init__(self, model, names):
        self.found = {}
        self.handles = [
            dict(model.named_modules())[name].register_forward_hook(self.keep(name))
            for name in names
        ]

    def keep(self, name):
        def hook(module, inputs, output):
            self.found[name] = output

        return hook

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()


def attention(f):
    return F.normalize(f.pow(2).mean(1).flatten(1))


def kd_loss(student, teacher, labels, T=4.0, alpha=0.7):
    soft = nn.KLDivLoss(reduction="batchmean")(
        F.log_softmax(student / T, dim=1), F.softmax(teacher / T, dim=1)
    )
    hard = F.cross_entropy(student, labels, label_smoothing=0.05)
    return alpha * T * T * soft + (1 - alpha) * hard


def build():
    return Net(8), Net(4), nn.Conv2d(8, 16, 1)


def train(models):
    teacher, student, regressor = models
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(24, 1, 8, 8)).astype("float32"))
    y = torch.from_numpy(rng.integers(0, 4, 24)).long()
    full = TensorDataset(x, y)
    loader = DataLoader(ConcatDataset([Subset(full, range(12)), Subset(full, range(12, 24))]), 8)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=1e-2)
    found = []
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(teacher(inputs), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    teacher.eval().requires_grad_(False)
    params = [{"params": student.parameters()}, {"params": regressor.parameters(), "lr": 1e-2}]
    optimizer = torch.optim.SGD(params, lr=5e-2, momentum=0.9, weight_decay=1e-4)
    scheduler = SequentialLR(
        optimizer, [LinearLR(optimizer, 0.2, total_iters=3), CosineAnnealingLR(optimizer, 9)], [3]
    )
    ema = AveragedModel(student, avg_fn=get_ema_avg_fn(0.9))
    with Features(teacher, ["stages.two"]) as hints, Features(student, ["stages.two"]) as guided:
        for epoch in range(4):
            student.train()
            for inputs, labels in loader:
                lam = float(rng.beta(0.4, 0.4))
                perm = torch.from_numpy(rng.permutation(inputs.size(0)))
                mixed = torch.lerp(inputs[perm], inputs, lam)
                with torch.no_grad():
                    soft = teacher(mixed)
                out = student(mixed)
                loss = lam * kd_loss(out, soft, labels) + (1 - lam) * kd_loss(
                    out, soft, labels[perm]
                )
                target, made = hints.found["stages.two"], guided.found["stages.two"]
                loss = loss + F.smooth_l1_loss(regressor(made), target)
                loss = loss + (attention(made) - attention(target)).pow(2).mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                scheduler.step()
                ema.update_parameters(student)
                found += [loss.item(), optimizer.param_groups[1]["lr"]]
    student.eval()
    with torch.no_grad():
        agree = (ema.module(x).argmax(dim=-1) == teacher(x).argmax(dim=-1)).float().mean()
    return [*found, agree.item(), student(x).sum().item(), ema(x).sum().item()]
