"""Attention: each query gets a mean of the values, weighted by how well their keys match it. As a
function, and as a layer.

Each place of a sequence compares its query with the keys of other places, and takes a weighted mean
of their values: softmax(q kᵀ / sqrt(D)) v, in several heads at once, each with its own D numbers of
every place (Vaswani et al. 2017, "Attention is all you need").
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import layout
from tutor._storage.layout import Shape, broadcast_shapes
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.core.engine import apply
from tutor.dtype import bool_
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.cache import KVCache
from tutor.nn.dense import Linear, linear
from tutor.nn.dropout import dropout
from tutor.nn.module import Module
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
    """A mask of the function as numbers to add to the scores, to which it must broadcast: of bools,
    False hides a key, and becomes -inf."""
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


# ---- layers --------------------------------------------------------------------------------------


@spelled
class MultiheadAttention(Module):
    """softmax(q kᵀ / sqrt(D)) v in `num_heads` heads of D = embed_dim / num_heads numbers, where q,
    k, v are linear in query, key, value; then another linear layer, `out_proj`

    query (L, N, E), key and value (S, N, E) -> (L, N, E), and the mean weights (N, L, S); with
    batch_first N comes first; a single sequence has no N. `in_proj_weight` (3 E, E) holds the
    weights of q, k and v one below the other. It starts Glorot-uniform, the biases at 0. ShapeError
    if embed_dim is not divisible by num_heads.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        batch_first: bool = False, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.embed_dim = layout.positive(embed_dim, "MultiheadAttention(embed_dim=...)")
        self.num_heads = layout.positive(num_heads, "MultiheadAttention(num_heads=...)")
        if self.embed_dim % self.num_heads:
            raise ShapeError(
                f"MultiheadAttention({embed_dim}, {num_heads})",
                f"{embed_dim} numbers do not divide into {num_heads} heads",
                "embed_dim must be a multiple of num_heads",
            )
        what = "MultiheadAttention(dropout=...)"
        self.dropout = float(checks.number(what, dropout, 0, 1, nan=False))
        self.batch_first = bool(batch_first)
        width = self.embed_dim
        self.in_proj_weight = Tensor.glorot_uniform(
            3 * width, width, dtype=dtype, requires_grad=True
        )
        self.in_proj_bias = (
            Tensor.zeros(3 * width, dtype=dtype, requires_grad=True) if bias else None
        )
        self.out_proj = Linear(width, width, bias, dtype=dtype)

    def __call__(  # type: ignore[override]  # what a call gives is a pair here
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
        key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False, cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        return super().__call__(  # type: ignore[return-value]
            query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights,
            is_causal, cache,
        )  # fmt: skip

    def forward(  # type: ignore[override]
        self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
        key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False, cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """(output, weights); key and value default to the query: self-attention

        key_padding_mask (N, S): True, or a number to add to the scores, for keys that are padding.
        attn_mask (L, S), or (N * heads, L, S): True where a query must not look, or numbers to add
        to the scores. is_causal: each place sees itself and earlier places, those in `cache`
        included; with attn_mask, both apply. need_weights=False is faster and returns None for the
        weights.
        """
        q, k, v = self.rows(query, key, value)
        q, k, v = (self.heads(t) for t in self.projected(q, k, v))
        if cache is not None:
            k, v = cache.extend(k, v)
        p = self.dropout if self.training else 0.0
        weights = None
        plain = cache is None and attn_mask is None and key_padding_mask is None
        if is_causal and plain and not need_weights and q.shape[2] == k.shape[2]:
            found = scaled_dot_product_attention(q, k, v, None, p, True)
        else:
            mask = self.mask(q, k, attn_mask, key_padding_mask, is_causal, cache)
            if need_weights:
                scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
                shares = (scores if mask is None else scores + mask).softmax(-1)
                found = dropout(shares, p, True) @ v
                weights = shares.mean(1) if average_attn_weights else shares
            else:
                found = scaled_dot_product_attention(q, k, v, mask, p)
        n, _, length, _ = found.shape
        z = self.out_proj(found.transpose(1, 2).reshape((n, length, self.embed_dim)))
        return self.given_back(z, weights, query.ndim == 2)

    def rows(
        self, query: Tensor, key: Tensor | None, value: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """query, key and value as (N, places, E)."""
        checks.tensor("MultiheadAttention(query)", query)
        key = query if key is None else checks.tensor("MultiheadAttention(key)", key)
        value = key if value is None else checks.tensor("MultiheadAttention(value)", value)
        shapes = query.shape, key.shape, value.shape
        if (
            {len(s) for s in shapes} not in ({2}, {3})
            or {s[-1] for s in shapes} != {self.embed_dim}
            or key.shape != value.shape
        ):
            raise ShapeError(
                f"MultiheadAttention({self.embed_dim}, {self.num_heads}) of query {shapes[0]}, key "
                f"{shapes[1]} and value {shapes[2]}", "the shapes do not fit",
                f"give (L, N, {self.embed_dim}) and twice (S, N, {self.embed_dim}), "
                "N first where batch_first is True, or all without N",
            )  # fmt: skip
        found = [t.unsqueeze(0) if t.ndim == 2 else t if self.batch_first else t.transpose(0, 1)
                 for t in (query, key, value)]  # fmt: skip
        if found[0].shape[0] != found[1].shape[0]:
            raise ShapeError(
                f"MultiheadAttention of {found[0].shape[0]} queries and {found[1].shape[0]} keys",
                "there are not as many sequences", "give one key sequence for each query sequence",
            )  # fmt: skip
        return found[0], found[1], found[2]

    def projected(self, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v after their linear layers; one product if they are the same Tensor."""
        if q is k and k is v:
            z = linear(q, self.in_proj_weight, self.in_proj_bias)
            a, b, c = z.chunk(3, -1)
            return a, b, c
        ws = self.in_proj_weight.chunk(3, 0)
        bs = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3, 0)
        a, b, c = (linear(t, w, bias) for t, w, bias in zip((q, k, v), ws, bs, strict=True))
        return a, b, c

    def heads(self, x: Tensor) -> Tensor:
        """(N, places, E) -> (N, heads, places, D)"""
        n, places, width = x.shape
        heads = self.num_heads
        return x.reshape((n, places, heads, width // heads)).transpose(1, 2)

    def mask(
        self, q: Tensor, k: Tensor, attn_mask: Tensor | None, padding: Tensor | None,
        is_causal: bool, cache: KVCache | None,
    ) -> Tensor | None:  # fmt: skip
        """The mask to add to the scores (N, heads, L, S): -inf where a query must not look."""
        n, heads, length, _ = q.shape
        keys = k.shape[2]
        total: Tensor | None = None
        if attn_mask is not None:
            total = hidden("attn_mask", attn_mask, ((length, keys), (n * heads, length, keys)), q)
            if total.ndim == 3:
                total = total.reshape((n, heads, length, keys))
        if cache is not None:
            later = cache.hidden(length, is_causal)
        elif is_causal:
            places = Tensor.arange(max(keys, length), device=q.device)
            later = places[:keys] > places[:length].unsqueeze(1)
        else:
            later = None
        if later is not None:
            unseen = hidden("is_causal", later, ((length, keys),), q)
            total = unseen if total is None else total + unseen
        if padding is not None:
            shapes = ((n, keys), (keys,)) if n == 1 else ((n, keys),)
            unseen = hidden("key_padding_mask", padding, shapes, q).reshape((n, 1, 1, keys))
            total = unseen if total is None else total + unseen
        return total

    def given_back(
        self, z: Tensor, weights: Tensor | None, single: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The result and the weights with their axes in the query's order."""
        if single:
            return z.squeeze(0), None if weights is None else weights.squeeze(0)
        return z if self.batch_first else z.transpose(0, 1), weights


MultiHeadAttention = MultiheadAttention  # as the paper spells it


def hidden(name: str, mask: Tensor, shapes: tuple[tuple[int, ...], ...], q: Tensor) -> Tensor:
    """A mask of the layer as numbers to add: of bools, True hides a key, and becomes -inf."""
    if checks.tensor(f"MultiheadAttention({name})", mask).shape not in shapes:
        raise ShapeError(
            f"MultiheadAttention with {name} {mask.shape}", "it does not fit the scores",
            f"give {' or '.join(map(str, shapes))}",
        )  # fmt: skip
    if mask.dtype is bool_:
        return q.like(0, mask.shape).masked_fill(mask, -math.inf)
    if not mask.dtype.is_float:
        raise DomainError(
            f"MultiheadAttention with {name} of {mask.dtype.name}", "neither bools nor floats",
            "give bools, True where a query must not look, or floats to be added",
        )  # fmt: skip
    return mask.cast(q.dtype)
