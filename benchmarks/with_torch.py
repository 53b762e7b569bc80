"""The networks that are measured, in PyTorch. with_tutor.py has the same, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


def mlp(bias: bool = True) -> Any:
    return nn.Sequential(nn.Linear(784, 128, bias=bias), nn.ReLU(), nn.Linear(128, 10, bias=bias))


def cnn() -> Any:
    """28 x 28 -> 8 x 26 x 26 -> 8 x 13 x 13 -> 16 x 11 x 11 -> 16 x 5 x 5 -> 10."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 10),
    )  # fmt: skip


class Trainer:
    """A network and its optimizer: for Adam the fused one, PyTorch's fastest."""

    def __init__(self, model: Any, adam: bool = False) -> None:
        self.model = model
        self.params = list(model.parameters())
        self.optimizer: torch.optim.Optimizer
        if adam:
            self.optimizer = torch.optim.Adam(self.params, lr=1e-3, fused=True)
        else:
            self.optimizer = torch.optim.SGD(self.params, lr=0.1)

    @torch.no_grad()  # type: ignore[untyped-decorator]  # to mypy all of torch is Any
    def start_from(self, weights: Iterable[Any]) -> None:
        for p, w in zip(self.params, weights, strict=True):
            p.copy_(torch.from_dlpack(w))

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass over all rows in random order, indexed by hand."""
        return self.ordered_epoch(x, y, size, torch.randperm(len(x)))

    def ordered_epoch(self, x: Tensor, y: Tensor, size: int, order: Tensor) -> Tensor:
        """The same in a given order, so that two libraries can be compared."""
        for at in range(0, len(x), size):
            pick = order[at : at + size]
            loss = self.step(x[pick], y[pick])
        return loss

    def loader_epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass as the tutorials write it."""
        for images, labels in DataLoader(TensorDataset(x, y), batch_size=size, shuffle=True):
            loss = self.step(images, labels)
        return loss
