"""Transfers of numbers between devices; and the choice of the device for a call."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import device_memory, layout
from tutor._storage.device_memory import CPU, asked, is_constant, is_elsewhere
from tutor._storage.memory import Holder, Memory, copied, empty, held
from tutor._util.typing import Walked
from tutor.backends import devices, registry
from tutor.backends.registry import Operand
from tutor.backends.signatures import ALL, OTHERS, Signature
from tutor.dtype import DType
from tutor.errors import DeviceError


def on_host(x: Walked) -> Walked:
    """The same elements in host memory: a copy if they are on another device."""
    memory = held(x.buf, "numbers to be moved", reading=True)
    if not is_elsewhere(memory):
        return x
    return Operand(Held(copied(memory), x.buf.dtype), x.shape, x.strides, x.offset)


class Held(Holder):  # type: ignore[misc]
    """Memory with a `dtype`: the minimum of a Buffer that a kernel needs."""

    def __init__(self, memory: Any, dtype: DType) -> None:
        self.memory, self.dtype = memory, dtype


def transfer(out: Walked, x: Walked) -> None:
    """The kernel "transfer": z = x, from one device's memory to that of another, or the same one.
    Both have the same shape and dtype."""
    dtype, to = x.buf.dtype, held(out.buf, "to move numbers")
    source = on_host(x)
    if not is_elsewhere(to):
        registry.kernel("copy", dtype)(out, source)
        return
    rows, count = layout.contiguous_strides(x.shape), math.prod(x.shape)
    if (source.strides, source.offset) != (rows, 0):
        dense = Operand(Held(Memory(count, dtype.itemsize, dtype.format), dtype), x.shape, rows, 0)
        registry.kernel("copy", dtype)(dense, source)
        source = dense
    payload = source.buf.raw[: count * dtype.itemsize]
    if out.strides == rows:
        asked(to.device, to.write, payload, out.offset * dtype.itemsize)
        return
    staged = empty(count, dtype, to.device)
    asked(to.device, staged.write, payload)
    there = Operand(Held(staged, dtype), x.shape, rows, 0)
    registry.kernel("copy", dtype, to.device)(out, there)


OTHERS["transfer"] = Signature(
    "transfer", "TT", ALL, "exact", "z = x, in the memory of another device", form="transfer",
    work="moves",
)  # fmt: skip
registry.register_everywhere("transfer", transfer)


# ---- the device of a call ------------------------------------------------------------------------


def common(what: str, operands: Any) -> str:
    """The device of a call's operands. DeviceError if they are on two."""
    on = [x.buf.device for x in operands]
    if len({*on}) == 1:
        return str(on[0])
    found, first = CPU, 0
    for i, name in enumerate(on):
        if name not in (CPU, found):
            if found != CPU:
                raise _two(what, (first, found), (i, name))
            found, first = name, i
    if found != CPU:
        for i, name in enumerate(on):
            if name == CPU and not is_constant(operands[i]):
                raise _two(what, (first, found), (i, name))
    return found


def _two(what: str, one: tuple[int, str], other: tuple[int, str]) -> DeviceError:
    (_, to), (_, off) = one, other
    (i, a), (j, b) = sorted((one, other))
    return DeviceError(
        f"{what} of operands on two devices",
        f"operand {i + 1} is on {a!r}, operand {j + 1} on {b!r}",
        f'move one of them first: x.to("{to}"), or x.to("{off}")',
    )


device_memory.devices.provide(
    of=devices.of,
    named=(devices.device,),
    in_use=devices.IN_USE,
    common=common,
    empty=devices.room,
    table=devices.table,
    kinds=devices.kinds,
)
