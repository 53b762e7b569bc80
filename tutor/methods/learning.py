"""Towards a loss: softmax, cross entropy, convolution and pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tutor import windows
from tutor.core.engine import apply

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor


class Learning:
    """Layers and losses."""

    __slots__ = ()

    def softmax(self, axis: int = -1) -> Tensor:
        """e**x / sum e**x along axis."""
        return apply("softmax", self, axis=axis)

    def log_softmax(self, axis: int = -1) -> Tensor:
        """x - ln sum e**x along axis."""
        return apply("log_softmax", self, axis=axis)

    def cross_entropy(self, targets: Any, reduction: str = "mean") -> Tensor:
        """Logits (..., classes) against integer targets (...): see ops.fused.CrossEntropy."""
        return apply("cross_entropy", self, targets, reduction=reduction)

    sparse_categorical_crossentropy = cross_entropy

    # ---- windows: (N, C, *S), see tutor/windows.py -----------------------------------------------

    def conv1d(self, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
        """A convolution over the last axis; options: stride, padding, dilation, groups."""
        return windows.conv(self, weight, bias, **options, dims=1)

    def conv2d(self, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
        """A convolution over the last two axes; options: stride, padding, dilation, groups."""
        return windows.conv(self, weight, bias, **options, dims=2)

    def conv_transpose2d(
        self, weight: Tensor, bias: Tensor | None = None, **options: Any
    ) -> Tensor:
        """`conv2d` backwards; options: stride, padding, output_padding, groups, dilation."""
        return windows.conv_transpose(self, weight, bias, **options, dims=2)

    def max_pool2d(self, kernel_size: Any = 2, stride: Any = None, **options: Any) -> Tensor:
        """The largest in each window; options: padding, dilation, ceil_mode."""
        return windows.max_pool(self, kernel_size, stride, **options, dims=2)

    def avg_pool2d(self, kernel_size: Any = 2, stride: Any = None, **options: Any) -> Tensor:
        """The mean of each window; options: padding, ceil_mode, count_include_pad."""
        return windows.avg_pool(self, kernel_size, stride, **options, dims=2)
