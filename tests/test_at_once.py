"""Several threads that use all of the library at once, with and without Python's lock.

Each trains a network of its own, and the bits must be those of a thread that is alone. Meanwhile
others register backends, change the number of threads, and give memory back.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from itertools import count

import pytest
from at_once import at_once
from backend_names import BACKENDS, LEVELS

import tutor
from tutor import Tensor, nn, optim
from tutor.backends import registry, simd_cpp

SEEDS = range(6)
STEPS = 4


def trained(seed: int, backend: str) -> list[bytes]:
    """The parameters after a few steps: a product, functions, windows, views, and writing."""
    with tutor.use_backend(backend):
        draw = random.Random(seed)

        def normal(*shape: int) -> Tensor:
            return Tensor([draw.gauss(0, 1) for _ in range(math.prod(shape))]).reshape(*shape)

        x, *weights = (normal(*s) for s in ((5, 1, 5, 5), (4, 1, 3, 3), (36, 8), (8,)))
        parameters = [nn.Parameter(w) for w in weights]
        step = optim.Adam(parameters)
        for _ in range(STEPS):
            kernel, linear, bias = parameters
            hidden = x.conv2d(kernel).relu().reshape(5, -1)
            loss = ((hidden @ linear + bias).tanh() ** 2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
        return [bytes(p.contiguous().buf.raw) for p in parameters]


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_in_threads_has_the_bits_of_training_alone(backend: str) -> None:
    wanted = {seed: trained(seed, backend) for seed in SEEDS}
    found: dict[int, list[bytes]] = {}
    wrong: list[BaseException] = []
    over = threading.Event()

    def train(seed: int) -> None:
        try:
            found[seed] = trained(seed, backend)
        except BaseException as error:
            wrong.append(error)

    def disturb(what: Callable[[int], object]) -> None:
        for turn in count():
            if over.is_set():
                return
            try:
                what(turn)
            except BaseException as error:
                return wrong.append(error)

    def train_all() -> None:
        at_once([lambda seed=seed: train(seed) for seed in SEEDS])
        over.set()

    table = registry.table("python_ref")
    disturbances: list[Callable[[int], object]] = [
        lambda turn: registry.register(f"other {turn % 3}", table),
        lambda turn: registry.lookup("add", "python_ref", tutor.float32),
        lambda turn: (tutor.memory.trim(), tutor.memory.stats()),
    ]
    if LEVELS:
        before = simd_cpp.num_threads()
        disturbances.append(lambda turn: simd_cpp.set_num_threads(turn % 3 + 1))
    try:
        at_once([train_all, *[lambda what=what: disturb(what) for what in disturbances]])
    finally:
        for turn in range(3):
            registry._tables.pop(f"other {turn}", None)
        if LEVELS:
            simd_cpp.set_num_threads(before)
    assert not wrong, wrong
    assert found == wanted
