"""Dense layers, with a weight for every pair of an input and an output, and embedding tables."""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.errors import OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn import init
from tutor.nn.functional.dense import LINEAR
from tutor.nn.module import Module


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
        return F.linear(x, self.weight, self.bias, self.activation)


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
        return F.bilinear(a, b, self.weight, self.bias)


@spelled
class Embedding(Module):
    """Row i of a table for each integer i: x (...) of integers -> (..., embedding_dim)

    The table `weight` (num_embeddings, embedding_dim) starts normal, mean 0 and variance 1. The row
    `padding_idx` starts at 0 and gets no gradient. OutOfRangeError for an i outside the table.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.num_embeddings = layout.positive(num_embeddings, "Embedding(num_embeddings=...)")
        self.embedding_dim = layout.positive(embedding_dim, "Embedding(embedding_dim=...)")
        self.padding_idx = None if padding_idx is None else self.row(padding_idx)
        weight = Tensor.randn(self.num_embeddings, self.embedding_dim, dtype=dtype)
        if self.padding_idx is not None:
            weight[self.padding_idx] = 0
        self.weight = weight.requires_grad_()

    def row(self, padding_idx: int) -> int:
        """The row of the padding, counted from the front."""
        row, n = layout.whole_number(padding_idx, "Embedding(padding_idx=...)"), self.num_embeddings
        if not -n <= row < n:
            raise OutOfRangeError(
                f"Embedding(padding_idx={row})", f"{n} rows", f"give a row from 0 to {n - 1}"
            )
        return row % n

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """An Embedding with a copy of this table (rows, width); it is trained unless `freeze`."""
        table = checks.at_least("Embedding.from_pretrained(embeddings)", embeddings, 2)
        if table.ndim != 2:
            raise ShapeError(
                f"Embedding.from_pretrained of {table.shape}", "a table has 2 axes", "(rows, width)"
            )
        rows, width = table.shape
        made = cls(rows, width, padding_idx, dtype=table.dtype)
        made.weight = table.detach().copy().requires_grad_(not freeze)
        return made

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight, self.padding_idx)


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
