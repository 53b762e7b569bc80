"""Line search: a step length along a direction that satisfies the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tutor.methods.tensor import Tensor

# Sufficient decrease, and a clearly flatter slope: the constants of Nocedal & Wright (2006, page
# 62) for quasi-Newton directions.
ENOUGH, FLATTER = 1e-4, 0.9
CLOSE = 1e-9  # points whose parameters differ by less count as one


class Point(NamedTuple):
    """A trial: its distance along the direction, and the loss and gradient there."""

    t: float
    value: float  # the loss
    slope: float  # its derivative along the direction
    gradient: Tensor


Look = Callable[[float], Point]


def cubic_minimum(a: Point, b: Point, least: float, most: float) -> float:
    """The minimum of the cubic through the values and slopes of two points, clamped to `least` ...
    `most`; the middle of these if it has none (Nocedal & Wright, formula 3.59)

    d = a' + b' - 3 (a - b) / (t_a - t_b);  e = sqrt(d² - a' b')
    t = t_b - (t_b - t_a) (b' + e - d) / (b' - a' + 2 e)   for t_a < t_b
    """
    a, b = (a, b) if a.t <= b.t else (b, a)
    found = math.nan
    if a.t < b.t:
        d = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
        square = d * d - a.slope * b.slope
        if square >= 0:
            e = math.sqrt(square)
            below = b.slope - a.slope + 2 * e
            if below != 0:
                found = b.t - (b.t - a.t) * ((b.slope + e - d) / below)
    return min(max(found, least), most) if math.isfinite(found) else (least + most) / 2


def strong_wolfe(look: Look, start: Point, t: float, longest: float, most: int = 25) -> Point:
    """A point t > 0 along a direction with

    f(t) <= f(0) + 1e-4 t f'(0)   and   |f'(t)| <= 0.9 |f'(0)|

    (Nocedal & Wright, algorithms 3.5 and 3.6), or the best point found: after the first trial there
    are up to `most` others. `look(t)` evaluates, `start` is the point t = 0, where f' < 0, and t is
    the first trial. It also ends when the interval times `longest`, the largest number of the
    direction, is below 1e-9.

    A value that is nan or infinite counts as too high: the step was too long.
    """
    before, now, trials = start, look(t), 0
    while trials < most:
        if too_high(now, start) or (trials > 1 and now.value >= before.value):
            return zoomed(look, start, before, now, most - trials, longest)
        if abs(now.slope) <= -FLATTER * start.slope:
            return now
        if now.slope >= 0:
            return zoomed(look, start, before, now, most - trials, longest)
        ahead = cubic_minimum(before, now, now.t + 0.01 * (now.t - before.t), 10 * now.t)
        before, now, trials = now, look(ahead), trials + 1
    return start if start.value <= now.value else now


def too_high(point: Point, start: Point) -> bool:
    """Is the decrease insufficient? A value of nan always is."""
    return not point.value <= start.value + ENOUGH * point.t * start.slope


def zoomed(look: Look, start: Point, low: Point, high: Point, most: int, longest: float) -> Point:
    """A point that satisfies the strong Wolfe conditions between `low` and `high`, which bracket
    one. low has the smaller value; both come closer in up to `most` trials."""
    low, high = (high, low) if high.value < low.value else (low, high)
    at_edge = False  # was the last trial near an end of the interval?
    while most > 0 and abs(high.t - low.t) * longest >= CLOSE:
        left, right = sorted((low.t, high.t))
        t, margin = cubic_minimum(low, high, left, right), 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (at_edge or not left < t < right):  # else it would converge too slowly
            t, near = (right - margin if right - t < t - left else left + margin), False
        at_edge = near
        now, most = look(t), most - 1
        if too_high(now, start) or now.value >= low.value:
            low, high = (now, low) if now.value < low.value else (low, now)
            continue
        if abs(now.slope) <= -FLATTER * start.slope:
            return now
        low, high = now, (low if now.slope * (high.t - low.t) >= 0 else high)
    return low
