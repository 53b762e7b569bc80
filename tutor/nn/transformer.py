"""Transformers: stacked blocks of attention and a small network, with a residual sum around each
(Vaswani et al. 2017, "Attention is all you need").

An encoder reads the source (src); a decoder continues the target so far (tgt), and attends to the
encoder's output (memory).
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.functions import gelu, relu
from tutor.methods.tensor import Tensor
from tutor.nn.attention import MultiheadAttention
from tutor.nn.cache import KVCache
from tutor.nn.containers import ModuleList
from tutor.nn.dense import Linear, stacked
from tutor.nn.dropout import Dropout
from tutor.nn.init import xavier_uniform_
from tutor.nn.module import Module
from tutor.nn.norm import LayerNorm

ACTIVATIONS = ("relu", "gelu")


def activation_of(kind: str, name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    checks.one_of(f"{kind}(activation=...)", name, ACTIVATIONS)
    return relu if name == "relu" else gelu


@spelled
class TransformerBlock(Module):
    """x + attention(norm1(x)), and then x + mlp(norm2(x)), for x (N, places, embed_dim): a GPT is a
    stack of these. The norms come first, so that the sum that runs through all blocks is never
    scaled (Xiong et al. 2020). mlp is linear to `hidden` (4 embed_dim), gelu, linear to embed_dim.

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
        return x + self.dropout(self.linear2(gelu(self.linear1(self.norm2(x)))))


class Layer(Module):
    """The base class of encoder and decoder layers."""

    self_attn: MultiheadAttention
    dropout1: Dropout

    def told(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Self-attention among the places of x."""
        z, _ = self.self_attn(x, x, x, padding, False, mask, True, is_causal)
        return self.dropout1(z)


class Stack(Module):
    """Copies of a layer, one after another, and optionally a norm after the last."""

    def __init__(
        self, kind: str, layer_name: str, layer: Layer, num_layers: int, norm: Module | None
    ) -> None:
        checks.function(f"{kind}({layer_name})", layer)
        count = stacked(num_layers, f"{kind}(num_layers=...)")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(count)])
        self.norm = None if norm is None else checks.function(f"{kind}(norm)", norm)


@spelled
class TransformerEncoderLayer(Layer):
    """norm1(x + attention(x)), then norm2(x + mlp(x)); with norm_first as TransformerBlock. Named
    and parametrized as in PyTorch: src (S, N, E), or (N, S, E) with batch_first."""

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

    def mixed(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@spelled
class TransformerEncoder(Stack):
    """`num_layers` copies of a layer, one after another, and `norm`, if given, after the last."""

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__("TransformerEncoder", "encoder_layer", encoder_layer, num_layers, norm)

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


@spelled
class TransformerDecoderLayer(Layer):
    """norm1(x + attention(x)), then norm2(x + attention of x to memory), then norm3(x + mlp(x));
    with norm_first the norms come first, as in TransformerBlock. Named and parametrized as in
    PyTorch: tgt (T, N, E) and memory (S, N, E), or N first with batch_first.

    tgt_is_causal and memory_is_causal: each place sees itself and those before it.
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu", layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        attention = (d_model, nhead, dropout, bias, batch_first)
        self.self_attn = MultiheadAttention(*attention, dtype=dtype)
        self.multihead_attn = MultiheadAttention(*attention, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1, self.norm2, self.norm3 = (
            LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(3)
        )
        self.dropout, self.dropout1 = Dropout(dropout), Dropout(dropout)
        self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout)
        self.activation = activation_of("TransformerDecoderLayer", activation)
        self.norm_first = bool(norm_first)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        seen = memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = tgt + self.told(self.norm1(tgt), *own)
            x = x + self.shown(self.norm2(x), memory, *seen)
            return x + self.mixed(self.norm3(x))
        x = self.norm1(tgt + self.told(tgt, *own))
        x = self.norm2(x + self.shown(x, memory, *seen))
        return self.norm3(x + self.mixed(x))

    def shown(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:  # fmt: skip
        """Attention of x to the memory."""
        z, _ = self.multihead_attn(x, memory, memory, padding, False, mask, True, is_causal)
        return self.dropout2(z)

    def mixed(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@spelled
class TransformerDecoder(Stack):
    """`num_layers` copies of a layer, one after another, and `norm`, if given, after the last; each
    attends to the same memory."""

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__("TransformerDecoder", "decoder_layer", decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                tgt_is_causal, memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


@spelled
class Transformer(Module):
    """An encoder that reads src, and a decoder that writes tgt and attends to the encoder's output;
    both have a norm after the last layer, their matrices start Glorot-uniform. Named and
    parametrized as in PyTorch.

    src (S, N, E) and tgt (T, N, E), or N first with batch_first -> as tgt.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu", *, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                    batch_first, norm_first, bias)  # fmt: skip
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2)]
        self.encoder = TransformerEncoder(
            TransformerEncoderLayer(*settings, dtype=dtype), num_encoder_layers, norms[0]
        )
        self.decoder = TransformerDecoder(
            TransformerDecoderLayer(*settings, dtype=dtype), num_decoder_layers, norms[1]
        )
        for p in self.parameters():  # each copy of a layer starts with its own numbers
            if p.ndim > 1:
                xavier_uniform_(p)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool = False,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            tgt_is_causal, memory_is_causal,
        )  # fmt: skip
