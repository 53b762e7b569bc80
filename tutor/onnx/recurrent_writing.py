"""The ONNX form of recurrent layers: all places, one after another.

ONNX has operators for them, which take x where our ops take W x, and give c of the last place
alone; so the places are written out, as a program without these operators would compute them. A
function gets the Graph and the OpCall, as those of tutor/onnx/ops.py do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.onnx.graph import Graph, cannot
from tutor.onnx.sizes import Batch


def rnn(g: Graph, c: Any) -> str:
    """h = tanh(wx + h Uᵀ), or relu"""
    wx, u, h = c.ins
    turned, found = g.add("Transpose", u, perm=[1, 0]), []
    for t in range(places(c)):
        a = g.add("Add", picked(g, wx, t), g.add("MatMul", h, turned))
        h = g.add("Relu" if c.params["relu"] else "Tanh", a)
        found.append(h)
    return stacked(g, found)


def lstm(g: Graph, c: Any) -> str:
    """c = f c + i g, h = o tanh(c)"""
    wx, u, start = c.ins
    us, h, cell = weights(g, u, 4), picked(g, start, 0), picked(g, start, 1)
    hs, cells = [], []
    for t in range(places(c)):
        x = picked(g, wx, t)
        a = [g.add("Add", picked(g, x, k, 1), g.add("MatMul", h, us[k])) for k in range(4)]
        i, f, o = (g.add("Sigmoid", a[k]) for k in (0, 1, 3))
        new = g.add("Mul", i, g.add("Tanh", a[2]))
        cell = g.add("Add", g.add("Mul", f, cell), new)
        h = g.add("Mul", o, g.add("Tanh", cell))
        hs.append(h)
        cells.append(cell)
    return stacked(g, [stacked(g, hs), stacked(g, cells)])


def gru(g: Graph, c: Any) -> str:
    """h = n + z (h - n)"""
    wx, u, b, h = c.ins
    us, found = weights(g, u, 3), []
    for t in range(places(c)):
        x = picked(g, wx, t)
        a = [g.add("Add", g.add("MatMul", h, us[k]), picked(g, b, k)) for k in range(3)]
        r, z = (g.add("Sigmoid", g.add("Add", picked(g, x, k, 1), a[k])) for k in range(2))
        n = g.add("Tanh", g.add("Add", picked(g, x, 2, 1), g.add("Mul", r, a[2])))
        h = g.add("Add", n, g.add("Mul", z, g.add("Sub", h, n)))
        found.append(h)
    return stacked(g, found)


LAYERS = {"rnn": rnn, "lstm": lstm, "gru": gru}


def places(c: Any) -> int:
    count = c.given[0].shape[0]
    if isinstance(count, Batch):
        raise cannot(c.op, "along the batch: its places are written out, so their number is fixed",
                     c.where)  # fmt: skip
    return int(count)


def picked(g: Graph, x: str, i: int, axis: int = 0) -> str:
    """x[i], or x[:, i]"""
    return g.add("Gather", x, g.number(i, "int64"), axis=axis)


def weights(g: Graph, u: str, gates: int) -> list[str]:
    """The transposed matrix of each gate."""
    turned = g.add("Transpose", u, perm=[0, 2, 1])
    return [picked(g, turned, k) for k in range(gates)]


def stacked(g: Graph, parts: Sequence[str]) -> str:
    return g.add("Concat", *[g.add("Unsqueeze", x, g.ints([0])) for x in parts], axis=0)
