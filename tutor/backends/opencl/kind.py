"""Kind: what tutor knows of all devices of one kind whose kernels are those of this folder.

How many there are, memory on one, its kernels, waiting for one. A driver is asked for nothing
before the first of them is used, and opens a device once, however many threads ask for it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from threading import RLock
from typing import Any

from tutor.backends.opencl.anyplace import AnyPlace
from tutor.backends.opencl.capture import Noting
from tutor.backends.opencl.kernels import DeviceTable, rows_of
from tutor.backends.opencl.memory import DeviceMemory, Pool, Staged
from tutor.backends.opencl.precision import looser
from tutor.backends.registry import Table
from tutor.dtype import DType, float64
from tutor.errors import DeviceError, DTypeError
from tutor.memory import Config, Stats


def forked(name: str) -> DeviceError:
    return DeviceError(
        f"the device {name} in a process that was forked",
        "its driver was loaded before the fork, and the driver's threads are not in this process",
        "start that process by 'spawn' (multiprocessing.set_start_method), or fork before the"
        " first use of the device",
    )


class Forked:
    """What a place becomes in a forked process: its driver would never answer."""

    name: str

    def __getattr__(self, name: str) -> Any:
        raise forked(self.name)

    def free(self, blocks: Any) -> None:
        """Nothing: they are the other process's."""


class Kind:
    """All devices of one kind, as tutor asks for them. `count()`: how many there are; `place(i)`:
    one of them, DeviceError where there is none; `name(place)`: what it is called."""

    def __init__(
        self, kind: str, count: Callable[[], int], place: Callable[[int], Any],
        name: Callable[[Any], str],
    ) -> None:  # fmt: skip
        self.kind, self.counted, self.opened, self.called = kind, count, place, name
        self.pools: dict[int, Pool] = {}
        self.tables: dict[int, Table] = {}
        self.lock = RLock()
        self.is_loaded = self.is_forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.fork)

    def fork(self) -> None:
        """This process was forked from one that may have loaded the driver: here nobody may ask it
        for anything, and nothing of it may be let go of, since a driver waits for its threads then,
        too."""
        self.lock = RLock()
        if not self.is_loaded or self.is_forked:
            return
        self.is_forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        for pool in self.pools.values():
            pool.lock, pool.copies.lock, pool.place.lock = RLock(), RLock(), RLock()
            pool.place.__class__ = Forked

    def count(self) -> int:
        """How many there are."""
        with self.lock:
            self.is_loaded = True
            return self.counted()

    def pool(self, index: int) -> Pool:
        """The memory of the device of that number. DeviceError where there is none."""
        found = self.pools.get(index)
        if found is None:
            with self.lock:
                found = self.pools.get(index)
                if found is None:
                    found = self.pools[index] = Pool(self.place(index))
        return found

    def place(self, index: int) -> AnyPlace:
        """The device of that number, opened. DeviceError where there is none."""
        with self.lock:
            if self.is_forked and index not in self.pools:
                raise forked(f"{self.kind}:{index}")
            self.is_loaded = True
            place: AnyPlace = self.opened(index)
            return place

    def name(self, index: int) -> str:
        """What its driver calls it."""
        return self.called(self.place(index))

    def empty(self, count: int, dtype: DType, index: int = 0) -> DeviceMemory:
        """Memory for so many numbers, contents undefined. OutOfMemoryError where there is no room,
        DTypeError for doubles where the device has none."""
        where = self.pool(index)
        if dtype is float64 and not where.place.has_double:
            raise DTypeError(
                f"{dtype.name} on {where.place.name}",
                f"{where.place.label} has no double precision (cl_khr_fp64)",
                "cast to float32 first, or leave these numbers on the CPU",
            )
        return DeviceMemory(where, count, dtype.format)

    def table(self, index: int = 0) -> Table:
        """All kernels of the device of that number."""

        def room(count: int, dtype: DType) -> DeviceMemory:
            return self.empty(count, dtype, index)

        found = self.tables.get(index)
        if found is None:
            with self.lock:
                found = self.tables.get(index)
                if found is None:
                    found = DeviceTable(rows_of(self.pool(index)), room, looser())
                    self.tables[index] = found
        return found

    def stage(self, data: Any, dtype: DType, index: int = 0) -> Staged:
        """Begin to copy bytes of the host beside what runs; `.memory()` of it is theirs."""
        return Staged(self.pool(index), data, dtype.format)

    def noting(self, index: int = 0) -> Noting:
        """What one run of a Program is noted in, to be run again."""
        return Noting(self.pool(index))

    def synchronize(self, index: int = 0) -> None:
        """Wait until all that is queued has run."""
        where = self.pool(index)
        where.place.synchronize()
        where.copies.settle(0)
        where.settle()

    # ---- what tutor.memory shows and sets --------------------------------------------------------

    def stats(self, index: int = 0) -> Stats:
        """The counts of its memory, as tutor.memory.stats() has them for the host."""
        return self.pool(index).stats()

    def reset_peak(self, index: int = 0) -> None:
        self.pool(index).reset_peak()

    def trim(self, index: int = 0) -> int:
        """Give back to the driver all that waits unused; how many bytes that was."""
        return self.pool(index).trim()

    def config(self, index: int = 0) -> Config:
        return self.pool(index).config()

    def configure(self, limit: int, index: int = 0) -> None:
        """How many bytes may wait unused."""
        self.pool(index).configure(limit)
