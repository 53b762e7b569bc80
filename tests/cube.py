"""An op of a user's own, whose forward and backward run in Python."""

from __future__ import annotations

from typing import Any

from tutor import Function, Tensor


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * x * x * 3
