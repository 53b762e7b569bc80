"""Attention as a layer, and the blocks of a transformer.

Each place of a sequence asks (query) what stands at others (key), and takes a mixture of what they
tell (value): softmax(q kᵀ / sqrt(D)) v, in several heads at once, each with its own D numbers of
every place (Vaswani et al. 2017, "Attention is all you need").
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

from tutor.dtype import bool_
from tutor.errors import DomainError, ShapeError
from tutor.ground import checks, layout
from tutor.ground.spelling import spelled
from tutor.ground.typing import DTypeLike
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.nn.containers import ModuleList
from tutor.nn.dense import Linear, stacked
from tutor.nn.dropout import Dropout
from tutor.nn.module import Module
from tutor.nn.norm import LayerNorm
from tutor.ops.movement import cat


class KVCache:
    """The keys and values of the places that were seen: who writes one place after the other need
    not compute them again. `attention(x, cache=cache)` takes new places only, and appends them.

    Each call copies what is there: as much memory traffic as reading it for attention.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None  # (N, heads, places, D)
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """How many places were seen."""
        return 0 if self.keys is None else self.keys.shape[2]

    def extend(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values, with the new ones behind those that are there."""
        if self.keys is not None and self.values is not None:
            if self.keys.shape[:2] != keys.shape[:2]:
                raise ShapeError(
                    f"attention with a cache of {self.keys.shape[0]} sequences",
                    f"the new places are of {keys.shape[0]}",
                    "take a new KVCache() for other sequences",
                )
            keys, values = cat([self.keys, keys], axis=2), cat([self.values, values], axis=2)
        self.keys, self.values = keys, values
        return keys, values


@spelled
class MultiheadAttention(Module):
    """softmax(q kᵀ / sqrt(D)) v in `num_heads` heads of D = embed_dim / num_heads numbers, where q,
    k, v are linear in query, key, value; then another linear layer, `out_proj`

    query (L, N, E), key and value (S, N, E) -> (L, N, E), and the mean weights (N, L, S); with
    batch_first N comes first; without N for a single sequence. `in_proj_weight` (3 E, E) holds the
    weights of q, k and v one below the other. It starts Glorot-uniform, the biases at 0. ShapeError
    where embed_dim does not divide by num_heads.
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
        """(output, weights); without key and value they are the query: self-attention

        key_padding_mask (N, S): True, or a number that is added, for keys that are no part of a
        sequence. attn_mask (L, S), or (N * heads, L, S): True where a query must not look, or
        numbers that are added. is_causal: each place sees itself and those before it, of all that
        `cache` holds, too. need_weights=False, which gives None for them, is the quicker way.
        """
        q, k, v = self.rows(query, key, value)
        q, k, v = (self.heads(t) for t in self.projected(q, k, v))
        seen = len(cache) if cache is not None else 0
        if cache is not None:
            k, v = cache.extend(k, v)
        mask = self.mask(q, k, attn_mask, key_padding_mask, is_causal, seen)
        only_causal = is_causal and not seen and attn_mask is None and key_padding_mask is None
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
            shares = (scores if mask is None else scores + mask).softmax(-1)
            found = F.dropout(shares, p, True) @ v
            weights = shares.mean(1) if average_attn_weights else shares
        elif only_causal and q.shape[2] == k.shape[2]:
            found = F.scaled_dot_product_attention(q, k, v, None, p, True)
        else:
            found = F.scaled_dot_product_attention(q, k, v, mask, p)
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
        """q, k and v after their linear layers: by one product where they are the same."""
        if q is k and k is v:
            z = F.linear(q, self.in_proj_weight, self.in_proj_bias)
            a, b, c = z.chunk(3, -1)
            return a, b, c
        ws = self.in_proj_weight.chunk(3, 0)
        bs = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3, 0)
        a, b, c = (F.linear(t, w, bias) for t, w, bias in zip((q, k, v), ws, bs, strict=True))
        return a, b, c

    def heads(self, x: Tensor) -> Tensor:
        """(N, places, E) -> (N, heads, places, D)"""
        n, places, width = x.shape
        heads = self.num_heads
        return x.reshape((n, places, heads, width // heads)).transpose(1, 2)

    def mask(
        self, q: Tensor, k: Tensor, attn_mask: Tensor | None, padding: Tensor | None,
        is_causal: bool, seen: int,
    ) -> Tensor | None:  # fmt: skip
        """What is added to the scores (N, heads, L, S): -inf where a query must not look."""
        n, heads, length, _ = q.shape
        keys = k.shape[2]
        total: Tensor | None = None
        if attn_mask is not None:
            total = added("attn_mask", attn_mask, ((length, keys), (n * heads, length, keys)), q)
            if total.ndim == 3:
                total = total.reshape((n, heads, length, keys))
        if is_causal and attn_mask is None and (length > 1 or not seen):
            place = Tensor.arange(length).unsqueeze(1) + seen
            total = added("is_causal", Tensor.arange(keys) > place, ((length, keys),), q)
        if padding is not None:
            shapes = ((n, keys), (keys,)) if n == 1 else ((n, keys),)
            hidden = added("key_padding_mask", padding, shapes, q).reshape((n, 1, 1, keys))
            total = hidden if total is None else total + hidden
        return total

    def given_back(
        self, z: Tensor, weights: Tensor | None, single: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The result with the axes in the order of the query's."""
        if single:
            return z.squeeze(0), None if weights is None else weights.squeeze(0)
        return z if self.batch_first else z.transpose(0, 1), weights


MultiHeadAttention = MultiheadAttention  # as the paper spells it


def added(name: str, mask: Tensor, shapes: tuple[tuple[int, ...], ...], q: Tensor) -> Tensor:
    """A mask as numbers to add: -inf where one of bools is True."""
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


ACTIVATIONS = ("relu", "gelu")


def activation_of(kind: str, name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    checks.one_of(f"{kind}(activation=...)", name, ACTIVATIONS)
    return F.relu if name == "relu" else F.gelu


@spelled
class TransformerBlock(Module):
    """x + attention(norm1(x)), and then x + mlp(norm2(x)), for x (N, places, embed_dim): what a GPT
    is a stack of. The norms stand before, so that the sum that goes through all blocks is never
    scaled (Xiong et al. 2020); mlp is linear to `hidden` (4 embed_dim), gelu, and back.

    With is_causal, the default, each place sees itself and those before it.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, hidden: int | None = None, dropout: float = 0.0,
        is_causal: bool = True, bias: bool = True, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.norm1 = LayerNorm(embed_dim, bias=bias, dtype=dtype)
        self.attention = MultiheadAttention(
            embed_dim, num_heads, dropout, bias, batch_first=True, dtype=dtype
        )
        self.norm2 = LayerNorm(embed_dim, bias=bias, dtype=dtype)
        width = self.attention.embed_dim
        hidden = 4 * width if hidden is None else hidden
        hidden = layout.positive(hidden, "TransformerBlock(hidden=...)")
        self.linear1 = Linear(width, hidden, bias, dtype=dtype)
        self.linear2 = Linear(hidden, width, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.is_causal = bool(is_causal)

    def forward(self, x: Tensor, cache: KVCache | None = None) -> Tensor:
        told, _ = self.attention(
            self.norm1(x), need_weights=False, is_causal=self.is_causal, cache=cache
        )
        x = x + self.dropout(told)
        return x + self.dropout(self.linear2(F.gelu(self.linear1(self.norm2(x)))))


@spelled
class TransformerEncoderLayer(Module):
    """norm1(x + attention(x)), then norm2(x + mlp(x)); with norm_first as TransformerBlock. Of a
    name and with weights as PyTorch's: src (S, N, E), or (N, S, E) with batch_first."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout, self.dropout1, self.dropout2 = (Dropout(dropout) for _ in range(3))
        self.activation = activation_of("TransformerEncoderLayer", activation)
        self.norm_first = bool(norm_first)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        masks = src_mask, src_key_padding_mask, is_causal
        if self.norm_first:
            x = src + self.told(self.norm1(src), *masks)
            return x + self.mixed(self.norm2(x))
        x = self.norm1(src + self.told(src, *masks))
        return self.norm2(x + self.mixed(x))

    def told(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        z, _ = self.self_attn(x, x, x, padding, False, mask, True, is_causal)
        return self.dropout1(z)

    def mixed(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@spelled
class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after another, and a norm behind the last."""

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        checks.function("TransformerEncoder(encoder_layer)", encoder_layer)
        count = stacked(num_layers, "TransformerEncoder(num_layers=...)")
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(count)])
        self.norm = None if norm is None else checks.function("TransformerEncoder(norm)", norm)

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)
