"""Random jitted functions on a device: their lists of launches leave the bits of the steps one by
one. They cast indexes, copy them, and write to a state in between: what may come first, and what
memory is whose, is decided anew in each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tutor
from tutor import Tensor

SIZE = 8
STEPS: list[Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Any]] = [  # of u, v, x, y and w
    lambda u, v, x, y, w: u * 0.5 + v,
    lambda u, v, x, y, w: (u @ v) * 0.1,
    lambda u, v, x, y, w: w.add_(u * 0.01),
    lambda u, v, x, y, w: u.index_select(0, y.cast("int64")),
    lambda u, v, x, y, w: x.index_select(0, y.cast("int64") * 1).tanh(),
    lambda u, v, x, y, w: u.index_select(0, (w.abs() * 3.0).sum(axis=1).cast("int64") % SIZE),
    lambda u, v, x, y, w: v.index_select(0, tutor.stack([y.cast("int64")] * 2, 1)[:, 0]),
    lambda u, v, x, y, w: u.softmax(),
    lambda u, v, x, y, w: (u.T + v).sigmoid(),
]


def bits(t: Any) -> bytes:
    return bytes(t.detach().cpu().contiguous().buf.raw)


def outcomes(seed: int, device: str) -> list[list[bytes]]:
    """What six calls of the function of that seed give, and leave in its state."""
    rng = random.Random(seed)
    chosen = [(rng.choice(STEPS), rng.random(), rng.random()) for _ in range(rng.randint(3, 9))]
    with tutor.device(device):
        tutor.manual_seed(seed)
        w = tutor.randn((SIZE, SIZE))

        def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            values = [x, w]
            for step, first, second in chosen:
                u, v = (values[int(part * len(values))] for part in (first, second))
                values.append(step(u, v, x, y, w))
            return values[-1].sum(axis=0), values[-1] * 1.0

        jitted = tutor.jit(function, passes=()) if seed % 3 == 0 else tutor.jit(function)
        found = []
        for call in range(6):
            tutor.manual_seed(100 * seed + call)
            x, y = tutor.randn((SIZE, SIZE)), tutor.randint(0, SIZE, (SIZE,)).cast("uint8")
            found.append([*map(bits, jitted(x, y)), bits(w)])
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_list_leaves_the_bits_of_its_steps(
    seed: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = outcomes(seed, device)
    monkeypatch.setenv("TUTOR_NATIVE", "0")
    assert noted == outcomes(seed, device)
