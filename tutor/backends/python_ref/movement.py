"""Moving elements, and choosing them by index."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tutor._storage.layout import axes_of
from tutor.backends.python_ref.elementwise import fill
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import (
    Kernel,
    Number,
    Operand,
    pick,
    positions,
    put,
    read,
    window,
    write,
)
from tutor.errors import OutOfRangeError, ShapeError


def pad(out: Operand, x: Operand, *, before: tuple[int, ...], value: Number) -> None:
    """z = value everywhere, with x written at index `before`"""
    values = read(x)
    fill(out, value=value)
    write(window(out, dict(enumerate(before)), x.shape), values)


def cat(out: Operand, *ins: Operand, axis: int | tuple[int, ...]) -> None:
    """z = the inputs one after another along axis"""
    (a,) = axes_of(axis, len(out.shape))
    start = 0
    for x in ins:
        write(window(out, {a: start}, x.shape), read(x))
        start += x.shape[a]


def gather(out: Operand, x: Operand, index: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z[..., i, ...] = x[..., index[..., i, ...], ...] along axis"""
    write(out, pick(x.buf, chosen("gather", x, index, axis)))


def scattering(kernel: str, f: Callable[[list[Any]], Any]) -> Kernel:
    """The kernel z = f(values at one place): x's, then those that src puts there, in src's order"""

    def scatter(
        out: Operand, x: Operand, index: Operand, src: Operand, *, axis: int | tuple[int, ...]
    ) -> None:
        met = {position: [value] for position, value in zip(positions(out), read(x), strict=True)}
        for position, value in zip(chosen(kernel, out, index, axis), read(src), strict=True):
            met[position].append(value)
        put(out.buf, met, [f(values) for values in met.values()])

    return scatter


def nonzero(out: Operand, x: Operand) -> None:
    """z = the row-major positions of x's true elements; ShapeError if out has another length"""
    found = [position for position, value in enumerate(read(x)) if value]
    if len(found) != out.shape[0]:
        raise ShapeError(
            "kernel nonzero",
            f"{len(found)} elements are true, out has room for {out.shape[0]}",
            "give out as many elements as are true, and change nothing meanwhile",
        )
    write(out, found)


def index_select(out: Operand, x: Operand, index: Operand, *, axis: int | tuple[int, ...]) -> None:
    """z[..., i, ...] = x[..., index[i], ...] along axis"""
    (a,) = axes_of(axis, len(x.shape))
    shape = (*x.shape[:a], 1, *x.shape[a + 1 :])
    for i, j in enumerate(checked("index_select", index, x, a)):
        write(window(out, {a: i}, shape), read(window(x, {a: j}, shape)))


def chosen(kernel: str, x: Operand, index: Operand, axis: int | tuple[int, ...]) -> list[int]:
    """The position of x[..., index[..., i, ...], ...] for each element of index."""
    (a,) = axes_of(axis, len(x.shape))
    stay = tuple(0 if b == a else stride for b, stride in enumerate(x.strides))
    bases = positions(Operand(x.buf, index.shape, stay, x.offset))
    indices = checked(kernel, index, x, a)
    return [base + i * x.strides[a] for base, i in zip(bases, indices, strict=True)]


def checked(
    kernel: str, index: Operand, x: Operand, axis: int, low: int | None = None
) -> list[int]:
    """The positions along axis of x that index names, negative ones (down to `low`, by default
    -size) counted from the end; OutOfRangeError for the first invalid one."""
    size, indices = x.shape[axis], read(index)
    low = -size if low is None else low
    for i in indices:
        if not low <= i < size:
            raise OutOfRangeError(
                f"kernel {kernel}, index {i} in axis {axis}",
                f"the axis has size {size}",
                f"use {low} to {size - 1}" if size else "choose nothing, for the axis is empty",
            )
    return [i % size for i in indices]


KERNELS: dict[str, Kernel] = {
    "pad": pad,
    "cat": cat,
    "gather": gather,
    "scatter_add": scattering("scatter_add", total),
    "scatter": scattering("scatter", operator.itemgetter(-1)),
    "nonzero": nonzero,
    "index_select": index_select,
}
