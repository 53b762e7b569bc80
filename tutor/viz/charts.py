"""Numbers as curves, bars and histograms.

>>> curves({"train": [2.3, 0.9, 0.4], "test": [2.2, 1.0, 0.6]}, title="loss", x="epoch")
<Picture 'loss'>
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tutor._util.typing import Number, TensorLike
from tutor.errors import DataError, DTypeError
from tutor.methods.tensor import Tensor
from tutor.viz.axes import Frame, Point, apart, drawable, finite, labels, numbers_of, ticks
from tutor.viz.svg import (
    SERIES,
    Picture,
    fit,
    number,
    path,
    polyline,
    rect,
    short,
    tag,
    text,
    width_of,
)

# numbers, or points (x, y); by name if there are several series
Series: TypeAlias = TensorLike | Mapping[str, TensorLike]

WIDTH, MARGIN = 720, 24
MOST_POINTS = 1200  # a longer curve is drawn by the extremes of each stretch


def _named(data: Series, what: str) -> Mapping[str, Any]:
    """`data` as {name: values}; a plain list is one series without a name."""
    found = data if isinstance(data, Mapping) else {"": data}
    if not found:
        raise DataError(what, "nothing was given", 'give for example {"train": [1.0, 0.5]}')
    return {str(name): values for name, values in found.items()}


def _points(values: Any, what: str) -> list[Point]:
    """(x, y) of a series: its numbers at 0, 1, 2, ..., or the pairs as they are."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if values and all(isinstance(v, (tuple, list)) for v in values):
        flat = numbers_of(values, what)
        if any(len(v) != 2 for v in values):
            raise DTypeError(what, "not all of its points are pairs", "give numbers, or (x, y)")
        return list(zip(flat[::2], flat[1::2], strict=True))
    return [(float(i), v) for i, v in enumerate(numbers_of(values, what))]


def _thinned(points: list[Point]) -> list[Point]:
    """As many points as the eye can separate: the lowest and the highest of each stretch."""
    if len(points) <= MOST_POINTS:
        return points
    size = -(-len(points) // (MOST_POINTS // 2))
    kept = []
    for i in range(0, len(points), size):
        stretch = points[i : i + size]
        ends = {min(stretch, key=lambda p: p[1]), max(stretch, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _tag(name: str, value: float) -> str:
    """The label at the end of a line: a long name is cut, the value never."""
    return f"{fit(name, 150, 13, bold=True)} {short(value)}".strip()


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """The mean of each value and its neighbours, up to `window // 2` on either side.

    >>> running_mean([2.0, 4.0, 6.0, 8.0], 2)
    [3.0, 4.0, 6.0, 7.0]
    """
    sums = list(itertools.accumulate(values, initial=0.0))
    means, reach = [], window // 2
    for i in range(len(values)):
        first, end = max(0, i - reach), min(len(values), i + reach + 1)
        means.append((sums[end] - sums[first]) / (end - first))
    return means


def _band(piece: list[Point], window: int) -> list[Point]:
    """The outline of a curve's range: the highest of every `window` values, then the lowest, in
    reverse. A value on the border of two stretches belongs to both, so no peak is cut off."""
    starts = range(0, len(piece), max(window, -(-len(piece) // (MOST_POINTS // 2))))
    stretches = [piece[i : i + starts.step + 1] for i in starts]
    highest = [(s[0][0], max(y for _, y in s)) for s in stretches]
    lowest = [(s[0][0], min(y for _, y in s)) for s in stretches]
    end = piece[-1][0]
    return [*highest, (end, highest[-1][1]), (end, lowest[-1][1]), *reversed(lowest)]


def curves(
    series: Series, title: str = "", x: str = "", y: str = "", log: bool = False, smooth: int = 1
) -> Picture:
    """A line for each of {name: values}, labelled with its name and last value at its end.

    Values are numbers, drawn at 0, 1, 2, ..., or pairs (x, y). `log` makes the y-axis logarithmic.
    With `smooth=50` each line is a running mean of about 50 values, over a pale band of their
    range: for the losses of a training, which vary from step to step. Values that cannot be drawn
    (nan, infinity, with `log` also 0 and below) leave a gap and are counted below the picture.
    Raises DataError if nothing is left to draw, or for smooth < 1.
    """
    if not isinstance(smooth, int) or smooth < 1:
        raise DataError(f"curves(smooth={smooth!r})", "that is no number of values",
                        "give 1, for every value as it is, or more")  # fmt: skip
    title = title or y or "curves"
    drawn: dict[str, list[list[Point]]] = {}  # the pieces of each series between its gaps
    gone = 0
    for name, values in _named(series, "curves").items():
        pieces: list[list[Point]] = [[]]
        for px, py in _points(values, f"the curve {name!r}"):
            if drawable(px) and drawable(py) and (py > 0 or not log):
                pieces[-1].append((px, py))
            else:
                gone += 1
                pieces.append([])
        drawn[name] = [piece for piece in pieces if piece]
    every = [p for pieces in drawn.values() for piece in pieces for p in piece]
    ys = finite((p[1] for p in every), f"the curves {', '.join(drawn)}")
    xs = [p[0] for p in every]
    low, high = min(ys), max(ys)
    if log:
        room = (high / low) ** 0.04 if high > low else 2.0
        low, high = low / room, high * room
    else:
        room = (high - low) * 0.06
        low, high = (0.0 if 0 <= low < 0.4 * high else low - room), high + room

    ends = {name: _smoothed(pieces[-1], smooth)[-1] for name, pieces in drawn.items() if pieces}
    tags = {name: _tag(name, end[1]) for name, end in ends.items()}
    right = max(width_of(words, 13, bold=True) for words in tags.values()) + 26
    top = 56 + 22 * bool(y)
    frame = Frame(78, top, WIDTH - 78 - right, 360 - top - 62, (min(xs), max(xs)), (low, high), log)
    parts = [text(MARGIN, 34, fit(title, WIDTH - 2 * MARGIN, 15, bold=True), 15, weight=600)]
    parts.append(frame.grid(x, y, whole=all(v == int(v) for v in xs)))
    heights = apart([frame.y(end[1]) for end in ends.values()], 18)
    for k, (name, pieces) in enumerate(drawn.items()):
        stroke = SERIES[k % len(SERIES)]
        parts += [_line(piece, frame, k, smooth) for piece in pieces]
        if name in ends:
            ex, ey = frame.x(ends[name][0]), frame.y(ends[name][1])
            parts.append(tag("circle", cx=ex, cy=ey, r=3.5, fill=stroke))
            ly = heights[list(ends).index(name)]
            parts.append(text(frame.left + frame.width + 12, ly + 4.5, tags[name], 13, stroke,
                              weight=600))  # fmt: skip
    height = 360
    if gone:
        what = "nan, infinite or not above 0" if log else "nan or infinite"
        parts.append(text(MARGIN, height, f"{gone} values are {what} and left out", 12, "orange"))
        height += 20
    told = "\n".join(_told(name, pieces) for name, pieces in drawn.items() if pieces)
    return Picture("".join(parts), WIDTH, height, title, words=f"{title}\n{told}")


def _told(name: str, pieces: list[list[Point]]) -> str:
    """A description of a curve: its first and last, lowest and highest points."""
    points = [p for piece in pieces for p in piece]
    low, high = (end(points, key=lambda p: p[1]) for end in (min, max))
    (x0, y0), (x1, y1) = points[0], points[-1]
    return (
        f"{name + ': ' if name else ''}{y0:.4g} at {x0:g}, {y1:.4g} at {x1:g}; "
        f"lowest {low[1]:.4g} at {low[0]:g}, highest {high[1]:.4g} at {high[0]:g}"
    )


def _smoothed(piece: list[Point], window: int) -> list[Point]:
    """The piece of a curve, each value replaced by the mean of its neighbourhood."""
    means = running_mean([py for _, py in piece], window) if window > 1 else [y for _, y in piece]
    return [(px, mean) for (px, _), mean in zip(piece, means, strict=True)]


def _line(piece: list[Point], frame: Frame, k: int, smooth: int) -> str:
    """One piece of the k-th curve; if smoothed, over the band of its values."""
    stroke, dashes = SERIES[k % len(SERIES)], "6 4" if k >= len(SERIES) else None
    at = [(frame.x(px), frame.y(py)) for px, py in _thinned(_smoothed(piece, smooth))]
    if len(at) == 1:
        return tag("circle", cx=at[0][0], cy=at[0][1], r=3, fill=stroke)
    wide = 2 if len(at) < 300 or smooth > 1 else 1.2
    line = path(polyline(at), stroke, wide, stroke_linejoin="round", stroke_dasharray=dashes)
    if smooth == 1:
        return line
    outline = [(frame.x(px), frame.y(py)) for px, py in _band(piece, max(1, smooth // 5))]
    return tag("path", d=polyline(outline) + "Z", fill=stroke, fill_opacity=0.2) + line


def histogram(series: Series, bins: int = 40, title: str = "", x: str = "") -> Picture:
    """How often each size of number occurs: one histogram per series, above a common x-axis.

    Each is labelled with its mean, its standard deviation and its count of non-finite numbers.
    Heights are shares of the series. Raises DataError without a finite number, or for bins < 1.

        >>> histogram({"small": [0.1, 0.2, 0.2], "large": [0.9, 1.0]}, bins=4)
        <Picture 'histogram of small, large'>
    """
    if not isinstance(bins, int) or bins < 1:
        raise DataError(f"histogram(bins={bins!r})", "that is no number of bins", "give 1 or more")
    named = {name: numbers_of(values, f"the histogram of {name!r}")
             for name, values in _named(series, "histogram").items()}  # fmt: skip
    every = finite((v for values in named.values() for v in values), "a histogram")
    title = title or f"histogram of {', '.join(name for name in named if name) or 'values'}"
    side = min(160.0, max(width_of(name, 13, bold=True) for name in named) + 20)
    left, tall = MARGIN + max(side, 40.0), 84
    span = (min(every), max(every))
    frame = Frame(left, 52, WIDTH - left - 150, tall * len(named), span, (0, 1))
    low, high = frame.xs
    parts = [text(MARGIN, 34, fit(title, WIDTH - 2 * MARGIN, 15, bold=True), 15, weight=600)]
    bottom = frame.top + frame.height
    parts.append(_x_axis(frame, bottom, x))
    for k, (name, values) in enumerate(named.items()):
        counts, good = [0] * bins, [v for v in values if drawable(v)]
        for v in good:
            counts[min(int((v - low) / (high - low) * bins), bins - 1)] += 1
        most, wide = max(counts), frame.width / bins
        base, stroke = frame.top + tall * (k + 1) - 6, SERIES[k % len(SERIES)]
        d = "".join(
            f"M{number(left + i * wide + 0.5)} {number(base)}v{number(-(tall - 16) * c / most)}"
            f"h{number(max(wide - 1, 0.5))}V{number(base)}Z"
            for i, c in enumerate(counts)
            if c
        )
        parts.append(tag("path", d=d or f"M{number(left)} {number(base)}", fill=stroke))
        parts.append(path(f"M{number(left)} {number(base)}h{number(frame.width)}", "line", 1))
        parts.append(
            text(MARGIN, base - 4, fit(name, side - 8, 13, bold=True), 13, stroke, weight=600)
        )
        facts = [f"{len(good):,} numbers"]
        if good:
            mean = math.fsum(good) / len(good)
            std = math.sqrt(math.fsum((v - mean) ** 2 for v in good) / len(good))
            facts += [f"mean {short(mean)}", f"std {short(std)}"]
        if len(good) < len(values):
            facts.append(f"{len(values) - len(good):,} not finite")
        for i, words in enumerate(reversed(facts)):
            fill = "orange" if "not" in words else "soft"
            parts.append(text(frame.left + frame.width + 14, base - 3 - 16 * i, words, 12, fill))
    return Picture("".join(parts), WIDTH, bottom + 40 + 16 * bool(x), title)


def _x_axis(frame: Frame, y: float, name: str) -> str:
    """Ticks below the stack of histograms, with lines up through them."""
    at = ticks(*frame.xs, count=6)
    parts = []
    for t, words in zip(at, labels(at), strict=True):
        x = frame.x(t)
        parts.append(path(f"M{number(x)} {number(frame.top)}V{number(y)}", "frame", 1))
        parts.append(text(x, y + 16, words, 12, "soft", "middle"))
    if name:
        parts.append(text(frame.left + frame.width / 2, y + 36, name, 13, "soft", "middle"))
    return "".join(parts)


def bars(values: Mapping[str, Tensor | Number], unit: str = "", title: str = "") -> Picture:
    """A horizontal bar for each of {label: number}, in the given order, labelled with its number.

    Negative numbers go to the left; nan and infinity have no bar. DataError without any number.

        >>> bars({"naive": 0.4, "tiled": 9.5}, unit="GFLOP/s")
        <Picture 'naive 0.4 GFLOP/s, tiled 9.5 GFLOP/s'>
    """
    if not isinstance(values, Mapping) or not values:
        raise DataError("bars(...)", f"{values!r:.40}", 'give for example {"naive": 1.0}')
    names = [str(label) for label in values]
    sizes = numbers_of(list(values.values()), "bars")
    if len(sizes) != len(names):
        raise DTypeError("bars(...)", "a label has several numbers", "give one number per label")
    shown = [f"{short(v)} {unit}".strip() for v in sizes]
    name = title or ", ".join(f"{a} {b}" for a, b in zip(names, shown, strict=True))
    known = [v for v in sizes if drawable(v)] or [0.0]
    left = MARGIN + min(220.0, max(width_of(label, 13) for label in names)) + 14
    right = max(width_of(words, 13, bold=True) for words in shown) + 20
    room = right if min(known) < 0 else 0
    low, high = min(0.0, *known), max(0.0, *known)
    frame = Frame(
        left + room,
        0,
        WIDTH - left - room - right - 10,
        1,
        (low, high if high > low else low + 1),
        (0, 1),
    )
    top, step = (56 if title else 24), 38
    parts = (
        [text(MARGIN, 34, fit(title, WIDTH - 2 * MARGIN, 15, bold=True), 15, weight=600)]
        if title
        else []
    )
    zero = frame.x(0)
    for k, (label, value, words) in enumerate(zip(names, sizes, shown, strict=True)):
        y, end = top + k * step, frame.x(value) if drawable(value) else zero
        parts.append(text(left - 14, y + 19, fit(label, 220, 13), 13, anchor="end"))
        wide = max(abs(end - zero), 1.5 if drawable(value) and value else 0)
        if wide:
            parts.append(rect(min(end, zero), y + 2, wide, step - 14, SERIES[value < 0], rx=3))
        leftward = value < 0 and drawable(value)
        beside = end - 8 if leftward else end + 8
        parts.append(text(beside, y + 19, words, 13, "ink" if drawable(value) else "orange",
                          "end" if leftward else "start", 600))  # fmt: skip
    height = top + step * len(names)
    parts.append(path(f"M{number(zero)} {top - 4}V{number(height - 6)}", "line", 1.25))
    return Picture("".join(parts), WIDTH, height + 24, name)
