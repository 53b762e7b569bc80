"""Prefetching: a thread makes the next items while the present one is used.

Kernels release Python's lock, so a step and the batches after it are computed in parallel. A single
thread keeps the items in order, and raises errors at the item that caused them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextvars import copy_context
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """An iterator over `make(0)` that makes up to `count` items ahead.

    Its thread ends when the source ends or raises (the error is raised here, instead of the item),
    on `close()`, when the program exits, and when this object is garbage-collected. The child of a
    fork has no such thread: it starts one of its own, over `make(taken)`, which is the same source
    without the items that were taken already.
    """

    def __init__(self, make: Callable[[int], Iterator[T]], count: int) -> None:
        self.make, self.count, self.taken = make, count, 0
        self.context = copy_context()  # the backend, and other settings of the thread
        self.start()

    def start(self) -> None:
        """Start the thread of this process."""
        self.process = os.getpid()
        self.made: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
        self.room = threading.Semaphore(self.count)
        self.over = threading.Event()
        # Not self, which must stay collectable.
        arguments = (self.make(self.taken), self.made, self.room, self.over)
        context = self.context.copy()  # a Context can be entered once only
        self.thread = threading.Thread(
            target=context.run, args=(work, *arguments), name="tutor.data", daemon=True
        )
        # Also at exit: a thread inside a kernel may crash the interpreter as it shuts down.
        ending = (self.process, self.over, self.room, self.thread)
        self.finish = weakref.finalize(self, end, *ending)
        self.thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self.process != os.getpid() and not self.over.is_set():
            self.start()
        found = self.made.get() if not self.over.is_set() else None
        if found is None:
            self.close()
            raise StopIteration
        if isinstance(found, BaseException):
            self.close()
            try:
                raise found
            finally:
                del found  # its traceback has this frame: a cycle
        self.taken += 1
        self.room.release()
        return found[0]

    def close(self) -> None:
        """End the thread, after the item that it is making now."""
        self.finish()


def work(
    source: Iterator[T],
    made: SimpleQueue[tuple[T] | BaseException | None],
    room: threading.Semaphore,
    over: threading.Event,
) -> None:
    """The body of the thread."""
    try:
        while True:
            room.acquire()
            if over.is_set():
                return
            made.put((next(source),))
    except StopIteration:
        pass
    except BaseException as error:
        error.add_note("This batch was made ahead, in the thread of a DataLoader.")
        made.put(error)
    finally:
        made.put(None)
        del source, made  # an error's traceback holds this frame: a cycle if nobody takes it


def end(
    process: int, over: threading.Event, room: threading.Semaphore, thread: threading.Thread
) -> None:
    if process != os.getpid():  # the parent's thread may have left these locked
        return
    over.set()
    room.release()
    if thread is not threading.current_thread():
        thread.join()
