"""Softmax, cross entropy, and chains of any kernels: each is one kernel instead of several."""

from __future__ import annotations

import math
from types import SimpleNamespace

from tutor._storage.layout import Shape, axes_of, contiguous_strides
from tutor.backends import bytecode
from tutor.backends.python_ref import elementwise, matmul, reduce
from tutor.backends.python_ref.elementwise import exp, log
from tutor.backends.python_ref.movement import checked
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, last, read, write
from tutor.backends.shape_rules import without


def softmax_of(x: list[float]) -> list[float]:
    """e**(x - max) / sum e**(x - max)"""
    largest = max(x, default=0.0)
    powers = [exp(value - largest) for value in x]
    norm = total(powers)
    return [power / norm for power in powers]


def log_softmax_of(x: list[float]) -> list[float]:
    """x - max - ln sum e**(x - max)"""
    largest = max(x, default=0.0)
    log_norm = log(total([exp(value - largest) for value in x]))
    return [value - largest - log_norm for value in x]


def softmax(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z = e**(x - max) / sum e**(x - max) along axis"""
    write(last(out, axis), [z for group in groups(x, axis) for z in softmax_of(group)])


def log_softmax(out: Operand, x: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z = x - max - ln sum e**(x - max) along axis"""
    write(last(out, axis), [z for group in groups(x, axis) for z in log_softmax_of(group)])


def cross_entropy(out: Operand, x: Operand, target: Operand, *, scale: float) -> None:
    """l = ln sum_j e**x_j - x_t for each row; z = scale * l, or scale * sum l where out is 0-d"""
    targets = checked("cross_entropy", target, x, len(x.shape) - 1, low=0)
    rows = zip(groups(x, -1), targets, strict=True)
    losses = [-log_softmax_of(row)[t] for row, t in rows]
    write(out, [scale * loss for loss in (losses if out.shape else [total(losses)])])


def cross_entropy_grad(
    out: Operand, x: Operand, target: Operand, g: Operand, *, scale: float
) -> None:
    """z_j = scale * g * (softmax(x)_j - [j = t]) for each row"""
    targets = checked("cross_entropy_grad", target, x, len(x.shape) - 1, low=0)
    write(
        out,
        [
            scale * upstream * (p - (j == t))
            for row, t, upstream in zip(groups(x, -1), targets, read(g), strict=True)
            for j, p in enumerate(softmax_of(row))
        ],
    )


def fused(out: Operand, *ins: Operand, code: str, results: int, axis: int | Shape) -> None:
    """o0, o1, ... = the results of the instructions of `code` on i0, i1, ..., run in order"""
    first = len(ins) + 1 - results
    shape = out.shape if bytecode.product(code) else ins[0].shape
    axis, dtypes = axes_of(axis, len(shape)), [x.buf.dtype for x in (out, *ins)]
    values = {f"i{n}": x for n, x in enumerate(ins[:first])}
    for row, dtype in bytecode.check(code, dtypes, results, shape, axis):
        left, over = (without(shape, axis), {"axis": axis}) if row.reduces else (shape, {})
        raw = memoryview(bytearray(math.prod(left) * dtype.itemsize))
        z = Operand(SimpleNamespace(dtype=dtype, raw=raw), left, contiguous_strides(left), 0)
        PARTS[row.kernel](z, *[values[arg] for arg in row.args], **over)
        values[row.dest] = z
    for n, result in enumerate((out, *ins[first:])):
        write(result, read(values[f"o{n}"]))


PARTS = {**elementwise.KERNELS, **reduce.KERNELS, **matmul.KERNELS}

KERNELS: dict[str, Kernel] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "fused": fused,
}
