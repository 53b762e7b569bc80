"""Observing what runs, by the variable TUTOR_DEBUG.

    TUTOR_DEBUG=1 python train.py    # at the end: kernels, time, memory
    TUTOR_DEBUG=2 python train.py    # also a line for each kernel call: dtype, shapes, time
    TUTOR_DEBUG=3 python train.py    # also layouts, the calling line of the program, copies of
                                     # strided operands, and where the first nan or inf arises

All output goes to stderr. Without the variable nothing is observed.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from tutor import memory, random
from tutor._storage import layout
from tutor._util.callers import user_line
from tutor.backends import registry
from tutor.backends.step import Step, emit, watch
from tutor.errors import DomainError

_calls, _time = Counter[str](), Counter[str]()  # by "kernel dtype"; time in nanoseconds
_places: set[tuple[str, int, str]] = set()  # where a nan or inf has been reported
_lock = threading.Lock()


def _say(text: str) -> None:
    print(f"tutor: {text}", file=sys.stderr)


def observe(level: int, step: Step, go: Callable[[], None]) -> None:
    """Handle one kernel call at that level."""
    title, ins, out = f"{step.kernel} {step.dtype.name}", step.ins, step.out
    were_finite = level > 2 and all(map(is_finite, ins))
    start = perf_counter_ns()
    go()
    ns = perf_counter_ns() - start
    with _lock:
        _calls[title] += 1
        _time[title] += ns
    if level > 1:
        shown = [_layout(x) if level > 2 else str(tuple(x.shape)) for x in (*ins, out)]
        line = f"{title} {' '.join(shown[:-1])} -> {shown[-1]}  {ns / 1e3:.1f} us"
        _say(line if level == 2 else f"{line}  {_place()}")
    if level > 2:
        if step.kernel == "copy" and not layout.is_contiguous(ins[0].shape, ins[0].strides):
            _say(f"warning: a copy, for {_layout(ins[0])} is not contiguous: {_place()}")
        if were_finite and not is_finite(out) and (*user_line(), title) not in _places:
            _places.add((*user_line(), title))
            _say(f"warning: {title} of finite numbers gave a nan or inf: {_place()}")


def _place() -> str:
    return "{}:{}".format(*user_line())


def _layout(x: Any) -> str:
    return f"{tuple(x.shape)} strides {tuple(x.strides)} offset {x.offset}"


def is_finite(x: Any) -> bool:
    """Whether an operand has neither nan nor inf, by its max and min on the backend in use."""
    dtype = x.buf.dtype
    if not dtype.is_float or 0 in x.shape:
        return True
    rows, axes = registry.table(registry.current()), tuple(range(len(x.shape)))
    end = registry.Operand(type(x.buf).empty(1, dtype), (), (), 0)
    for name in ("max", "min"):
        if (name, dtype) in rows:
            emit(Step(name, dtype, end, (x,), {"axis": axes}))
            if not math.isfinite(end.buf[0]):
                return False
    return True


def summary() -> str:
    """The report that TUTOR_DEBUG prints when the process ends."""
    total = _time.total()
    shares = ", ".join(f"{title} {ns / total:.0%}" for title, ns in _time.most_common(6))
    return (
        f"tutor: {_calls.total():,} kernel calls, {total / 1e9:.3f} s in them: {shares or 'none'}\n"
        f"tutor: memory: {str(memory.stats()).replace(chr(10), ', ')}"
    )


def _level(text: str) -> int:
    if text not in ("", "0", "1", "2", "3"):
        raise DomainError(
            f"TUTOR_DEBUG={text!r}",
            "there are the levels 1, 2 and 3",
            "set it to one of those, or unset it to see nothing",
        )
    return int(text or 0)


LEVEL = _level(os.environ.get("TUTOR_DEBUG", ""))
if LEVEL:
    watch(functools.partial(observe, LEVEL)).__enter__()  # for the rest of the process
    atexit.register(lambda: print(summary(), file=sys.stderr))
    atexit.register(random.say_seed)
