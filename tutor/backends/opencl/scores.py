"""Scores: softmax, log_softmax, cross entropy and its gradient. One work-item computes one line.

The largest score is subtracted first, so that no exponential overflows. The losses of all rows, if
summed, are added by the tree of `sum`.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.opencl.handwritten import (
    at,
    dense,
    filled,
    fresh,
    hand,
    lines,
    longs,
    one,
    run,
    width,
)
from tutor.backends.opencl.launch import LONG, scalar
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.opencl.moving import checked
from tutor.backends.opencl.reduce import Fold
from tutor.backends.registry import Operand
from tutor.backends.signatures import FLOATS
from tutor.dtype import DType

SUM = """
        X_t largest = LOAD_X(x[first]);
        for (int64_t k = 1; k < n; k++) {
            const X_t v = LOAD_X(x[first + k * inner]);
            largest = v > largest || v != v ? v : largest;
        }
        X_t sum = 0;
        for (int64_t k = 0; k < n; k++) sum += exp(LOAD_X(x[first + k * inner]) - largest);
"""

SOFTMAX = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0, const int64_t n,
    const int64_t inner, const int64_t count) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
        const int64_t line = at / inner * n * inner + at % inner, first = x0 + line;
{SUM}
        const X_t by = LOGS ? log(sum) : 1 / sum;
        for (int64_t k = 0; k < n; k++) {{
            const X_t v = LOAD_X(x[first + k * inner]) - largest;
            z[z0 + line + k * inner] = STORE_X(LOGS ? v - by : exp(v) * by);
        }}
    }}
}}
"""

LOSS = f"""
kernel void NAME(
    global Z_m *z, const int64_t z0, global const X_m *x, const int64_t x0,
    global const int64_t *target, const int64_t t0, const double scale, const int64_t n,
    const int64_t count) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
        const int64_t first = x0 + at * n, inner = 1;
{SUM}
        const X_t loss = log(sum) + (largest - LOAD_X(x[first + target[t0 + at]]));
        z[z0 + at] = STORE_Z((X_t)scale * loss);
    }}
}}
"""

SLOPE = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0,
    global const int64_t *target, const int64_t t0, global const X_m *g, const int64_t g0,
    const int64_t g1, const double scale, const int64_t n, const int64_t count) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
        const int64_t first = x0 + at * n, inner = 1, t = target[t0 + at];
{SUM}
        const X_t by = 1 / sum, factor = (X_t)scale * LOAD_X(g[g0 + at * g1]);
        for (int64_t k = 0; k < n; k++) {{
            const X_t p = exp(LOAD_X(x[first + k]) - largest) * by;
            z[z0 + at * n + k] = STORE_X(factor * (p - (k == t)));
        }}
    }}
}}
"""


class Softmax:
    """`kernel(out, x, axis=)`"""

    def __init__(self, pool: Pool, dtype: DType, logs: bool) -> None:
        self.pool, self.dtype, self.logs = pool, dtype, logs

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        pool, x = self.pool, dense(self.pool, x)
        outer, n, inner = lines(x, one(axis, x))
        if not n:
            return
        kernel = hand(pool, "softmax", SOFTMAX, {"X": self.dtype},
                      [*[None, LONG] * 2, *longs(3)], f"#define LOGS {+self.logs}\n")  # fmt: skip
        filled(pool, out, lambda z: run(kernel, outer * inner, *at(z), *at(x), n, inner))


class CrossEntropy:
    """`kernel(out, x, target, scale=)`"""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype = pool, dtype
        self.sum = Fold(pool, "sum", width(dtype))

    def losses(self, z: Any, x: Any, target: Any, scale: float) -> None:
        types = [None, LONG, None, LONG, None, LONG, scalar(FLOATS[-1]), *longs(2)]
        kernel = hand(self.pool, "cross_entropy", LOSS, {"X": self.dtype, "Z": z.buf.dtype}, types)
        rows = math.prod(x.shape[:-1])
        run(kernel, rows, *at(z), *at(x), *at(target), float(scale), x.shape[-1])

    def __call__(self, out: Any, x: Any, target: Any, *, scale: float) -> None:
        pool, x = self.pool, dense(self.pool, x)
        last = len(x.shape) - 1
        found = checked(pool, "cross_entropy", target, x.shape[-1], last, 0)
        if out.shape:
            filled(pool, out, lambda z: self.losses(z, x, found, scale))
            return
        rows = math.prod(x.shape[:-1])
        part = fresh(pool, (rows,), width(self.dtype))
        self.losses(part, x, found, scale)
        self.sum.fold(out, part, 1, rows, 1)


class CrossEntropyGrad:
    """`kernel(out, x, target, g, scale=)`"""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype = pool, dtype

    def __call__(self, out: Any, x: Any, target: Any, g: Any, *, scale: float) -> None:
        pool, x = self.pool, dense(self.pool, x)
        last = len(x.shape) - 1
        found = checked(pool, "cross_entropy_grad", target, x.shape[-1], last, 0)
        rows, g1 = math.prod(x.shape[:-1]), 1
        if g.shape and not any(g.strides):
            g, g1 = Operand(g.buf, (1,), (1,), g.offset), 0  # one number for all rows
        g = dense(pool, g)
        types = [None, LONG, None, LONG, None, LONG, None, *longs(2), scalar(FLOATS[-1]), *longs(2)]
        kernel = hand(pool, "cross_entropy_grad", SLOPE, {"X": self.dtype}, types)

        def fill(z: Any) -> None:
            each = (*at(z), *at(x), *at(found), *at(g), g1, float(scale), x.shape[-1])
            run(kernel, rows, *each)

        filled(pool, out, fill)


def kernels(pool: Pool) -> Rows:
    rows: Rows = {}
    for dtype in FLOATS:
        rows["softmax", dtype] = Softmax(pool, dtype, False)
        rows["log_softmax", dtype] = Softmax(pool, dtype, True)
        rows["cross_entropy", dtype] = CrossEntropy(pool, dtype)
        rows["cross_entropy_grad", dtype] = CrossEntropyGrad(pool, dtype)
    return rows
