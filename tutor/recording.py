"""Is a graph kept? `no_grad()` says no, for a block or a function, in one thread."""

from __future__ import annotations

import threading
from contextlib import ContextDecorator


class _Thread(threading.local):
    recording = True  # each thread says for itself


thread = _Thread()


class recording(ContextDecorator):  # noqa: N801 - read as a verb: with recording(False)
    """Within the block (or the decorated function), record the graph or not; this thread only."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.before: list[bool] = []  # a stack: one object may be entered more than once

    def __enter__(self) -> None:
        self.before.append(thread.recording)
        thread.recording = self.on

    def __exit__(self, *exception: object) -> None:
        thread.recording = self.before.pop()


def no_grad() -> recording:
    """`with no_grad():` or `@no_grad()`: compute without remembering, as evaluation does."""
    return recording(False)
