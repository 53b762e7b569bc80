"""Attention: a softmax between two matrix products, without ever storing the score matrix.

q (..., L, E) are queries, k (..., S, E) keys, v (..., S, V) values; z (..., L, V) is the result, g
its gradient. `mask` (..., L, S) is added to the scores.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.device_memory import common
from tutor._storage.layout import Shape, broadcast_shapes
from tutor.backends.shape_rules import stretch
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import Op
from tutor.core.op.catalogue import KINDS
from tutor.dtype import bool_, float32, float64
from tutor.errors import ShapeError
from tutor.ops.norm import empty


class Attention(Op):
    """z = softmax(scale * q kᵀ + mask) v; with causal=True row i sees keys 0 to i

    The kernel reads the keys block by block and never stores the matrix of all scores (Dao et al.
    2022, FlashAttention): z_i = o_i / l_i, with l_i = sum_j e**(s_ij - m_i) and o_i = sum_j
    e**(s_ij - m_i) v_j over the keys so far, m_i the largest score so far. A block with a larger
    maximum m' first multiplies l and o by e**(m - m'), as e**(s - m') = e**(s - m) e**(m - m').
    One number per row is saved, logs_i = m_i + ln l_i: with it backward recomputes a block's
    weights, p_ij = e**(s_ij - logs_i). Then

        dv_j = sum_i p_ij g_i
        dp_ij = g_i v_j,  ds_ij = p_ij (dp_ij - sum_j p_ij dp_ij),  sum_j p_ij dp_ij = g_i z_i
        dq_i = scale * sum_j ds_ij k_j,  dk_j = scale * sum_i ds_ij q_i,  dmask = ds

    A row that sees no key, or whose scores are all -inf, is 0. The mask's gradient, and gradients
    that will be differentiated again, are composed of other ops with all weights in memory.
    """

    takes, saves, promotes = ("q", "k", "v", "mask"), ("q", "k", "v", "mask", "out"), 0
    defaults = {"scale": 1.0, "causal": False}  # noqa: RUF012 - never changed
    logs: Any

    def settle(self):
        q, k, v, _ = self.inputs
        shapes = [x.shape for x in (q, k, v)]
        fits = min(map(len, shapes)) > 1 and q.shape[-1] == k.shape[-1]
        if not fits or k.shape[-2] != v.shape[-2]:
            raise ShapeError(
                f"attention of query {shapes[0]}, key {shapes[1]} and value {shapes[2]}",
                "the sizes do not fit",
                "give query (..., L, E), key (..., S, E) and value (..., S, V)",
            )
        scale = KINDS["scale"]("attention(scale=...)", self.params["scale"])
        self.params = {"scale": float(scale), "causal": bool(self.params["causal"])}

    def forward(self, q, k, v, mask, *, scale, causal):
        lead = broadcast_shapes(self.name, *(x.shape[:-2] for x in (q, k, v)))
        q, k, v = (stretch(x, (*lead, *x.shape[-2:])) for x in (q, k, v))
        dtype, rows = q.buf.dtype, q.shape[-2]
        count = math.prod(lead) * rows
        kept, device = (
            dtype if dtype is float64 else float32,
            common(self.name, self.inputs),
        )
        out = q.over(Buffer.empty(count * v.shape[-1], dtype, device), (*lead, rows, v.shape[-1]))
        self.logs = q.over(Buffer.empty(count, kept, device), (*lead, rows))
        params = {"scale": float(scale), "causal": bool(causal)}
        engine.call(
            "attention", dtype, out, q, k, v, stretch(mask, seen(q, k)), self.logs, **params
        )
        return out

    def backward(self, g, q, k, v, mask, z):
        if is_grad_enabled() or self.needs[3]:
            return self.composed(g, q, k, v, mask)
        lead = z.shape[:-2]
        q, k, v = (stretch(x, (*lead, *x.shape[-2:])) for x in (q, k, v))
        grads = [empty(x, x.shape) for x in (q, k, v)]
        dq, *rest = grads
        engine.call("attention_grad", q.buf.dtype, dq, g, q, k, v, stretch(mask, seen(q, k)), z,
                    self.logs, *rest, **self.params)  # fmt: skip
        return (*grads, None)

    def composed(self, g, q, k, v, mask):
        """The same gradients and the mask's, computed by ops, which can be differentiated."""
        scale = self.params["scale"]
        p = weights(q, k, mask, **self.params)
        dp = g @ v.mT
        ds = p * (dp - (p * dp).sum(-1, keepdims=True))
        return ds @ k * scale, ds.mT @ q * scale, p.mT @ g, ds


def weights(q: Any, k: Any, mask: Any, *, scale: float, causal: bool) -> Any:
    """softmax(scale * q kᵀ + mask), the whole matrix; 0 in a row that sees no key."""
    scores = q * scale @ k.mT + mask
    if causal:
        hidden = type(q).ones(scores.shape[-2:], dtype=bool_, device=q.buf.device).triu(1)
        scores = apply("where", hidden, -math.inf, scores)
    if not scores.shape[-1]:
        return scores
    nothing = scores.detach().max(-1, keepdims=True) == -math.inf  # e**-inf / 0 would be nan
    return apply("where", nothing, 0.0, apply("where", nothing, 0.0, scores).softmax(-1))


def seen(q: Any, k: Any) -> Shape:
    """The shape of the scores."""
    return (*q.shape[:-1], k.shape[-2])
