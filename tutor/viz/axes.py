"""Axes: round ticks, linear or logarithmic, and the frame that a curve is drawn in."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from tutor.errors import DataError, DTypeError
from tutor.viz.svg import number, path, text, width_of

Point = tuple[float, float]


def numbers_of(data: Any, what: str) -> list[float]:
    """A (nested) list, an array or a Tensor as a flat list of floats; a DTypeError names `what`."""
    flat: list[float] = []
    waiting = [data.tolist() if hasattr(data, "tolist") else data]
    while waiting:
        item = waiting.pop()
        item = item.item() if hasattr(item, "item") else item
        if isinstance(item, (int, float)):
            flat.append(float(item))
        elif isinstance(item, Iterable) and not isinstance(item, (str, bytes, dict)):
            waiting += reversed(list(item))
        else:
            raise DTypeError(what, f"{item!r:.40} is no number", "give numbers")
    return flat


def drawable(value: float) -> bool:
    """Not nan or infinite, nor so large that the difference of two could overflow."""
    return abs(value) < 1e300


def finite(values: Iterable[float], what: str) -> list[float]:
    """The drawable values; a DataError if there are none."""
    found = [v for v in values if drawable(v)]
    if not found:
        raise DataError(what, "there is no finite number to be drawn", "give at least one")
    return found


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers (1, 2 or 5 times a power of ten apart) from low to high."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from low to high; for a short span also 2 and 5 times these."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    times = (1,) if math.log10(high / low) > 2.6 else (1, 2, 5)
    every = max(1, (last - first) // 6)
    found = [m * 10.0**k for k in range(first, last + 1, every) for m in times]
    return [t for t in found if low * 0.999 <= t <= high * 1.001] or [low, high]


def labels(at: Sequence[float]) -> list[str]:
    """The ticks as text, with enough digits to tell them apart."""
    step = min((abs(b - a) for a, b in pairwise(at)), default=abs(at[0]) or 1.0)
    largest = max(map(abs, at))
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    plain = [f"{0.0 if abs(t) < step / 2 else t:,.{digits}f}" for t in at]
    if max(map(len, plain)) <= 8 and (largest >= 1e-3 or not largest):
        return plain
    needed = math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9) + 1
    return [_power(t, needed) for t in at]


def _power(t: float, digits: int = 2) -> str:
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{t:.{max(digits, 1)}g}")


class Frame:
    """A rectangle of the page, and the mapping of numbers into it."""

    def __init__(self, left: float, top: float, width: float, height: float,
                 xs: Point, ys: Point, log: bool = False, log_x: bool = False) -> None:  # fmt: skip
        self.left, self.top, self.width, self.height = left, top, width, height
        self.log, self.log_x = log, log_x
        self.xs = _widened((math.log10(xs[0]), math.log10(xs[1])) if log_x else xs)
        self.ys = _widened((math.log10(ys[0]), math.log10(ys[1])) if log else ys)

    def x(self, value: float) -> float:
        low, high = self.xs
        value = math.log10(value) if self.log_x else value
        return self.left + self.width * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.ys
        value = math.log10(value) if self.log else value
        return self.top + self.height * (high - value) / (high - low)

    def grid(self, x_name: str = "", y_name: str = "", whole: bool = False) -> str:
        """Ticks, their lines across the frame, and the names of the axes."""
        parts, low = [], self.top + self.height
        if self.log_x:
            at, shown = _log_marks(self.xs)
        else:
            at = ticks(*self.xs, count=max(2, int(self.width // 90)))
            at = [t for t in at if not whole or t == int(t)] or [self.xs[0]]
            shown = labels(at)
        for t, words in zip(at, shown, strict=True):
            x = self.x(t)
            parts.append(path(f"M{number(x)} {number(low)}v5", "line", 1))
            x = min(x, self.left + self.width + 20 - width_of(words, 12) / 2)
            parts.append(text(x, low + 19, words, 12, "soft", "middle"))
        if self.log:
            at, shown = _log_marks(self.ys)
        else:
            at = ticks(*self.ys, count=max(2, int(self.height // 45)))
            shown = labels(at)
        for t, words in zip(at, shown, strict=True):
            y = self.y(t)
            parts.append(path(f"M{number(self.left)} {number(y)}h{number(self.width)}", "frame", 1))
            right = max(self.left - 8, width_of(words, 12) + 4)  # never outside the picture
            parts.append(text(right, y + 4, words, 12, "soft", "end"))
        parts.append(path(f"M{number(self.left)} {number(low)}h{number(self.width)}", "line", 1.25))
        if x_name:
            parts.append(text(self.left + self.width / 2, low + 40, x_name, 13, "soft", "middle"))
        if y_name:
            parts.append(text(self.left, self.top - 12, y_name, 13, "soft"))
        return "".join(parts)


def _log_marks(span: Point) -> tuple[list[float], list[str]]:
    """The ticks of a logarithmic axis between two powers of ten, and their text."""
    at = log_ticks(10.0 ** span[0], 10.0 ** span[1])
    return at, [f"{t:g}" if 1e-3 <= t < 1e5 else _power(t) for t in at]


def _widened(span: Point) -> Point:
    """A span that is not empty, so that it can be divided by."""
    low, high = span
    if high > low:
        return span
    room = abs(low) * 0.1 or 1.0
    return low - room, high + room


def apart(wishes: Sequence[float], gap: float) -> list[float]:
    """Heights close to the wished ones, in the same order, with at least `gap` between any two."""
    order = sorted(range(len(wishes)), key=lambda k: wishes[k])
    at = [wishes[k] for k in order]
    for _ in range(len(at)):
        for i in range(len(at) - 1):
            short = gap - (at[i + 1] - at[i])
            if short > 0:
                at[i], at[i + 1] = at[i] - short / 2, at[i + 1] + short / 2
    found = [0.0] * len(wishes)
    for k, y in zip(order, at, strict=True):
        found[k] = y
    return found
