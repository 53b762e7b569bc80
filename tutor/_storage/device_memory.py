"""Memory on devices other than the host: who provides it, and calls to such a device."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn

from tutor._util.hooks import Hook
from tutor._util.typing import Walked
from tutor.errors import DeviceError, TutorError

CPU = "cpu"  # the host

# ---- hook: who provides memory -------------------------------------------------------------------


def _on_host(name: Any = None, like: Any = None) -> str:
    return _unknown(name) if name not in (None, CPU) else CPU


def _unknown(name: Any, *_: Any) -> NoReturn:
    found = "no device but the host, 'cpu', is known here"
    raise DeviceError(f"device={name!r:.60}", found, "leave it out; `import tutor` knows more")


class Devices(Hook):
    """What the trunk asks about devices, and the answers while there is only the host."""

    of: Callable[..., str] = staticmethod(_on_host)  # of(name, like): "kind:index", or the default
    named: tuple[type, ...] = ()  # classes that are accepted in place of a name
    in_use: Collection[Any] = ()  # the kinds of devices in use, besides the host
    common: Callable[[str, Any], str] = staticmethod(_unknown)  # of a call, if some are in use
    empty: Callable[..., Any] = staticmethod(lambda count, dtype, name: _unknown(name))  # memory
    table: Callable[[str], Any] = staticmethod(_unknown)  # a device's kernels
    kinds: Callable[[], Collection[str]] = tuple  # those that there may be


devices = Devices()  # tutor/backends/transfers.py answers for all others


# ---- memory on a device --------------------------------------------------------------------------


def common(what: str, operands: Any) -> str:
    """The device of a call's operands. DeviceError if they are on two."""
    return devices.common(what, operands) if devices.in_use else CPU


def is_constant(x: Walked) -> bool:
    """Is x a single number in host memory? It may be combined with operands on any device, as it is
    passed by value."""
    alone = all(s == 0 or n == 1 for n, s in zip(x.shape, x.strides, strict=True))
    return alone and 0 not in x.shape and x.buf.device == CPU


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
