"""Memory: bytes on a device; and Holder, the base of Buffer.

A Buffer *has* memory: bytes, or a promise of bytes that is fulfilled when they are needed.

    count, format, device    number of items, their `struct` format, and where: known at once
    keep()                   the Memory; for a promise the Memory it yields, the same each time
    is_waited_for, read()    optional, for a promise: whether pending work has yet to read it; and
                             the Memory for a caller that only looks at it, so that work can wait

A device other than the host ("cpu") supplies its own class of memory, which has in addition:

    read()                   a copy of its bytes on the host, after all queued work has run
    write(bytes, start=0)    stores bytes there, from byte `start` on

All code that needs bytes (`raw`, `address`, a kernel) gets them one way: by `kept(buf, ...)` here
and `memory_of` in simd_cpp/memory/memory.hpp. Device memory has no host bytes: readers get a copy
on the host, other callers an error. `held(buf, ...)` is the memory on whatever device.

The C++ extension supplies a `Memory` type that allocates quickly and passes its address directly to
the kernels. Without the extension, the classes in this file do the same in plain Python. Both offer
`raw` (a writable memoryview of the bytes), `address`, the buffer protocol, and memory aligned to 64
bytes: a cache line, and the widest SIMD register. Both count their allocations; `tutor.memory`
shows the counts.
"""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Callable
from typing import Any

from tutor._storage.device_memory import CPU, asked, devices, failed, is_elsewhere, passes
from tutor._util import twins
from tutor._util.atomic import exchange
from tutor.dtype import TABLE, DType
from tutor.errors import DeviceError, DomainError, DTypeError, OutOfMemoryError

ALIGNMENT = 64
LEAVE = "leave the attributes buf and memory as they were made"

_lock = RLock()  # garbage collection may free Memory while counting
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class PythonMemory:
    """`PythonMemory(count, itemsize, format)`: room for `count` items, contents undefined."""

    __slots__ = ("count", "format", "lent", "own", "raw")
    raw: memoryview
    count: int
    format: str
    own: int  # bytes allocated for it; 0 if they are borrowed
    lent: bool  # were they ever exported through the buffer protocol?
    device = "cpu"

    def __new__(cls, count: int, itemsize: int, format: str) -> PythonMemory:
        self = object.__new__(cls)
        self.own, self.lent = 0, False
        nbytes = count * itemsize
        block = memoryview(bytearray(nbytes + ALIGNMENT - 1))
        start = -_address(block) % ALIGNMENT
        self.raw = block[start : start + nbytes]
        self.count, self.format = count, format
        _count(1, nbytes)
        self.own = nbytes
        return self

    @classmethod
    def borrow(cls, owner: Any, count: int, itemsize: int, format: str) -> PythonMemory:
        """Memory over the bytes of `owner`, any object with a writable, contiguous buffer."""
        self = object.__new__(cls)
        self.own, self.lent = 0, True
        self.raw = memoryview(owner).cast("B")[: count * itemsize]
        self.count, self.format = count, format
        return self

    def __del__(self) -> None:
        if self.own and _lock:  # None during interpreter shutdown
            _count(0, -self.own)

    def keep(self) -> PythonMemory:
        """The Memory itself: its bytes exist already."""
        return self

    @property
    def readonly(self) -> bool:
        """Are the bytes read-only?"""
        return bool(self.raw.readonly)

    @property
    def owner(self) -> Any:
        """The object that owns the bytes, if they are borrowed; else None."""
        return self.raw.obj if self.lent and not self.own else None

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return _address(self.raw)

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol (called by Python 3.12 and later; earlier versions use `raw`)."""
        self.lent = True
        return self.raw if self.format in "eE" else self.raw.cast(self.format)  # type: ignore[call-overload]

    # ---- what tutor.memory shows and sets --------------------------------------------------------

    allocations = in_use = peak = 0  # totals over all PythonMemory

    @staticmethod
    def counts() -> tuple[int, int, int, int, int]:
        """(allocations, misses, bytes in use, bytes pooled, peak); no bytes are pooled here."""
        with _lock:
            total = PythonMemory
            return total.allocations, total.allocations, total.in_use, 0, total.peak

    @staticmethod
    def reset_peak() -> None:
        with _lock:
            PythonMemory.peak = PythonMemory.in_use

    @staticmethod
    def trim() -> int:
        return 0

    @staticmethod
    def config() -> tuple[str, int]:
        return "plain", 0

    @staticmethod
    def configure(policy: str, limit: int) -> None:
        if policy != "plain" or limit:
            raise DomainError(
                f"memory with policy {policy!r} and limit {limit}",
                "memory in plain Python, for the C++ extension was not built: Python allocates it",
                "leave it at policy 'plain' and limit 0, or install a C++ compiler and tutor again",
            )


def _count(blocks: int, nbytes: int) -> None:
    with _lock:
        PythonMemory.allocations += blocks
        PythonMemory.in_use += nbytes
        PythonMemory.peak = max(PythonMemory.peak, PythonMemory.in_use)


def _address(raw: memoryview) -> int:
    import ctypes  # not needed with the extension

    return ctypes.addressof(ctypes.c_char.from_buffer(raw)) if raw.nbytes else 0


class PythonHolder:
    """The base class of Buffer: it has memory, and answers from it."""

    __slots__ = ("memory",)
    memory: Any  # a Memory, or a promise of one

    def _lender(self) -> Any:
        """The Memory, for callers that expose its bytes to Python."""
        _before_bytes("the bytes of a Buffer")
        return kept(self, "the bytes of a Buffer")

    @property
    def raw(self) -> memoryview:
        """A memoryview of the bytes, writable unless they are read-only."""
        raw: memoryview = self._lender().raw
        return raw

    @property
    def address(self) -> int:
        """The address of the first byte."""
        address: int = self._lender().address
        return address

    @property
    def device(self) -> str:
        """The device of the memory, such as "cpu"."""
        return str(self._told("device"))

    def __len__(self) -> int:
        count = self._told("count")
        if not isinstance(count, int) or count < 0:
            found = f"the count of its memory is {count!r:.60}"
            raise DTypeError("the length of a Buffer", found, LEAVE)
        return count

    def _told(self, name: str) -> Any:
        """An attribute of the memory, which even a promise knows at once."""
        memory: Any = getattr(self, "memory", None)
        if not hasattr(memory, "keep"):
            memory = kept(self, f"the {name} of a Buffer's memory")  # raises, naming its type
        return getattr(memory, name)

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol, as in Memory."""
        view: memoryview = self._lender().__buffer__(flags)
        return view


_simd = twins.extension
Memory: Any = _simd.Memory if _simd else PythonMemory
Holder: Any = _simd.Holder if _simd else PythonHolder


def empty(count: int, dtype: DType, device: str = CPU) -> Any:
    """Memory for `count` numbers on that device, contents undefined. OutOfMemoryError if there is
    no room, DTypeError for an invalid count or dtype."""
    try:
        if count >= 0 and device == CPU:
            return Memory(count, dtype.itemsize, dtype.format)
        if count >= 0:
            return devices.empty(count, dtype, device)
    except Exception as error:
        if passes(error):
            raise
        if isinstance(error, (MemoryError, OverflowError)):
            where = "" if device == CPU else f" on the device {device!r}"
            raise OutOfMemoryError(
                f"room for {count} numbers of {dtype.name}{where}",
                f"{min(count, 2**999) * dtype.itemsize / 2**30:,.1f} GiB cannot be had",
                "use a smaller shape or a narrower dtype, or let go of tensors you no longer need",
            ) from None
        if isinstance(count, int) and isinstance(dtype, DType):
            raise failed(device, f"room for {count} numbers of {dtype.name}", error) from error
    raise DTypeError(
        f"room for {count!r:.60} numbers of {dtype!r:.60}",
        "it is no whole number of 0 or more, or no dtype of tutor's",
        "write, for example, Buffer.empty(3, tutor.float32)",
    )


def kept(buf: Any, what: str, reading: bool = False) -> Any:
    """The Memory of `buf` on the host; see `held`. For memory on another device: a copy if the
    caller only reads (`reading`), otherwise a DeviceError."""
    memory: Any = getattr(buf, "memory", None)
    if isinstance(memory, Memory) or isinstance(memory := held(buf, what, reading), Memory):
        return memory
    if not reading:
        raise DeviceError(
            what,
            f"they are on the device {memory.device!r}, and these bytes are wanted on 'cpu'",
            'move the Tensor there first: x.to("cpu")',
        )
    return copied(memory)


def copied(memory: Any) -> Any:
    """A copy, on the host, of memory on another device."""
    itemsize = next(dtype.itemsize for dtype in TABLE if dtype.format == memory.format)
    copy = Memory(memory.count, itemsize, memory.format)
    copy.raw[:] = memoryview(asked(memory.device, memory.read)).cast("B")
    return copy


def held(buf: Any, what: str, reading: bool = False) -> Any:
    """The memory of `buf`, on whatever device. A promise is fulfilled now, and replaced in `buf` by
    its result.

    `reading`: the caller only looks at the bytes, so a promise that has `read()` may remain one.
    DTypeError, beginning with `what`, for anything without memory.
    """
    found = "buf.memory"
    memory: Any = getattr(buf, "memory", None)
    while not _is_memory(memory) and hasattr(memory, "keep"):
        promise, found = memory, "what buf.memory keeps"
        if reading and getattr(promise, "is_waited_for", False):
            memory = promise.read()
            break
        memory = promise.keep()
        if not _is_memory(memory):
            break
        if not isinstance(buf, Holder):
            buf.memory = memory
        elif not exchange((buf,), "memory", (promise,), (memory,)):
            memory = buf.memory  # another thread has replaced it meanwhile
    if not _is_memory(memory):
        kind = type(memory).__name__ if hasattr(buf, "memory") else ""
        raise DTypeError(
            what,
            f"{found} is of type {kind}" if kind else f"buf is of type {type(buf).__name__}",
            LEAVE,
        )
    return memory


def _is_memory(memory: Any) -> bool:
    return isinstance(memory, Memory) or is_elsewhere(memory)


def keep_ahead(buf: Any) -> None:
    """Fulfill the promise in `buf`, if any, before a kernel needs it, so that observers see the
    work this takes, and see it before that kernel."""
    if hasattr(getattr(buf, "memory", None), "is_waited_for"):
        held(buf, "the operand of a kernel")


_before_bytes: Callable[[str], object] = str


def set_before_bytes(call: Callable[[str], object]) -> None:
    """Register `call(text)`, run before the bytes or address of any Buffer are given to Python."""
    global _before_bytes
    _before_bytes = call
    if _simd is not None:
        _simd.set_before_bytes(call)


def set_buffers(buffers: list[Any]) -> None:
    """Register the templates for Buffers made in C++: an empty one of each dtype."""
    if _simd is not None:
        _simd.set_buffers(buffers)
