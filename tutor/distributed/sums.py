"""The order of additions, and the kernels that do them.

Floating-point addition is not associative: another order gives other bits. So the order is fixed.
`tree` adds neighbours in pairs, then neighbouring pairs, and so on:

    ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))

If their number is no power of two, the rest joins unpaired: (r0 + r1) + r2. A rank that has already
added its half of such a tree is a leaf of a smaller tree: that is why 1, 2, 4 and 8 ranks can give
the same bits. `line` adds from the left, as a loop over the ranks would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tutor._storage import array_like
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.dtype import DType

KERNELS = {"sum": "add", "mean": "add", "max": "maximum"}
Combine = Callable[[Buffer, Buffer], Buffer]


def tree(rows: Sequence[Buffer], combine: Combine) -> Buffer:
    """Add neighbours in pairs, then pairs of pairs."""
    if len(rows) == 1:
        return rows[0]
    half = 1 << (len(rows) - 1).bit_length() - 1  # the largest power of two below len(rows)
    return combine(tree(rows[:half], combine), tree(rows[half:], combine))


def line(rows: Sequence[Buffer], combine: Combine) -> Buffer:
    """Add from the left, one after another."""
    return reduce(combine, rows)


ORDERS = {"tree": tree, "line": line}


def combined(
    rows: Sequence[memoryview], out: memoryview, dtype: DType, op: str, order: str
) -> None:
    """Fill `out` with the sum, mean or maximum of the rows, which must not overlap it."""
    if not out.nbytes:
        return
    kernel, count, last = KERNELS[op], out.nbytes // dtype.itemsize, over(out, dtype)
    left = len(rows) - 1

    def combine(a: Buffer, b: Buffer) -> Buffer:
        """Combine two rows; the last result goes straight to `out`."""
        nonlocal left
        left -= 1
        to = Buffer.empty(count, dtype) if left else last
        emit(Step(kernel, dtype, whole(to), (whole(a), whole(b))))
        return to

    result = ORDERS[order]([over(row, dtype) for row in rows], combine)
    if result is not last:
        emit(Step("copy", dtype, whole(last), (whole(result),)))
    if op == "mean":
        n = Buffer.from_memory(array_like.pack([len(rows)], dtype), dtype=dtype)
        emit(Step("div", dtype, whole(last), (whole(last), Operand(n, (count,), (0,), 0))))


def over(view: memoryview, dtype: DType) -> Buffer:
    """A Buffer over these bytes."""
    return Buffer.from_memory(view, dtype=dtype, copy=False)


def whole(buf: Buffer) -> Operand:
    """All numbers of a Buffer, as a contiguous operand."""
    return Operand(buf, (len(buf),), (1,), 0)
