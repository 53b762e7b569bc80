"""Attention and its gradient: matrices as lists of rows, with all scores of a row at once."""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.python_ref.elementwise import exp, log
from tutor.backends.python_ref.matmul import dot
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, read, write

Rows = list[list[Any]]


def matrices(x: Operand) -> list[Rows]:
    """The rows of the matrix at each index of the leading axes."""
    values, (m, n) = read(x), x.shape[-2:]
    rows = [values[i * n : (i + 1) * n] for i in range(math.prod(x.shape[:-1]))]
    return [rows[b * m : (b + 1) * m] for b in range(math.prod(x.shape[:-2]))]


def turned(x: Rows, width: int) -> Rows:
    return [[row[j] for row in x] for j in range(width)]


def weighed(
    i: int, query: list[Any], keys: Rows, mask: list[Any], scale: float, causal: bool,
    log_norm: float | None = None,
) -> tuple[list[float], float]:  # fmt: skip
    """e**(s_j - logs) with s_j = scale * q k_j + mask_j, and logs = ln sum_j e**s_j. Keys that row
    i does not see have s_j = -inf; a row of -inf alone has weights 0."""
    pairs = enumerate(zip(keys, mask, strict=True))
    s = [-math.inf if causal and j > i else scale * dot(query, k) + m for j, (k, m) in pairs]
    if log_norm is None:
        largest = max(s, default=-math.inf)
        norm = total([exp(x - largest) for x in s]) if largest > -math.inf else 0.0
        log_norm = largest + log(norm) if norm else -math.inf
    return [exp(x - log_norm) if log_norm != -math.inf else 0.0 for x in s], log_norm


def attention(
    out: Operand, q: Operand, k: Operand, v: Operand, mask: Operand, logs: Operand, **how: Any
) -> None:
    """z_i = sum_j p_ij v_j, with the weights p and the logs of each row"""
    z, norms = [], []
    for queries, keys, values, masks in zip(*map(matrices, (q, k, v, mask)), strict=True):
        for i, query in enumerate(queries):
            p, norm = weighed(i, query, keys, masks[i], **how)
            z += [dot(p, column) for column in turned(values, v.shape[-1])]
            norms.append(norm)
    write(out, z)
    write(logs, norms)


def attention_grad(
    out: Operand, g: Operand, q: Operand, k: Operand, v: Operand, mask: Operand, z: Operand,
    logs: Operand, dk: Operand, dv: Operand, *, scale: float, causal: bool,
) -> None:  # fmt: skip
    """dv_j = sum_i p_ij g_i, dq_i = sum_j ds_ij k_j, dk_j = sum_i ds_ij q_i, with
    ds_ij = p_ij (g_i v_j - g_i z_i) scale: the derivative of a softmax"""
    norms, found = iter(read(logs)), dict[int, list[float]]({0: [], 1: [], 2: []})
    for gs, queries, keys, values, masks, zs in zip(
        *map(matrices, (g, q, k, v, mask, z)), strict=True
    ):
        each = [(i, x, keys, masks[i], scale, causal, next(norms)) for i, x in enumerate(queries)]
        p = [weighed(*row)[0] for row in each]
        ds = [
            [w * (dot(gi, y) - dot(gi, zi)) * scale for w, y in zip(weights, values, strict=True)]
            for weights, gi, zi in zip(p, gs, zs, strict=True)
        ]
        parts = (ds, keys, k), (turned(ds, len(keys)), queries, q), (turned(p, len(keys)), gs, g)
        for n, (x, y, like) in enumerate(parts):
            columns = turned(y, like.shape[-1])
            found[n] += [dot(row, column) for row in x for column in columns]
    for n, to in enumerate((out, dk, dv)):
        write(to, found[n])


KERNELS: dict[str, Kernel] = {"attention": attention, "attention_grad": attention_grad}
