"""Convolutions over the last axes of x (N, C, *S), window by window."""

from __future__ import annotations

from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Padding, Sizes
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
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """A convolution over the last three axes of x (N, C, D, H, W): see tutor.methods.windows.conv.
    It has no kernel: the windows are copied side by side for one matrix product."""
    return windows.conv(input, weight, bias, stride, padding, dilation, groups, dims=3)


@spelled
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose (adjoint) of `conv1d`: see tutor.methods.windows.conv_transpose"""
    return windows.conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=1
    )


@spelled
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose (adjoint) of `conv2d`: see tutor.methods.windows.conv_transpose"""
    return windows.conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=2
    )


@spelled
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv3d`, by a matrix product: see tutor.methods.windows.conv_transpose"""
    return windows.conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, dims=3
    )
