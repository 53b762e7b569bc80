"""Running code that may do anything: it may never return, print without end, raise what it likes.

Time is limited by an alarm signal, where there is one and this is the main thread; elsewhere the
code runs in a thread of its own, which is asked to stop and then left behind; and in a browser,
which has neither, Python looks at the clock itself. None of these can interrupt a single call into
C that never ends, as `sum(itertools.count())`: no Python runs meanwhile.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from course.clock import watched
from course.limits import held
from tutor._util.system import THREADS

AGAIN = 0.05  # seconds until code that has swallowed a TimeUp gets the next
PATIENCE = 0.5  # seconds that a thread is given to notice it
SLOWER = 1 if THREADS else 4  # in a page Python takes longer, and looks at the clock besides
KEPT = 10_000  # characters that are kept of what was printed
# Held while a thread starts, and while a TimeUp is sent: until it runs, a new thread has the number
# of the one that starts it (CPython 3.11), and would be struck, and never run, in place of that.
STARTING = threading.Lock()


class TimeUp(BaseException):
    """The time limit. No Exception, so that `except Exception` does not swallow it."""


class Output(io.TextIOBase):
    """Keeps the beginning of what is printed, and forgets the rest."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if len(self.text) < KEPT:
            self.text += text[: KEPT - len(self.text)]
        return len(text)


@contextlib.contextmanager
def quiet(output: Output) -> Iterator[None]:
    """What is printed goes to `output`."""
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        yield


def limited(function: Callable[[], Any], seconds: float) -> Any:
    """What `function()` gives or raises; TimeUp where that takes longer than `seconds`.

    Memory is limited, too: MemoryError where it takes more than `limits.MEMORY`.
    """
    with held():
        if not THREADS:
            return watched(function, seconds, TimeUp)
        if hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread():
            return _with_alarm(function, seconds)
        return _in_thread(function, seconds)


def _with_alarm(function: Callable[[], Any], seconds: float) -> Any:
    started, alarms, running = time.monotonic(), 0, True

    def ring(number: int, frame: FrameType | None) -> None:
        nonlocal alarms
        if not running or frame is None or frame.f_code is own:
            return  # the code is through already; the alarm came too late
        alarms += 1
        if alarms > 2:  # it was swallowed twice, so by `except:`. The next one strikes inside
            signal.raise_signal(signal.SIGALRM)  # that very `except:`, where nothing protects.
        raise TimeUp

    own = sys._getframe().f_code
    handler = signal.signal(signal.SIGALRM, ring)
    outer, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        return function()
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if outer:  # somebody's limit around ours goes on
            left = max(outer - (time.monotonic() - started), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _in_thread(function: Callable[[], Any], seconds: float) -> Any:
    result: list[Any] = []
    error: list[BaseException] = []
    over: list[bool] = []
    asking = threading.Lock()

    def work() -> None:
        with contextlib.suppress(TimeUp):  # one that was on its way when all was over
            try:
                result.append(function())
            except BaseException as caught:
                error.append(caught)
            while not over:
                with contextlib.suppress(TimeUp), asking:
                    over.append(True)  # from here on none is sent

    within = contextvars.copy_context()
    thread = threading.Thread(target=within.run, args=(work,), daemon=True)
    with STARTING:
        thread.start()
    thread.join(seconds)
    asked = time.monotonic()
    while thread.is_alive() and time.monotonic() - asked < PATIENCE:
        with asking, STARTING:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeUp)
                )
        thread.join(AGAIN)
    if result:
        return result[0]
    raise error[0] if error else TimeUp()
