"""Random programs that change tensors in place, through views too, run by PyTorch and by tutor."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tutor import Tensor
from tutor.errors import TutorError

torch: Any = pytest.importorskip("torch")

Draw = Callable[[], Any]
POSITIONS: dict[Any, Any] = {torch.Tensor: torch.tensor([0, 1]), Tensor: Tensor([0, 1])}


def zeroed(x: Any) -> None:
    x[0].zero_()


def set_one(x: Any, value: Any) -> None:
    x[0] = value


def set_by_mask(x: Any, value: Any) -> None:
    x[x > 1.25] = value


def set_by_positions(x: Any, value: Any) -> None:
    x[POSITIONS[type(x)]] = value


def added_to_last(x: Any, value: Any) -> None:
    x[-1] += value


WRITES = [set_one, set_by_mask, set_by_positions, added_to_last]
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[0], lambda x: x[:, 1], lambda x: x.T, lambda x: x.reshape(-1), lambda x: x[1:],
]  # fmt: skip


class Program:
    """The same random steps for any library: `w` are its leaves, `constants` its other tensors."""

    def __init__(self, seed: int, w: list[Any], constants: list[Any]) -> None:
        self.draw, self.w, self.constants = random.Random(seed), w, constants
        self.live: list[Any] = []

    def run(self) -> Any:
        steps = (self.new, self.new, self.constant, self.view, self.view, self.combine,
                 self.arithmetic, self.arithmetic, self.write, self.write, self.other)  # fmt: skip
        for _ in range(self.draw.randrange(4, 14)):
            step = self.draw.choice(steps)
            (step if self.live else self.new)()
        total = self.live[0].sum() * 0
        for n, x in enumerate(self.live, 1):
            total = total + (x * n).sum()
        return total

    def any(self) -> Any:
        return self.draw.choice(self.live)

    def new(self) -> None:
        x, y = self.w
        made = self.draw.choice([lambda: x * 2, lambda: y + 1, lambda: x.exp(), lambda: x * y])
        self.live.append(made())

    def constant(self) -> None:
        self.live.append(self.draw.choice(self.constants) * 1.0)

    def view(self) -> None:
        x, taken = self.any(), self.draw.choice(VIEWS)
        self.live.append(taken(x) if x.ndim == 2 else x[1:])

    def combine(self) -> None:
        x, y = self.any(), self.any()
        self.live.append(x + y if x.shape == y.shape else x.detach() * 1.5)

    def arithmetic(self) -> None:
        x, y, times = self.any(), self.any(), self.draw.random() < 0.5
        other = y if x.shape == y.shape else 0.5
        if times:
            x *= other
        else:
            x += other

    def write(self) -> None:
        x, write = self.any(), self.draw.choice(WRITES)
        write(x, self.any().sum() * 0.1)

    def other(self) -> None:
        x, n = self.any(), self.draw.randrange(3)
        if n == 0:
            zeroed(x)
        elif n == 1:
            x.clamp_(0.5, 2.0)
        else:
            x += x


def outcome(seed: int, make: Callable[..., Any]) -> Any:
    """The loss and both gradients; an error's class if there is one."""
    numbers = np.random.default_rng(seed)
    w = [make(numbers.uniform(0.25, 1.25, (3, 4)), requires_grad=True) for _ in range(2)]
    constants = [make(numbers.uniform(0, 1, (3, 4))) for _ in range(3)]
    try:
        loss = Program(seed, w, constants).run()
        loss.backward()
    except (TutorError, RuntimeError, IndexError, ValueError) as error:
        return type(error)
    zeros = [[0.0] * 4] * 3
    return [loss.item(), *[zeros if x.grad is None else x.grad.tolist() for x in w]]


@pytest.mark.parametrize("seeds", [range(k, k + 60) for k in range(0, 600, 60)], ids=lambda s: s[0])
def test_gradients_are_pytorchs(seeds: range) -> None:
    """Where PyTorch refuses, because what it saved was overwritten, tutor may have saved less."""
    compared = 0
    for seed in seeds:
        theirs = outcome(seed, torch.tensor)
        if not isinstance(theirs, type):
            ours = outcome(seed, Tensor)
            assert not isinstance(ours, type), f"seed {seed}: {ours.__name__}"
            for mine, yours in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(mine, yours, rtol=1e-9, err_msg=f"seed {seed}")
            compared += 1
    assert compared > len(seeds) // 4
