"""Memory on a device: what a Buffer has there, and the pool that it comes from.

    count, format, device, keep()    as tutor/_storage/memory.py says of every memory
    read()                           a copy of the bytes on the host; waits for what is queued
    write(data, start=0)             bytes to the device, from byte `start` on; does not wait
    put(payload)                     the same of bytes that depend on shapes alone
    data                             the block that kernels are given: anyplace.py

All that a place does passes one queue, in order. So memory may go back to the pool while a kernel
that uses it is still queued: whoever gets it next is behind that kernel. Copies that shall run
beside the kernels take a second queue: `stage`.

A block has the size of its class, of which there are four to each power of two, so at most a
quarter of it is not used. What was given back waits for the next of its class, up to `limit` bytes
in all.

Memory has no `__del__`: what was given back is seen when the pool is next asked for anything, by
loans.py, which says why.
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
PENDING = 1 << 26  # bytes of the host that may wait to be copied


def size_class(nbytes: int) -> int:
    """The bytes of the block for so many: a power of two, or 5/4, 6/4 or 7/4 of one."""
    if nbytes <= SMALLEST:
        return SMALLEST
    step = 1 << max((nbytes - 1).bit_length() - 3, 0)
    return -(-nbytes // step) * step


class Copies:
    """What is on its way from the host: kept alive until it has arrived."""

    def __init__(self, place: AnyPlace) -> None:
        self.place, self.nbytes = place, 0
        self.pending: deque[tuple[Any, int]] = deque()
        self.lock = RLock()

    def write(self, block: Any, view: memoryview, start: int, beside: bool = False) -> Any:
        """The event of a copy that has begun; `beside`: through the second queue."""
        nbytes = view.nbytes
        host = view.obj if type(view.obj) is bytes and len(view.obj) == nbytes else view.tobytes()
        with self.lock:
            self.settle(PENDING - nbytes)
            event = self.place.copy_in(block, host, start, beside)
            self.pending.append((event, nbytes))
            self.nbytes += nbytes
        return event

    def settle(self, most: int) -> None:
        """Let go of what has arrived; wait until no more than `most` bytes are under way."""
        while self.pending:
            event, nbytes = self.pending[0]
            if self.nbytes > most:
                self.place.wait(event)
            elif not self.place.arrived(event):
                return
            self.pending.popleft()
            self.nbytes -= nbytes


class Pool(Lender):
    """The blocks of one place, and what was asked for so far."""

    def __init__(self, place: AnyPlace) -> None:
        super().__init__()
        self.place = place
        self.copies = Copies(place)
        self.lock = RLock()
        self.allocations = self.misses = self.in_use = self.held = self.peak = 0
        self.limit = place.total // 4

    def take(self, nbytes: int, holder: Any) -> Any:
        """A block of at least so many bytes, as long as the holder is there."""
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
        """A handler of a signal may have struck between two of the counts."""
        known = {id(loan) for loan in self.ended}
        loans = self.loans.values()
        self.ended += [loan for loan in loans if loan() is None and id(loan) not in known]
        self.in_use = sum(loan.nbytes for loan in loans)
        self.held = sum(size * len(blocks) for size, blocks in self.free.items())

    def fresh(self, nbytes: int, size: int) -> Any:
        """A new block. Where there is no room, all that waits unused goes first."""
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
        """Room for a list of commands, which comes from here and goes back with the list."""
        return Arena(self)

    def trim(self) -> int:
        """Give back to the device all that waits unused, and return how many bytes that was."""
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
        """How many bytes may wait unused from here on."""
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
    """Memory of one list of commands, lent to it by a Pool: what was given back is taken again by
    the same list alone."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self.pool, self.place, self.copies = pool, pool.place, pool.copies
        self.fresh = False  # is memory wanted that nothing has used before?
        self.let_go: Callable[[Any], None] | None = None  # told of each block that is given back

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
        """The memory itself: bytes that are there."""
        return self

    def __repr__(self) -> str:
        return f"DeviceMemory({self.count} x {self.format!r} on {self.device!r})"

    def read(self) -> bytearray:
        """A copy of the bytes on the host, as they are when all that is queued has run."""
        host = bytearray(self.nbytes)
        if NOW.noting is not None:
            NOW.noting.lost = True
        if self.nbytes:
            self.pool.place.read(host, self.data)
        return host

    def write(self, data: Any, start: int = 0) -> None:
        """Bytes of the host to the device, from byte `start` on, behind all that is queued.

        It does not wait: what can change meanwhile is copied first. OutOfRangeError beyond the end.
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
        """Bytes that depend on shapes alone, and so are the same whenever this is replayed."""
        if NOW.noting is not None:
            NOW.noting.put(self, payload)
        else:
            self.write(payload)


class Part:
    """What kernels expect of `buf`: it has memory, and knows its dtype."""

    __slots__ = ("dtype", "memory")

    def __init__(self, memory: Any, dtype: DType) -> None:
        self.memory, self.dtype = memory, dtype

    @property
    def raw(self) -> memoryview:
        """Of a number on the host its bytes."""
        raw: memoryview = self.memory.raw
        return raw


def held(buf: Any) -> Any:
    """The memory that `buf` has; of a promise what it comes to."""
    memory = buf.memory
    return memory if type(memory) is DeviceMemory else memory.keep()


def ask(
    pool: Pool, count: int, dtype: DType, run: Callable[[DeviceMemory], None],
    refuse: Callable[[Any], None], about: Any, key: Any,
) -> None:  # fmt: skip
    """`run(answer)` leaves numbers in memory of zeros; if any is no zero, `refuse(numbers)` is
    called, and raises. `about`, `key`: the memory asked about, and what tells the question from
    others about it."""
    with unnoted() as noting:
        answer = DeviceMemory(pool, count, dtype.format)  # of no arena: it stays as it is

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
    """Bytes on their way to a device beside its kernels: `memory()` is theirs for kernels that are
    queued from then on, which wait for them; the host does not."""

    def __init__(self, pool: Pool, data: Any, format: str) -> None:
        view = memoryview(data).cast("B")
        place = self.place = pool.place
        self.held = DeviceMemory(pool, view.nbytes // ITEMSIZE[format], format)
        # the block may be one that a queued kernel still reads: the copy waits for those alone
        place.fork()
        self.event = pool.copies.write(self.held.data, view, 0, beside=True)

    def memory(self) -> DeviceMemory:
        self.place.join(self.event)
        return self.held
