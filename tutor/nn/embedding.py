"""Embedding: looks up rows of a table by number."""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.core.engine import apply
from tutor.dtype import int64
from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.nn.parameter import Parameter


@spelled
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """weight[input]: for indices (...) and a table (rows, width), the rows (..., width)

    Row `padding_idx` (which may count from the end) gets no gradient: it represents padding.
    OutOfRangeError for an index outside 0 to rows - 1.
    """
    index: Tensor = checks.tensor("embedding(input)", input)
    if not index.dtype.is_integer:
        raise DTypeError(
            f"embedding of {index.dtype.name}", "the number of a row is whole", "cast to int64"
        )
    if checks.tensor("embedding(weight)", weight).ndim != 2:
        raise ShapeError(
            f"embedding in a weight of shape {weight.shape}",
            f"{weight.ndim} axes",
            "give a table (rows, width)",
        )
    rows, width = weight.shape
    index = index.cast(int64)
    place = apply("where", index < 0, rows, index)  # not a row, so the kernel refuses it
    try:
        found: Tensor = apply("index_select", weight, place.reshape((-1,)), axis=0)
    except OutOfRangeError:
        raise OutOfRangeError(
            f"embedding in a table of {rows} rows",
            checks.span(index),
            f"give numbers from 0 to {rows - 1}",
        ) from None
    found = found.reshape((*index.shape, width))
    if padding_idx is None:
        return found
    pad = layout.whole_number(padding_idx, "embedding(padding_idx=...)")
    if not -rows <= pad < rows:
        raise OutOfRangeError(
            f"embedding(padding_idx={pad})",
            f"a table of {rows} rows",
            f"give {-rows} to {rows - 1}",
        )
    if found.requires_grad:  # padding only affects the gradient, not the rows themselves

        def apart(g: Tensor) -> Tensor:
            here = place == pad % rows
            masked: Tensor = apply("where", here.reshape((*index.shape, 1)), 0.0, g)
            return masked

        found.register_hook(apart)
    return found


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
        made.weight = Parameter(table.detach().copy(), not freeze)
        return made

    def forward(self, x: Tensor) -> Tensor:
        return embedding(x, self.weight, self.padding_idx)
