"""Keeping code that may do anything from ending Python, and from taking all memory.

Within a block of `held()`, os._exit and its like raise, and the process may have so many bytes more
than it has. Blocks may be in several threads: the first sets, the last takes back. A block within a
block does nothing, so that none is left while a time limit around it may still strike: what is half
taken back then would stay so for good.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

MEMORY = 2 << 30  # bytes that an answer may take
ENDING = (
    "_exit", "abort", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp",
    "execvpe",
)  # fmt: skip
LOCK = threading.Lock()
WITHIN = ContextVar("WITHIN", default=False)  # is this code, or who has its thread run, in a block?


class EndsPython(BaseException):
    """Raised in place of what would end Python at once. No Exception: it is not to be swallowed."""


class Held:
    """What to put back when the last block is left."""

    count = 0
    before: dict[tuple[Any, str], Any]
    limit: tuple[int, int] | None = None


def refuse(name: str) -> Callable[..., Any]:
    """What stands in the place of a function that ends Python."""

    def instead(*args: Any, **kwargs: Any) -> Any:
        words = ", ".join(map(repr, args))
        raise EndsPython(f"os.{name}({words}) ends Python at once, with all that is not saved")

    instead.__name__ = name
    return instead


def ends_python(value: Any) -> str:
    """The name of the function of `os` that a value is, if that ends Python; else ""."""
    originals = Held.before if Held.count else {}
    for name in ENDING:
        original = originals.get((os, name), getattr(os, name, None))
        if value is original is not None:
            return name
    return ""


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Within this block nothing ends Python at once, and memory has a limit."""
    if WITHIN.get():
        yield
        return
    token = WITHIN.set(True)
    with LOCK:
        Held.count += 1
        if Held.count == 1:
            _set()
    try:
        yield
    finally:
        WITHIN.reset(token)
        with LOCK:
            Held.count -= 1
            if Held.count == 0:
                _take_back()


def _set() -> None:
    Held.before = {}
    for module in {os, __import__(os.name)}:  # os has them from posix, or nt
        for name in ENDING:
            if hasattr(module, name):
                Held.before[module, name] = getattr(module, name)
                setattr(module, name, refuse(name))
    Held.limit = limit_memory(MEMORY)


def _take_back() -> None:
    for (module, name), function in Held.before.items():
        setattr(module, name, function)
    give_back(Held.limit)
    Held.limit = None


@contextlib.contextmanager
def limited(count: int) -> Iterator[None]:
    """Within this block this process may have so many bytes more than it has."""
    before = limit_memory(count)
    try:
        yield
    finally:
        give_back(before)


def give_back(limit: tuple[int, int] | None) -> None:
    """Set the limit of memory to the one that `limit_memory` has found."""
    if limit is not None:
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, limit)


def limit_memory(count: int) -> tuple[int, int] | None:
    """Let this process have so many bytes more than it has; gives the limit that there was.

    None where nothing was changed: on another system than Linux, or under a tighter limit. It is
    the soft limit, so that it can be taken back.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + count
    if soft != resource.RLIM_INFINITY and soft <= most:
        return None
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        return soft, hard
    return None
