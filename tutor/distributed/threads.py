"""Threads: in which of them a rank calls collectives.

Ranks call collectives in one order. Two threads of a rank have none: which of them comes first is
another one on each rank, and where both call the same thing, nobody would notice that the numbers
of one are added to those of the other. So there is one caller at a time:

    the main thread, or the first thread that calls         is the caller
    a thread that was started after the caller's last call  takes over
    the caller before                                       goes on when that thread has ended

Whoever else calls, or calls while another thread is in a collective, is refused: nothing says that
it does so at the same place on all ranks.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

Reference = weakref.ref[threading.Thread]


class UnorderedError(Exception):
    """Another thread, of this name, is the caller."""


class Callers:
    """The threads that have called, each started after the last call of the one before it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.turns = [weakref.ref(threading.main_thread())]
        self.there: set[Reference] = set()  # threads there were when the last call was over
        self.inside = 0  # calls that are not over

    @contextmanager
    def calling(self) -> Iterator[None]:
        """This thread calls a collective. UnorderedError where it is not its turn."""
        with self.lock:
            self._come(weakref.ref(threading.current_thread()))
            self.inside += 1
        try:
            yield
        finally:
            there = {weakref.ref(thread) for thread in threading.enumerate()}
            with self.lock:
                self.inside -= 1
                self.there = there

    def _come(self, me: Reference) -> None:
        while self.turns[-1] != me and me in self.turns and not _is_alive(self.turns[-1]):
            self.turns.pop()
        latest = self.turns[-1]
        if latest == me:
            return
        if self.inside or me in self.turns or me in self.there:
            thread = latest()
            raise UnorderedError(thread.name if thread else "a thread that has ended")
        self.turns = [one for one in self.turns if _is_alive(one)] + [me]


def _is_alive(reference: Reference) -> bool:
    thread = reference()
    return thread is not None and thread.is_alive()
