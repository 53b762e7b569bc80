"""Memory on devices other than the host, and calls to such a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor.errors import DeviceError, TutorError


def is_elsewhere(memory: Any) -> bool:
    """Is it memory on a device other than the host? A promise is not, on whatever device."""
    return hasattr(memory, "write") and hasattr(memory, "keep")


def said(error: BaseException) -> str:
    """Another library's error on one line."""
    return f"{type(error).__name__} {error}".strip()


def failed(name: str, asked: str, error: BaseException) -> DeviceError:
    """The error for a failure on a device."""
    do = "see whether the device is still there; what was on it may be lost"
    return DeviceError(f"{asked} on the device {name!r}", said(error), do)


def passes(error: Exception) -> bool:
    """Should the error be raised unchanged? Yes for tutor's own errors and for those raised by a
    signal handler. Python runs a handler in the middle of any function and passes it that
    function's frame, which identifies the handler in the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        for value in trace.tb_frame.f_locals.values():
            if any(x is frame for x in (value if type(value) is tuple else (value,))):
                return True
    return isinstance(error, TutorError)


def asked(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the device `name`. Its failures are raised as tutor's DeviceError, except
    those that pass unchanged."""
    try:
        return function(*args)
    except Exception as error:
        if passes(error):
            raise
        raise failed(name, f"to {getattr(function, '__name__', 'work')}", error) from error
