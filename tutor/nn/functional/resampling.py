"""Resampling: images made larger or smaller, and pools that return the places of their maxima.

All are composed of existing ops. `interpolate` picks rows along one axis after the other and mixes
neighbours: two gathers and a mix per axis. A pool with indices copies all its windows (places times
window numbers); a pool without them copies nothing.
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


def positions(x: Tensor, size: tuple[int, ...], step: tuple[int, ...], padding: tuple[int, ...],
              dilation: tuple[int, ...], after: tuple[int, ...]) -> Tensor:  # fmt: skip
    """The index of the largest number of each window, counted row by row through the places of
    x (N, C, *S); the first one for ties."""
    dims = len(size)
    lowest = -math.inf if x.dtype.is_float else x.dtype.min
    seen = windows.windows(windows.around(x.detach(), padding, after, lowest), size, step, dilation)
    best = seen.reshape((*seen.shape[:-dims], math.prod(size))).argmax(-1)
    at: Tensor = best * 0
    for axis, n in enumerate(x.shape[2:]):
        within = best // math.prod(size[axis + 1 :]) % size[axis]
        first = best.arange(best.shape[2 + axis], device=best.device) * step[axis] - padding[axis]
        place = first.reshape((-1, *[1] * (dims - 1 - axis))) + within * dilation[axis]
        at = at * n + place
    return at


def covering_positions(input: Tensor, output_size: Sizes, dims: int) -> Tensor:
    """`positions` for the windows of an adaptive pool."""
    x, was_batched = windows.batched(input.detach(), dims, f"adaptive_max_pool{dims}d")
    sizes = windows.asked_sizes(x, output_size, dims)
    at = x.arange(math.prod(x.shape[2:]), device=x.device)
    at = at.reshape((1, 1, *x.shape[2:])).expand(x.shape)
    for axis in reversed(range(2, 2 + dims)):  # the last first: ties go to the first place
        x, at = (windows.covered(t, axis, sizes[axis - 2]) for t in (x, at))
        best = x.argmax(axis + 1, keepdims=True)
        x, at = (t.gather(axis + 1, best).squeeze(axis + 1) for t in (x, at))
    return windows.finished(at, None, was_batched)


def max_unpool(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sizes | None = None, *, dims: int,
) -> Tensor:  # fmt: skip
    """Zeros, with x's numbers at `indices`: a partial inverse of max_pool. output_size None gives
    the smallest input that the pool could have had."""
    name = f"max_unpool{dims}d"
    x, was_batched = windows.batched(input, dims, name)
    at, _ = windows.batched(checks.tensor(f"{name}(indices)", indices), dims, name)
    if at.shape != x.shape or not at.dtype.is_integer:
        raise ShapeError(
            f"{name} of {x.shape} with indices {at.shape} of {at.dtype.name}",
            "there is not one place for each number", "give what max_pool gave as indices",
        )  # fmt: skip
    size = windows.each(kernel_size, dims, "kernel_size")
    step = size if stride is None else windows.each(stride, dims, "stride")
    cut = windows.each(padding, dims, "padding", 0)
    if output_size is None:
        sizes = tuple((n - 1) * s - 2 * p + k
                      for n, s, p, k in zip(x.shape[2:], step, cut, size, strict=True))  # fmt: skip
    else:
        sizes = layout.checked_shape(output_size)[-dims:]
    if len(sizes) != dims:
        raise ShapeError(f"{name}({output_size=})", f"{dims} spatial axes", "one size for each")
    lead, count = x.shape[:2], math.prod(x.shape[2:])
    zeros = x.like(0, (*lead, math.prod(layout.checked_shape(sizes))))
    flat = zeros.scatter(2, at.reshape((*lead, count)), x.reshape((*lead, count)))
    return windows.finished(flat.reshape((*lead, *sizes)), None, was_batched)


@spelled
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sizes | None = None,
) -> Tensor:  # fmt: skip
    """Zeros, with x's numbers where max_pool1d found them: see max_unpool"""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, dims=1)


@spelled
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sizes | None = None,
) -> Tensor:  # fmt: skip
    """Zeros, with x's numbers where max_pool2d found them: see max_unpool"""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, dims=2)


@spelled
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Sizes | None = None,
) -> Tensor:  # fmt: skip
    """Zeros, with x's numbers where max_pool3d found them: see max_unpool"""
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, dims=3)
