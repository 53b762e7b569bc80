"""Moving elements, filling, and selecting by index.

pad and cat are views of the result and the generated kernel `copy`. What an index selects is
generated from the statements that the C of a Program has: gather and index_select have one
work-item per element of the result; scatter and scatter_add one per line across the axis, which
processes src in order: so the last value wins, and sums have the same bits every time.

Indices are checked before anything is written, and the call waits for the answer, because an error
must come from the call that caused it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from tutor._storage.bits import pack
from tutor.backends.codegen import elements
from tutor.backends.codegen.loops import block
from tutor.backends.opencl.elementwise import Elements
from tutor.backends.opencl.handwritten import (
    Body,
    Kernel,
    at,
    copied,
    dense,
    is_on_device,
    launch,
    one,
    over,
)
from tutor.backends.opencl.memory import DeviceMemory, Part, Pool, ask
from tutor.backends.registry import Operand
from tutor.dtype import DType, float64, int64, uint64
from tutor.errors import OutOfRangeError, ShapeError

OUTSIDE = Body("outside(int64_t *bad, const int64_t *index, low, size)", """
    const int64_t i = index[at];
    if (i < low || i >= size) {
        bad[0] = 1;  /* several may write: each an invalid index */
        bad[1] = i;
    }
""")  # fmt: skip

ARANGE = Body("arange(X *z, W start, W step, double parts)", "z[at] = VALUE;")

COUNT = Body("nonzero_count(int64_t *counts, const X *x, whole, size)", """
    const int64_t end = (at + 1) * size < whole ? (at + 1) * size : whole;
    int64_t n = 0;
    for (int64_t k = at * size; k < end; k++) n += LOAD_X(x[k]);
    counts[at] = n;
""")  # fmt: skip

PLACES = Body("nonzero(int64_t *z, const int64_t *before, const X *x, whole, size)", """
    const int64_t end = (at + 1) * size < whole ? (at + 1) * size : whole;
    int64_t n = before[at];
    for (int64_t k = at * size; k < end; k++)
        if (LOAD_X(x[k])) z[n++] = k;
""")  # fmt: skip
CHUNK = 1024  # elements that one work-item counts


def checked(pool: Pool, kernel: str, index: Any, size: int, axis: int, low: int) -> Any:
    """The index, contiguous; OutOfRangeError if one of its numbers is outside the axis."""
    found = dense(pool, index)
    count = math.prod(found.shape)
    if count:

        def test(bad: DeviceMemory) -> None:
            launch(pool, OUTSIDE, {}, count, over(bad, int64, (2,)), found, low, size)

        def refuse(answer: list[int]) -> NoReturn:
            raise OutOfRangeError(
                f"kernel {kernel}, index {answer[1]} in axis {axis}",
                f"the axis has size {size}",
                f"use {low} to {size - 1}" if size else "choose nothing, for the axis is empty",
            )

        memory, offset = at(found)
        ask(pool, 2, int64, test, refuse, memory, ("outside", offset, count, low, size))
    return found


class Fill(Kernel):
    """`kernel(out, value=)`"""

    def __init__(self, pool: Pool, name: str, dtype: DType) -> None:
        super().__init__(pool, name, dtype)
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


class Pad(Fill):
    """`kernel(out, x, before=, value=)`"""

    def __call__(self, out: Any, x: Any, *, before: Any, value: Any) -> None:  # type: ignore[override]
        if out.shape != x.shape:
            super().__call__(out, value=value)
        offset = out.offset + sum(b * s for b, s in zip(before, out.strides, strict=True))
        self.copy(Operand(out.buf, x.shape, out.strides, offset), x)


class Cat(Kernel):
    """`kernel(out, *ins, axis=)`"""

    def __call__(self, out: Any, *ins: Any, axis: Any) -> None:
        a, offset = one(axis, out), out.offset
        for x in ins:
            self.copy(Operand(out.buf, x.shape, out.strides, offset), x)
            offset += x.shape[a] * out.strides[a]


class Indexed(Kernel):
    """A kernel with an index along an axis. `numbers` are those that its statements take."""

    numbers: Sequence[str]

    def __init__(self, pool: Pool, name: str, dtype: DType) -> None:
        super().__init__(pool, name, dtype)
        self.each = Elements(pool, name, (dtype, dtype, int64), self.body, numbers=self.numbers)

    def body(self, places: Sequence[str]) -> list[str]:
        raise NotImplementedError

    def there(self, x: Any) -> Any:
        """x, or a copy on the device."""
        return x if is_on_device(x) else copied(self.pool, x)


class Gather(Indexed):
    """`kernel(out, x, index, axis=)`: gather, and index_select, whose index has one axis."""

    numbers = ("size", "step")

    def body(self, places: Sequence[str]) -> list[str]:
        to, x, index = places
        x = elements.beside(x, "at * step")
        return [*elements.position(index, "size"), elements.moved(self.dtype, to, x)]

    def __call__(self, out: Any, x: Any, index: Any, *, axis: Any) -> None:
        a, x = one(axis, x), self.there(x)
        size, step = (x.shape[a], x.strides[a]) if x.shape else (1, 0)
        found = checked(self.pool, self.name, index, size, a, -size)
        stay = tuple(0 if b == a else s for b, s in enumerate(x.strides))
        if self.name == "index_select":
            along = tuple(found.strides[0] * (b == a) for b in range(len(x.shape)))
            found = Operand(found.buf, out.shape, along, found.offset)
        self.each(out, Operand(x.buf, out.shape, stay, x.offset), found, numbers=(size, step))


class Scatter(Indexed):
    """`kernel(out, x, index, src, axis=)`: scatter and scatter_add."""

    numbers = ("n", "size", "step", "src_step", "index_step")

    def body(self, places: Sequence[str]) -> list[str]:
        to, src, index = places
        to, src = elements.beside(to, "at * step"), elements.beside(src, "l * src_step")
        adds = self.name == "scatter_add"
        return block(
            "for (int64_t l = 0; l < n; l++)",
            elements.position(elements.beside(index, "l * index_step"), "size"),
            [elements.added(self.dtype, to, src, self.c)
             if adds else elements.moved(self.dtype, to, src)],
        )  # fmt: skip

    def __call__(self, out: Any, x: Any, index: Any, src: Any, *, axis: Any) -> None:
        a, src = one(axis, out), self.there(src)
        size = out.shape[a] if out.shape else 1
        found = checked(self.pool, self.name, index, size, a, -size)
        self.copy(out, x)
        if 0 in src.shape:
            return
        n, shape = (src.shape[a] if src.shape else 1), (*src.shape[:a], *src.shape[a + 1 :])
        lines, numbers = [], [n, size]
        for t in (out, src, found):
            lines.append(Operand(t.buf, shape, (*t.strides[:a], *t.strides[a + 1 :]), t.offset))
            numbers.append(t.strides[a] if t.shape else 0)
        self.each(*lines, numbers=numbers)


class Arange(Kernel):
    """`kernel(out, start=, step=, parts=)`"""

    def __call__(self, out: Any, *, start: Any, step: Any, parts: Any) -> None:
        wide = uint64 if self.dtype.is_integer else float64
        start, step = (int(v) % 2**64 if wide is uint64 else float(v) for v in (start, step))
        value = elements.arange(self.dtype, "at", "start", "step", "parts", self.c)
        self.into(out, ARANGE, math.prod(out.shape), start, step, float(parts),
                  more=f"#define VALUE {value}\n", kinds=self.kinds | {"W": wide})  # fmt: skip


class Nonzero(Kernel):
    """`kernel(out, x)`: counted in chunks, the counts added up, then each chunk written."""

    def __call__(self, out: Any, x: Any) -> None:
        (x,) = self.dense(x)
        whole = math.prod(x.shape)
        pieces = -(-whole // CHUNK)
        counts = self.fresh((pieces,), int64)
        self.run(COUNT, pieces, counts, x, whole, CHUNK)
        before = [0]
        for n in memoryview(counts.buf.memory.read()).cast("q"):
            before.append(before[-1] + n)
        if before[-1] != out.shape[0]:
            raise ShapeError(
                "kernel nonzero",
                f"{before[-1]} elements are true, out has room for {out.shape[0]}",
                "give out as many elements as are true, and change nothing meanwhile",
            )
        if before[-1]:
            counts.buf.memory.write(pack(before[:-1], int64))
            self.into(out, PLACES, pieces, counts, x, whole, CHUNK)


KERNELS = {
    "fill": Fill, "pad": Pad, "cat": Cat, "gather": Gather, "index_select": Gather,
    "scatter": Scatter, "scatter_add": Scatter, "arange": Arange, "nonzero": Nonzero,
}  # fmt: skip
