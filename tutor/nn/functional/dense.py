"""The product with a weight: y = x Wᵀ + b."""

from __future__ import annotations

import math

from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.ground import checks, literals
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor

LINEAR = {None: "linear", "relu": "linear_relu"}


@spelled
def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str | None = None
) -> Tensor:
    """y = x Wᵀ + b, for x (..., inputs), W (outputs, inputs), b (outputs)

    `activation="relu"` gives relu(y), by the same kernel. DomainError for any other: apply other
    functions to the result.
    """
    op = "linear"
    if activation is not None:
        op = LINEAR[checks.one_of("linear(activation=...)", activation, LINEAR)]
    given = (weight,) if bias is None else (weight, bias)
    if not (literals.is_tensor(x) and all(map(literals.is_tensor, given))):
        checks.tensors("linear", (x, *given))  # says which one is none
    if len(x.shape) == 2:
        return apply(op, x, *given)
    if not x.shape:
        raise ShapeError("linear of a single number", "shape ()", "give (..., inputs)")
    rows = x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))
    return apply(op, rows, *given).reshape((*x.shape[:-1], weight.shape[0]))
