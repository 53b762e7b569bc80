"""Worker processes: several batches at a time, of samples that Python makes one by one.

The processes are forked, so they have the data set, the order and the settings without any copying,
and a lambda or a class of a notebook will do. Only the thread that forks is in the child: kernels
start a pool of threads there that is new (`threads.cpp`). Each process makes every `count`-th
batch, and draws random numbers from the stream of that batch, so the batches do not depend on how
many processes there are. Numbers come back in memory that both processes share.
"""

from __future__ import annotations

import io
import mmap
import multiprocessing
import os
import pickle
import signal
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import reduction
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from tutor._storage.device_memory import CPU
from tutor.backends import simd_cpp
from tutor.core.buffer import Buffer
from tutor.errors import DataError, KernelNotFound
from tutor.methods.tensor import Tensor

OVER, ERROR, BATCH = b"o", b"e", b"b"  # the first byte of a message
ORPHAN = 5.0  # seconds after which a worker that waits asks whether the program still runs


class Workers:
    """An iterator over the batches that `count` processes make, up to `ahead` each before they are
    taken.

    `make(taken, turn)` gives the batches of process `turn`: number `taken + turn`, and every
    `count`-th after it. `receive` is called with each batch, here. An error comes in the place of
    its batch. The processes end with the last batch, on `close()`, with this object and with the
    program. In the child of a fork, which has no such processes, new ones make the rest.
    """

    def __init__(self, make: Callable[[int, int], Iterator[Any]], count: int, ahead: int,
                 receive: Callable[[Any], Any]) -> None:  # fmt: skip
        self.make, self.count, self.ahead, self.receive = make, count, ahead, receive
        self.taken = 0
        self.start()

    def start(self) -> None:
        """Start the processes, for the batches that have not been taken."""
        self.process, self.first, self.over = os.getpid(), self.taken, False
        self.running: list[tuple[BaseProcess, Connection]] = []
        self.finish = weakref.finalize(self, end, self.process, self.running)
        fork = multiprocessing.get_context("fork")
        for turn in range(self.count):
            ours, theirs = fork.Pipe()
            inherited = [ours, *(connection for _, connection in self.running)]
            target = (self.make, self.taken, turn, theirs, inherited)
            process = fork.Process(target=work, args=target, daemon=True, name=f"tutor.data.{turn}")
            with warnings.catch_warnings():  # of Python 3.12: that threads stay behind
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()  # so that the end of the process is the end of the connection
            self.running.append((process, ours))
            for _ in range(self.ahead):
                make_room(ours)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.process != os.getpid() and not self.over:
            self.start()
        if self.over:
            raise StopIteration
        turn = (self.taken - self.first) % self.count
        process, connection = self.running[turn]
        try:
            kind, batch = received(connection)
        except (EOFError, ConnectionError):
            self.close()
            raise lost(self.taken, turn, process) from None
        except BaseException:  # an interrupt, while it waits
            self.close()
            raise
        if kind != BATCH:
            self.close()
            raise StopIteration if kind == OVER else batch
        self.taken += 1
        make_room(connection)
        return self.receive(batch)

    def close(self) -> None:
        """End the processes at once: they have nothing that could be lost."""
        self.over = True
        self.finish()


def end(process: int, running: list[tuple[BaseProcess, Connection]]) -> None:
    if process != os.getpid():  # they are the parent's
        return
    for worker, connection in running:
        connection.close()
        worker.kill()
    for worker, _ in running:
        worker.join()


def make_room(connection: Connection) -> None:
    """Allow the worker one more batch; if it has ended, reading will tell."""
    with suppress(OSError):
        connection.send_bytes(b"+")


def lost(number: int, turn: int, process: BaseProcess) -> DataError:
    """The error for a worker that has ended without a word."""
    code = process.exitcode or 0
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return DataError(
        f"batch {number} of those that worker processes make",
        f"worker {turn} has ended {how}",
        "if memory ran out, use fewer workers or smaller batches; num_workers=0 makes the samples "
        "in the program itself, where it shows what ends it",
    )


# ---- in the worker -------------------------------------------------------------------------------


def work(make: Callable[[int, int], Iterator[Any]], taken: int, turn: int, parent: Connection,
         inherited: list[Connection]) -> None:  # fmt: skip
    """The body of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's, which ends its workers
    for connection in inherited:
        connection.close()
    with suppress(KernelNotFound):  # the extension is not there
        simd_cpp.set_num_threads(1)  # the processes share the work
    source = make(taken, turn)
    try:
        while has_room(parent):
            try:
                message, tensors = packed(next(source))
            except StopIteration:
                return parent.send_bytes(OVER)
            except BaseException as error:
                return parent.send_bytes(ERROR + told(error, turn))
            parent.send_bytes(message)
            if tensors is not None:
                reduction.send_handle(parent, tensors, None)
                os.close(tensors)
    except (EOFError, OSError):
        pass  # nobody wants more


def has_room(parent: Connection) -> bool:
    """Wait until one more batch is wanted; false if the program has ended."""
    program = os.getppid()
    while not wait([parent], ORPHAN):
        if os.getppid() != program:
            return False
    return bool(parent.recv_bytes())


def told(error: BaseException, turn: int) -> bytes:
    """The error as bytes, with the lines in which it was raised; a DataError with its words if it
    cannot be sent."""
    lines = "".join(traceback.format_exception(error))
    error.add_note(f"It was raised in worker {turn} of a DataLoader:\n{lines}")
    try:
        sent = pickle.dumps(error)
        pickle.loads(sent)
    except Exception:
        other = DataError("a batch, made by a worker process", f"{type(error).__name__}: {error}",
                          "see below for the line that raised it")  # fmt: skip
        other.__notes__ = error.__notes__
        return pickle.dumps(other)
    return sent


# ---- batches as messages -------------------------------------------------------------------------


class Packer(pickle.Pickler):
    """Takes the numbers of plain Tensors out: their bytes wait in `parts`, with their places."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.parts: list[tuple[int, memoryview]] = []
        self.size = 0

    def persistent_id(self, value: Any) -> Any:
        if type(value) is not Tensor or value.requires_grad or value.device != CPU:
            return None
        rows = value.contiguous()
        start, count = rows.offset * rows.dtype.itemsize, rows.numel() * rows.dtype.itemsize
        place = self.size
        self.parts.append((place, memoryview(rows.buf).cast("B")[start : start + count]))
        self.size += -(-count // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        return place, count, rows.dtype.name, rows.shape


class Unpacker(pickle.Unpickler):
    """Puts Tensors over the shared memory in their places."""

    def __init__(self, message: bytes, shared: mmap.mmap | None) -> None:
        super().__init__(io.BytesIO(message))
        self.shared = shared

    def persistent_load(self, key: tuple[int, int, str, tuple[int, ...]]) -> Tensor:
        place, count, dtype, shape = key
        if self.shared is None:
            return Tensor.zeros(shape, dtype=dtype)
        memory = memoryview(self.shared)[place : place + count]
        return Tensor.over(Buffer.from_memory(memory, dtype=dtype, copy=False), shape)


def packed(batch: Any) -> tuple[bytes, int | None]:
    """A batch as a message, and shared memory with the numbers of its Tensors: a file descriptor,
    or None if they have none. The memory is gone when nobody has it open, whoever was killed."""
    file = io.BytesIO()
    packer = Packer(file)
    packer.dump(batch)
    size = packer.size
    message = BATCH + size.to_bytes(8, "little") + file.getvalue()
    if not size:
        return message, None
    tensors = os.memfd_create("tutor.batch")
    os.ftruncate(tensors, size)
    with mmap.mmap(tensors, size) as shared:
        for place, part in packer.parts:
            shared[place : place + len(part)] = part
    return message, tensors


def received(connection: Connection) -> tuple[bytes, Any]:
    """The kind of the next message, and what it carries."""
    message = connection.recv_bytes()
    kind = message[:1]
    if kind != BATCH:
        return kind, pickle.loads(message[1:]) if kind == ERROR else None
    size, shared = int.from_bytes(message[1:9], "little"), None
    if size:
        tensors = reduction.recv_handle(connection)
        try:
            shared = mmap.mmap(tensors, size)
        finally:
            os.close(tensors)
    return kind, Unpacker(message[9:], shared).load()
