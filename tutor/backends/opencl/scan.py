"""Scans and sorting, along one axis.

scan and cummax have one work-item per line: each element depends on all before it. argsort merges:
after pass w each run of 2w positions is sorted, since every work-item finds its element's place in
the neighbouring run by bisection. The sort is stable: of two equal elements, that of the left run
comes first.
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
    mover,
    one,
    run,
)
from tutor.backends.opencl.launch import LONG
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.opencl.reduce import folding
from tutor.backends.signatures import ALL, NUMBERS
from tutor.dtype import DType, int64

SCAN = """
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0, global const X_m *y,
    const int64_t y0, const int64_t n, const int64_t inner, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t first = at / inner * n * inner + at % inner;
        W_t a = 0;
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = first + k * inner;
            const W_t b = (W_t)LOAD_X(y[y0 + i]);
            a = k == 0 ? b : (W_t)LOAD_X(x[x0 + i]) * a + b;
            z[z0 + i] = STORE_X((X_t)a);
        }
    }
}
"""

CUMMAX = """
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0, const int64_t n,
    const int64_t inner, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t first = at / inner * n * inner + at % inner;
        X_t a = 0;
        for (int64_t k = 0; k < n; k++) {
            const X_t b = LOAD_X(x[x0 + first + k * inner]);
            a = k == 0 ? b : BOTH;
            z[z0 + first + k * inner] = STORE_X(a);
        }
    }
}
"""

MERGE = """
/* nan is above all, and equal to nan */
static inline bool before(X_t a, X_t b) {
    return DESCENDING ? (a > b || (a != a && b == b)) : (a < b || (b != b && a == a));
}

kernel void NAME(
    global int64_t *z, global const int64_t *order, global const X_m *x, const int64_t x0,
    const int64_t n, const int64_t inner, const int64_t wide, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t k = at / inner % n, line = at - k * inner;
        const int64_t from = k / (2 * wide) * (2 * wide);
        const int64_t middle = from + wide < n ? from + wide : n;
        const int64_t end = from + 2 * wide < n ? from + 2 * wide : n;
        const int64_t me = wide == 1 ? k : order[at];
        const bool left = k < middle;
        const X_t a = LOAD_X(x[x0 + line + me * inner]);
        int64_t low = left ? middle : from, high = left ? end : middle;
        const int64_t begin = low;
        while (low < high) { /* how many of the other run come before me */
            const int64_t mid = (low + high) / 2;
            const int64_t other = wide == 1 ? mid : order[line + mid * inner];
            const X_t b = LOAD_X(x[x0 + line + other * inner]);
            const bool first = left ? before(b, a) : !before(a, b);
            low = first ? mid + 1 : low;
            high = first ? high : mid;
        }
        z[line + (k - (left ? 0 : middle - from) + low - begin) * inner] = me;
    }
}
"""


class Line:
    """A kernel of this family for one dtype."""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype = pool, dtype


class Scan(Line):
    """`kernel(out, x, y, axis=)`: integers wrap as unsigned ones."""

    def __call__(self, out: Any, x: Any, y: Any, *, axis: Any) -> None:
        pool, c = self.pool, self.pool.place.c
        wide = c.unsigned(self.dtype) if self.dtype.is_integer else "X_t"
        x, y = dense(pool, x), dense(pool, y)
        outer, n, inner = lines(x, one(axis, x))
        kernel = hand(pool, "scan", SCAN, {"X": self.dtype},
                      [*[None, LONG] * 3, *longs(3)], f"typedef {wide} W_t;\n")  # fmt: skip
        filled(pool, out, lambda z: run(kernel, outer * inner, *at(z), *at(x), *at(y), n, inner))


class CumMax(Line):
    """`kernel(out, x, axis=)`"""

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        pool, x = self.pool, dense(self.pool, x)
        outer, n, inner = lines(x, one(axis, x))
        both = folding("max", self.dtype, self.dtype, pool.place.c)[1]
        kernel = hand(pool, "cummax", CUMMAX, {"X": self.dtype},
                      [None, LONG, None, *longs(4)], f"#define BOTH {both}\n")  # fmt: skip
        filled(pool, out, lambda z: run(kernel, outer * inner, *at(z), *at(x), n, inner))


class ArgSort(Line):
    """`kernel(out, x, axis=, descending=)`"""

    def __call__(self, out: Any, x: Any, *, axis: Any, descending: bool) -> None:
        pool, x = self.pool, dense(self.pool, x)
        _, n, inner = lines(x, one(axis, x))
        count = math.prod(x.shape)
        if not count:
            return
        kernel = hand(pool, "argsort", MERGE, {"X": self.dtype}, [None, None, None, *longs(5)],
                      f"#define DESCENDING {int(descending)}\n")  # fmt: skip
        order, spare, wide = fresh(pool, x.shape, int64), fresh(pool, x.shape, int64), 1
        while wide == 1 or wide < n:
            run(kernel, count, at(spare)[0], at(order)[0], *at(x), n, inner, wide)
            order, spare, wide = spare, order, 2 * wide
        mover(pool, int64)(out, order)


def kernels(pool: Pool) -> Rows:
    rows: Rows = {("scan", dtype): Scan(pool, dtype) for dtype in NUMBERS}
    rows |= {("cummax", dtype): CumMax(pool, dtype) for dtype in ALL}
    return rows | {("argsort", dtype): ArgSort(pool, dtype) for dtype in ALL}
