"""Parameters: which ones an op takes, and the values allowed for each name.

An axis is not checked here, since that depends on the shapes (shape_rules.counted_axis), nor are
the parameters of a view, which its own layout checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor import dtype as dtypes
from tutor._storage.layout import checked_shape, positive
from tutor._util import checks
from tutor.errors import ArgumentError, DomainError, NumberRangeError, ShapeError


def _count(what: str, value: Any) -> int:
    return positive(value, what)


def _pair(what: str, value: Any) -> tuple[int, ...]:
    found = checked_shape(value, what)
    if len(found) != 2:
        raise ShapeError(what, f"{len(found)} sizes", "give two: (3, 3)")
    return found


def _number(what: str, value: Any) -> Any:
    try:
        float(checks.number(what, value))
    except OverflowError:
        raise NumberRangeError(what, "no float can hold it", "give a smaller number") from None
    return value


def _at_least_0(what: str, value: Any) -> float:
    return float(checks.number(what, _number(what, value), 0, nan=False))


def _chance(what: str, value: Any) -> float:
    chance = float(checks.number(what, value, 0, 1, nan=False))
    if chance == 1:
        raise DomainError(what, f"{value}: nothing stays", "give a number below 1")
    return chance


def _dtype(what: str, value: Any) -> dtypes.DType:
    return dtypes.of(value)


KINDS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w", "groups"), _count),
    "size_h": _count, "size_w": _count, "size": _pair, "scale": _number,
    "eps": _at_least_0, "p": _chance,
    "dtype": _dtype,
}  # fmt: skip


def check(op: Any) -> None:
    """Raise ArgumentError for a parameter that is unknown or missing, another TutorError for a
    value that the kernel, or the rule of its form, cannot use."""
    params = op.params
    if op.accepts is not None and not op.accepts.issuperset(params):
        wrong = next(n for n in params if n not in op.accepts)
        raise ArgumentError(
            f"{op.name}({wrong}=...)",
            f"there is no parameter {wrong!r}",
            f"its parameters are {', '.join(sorted(op.accepts)) or 'none'}",
        )
    if missing := sorted(op.required - params.keys()):
        raise ArgumentError(
            f"{op.name} without {', '.join(missing)}",
            f"it was given {', '.join(params) or 'no parameters'}",
            f"write apply({op.name!r}, ..., {', '.join(f'{n}=...' for n in missing)})",
        )
    for name in op.checked:
        params[name] = KINDS[name](f"{op.name}({name}=...)", params[name])
