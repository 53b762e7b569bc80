"""Convolutions and pools: what goes over the last axes of x (N, C, ...) window by window."""

from __future__ import annotations

from tutor.ground.spelling import spelled
from tutor.ground.typing import Padding, Sizes
from tutor.methods import windows
from tutor.methods.tensor import Tensor


@spelled
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last axis of x (N, C, L): see tutor.methods.windows.conv"""
    return windows.conv(input, weight, bias, stride, padding, dilation, groups, dims=1)


@spelled
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last two axes of x (N, C, H, W): see tutor.methods.windows.conv"""
    return windows.conv(input, weight, bias, stride, padding, dilation, groups, dims=2)


@spelled
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """`conv1d` backwards: see tutor.methods.windows.conv_transpose"""
    return windows.conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=1
    )


@spelled
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """`conv2d` backwards: see tutor.methods.windows.conv_transpose"""
    return windows.conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=2
    )


@spelled
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    dilation: Sizes = 1, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The largest in each window of the last axis: see tutor.methods.windows.max_pool"""
    return windows.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, dims=1)


@spelled
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    dilation: Sizes = 1, ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The largest in each window of the last two axes: see tutor.methods.windows.max_pool"""
    return windows.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, dims=2)


@spelled
def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last axis: see tutor.methods.windows.avg_pool"""
    return windows.avg_pool(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, dims=1
    )


@spelled
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of the last two axes: see tutor.methods.windows.avg_pool"""
    return windows.avg_pool(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, dims=2
    )


@spelled
def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of output_size windows that cover the last axis evenly."""
    return windows.adaptive_avg_pool(input, output_size, dims=1)


@spelled
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of output_size windows that cover each of the last two axes evenly."""
    return windows.adaptive_avg_pool(input, output_size, dims=2)
