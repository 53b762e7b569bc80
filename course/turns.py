"""What the checks of exercises share: cases that take turns, and the forms of their tensors."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from course.judge import Judge

Steps = Iterator[None]  # a case that stops, by `yield`, where another one may come between

FORM = "of float32, and views: columns for rows, with gaps between"
GAP = 77.0  # what stands between the numbers of a view
_other_form = False


def take_turns(*cases: Steps) -> None:
    """Go through the cases together, a step of each in turn.

    So all of their objects live at the same time, and each is used again after the others: what an
    answer keeps in the class, and not in the object, is seen.
    """
    waiting = list(cases)
    while waiting:
        waiting = [case for case in waiting if next(case, waiting) is not waiting]


def scattered(t: Any) -> Any:
    """The same numbers as a view of a larger Buffer, in another order, with gaps between."""
    return _scattered(t, t.buf.dtype)


def _scattered(t: Any, dtype: str) -> Any:
    strides, step = [], 2
    for size in t.shape:
        strides.append(step)
        step *= max(size, 1)
    buf = type(t.buf)([GAP] * (step + 3), dtype)
    view = type(t)(buf, tuple(t.shape), tuple(strides), 3)
    view.fill(list(t.values()))
    view.requires_grad = t.requires_grad
    return view


def formed(t: Any) -> Any:
    """A tensor that a check is going to hand out, in the form that it has at the moment."""
    if not _other_form or math.prod(t.shape) == 0:
        return t
    return _scattered(t, "float32" if t.buf.dtype == "float64" else t.buf.dtype)


def in_forms(check: Callable[[Judge, Any], None]) -> Callable[[Judge, Any], None]:
    """The check, and once more with all tensors that it hands out, by `formed`, in another form."""

    @functools.wraps(check)
    def twice(judge: Judge, answer: Any) -> None:
        check(judge, answer)
        with _formed_otherwise(judge):
            check(judge, answer)

    return twice


@contextlib.contextmanager
def _formed_otherwise(judge: Judge) -> Iterator[None]:
    global _other_form
    _other_form = True
    judge.form, judge.rtol, judge.atol, judge.calls.last = FORM, 1e-3, 1e-4, None
    try:
        yield
        judge.form, judge.rtol, judge.atol = "", 0.0, 0.0
    finally:
        _other_form = False
