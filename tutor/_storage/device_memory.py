"""Memory on another device than the host, and what a device is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor.errors import DeviceError, TutorError


def is_elsewhere(memory: Any) -> bool:
    """Is it memory on another device than the host? A promise is none, on whatever device."""
    return hasattr(memory, "write") and hasattr(memory, "keep")


def said(error: BaseException) -> str:
    """An error of another library, on one line."""
    return f"{type(error).__name__} {error}".strip()


def failed(name: str, asked: str, error: BaseException) -> DeviceError:
    """The error for a device in which something went wrong."""
    do = "see whether the device is still there; what was on it may be lost"
    return DeviceError(f"{asked} on the device {name!r}", said(error), do)


def passes(error: Exception) -> bool:
    """Is it to be raised as it is? An error of ours is, and what a signal's handler has raised.
    Python runs a handler in the midst of any function, and hands it the frame of that function: so
    one is known in the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        for value in trace.tb_frame.f_locals.values():
            if any(x is frame for x in (value if type(value) is tuple else (value,))):
                return True
    return isinstance(error, TutorError)


def asked(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` of the device of that name. Whatever goes wrong there is an error of
    ours."""
    try:
        return function(*args)
    except Exception as error:
        if passes(error):
            raise
        raise failed(name, f"to {getattr(function, '__name__', 'work')}", error) from error
