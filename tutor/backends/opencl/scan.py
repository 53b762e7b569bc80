"""Scans and sorting, along one axis.

scan and cummax have one work-item per line: each element depends on all before it. argsort merges:
after pass w each run of 2w positions is sorted, since every work-item finds its element's place in
the neighbouring run by bisection. The sort is stable: of two equal elements, that of the left run
comes first.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.codegen import folds
from tutor.backends.opencl.handwritten import Body, Kernel, lines, one
from tutor.dtype import int64

SCAN = Body("scan(X *z, const X *x, const X *y, n, inner)", """
    const int64_t first = at / inner * n * inner + at % inner;
    W_t a = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = first + k * inner;
        const W_t b = (W_t)LOAD_X(y[i]);
        a = k == 0 ? b : (W_t)LOAD_X(x[i]) * a + b;
        z[i] = STORE_X((X_t)a);
    }
""")  # fmt: skip

CUMMAX = Body("cummax(X *z, const X *x, n, inner)", """
    const int64_t first = at / inner * n * inner + at % inner;
    X_t a = 0;
    for (int64_t k = 0; k < n; k++) {
        const X_t b = LOAD_X(x[first + k * inner]);
        a = k == 0 ? b : BOTH;
        z[first + k * inner] = STORE_X(a);
    }
""")  # fmt: skip

BEFORE = """
/* nan is above all, and equal to nan */
static inline bool before(X_t a, X_t b) {
    return DESCENDING ? (a > b || (a != a && b == b)) : (a < b || (b != b && a == a));
}
"""

MERGE = Body("argsort(int64_t *z, const int64_t *order, const X *x, n, inner, wide)", """
    const int64_t k = at / inner % n, line = at - k * inner;
    const int64_t from = k / (2 * wide) * (2 * wide);
    const int64_t middle = from + wide < n ? from + wide : n;
    const int64_t end = from + 2 * wide < n ? from + 2 * wide : n;
    const int64_t me = wide == 1 ? k : order[at];
    const bool left = k < middle;
    const X_t a = LOAD_X(x[line + me * inner]);
    int64_t low = left ? middle : from, high = left ? end : middle;
    const int64_t begin = low;
    while (low < high) { /* how many of the other run come before me */
        const int64_t mid = (low + high) / 2;
        const int64_t other = wide == 1 ? mid : order[line + mid * inner];
        const X_t b = LOAD_X(x[line + other * inner]);
        const bool first = left ? before(b, a) : !before(a, b);
        low = first ? mid + 1 : low;
        high = first ? high : mid;
    }
    z[line + (k - (left ? 0 : middle - from) + low - begin) * inner] = me;
""", BEFORE)  # fmt: skip


class Scan(Kernel):
    """`kernel(out, x, y, axis=)`: integers wrap as unsigned ones."""

    def __call__(self, out: Any, x: Any, y: Any, *, axis: Any) -> None:
        x, y = self.dense(x, y)
        outer, n, inner = lines(x, one(axis, x))
        more = f"typedef {self.c.summed(self.dtype)} W_t;\n"
        self.into(out, SCAN, outer * inner, x, y, n, inner, more=more)


class CumMax(Kernel):
    """`kernel(out, x, axis=)`"""

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        (x,) = self.dense(x)
        outer, n, inner = lines(x, one(axis, x))
        both = folds.combined("max", self.dtype, "a", "b", self.c)
        self.into(out, CUMMAX, outer * inner, x, n, inner, more=f"#define BOTH {both}\n")


class ArgSort(Kernel):
    """`kernel(out, x, axis=, descending=)`"""

    def __call__(self, out: Any, x: Any, *, axis: Any, descending: bool) -> None:
        (x,) = self.dense(x)
        _, n, inner = lines(x, one(axis, x))
        count = math.prod(x.shape)
        if not count:
            return
        more = f"#define DESCENDING {int(descending)}\n"
        order, spare, wide = self.fresh(x.shape, int64), self.fresh(x.shape, int64), 1
        while wide == 1 or wide < n:
            self.run(MERGE, count, spare, order, x, n, inner, wide, more=more)
            order, spare, wide = spare, order, 2 * wide
        self.copy(out, order)


KERNELS = {"scan": Scan, "cummax": CumMax, "argsort": ArgSort}
