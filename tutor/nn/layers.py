"""Layers: parameters together with what is done with them."""

from __future__ import annotations

from typing import Any

from tutor.core.tensor import Tensor
from tutor.nn.module import Module


class Linear(Module):
    """y = x Wᵀ + b, for x (..., inputs), W (outputs, inputs), b (outputs)

    W starts uniform in +-sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010), b at 0.
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True, *, dtype: Any = "float32"):
        self.weight = Tensor.glorot_uniform(outputs, inputs, dtype=dtype, requires_grad=True)
        self.bias = Tensor.zeros(outputs, dtype=dtype, requires_grad=True) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


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
