"""Numbers over a plane: tables as heat maps, and a classifier's probability at each point.

>>> heatmap([[1, 2], [3, 4]], ["a", "b"], ["x", "y"], title="counts")
<Picture 'counts'>
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.viz.axes import Frame, Point, drawable, numbers_of
from tutor.viz.svg import (
    SERIES,
    Picture,
    fit,
    number,
    path,
    rect,
    short,
    tag,
    text,
    tint,
    width_of,
)

MARGIN, CELL_HIGH, SMALLEST, MOST_CELLS = 24, 34, 46, 4096
LEVELS = 10  # shades of a colour
# Opacity of the largest number: words on it need a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3).
STRONGEST, WORDLESS = 0.52, 0.85


def _rows(matrix: Any, what: str) -> list[list[Any]]:
    """A matrix as lists of equal length; a ShapeError names `what`."""
    matrix = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    tabular = isinstance(matrix, Iterable) and not isinstance(matrix, (str, bytes))
    rows = [list(row) if isinstance(row, (list, tuple)) else [row] for row in matrix] \
        if tabular else []  # fmt: skip
    if not rows or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ShapeError(what, "no rows of one length, of 1 or more", "give a list of equal rows")
    return rows


def _kind(k: int) -> tuple[str, float]:
    """(fill, opacity) of the k-th distinct word: first the pale colours, then stronger ones."""
    return [(tint(k), 1.0), (SERIES[k % 5], 0.32), (SERIES[k % 5], 0.46)][min(k // 5, 2)]


def heatmap(
    matrix: TensorLike | Sequence[Sequence[object]],
    row_labels: Sequence[object] | None = None,
    column_labels: Sequence[object] | None = None,
    title: str = "",
) -> Picture:
    """A table whose cells are shaded by size: blue above 0, orange below, "nan" without colour.

    Cells of text are coloured by their content, so that equal words stand out. Raises ShapeError if
    the rows or labels do not fit.
    """
    rows = _rows(matrix, "heatmap")
    high, wide = len(rows), len(rows[0])
    names = [[] if given is None else [str(label) for label in given]
             for given in (row_labels, column_labels)]  # fmt: skip
    for which, labels, count in (("row", names[0], high), ("column", names[1], wide)):
        if labels and len(labels) != count:
            raise ShapeError(f"heatmap with {len(labels)} {which} labels", f"{count} {which}s",
                             f"give one label per {which}, or none")  # fmt: skip
    if high * wide > MOST_CELLS:
        raise ShapeError(f"heatmap of {high} x {wide} cells", f"more than {MOST_CELLS}",
                         "give a part of it, or means over parts")  # fmt: skip
    values = [[v.item() if hasattr(v, "item") else v for v in row] for row in rows]
    sizes = [abs(v) for row in values for v in row if isinstance(v, (int, float))
             and math.isfinite(v)]  # fmt: skip
    largest = max(sizes, default=0.0) or 1.0
    words = [[v if isinstance(v, str) else short(v, 6) for v in row] for row in values]
    kinds = list(dict.fromkeys(v for row in values for v in row if isinstance(v, str)))
    crowded = wide > 24  # no room for words
    strongest = WORDLESS if crowded else STRONGEST
    longest = max(width_of(w, 12, mono=True) for row in words for w in row)
    column = 16.0 if crowded else max(SMALLEST, min(longest, 130) + 12)
    tall = 16.0 if crowded else CELL_HIGH
    left = MARGIN + (min(150, max(width_of(label, 12, mono=True) for label in names[0])) + 12
                     if names[0] else 0)  # fmt: skip
    slanted = any(width_of(label, 12, mono=True) > column - 4 for label in names[1])
    longest_name = max((width_of(label, 12, mono=True) for label in names[1]), default=0)
    top = (56 if title else 24) + (
        min(150, longest_name) * 0.75 + 12 if slanted else 20 if names[1] else 0
    )
    parts = [text(MARGIN, 34, title, 15, weight=600)] if title else []
    for j, label in enumerate(names[1]):
        x = left + (j + 0.5) * column
        turn = f"rotate(-45 {number(x)} {number(top - 8)})" if slanted else None
        label = fit(label, 150, 12, mono=True)
        parts.append(text(x, top - 8, label, 12, "soft", "start" if slanted else "middle",
                          mono=True, transform=turn))  # fmt: skip
    for i, row in enumerate(values):
        y = top + i * tall
        if names[0]:
            label = fit(names[0][i], left - MARGIN - 12, 12, mono=True)
            parts.append(text(left - 12, y + tall / 2 + 4, label, 12, "soft", "end", mono=True))
        for j, v in enumerate(row):
            x = left + j * column
            if isinstance(v, str):
                fill, strength = _kind(kinds.index(v))
            elif math.isfinite(v):
                fill, strength = "blue" if v >= 0 else "orange", strongest * abs(v) / largest
            else:
                fill, strength = "wash", 1.0
            gap = 1 if crowded else 2
            parts.append(rect(x + gap / 2, y + gap / 2, column - gap, tall - gap, fill, rx=3,
                              fill_opacity=None if strength == 1.0 else strength))  # fmt: skip
            if not crowded:
                shown = fit(words[i][j], column - 6, 12, mono=True)
                parts.append(text(x + column / 2, y + tall / 2 + 4.5, shown, 12, "ink", "middle",
                                  mono=True))  # fmt: skip
    overhang = min(150, longest_name) * 0.75 - column / 2 + 8 if slanted else 0
    width = left + wide * column + MARGIN + max(0, overhang)
    width = max(width, MARGIN * 2 + width_of(title, 15, bold=True), 220)
    return Picture("".join(parts), math.ceil(width), math.ceil(top + high * tall + MARGIN),
                   title or f"table of {high} x {wide}")  # fmt: skip


# ---- what a classifier thinks of each point ----------------------------------------------------


def _area(points: Sequence[Point]) -> tuple[Point, Point]:
    """The ranges of x and y of the points, with a margin of a tenth on each side."""
    spans = []
    for values in zip(*points, strict=True):
        room = 0.1 * (max(values) - min(values)) or 1.0
        spans.append((min(values) - room, max(values) + room))
    return spans[0], spans[1]


def mesh(points: TensorLike, size: int = 40) -> list[list[float]]:
    """The centres [x, y] of `size` x `size` cells over the area of the points, row by row from the
    lowest y: the inputs for a model whose outputs go to `boundary`.

        >>> len(mesh([[0.0, 0.0], [1.0, 2.0]], size=10))
        100
    """
    (x0, x1), (y0, y1) = _area(_pairs(points))
    steps = [(i + 0.5) / size for i in range(size)]
    return [[x0 + a * (x1 - x0), y0 + b * (y1 - y0)] for b in steps for a in steps]


def _pairs(points: TensorLike) -> list[Point]:
    rows = _rows(points, "the points of a plane")
    flat = numbers_of(rows, "the points of a plane")
    if len(rows[0]) != 2 or not all(map(drawable, flat)):
        raise ShapeError("the points of a plane", f"rows of {len(rows[0])}, or not finite",
                         "give a list of finite pairs [x, y]")  # fmt: skip
    return list(zip(flat[::2], flat[1::2], strict=True))


def boundary(
    points: TensorLike,
    labels: TensorLike,
    grid: TensorLike | Callable[[list[list[float]]], TensorLike],
    title: str = "decision boundary",
) -> Picture:
    """Points of two classes (labels 0 and 1) over the probability of class 1 in the plane.

    `grid` is a function from a list of [x, y] to as many probabilities, or the probabilities
    themselves, for the cells of `mesh(points, size)`: size * size of them, row by row from the
    lowest y. The line is where they cross 1/2. Raises ShapeError if the numbers of points, labels
    or cells do not fit.

        >>> boundary([[0, 0], [1, 1]], [0, 1], lambda cells: [0.5 * x + 0.25 for x, y in cells])
        <Picture 'decision boundary'>
    """
    at = _pairs(points)
    classes = numbers_of(labels, "the labels of points")
    if len(classes) != len(at) or not set(classes) <= {0.0, 1.0}:
        raise ShapeError(
            f"boundary of {len(at)} points and {len(classes)} labels",
            f"labels {sorted(set(classes))[:4]}",
            "give a 0 or 1 per point",
        )
    cells = numbers_of(grid(mesh(points)) if callable(grid) else grid, "the probabilities")
    size = math.isqrt(len(cells))
    if size * size != len(cells) or not size:
        raise ShapeError(f"boundary over {len(cells)} probabilities", "they fill no square",
                         "give one for each cell of mesh(points, size)")  # fmt: skip
    (x0, x1), (y0, y1) = _area(at)
    frame = Frame(62, 52, 434, 360, (x0, x1), (y0, y1))
    step_x, step_y = frame.width / size, frame.height / size
    parts = [text(MARGIN, 34, fit(title, 472, 15, bold=True), 15, weight=600)]
    shades: dict[tuple[str, int], list[str]] = {}
    for k, p in enumerate(cells):
        if not math.isfinite(p):
            continue
        level = round(LEVELS * 2 * abs(min(max(p, 0.0), 1.0) - 0.5))
        if level:
            x, y = frame.left + k % size * step_x, frame.top + (size - 1 - k // size) * step_y
            cell = f"M{number(x)} {number(y)}h{number(step_x)}v{number(step_y)}h{number(-step_x)}z"
            shades.setdefault(("orange" if p > 0.5 else "blue", level), []).append(cell)
    for (fill, level), paths in sorted(shades.items()):
        parts.append(tag("path", d="".join(paths), fill=fill, fill_opacity=0.42 * level / LEVELS,
                         shape_rendering="crispEdges"))  # fmt: skip
    line = "".join(
        f"M{number(frame.left + a * step_x)} {number(frame.top + frame.height - b * step_y)}"
        f"L{number(frame.left + c * step_x)} {number(frame.top + frame.height - d * step_y)}"
        for (a, b), (c, d) in _halves(cells, size)
    )
    parts.append(frame.grid())
    if line:
        parts.append(path(line, "ink", 2, stroke_linecap="round"))
    for (px, py), label in zip(at, classes, strict=True):
        x, y = frame.x(px), frame.y(py)
        if label:
            d = f"M{number(x)} {number(y - 5.5)}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"
            parts.append(tag("path", d=d, fill="orange", stroke="paper", stroke_width=1.25))
        else:
            parts.append(tag("circle", cx=x, cy=y, r=4.25, fill="blue", stroke="paper",
                             stroke_width=1.25))  # fmt: skip
    low = frame.top + frame.height + 46
    parts.append(
        tag("circle", cx=68, cy=low - 4, r=4.25, fill="blue") + text(80, low, "class 0", 12)
    )
    parts.append(
        tag("path", d=f"M148 {number(low - 9.5)}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", fill="orange")
    )
    parts.append(text(160, low, "class 1", 12))
    parts.append(text(496, low, "stronger: surer", 12, "soft", "end"))
    return Picture("".join(parts), 520, low + 24, title)


def _halves(cells: Sequence[float], size: int) -> Iterable[tuple[Point, Point]]:
    """The line of probability 1/2, in pieces (marching squares): each square between the centres of
    four cells contributes a line between the sides that are crossed."""
    for b in range(size - 1):
        for a in range(size - 1):
            corners = [(a, b), (a + 1, b), (a + 1, b + 1), (a, b + 1)]
            heights = [cells[y * size + x] - 0.5 for x, y in corners]
            if not all(map(math.isfinite, heights)):
                continue
            crossed = []
            for n in range(4):
                (xa, ya), (xb, yb) = corners[n], corners[(n + 1) % 4]
                ha, hb = heights[n], heights[(n + 1) % 4]
                if (ha < 0) != (hb < 0):
                    t = ha / (ha - hb)
                    crossed.append((xa + t * (xb - xa) + 0.5, ya + t * (yb - ya) + 0.5))
            yield from zip(crossed[::2], crossed[1::2], strict=True)
