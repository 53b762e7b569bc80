"""Memory: who owns the bytes of a Buffer.

The C++ extension brings a `Memory` type that allocates quickly and hands its address to the kernels
without a detour. Where the extension was not built, this file's class does the same in plain
Python. Both give `raw` (a writable memoryview of the bytes), `address`, the buffer protocol, and
memory that starts at a multiple of 64 bytes: a cache line, and the widest SIMD register.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

ALIGNMENT = 64


class PythonMemory:
    """`PythonMemory(count, itemsize, format)`: room for `count` items, contents undefined."""

    __slots__ = ("count", "format", "raw")
    raw: memoryview
    count: int
    format: str

    def __new__(cls, count: int, itemsize: int, format: str) -> PythonMemory:
        self = object.__new__(cls)
        nbytes = count * itemsize
        block = memoryview(bytearray(nbytes + ALIGNMENT - 1))
        start = -_address(block) % ALIGNMENT
        self.raw = block[start : start + nbytes]
        self.count, self.format = count, format
        return self

    @classmethod
    def borrow(cls, owner: Any, count: int, itemsize: int, format: str) -> PythonMemory:
        """Memory over the bytes of `owner`, any object with a writable, contiguous buffer."""
        self = object.__new__(cls)
        self.raw = memoryview(owner).cast("B")[: count * itemsize]
        self.count, self.format = count, format
        return self

    @property
    def address(self) -> int:
        """Where the first byte stands."""
        return _address(self.raw)

    def __buffer__(self, flags: int) -> memoryview:
        """The buffer protocol (asked for by Python 3.12 and later; earlier ones use `raw`)."""
        return self.raw if self.format in "eE" else self.raw.cast(self.format)  # type: ignore[call-overload]


def _address(raw: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(raw)) if raw.nbytes else 0


def _native() -> Any:
    name = "tutor.backends.simd_cpp._simd"
    try:
        return importlib.import_module(name).Memory
    except ModuleNotFoundError as error:  # any other ImportError is a build that is broken
        if error.name != name:
            raise
        return None


Memory: Any = _native() or PythonMemory
