"""Norms of rows and of channels, and their gradients."""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, last, read, write

Numbers = list[Any]


def average(x: Numbers) -> float:
    """sum of x / count"""
    return float(total(x)) / len(x) if x else math.nan


def moments(x: Numbers) -> tuple[float, float]:
    """mean, and mean of (x - mean)**2"""
    mean = average(x)
    return mean, average([(xi - mean) ** 2 for xi in x])


def h_of(x: Numbers, mean: float, var: float, eps: float) -> Numbers:
    """(x - mean) / sqrt(var + eps)"""
    return [(xi - mean) / math.sqrt(var + eps) for xi in x]


def slopes(a: Numbers, h: Numbers, var: float, eps: float, level: float) -> Numbers:
    """(a - level - h * mean of a h) / sqrt(var + eps)"""
    tilt = average([ai * hi for ai, hi in zip(a, h, strict=True)])
    root = math.sqrt(var + eps)
    return [(ai - level - hi * tilt) / root for ai, hi in zip(a, h, strict=True)]


def added(rows: list[Numbers], n: int) -> Numbers:
    """The sum of the rows."""
    return [float(total([row[j] for row in rows])) for j in range(n)]


def times(x: Numbers, y: Numbers) -> Numbers:
    return [xi * yi for xi, yi in zip(x, y, strict=True)]


def layer_norm(out: Operand, x: Operand, w: Operand, b: Operand, *, eps: float) -> None:
    """z = h * w + b, h = (x - mean) / sqrt(var + eps) for each row"""
    rows = [h_of(row, *moments(row), eps) for row in groups(x, -1)]
    ws, bs = read(w), read(b)
    write(out, [zi + bi for h in rows for zi, bi in zip(times(h, ws), bs, strict=True)])


def layer_norm_grad(
    out: Operand, g: Operand, x: Operand, w: Operand, dw: Operand, db: Operand, *, eps: float
) -> None:
    """With a = g w: dx = (a - mean of a - h * mean of a h) / sqrt(var + eps), dw = sum of g h over
    the rows, db = sum of g over the rows"""
    dx, ws, gs, parts = [], read(w), groups(g, -1), []
    for slope, row in zip(gs, groups(x, -1), strict=True):
        mean, var = moments(row)
        a, h = times(slope, ws), h_of(row, mean, var, eps)
        dx += slopes(a, h, var, eps, average(a))
        parts.append(times(slope, h))
    write(out, dx)
    write(dw, added(parts, len(ws)))
    write(db, added(gs, len(ws)))


def rms_norm(out: Operand, x: Operand, w: Operand, *, eps: float) -> None:
    """z = h * w, h = x / sqrt(mean of x**2 + eps) for each row"""
    ws = read(w)
    rows = [h_of(row, 0.0, average(times(row, row)), eps) for row in groups(x, -1)]
    write(out, [z for h in rows for z in times(h, ws)])


def rms_norm_grad(
    out: Operand, g: Operand, x: Operand, w: Operand, dw: Operand, *, eps: float
) -> None:
    """With a = g w: dx = (a - h * mean of a h) / sqrt(mean of x**2 + eps), dw = sum of g h"""
    dx, ws, parts = [], read(w), []
    for slope, row in zip(groups(g, -1), groups(x, -1), strict=True):
        square = average(times(row, row))
        h = h_of(row, 0.0, square, eps)
        dx += slopes(times(slope, ws), h, square, eps, 0.0)
        parts.append(times(slope, h))
    write(out, dx)
    write(dw, added(parts, len(ws)))


def batch_norm(
    out: Operand, x: Operand, w: Operand, b: Operand, mean: Operand, var: Operand, *, eps: float
) -> None:
    """z = h * w + b, h = (x - mean) / sqrt(var + eps) for each channel of x (k, channels, m)"""
    channels = groups(x, (0, 2))
    found = [moments(channel) for channel in channels]
    each = zip(channels, found, read(w), read(b), strict=True)
    write(last(out, (0, 2)), [h * wc + bc for c, m, wc, bc in each for h in h_of(c, *m, eps)])
    write(mean, [m for m, _ in found])
    write(var, [v for _, v in found])


def batch_norm_grad(
    out: Operand, g: Operand, x: Operand, w: Operand, mean: Operand, var: Operand, dw: Operand,
    db: Operand, *, eps: float,
) -> None:  # fmt: skip
    """As layer_norm_grad for each channel, with one number of w per channel"""
    dx, dws, gs = [], [], groups(g, (0, 2))
    each = zip(gs, groups(x, (0, 2)), read(w), read(mean), read(var), strict=True)
    for slope, channel, wc, m, v in each:
        a, h = [gi * wc for gi in slope], h_of(channel, m, v, eps)
        dx += slopes(a, h, v, eps, average(a))
        dws.append(float(total(times(slope, h))))
    write(last(out, (0, 2)), dx)
    write(dw, dws)
    write(db, [float(total(slope)) for slope in gs])


def cut(x: Operand, groups_: int) -> list[list[int]]:
    """The channels of each group of x (k, channels, m)"""
    n = x.shape[1]
    width = max(-(-n // groups_), 1)
    return [[*range(first, min(first + width, n))] for first in range(0, n, width)]


def group_norm(
    out: Operand, x: Operand, w: Operand, b: Operand, *, eps: float, groups: int
) -> None:
    """z = h * w + b, h = (x - mean) / sqrt(var + eps) over each group of each example"""
    z, ws, bs = [], read(w), read(b)
    for example in channels_of(x):
        for group in cut(x, groups):
            found = moments([xi for c in group for xi in example[c]])
            z += [h * ws[c] + bs[c] for c in group for h in h_of(example[c], *found, eps)]
    write(out, z)


def group_norm_grad(
    out: Operand, g: Operand, x: Operand, w: Operand, dw: Operand, db: Operand, *, eps: float,
    groups: int,
) -> None:  # fmt: skip
    """As layer_norm_grad for each group, with one number of w per channel"""
    dx, ws, examples = [], read(w), [*zip(channels_of(g), channels_of(x), strict=True)]
    turned: list[Numbers] = [[] for _ in ws]
    for slope, example in examples:
        for group in cut(x, groups):
            row = [xi for c in group for xi in example[c]]
            mean, var = moments(row)
            h = h_of(row, mean, var, eps)
            a = [gi * ws[c] for c in group for gi in slope[c]]
            dx += slopes(a, h, var, eps, average(a))
            for c, parts in zip(group, split(h, len(group)), strict=True):
                turned[c] += times(slope[c], parts)
    write(out, dx)
    write(dw, [float(total(terms)) for terms in turned])
    write(db, [float(total([gi for slope, _ in examples for gi in slope[c]]))
               for c in range(len(ws))])  # fmt: skip


def channels_of(x: Operand) -> list[list[Numbers]]:
    """For each example of x (k, channels, m), the numbers of each channel"""
    k, n, m = x.shape
    return [split(row, n) for row in split(read(x), k)] if m else [[[]] * n] * k


def split(row: Numbers, parts: int) -> list[Numbers]:
    """That many parts of equal length"""
    n = len(row) // max(parts, 1)
    return [row[i * n : (i + 1) * n] for i in range(parts)]


KERNELS: dict[str, Kernel] = {
    "layer_norm": layer_norm,
    "layer_norm_grad": layer_norm_grad,
    "rms_norm": rms_norm,
    "rms_norm_grad": rms_norm_grad,
    "batch_norm": batch_norm,
    "batch_norm_grad": batch_norm_grad,
    "group_norm": group_norm,
    "group_norm_grad": group_norm_grad,
}
