"""The limits of an optimizer's settings."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

from tutor.errors import DomainError


class Limit(NamedTuple):
    """The values allowed for a setting: a number from `least` to `most`, or two of them."""

    words: str
    least: float
    most: float
    open: str  # which ends are excluded: "", "least", "most" or "both"
    example: str
    pair: bool = False  # is it two numbers?

    def allowed(self, number: float) -> bool:
        """Is it between `least` and `most`? nan never is."""
        above = number > self.least if self.open in ("least", "both") else number >= self.least
        below = number < self.most if self.open in ("most", "both") else number <= self.most
        return above and below

    def checked(self, asked: str, value: Any) -> Any:
        """The value as float or tuple of floats. DomainError if it is not allowed."""
        given = value if self.pair and isinstance(value, (tuple, list)) else (value,)
        numbers = [float_or_nan(v) for v in given]
        if len(numbers) != 1 + self.pair or not all(map(self.allowed, numbers)):
            raise DomainError(
                asked, f"it must be {self.words}", f"use, for example, {self.example}"
            )
        return tuple(numbers) if self.pair else numbers[0]


def float_or_nan(value: object) -> float:
    """A number as float; for anything else (bools and texts included) nan, which is in no range."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


RATE = Limit("a finite number of 0 or more", 0, math.inf, "most", "0.01")
# Above 1 the velocity grows by itself, whatever the gradients.
MOMENTUM = Limit("a number from 0 to 1", 0, 1, "", "0.9")
BETAS = Limit("two numbers, at least 0 and below 1", 0, 1, "most", "(0.9, 0.999)", True)
# With 0, the step of a parameter whose gradient was always 0 would be 0 / 0.
EPS = Limit("a finite number above 0", 0, math.inf, "both", "1e-8")
# The share of the old value in a running mean: with 1 the mean would never move.
SHARE = Limit("a number of at least 0 and below 1", 0, 1, "most", "0.99")


def flag(asked: str, value: object) -> bool:
    """True or False. DomainError for anything else, which Python would read as one of them."""
    if isinstance(value, bool):
        return value
    raise DomainError(f"{asked}={value!r}", "it must be True or False", "use one of the two")
