"""Attention: each row is answered with a mean of others, weighed by how well they match it."""

from __future__ import annotations

import math

from tutor.core.engine import apply
from tutor.dtype import bool_
from tutor.errors import DTypeError, ShapeError
from tutor.ground import checks
from tutor.ground.layout import broadcast_shapes
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.nn.functional.dropout import dropout


@spelled
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """softmax(q kᵀ scale + mask) v, for q (..., L, E), k (..., S, E), v (..., S, V) -> (..., L, V)
    (Vaswani et al. 2017, "Attention is all you need"); scale is 1 / sqrt(E) unless it is given

    attn_mask, which stretches to (..., L, S), is added to the scores; one of bools says by True
    which keys take part. With `is_causal` row i sees keys 0 to i. A row that sees no key gives 0.
    `dropout_p` is always applied: give 0.0 in evaluation. ShapeError where the sizes do not fit.
    """
    q, k, v = (checks.at_least(f"attention({name})", t, 2) for name, t in
               (("query", query), ("key", key), ("value", value)))  # fmt: skip
    if not q.dtype.is_float or {k.dtype, v.dtype} != {q.dtype}:
        raise DTypeError(
            f"attention of {q.dtype.name}, {k.dtype.name} and {v.dtype.name}",
            "query, key and value are not of one float dtype",
            "cast them to one",
        )
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"attention of query {q.shape}, key {k.shape} and value {v.shape}",
            "the sizes do not fit",
            "give query (..., L, E), key (..., S, E) and value (..., S, V)",
        )
    lead = broadcast_shapes("attention (leading axes)", *(t.shape[:-2] for t in (q, k, v)))
    shape = (*lead, q.shape[-2], k.shape[-2])
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1] or 1)
    scores = (q * checks.number("attention(scale=...)", scale)) @ k.transpose(-2, -1)
    if is_causal:
        if attn_mask is not None:
            raise ShapeError(
                "attention with is_causal and attn_mask",
                "each says which keys are seen",
                "give one; the other can be a part of attn_mask",
            )
        attn_mask = Tensor.ones(*shape[-2:], dtype=bool_).tril()
    if attn_mask is not None:
        mask = checks.tensor("attention(attn_mask=...)", attn_mask)
        if mask.dtype is not bool_ and not mask.dtype.is_float:
            raise DTypeError(
                f"attention with a mask of {mask.dtype.name}",
                "it is neither true or false, nor added to the scores",
                "give bools, True where a key takes part, or floats",
            )
        if broadcast_shapes("attention (mask)", shape, mask.shape) != shape:
            raise ShapeError(
                f"attention with a mask {mask.shape}",
                f"the scores are {shape}",
                "give a mask that stretches to them",
            )
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype is bool_ else (
            scores + mask.cast(q.dtype))  # fmt: skip
        if not shape[-1]:  # there is no largest one
            return Tensor.zeros(*shape[:-1], v.shape[-1], dtype=q.dtype)
        hidden = scores.detach().max(-1, keepdims=True) == -math.inf  # e**-inf / 0 would be nan
        scores = apply("where", hidden, 0.0, scores)
        weights = apply("where", hidden, 0.0, scores.softmax(-1))
    else:
        weights = scores.softmax(-1)
    found: Tensor = dropout(weights, dropout_p) @ v
    return found
