"""Operands made of NumPy arrays, in every layout, and NumPy's view of an operand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tutor.backends.registry import Operand
from tutor.core.buffer import Buffer
from tutor.dtype import TABLE, DType

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
    return np.dtype(dtype.format)


def dtype_of(array: np.ndarray) -> DType:
    return next(d for d in TABLE if numpy_type(d) == array.dtype)


def operand(array: np.ndarray, layout: str = "contiguous") -> Operand:
    """The array's numbers in a Buffer, laid out as named, zeros between them."""
    model = LAYOUTS[layout](array.shape)  # of one-byte elements: its strides count elements
    memory = model if model.base is None else model.base
    buf = Buffer.empty(memory.size + 3, dtype_of(array))
    buf.raw[:] = bytes(buf.nbytes)
    offset = model.ctypes.data - memory.ctypes.data + 3
    x = Operand(buf, array.shape, model.strides, offset)
    view(x)[...] = array
    return x


def view(x: Operand) -> np.ndarray:
    size = x.buf.dtype.itemsize
    strides = tuple(stride * size for stride in x.strides)
    return np.ndarray(x.shape, numpy_type(x.buf.dtype), x.buf.raw, x.offset * size, strides)


def assert_same(found: np.ndarray, wanted: np.ndarray, ulps: float = 0) -> None:
    """At most `ulps` units in the last place apart; for 0 equal to the bit, nan's payload aside."""
    assert found.dtype == wanted.dtype
    if ulps:
        info = np.finfo(found.dtype)
        tiny = float(info.smallest_subnormal)
        np.testing.assert_allclose(found, wanted, rtol=ulps * float(info.eps), atol=ulps * tiny)
        return
    np.testing.assert_array_equal(found, wanted)
    number = found == found
    np.testing.assert_array_equal(np.signbit(found[number] * 1.0), np.signbit(wanted[number] * 1.0))
