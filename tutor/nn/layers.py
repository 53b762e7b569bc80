"""Layers: parameters together with what is done with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tutor.errors import DTypeError
from tutor.ground import checks, layout
from tutor.ground.spelling import spelled
from tutor.ground.typing import DTypeLike, Padding, Sizes
from tutor.methods.tensor import Tensor
from tutor.methods.windows import check_groups, each
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.functional.dense import LINEAR
from tutor.nn.module import Module


@spelled
class Linear(Module):
    """y = x Wᵀ + b, for x (..., inputs), W (outputs, inputs), b (outputs)

    W starts uniform in +-sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010), b at 0. With
    `activation="relu"` the layer gives relu(y): the same as a ReLU after it, in one kernel.
    """

    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, activation: str | None = None,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        checks.one_of("Linear(activation=...)", activation, LINEAR)
        self.weight = Tensor.glorot_uniform(outputs, inputs, dtype=dtype, requires_grad=True)
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias, self.activation)


@spelled
class Conv2d(Module):
    """A convolution, x (N, inputs, H, W) -> (N, outputs, H', W'): see tutor.methods.windows.conv

    `kernel_size`, `stride`, `padding` and `dilation` are one number, or one for each of H and W.
    The weight (outputs, inputs / groups, *kernel_size) starts uniform in +-sqrt(6 / (fan_in +
    fan_out)) (Glorot & Bengio 2010), the bias (outputs) at 0.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel_size: Sizes, stride: Sizes = 1,
        padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, bias: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        size = each(kernel_size, 2, "kernel_size")
        groups = layout.positive(groups, "Conv2d(groups=...)")
        inputs, outputs = (layout.whole_number(n, "channels of Conv2d") for n in (inputs, outputs))
        check_groups(groups, inputs, inputs, outputs, (outputs, inputs // groups, *size))
        self.weight = Tensor.glorot_uniform(
            outputs, inputs // groups, *size, dtype=dtype, requires_grad=True
        )
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None
        if not isinstance(padding, str):
            padding = each(padding, 2, "padding", 0)
        self.options: dict[str, Any] = {
            "stride": each(stride, 2, "stride"),
            "padding": padding,
            "dilation": each(dilation, 2, "dilation"),
        }
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, self.bias, **self.options, groups=self.groups)


@spelled
class MaxPool2d(Module):
    """The largest in each window: see tutor.methods.windows.max_pool"""

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Padding = 0
    ) -> None:
        size = each(kernel_size, 2, "kernel_size")
        step = size if stride is None else each(stride, 2, "stride")
        padding = each(padding, 2, "padding", 0)
        self.options: dict[str, Any] = {"kernel_size": size, "stride": step, "padding": padding}

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, **self.options)


@spelled
class Flatten(Module):
    """(N, ...) -> (N, all the rest)"""

    def __init__(self) -> None:
        """There is nothing to set."""

    def forward(self, x: Tensor) -> Tensor:
        checks.at_least("Flatten", x, 1)
        return x.reshape((x.shape[0], math.prod(x.shape[1:])))


@spelled
class ReLU(Module):
    """y = max(x, 0)"""

    def __init__(self) -> None:
        """There is nothing to set."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


@spelled
class Sequential(Module):
    """One layer after another."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)):
            raise DTypeError(
                "Sequential([...])", "the layers are in one list", "write Sequential(*layers)"
            )
        self.layers = [checks.function("a layer of Sequential", layer) for layer in layers]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x
