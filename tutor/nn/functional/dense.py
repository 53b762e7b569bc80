"""Products with a weight: y = x Wᵀ + b, and the bilinear form."""

from __future__ import annotations

import math

from tutor._storage import array_like
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor

LINEAR = {None: "linear", "relu": "linear_relu"}


@spelled
def linear(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str | None = None
) -> Tensor:
    """y = x Wᵀ + b, for x (..., inputs), W (outputs, inputs), b (outputs)

    `activation="relu"` gives relu(y) from the same kernel. DomainError for any other activation:
    apply other functions to the result.
    """
    op = "linear"
    if activation is not None:
        op = LINEAR[checks.one_of("linear(activation=...)", activation, LINEAR)]
    given = (weight,) if bias is None else (weight, bias)
    if not (array_like.is_tensor(x) and all(map(array_like.is_tensor, given))):
        checks.tensors("linear", (x, *given))  # names the one that is not a Tensor
    if len(x.shape) == 2:
        return apply(op, x, *given)
    if not x.shape:
        raise ShapeError("linear of a single number", "shape ()", "give (..., inputs)")
    rows = x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))
    return apply(op, rows, *given).reshape((*x.shape[:-1], weight.shape[0]))


@spelled
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., o] = x1 A[o] x2ᵀ + bias[o], for x1 (..., I), x2 (..., J), A (O, I, J), bias (O)"""
    checks.tensors("bilinear", (input1, input2, weight))
    a, b, w = input1, input2, weight
    if w.ndim != 3 or a.shape[-1:] != w.shape[1:2] or b.shape[-1:] != w.shape[2:] or (
        a.shape[:-1] != b.shape[:-1]
    ):  # fmt: skip
        raise ShapeError(
            f"bilinear of {a.shape} and {b.shape} with a weight {w.shape}",
            "the sizes do not fit",
            "give (..., I), (..., J) and (O, I, J), with the same leading axes",
        )
    outputs, first, second = w.shape
    rows = a.reshape((-1, first)) if a.ndim != 2 else a
    left = (rows @ w.permute(1, 0, 2).reshape((first, outputs * second))).reshape(
        (rows.shape[0], outputs, second)
    )
    right = b.reshape((rows.shape[0], 1, second))
    y = (left * right).sum(-1).reshape((*a.shape[:-1], outputs))
    if bias is None:
        return y
    if checks.tensor("bilinear(bias)", bias).shape != (outputs,):
        raise ShapeError(f"bilinear with bias {bias.shape}", f"{outputs} outputs", "one for each")
    return y + bias
