"""Walking operands: from strided memory to a list of Python numbers, and back.

    positions(x)            where the elements of x are in its Buffer, row-major
    read(x), write(x, ...)  all elements of x, as a list in that order
    pick, put               the same for any positions of a Buffer

Numbers are rounded only in `packed`: once, when they are written.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tutor._storage.bits import UNSIGNED, pack, unpack
from tutor._storage.layout import axes_of, is_contiguous
from tutor.backends.registry import Operand as Operand  # re-exported
from tutor.dtype import DType

Number = bool | int | float
Kernel = Callable[..., None]


def positions(x: Operand) -> list[int]:
    """offset + i*strides[0] + j*strides[1] + ... for all indices [i, j, ...], the last fastest."""
    if 0 in x.shape:
        return []
    found = [x.offset]
    for size, stride in zip(x.shape, x.strides, strict=True):
        steps = [i * stride for i in range(size)]
        found = [position + step for position in found for step in steps]
    return found


def read(x: Operand) -> list[Any]:
    """The elements of x, row-major."""
    if not is_contiguous(x.shape, x.strides):
        return pick(x.buf, positions(x))
    dtype, count = x.buf.dtype, math.prod(x.shape)
    start = x.offset * dtype.itemsize
    return unpack(x.buf.raw[start : start + count * dtype.itemsize], dtype)


def write(out: Operand, values: Sequence[Number]) -> None:
    """Make `values` the elements of out, row-major, each rounded once."""
    if not is_contiguous(out.shape, out.strides):
        put(out.buf, positions(out), values)
        return
    dtype, count = out.buf.dtype, math.prod(out.shape)
    start = out.offset * dtype.itemsize
    out.buf.raw[start : start + count * dtype.itemsize] = packed(values, dtype)


def pick(buf: Any, at: Iterable[int]) -> list[Any]:
    """The elements of `buf` at these positions."""
    dtype = buf.dtype
    bits = UNSIGNED[dtype.itemsize]
    cells = buf.raw.cast(bits)
    picked = [cells[position] for position in at]
    return unpack(struct.pack(f"={len(picked)}{bits}", *picked), dtype)


def put(buf: Any, at: Iterable[int], values: Sequence[Number]) -> None:
    """Make `values` the elements of `buf` at these positions, each rounded once."""
    bits = UNSIGNED[buf.dtype.itemsize]
    cells = buf.raw.cast(bits)
    for position, cell in zip(at, memoryview(packed(values, buf.dtype)).cast(bits), strict=True):
        cells[position] = cell


def packed(values: Sequence[Number], dtype: DType) -> bytes:
    """The bytes of `values`: floats rounded to nearest even, integers modulo 2**bits."""
    if dtype.is_integer:  # the remainder has the bits of the two's complement
        values = [value & (2 ** (8 * dtype.itemsize) - 1) for value in values]
        return struct.pack(f"={len(values)}{UNSIGNED[dtype.itemsize]}", *values)
    return pack(values, dtype)


# ---- other walks over the same memory ------------------------------------------------------------


def last(x: Operand, axis: int | tuple[int, ...]) -> Operand:
    """x with the axes in `axis` moved after all others."""
    goes = axes_of(axis, len(x.shape))
    order = [a for a in range(len(x.shape)) if a not in goes] + list(goes)
    shape, strides = tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order)
    return Operand(x.buf, shape, strides, x.offset)


def groups(x: Operand, axis: int | tuple[int, ...]) -> list[list[Any]]:
    """The elements along `axis`, row-major, for each index of the other axes, row-major."""
    moved, kept = last(x, axis), len(x.shape) - len(axes_of(axis, len(x.shape)))
    total, count = math.prod(moved.shape[:kept]), math.prod(moved.shape[kept:])
    values = read(moved)
    return [values[i * count : (i + 1) * count] for i in range(total)]


def window(x: Operand, start: Mapping[int, int], shape: Sequence[int]) -> Operand:
    """The part of x with this shape that begins at index `start`: {axis: index}, 0 elsewhere."""
    offset = x.offset + sum(index * x.strides[axis] for axis, index in start.items())
    return Operand(x.buf, tuple(shape), tuple(x.strides), offset)
