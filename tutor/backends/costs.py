"""The cost of a kernel call: the bytes that it moves, and the operations that it computes.

Both follow from the form of the kernel (shape_rules.py) and the memory layout of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tutor._storage.layout import Shape
from tutor.backends import bytecode
from tutor.backends.signatures import signature_of
from tutor.dtype import DType

Work = Callable[[Shape, Sequence[Shape]], int]
Layout = tuple[Shape, Shape, DType]  # shape, strides, and dtype of an operand


def _one_each(out: Shape, ins: Sequence[Shape]) -> int:
    return math.prod(out)


def _one_each_read(out: Shape, ins: Sequence[Shape]) -> int:
    return math.prod(ins[0])


def _terms_of_rows(out: Shape, ins: Sequence[Shape]) -> int:
    return 2 * math.prod(out) * ins[0][-1]


def _terms_of_windows(out: Shape, ins: Sequence[Shape]) -> int:
    """A multiplication and an addition for each element that a window sees."""
    return 2 * math.prod(out) * math.prod(ins[1][1:])


def _terms_of_weights(out: Shape, ins: Sequence[Shape]) -> int:
    return 2 * math.prod(ins[1]) * math.prod(out[1:])


# Additions, multiplications and their equivalents, by form; other forms have no count.
FLOPS: dict[str, Work] = {
    "elementwise": _one_each,
    "reduce": _one_each_read,
    "mat_mul": _terms_of_rows,
    "linear": _terms_of_rows,
    "conv": _terms_of_windows,
    "conv_weight": _terms_of_weights,
    "fused": _one_each_read,  # per instruction that computes, plus its product's
}


def flops(
    kernel: str, layouts: Sequence[Layout], params: Mapping[str, Any] = MappingProxyType({})
) -> int | None:
    """Operations: one for each element of a map or reduction; for sums of products a multiplication
    and an addition for each term, so 2mnk for a matrix product. None if unknown, or if nothing is
    computed. `layouts`: out's, then the inputs'. A fused kernel costs as much as its instructions,
    which its `params` contain."""
    signature = signature_of(kernel)
    count = FLOPS.get(signature.form)
    if count is None or signature.work == "moves" or (count is _one_each and signature.params):
        return None
    out, *ins = [shape for shape, _, _ in layouts]
    if kernel != "fused":
        return count(out, ins)
    if "code" not in params:
        return None
    computing, begins = bytecode.computing(params["code"]), bytecode.product(params["code"])
    if begins is None:
        return count(out, ins) * computing
    return _terms_of_rows(out, ins) + _one_each(out, ins) * computing


def nbytes(kernel: str, layouts: Sequence[Layout]) -> int:
    """Bytes read and written; an element counts once for each operand that contains it."""
    types, form = signature_of(kernel).types, signature_of(kernel).form
    moved = [_elements(shape, strides) * dtype.itemsize for shape, strides, dtype in layouts]
    if form in ("gather", "index_select"):  # they read as many elements as they write
        moved[1] = moved[0]
    if form == "update":  # out and the state are read and written, cells only read
        moved += [n for i, n in enumerate(moved) if types[i] == "T" and i != 1]
    return sum(moved)


def _elements(shape: Shape, strides: Shape) -> int:
    """The number of elements of an operand in memory: an axis of stride 0 repeats the same ones."""
    if 0 in shape:
        return 0
    return math.prod(n for n, stride in zip(shape, strides, strict=True) if stride)
