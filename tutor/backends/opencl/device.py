"""DEVICE: what tutor knows of all OpenCL devices.

    >>> from tutor.backends.opencl import DEVICE  # doctest: +SKIP
    >>> DEVICE.count(), DEVICE.name(0)
    (1, 'pthread-AMD EPYC (Portable Computing Language)')

How many there are, memory on one, waiting for one. A driver is asked for nothing before the first
of them is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tutor.backends.opencl.commands import Commands
from tutor.backends.opencl.memory import DeviceMemory, Pool, Staged
from tutor.backends.opencl.place import found, place
from tutor.backends.registry import Table
from tutor.dtype import DType, float64
from tutor.errors import DTypeError
from tutor.memory import Config, Stats


@functools.cache
def pool(index: int) -> Pool:
    """The memory of the device of that number. DeviceError where there is none."""
    return Pool(place(index))


class OpenCL:
    """All OpenCL devices, as tutor asks for them."""

    kind = "opencl"
    table: Callable[[int], Table]  # the kernels of each, which stand above this file

    def count(self) -> int:
        return len(found())

    def name(self, index: int) -> str:
        """What its driver calls it."""
        device = place(index).device
        return f"{device.name.strip()} ({device.platform.name.strip()})"

    def empty(self, count: int, dtype: DType, index: int = 0) -> DeviceMemory:
        """Memory for so many numbers, contents undefined. OutOfMemoryError where there is no room,
        DTypeError for doubles where the device has none."""
        where = pool(index)
        if dtype is float64 and not where.place.has_double:
            raise DTypeError(
                f"{dtype.name} on {where.place.name}",
                f"{where.place.device.name.strip()} has no double precision (cl_khr_fp64)",
                "cast to float32 first, or leave these numbers on the CPU",
            )
        return DeviceMemory(where, count, dtype.format)

    def stage(self, data: Any, dtype: DType, index: int = 0) -> Staged:
        """Begin to copy bytes of the host beside what runs; `.memory()` of it is theirs."""
        return Staged(pool(index), data, dtype.format)

    def commands(self, index: int = 0) -> Commands:
        """A new list in which kernel calls are noted, to be made again."""
        return Commands(pool(index))

    def synchronize(self, index: int = 0) -> None:
        """Wait until all that is queued has run."""
        where = pool(index)
        where.place.synchronize()
        where.copies.settle(0)

    # ---- what tutor.memory shows and sets --------------------------------------------------------

    def stats(self, index: int = 0) -> Stats:
        """The counts of its memory, as tutor.memory.stats() has them for the host."""
        return pool(index).stats()

    def reset_peak(self, index: int = 0) -> None:
        pool(index).reset_peak()

    def trim(self, index: int = 0) -> int:
        """Give back to the driver all that waits unused; how many bytes that was."""
        return pool(index).trim()

    def config(self, index: int = 0) -> Config:
        return pool(index).config()

    def configure(self, limit: int, index: int = 0) -> None:
        """How many bytes may wait unused."""
        pool(index).configure(limit)


DEVICE = OpenCL()
