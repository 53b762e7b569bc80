"""What a setting of an optimizer may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

from tutor.errors import DomainError


class Limit(NamedTuple):
    """What a setting of an optimizer may be: a number that is `allowed`, or two of them."""

    words: str
    allowed: Callable[[float], bool]
    example: str
    pair: bool = False  # whether it is two numbers

    def checked(self, asked: str, value: Any) -> Any:
        """The value, as float or tuple of floats. DomainError for any other."""
        given = value if self.pair and isinstance(value, (tuple, list)) else (value,)
        numbers = [float_or_nan(v) for v in given]
        if len(numbers) != 1 + self.pair or not all(map(self.allowed, numbers)):
            raise DomainError(
                asked, f"it must be {self.words}", f"use, for example, {self.example}"
            )
        return tuple(numbers) if self.pair else numbers[0]


def float_or_nan(value: object) -> float:
    """A number as float; nan, which lies in no range, for what is none (bools and texts, too)."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


RATE = Limit("a finite number of 0 or more", lambda x: 0 <= x < math.inf, "0.01")
# Above 1 the velocity grows by itself, whatever the gradients are.
MOMENTUM = Limit("a number from 0 to 1", lambda x: 0 <= x <= 1, "0.9")
BETAS = Limit("two numbers, at least 0 and below 1", lambda x: 0 <= x < 1, "(0.9, 0.999)", True)
# With 0, a parameter whose gradient was always 0 would become 0 / 0.
EPS = Limit("a finite number above 0", lambda x: 0 < x < math.inf, "1e-8")
# Of a mean that is kept: with 1 it would never move.
SHARE = Limit("a number of at least 0 and below 1", lambda x: 0 <= x < 1, "0.99")


def flag(asked: str, value: object) -> bool:
    """True or False. DomainError for anything else, which would be taken for one of them."""
    if isinstance(value, bool):
        return value
    raise DomainError(f"{asked}={value!r}", "it must be True or False", "use one of the two")
