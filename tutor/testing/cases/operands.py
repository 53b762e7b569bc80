"""From the description of an operand to memory for a kernel, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tutor._storage.bits import UNSIGNED, pack, unpack
from tutor._storage.layout import contiguous_strides
from tutor._storage.memory import Holder, Memory
from tutor.backends.registry import Kernel, Operand
from tutor.backends.step import Step, emit
from tutor.dtype import DType
from tutor.testing.cases.draws import Case, Repeated, Spec


class Block(Holder):  # type: ignore[misc]  # the base is chosen when tutor is imported
    """The part of `buf` that kernels use: its memory and its dtype."""

    __slots__ = ("dtype",)
    memory: Any

    def __init__(self, memory: Any, dtype: DType) -> None:
        self.memory, self.dtype = memory, dtype


def image(spec: Spec) -> bytes:
    """The memory of one operand, with a pattern between the elements."""
    size, count = spec.dtype.itemsize, math.prod(spec.shape)
    # nan around inputs, to detect reads out of bounds; otherwise bytes that no kernel would write.
    guard = b"\xff" if spec.values is not None and spec.dtype.is_float else b"\xa5"
    raw = bytearray(guard * (spec.room * size))
    if spec.values is not None:
        values, dtype = spec.values, spec.dtype
        packed = values.packed(dtype) if isinstance(values, Repeated) else pack(values, dtype)
        if spec.strides == contiguous_strides(spec.shape):
            raw[spec.offset * size : (spec.offset + count) * size] = packed
        else:
            cells = memoryview(raw).cast(UNSIGNED[size])
            drawn = memoryview(packed).cast(UNSIGNED[size])
            for position, cell in zip(spec.positions(), drawn, strict=True):
                cells[position] = cell
    return bytes(raw)


def images(case: Case) -> list[bytes]:
    """The memory of a case's operands before the call: out's first, then the inputs'."""
    return [image(spec) for spec in (case.out, *case.ins)]


# Allocates numbers on a device: memory with `write` and `read` (tutor/_storage/memory.py).
Room = Callable[[int, DType], Any]


def operand(spec: Spec, memory: bytes, room: Room | None = None) -> Operand:
    """The operand over a copy of `memory`: on the host, or allocated by `room`."""
    dtype = spec.dtype
    if room is None:
        block = Block(Memory(spec.room, dtype.itemsize, dtype.format), dtype)
        block.raw[:] = memory
    else:
        block = Block(room(spec.room, dtype), dtype)
        block.memory.write(memory)
    return Operand(block, spec.shape, spec.strides, spec.offset)


def through(name: str, dtype: DType, kernel: Kernel) -> Kernel:
    """The kernel of that name, called as a Step, as all kernels are."""
    return lambda out, *ins, **params: emit(Step(name, dtype, out, ins, params), kernel)


def execute(
    kernel: Kernel, case: Case, before: Sequence[bytes], room: Room | None = None
) -> list[bytes]:
    """Call the kernel; returns the memory of the operands afterwards."""
    specs = (case.out, *case.ins)
    operands = [operand(*each, room) for each in zip(specs, before, strict=True)]
    if case.in_place:
        operands[0] = operands[1]
    kernel(*operands, **case.params)
    if room is not None:
        return [bytes(x.buf.memory.read()) for x in operands]
    return [bytes(x.buf.raw) for x in operands]


def elements(spec: Spec, memory: bytes, *, bits: bool = False) -> list[Any]:
    """The elements in `memory`, row-major: as numbers or as their bits."""
    size = spec.dtype.itemsize
    at = spec.positions()
    if isinstance(at, range):
        part = memoryview(memory)[size * at.start : size * at.stop]
        return part.cast(UNSIGNED[size]).tolist() if bits else unpack(part, spec.dtype)
    items = memoryview(memory).cast(UNSIGNED[size]) if bits else unpack(memory, spec.dtype)
    return [items[position] for position in at]
