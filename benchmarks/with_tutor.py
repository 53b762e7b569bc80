"""The networks that are measured, in tutor. with_torch.py has the same, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from tutor import Tensor, data, nn, optim


def mlp(bias: bool = True) -> nn.Sequential:
    return nn.Sequential(nn.Linear(784, 128, bias=bias), nn.ReLU(), nn.Linear(128, 10, bias=bias))


def cnn() -> nn.Sequential:
    """28 x 28 -> 8 x 26 x 26 -> 8 x 13 x 13 -> 16 x 11 x 11 -> 16 x 5 x 5 -> 10."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 10),
    )  # fmt: skip


class Trainer:
    """A network and its optimizer."""

    def __init__(self, model: nn.Module, adam: bool = False) -> None:
        self.model = model
        self.params = nn.get_parameters(model)
        make = optim.Adam if adam else optim.SGD
        self.optimizer = make(self.params, lr=1e-3 if adam else 0.1)

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
