"""One-hot classes, convolution and pooling, as methods."""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.typing import Padding, Sizes
from tutor.core.engine import apply
from tutor.errors import DTypeError, OutOfRangeError
from tutor.methods import windows
from tutor.methods.operators import T


def one_hot(self: T, classes: int | None = None) -> T:
    """A row (the last axis) of int64 for each class number: 1 at that class, else 0. `classes`
    defaults to the largest number + 1. Raises OutOfRangeError, DTypeError."""
    if not self.dtype.is_integer:
        raise DTypeError(
            f"one_hot of {self.dtype.name}", "a class is a whole number", "cast it to int64"
        )
    if classes is None:  # known only from the numbers themselves
        n = max(int(self.max().item()) + 1, 0) if self.numel() else 0
    else:
        (n,) = layout.checked_shape((classes,), "a number of classes")
    try:
        return apply("one_hot", self, classes=n)
    except OutOfRangeError:
        raise OutOfRangeError(
            f"one_hot into {n} classes", checks.span(self), f"give classes from 0 to {n - 1}"
        ) from None


# ---- windows: (N, C, *S), see tutor/methods/windows.py -------------------------------------------


def conv1d(
    self: T, weight: T, bias: T | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> T:  # fmt: skip
    """A convolution over the last axis."""
    return windows.conv(self, weight, bias, stride, padding, dilation, groups, dims=1)


def conv2d(
    self: T, weight: T, bias: T | None = None, stride: Sizes = 1,
    padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
) -> T:  # fmt: skip
    """A convolution over the last two axes."""
    return windows.conv(self, weight, bias, stride, padding, dilation, groups, dims=2)


def conv_transpose2d(
    self: T, weight: T, bias: T | None = None, stride: Sizes = 1,
    padding: Padding = 0, output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> T:  # fmt: skip
    """The transposed convolution: `conv2d` backwards."""
    return windows.conv_transpose(
        self, weight, bias, stride, padding, output_padding, groups, dilation, dims=2
    )


def max_pool2d(
    self: T, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
    dilation: Sizes = 1, ceil_mode: bool = False,
) -> T:  # fmt: skip
    """The maximum of each window."""
    return windows.max_pool(self, kernel_size, stride, padding, dilation, ceil_mode, dims=2)


def avg_pool2d(
    self: T, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> T:  # fmt: skip
    """The mean of each window."""
    return windows.avg_pool(
        self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
        dims=2,
    )  # fmt: skip
