"""Embedding: looks up rows of a table by number."""

from __future__ import annotations

from tutor._storage.layout import whole_number
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.dtype import int64
from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor


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
    pad = whole_number(padding_idx, "embedding(padding_idx=...)")
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
