"""Pools: the largest number, or the mean, of each window of x (N, C, *S).

There is no kernel for three axes: such a pool is the reduction of a view of the windows.
`return_indices` also returns the places of the largest numbers, which copies all windows.
"""

from __future__ import annotations

from typing import Literal, overload

from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Sizes
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.nn.functional.resampling import covering_positions, positions


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
