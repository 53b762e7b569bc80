"""The networks that are measured, in tutor. with_torch.py has the same, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import tutor
from tutor import Tensor, data, nn, optim


def mlp(bias: bool = True, hidden: Iterable[int] = (128,)) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise([784, *hidden, 10]):
        layers += [nn.Linear(inputs, outputs, bias=bias), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn() -> nn.Sequential:
    """28 x 28 -> 8 x 26 x 26 -> 8 x 13 x 13 -> 16 x 11 x 11 -> 16 x 5 x 5 -> 10."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 10),
    )  # fmt: skip


class Samples:
    """Images and labels, one pair for one number."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Block(nn.Module):
    """x + attention(x), in which no position sees a later one, then x + mlp(x)."""

    def __init__(self, width: int, heads: int) -> None:
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


class GPT(nn.Module):
    """ids (n, length) -> scores (n * length, vocabulary) of the next one."""

    def __init__(
        self,
        vocabulary: int = 65,
        length: int = 64,
        width: int = 64,
        heads: int = 4,
        layers: int = 4,
    ) -> None:
        self.tokens = (0.02 * Tensor.randn(vocabulary, width)).requires_grad_()
        self.positions = (0.02 * Tensor.randn(length, width)).requires_grad_()
        self.blocks = [Block(width, heads) for _ in range(layers)]
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens[ids] + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Trainer:
    """A network and its optimizer."""

    def __init__(self, model: nn.Module, adam: bool = False, decay: float = 0.0) -> None:
        self.model, self.adam = model, adam
        self.params = nn.get_parameters(model)
        make = optim.Adam if adam else optim.SGD
        self.optimizer = make(self.params, lr=1e-3 if adam else 0.1, weight_decay=decay)

    def start_from(self, weights: Iterable[Tensor]) -> None:
        for p, w in zip(self.params, weights, strict=True):
            p.assign(w)

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        loss = self.model(x).cross_entropy(y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass over all rows in random order, as a user would write it."""
        for images, labels in data.batches(x, y, size):
            loss = self.step(images, labels)
        return loss

    def ordered_epoch(self, x: Tensor, y: Tensor, size: int, order: Tensor) -> Tensor:
        """The same in a given order, so that two libraries can be compared."""
        for at in range(0, x.shape[0], size):
            pick = order[at : at + size]
            loss = self.step(x.index_select(0, pick), y.index_select(0, pick))
        return loss

    def sample_epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass by a DataLoader that asks for one sample after another."""
        for images, labels in data.DataLoader(Samples(x, y), size, shuffle=True):
            loss = self.step(images, labels)
        return loss

    def batch_epoch(self, x: Tensor, y: Tensor, size: int) -> Tensor:
        """One pass by a DataLoader that asks for whole batches, as it does of Tensors."""
        for images, labels in data.DataLoader((x, y), size, shuffle=True):
            loss = self.step(images, labels)
        return loss


class Jitted(Trainer):
    """The same, each step a replay."""

    def __init__(self, model: nn.Module, adam: bool = False, decay: float = 0.0) -> None:
        super().__init__(model, adam, decay)
        self.step = tutor.jit(super().step)  # type: ignore[method-assign]
