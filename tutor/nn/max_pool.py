"""Pools that take the largest number of each window of x (N, C, *S), and the way back, as functions
and as layers.

There is no kernel for three axes: such a pool is the reduction of a view of the windows.
`return_indices` also returns the places of the largest numbers, which copies all windows (places
times window numbers); a pool without them copies nothing.
"""

from __future__ import annotations

import math
from typing import Any, Literal, cast, overload

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes
from tutor.errors import ShapeError
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.methods.windows import each
from tutor.nn.pool import Adaptive, Pool


def max_pool(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None, padding: Sizes, dilation: Sizes,
    ceil_mode: bool, return_indices: bool, dims: int,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    z = windows.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, dims=dims)
    if not return_indices:
        return z
    x, was_batched = windows.batched(input, dims, f"max_pool{dims}d")
    size = windows.each(kernel_size, dims, "kernel_size")
    step = size if stride is None else windows.each(stride, dims, "stride")
    p, gap = windows.each(padding, dims, "padding", 0), windows.each(dilation, dims, "dilation")
    after = windows.pool_padding(x.shape[2:], size, step, p, gap, ceil_mode)
    at = positions(x, size, step, p, gap, after)
    return z, windows.finished(at, None, was_batched)


@overload
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: Literal[False] = False,
) -> Tensor: ...  # fmt: skip
@overload
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@spelled
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """The largest in each window of the last axis: see tutor.methods.windows.max_pool"""
    return max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, dims=1
    )


@overload
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: Literal[False] = False,
) -> Tensor: ...  # fmt: skip
@overload
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@spelled
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """The largest in each window of the last two axes: see tutor.methods.windows.max_pool"""
    return max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, dims=2
    )


@overload
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: Literal[False] = False,
) -> Tensor: ...  # fmt: skip
@overload
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, *, return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@spelled
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """The largest in each window of the last three axes: see tutor.methods.windows.max_pool"""
    return max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, dims=3
    )


def adaptive(
    input: Tensor, output_size: Sizes, return_indices: bool, dims: int
) -> Tensor | tuple[Tensor, Tensor]:
    z = windows.adaptive_max_pool(input, output_size, dims=dims)
    return (z, covering_positions(input, output_size, dims)) if return_indices else z


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@spelled
def adaptive_max_pool1d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of output_size windows that cover the last axis evenly."""
    return adaptive(input, output_size, return_indices, dims=1)


@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@spelled
def adaptive_max_pool2d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of output_size windows that cover each of the last two axes evenly."""
    return adaptive(input, output_size, return_indices, dims=2)


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@spelled
def adaptive_max_pool3d(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest of output_size windows that cover each of the last three axes evenly."""
    return adaptive(input, output_size, return_indices, dims=3)


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


# ---- layers --------------------------------------------------------------------------------------


@spelled
class MaxPool(Pool):
    """The largest element of each window: see tutor.methods.windows.max_pool; with return_indices,
    its position as well."""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        dilation: Sizes = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["dilation"] = each(dilation, self.dims, "dilation")
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["return_indices"] = bool(return_indices)

    def forward(self, x: Tensor) -> Tensor:
        found: Any = max_pool(x, **self.options, dims=self.dims)  # a pair, with indices
        return cast(Tensor, found)


@spelled
class MaxUnpool(Pool):
    """Zeros, with x's numbers where MaxPool(return_indices=True) found them"""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        self.settings(kernel_size, stride, padding)

    def forward(self, x: Tensor, indices: Tensor, output_size: Sizes | None = None) -> Tensor:
        return max_unpool(x, indices, **self.options, output_size=output_size, dims=self.dims)


class AdaptiveMaxPool(Adaptive):
    """The largest element of each of output_size windows that cover each axis after (N, C) evenly;
    with return_indices, its position as well."""

    @spelled
    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = bool(return_indices)

    def forward(self, x: Tensor) -> Tensor:
        found: Any = adaptive(x, self.output_size, self.return_indices, self.dims)
        return cast(Tensor, found)  # a pair, with indices


# ---- layers, by number of axes -------------------------------------------------------------------


class MaxPool1d(MaxPool):
    """The largest element of each window of x (N, C, L): see MaxPool"""

    dims = 1


class MaxPool2d(MaxPool):
    """The largest element of each window of x (N, C, H, W): see MaxPool"""

    dims = 2


class MaxPool3d(MaxPool):
    """The largest element of each window of x (N, C, D, H, W): see MaxPool"""

    dims = 3


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, L) evenly"""

    dims = 1


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, H, W) evenly"""

    dims = 2


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest element of each of output_size windows that cover x (N, C, D, H, W) evenly"""

    dims = 3


class MaxUnpool1d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, L) where MaxPool1d(return_indices=True) found them"""

    dims = 1


class MaxUnpool2d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, H, W) where MaxPool2d(return_indices=True) found them"""

    dims = 2


class MaxUnpool3d(MaxUnpool):
    """Zeros, with the numbers of x (N, C, D, H, W) where MaxPool3d(return_indices=True) found
    them"""

    dims = 3
