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
from tutor.backends.codegen import folds
from tutor.backends.opencl.handwritten import Body, Kernel, dense, filled, permuted
from tutor.backends.opencl.memory import Pool
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, int64

ENOUGH = 2048  # work-items that keep a device busy
SHORT = 64  # terms that one work-item always adds alone

# The C of a Program folds a contiguous row in the order of simd_cpp's tree, to have its bits; here
# work-items share a row. So the loops are two, and what they do to two terms is one: codegen/folds.
FOLD = Body("fold(Z *z, const X *x, n, lanes, inner, terms)", """
    const int64_t i = at % inner, p = at / inner % lanes, o = at / inner / lanes;
    A_t a = NEUTRAL;
    for (int64_t k = p; k < n; k += lanes) {
        const A_t b = (A_t)LOAD_X(x[(o * n + k) * inner + i]);
        a = BOTH;
    }
    z[at] = STORE_Z((Z_t)(LAST));
""")  # fmt: skip

# Lanes are not in the order of their terms: of equal ones the smaller position wins.
POSITION = Body(
    "position(int64_t *z, const X *x, const int64_t *known, first, n, lanes, inner, whole)", """
    const int64_t i = at % inner, p = at / inner % lanes, o = at / inner / lanes;
    int64_t best = -1;
    X_t a = 0;
    for (int64_t k = p; k < n; k += lanes) {
        const int64_t place = first ? k : known[(o * n + k) * inner + i];
        const X_t b = LOAD_X(x[(o * whole + place) * inner + i]);
        const bool equal = a == b || (a != a && b != b);
        if (best < 0 || (b != b && a == a) || b SIGN a || (equal && place < best)) {
            a = b;
            best = place;
        }
    }
    z[at] = best;
""")  # fmt: skip


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


class Fold(Kernel):
    """`kernel(out, x, axis=)`: sum, prod, mean, max, min."""

    def __init__(self, pool: Pool, name: str, dtype: DType) -> None:
        super().__init__(pool, name, dtype)
        self.acc = folds.accumulator(name, dtype)
        neutral, both = folds.neutral(name, dtype), folds.combined(name, dtype, "a", "b", self.c)
        self.more = f"#define NEUTRAL {neutral}\n#define BOTH {both}\n#define LAST "

    def step(self, z: Any, x: Any, lanes: int, outer: int, n: int, inner: int, terms: int) -> None:
        """Fold n terms into this many lanes."""
        last = "a / (A_t)terms" if lanes == 1 and self.name == "mean" else "a"
        kinds = {"X": x.buf.dtype, "Z": z.buf.dtype, "A": self.acc}
        self.run(FOLD, outer * lanes * inner, z, x, n, lanes, inner, terms,
                 more=f"{self.more}{last}\n", kinds=kinds)  # fmt: skip

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        if 0 in out.shape:
            return
        found, outer, n, inner = seen(self.pool, x, axis)
        filled(self.pool, out, lambda z: self.fold(z, found, outer, n, inner))

    def fold(self, z: Any, x: Any, outer: int, n: int, inner: int) -> None:
        """z (outer, inner) from x (outer, n, inner)."""
        terms = n
        while (lanes := lanes_of(outer, n, inner)) > 1:
            part = self.fresh((outer, lanes, inner), self.acc)
            self.step(part, x, lanes, outer, n, inner, terms)
            x, n = part, lanes
        self.step(z, x, 1, outer, n, inner, terms)


class Position(Kernel):
    """`kernel(out, x, axis=)`: argmax, argmin. Launches pass positions to each other."""

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        if 0 in out.shape:
            return
        found, outer, n, inner = seen(self.pool, x, axis)
        sign = f"#define SIGN {'>' if self.name == 'argmax' else '<'}\n"

        def step(z: Any, known: Any, first: bool, left: int, lanes: int) -> None:
            self.run(POSITION, outer * lanes * inner, z, found, known, int(first), left, lanes,
                     inner, n, more=sign)  # fmt: skip

        def fill(z: Any) -> None:
            known, left, first = z, n, True
            while (lanes := lanes_of(outer, left, inner)) > 1:
                part = self.fresh((outer, lanes, inner), int64)
                step(part, known, first, left, lanes)
                known, left, first = part, lanes, False
            step(z, known, first, left, 1)

        filled(self.pool, out, fill)


KERNELS = {
    row.name: Position if row.name.startswith("arg") else Fold
    for row in SIGNATURES.values() if row.form == "reduce"
}  # fmt: skip
