"""The ONNX form of norms, from calls as tutor/onnx/ops.py has them. Where opset 18 has no operator
for one, it is composed of others."""

from __future__ import annotations

from typing import Any

from tutor.onnx.graph import Graph


def layer_norm(g: Graph, c: Any) -> str:
    return g.add("LayerNormalization", *c.ins, axis=-1, epsilon=c.params["eps"])


def rms_norm(g: Graph, c: Any) -> str:
    """x / sqrt(mean of x**2 + eps) * w"""
    x, w = c.ins
    return g.add("Mul", g.add("Div", x, root_of(g, c, x)), w)


def group_norm(g: Graph, c: Any) -> str:
    """The rows of groups without their mean, by their root, then w and b of each channel: opset
    18 has them for each group."""
    x, w, b = c.ins
    rows = g.add("Reshape", x, g.ints([0, c.params["groups"], -1]))
    away = g.add("Sub", rows, g.add("ReduceMean", rows, g.ints([-1]), keepdims=1))
    h = g.add("Reshape", g.add("Div", away, root_of(g, c, away)), g.add("Shape", x))
    w, b = (g.add("Unsqueeze", t, g.ints([-1])) for t in (w, b))
    return g.add("Add", g.add("Mul", h, w), b)


def root_of(g: Graph, c: Any, x: str) -> str:
    """sqrt(mean of x**2 along the last axis + eps)"""
    mean = g.add("ReduceMean", g.add("Mul", x, x), g.ints([-1]), keepdims=1)
    return g.add("Sqrt", g.add("Add", mean, g.number(c.params["eps"], c.dtype)))
