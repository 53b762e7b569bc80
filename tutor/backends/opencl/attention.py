"""Attention and its gradient: matrix products, and one kernel for each row of scores.

Scores, weights and their gradients are stored as (batch, l, s) in the dtype of the computation: the
speed of the products matters more here than the memory.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.opencl.handwritten import (
    as_dtype,
    at,
    casting,
    dense,
    fresh,
    hand,
    longs,
    mover,
    permuted,
    run,
    width,
)
from tutor.backends.opencl.launch import LONG, scalar
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.opencl.products import product
from tutor.backends.registry import Operand
from tutor.backends.signatures import FLOATS
from tutor.dtype import DType, float64

WEIGH = """
kernel void NAME(
    global A_m *p, global const X_m *mask, const int64_t m0, global A_m *logs, const int64_t l0,
    const double scale, const int64_t causal, const int64_t known, const int64_t rows,
    const int64_t n, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t first = at * n, end = causal && at % rows < n ? at % rows + 1 : n;
        A_t largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < n; j++) {
            const A_t s = (A_t)scale * p[first + j] + LOAD_X(mask[m0 + first + j]);
            p[first + j] = j < end ? s : -INFINITY;
            if (j < end && (s > largest || s != s)) largest = s;
        }
        A_t log_norm = known ? logs[l0 + at] : -INFINITY;
        if (!known && largest != -INFINITY) {
            for (int64_t j = 0; j < end; j++) sum += exp(p[first + j] - largest);
            log_norm = largest + log(sum);
        }
        const A_t by = known || largest == -INFINITY ? 1 : 1 / sum;
        const A_t from = known ? log_norm : largest;
        for (int64_t j = 0; j < n; j++)
            p[first + j] = log_norm != -INFINITY && j < end ? exp(p[first + j] - from) * by : 0;
        if (!known) logs[l0 + at] = log_norm;
    }
}
"""

SLOPES = """
kernel void NAME(
    global A_m *ds, global const A_m *p, global const A_m *g, const int64_t g0,
    global const A_m *z, const int64_t z0, const double scale, const int64_t n,
    const int64_t e, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        A_t level = 0;
        for (int64_t k = 0; k < e; k++) level += g[g0 + at * e + k] * z[z0 + at * e + k];
        for (int64_t j = at * n; j < (at + 1) * n; j++)
            ds[j] = p[j] * (ds[j] - level) * (A_t)scale;
    }
}
"""


def turned(x: Operand) -> Operand:
    """x with its last two axes swapped."""
    return permuted(x, (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))


class Attention:
    """`kernel(out, q, k, v, mask, logs, scale=, causal=)`"""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype, self.acc = pool, dtype, width(dtype)

    def weights(
        self, q: Any, k: Any, mask: Any, logs: Any, scale: float, causal: bool, known: bool
    ) -> Operand:
        """e**(s - logs) for all rows; writes logs if they are not given."""
        pool = self.pool
        p = fresh(pool, (*q.shape[:-1], k.shape[-2]), self.acc)
        product(pool, p, q, turned(k))
        types = [None, None, LONG, None, LONG, scalar(float64), *longs(5)]
        kernel = hand(pool, "attention", WEIGH, {"X": self.dtype, "A": self.acc}, types)
        mask = dense(pool, mask)
        rows = math.prod(q.shape[:-1])
        how = (float(scale), int(causal), int(known), q.shape[-2], k.shape[-2])
        run(kernel, rows, at(p)[0], *at(mask), *at(logs), *how)
        return p

    def wide(self, *operands: Any) -> list[Any]:
        return [as_dtype(self.pool, x, self.acc) for x in operands]

    def times(self, out: Any, x: Operand, y: Operand) -> None:
        """out = x @ y, rounded at the end."""
        if 0 in out.shape:
            return
        z = fresh(self.pool, out.shape, self.acc)
        product(self.pool, z, x, y)
        if self.acc is self.dtype:
            mover(self.pool, self.dtype)(out, z)
        else:
            casting(self.pool, self.dtype, self.acc)(out, z)

    def __call__(
        self, out: Any, q: Any, k: Any, v: Any, mask: Any, logs: Any, *, scale: float, causal: bool
    ) -> None:
        q, k, v = self.wide(q, k, v)
        norms = fresh(self.pool, logs.shape, self.acc)
        p = self.weights(q, k, mask, norms, scale, causal, False)
        self.times(out, p, v)
        mover(self.pool, self.acc)(logs, norms)


class AttentionGrad(Attention):
    """`kernel(out, g, q, k, v, mask, z, logs, dk, dv, scale=, causal=)`"""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, z: Any, logs: Any, dk: Any,
        dv: Any, *, scale: float, causal: bool,
    ) -> None:  # fmt: skip
        pool = self.pool
        g, q, k, v, z = self.wide(g, q, k, v, z)
        p = self.weights(q, k, mask, dense(pool, logs), scale, causal, True)
        ds = fresh(pool, p.shape, self.acc)
        product(pool, ds, g, turned(v))
        types = [None, None, None, LONG, None, LONG, scalar(float64), *longs(3)]
        kernel = hand(pool, "attention_grad", SLOPES, {"A": self.acc}, types)
        rows = math.prod(q.shape[:-1])
        sizes = (float(scale), k.shape[-2], v.shape[-1])
        run(kernel, rows, at(ds)[0], at(p)[0], *at(g), *at(z), *sizes)
        self.times(out, ds, k)
        self.times(dk, turned(ds), q)
        self.times(dv, turned(p), g)


def kernels(pool: Pool) -> Rows:
    rows: Rows = {("attention", dtype): Attention(pool, dtype) for dtype in FLOATS}
    return rows | {("attention_grad", dtype): AttentionGrad(pool, dtype) for dtype in FLOATS}
