"""Resampling: images made larger or smaller, as functions and as layers.

All are composed of existing ops. `interpolate` picks rows along one axis after the other and mixes
neighbours: two gathers and a mix per axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes
from tutor.dtype import float64, int64
from tutor.errors import DomainError, ShapeError
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module

NEAREST = {"nearest": 0, "nearest-exact": 1}  # half places that are added
SMOOTH = {1: "linear", 2: "bilinear", 3: "trilinear"}  # number of axes after (N, C) -> mode


@spelled
def interpolate(
    input: Tensor, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """x (N, C, *S), with one to three axes S, resized to `size` or to S * scale_factor

    mode "nearest": place i of m takes the number at floor(i n / m) of n; "nearest-exact" the one at
    floor((i + 1/2) n / m), the pixel that contains its centre. "linear", "bilinear", "trilinear",
    for one, two and three axes: place i lies at (i + 1/2) n / m - 1/2, between two numbers, and
    mixes them by its distance from each; with align_corners at i (n - 1) / (m - 1), so that the
    corners stay. "bicubic", for two axes: a mixture of the four nearest numbers, with weights that
    make a smooth curve (Keys 1981, with a = -3/4); the last number repeats beyond an end. "area":
    the mean, as adaptive_avg_pool. With scale_factor, n / m is replaced by 1 / scale. ShapeError
    for other numbers of axes, and unless exactly one of size and scale_factor is given.
    """
    x: Tensor = checks.tensor("interpolate(input)", input)
    dims = x.ndim - 2
    if dims not in SMOOTH:
        raise ShapeError(
            f"interpolate of shape {x.shape}", f"{x.ndim} axes", "give (N, C, *S), 1 to 3 axes S"
        )
    modes = (*NEAREST, "area", SMOOTH[dims], *["bicubic"] * (dims == 2))
    checks.one_of("interpolate(mode=...)", mode, modes)
    if align_corners is not None and mode in (*NEAREST, "area"):
        raise DomainError(
            f"interpolate({mode=}, {align_corners=})", "nothing is mixed there",
            f"leave align_corners out, or use mode={SMOOTH[dims]!r}",
        )  # fmt: skip
    sizes, steps = targets(x.shape[2:], size, scale_factor)
    if mode == "area":
        return windows.adaptive_avg_pool(x, sizes, dims=dims)
    if not x.dtype.is_float and mode not in NEAREST:
        raise DomainError(
            f"interpolate of {x.dtype.name}, {mode=}", "it mixes numbers, so they are fractions",
            "cast it to a float dtype, or use mode='nearest'",
        )  # fmt: skip
    for axis, (m, step) in enumerate(zip(sizes, steps, strict=True), 2):
        if mode in NEAREST:
            twice = Tensor.arange(m, device=x.device) * 2 + NEAREST[mode]
            if size is None:
                at = (twice.cast(float64) * (step / 2)).cast(int64)
            else:  # exact, in integers
                at = twice * x.shape[axis] // (2 * m)
            x = x.index_select(axis, at.minimum(x.shape[axis] - 1))
        else:
            x = (cubic if mode == "bicubic" else mixed)(x, axis, m, step, bool(align_corners))
    return x


def targets(
    shape: tuple[int, ...], size: Sizes | None, scale_factor: float | Sequence[float] | None
) -> tuple[tuple[int, ...], list[float]]:
    """The new sizes, and the distance on each old axis from one new place to the next."""
    if (size is None) == (scale_factor is None):
        raise ShapeError(
            f"interpolate({size=}, {scale_factor=})", "one of both is wanted", "give size=, or "
            "scale_factor="
        )  # fmt: skip
    if not math.prod(shape):
        raise ShapeError(f"interpolate of sizes {shape}", "it is empty", "give numbers to take")
    if size is not None:
        sizes = windows.each(size, len(shape), "size")
        return sizes, [n / m for n, m in zip(shape, sizes, strict=True)]
    given: Any = scale_factor
    factors = list(given) if isinstance(given, (tuple, list)) else [given] * len(shape)
    for factor in factors:
        if not 0 < checks.number("interpolate(scale_factor=...)", factor) < math.inf:
            raise DomainError(f"interpolate({scale_factor=})", "no size", "give numbers above 0")
    if len(factors) != len(shape):
        raise ShapeError(
            f"interpolate({scale_factor=})",
            f"{len(shape)} axes",
            "give one number, or one for each",
        )
    sizes = layout.checked_shape([int(n * f) for n, f in zip(shape, factors, strict=True)])
    if 0 in sizes:
        raise ShapeError(f"interpolate({scale_factor=})", f"sizes {sizes}", "give a larger factor")
    return sizes, [1 / f for f in factors]


def middles(n: int, m: int, step: float, align_corners: bool, device: str) -> Tensor:
    """The position of each of m places among n."""
    count = Tensor.arange(m, device=device).cast(float64)
    return count * ((n - 1) / max(m - 1, 1)) if align_corners else (count + 0.5) * step - 0.5


def along(share: Tensor, x: Tensor, axis: int) -> Tensor:
    """One number for each place along an axis, shaped to broadcast against x."""
    return share.cast(x.dtype).reshape((share.numel(), *[1] * (x.ndim - 1 - axis)))


def mixed(x: Tensor, axis: int, m: int, step: float, align_corners: bool) -> Tensor:
    """m places along one axis, each a mixture of the numbers on either side of it."""
    n = x.shape[axis]
    places = middles(n, m, step, align_corners, x.device).maximum(0.0)
    before = places.cast(int64).minimum(n - 1)
    behind = (before + 1).minimum(n - 1)
    share = along(places - before, x, axis)
    a, b = x.index_select(axis, before), x.index_select(axis, behind)
    return a * (1 - share) + b * share


def cubic(x: Tensor, axis: int, m: int, step: float, align_corners: bool) -> Tensor:
    """m places along one axis, each a mixture of two numbers on either side of it; a number at
    distance d has the weight

    (a + 2) d³ - (a + 3) d² + 1 for d <= 1,   a d³ - 5 a d² + 8 a d - 4 a for d < 2,   a = -3/4
    """
    n, a = x.shape[axis], -0.75
    places = middles(n, m, step, align_corners, x.device)
    first = places.floor()
    part = places - first
    terms = []
    for k in (-1, 0, 1, 2):
        d = (part - k).abs()
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        at = (first.cast(int64) + k).maximum(0).minimum(n - 1)
        terms.append(x.index_select(axis, at) * along(near if k in (0, 1) else far, x, axis))
    return terms[0] + terms[1] + terms[2] + terms[3]


@spelled
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(N, C r², H, W) -> (N, C, H r, W r), with r the factor: r² channels become the r by r pixels
    of one (Shi et al. 2016)"""
    x: Tensor = checks.at_least("pixel_shuffle", input, 3)
    r = factor("pixel_shuffle", upscale_factor)
    *lead, channels, h, w = x.shape
    if channels % (r * r):
        raise ShapeError(
            f"pixel_shuffle({r}) of {channels} channels", f"they do not divide by {r * r}",
            "give a multiple of upscale_factor**2 channels",
        )  # fmt: skip
    x = x.reshape((-1, channels // (r * r), r, r, h, w))
    return x.permute(0, 1, 4, 2, 5, 3).reshape((*lead, channels // (r * r), h * r, w * r))


@spelled
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(N, C, H r, W r) -> (N, C r², H, W): the inverse of pixel_shuffle"""
    x: Tensor = checks.at_least("pixel_unshuffle", input, 3)
    r = factor("pixel_unshuffle", downscale_factor)
    *lead, channels, h, w = x.shape
    if h % r or w % r:
        raise ShapeError(
            f"pixel_unshuffle({r}) of {h} by {w} pixels", f"they do not divide by {r}",
            "give multiples of downscale_factor",
        )  # fmt: skip
    x = x.reshape((-1, channels, h // r, r, w // r, r))
    return x.permute(0, 1, 3, 5, 2, 4).reshape((*lead, channels * r * r, h // r, w // r))


def factor(name: str, r: int) -> int:
    return layout.positive(r, f"{name}'s factor")


# ---- layers --------------------------------------------------------------------------------------


@spelled
class Upsample(Module):
    """x (N, C, *S) resized to `size`, or to S * scale_factor. See F.interpolate."""

    def __init__(
        self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest", align_corners: bool | None = None,
    ) -> None:  # fmt: skip
        modes = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
        self.mode = checks.one_of("Upsample(mode=...)", mode, modes)
        if size is not None:
            size = layout.whole_numbers(size, "Upsample(size=...)")
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,)
        for factor in factors:
            if factor is not None:
                checks.number("Upsample(scale_factor=...)", factor, 0, nan=False)
        self.size, self.scale_factor, self.align_corners = size, scale_factor, align_corners

    def forward(self, x: Tensor) -> Tensor:
        return interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners)


@spelled
class PixelShuffle(Module):
    """(N, C r², H, W) -> (N, C, H r, W r), r the upscale_factor (Shi et al. 2016)"""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = layout.positive(upscale_factor, "PixelShuffle(upscale_factor=...)")

    def forward(self, x: Tensor) -> Tensor:
        return pixel_shuffle(x, self.upscale_factor)


@spelled
class PixelUnshuffle(Module):
    """(N, C, H r, W r) -> (N, C r², H, W): the reverse of PixelShuffle"""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = layout.positive(downscale_factor, "PixelUnshuffle's factor")

    def forward(self, x: Tensor) -> Tensor:
        return pixel_unshuffle(x, self.downscale_factor)
