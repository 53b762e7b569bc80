"""Points in a plane, and lines through them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tutor.errors import DataError
from tutor.viz.axes import Frame, Point
from tutor.viz.fields import MARGIN, _area, _pairs
from tutor.viz.svg import (
    SERIES,
    Picture,
    fit,
    number,
    path,
    polyline,
    tag,
    text,
    width_of,
)

WIDTH, HEIGHT, HIGH = 560, 360, 18  # of the plane; of a line of the legend
MARKS = (  # for the first five series, the next five, and all others: a path around (0, 0)
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m0-5l5 5l-5 5l-5-5z",
    "m-3.5-3.5h7v7h-7z",
)


def scatter(
    points: Mapping[str, Any] | Any, lines: Mapping[str, Any] | None = None, title: str = "",
    x: str = "", y: str = "", log: bool = False,
) -> Picture:  # fmt: skip
    """The points [[x, y], ...] of each {name: points}, marked by colour and shape, and lines
    through the points of each {name: points} of `lines`. `log` makes both axes logarithmic.
    DataError without any point, or with `log` for one that is not above 0; ShapeError for points
    that are not finite pairs.

        >>> scatter({"a": [[0, 1], [1, 2]]}, {"through both": [[0, 1], [1, 2]]}, "two points")
        <Picture 'two points'>
    """
    series = points if isinstance(points, Mapping) else {"": points}
    placed = {str(name): _pairs(p) for name, p in series.items() if len(p)}
    through = {str(name): _pairs(p) for name, p in (lines or {}).items() if len(p)}
    every = [p for group in (placed, through) for pairs in group.values() for p in pairs]
    if not every:
        raise DataError("a picture of points", "there are none", "give at least one pair [x, y]")
    frame = Frame(MARGIN + 54, 52 + 22 * bool(y), WIDTH, HEIGHT, *_span(every, log), log, log)
    parts = [text(MARGIN, 34, fit(title, WIDTH + 60, 15, bold=True), 15, weight=600)]
    parts.append(frame.grid(x, y))
    names: list[tuple[str, str]] = []
    for k, (name, pairs) in enumerate(placed.items()):
        colour, mark = _look(k)
        d = "".join(_at(frame, p) + mark for p in pairs)
        parts.append(path(d, "paper", 1, fill=colour))
        names.append((name, tag("path", d=f"M0 0{mark}", fill=colour)))
    for k, (name, pairs) in enumerate(through.items(), len(placed)):
        colour = SERIES[k % len(SERIES)]
        way = polyline([(frame.x(px), frame.y(py)) for px, py in pairs])
        parts.append(path(way, colour, 2.5, stroke_linejoin="round"))
        names.append((name, path("M-7 0h14", colour, 2.5)))
    names = [(name, drawing) for name, drawing in names if name]
    left = frame.left + frame.width + 26
    for k, (name, drawing) in enumerate(names):
        top = frame.top + 14 + HIGH * k
        parts.append(tag("g", drawing, transform=f"translate({number(left)} {number(top)})"))
        parts.append(text(left + 14, top + 4.5, fit(name, 150, 13), 13))
    room = max((width_of(fit(name, 150, 13), 13) for name, _ in names), default=0.0)
    width = left + room + (34 if names else 0)
    return Picture("".join(parts), width, frame.top + HEIGHT + 50, title or "points")


def _span(every: list[Point], log: bool) -> tuple[Point, Point]:
    """The ranges of x and y, with a margin."""
    if not log:
        return _area(every)
    if below := [p for p in every if min(p) <= 0]:
        raise DataError("scatter(log=True)", f"the point {list(below[0])} is not above 0",
                        "leave it out, or use log=False")  # fmt: skip
    xs, ys = _area([(math.log10(px), math.log10(py)) for px, py in every])
    return (10.0 ** xs[0], 10.0 ** xs[1]), (10.0 ** ys[0], 10.0 ** ys[1])


def _look(k: int) -> tuple[str, str]:
    """Colour and marker of the k-th series."""
    return SERIES[k % len(SERIES)], MARKS[min(k // len(SERIES), len(MARKS) - 1)]


def _at(frame: Frame, point: Point) -> str:
    return f"M{number(frame.x(point[0]))} {number(frame.y(point[1]))}"
