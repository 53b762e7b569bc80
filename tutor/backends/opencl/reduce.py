"""Reductions: many numbers to one, as a tree of launches.

x is viewed as (outer, n, inner), with n terms per result. One launch folds them into P lanes: lane
p takes the terms p, p + P, p + 2P, ...; the next launch folds the lanes, until one is left.
Neighbouring work-items read neighbouring memory, no work-item waits for another, and the order of
terms depends on the shape alone: every run and every device gives the same bits.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import axes_of
from tutor.backends.codegen.dialect import Dialect, limits
from tutor.backends.codegen.expressions import expression
from tutor.backends.opencl.handwritten import (
    at,
    dense,
    filled,
    fresh,
    hand,
    longs,
    permuted,
    run,
    width,
)
from tutor.backends.opencl.launch import LONG
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, int64, uint64

ENOUGH = 2048  # work-items that keep a device busy
SHORT = 64  # terms that one work-item always adds alone

FOLD = """
kernel void NAME(
    global Z_m *z, const int64_t z0, global const X_m *x, const int64_t x0, const int64_t n,
    const int64_t lanes, const int64_t inner, const int64_t terms, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t i = at % inner, p = at / inner % lanes, o = at / inner / lanes;
        A_t a = NEUTRAL;
        for (int64_t k = p; k < n; k += lanes) {
            const A_t b = (A_t)LOAD_X(x[x0 + (o * n + k) * inner + i]);
            a = BOTH;
        }
        z[z0 + at] = STORE_Z((Z_t)(LAST));
    }
}
"""

POSITION = """
kernel void NAME(
    global int64_t *z, const int64_t z0, global const X_m *x, const int64_t x0,
    global const int64_t *known, const int64_t first, const int64_t n, const int64_t lanes,
    const int64_t inner, const int64_t whole, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t i = at % inner, p = at / inner % lanes, o = at / inner / lanes;
        int64_t best = -1;
        X_t a = 0;
        for (int64_t k = p; k < n; k += lanes) {
            const int64_t place = first ? k : known[(o * n + k) * inner + i];
            const X_t b = LOAD_X(x[x0 + (o * whole + place) * inner + i]);
            const bool equal = a == b || (a != a && b != b);
            if (best < 0 || (b != b && a == a) || b SIGN a || (equal && place < best)) {
                a = b;
                best = place;
            }
        }
        z[z0 + at] = best;
    }
}
"""


def seen(pool: Pool, x: Any, axis: Any) -> tuple[Any, int, int, int]:
    """x, contiguous, and (outer, n, inner): the reduced axes are made adjacent."""
    goes = axes_of(axis, len(x.shape))
    kept = [a for a in range(len(x.shape)) if a not in goes]
    wide = [a for a in goes if x.shape[a] != 1]
    together = not wide or wide == [a for a in range(wide[0], wide[-1] + 1) if x.shape[a] != 1]
    n = math.prod(x.shape[a] for a in goes)
    if together and wide:
        before = [a for a in kept if a < wide[0]]
        order = [*before, *goes, *[a for a in kept if a > wide[0]]]
        outer = math.prod(x.shape[a] for a in before)
        inner = math.prod(x.shape[a] for a in kept if a > wide[0])
        return dense(pool, permuted(x, order)), outer, n, inner
    return dense(pool, permuted(x, [*kept, *goes])), math.prod(x.shape[a] for a in kept), n, 1


def lanes_of(outer: int, n: int, inner: int) -> int:
    """The number of lanes into which n terms are folded."""
    if n <= SHORT or (inner > 1 and outer * inner >= ENOUGH):
        return 1
    return max(16, -(-int(math.sqrt(n)) // 16) * 16) if n < 1 << 16 else n // 256


def accumulator(kernel: str, dtype: DType) -> DType:
    """The dtype in which terms are folded."""
    if kernel in ("max", "min"):
        return dtype
    return width(dtype) if dtype.is_float else uint64


def folding(kernel: str, dtype: DType, acc: DType, c: Dialect) -> tuple[str, str]:
    """The initial value of a fold, and the expression that combines two terms."""
    if kernel in ("max", "min"):
        name = "maximum" if kernel == "max" else "minimum"
        ends = limits(dtype) if dtype.is_integer else ("0", "1")
        if dtype.is_float:
            ends = ("-INFINITY", "INFINITY")
            return ends[kernel == "min"], f"{name}_{c.computed(dtype)}(a, b)"
        return ends[kernel == "min"], expression(name, dtype, ["a", "b"], c)
    return ("1", "a * b") if kernel == "prod" else ("0", "a + b")


class Fold:
    """`kernel(out, x, axis=)`: sum, prod, mean, max, min."""

    def __init__(self, pool: Pool, kernel: str, dtype: DType) -> None:
        self.pool, self.kernel, self.dtype = pool, kernel, dtype
        self.acc = accumulator(kernel, dtype)
        neutral, both = folding(kernel, dtype, self.acc, pool.place.c)
        self.more = f"#define NEUTRAL {neutral}\n#define BOTH {both}\n"

    def step(self, of: DType, to: DType, last: bool) -> Any:
        kinds = {"X": of, "Z": to, "A": self.acc}
        value = "a / (A_t)terms" if last and self.kernel == "mean" else "a"
        more = f"{self.more}#define LAST {value}\n"
        types = [None, LONG, None, *longs(6)]
        return hand(self.pool, self.kernel, FOLD, kinds, types, more)

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        if 0 in out.shape:
            return
        found, outer, n, inner = seen(self.pool, x, axis)
        filled(self.pool, out, lambda z: self.fold(z, found, outer, n, inner))

    def fold(self, z: Any, x: Any, outer: int, n: int, inner: int) -> None:
        """z (outer, inner) from x (outer, n, inner)."""
        terms = n
        while (lanes := lanes_of(outer, n, inner)) > 1:
            part = fresh(self.pool, (outer, lanes, inner), self.acc)
            step = self.step(x.buf.dtype, self.acc, False)
            run(step, outer * lanes * inner, *at(part), *at(x), n, lanes, inner, terms)
            x, n = part, lanes
        step = self.step(x.buf.dtype, z.buf.dtype, True)
        run(step, outer * inner, *at(z), *at(x), n, 1, inner, terms)


class Position:
    """`kernel(out, x, axis=)`: argmax, argmin. Launches pass positions to each other."""

    def __init__(self, pool: Pool, kernel: str, dtype: DType) -> None:
        self.pool, self.kernel, self.dtype = pool, kernel, dtype

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        if 0 in out.shape:
            return
        found, outer, n, inner = seen(self.pool, x, axis)
        sign = f"#define SIGN {'>' if self.kernel == 'argmax' else '<'}\n"
        types = [None, LONG, None, LONG, None, *longs(6)]
        step = hand(self.pool, self.kernel, POSITION, {"X": self.dtype}, types, sign)

        def fill(z: Any) -> None:
            known, left, first = z, n, 1
            while (lanes := lanes_of(outer, left, inner)) > 1:
                part = fresh(self.pool, (outer, lanes, inner), int64)
                each = at(part), at(found), at(known)[0]
                run(step, outer * lanes * inner, *each[0], *each[1], each[2], first, left, lanes,
                    inner, n)  # fmt: skip
                known, left, first = part, lanes, 0
            run(step, outer * inner, *at(z), *at(found), at(known)[0], first, left, 1, inner, n)

        filled(self.pool, out, fill)


def kernels(pool: Pool) -> Rows:
    rows: Rows = {}
    for row in SIGNATURES.values():
        if row.form == "reduce":
            made = Position if row.name.startswith("arg") else Fold
            rows |= {(row.name, dtype): made(pool, row.name, dtype) for dtype in row.dtypes}
    return rows
