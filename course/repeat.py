"""A call that is made once more, after another one: what it gives must not depend on that.

What an answer keeps where all share it (in its class, in a global name, in a default argument, in a
cache whose key says too little) is right as long as each call is the latest. So after each call the
judge makes the one before again, with what it was given then, and compares.
"""

from __future__ import annotations

import array
import random
import time
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from course.compare import Difference, close, short

MOST = 40  # calls that are made again in one check
LONG, IN_ALL = 0.3, 0.8  # seconds of computing that one of them, and all of them, may take
LARGE = 10_000  # numbers: a larger tensor is not looked at
DEPTH = 8
PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
NAMED = (type, FunctionType, BuiltinFunctionType, ModuleType, range)


class UnclearError(Exception):
    """A value of which nobody can say whether it is the same as another."""


def told(value: Any, depth: int = DEPTH) -> Any:
    """What a result says: numbers, texts, tensors, and nests of these."""
    if isinstance(value, PLAIN):
        return value
    if all(hasattr(value, name) for name in ("buf", "shape", "tolist")):
        if value.numel() > LARGE:
            raise UnclearError
        return [tuple(value.shape), str(value.buf.dtype), value.tolist()]
    if isinstance(value, list | tuple) and depth:
        return [told(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth:
        return {repr(key): told(item, depth - 1) for key, item in value.items()}
    raise UnclearError


def state(value: Any, depth: int = DEPTH) -> Any:
    """What a result may depend on: the values in the arguments, and in an object that is called."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, NAMED) or not depth:
        return id(value)
    if isinstance(value, MethodType):
        return id(value.__func__), state(value.__self__, depth - 1)
    if isinstance(value, bytearray | array.array | memoryview):
        return bytes(value)
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, list | tuple):
        return [state(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return [(repr(key), state(item, depth - 1)) for key, item in value.items()]
    if hasattr(value, "buf"):  # without asking it, which may be counted
        return state([value.shape, value.strides, value.offset, _raw(value.buf)])
    return id(value), state(getattr(value, "__dict__", None), depth - 1)


def _raw(buf: Any) -> bytes:
    raw = memoryview(buf.raw).cast("B")
    if len(raw) > 8 * LARGE:
        raise UnclearError
    return bytes(raw)


@dataclass
class Call:
    """A call, what it depended on, and what it gave."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    words: str  # as a learner would write it
    before: Any = None
    drawn: Any = field(default_factory=random.getstate)
    gave: Any = None
    result: Any = None
    began: float = 0.0

    def make(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def state(self) -> Any:
        return state([self.function, self.args, self.kwargs])

    def changed(self, before: Any) -> dict[str, str]:
        """Rows of a verdict if its result is another one now than it was before."""
        now = told(self.result)
        if isinstance(close(now, before, 0.0, 0.0), Difference):
            return {"its result now": short(_bare(now)), "before": short(_bare(before))}
        return {}

    def once_more(self) -> dict[str, str]:
        """Make it again, with the same random numbers; rows of a verdict if it gives another."""
        drawn = random.getstate()
        random.setstate(self.drawn)
        try:
            got = told(self.make())
        except UnclearError:
            return {}
        except Exception as error:
            return {"raised": f"{type(error).__name__}: {error}"}
        finally:
            random.setstate(drawn)
        if isinstance(close(got, self.gave, 1e-4, 1e-6), Difference):
            return {"got": short(_bare(got)), "at first": short(_bare(self.gave))}
        return {}


def _bare(value: Any) -> Any:
    """The numbers alone, of a tensor that was told."""
    is_told = isinstance(value, list) and len(value) == 3 and isinstance(value[0], tuple)
    return value[2] if is_told else value


class Calls:
    """The calls of a check that can be made again."""

    def __init__(self) -> None:
        self.last: Call | None = None
        self.said: Any = None  # by the result of the last one, right before the next
        self.count, self.spent = 0, 0.0

    def begin(self, call: Call) -> bool:
        """Note what it depends on, and whether that can be told."""
        if self.count >= MOST or self.spent > IN_ALL:
            return False
        try:
            call.before = call.state()
            self.said = told(self.last.result) if self.last else None
        except Exception:
            return False
        call.began = time.process_time()
        return True

    def end(self, call: Call, result: Any) -> tuple[Call, Any] | None:
        """Keep the call. The one before, if it can be made again now, with what it had said."""
        try:
            took = time.process_time() - call.began
            call.gave, call.result = told(result), result
            keep = took < LONG and call.state() == call.before  # it has changed nothing
            earlier = self.last
            again = earlier is not None and earlier.state() == earlier.before
        except Exception:
            return None
        self.last = call if keep else None
        self.count, self.spent = self.count + again, self.spent + took
        return (earlier, self.said) if earlier and again else None
