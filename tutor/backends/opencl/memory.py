"""Memory on a device: a Buffer's memory there, and the pool that it comes from.

    count, format, device, keep()    as for every memory: tutor/_storage/memory.py
    read()                           a copy of the bytes on the host; waits for queued work
    write(data, start=0)             bytes to the device, from byte `start` on; does not wait
    put(payload)                     the same for bytes that depend on shapes alone
    data                             the block that kernels receive: anyplace.py

All work of a place goes through one queue, in order. So memory may return to the pool while a
kernel that uses it is still queued: its next user is queued after that kernel. Copies that run
beside the kernels use a second queue: `stage`.

A block has the size of its class; each power of two has four classes, so at most a quarter of a
block is unused. A returned block waits for the next request of its class, up to `limit` bytes in
all.

Memory has no `__del__`: the pool notices returned blocks at its next call, through loans.py,
which explains why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock
from typing import Any

from tutor.backends.opencl.anyplace import AnyPlace
from tutor.backends.opencl.capture import NOW, unnoted
from tutor.backends.opencl.faults import out_of_memory
from tutor.backends.opencl.loans import Lender
from tutor.backends.registry import Kernel
from tutor.dtype import TABLE, DType
from tutor.errors import DomainError, OutOfRangeError
from tutor.memory import Config, Stats

ITEMSIZE = {dtype.format: dtype.itemsize for dtype in TABLE}
SMALLEST = 256  # bytes of the smallest class
PENDING = 1 << 26  # bytes on the host that may wait to be copied


def size_class(nbytes: int) -> int:
    """The block size for `nbytes` bytes: a power of two, or 5/4, 6/4 or 7/4 of one."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = 1 << max((nbytes - 1).bit_length() - 3, 0)
    return -(-nbytes // step) * step


class Copies:
    """Copies from the host in progress: their bytes are kept alive until they arrive."""

    def __init__(self, place: AnyPlace) -> None:
        self.place, self.nbytes = place, 0
        self.pending: deque[tuple[Any, int]] = deque()
        self.lock = RLock()

    def write(self, block: Any, view: memoryview, start: int, beside: bool = False) -> Any:
        """Start a copy and return its event; `beside`: through the second queue."""
        nbytes = view.nbytes
        host = view.obj if type(view.obj) is bytes and len(view.obj) == nbytes else view.tobytes()
        with self.lock:
            self.settle(PENDING - nbytes)
            event = self.place.copy_in(block, host, start, beside)
            self.pending.append((event, nbytes))
            self.nbytes += nbytes
        return event

    def settle(self, most: int) -> None:
        """Release what has arrived; wait until at most `most` bytes are in progress."""
        while self.pending:
            event, nbytes = self.pending[0]
            if self.nbytes > most:
                self.place.wait(event)
            elif not self.place.arrived(event):
                return
            self.pending.popleft()
            self.nbytes -= nbytes


class Pool(Lender):
    """The blocks of one place, and statistics about them."""

    def __init__(self, place: AnyPlace) -> None:
        super().__init__()
        self.place = place
        self.copies = Copies(place)
        self.lock = RLock()
        self.allocations = self.misses = self.in_use = self.held = self.peak = 0
        self.limit = place.total // 4

    def take(self, nbytes: int, holder: Any) -> Any:
        """A block of at least `nbytes` bytes, for as long as the holder lives."""
        size = size_class(nbytes)
        with self.lock:
            try:
                self.settle()
                waiting = self.free.get(size)
                if waiting:
                    block = waiting.pop()
                    self.held -= size
                else:
                    block = self.fresh(nbytes, size)
                    self.misses += 1
                self.lend(holder, block, size, nbytes)
                self.allocations += 1
                self.in_use += nbytes
                if self.in_use > self.peak:
                    self.peak = self.in_use
            except BaseException:
                self.count_again()
                raise
        return block

    def settle(self) -> None:
        with self.lock:
            try:
                super().settle()
            except BaseException:
                self.count_again()
                raise

    def count_again(self) -> None:
        """Recompute the counts, which a signal handler may have interrupted halfway."""
        known = {id(loan) for loan in self.ended}
        loans = self.loans.values()
        self.ended += [loan for loan in loans if loan() is None and id(loan) not in known]
        self.in_use = sum(loan.nbytes for loan in loans)
        self.held = sum(size * len(blocks) for size, blocks in self.free.items())

    def fresh(self, nbytes: int, size: int) -> Any:
        """A new block. If there is no room, all unused blocks are freed first."""
        place = self.place
        if nbytes <= place.most and self.in_use + nbytes <= place.total:
            for _ in range(2):
                try:
                    return place.allocate(min(size, place.most))
                except MemoryError:
                    self.trim()
                    place.synchronize()
        raise out_of_memory(place, nbytes, self.in_use)

    def give_back(self, block: Any, size: int, nbytes: int) -> None:
        self.in_use -= nbytes
        if self.held + size <= self.limit:
            self.held += size
            super().give_back(block, size, nbytes)
        else:
            self.place.free([block])

    def arena(self) -> Arena:
        """Memory for a command list, taken from this pool and returned with the list."""
        return Arena(self)

    def trim(self) -> int:
        """Return all unused blocks to the device; returns their bytes."""
        with self.lock:
            self.settle()
            given, self.held = self.held, 0
            waiting, self.free = self.free, {}
            self.place.free([block for blocks in waiting.values() for block in blocks])
            return given

    def stats(self) -> Stats:
        with self.lock:
            self.settle()
            hits = self.allocations - self.misses
            counted = self.allocations, hits, self.misses, self.in_use, self.held, self.peak
        return Stats(*counted)

    def reset_peak(self) -> None:
        with self.lock:
            self.settle()
            self.peak = self.in_use

    def config(self) -> Config:
        return Config("pool", self.limit)

    def configure(self, limit: int) -> None:
        """Set how many unused bytes the pool may hold. DomainError for an invalid number."""
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise DomainError(
                f"memory of {self.place.name} with limit={limit!r:.40}",
                "that is no number of bytes",
                "give a whole number from 0 on; 0 holds nothing back",
            )
        with self.lock:
            self.settle()
            self.limit = limit
            if self.held > limit:
                self.trim()


class Arena(Lender):
    """The memory of one command list, lent by a Pool: returned blocks are reused by the same list
    only."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self.pool, self.place, self.copies = pool, pool.place, pool.copies
        self.fresh = False  # must new memory come from the pool, unused so far?
        self.let_go: Callable[[Any], None] | None = None  # called for each returned block

    def take(self, nbytes: int, holder: Any) -> Any:
        size = size_class(nbytes)
        self.settle()
        if self.free.get(size) and not self.fresh:
            block = self.free[size].pop()
        else:
            block = self.pool.take(nbytes, self)
        return self.lend(holder, block, size, nbytes)

    def give_back(self, block: Any, size: int, nbytes: int) -> None:
        super().give_back(block, size, nbytes)
        if self.let_go is not None:
            self.let_go(block)


class DeviceMemory:
    """Room for `count` numbers on a device, contents undefined."""

    __slots__ = ("__weakref__", "count", "data", "device", "format", "nbytes", "pool")

    def __init__(self, pool: Pool, count: int, format: str) -> None:
        self.count, self.format, self.device = count, format, pool.place.name
        self.pool: Any = pool if NOW.noting is None else NOW.noting.arena
        self.nbytes = count * ITEMSIZE[format]
        self.data = self.pool.take(self.nbytes, self)

    def keep(self) -> DeviceMemory:
        """The memory itself: its bytes exist."""
        return self

    def __repr__(self) -> str:
        return f"DeviceMemory({self.count} x {self.format!r} on {self.device!r})"

    def read(self) -> bytearray:
        """A copy of the bytes on the host, after all queued work."""
        host = bytearray(self.nbytes)
        if NOW.noting is not None:
            NOW.noting.lost = True
        if self.nbytes:
            self.pool.place.read(host, self.data)
        return host

    def write(self, data: Any, start: int = 0) -> None:
        """Copy bytes of the host to the device, from byte `start` on, after all queued work.

        Does not wait: data that may change is copied first. OutOfRangeError beyond the end.
        """
        view = memoryview(data).cast("B")
        if start < 0 or start + view.nbytes > self.nbytes:
            raise OutOfRangeError(
                f"to write {view.nbytes} bytes from byte {start} on to {self!r}",
                f"it has {self.nbytes} bytes",
                "write within it",
            )
        if NOW.noting is not None:
            NOW.noting.lost = True
        if view.nbytes:
            self.pool.copies.write(self.data, view, start)

    def put(self, payload: bytes) -> None:
        """Write bytes that depend only on shapes, and so are the same in every replay."""
        if NOW.noting is not None:
            NOW.noting.put(self, payload)
        else:
            self.write(payload)


class Part:
    """The part of `buf` that kernels use: its memory and its dtype."""

    __slots__ = ("dtype", "memory")

    def __init__(self, memory: Any, dtype: DType) -> None:
        self.memory, self.dtype = memory, dtype

    @property
    def raw(self) -> memoryview:
        """The bytes of a number on the host."""
        raw: memoryview = self.memory.raw
        return raw


def held(buf: Any) -> Any:
    """The memory of `buf`; a promised one is materialized."""
    memory = buf.memory
    return memory if type(memory) is DeviceMemory else memory.keep()


def ask(
    pool: Pool, count: int, dtype: DType, run: Callable[[DeviceMemory], None],
    refuse: Callable[[Any], None], about: Any, key: Any,
) -> None:  # fmt: skip
    """Check a condition on the device: `run(answer)` writes into zeroed memory; if any number is
    not zero, `refuse(numbers)` is called and raises. `about`: the memory checked; `key`
    distinguishes the question from others about it."""
    with unnoted() as noting:
        answer = DeviceMemory(pool, count, dtype.format)  # outside any arena: it lasts

    def judged(host: bytes) -> None:
        cells: Any = memoryview(host)
        refuse(cells.cast(dtype.format).tolist())

    if noting is not None:
        noting.ask(answer, lambda: run(answer), judged, about, key)
        return
    answer.write(bytes(answer.nbytes))
    run(answer)
    host = bytes(answer.read())
    if any(host):
        judged(host)


Rows = dict[tuple[str, DType], Kernel]


class Staged:
    """Bytes on their way to a device in parallel to its kernels: kernels queued after `memory()`
    wait for them; the host does not."""

    def __init__(self, pool: Pool, data: Any, format: str) -> None:
        view = memoryview(data).cast("B")
        place = self.place = pool.place
        self.held = DeviceMemory(pool, view.nbytes // ITEMSIZE[format], format)
        # a queued kernel may still read the block: the copy waits for the kernels queued so far
        place.fork()
        self.event = pool.copies.write(self.held.data, view, 0, beside=True)

    def memory(self) -> DeviceMemory:
        self.place.join(self.event)
        return self.held
