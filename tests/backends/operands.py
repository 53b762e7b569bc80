"""Operands for calling kernels of the SIMD backend directly, without the Tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tutor._storage.bits import pack, unpack
from tutor.backends.simd_cpp import _simd
from tutor.dtype import TABLE, DType, float32
from tutor.testing.cases.operands import Block

DTYPES = {d.format: d for d in TABLE}


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
    return cls(buf=Block(memory, dtype), shape=shape, strides=tuple(strides), offset=0)


def filled(values: list[Any], dtype: DType = float32, cls: type = Operand) -> Any:
    """A 1-D operand that holds `values`."""
    x = operand(len(values), dtype=dtype, cls=cls)
    x.buf.raw[:] = pack(values, dtype)
    return x


def values(x: Any) -> list[Any]:
    """Everything in the memory of `x`."""
    return unpack(x.buf.raw, DTYPES[x.buf.memory.format])
