"""Norms: h = (x - mean) / sqrt(var + eps) over rows or channels, then z = h * weight + bias.

Each is one kernel, and all its gradients together are another. Gradients that will be
differentiated again are composed of other ops instead (`composed`). g is the gradient of z.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import layout
from tutor.core.buffer import Buffer
from tutor.core.engine import engine
from tutor.core.engine.grad_mode import is_grad_enabled
from tutor.core.op import Op
from tutor.core.op.catalogue import KINDS
from tutor.dtype import float32, float64
from tutor.errors import ShapeError


def empty(x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """An uninitialized Tensor on x's device, for a kernel to write."""
    return x.over(Buffer.empty(math.prod(shape), dtype or x.buf.dtype, x.buf.device), shape)


def wide(x: Any) -> Any:
    """x in the dtype that norms compute in: half floats as float32."""
    return x if x.buf.dtype in (float32, float64) else x.cast(float32)


def slopes(a: Any, h: Any, root: Any, axes: Any, centred: bool = True) -> Any:
    """(a - mean of a - h * mean of a h) / root, computed by ops."""
    level = a.mean(axes, keepdims=True) if centred else 0.0
    return (a - level - h * (a * h).mean(axes, keepdims=True)) / root


class RowNorm(Op, abstract=True):
    """A norm of each row of x (..., n); every parameter is a vector (n)."""

    promotes, centred = 0, True

    def settle(self):
        what = f"{self.name}(eps=...)"
        self.params["eps"] = KINDS["eps"](what, self.params["eps"])

    def backward(self, g, x, w):
        if is_grad_enabled():
            return self.composed(g, x, w)
        grads = [empty(x, t.shape) for t in self.edges]
        dx, *rest = grads
        engine.call(f"{self.name}_grad", x.buf.dtype, dx, g, x, w, *rest, **self.params)
        return tuple(grads)

    def composed(self, g, x, w):
        dtype, g, x, w = x.buf.dtype, wide(g), wide(x), wide(w)
        away = x - x.mean(-1, keepdims=True) if self.centred else x
        root = ((away * away).mean(-1, keepdims=True) + self.params["eps"]).sqrt()
        h, others = away / root, tuple(range(len(x.shape) - 1))
        grads = (slopes(g * w, h, root, -1, self.centred), (g * h).sum(others), g.sum(others))
        return tuple([t.cast(dtype) for t in grads[: len(self.edges)]])


class LayerNorm(RowNorm):
    """z = h * w + b with h = (x - mean) / sqrt(var + eps) for each row of x (..., n); w, b (n)"""

    kernel, takes, saves = "layer_norm", ("x", "w", "b"), ("x", "w")


class RMSNorm(RowNorm):
    """z = h * w with h = x / sqrt(mean of x**2 + eps) for each row of x (..., n); w (n)"""

    kernel, takes, saves, centred = "rms_norm", ("x", "w"), ("x", "w"), False


class GroupNorm(RowNorm):
    """z = h * w + b with h = (x - mean) / sqrt(var + eps) over the places of each group of channels
    of each example of x (k, c, m); w, b (c)"""

    kernel, takes, saves = "group_norm", ("x", "w", "b"), ("x", "w")

    def settle(self):
        super().settle()
        shape = self.inputs[0].shape
        groups = layout.positive(self.params["groups"], "group_norm(groups=...)")
        if len(shape) == 3 and shape[1] % groups:
            raise ShapeError(
                f"group_norm of {shape} in {groups} groups",
                f"{shape[1]} channels do not divide by it",
                "give a multiple of `groups` as channels, on axis 1",
            )

    def composed(self, g, x, w):
        dtype, g, x, w = x.buf.dtype, wide(g), wide(x), wide(w)
        k, c, m = shape = x.shape
        groups = self.params["groups"]
        rows = (k, groups, c // groups * m)
        away = x.reshape(rows)
        away = away - away.mean(-1, keepdims=True)
        root = ((away * away).mean(-1, keepdims=True) + self.params["eps"]).sqrt()
        h, a = away / root, (g * w.unsqueeze(-1)).reshape(rows)
        dw = (g * h.reshape(shape)).sum((0, 2))
        grads = slopes(a, h, root, -1).reshape(shape), dw, g.sum((0, 2))
        return tuple([t.cast(dtype) for t in grads])


class BatchNorm(Op):
    """z = h * w + b with h = (x - mean) / sqrt(var + eps) for each channel of x (k, c, m); w, b (c)

    The op keeps mean and var (c) as its attributes `mean` and `var`.
    """

    name, takes, saves, promotes = "batch_norm", ("x", "w", "b"), ("x", "w"), 0
    mean: Any
    var: Any

    def settle(self):
        self.params["eps"] = KINDS["eps"]("batch_norm(eps=...)", self.params["eps"])
        x, w, b = (t.shape for t in self.inputs)
        if len(x) != 3 or not x[1:2] == w == b:
            raise ShapeError(
                f"batch_norm of {x} with weight {w} and bias {b}",
                "the sizes do not fit",
                "give (batch, channels, places), and one number for each channel",
            )

    def forward(self, x, w, b, *, eps):
        kept = float64 if x.buf.dtype is float64 else float32
        out = empty(x, x.shape)
        self.mean, self.var = (empty(x, w.shape, kept) for _ in range(2))
        engine.call("batch_norm", x.buf.dtype, out, x, w, b, self.mean, self.var, eps=eps)
        return out

    def backward(self, g, x, w):
        if is_grad_enabled():
            return self.composed(g, x, w)
        dx, dw, db = (empty(x, t.shape) for t in self.edges)
        engine.call("batch_norm_grad", x.buf.dtype, dx, g, x, w, self.mean, self.var, dw, db,
                    **self.params)  # fmt: skip
        return dx, dw, db

    def composed(self, g, x, w):
        dtype, g, x, w = x.buf.dtype, wide(g), wide(x), wide(w)
        axes = (0, 2)
        away = x - x.mean(axes, keepdims=True)
        root = ((away * away).mean(axes, keepdims=True) + self.params["eps"]).sqrt()
        h = away / root
        grads = slopes(g * w.unsqueeze(-1), h, root, axes), (g * h).sum(axes), g.sum(axes)
        return tuple([t.cast(dtype) for t in grads])
