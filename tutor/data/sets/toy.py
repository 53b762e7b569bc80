"""Small data sets of points that tutor makes itself: for a first network, and for pictures.

Each is drawn from a seeded stream of its own, without touching the process's random numbers. Points
are float32 (n, 2), labels int64 (n,); the classes alternate, so that the first rows contain all of
them, and their sizes differ by one at most.

>>> x, y = moons(100, noise=0.1, seed=0)
>>> x.shape, y.tolist()[:4]
((100, 2), [0, 1, 0, 1])
"""

from __future__ import annotations

import math

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.data.loader import count
from tutor.methods.tensor import Tensor
from tutor.ops.movement import stack


def drawn(name: str, n: int, noise: float, seed: int, classes: int) -> tuple[Tensor, ...]:
    """The common start: a class for each point, its position along its curve (uniform in [0, 1)),
    and its noise, (n, 2), with the standard deviation `noise`."""
    n = count(f"{name} with n", n, 1)
    checks.number(f"{name}(noise=...)", noise, 0)
    count(f"{name} with seed", seed, 0, 2**64 - 1)
    own = random.Stream(seed)
    t = random.drawing_from(own, Tensor.rand, n)
    shaken = random.drawing_from(own, Tensor.randn, n, 2)
    return Tensor.arange(n) % classes, t, shaken * float(noise)


@spelled
def moons(n: int = 200, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two interlocking half circles: (cos a, sin a), and (1 - cos a, 1/2 - sin a), for angles a
    from 0 to pi."""
    y, t, shaken = drawn("moons", n, noise, seed, 2)
    a, second = t * math.pi, y.cast("float32")
    side = 1.0 - 2.0 * second
    return stack([second + side * a.cos(), 0.5 * second + side * a.sin()], axis=1) + shaken, y


@spelled
def circles(
    n: int = 200, noise: float = 0.05, seed: int = 0, factor: float = 0.5
) -> tuple[Tensor, Tensor]:
    """A circle of radius 1, and inside it one of radius `factor`: no line separates them."""
    checks.number("circles(factor=...)", factor, 0, 1, nan=False)
    y, t, shaken = drawn("circles", n, noise, seed, 2)
    a, radius = t * (2 * math.pi), 1.0 - y * (1.0 - factor)
    return stack([radius * a.cos(), radius * a.sin()], axis=1) + shaken, y


@spelled
def spirals(
    n: int = 300, noise: float = 0.02, seed: int = 0, classes: int = 3, turns: float = 0.75
) -> tuple[Tensor, Tensor]:
    """Arms that wind around the centre: the angle at radius r, from 0 to 1, is
    2 pi (turns * r + class / classes)."""
    classes = count("spirals with classes", classes, 1)
    checks.number("spirals(turns=...)", turns)
    y, t, shaken = drawn("spirals", n, noise, seed, classes)
    radius = t.sqrt()  # otherwise most points would be near the centre
    a = (radius * turns + y / classes) * (2 * math.pi)
    return stack([radius * a.sin(), radius * a.cos()], axis=1) + shaken, y


@spelled
def blobs(
    n: int = 200, noise: float = 0.3, seed: int = 0, classes: int = 3
) -> tuple[Tensor, Tensor]:
    """Clouds around centres on a circle of radius 1."""
    classes = count("blobs with classes", classes, 1)
    y, _, shaken = drawn("blobs", n, noise, seed, classes)
    a = y * (2 * math.pi / classes)
    return stack([a.cos(), a.sin()], axis=1) + shaken, y


@spelled
def sine(n: int = 100, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A curve to fit: x in [-pi, pi), y = sin x + noise; both float32 (n, 1)."""
    _, t, shaken = drawn("sine", n, noise, seed, 1)
    x = (t.reshape(-1, 1) * 2.0 - 1.0) * math.pi
    return x, x.sin() + shaken[:, :1]


@spelled
def line(
    n: int = 100, noise: float = 0.1, seed: int = 0, slope: float = 2.0, intercept: float = -1.0
) -> tuple[Tensor, Tensor]:
    """A line to fit: x in [-1, 1), y = slope * x + intercept + noise; both float32 (n, 1)."""
    checks.number("line(slope=...)", slope)
    checks.number("line(intercept=...)", intercept)
    _, t, shaken = drawn("line", n, noise, seed, 1)
    x = t.reshape(-1, 1) * 2.0 - 1.0
    return x, x * slope + intercept + shaken[:, :1]
