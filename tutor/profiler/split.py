"""A profile that divides the time between kernels: how much is Python's, how much is dispatch?

    with split() as p:
        loss = model(x).cross_entropy(y)
        loss.backward()
    print(p)  # a profile's table; in its last line python and dispatch instead of between

A timer interrupts the program, 250 to 1,000 times in a second of CPU time as the system ticks, and
the innermost function says what it was doing:

- dispatch, in the rooms between `a + b` and its kernel: DISPATCH;
- profile, if a step was just being shown to observers;
- python, anywhere else: your code, layers, optimizers, data, other packages.

Samples within kernels do not count, since their time is measured. Code in C counts as the function
that called it: methods of Tensor call the Engine in C++. All of this is an estimate: of n samples,
a share is uncertain by about 1 / (2 sqrt(n)).
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from types import FrameType
from typing import Any

from tutor._util.context_settings import Block
from tutor.backends import step
from tutor.backends.step import Observer
from tutor.errors import DomainError
from tutor.profiler import profile as profiles

DISPATCH = {"core", "ops", "methods", "functions", "backends", "_storage", "_util"}
EVERY = 0.001  # seconds of CPU time between two samples, if the system's clock ticks as often
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
RECORDS, SHOWS = profiles._note.__code__, step._watched.__code__


class split(profiles.profile):  # noqa: N801 - read as a verb: with split() as p
    """`with split() as p:` is a profile whose `seconds` tell python from dispatch. In the main
    thread of a system with signal.setitimer only; DomainError elsewhere."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self.before: Any = None  # the handler and the timer that were there
        super().__init__()

    def block(self) -> Block[Observer]:
        main = threading.current_thread() is threading.main_thread()
        if not (main and hasattr(signal, "setitimer")):
            raise DomainError(
                "with split(): ...",
                "its timer needs the main thread, and a system with signal.setitimer",
                "use tutor.profile() here: it has `between`, the sum of python and dispatch",
            )
        found = super().block()
        handler = signal.signal(signal.SIGPROF, lambda _, frame: self.sample(frame))
        self.before = handler, signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        return found

    def ended(self) -> None:
        handler, timer = self.before
        signal.setitimer(signal.ITIMER_PROF, *timer)
        signal.signal(signal.SIGPROF, handler)
        super().ended()

    def sample(self, frame: FrameType | None) -> None:
        """Count what is being done in this frame."""
        what = doing(frame)
        if what:
            self.samples[what] += 1

    @property
    def seconds(self) -> dict[str, float]:
        """As a profile's, but with `between` divided among python, dispatch and profile; undivided
        if there was no sample."""
        found, seen = super().seconds, self.samples.total()
        if not seen:
            return found
        between = found["between"]
        python, dispatch, shown = (
            between * self.samples[what] / seen for what in ("python", "dispatch", "profile")
        )
        return {
            "kernels": found["kernels"], "dispatch": dispatch, "python": python,
            "profile": found["profile"] + shown,
        }  # fmt: skip


def doing(frame: FrameType | None) -> str:
    """What a program is doing in this frame: "python", "dispatch" or "profile"; "" in a kernel."""
    outer = frame
    while outer is not None:
        if outer.f_code is RECORDS:
            return ""
        if outer.f_code is SHOWS:
            return "profile"
        outer = outer.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    room = file.removeprefix(PACKAGE).split(os.sep)[0] if file.startswith(PACKAGE) else ""
    return "dispatch" if room in DISPATCH else "python"
