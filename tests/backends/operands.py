"""Operands for calling kernels of the SIMD backend directly, without the Tensor."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutor.backends.simd_cpp import _simd
from tutor.dtype import TABLE, DType, float32

NAMES = {d.format: d.name for d in TABLE}


@dataclass(slots=True)
class Operand:
    buf: Any
    shape: Any
    strides: Any
    offset: Any = 0


def operand(*shape: int, dtype: DType = float32, cls: type = Operand) -> Any:
    """A contiguous operand with memory of its own, contents undefined."""
    strides: list[int] = []
    count = 1
    for size in reversed(shape):
        strides.insert(0, count)
        count *= size
    memory = _simd.Memory(count, dtype.itemsize, dtype.format)
    return cls(buf=memory, shape=shape, strides=tuple(strides), offset=0)


def filled(values: list[Any], dtype: DType = float32, cls: type = Operand) -> Any:
    """A 1-D operand that holds `values`."""
    x = operand(len(values), dtype=dtype, cls=cls)
    x.buf.raw[:] = struct.pack(f"{len(values)}{dtype.format}", *values)
    return x


def values(x: Any) -> list[Any]:
    """Everything in the memory of `x`."""
    return np.frombuffer(x.buf.raw, NAMES[x.buf.format]).tolist()
