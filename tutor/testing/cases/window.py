"""Cases of convolution and pooling: windows over the last two axes of (n, c, h, w)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tutor.backends.signatures import SIGNATURES
from tutor.testing.cases.draws import Case, Draw
from tutor.testing.cases.reduce import poisoned


class WindowSizes(NamedTuple):
    """Per axis: the number of taps, the step between windows, the step between taps."""

    size: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)

    def outputs(self, inputs: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit along each axis."""
        every = zip(inputs, self.size, self.stride, self.dilation, strict=True)
        return tuple((n - 1 - (k - 1) * gap) // step + 1 for n, k, step, gap in every)

    def params(self, kernel: str, groups: int) -> dict[str, Any]:
        found = {"groups": groups}
        for name in ("size", "stride", "dilation"):
            found |= {
                f"{name}_{axis}": n for axis, n in zip("hw", getattr(self, name), strict=True)
            }
        return {name: found[name] for name in SIGNATURES[kernel].params}


WINDOWS = (
    WindowSizes(),
    WindowSizes((1, 1)),
    WindowSizes((2, 2), (2, 2)),
    WindowSizes((3, 2), (1, 2), (2, 1)),
    WindowSizes((2, 5), (3, 1)),
    WindowSizes((1, 1), (2, 3)),
    WindowSizes((2, 3), (5, 4), (3, 2)),
)


def convolution(
    d: Draw, x: tuple[int, ...], outputs: int, window: WindowSizes, layouts: tuple[str, ...],
    groups: int = 1, domain: str = "",
) -> Case:  # fmt: skip
    """conv2d or conv2d_weight: numbers that round, or whose products and sums are whole."""
    domain = domain or d.rng.choice(("small", "sign"))
    z = (x[0], outputs, *window.outputs(x[2:]))
    w = (outputs, x[1] // groups, *window.size)
    out, other = (z, w) if d.kernel == "conv2d" else (w, z)
    ins = (
        d.spec(x, poisoned(d, x) if domain == "nan" else domain, layouts[1]),
        d.spec(other, "small" if domain == "nan" else domain, layouts[2]),
    )
    exact, params = domain == "sign", window.params(d.kernel, groups)
    return Case(d.result(out, layouts[0]), ins, params, exact=exact)


def conv(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        window = d.rng.choice(WINDOWS)
        most = (window.size[1] - 1) * window.dilation[1]
        x = (1, 2, d.rng.randrange(5, 8), n + most)
        yield convolution(d, x, d.rng.randrange(1, 4), window, d.any_layouts(2))
    for outputs in range(1, 19):
        yield convolution(d, (2, 3, 4, 5), outputs, WindowSizes(), d.any_layouts(2))
    for outputs in range(16, 33, 3):  # enough for a product: its rows, several images, its slivers
        window = d.rng.choice(WINDOWS)
        images, high, wide = (d.rng.randrange(1, n) for n in (6, 4, 4))
        sizes = ((k - 1) * gap + (n - 1) * step + 1 + d.rng.randrange(step)
                 for n, k, step, gap in zip((high, wide), *window, strict=True))  # fmt: skip
        yield convolution(d, (images, 2, *sizes), outputs, window, d.any_layouts(2))
    for layouts in d.layouts(2):
        yield convolution(d, (2, 4, 6, 8), 34, d.rng.choice(WINDOWS[:4]), layouts, 2)
        for groups in (1, 2):
            window = d.rng.choice(WINDOWS)
            yield convolution(d, (2, 4, 7, 9), 6, window, layouts, groups)
    for x, outputs, groups in (
        ((0, 2, 5, 5), 3, 1), ((2, 0, 5, 5), 3, 1), ((2, 2, 5, 5), 0, 1), ((3, 5, 4, 4), 10, 5),
        ((40, 1, 4, 4), 2, 1), ((1, 1, 70, 40), 1, 1), ((1, 40, 3, 5), 2, 1),
    ):  # fmt: skip
        yield convolution(d, x, outputs, WindowSizes((2, 3)), d.any_layouts(2), groups)
    for _ in range(6):  # the gap between two rows of outputs is arbitrary
        for outputs in (2, 17):
            window = d.rng.choice(WINDOWS)
            yield convolution(d, (2, 2, 6, 7), outputs, window, d.any_layouts(2), 1, "nan")


def large_conv(d: Draw, count: int) -> Case:
    side = math.isqrt(count // 8)
    return convolution(d, (2, 2, side, side), 2, WindowSizes(), ("contiguous",) * 3, 1, "small")


def pool(d: Draw) -> Iterator[Case]:
    for n in range(1, 71):
        window = d.rng.choice(WINDOWS)
        most = (window.size[1] - 1) * window.dilation[1]
        yield pooling(d, (1, 2, d.rng.randrange(5, 8), n + most), window, d.any_layouts(3))
    for layouts in d.layouts(3):
        for window in (WINDOWS[0], d.rng.choice(WINDOWS[1:])):
            yield pooling(d, (2, 3, 7, 9), window, layouts)
    for x in ((0, 2, 5, 5), (2, 0, 5, 5), (1, 1, 70, 40), (40, 1, 4, 4)):
        yield pooling(d, x, WindowSizes((2, 3)), d.any_layouts(3))


def pooling(d: Draw, shape: tuple[int, ...], window: WindowSizes, layouts: tuple[str, ...]) -> Case:
    """max_pool2d of any values; its gradient for x with few different values: m, drawn separately,
    occurs in some windows."""
    z, params = (*shape[:2], *window.outputs(shape[2:])), window.params(d.kernel, 1)
    if d.kernel == "max_pool2d":
        return Case(d.result(z, layouts[0]), (d.spec(shape, "any", layouts[1]),), params)
    x, m, g = (
        d.spec(s, domain, layout)
        for s, domain, layout in zip(
            (shape, z, z), ("sign", "sign", "small"), layouts[1:], strict=True
        )
    )
    return Case(d.result(shape, layouts[0]), (x, m, g), params)


def large_pool(d: Draw, count: int) -> Case:
    side = math.isqrt(count // 8)
    return pooling(d, (4, 2, side, side), WindowSizes((2, 2), (2, 2)), ("contiguous",) * 4)
