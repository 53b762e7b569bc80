"""Attention: each query gets a mean of the values, weighted by how well their keys match it."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import Shape, broadcast_shapes
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.core.engine import apply
from tutor.dtype import bool_
from tutor.errors import DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.functional.dropout import dropout
from tutor.ops.attention import weights


@spelled
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """softmax(q kᵀ scale + mask) v, for q (..., L, E), k (..., S, E), v (..., S, V) -> (..., L, V)
    (Vaswani et al. 2017, "Attention is all you need"); scale defaults to 1 / sqrt(E)

    attn_mask broadcasts to (..., L, S) and is added to the scores; in a boolean mask, True marks
    the keys that take part. With `is_causal` row i sees keys 0 to i. A row that sees no key gives
    0. `dropout_p` is always applied: pass 0.0 in evaluation. ShapeError if the sizes do not fit.
    """
    q, k, v = (checks.at_least(f"attention({name})", t, 2) for name, t in
               (("query", query), ("key", key), ("value", value)))  # fmt: skip
    if not q.dtype.is_float or {k.dtype, v.dtype} != {q.dtype}:
        raise DTypeError(
            f"attention of {q.dtype.name}, {k.dtype.name} and {v.dtype.name}",
            "query, key and value are not of one float dtype",
            "cast them to one",
        )
    lead = broadcast_shapes("attention (leading axes)", *(t.shape[:-2] for t in (q, k, v)))
    shape = (*lead, q.shape[-2], k.shape[-2])
    scale = 1 / math.sqrt(q.shape[-1] or 1) if scale is None else (
        checks.number("attention(scale=...)", scale))  # fmt: skip
    if is_causal and attn_mask is not None:
        raise ShapeError(
            "attention with is_causal and attn_mask",
            "each says which keys are seen",
            "give one; the other can be a part of attn_mask",
        )
    mask = q.wrap(0.0, q.dtype) if attn_mask is None else added("attention", attn_mask, q, shape)
    causal = bool(is_causal)
    found: Any
    if dropout_p == 0.0:
        found = apply("attention", q, k, v, mask, scale=scale, causal=causal)
    else:
        found = dropout(weights(q, k, mask, scale=scale, causal=causal), dropout_p) @ v
    answer: Tensor = found
    return answer


def added(name: str, given: Tensor, q: Tensor, scores: Shape) -> Tensor:
    """The mask as a term that is added to the scores, to which it must broadcast."""
    mask: Tensor = checks.tensor(f"{name}(attn_mask=...)", given)
    if mask.dtype is not bool_ and not mask.dtype.is_float:
        raise DTypeError(
            f"{name} with a mask of {mask.dtype.name}",
            "it is neither true or false, nor added to the scores",
            "give bools, True where a key takes part, or floats",
        )
    if broadcast_shapes(f"{name} (mask)", scores, mask.shape) != scores:
        raise ShapeError(
            f"{name} with a mask {mask.shape}",
            f"the scores are {scores}",
            "give a mask that stretches to them",
        )
    if mask.dtype is not bool_:
        return mask.cast(q.dtype)
    seen: Tensor = apply("where", mask, q.wrap(0.0, q.dtype), q.wrap(-math.inf, q.dtype))
    return seen
