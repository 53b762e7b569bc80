"""Moving elements, filling, and selecting by index.

pad and cat are views of the result and the generated kernel `copy`. gather and index_select have
one work-item per element of the result. scatter and scatter_add have one per line across the axis,
which processes src in order: so the last value wins, and sums have the same bits every time.

Indices are checked before anything is written, and the call waits for the answer, because an error
must come from the call that caused it.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from tutor._storage.bits import pack
from tutor.backends.opencl.elementwise import Elements
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
from tutor.backends.opencl.launch import LONG, scalar
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool, Rows, ask
from tutor.backends.registry import Operand
from tutor.backends.signatures import ALL, NUMBERS
from tutor.dtype import DType, bool_, float64, int64, uint64
from tutor.errors import OutOfRangeError, ShapeError

OUTSIDE = """
kernel void NAME(
    global int64_t *bad, global const int64_t *index, const int64_t i0, const int64_t low,
    const int64_t size, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t i = index[i0 + at];
        if (i < low || i >= size) {
            bad[0] = 1;  /* several may write: each an index that is none */
            bad[1] = i;
        }
    }
}
"""

TAKE = """
kernel void NAME(
    global Z_m *z, const int64_t z0, global const Z_m *x, const int64_t x0,
    global const int64_t *index, const int64_t i0, const int64_t n, const int64_t size,
    const int64_t inner, const int64_t each, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t i = at % inner, k = at / inner % n, o = at / inner / n;
        int64_t j = index[i0 + (each ? at : k)];
        j += j < 0 ? size : 0;
        z[z0 + at] = x[x0 + (o * size + j) * inner + i];
    }
}
"""

SCATTER = """
kernel void NAME(
    global Z_m *z, const int64_t z0, global const Z_m *src, const int64_t s0,
    global const int64_t *index, const int64_t i0, global const int64_t *base, const int64_t n,
    const int64_t size, const int64_t step, const int64_t inner, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t i = at % inner, o = at / inner, b = z0 + base[at];
        for (int64_t k = 0; k < n; k++) {
            const int64_t from = (o * n + k) * inner + i;
            int64_t j = index[i0 + from];
            j += j < 0 ? size : 0;
            PUT
        }
    }
}
"""

ARANGE = """
kernel void NAME(
    global Z_m *z, const int64_t z0, const W_t start, const W_t step, const double parts,
    const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) z[z0 + at] = VALUE;
}
"""

COUNT = """
kernel void NAME(
    global int64_t *counts, global const X_m *x, const int64_t x0, const int64_t whole,
    const int64_t size, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t end = (at + 1) * size < whole ? (at + 1) * size : whole;
        int64_t n = 0;
        for (int64_t k = at * size; k < end; k++) n += LOAD_X(x[x0 + k]);
        counts[at] = n;
    }
}
"""

PLACES = """
kernel void NAME(
    global int64_t *z, const int64_t z0, global const int64_t *before, global const X_m *x,
    const int64_t x0, const int64_t whole, const int64_t size, const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        const int64_t end = (at + 1) * size < whole ? (at + 1) * size : whole;
        int64_t n = before[at];
        for (int64_t k = at * size; k < end; k++)
            if (LOAD_X(x[x0 + k])) z[z0 + n++] = k;
    }
}
"""
CHUNK = 1024  # elements that one work-item counts


def checked(pool: Pool, kernel: str, index: Any, size: int, axis: int, low: int) -> Any:
    """The index, contiguous; OutOfRangeError if one of its numbers is outside the axis."""
    found = dense(pool, index)
    count = math.prod(found.shape)
    if count:
        test = hand(pool, "outside", OUTSIDE, {}, [None, None, *longs(4)])

        def refuse(answer: list[int]) -> NoReturn:
            raise OutOfRangeError(
                f"kernel {kernel}, index {answer[1]} in axis {axis}",
                f"the axis has size {size}",
                f"use {low} to {size - 1}" if size else "choose nothing, for the axis is empty",
            )

        memory, offset = at(found)
        question = ("outside", offset, count, low, size)
        ask(pool, 2, int64, lambda bad: run(test, count, bad.data, memory, offset, low, size),
            refuse, memory, question)  # fmt: skip
    return found


class Kernel:
    """A kernel of this family for one dtype."""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype = pool, dtype

    def take(self, z: Any, x: Any, index: Any, axis: int, each: bool) -> None:
        """z from contiguous x at the index: one for each element, or one for each slice."""
        outer, n, inner = lines(z, axis)
        size = lines(x, axis)[1]
        kernel = hand(self.pool, "take", TAKE, {"Z": self.dtype},
                      [None, LONG, None, LONG, None, *longs(6)])  # fmt: skip
        run(kernel, outer * n * inner, *at(z), *at(x), *at(index), n, size, inner, int(each))


class Fill(Kernel):
    """`kernel(out, value=)`"""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        super().__init__(pool, dtype)
        self.put = Elements(pool, "fill", (dtype, dtype), lambda p: [f"{p[0]} = {p[1]};"])

    def __call__(self, out: Any, *, value: Any) -> None:
        cell = Cell(value, self.dtype)
        self.put(out, Operand(Part(cell, self.dtype), out.shape, (0,) * len(out.shape), 0))


class Cell:
    """One number on the host, as memory."""

    device, count = "cpu", 1

    def __init__(self, value: Any, dtype: DType) -> None:
        if dtype.is_integer:
            whole = int(value) % 2 ** (8 * dtype.itemsize)
            self.raw = memoryview(whole.to_bytes(dtype.itemsize, "little"))
        else:
            self.raw = memoryview(pack([value], dtype))

    def keep(self) -> Cell:
        return self


class Pad(Kernel):
    """`kernel(out, x, before=, value=)`"""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        super().__init__(pool, dtype)
        self.fill = Fill(pool, dtype)

    def __call__(self, out: Any, x: Any, *, before: Any, value: Any) -> None:
        if out.shape != x.shape:
            self.fill(out, value=value)
        offset = out.offset + sum(b * s for b, s in zip(before, out.strides, strict=True))
        mover(self.pool, self.dtype)(Operand(out.buf, x.shape, out.strides, offset), x)


class Cat(Kernel):
    """`kernel(out, *ins, axis=)`"""

    def __call__(self, out: Any, *ins: Any, axis: Any) -> None:
        a, offset = one(axis, out), out.offset
        for x in ins:
            mover(self.pool, self.dtype)(Operand(out.buf, x.shape, out.strides, offset), x)
            offset += x.shape[a] * out.strides[a]


class Gather(Kernel):
    """`kernel(out, x, index, axis=)`"""

    def __call__(self, out: Any, x: Any, index: Any, *, axis: Any) -> None:
        a = one(axis, x)
        # x may be larger than the index along the other axes: only that part is used
        sizes = (*index.shape[:a], *x.shape[a : a + 1], *index.shape[a + 1 :])
        x = dense(self.pool, Operand(x.buf, sizes, x.strides, x.offset))
        found = checked(self.pool, "gather", index, lines(x, a)[1], a, -lines(x, a)[1])
        filled(self.pool, out, lambda z: self.take(z, x, found, a, True))


class IndexSelect(Kernel):
    """`kernel(out, x, index, axis=)`"""

    def __call__(self, out: Any, x: Any, index: Any, *, axis: Any) -> None:
        a, x = one(axis, x), dense(self.pool, x)
        found = checked(self.pool, "index_select", index, lines(x, a)[1], a, -lines(x, a)[1])
        filled(self.pool, out, lambda z: self.take(z, x, found, a, False))


class Scatter(Kernel):
    """`kernel(out, x, index, src, axis=)`: scatter and scatter_add."""

    adds = False

    def __call__(self, out: Any, x: Any, index: Any, src: Any, *, axis: Any) -> None:
        pool, a = self.pool, one(axis, out)
        name = "scatter_add" if self.adds else "scatter"
        size = lines(out, a)[1]
        found, src = checked(pool, name, index, size, a, -size), dense(pool, src)
        filled(pool, out, lambda z: self.fill(z, x, found, src, a, name))

    def fill(self, z: Any, x: Any, index: Any, src: Any, a: int, name: str) -> None:
        pool, dtype = self.pool, self.dtype
        mover(pool, dtype)(z, x)
        outer, n, inner = lines(src, a)
        if not outer * n * inner:
            return
        place = "z[b + j * step]"
        value = "src[s0 + from]"
        if self.adds:
            c = pool.place.c
            both = f"LOAD_Z({place}) {'|' if dtype is bool_ else '+'} LOAD_Z({value})"
            if dtype.is_integer:
                kind = c.unsigned(dtype)
                both = f"(Z_m)(({kind}){place} + ({kind}){value})"
            value = f"STORE_Z({both})"
        kernel = hand(pool, name, SCATTER, {"Z": dtype},
                      [None, LONG, None, LONG, None, LONG, None, *longs(5)],
                      f"#define PUT {place} = {value};\n")  # fmt: skip
        # where each line of src begins in z, which may be larger along the other axes
        shape = (*src.shape[:a], *src.shape[a + 1 :])
        steps = (*z.strides[:a], *z.strides[a + 1 :])
        begins = [0]
        for m, s in zip(shape, steps, strict=True):
            begins = [b + k * s for b in begins for k in range(m)]
        base = DeviceMemory(pool, len(begins), int64.format)
        base.put(pack(begins, int64))
        size = lines(z, a)[1]
        step = z.strides[a] if z.shape else 0
        run(kernel, outer * inner, *at(z), *at(src), *at(index), base.data, n, size, step, inner)


class ScatterAdd(Scatter):
    adds = True


class Arange(Kernel):
    """`kernel(out, start=, step=, parts=)`"""

    def __call__(self, out: Any, *, start: Any, step: Any, parts: Any) -> None:
        pool, dtype = self.pool, self.dtype
        if dtype.is_integer:
            wide, value = uint64, "(Z_m)(start + step * (W_t)at)"
            start, step = (int(v) % 2**64 for v in (start, step))
        else:
            wide, value = float64, "STORE_Z(ROUND(start + step * ((double)at / parts)))"
        halves = dtype.itemsize == 2 and dtype.is_float
        more = f"#define VALUE {value}\n"
        more += f"#define ROUND(v) {'round_to_odd(v)' if halves else '(Z_t)(v)'}\n"
        types = [None, LONG, scalar(wide), scalar(wide), scalar(float64), LONG]
        kernel = hand(pool, "arange", ARANGE, {"Z": dtype, "W": wide}, types, more)
        count = math.prod(out.shape)
        filled(pool, out, lambda z: run(kernel, count, *at(z), start, step, float(parts)))


class Nonzero(Kernel):
    """`kernel(out, x)`: counted in chunks, the counts added up, then each chunk written."""

    def __call__(self, out: Any, x: Any) -> None:
        pool, x = self.pool, dense(self.pool, x)
        whole = math.prod(x.shape)
        pieces = -(-whole // CHUNK)
        counts = fresh(pool, (pieces,), int64)
        types = [None, None, *longs(4)]
        if pieces:
            count = hand(pool, "nonzero_count", COUNT, {"X": self.dtype}, types)
            run(count, pieces, at(counts)[0], *at(x), whole, CHUNK)
        found = list(memoryview(held_bytes(counts)).cast("q"))
        before = [0]
        for n in found:
            before.append(before[-1] + n)
        if before[-1] != out.shape[0]:
            raise ShapeError(
                "kernel nonzero",
                f"{before[-1]} elements are true, out has room for {out.shape[0]}",
                "give out as many elements as are true, and change nothing meanwhile",
            )
        if not before[-1]:
            return
        counts.buf.memory.write(pack(before[:-1], int64))
        types = [None, LONG, None, None, *longs(4)]
        places = hand(pool, "nonzero", PLACES, {"X": self.dtype}, types)

        def fill(z: Any) -> None:
            run(places, pieces, *at(z), at(counts)[0], *at(x), whole, CHUNK)

        filled(pool, out, fill)


def held_bytes(x: Any) -> bytes:
    return bytes(x.buf.memory.read())


def kernels(pool: Pool) -> Rows:
    rows: Rows = {("nonzero", bool_): Nonzero(pool, bool_)}
    rows |= {("arange", dtype): Arange(pool, dtype) for dtype in NUMBERS}
    for name, made in (
        ("fill", Fill), ("pad", Pad), ("cat", Cat), ("gather", Gather), ("scatter", Scatter),
        ("index_select", IndexSelect), ("scatter_add", ScatterAdd),
    ):  # fmt: skip
        rows |= {(name, dtype): made(pool, dtype) for dtype in ALL}
    return rows
