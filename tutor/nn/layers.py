"""Layers: parameters together with what is done with them."""

from __future__ import annotations

import math
from typing import Any

from tutor.core.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.module import Module
from tutor.windows import each


class Linear(Module):
    """y = x Wᵀ + b, for x (..., inputs), W (outputs, inputs), b (outputs)

    W starts uniform in +-sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010), b at 0. With
    `activation="relu"` the layer gives relu(y): the same as a ReLU after it, in one kernel.
    """

    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, activation: str | None = None,
        *, dtype: Any = "float32",
    ) -> None:  # fmt: skip
        self.weight = Tensor.glorot_uniform(outputs, inputs, dtype=dtype, requires_grad=True)
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias, self.activation)


class Conv2d(Module):
    """A convolution, x (N, inputs, H, W) -> (N, outputs, H', W'): see tutor.windows.conv

    `kernel_size`, `stride`, `padding` and `dilation` are one number, or one for each of H and W.
    The weight (outputs, inputs / groups, *kernel_size) starts uniform in +-sqrt(6 / (fan_in +
    fan_out)) (Glorot & Bengio 2010), the bias (outputs) at 0.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, *, dtype: Any = "float32",
    ) -> None:  # fmt: skip
        size = each(kernel_size, 2, "kernel_size")
        self.weight = Tensor.glorot_uniform(
            outputs, inputs // groups, *size, dtype=dtype, requires_grad=True
        )
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None
        self.options = {"stride": stride, "padding": padding, "dilation": dilation}
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, self.bias, **self.options, groups=self.groups)


class MaxPool2d(Module):
    """The largest in each window: see tutor.windows.max_pool"""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        self.options = {"kernel_size": kernel_size, "stride": stride, "padding": padding}

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, **self.options)


class Flatten(Module):
    """(N, ...) -> (N, all the rest)"""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape((x.shape[0], math.prod(x.shape[1:])))


class ReLU(Module):
    """y = max(x, 0)"""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class Sequential(Module):
    """One layer after another."""

    def __init__(self, *layers: Any) -> None:
        self.layers = list(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x
