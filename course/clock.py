"""A time limit for code, where there are neither alarm signals nor threads: Python in a browser.

Python itself calls `_look` at every jump and at the start of every function (sys.monitoring), and
that raises once the time is over. As everywhere, a single call into C cannot be interrupted so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

NAME = "tutor's time limits"
EVERY = 50  # looks at the clock are that many jumps and calls apart
AGAIN = 0.05  # seconds until code that has swallowed the error gets the next


class Watch:
    """The limits that hold now, the innermost last, and what to raise when it is over."""

    ends: ClassVar[list[float]] = []
    error: type[BaseException] = TimeoutError
    left = EVERY


def _look(*about: Any) -> None:
    Watch.left -= 1
    if Watch.left > 0 or not Watch.ends:
        return
    Watch.left = EVERY
    if time.monotonic() > Watch.ends[-1]:
        Watch.ends[-1] = time.monotonic() + AGAIN
        raise Watch.error


def watched(function: Callable[[], Any], seconds: float, error: type[BaseException]) -> Any:
    """What `function()` gives or raises; `error` where that takes longer than `seconds`."""
    monitoring: Any = getattr(sys, "monitoring", None)  # Python 3.12 has it
    if monitoring is None or not _claimed(monitoring):
        return function()
    tool, events = monitoring.DEBUGGER_ID, monitoring.events
    Watch.error = error
    Watch.ends.append(time.monotonic() + seconds)
    monitoring.set_events(tool, events.JUMP | events.PY_START | events.PY_RESUME)
    try:
        return function()
    finally:
        Watch.ends.pop()  # from here on nothing is raised: no Python function is called, no jump
        monitoring.set_events(tool, monitoring.get_events(tool) if Watch.ends else 0)


def _claimed(monitoring: Any) -> bool:
    """Whether the clock is ours to use: a debugger may have it."""
    tool, events = monitoring.DEBUGGER_ID, monitoring.events
    if monitoring.get_tool(tool) is None:
        monitoring.use_tool_id(tool, NAME)
        for event in (events.JUMP, events.PY_START, events.PY_RESUME):
            monitoring.register_callback(tool, event, _look)
    return bool(monitoring.get_tool(tool) == NAME)
