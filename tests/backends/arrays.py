"""Operands made of NumPy arrays, in every layout, and NumPy's view of an operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutor._storage.bits import pack, unpack
from tutor.backends.registry import Operand
from tutor.core.buffer import Buffer
from tutor.dtype import TABLE, DType, bfloat16, float64

LAYOUTS: dict[str, Callable[[tuple[int, ...]], np.ndarray]] = {
    "contiguous": lambda shape: np.empty(shape, np.int8),
    "transposed": lambda shape: np.empty(shape[::-1], np.int8).T,
    "reversed": lambda shape: np.empty(shape, np.int8)[
        (*[slice(None, None, -1)] * len(shape), ...)
    ],
    "sliced": lambda shape: np.empty([2 * n + 1 for n in shape], np.int8)[
        (*[slice(1, None, 2)] * len(shape), ...)
    ],
}


def numpy_type(dtype: DType) -> np.dtype:
    """The type of arrays with this dtype's numbers. NumPy has no bfloat16, but float32 holds it."""
    return np.dtype(np.float32 if dtype is bfloat16 else dtype.format)


def rounded(numbers: Any, dtype: DType) -> np.ndarray:
    """The numbers as the dtype holds them."""
    if dtype is not bfloat16:
        return np.asarray(numbers).astype(numpy_type(dtype))
    wide = np.asarray(numbers).astype(np.float64)
    return np.array(unpack(pack(wide.ravel().tolist(), dtype), dtype), "f").reshape(wide.shape)


def operand(array: np.ndarray, layout: str = "contiguous", dtype: DType | None = None) -> Operand:
    """The array's numbers in a Buffer, laid out as named, zeros between them."""
    dtype = dtype or next(d for d in TABLE if numpy_type(d) == array.dtype and d is not bfloat16)
    model = LAYOUTS[layout](array.shape)  # of one-byte elements: its strides count elements
    memory = model if model.base is None else model.base
    buf = Buffer.empty(memory.size + 3, dtype)
    buf.raw[:] = bytes(buf.nbytes)
    offset = model.ctypes.data - memory.ctypes.data + 3
    x = Operand(buf, array.shape, model.strides, offset)
    cells(x)[...] = array.view(np.uint32) >> 16 if dtype is bfloat16 else array
    return x


def cell(number: float, dtype: DType = float64) -> Operand:
    """An operand of one number: a setting, a count, a seed."""
    return operand(np.array(number, numpy_type(dtype)))


def cells(x: Operand) -> np.ndarray:
    """The elements in the operand's memory, which change with the array; of bfloat16 the bits."""
    size = x.buf.dtype.itemsize
    strides = tuple(stride * size for stride in x.strides)
    kind = np.dtype("H") if x.buf.dtype is bfloat16 else numpy_type(x.buf.dtype)
    return np.ndarray(x.shape, kind, x.buf.raw, x.offset * size, strides)


def view(x: Operand) -> np.ndarray:
    """The elements as numbers."""
    if x.buf.dtype is not bfloat16:
        return cells(x)
    return np.asarray(cells(x).astype(np.uint32) << np.uint32(16)).view(np.float32)


def assert_same(found: np.ndarray, wanted: np.ndarray, tolerance: float = 0) -> None:
    """At most the `tolerance` apart, relative to either; for 0 equal to the bit, nan's payload
    aside."""
    assert found.dtype == wanted.dtype
    if tolerance:
        tiny = float(np.finfo(found.dtype).smallest_subnormal) / float(np.finfo(found.dtype).eps)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * tiny)
        return
    np.testing.assert_array_equal(found, wanted)
    number = found == found
    np.testing.assert_array_equal(np.signbit(found[number] * 1.0), np.signbit(wanted[number] * 1.0))
