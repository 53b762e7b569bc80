"""The networks that are measured, in PyTorch. with_tutor.py has the same, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler


def mlp(bias: bool = True, hidden: Iterable[int] = (128,)) -> Any:
    layers: list[Any] = []
    for inputs, outputs in pairwise([784, *hidden, 10]):
        layers += [nn.Linear(inputs, outputs, bias=bias), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn() -> Any:
    """28 x 28 -> 8 x 26 x 26 -> 8 x 13 x 13 -> 16 x 11 x 11 -> 16 x 5 x 5 -> 10."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 10),
    )  # fmt: skip


def channels_last(model: Any) -> Any:
    """The same model for images whose channels lie side by side, as its convolutions like them."""
    return model.to(memory_format=torch.channels_last)


class Samples:
    """Images and labels, one pair for one number."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Rows(Samples):
    """A whole batch for a list of numbers, which a BatchSampler gives."""

    def __getitem__(self, index: Any) -> tuple[Tensor, Tensor]:
        pick = torch.tensor(index)
        return self.x.index_select(0, pick), self.y.index_select(0, pick)


class Block(nn.Module):  # type: ignore[misc]  # to mypy all of torch is Any
    """x + attention(x), in which no position sees a later one, then x + mlp(x)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(n, length, 3, self.heads, width // self.heads)
        q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
        return x + self.down(self.up(self.norm2(x)).relu())


class GPT(nn.Module):  # type: ignore[misc]
    """ids (n, length) -> scores (n * length, vocabulary) of the next one."""

    def __init__(
        self,
        vocabulary: int = 65,
        length: int = 64,
        width: int = 64,
        heads: int = 4,
        layers: int = 4,
    ) -> None:
        super().__init__()
        self.tokens = nn.Parameter(0.02 * torch.randn(vocabulary, width))
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.blocks(self.tokens[ids] + self.positions)
        return self.head(self.norm(x)).flatten(0, 1)


class Trainer:
    """A network and its optimizer: PyTorch's fastest, fused for Adam and foreach for SGD."""

    def __init__(self, model: Any, adam: bool = False, decay: float = 0.0) -> None:
        self.model = model
        self.params = list(model.parameters())
        self.optimizer: torch.optim.Optimizer
        if adam:
            self.optimizer = torch.optim.Adam(self.params, 1e-3, weight_decay=decay, fused=True)
        else:
            self.optimizer = torch.optim.SGD(self.params, lr=0.1, foreach=True)

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
            loss = self.step(x.index_select(0, pick), y.index_select(0, pick))
        return loss

    def sample_epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass by a DataLoader that asks for one sample after another."""
        for images, labels in DataLoader(Samples(x, y), batch_size=size, shuffle=True):
            loss = self.step(images, labels)
        return loss

    def batch_epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass by a DataLoader that asks for whole batches."""
        rows = Rows(x, y)
        sampler = BatchSampler(RandomSampler(rows), size, drop_last=False)
        for images, labels in DataLoader(rows, sampler=sampler, batch_size=None):
            loss = self.step(images, labels)
        return loss
