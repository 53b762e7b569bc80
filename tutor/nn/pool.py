"""Pools: the mean of each window of x (N, C, *S), as functions and as layers. tutor/nn/max_pool.py
has those that take the largest number.

There is no kernel for three axes: such a pool is the reduction of a view of the windows.
"""

from __future__ import annotations

from typing import Any

from tutor._storage import layout
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.methods.windows import each
from tutor.nn.module import Module


@spelled
def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last axis: see tutor.methods.windows.avg_pool"""
    return windows.avg_pool(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, dims=1
    )


@spelled
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last two axes: see tutor.methods.windows.avg_pool"""
    return windows.avg_pool(
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        dims=2,
    )


@spelled
def avg_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last three axes: see tutor.methods.windows.avg_pool"""
    return windows.avg_pool(
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        dims=3,
    )


@spelled
def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of output_size windows that cover the last axis evenly."""
    return windows.adaptive_avg_pool(input, output_size, dims=1)


@spelled
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of output_size windows that cover each of the last two axes evenly."""
    return windows.adaptive_avg_pool(input, output_size, dims=2)


@spelled
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of output_size windows that cover each of the last three axes evenly."""
    return windows.adaptive_avg_pool(input, output_size, dims=3)


# ---- layers --------------------------------------------------------------------------------------


class Pool(Module):
    """A window that moves over the last axes; the default `stride` is its size."""

    dims = 2

    def settings(self, kernel_size: Sizes, stride: Sizes | None, padding: Sizes) -> None:
        size = each(kernel_size, self.dims, "kernel_size")
        step = size if stride is None else each(stride, self.dims, "stride")
        self.options: dict[str, Any] = {
            "kernel_size": size, "stride": step, "padding": each(padding, self.dims, "padding", 0)
        }  # fmt: skip


@spelled
class AvgPool(Pool):
    """The mean of each window: see tutor.methods.windows.avg_pool"""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        self.settings(kernel_size, stride, padding)
        self.options["ceil_mode"] = bool(ceil_mode)
        self.options["count_include_pad"] = bool(count_include_pad)
        if divisor_override is not None:
            layout.positive(divisor_override, "AvgPool(divisor_override=...)")
        self.options["divisor_override"] = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        return windows.avg_pool(x, **self.options, dims=self.dims)


@spelled
class Adaptive(Module):
    """A pool with `output_size` places, whatever the input's size; None keeps an axis."""

    dims = 2

    def __init__(self, output_size: Sizes) -> None:
        several = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        each([1 if n is None else n for n in several], self.dims, "output_size")
        self.output_size = output_size


class AdaptiveAvgPool(Adaptive):
    """The mean of output_size windows that cover each axis after (N, C) evenly"""

    def forward(self, x: Tensor) -> Tensor:
        return windows.adaptive_avg_pool(x, self.output_size, dims=self.dims)


# ---- layers, by number of axes -------------------------------------------------------------------


class AvgPool1d(AvgPool):
    """The mean of each window of x (N, C, L): see AvgPool"""

    dims = 1


class AvgPool2d(AvgPool):
    """The mean of each window of x (N, C, H, W): see AvgPool"""

    dims = 2


class AvgPool3d(AvgPool):
    """The mean of each window of x (N, C, D, H, W): see AvgPool"""

    dims = 3


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, L) evenly"""

    dims = 1


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, H, W) evenly"""

    dims = 2


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """The mean of output_size windows that cover x (N, C, D, H, W) evenly"""

    dims = 3
