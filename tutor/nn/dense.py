"""Dense layers, with a weight for every pair of an input and an output: y = x Wᵀ + b, and the
bilinear form, as functions and as layers."""

from __future__ import annotations

import math

from tutor._storage import array_like, layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn import init
from tutor.nn.module import Module
from tutor.nn.operands import check_dtype

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
    if x.buf.dtype is not weight.buf.dtype:
        check_dtype("linear", x, weight)
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
    for x in (a, b):
        check_dtype("bilinear", x, w)
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


# ---- layers --------------------------------------------------------------------------------------


@spelled
class Linear(Module):
    """y = x Wᵀ + b, for x (..., in_features), W (out_features, in_features), b (out_features)

    W starts uniform in +-sqrt(6 / (in_features + out_features)) (Glorot & Bengio 2010), b at 0.
    With `activation="relu"` the layer returns relu(y): the same as a ReLU after it, in one kernel.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True,
        activation: str | None = None, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        checks.one_of("Linear(activation=...)", activation, LINEAR)
        self.weight = Tensor.glorot_uniform(
            out_features, in_features, dtype=dtype, requires_grad=True
        )
        self.bias = Tensor.zeros(out_features, dtype=dtype, requires_grad=True) if bias else None
        self.out_features, self.in_features = self.weight.shape
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias, self.activation)


@spelled
class Bilinear(Module):
    """y[..., o] = a A[o] bᵀ + bias[o], for a (..., in1), b (..., in2), A (out, in1, in2)

    A and the bias start uniform in +-1/sqrt(in1), as in PyTorch.
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        bound = 1 / math.sqrt(layout.positive(in1_features, "Bilinear(in1_features=...)"))
        self.weight = started(bound, (out_features, in1_features, in2_features), dtype)
        self.bias = started(bound, (out_features,), dtype) if bias else None

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return bilinear(a, b, self.weight, self.bias)


def started(bound: float, shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
    """A parameter that starts uniform in +-bound."""
    return init.uniform_(Tensor.zeros(shape, dtype=dtype), -bound, bound).requires_grad_()


def stacked(num_layers: int, what: str) -> int:
    """The number of stacked layers. Each of them is built, so a typo must not ask for more than
    memory can hold: ShapeError above MOST_LAYERS."""
    count = layout.positive(num_layers, what)
    if count > MOST_LAYERS:
        raise ShapeError(what, f"{count}", f"the most is {MOST_LAYERS}")
    return count


MOST_LAYERS = 10_000
