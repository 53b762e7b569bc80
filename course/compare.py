"""Comparing an answer with what it should be, and saying where they part."""

from __future__ import annotations

import array
import math
import numbers
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WIDTH = 240  # characters of a value that a verdict shows
DEPTH = 40  # levels of nesting that are looked at
NAMED = re.compile(r"<[\w.<>]*?(\w+) object at 0x\w+>")  # an address says nothing


@dataclass
class Difference:
    """Where two values part first, and by how much they differ at most."""

    text: str  # "at [1]: 2 instead of 1"
    largest: float | None = None  # None where it is not a matter of numbers


class Same(float):
    """No difference, or none but rounding: the largest one that was met."""


def short(value: Any, width: int = WIDTH) -> str:
    """repr(value), not too long, whatever its __repr__ does."""
    if isinstance(value, type | types.FunctionType):
        return value.__name__
    try:
        text = repr(value)
        if type(text) is not str:
            text = "".join(text)
    except RecursionError:
        text = f"<{type(value).__name__} that contains itself too deeply to be printed>"
    except Exception as error:
        text = f"<{type(value).__name__} whose __repr__ raises {type(error).__name__}>"
    text = NAMED.sub(r"<\1 object>", text)
    return text if len(text) <= width else f"{text[: width * 2 // 3]} ... {text[-width // 4 :]}"


def rounded(value: Any) -> Any:
    """Floats to six digits, in nests too: what a reader can compare."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list | tuple):
        return type(value)(map(rounded, value)) if type(value) in (list, tuple) else value
    return value


def legible(got: Any, expected: Any) -> tuple[Any, Any]:
    """Both to six digits, unless that hides the difference."""
    one, other = rounded(got), rounded(expected)
    return (one, other) if repr(one) != repr(other) else (got, expected)


def kind(value: Any) -> str:
    """What a value is, in words: "a list", "an int", "None"."""
    if value is None or value is Ellipsis:
        return repr(value)
    name = type(value).__name__
    if name == "bytes":
        return name
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def what(value: Any) -> str:
    """A value with its type, where the value does not show it."""
    if value is None or isinstance(value, bool | type | types.FunctionType):
        return short(value)
    return f"{short(value, 80)} ({kind(value)})"


def advice(value: Any) -> str:
    """What may have happened where the type of an answer surprises."""
    if value is None:
        return " (is there a `return`?)"
    if isinstance(value, types.GeneratorType):
        return " (a function with `yield` gives one; list(...) makes a list of it)"
    if isinstance(value, types.FunctionType | types.MethodType):
        return " (was it meant to be called?)"
    return ""


def plain(value: Any) -> Any:
    """Nested lists where the value can give them: tensors, arrays; any other value as it is."""
    if isinstance(value, type) or not hasattr(value, "tolist"):
        return value
    return value.tolist()


# ---- equal, and close ----------------------------------------------------------------------------


def equal(got: Any, expected: Any, signs: bool = False) -> Difference | Same:
    """The same value of the same type, to every depth. nan is nan; -0.0 is 0.0 unless `signs`."""
    return _first(_unequal(got, expected, "", signs))


def close(got: Any, expected: Any, rtol: float, atol: float) -> Difference | Same:
    """Numbers within atol + rtol * |expected|, in the same nesting; list or tuple is all one."""
    return _first(_apart(got, expected, "", rtol, atol))


def _first(found: Iterator[tuple[str, float | None]]) -> Difference | Same:
    """The first difference of all; a pair without text is one that is allowed."""
    text, largest, missing, allowed = "", 0.0, False, 0.0
    for words, size in found:
        if not words:
            allowed = max(allowed, size or 0.0)
            continue
        text = text or words
        missing = missing or size is None
        if size is not None and not size <= largest:  # nan is larger than any number
            largest = size
    if not text:
        return Same(allowed)
    return Difference(text, None if missing else largest)


def _unequal(
    got: Any, expected: Any, where: str, signs: bool, depth: int = 0
) -> Iterator[tuple[str, float | None]]:
    if got is expected:
        return
    if plain(expected) is not expected and plain(got) is not got:
        yield from _unequal(plain(got), plain(expected), where, signs, depth)
    elif type(got) is not type(expected):
        yield _at(where, f"{what(got)} instead of {what(expected)}{advice(got)}"), None
    elif isinstance(expected, float):
        zeros = got == expected and math.copysign(1, got) != math.copysign(1, expected)
        same = got == expected or (got != got and expected != expected)
        if not same or (signs and zeros):
            yield _at(where, f"{got!r} instead of {expected!r}"), abs(got - expected)
    elif isinstance(expected, complex | int) and not isinstance(expected, bool):
        if got != expected:
            yield _at(where, f"{short(got)} instead of {short(expected)}"), _size(got, expected)
    elif isinstance(expected, list | tuple | dict) and depth < DEPTH:
        yield from _items(got, expected, where, lambda g, e, w: _unequal(g, e, w, signs, depth + 1))
    elif not bool(expected == got):
        yield _at(where, f"{short(got)} instead of {short(expected)}"), None


def _apart(
    got: Any, expected: Any, where: str, rtol: float, atol: float, depth: int = 0
) -> Iterator[tuple[str, float | None]]:
    got, expected = plain(got), plain(expected)
    if isinstance(expected, numbers.Number) and not isinstance(expected, bool):
        if not isinstance(got, numbers.Number) or isinstance(got, bool):
            text = f"{what(got)} instead of the number {short(expected)}{advice(got)}"
            yield _at(where, text), None
        elif not (got == expected or (got != got and expected != expected)):
            size = _size(got, expected)
            within = math.isfinite(size) and size <= atol + rtol * _size(expected, 0)
            one, other = (got, expected) if within else legible(got, expected)
            words = "" if within else _at(where, f"{short(one)} instead of {short(other)}")
            yield words, size
    elif depth < DEPTH and any(
        isinstance(expected, nest) and isinstance(got, nest) for nest in (list | tuple, dict)
    ):
        yield from _items(
            got, expected, where, lambda g, e, w: _apart(g, e, w, rtol, atol, depth + 1)
        )
    else:
        yield from _unequal(got, expected, where, False, depth)


def _items(got: Any, expected: Any, where: str, compare: Any) -> Iterator[tuple[str, float | None]]:
    """The differences of two lists, tuples or dicts, item by item."""
    if isinstance(expected, dict):
        for key in expected:
            if key not in got:
                yield _at(where, f"{short(key)} is missing"), None
        for key in got:
            if key not in expected:
                yield _at(where, f"{short(key)} should not be there"), None
        for key in expected:
            if key in got:
                yield from compare(got[key], expected[key], f"{where}[{short(key)}]")
        return
    if len(got) != len(expected):
        items = "1 item" if len(got) == 1 else f"{len(got)} items"
        yield _at(where, f"{items} instead of {len(expected)}"), None
    for position, (one, other) in enumerate(zip(got, expected, strict=False)):
        yield from compare(one, other, f"{where}[{position}]")


def _at(where: str, words: str) -> str:
    return f"at {where}: {words}" if where else words


def _size(got: Any, expected: Any) -> float:
    """|got - expected|; inf where that is no number."""
    try:
        return float(abs(got - expected))
    except (OverflowError, TypeError, ValueError):
        return math.inf


# ---- was an argument changed? --------------------------------------------------------------------

FIXED = (
    *(type(None), type(...), bool, int, float, complex, str, bytes, range, type),
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
)


def snapshot(value: Any, depth: int = 8, seen: dict[int, Any] | None = None) -> Any:
    """What can be compared later, to see whether a value was changed meanwhile."""
    if isinstance(value, float):
        return repr(value)  # nan is nan, and -0.0 is not 0.0
    if isinstance(value, FIXED):
        return value
    seen = {} if seen is None else seen  # kept alive, so that no other object gets its id
    if depth == 0 or id(value) in seen:
        return id(value)
    seen[id(value)] = value
    if isinstance(value, array.array | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return type(value).__name__, [snapshot(item, depth - 1, seen) for item in value]
    if isinstance(value, dict):
        return [(id(key), snapshot(item, depth - 1, seen)) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return {id(item) for item in value}
    try:
        inside = vars(value)
    except TypeError:  # no __dict__
        inside = value.tolist() if hasattr(value, "tolist") else id(value)
    return type(value).__name__, snapshot(inside, depth - 1, seen)
