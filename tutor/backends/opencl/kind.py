"""DeviceKind: all devices of one kind that use the kernels of this folder, as tutor sees them.

It counts the devices, and provides memory, kernels and waiting for each. No driver is called before
its first device is used, and each device is opened once, however many threads ask for it.
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
    """Replaces a place in a forked process, where its driver would never answer."""

    name: str

    def __getattr__(self, name: str) -> Any:
        raise forked(self.name)

    def free(self, blocks: Any) -> None:
        """Do nothing: the blocks belong to the parent process."""


class DeviceKind:
    """All devices of one kind. `count()`: how many there are; `place(i)`: one of them, DeviceError
    if there is none; `name(place)`: its name."""

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
        """After a fork of a process that may have loaded the driver, the child must not call the
        driver, nor free any of its objects, because that, too, waits for the driver's threads."""
        self.lock = RLock()
        if not self.is_loaded or self.is_forked:
            return
        self.is_forked = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        for pool in self.pools.values():
            pool.lock, pool.copies.lock, pool.place.lock = RLock(), RLock(), RLock()
            pool.place.__class__ = Forked

    def count(self) -> int:
        """The number of devices."""
        with self.lock:
            self.is_loaded = True
            return self.counted()

    def pool(self, index: int) -> Pool:
        """The memory of the device with that number. DeviceError if there is none."""
        found = self.pools.get(index)
        if found is None:
            with self.lock:
                found = self.pools.get(index)
                if found is None:
                    found = self.pools[index] = Pool(self.place(index))
        return found

    def place(self, index: int) -> AnyPlace:
        """The device with that number, opened. DeviceError if there is none."""
        with self.lock:
            if self.is_forked and index not in self.pools:
                raise forked(f"{self.kind}:{index}")
            self.is_loaded = True
            place: AnyPlace = self.opened(index)
            return place

    def name(self, index: int) -> str:
        """Its name, from its driver."""
        return self.called(self.place(index))

    def empty(self, count: int, dtype: DType, index: int = 0) -> DeviceMemory:
        """Memory for `count` numbers, contents undefined. OutOfMemoryError if there is no room,
        DTypeError for doubles if the device has none."""
        where = self.pool(index)
        if dtype is float64 and not where.place.has_double:
            raise DTypeError(
                f"{dtype.name} on {where.place.name}",
                f"{where.place.label} has no double precision (cl_khr_fp64)",
                "cast to float32 first, or leave these numbers on the CPU",
            )
        return DeviceMemory(where, count, dtype.format)

    def table(self, index: int = 0) -> Table:
        """All kernels of the device with that number."""

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
        """Start copying bytes of the host in parallel to kernels; `.memory()` holds them."""
        return Staged(self.pool(index), data, dtype.format)

    def noting(self, index: int = 0) -> Noting:
        """A recorder for one run of a Program, to be replayed."""
        return Noting(self.pool(index))

    def synchronize(self, index: int = 0) -> None:
        """Wait until all queued work is done."""
        where = self.pool(index)
        where.place.synchronize()
        where.copies.settle(0)
        where.settle()

    # ---- what tutor.memory shows and sets --------------------------------------------------------

    def stats(self, index: int = 0) -> Stats:
        """Its memory counts, in the format of tutor.memory.stats() for the host."""
        return self.pool(index).stats()

    def reset_peak(self, index: int = 0) -> None:
        self.pool(index).reset_peak()

    def trim(self, index: int = 0) -> int:
        """Return all unused blocks to the driver; returns their bytes."""
        return self.pool(index).trim()

    def config(self, index: int = 0) -> Config:
        return self.pool(index).config()

    def configure(self, limit: int, index: int = 0) -> None:
        """Set how many unused bytes the pool may hold."""
        self.pool(index).configure(limit)
