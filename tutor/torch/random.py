"""The generator, seeds, and draws in place.

The numbers are tutor's: a seed gives the same ones on every machine, but not PyTorch's.
"""

from __future__ import annotations

import math
import os
from typing import Any

from tutor import dtype as dtypes
from tutor import random
from tutor.functions import sampling
from tutor.torch.carrier import Plain

SEEDS = 2**64


class Generator:
    """A sequence of random numbers of its own: `torch.Generator().manual_seed(0)`."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device
        self.stream = random.Stream(67280421310721)  # PyTorch's first seed, too

    def manual_seed(self, seed: int) -> Generator:
        """Restart from `seed`. Returns the generator."""
        self.stream.state = int(seed) % SEEDS, 0
        return self

    def initial_seed(self) -> int:
        """The seed of the sequence."""
        return self.stream.state[0]

    def seed(self) -> int:
        """Restart from a seed of the system's; returns it."""
        return self.manual_seed(int.from_bytes(os.urandom(8))).initial_seed()

    def get_state(self) -> Any:
        """The position in the sequence, a tensor of two numbers."""
        return Plain(list(self.stream.state), dtype="uint64")

    def set_state(self, state: Any) -> None:
        """Continue at that position."""
        seed, counter = state.tolist()
        self.stream.state = seed, counter


class CommonGenerator(Generator):
    """The generator of all draws that name none."""

    def __init__(self) -> None:
        self.device = "cpu"

    @property
    def stream(self) -> Any:  # type: ignore[override]
        """The stream of the process."""
        return random.stream()


default_generator = CommonGenerator()
PLAIN = {
    "manual_seed": default_generator.manual_seed, "seed": default_generator.seed,
    "initial_seed": default_generator.initial_seed, "get_rng_state": default_generator.get_state,
    "set_rng_state": default_generator.set_state,
}  # fmt: skip


globals().update(PLAIN)


def drawn(generator: Generator | None, f: Any, *args: Any, **options: Any) -> Any:
    """f(*args), with numbers of that generator, or else the common one."""
    if generator is None:
        return f(*args, **options)
    return random.drawing_from(generator.stream, lambda: f(*args, **options))


def fill(x: Any, numbers: Any) -> Any:
    """Overwrite x's numbers with those, in its dtype."""
    return Plain.copy_(x, Plain.cast(numbers, x.dtype))


def like(generator: Any, make: Any, x: Any) -> Any:
    """Random floats in x's shape."""
    dtype = x.dtype if x.dtype.is_float else dtypes.float64
    return drawn(generator, make, tuple(x.shape), dtype=dtype)


def whole(x: Any, start: Any, to: Any, generator: Any) -> Any:
    """Whole numbers from `start` to `to` - 1, in place."""
    low, high = (0, start) if to is None and start else (start, to)
    if high is None:
        high = 2 ** {2: 11, 4: 24, 8: 53}[x.dtype.itemsize] if x.dtype.is_float else x.dtype.max
    return fill(x, drawn(generator, sampling.randint, low, int(high), tuple(x.shape)))


def coins(x: Any, p: Any, generator: Any) -> Any:
    """1 with probability p, else 0, in place."""
    chance = p if isinstance(p, Plain) else Plain.full(tuple(x.shape), float(p))
    return fill(x, drawn(generator, sampling.bernoulli, chance))


METHODS: dict[str, Any] = {
    "normal_(self, mean=0.0, std=1.0, *, generator=None)":
        lambda x, mean, std, g: fill(x, like(g, Plain.randn, x) * std + mean),
    "uniform_(self, from_=0.0, to=1.0, *, generator=None)":
        lambda x, low, high, g: fill(x, like(g, Plain.rand, x) * (high - low) + low),
    "random_(self, from_=0, to=None, *, generator=None)": whole,
    "bernoulli_(self, p=0.5, *, generator=None)": coins,
    "exponential_(self, lambd=1.0, *, generator=None)":
        lambda x, rate, g: fill(x, -Plain.log1p(-like(g, Plain.rand, x)) / rate),
    "log_normal_(self, mean=1.0, std=2.0, *, generator=None)":
        lambda x, mean, std, g: fill(x, Plain.exp(like(g, Plain.randn, x) * std + mean)),
    "cauchy_(self, median=0.0, sigma=1.0, *, generator=None)": lambda x, median, sigma, g:
        fill(x, Plain.tan((like(g, Plain.rand, x) - 0.5) * math.pi) * sigma + median),
}  # fmt: skip
