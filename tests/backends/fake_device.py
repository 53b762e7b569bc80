"""A device that is none: it keeps bytes where nobody else can read them, and computes with the
kernels of python_ref. What devices.py asks of one is proved with it, without any hardware.

Elementwise kernels are queued, as a real device queues them, and run when somebody reads, writes or
waits: a number that is handed over by its value must have been taken at the call. The others may
refuse their operands, so they run at once. `gone` makes it fail in all that it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tutor._storage.device_memory import is_elsewhere
from tutor._storage.memory import Memory
from tutor.backends import python_ref, transfers
from tutor.backends.bytecode import DIVIDES
from tutor.backends.registry import Kernel, Operand, Table
from tutor.backends.signatures import signature_of
from tutor.dtype import DType


class FakeMemory:
    """Bytes that have neither an address nor the buffer protocol."""

    def __init__(self, owner: FakeDevice, count: int, dtype: DType, index: int) -> None:
        self.owner, self.count, self.format = owner, count, dtype.format
        self.device = f"{owner.kind}:{index}"
        self.hidden = bytearray(count * dtype.itemsize)

    def keep(self) -> FakeMemory:
        return self

    def read(self) -> bytes:
        self.owner.wait()
        self.owner.reads += 1
        return bytes(self.hidden)

    def write(self, payload: Any, start: int = 0) -> None:
        self.owner.wait()
        payload = bytes(payload)
        assert 0 <= start <= start + len(payload) <= len(self.hidden)
        self.hidden[start : start + len(payload)] = payload


class FakeDevice:
    """Two devices of the kind "fake"."""

    kind = "fake"

    def __init__(self) -> None:
        self.queue: list[Callable[[], None]] = []
        self.called: list[str] = []  # the names of the kernels
        self.reads = 0  # copies to the host
        self.gone = False
        self.most = 1 << 30  # bytes that there is room for

    def here(self) -> None:
        if self.gone:
            raise RuntimeError("DEVICE_NOT_AVAILABLE")

    def wait(self) -> None:
        self.here()
        while self.queue:
            self.queue.pop(0)()

    # ---- what is asked of a device ---------------------------------------------------------------

    def count(self) -> int:
        return 2

    def name(self, index: int) -> str:
        return f"a device that is none, number {index}"

    def empty(self, count: int, dtype: DType, index: int) -> FakeMemory:
        self.here()
        if count * dtype.itemsize > self.most:
            raise MemoryError
        return FakeMemory(self, count, dtype, index)

    def synchronize(self, index: int) -> None:
        self.wait()

    def table(self, index: int) -> Table:
        place = f"{self.kind}:{index}"
        return {row: self.kernel(row[0], kernel, place) for row, kernel in
                python_ref.table().items()}  # fmt: skip

    def kernel(self, name: str, run: Kernel, place: str) -> Kernel:
        signature = signature_of(name)
        waits = signature.form == "elementwise" and name not in DIVIDES

        def kernel(out: Any, *ins: Any, **params: Any) -> None:
            self.here()
            self.called.append(name)
            held = [self.held(x, place, waits) for x in (out, *ins)]
            self.queue.append(partial(run, *held, **params))
            if not waits:
                self.wait()

        return kernel

    def held(self, x: Any, place: str, waits: bool) -> Operand:
        """The operand over the hidden bytes themselves, for a kernel of python_ref; a number of the
        host is taken by its value. (The queue has no Buffer: who counts references is not misled.)
        """
        memory = x.buf.memory
        if is_elsewhere(memory):
            assert memory.device == place, f"{memory.device} in a kernel of {place}"
            bare = Memory.borrow(memory.hidden, memory.count, x.buf.dtype.itemsize, memory.format)
            return Operand(transfers.Held(bare, x.buf.dtype), x.shape, x.strides, x.offset)
        assert transfers.is_constant(x), "an array of the host in a kernel of the device"
        if not waits:  # a draw moves its counter on
            return Operand(x.buf, x.shape, x.strides, x.offset)
        copy = Memory(len(x.buf), x.buf.dtype.itemsize, x.buf.dtype.format)
        copy.raw[:] = x.buf.raw
        return Operand(transfers.Held(copy, x.buf.dtype), x.shape, x.strides, x.offset)
