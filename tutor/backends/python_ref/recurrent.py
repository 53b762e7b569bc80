"""Recurrent layers and their gradients: for each sequence i one place t after another, and back.

What a place carries on to the next one is read again from where it was written, so it is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tutor.backends.python_ref.activations import sigmoid
from tutor.backends.python_ref.walk import Kernel, Operand, read, window, write

Units = Sequence[Any]  # a number for each unit


def line(x: Operand, *index: int) -> Units:
    """x[index], which has one axis."""
    return read(window(x, dict(enumerate(index)), (1,) * len(index) + x.shape[-1:]))


def put(x: Operand, values: Units, *index: int) -> None:
    write(window(x, dict(enumerate(index)), (1,) * len(index) + x.shape[-1:]), values)


def each(formula: Callable[..., Any], *operands: Units) -> Units:
    return [formula(*v) for v in zip(*operands, strict=True)]


def added(*terms: Units) -> Units:
    return each(lambda *v: sum(v), *terms)


def times(u: Sequence[Units], h: Units) -> Units:  # U h
    return [math.fsum(w * v for w, v in zip(row, h, strict=True)) for row in u]


def matrix(u: Operand, *gate: int) -> list[Units]:
    return [line(u, *gate, j) for j in range(u.shape[-1])]


def keep(gates: Operand, values: Sequence[Units], t: int, i: int) -> None:
    for k, v in enumerate(values if gates.shape[0] else ()):
        put(gates, v, min(t, gates.shape[0] - 1), i, k)


def rnn(out: Operand, wx: Operand, u: Operand, start: Operand, *, relu: bool) -> None:
    """h_t = tanh(wx_t + U h_(t-1)), or relu"""
    weight, f = matrix(u), (lambda a: a if a > 0 or a != a else 0.0) if relu else math.tanh
    for i in range(out.shape[1]):
        h = line(start, i)
        for t in range(out.shape[0]):
            put(out, each(f, added(line(wx, t, i), times(weight, h))), t, i)
            h = line(out, t, i)


def rnn_grad(out: Operand, g: Operand, u: Operand, z: Operand, dstart: Operand, *,
             relu: bool) -> None:  # fmt: skip
    """da = dh (1 - h**2), or dh where h > 0; dh is g, and Uᵀ da of the next place"""
    weight = [*zip(*matrix(u), strict=True)]
    slope = (lambda d, h: d if h > 0 else 0.0) if relu else (lambda d, h: d * (1 - h) * (1 + h))
    for i in range(out.shape[1]):
        dh: Units = [0.0] * out.shape[2]
        for t in reversed(range(out.shape[0])):
            put(out, each(slope, added(dh, line(g, t, i)), line(z, t, i)), t, i)
            dh = times(weight, line(out, t, i))
        put(dstart, dh, i)


def lstm(out: Operand, wx: Operand, u: Operand, start: Operand, gates: Operand) -> None:
    """a = wx_t + U h_(t-1); i, f, o = sigmoid(a), g = tanh(a); c_t = f c_(t-1) + i g, h_t = o
    tanh(c_t)"""
    weights, functions = [matrix(u, k) for k in range(4)], (sigmoid, sigmoid, math.tanh, sigmoid)
    for n in range(out.shape[2]):
        h, c = line(start, 0, n), line(start, 1, n)
        for t in range(out.shape[1]):
            a = [added(line(wx, t, n, k), times(w, h)) for k, w in enumerate(weights)]
            found = [each(f, x) for f, x in zip(functions, a, strict=True)]
            c = each(lambda i, f, g, c: f * c + i * g, *found[:3], c)
            put(out, each(lambda o, c: o * math.tanh(c), found[3], c), 0, t, n)
            put(out, c, 1, t, n)
            keep(gates, found, t, n)
            h, c = line(out, 0, t, n), line(out, 1, t, n)


def lstm_grad(out: Operand, g: Operand, u: Operand, start: Operand, z: Operand, gates: Operand,
              dstart: Operand) -> None:  # fmt: skip
    """dc = dh o (1 - tanh(c)**2), g, and f dc of the next place; do = dh tanh(c), di = dc g, df =
    dc c_(t-1), dg = dc i, each times the slope of its function"""
    weights = [[*zip(*matrix(u, k), strict=True)] for k in range(4)]
    for n in range(out.shape[1]):
        dh: Units = [0.0] * out.shape[3]
        dc = dh
        for t in reversed(range(out.shape[0])):
            i, f, s, o = (line(gates, t, n, k) for k in range(4))
            c, before = line(z, 1, t, n), line(z, 1, t - 1, n) if t else line(start, 1, n)
            tanh, dh = each(math.tanh, c), added(dh, line(g, 0, t, n))
            more = each(lambda d, o, t: d * o * (1 - t) * (1 + t), dh, o, tanh)
            dc = added(dc, line(g, 1, t, n), more)
            put(out, each(lambda d, i, s: d * s * i * (1 - i), dc, i, s), t, n, 0)
            put(out, each(lambda d, f, b: d * b * f * (1 - f), dc, f, before), t, n, 1)
            put(out, each(lambda d, i, s: d * i * (1 - s) * (1 + s), dc, i, s), t, n, 2)
            put(out, each(lambda d, t, o: d * t * o * (1 - o), dh, tanh, o), t, n, 3)
            dc = each(lambda d, f: d * f, dc, f)
            dh = added(*[times(w, line(out, t, n, k)) for k, w in enumerate(weights)])
        put(dstart, dh, 0, n)
        put(dstart, dc, 1, n)


def gru(out: Operand, wx: Operand, u: Operand, b: Operand, start: Operand, gates: Operand) -> None:
    """a = U h_(t-1) + b; r, z = sigmoid(wx + a), n = tanh(wx + r a); h_t = n + z (h_(t-1) - n)"""
    weights = [matrix(u, k) for k in range(3)]
    for i in range(out.shape[1]):
        h = line(start, i)
        for t in range(out.shape[0]):
            a = [added(line(b, k), times(w, h)) for k, w in enumerate(weights)]
            r, z = (each(sigmoid, added(line(wx, t, i, k), a[k])) for k in range(2))
            n = each(lambda x, r, a: math.tanh(x + r * a), line(wx, t, i, 2), r, a[2])
            put(out, each(lambda n, z, h: n + z * (h - n), n, z, h), t, i)
            keep(gates, [r, z, a[2], n], t, i)
            h = line(out, t, i)


def gru_grad(out: Operand, g: Operand, u: Operand, start: Operand, states: Operand, gates: Operand,
             da: Operand, dstart: Operand) -> None:  # fmt: skip
    """dn = dh (1 - z) (1 - n**2), dr = dn a r (1 - r), dz = dh (h_(t-1) - n) z (1 - z); da is the
    same but dn r for dn; dh is g, and z dh and Uᵀ da of the next place"""
    weights = [[*zip(*matrix(u, k), strict=True)] for k in range(3)]
    for i in range(out.shape[1]):
        dh: Units = [0.0] * out.shape[3]
        for t in reversed(range(out.shape[0])):
            r, z, a, n = (line(gates, t, i, k) for k in range(4))
            before = line(states, t - 1, i) if t else line(start, i)
            dh = added(dh, line(g, t, i))
            dn = each(lambda d, z, n: d * (1 - z) * (1 - n) * (1 + n), dh, z, n)
            dr = each(lambda d, a, r: d * a * r * (1 - r), dn, a, r)
            dz = each(lambda d, b, n, z: d * (b - n) * z * (1 - z), dh, before, n, z)
            for k, d in enumerate((dr, dz, dn)):
                put(out, d, t, i, k)
                put(da, each(lambda d, r: d * r, d, r) if k == 2 else d, t, i, k)
            past = [times(w, line(da, t, i, k)) for k, w in enumerate(weights)]
            dh = added(each(lambda d, z: d * z, dh, z), *past)
        put(dstart, dh, i)


FORWARD: dict[str, Kernel] = {"rnn": rnn, "lstm": lstm, "gru": gru}
KERNELS: dict[str, Kernel] = {
    **FORWARD, "rnn_grad": rnn_grad, "lstm_grad": lstm_grad, "gru_grad": gru_grad,
}  # fmt: skip
