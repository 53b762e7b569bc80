"""Threads: which thread of a rank may call collectives.

All ranks must call collectives in the same order. Two threads of a rank have no fixed order: it may
differ between ranks, and if both make the same call, the numbers of one would be added to those of
the other unnoticed. So there is one caller at a time:

    the main thread, or the first thread that calls         is the caller
    a thread that was started after the caller's last call  takes over
    the earlier caller                                      continues when that thread has ended

Calls from any other thread, or while another thread is in a collective, are refused: nothing
ensures that they come at the same place on all ranks.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

Reference = weakref.ref[threading.Thread]


class UnorderedError(Exception):
    """The caller is another thread; the argument is its name."""


class Callers:
    """The threads that have called, each started after the last call of the one before it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.turns = [weakref.ref(threading.main_thread())]
        self.there: set[Reference] = set()  # threads alive when the last call ended
        self.inside = 0  # calls in progress

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call a collective in this block. UnorderedError if it is not this thread's turn."""
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
