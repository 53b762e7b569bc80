"""Broadcasting: two shapes aligned at the right, the stretched axes, and the result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.viz.svg import Picture, fit, rect, short, text, width_of

MARGIN, BOX, HIGH, GAP = 24, 62, 34, 8  # of the row of sizes
CELL, LOW, ROOM = 44, 30, 40  # a cell of a grid, and the room between two grids
MOST_AXES, MOST_CELLS = 6, 8

Shape = tuple[int, ...]


def broadcast(
    a: TensorLike | Sequence[int],
    b: TensorLike | Sequence[int],
    f: Callable[[float, float], float] | None = None,
) -> Picture:
    """Two shapes, aligned at the right, with each 1 stretched to the other's size on that axis.

    `a` and `b` are shapes (tuples), or tensors. Up to two axes of up to 8 are also drawn as cells:
    cells in memory are filled, repeated reads are not. With `f`, a function of two numbers, the
    cells of the result show its values. Sizes that do not fit are marked, and there is no result.
    Raises ShapeError for more than 6 axes, and for invalid sizes.

        >>> broadcast((4, 1), (3,))
        <Picture '(4, 1) and (3,) give (4, 3)'>
        >>> broadcast((4, 3), (4,))
        <Picture '(4, 3) and (4,) do not fit: axis -1 has sizes 3 and 4'>
    """
    shapes = _shape_of(a), _shape_of(b)
    axes = max(map(len, shapes))
    columns = [(_size(shapes[0], axis), _size(shapes[1], axis)) for axis in range(-axes, 0)]
    sizes = [(1 if m is None else m, 1 if n is None else n) for m, n in columns]
    misfits = [m != n and 1 not in (m, n) for m, n in sizes]
    result = None if any(misfits) else tuple(n if m == 1 else m for m, n in sizes)
    if result is None:
        axis = max(i for i, misfit in enumerate(misfits) if misfit)
        where = f"axis {axis - len(sizes)} has sizes {sizes[axis][0]} and {sizes[axis][1]}"
        title = f"{shapes[0]} and {shapes[1]} do not fit: {where}"
    else:
        title = f"{shapes[0]} and {shapes[1]} give {result}"
    parts = [text(MARGIN, 34, title, 15, weight=600)]
    parts += _table(columns, sizes, misfits, result)
    wide = max(MARGIN * 2 + width_of(title, 15, bold=True), 2 * MARGIN + 150.0 + axes * BOX)
    high: float = 64 + 20 + 3 * (HIGH + GAP) + MARGIN + 8
    if axes <= 2 and all(n <= MOST_CELLS for shape in shapes for n in shape):
        cells, right, bottom = _grids((a, b), shapes, result, f, high)
        parts += cells
        wide, high = max(wide, right + MARGIN), bottom + MARGIN
    return Picture("".join(parts), math.ceil(wide), math.ceil(high), title)


def _shape_of(value: Any) -> Shape:
    shape = getattr(value, "shape", value)
    if (
        not isinstance(shape, tuple | list)
        or len(shape) > MOST_AXES
        or not all(isinstance(n, int) and n >= 0 for n in shape)
    ):
        raise ShapeError(
            "broadcast(a, b) of what is drawn",
            f"{value!r:.60} is neither a tensor nor a shape of up to {MOST_AXES} axes",
            "give shapes such as (4, 1) and (3,), or tensors",
        )
    return tuple(shape)


def _size(shape: Shape, axis: int) -> int | None:
    """The size of an axis counted from the right; None beyond the shape's first axis."""
    return shape[axis] if -axis <= len(shape) else None


def _table(columns: list[tuple[int | None, int | None]], sizes: list[tuple[int, int]],
           misfits: list[bool], result: Shape | None) -> Iterator[str]:  # fmt: skip
    """A box for each size: columns for the axes; rows for a, b and the result."""
    left, top = MARGIN + 74, 64 + 20
    for row, name in enumerate(("a", "b", "result")):
        y = top + row * (HIGH + GAP) + HIGH / 2 + 5
        yield text(MARGIN, y, name, 13, "soft", weight=600)
    for i, (given, pair) in enumerate(zip(columns, sizes, strict=True)):
        x = left + i * BOX
        yield text(x + BOX / 2 - 4, top - 10, f"axis {i - len(sizes)}", 11, "soft", "middle")
        for row, (size, n) in enumerate(zip(given, pair, strict=True)):
            y, other = top + row * (HIGH + GAP), pair[1 - row]
            grows = n == 1 and other != 1
            fill = "orange wash" if grows else "blue wash" if size is not None else "paper"
            stroke = "red" if misfits[i] else "line"
            dashes = "4 3" if size is None else None
            yield rect(x, y, BOX - GAP, HIGH, fill, stroke=stroke, stroke_dasharray=dashes,
                       stroke_width=2 if misfits[i] else 1)  # fmt: skip
            words = f"{n} → {other}" if grows and not misfits[i] else str(n)
            ink = "red" if misfits[i] else "soft" if size is None else "ink"
            yield text(x + (BOX - GAP) / 2, y + 22, fit(words, BOX - GAP, 13, mono=True), 13, ink,
                       "middle", mono=True)  # fmt: skip
        y = top + 2 * (HIGH + GAP)
        words = "no" if misfits[i] else str(result[i]) if result is not None else "…"
        fill = "paper" if misfits[i] else "green wash" if result is not None else "wash"
        yield rect(x, y, BOX - GAP, HIGH, fill, stroke="red" if misfits[i] else "line")
        yield text(x + (BOX - GAP) / 2, y + 22, fit(words, BOX - GAP, 13, mono=True), 13,
                   "red" if misfits[i] else "ink", "middle", 600, mono=True)  # fmt: skip


def _numbers(value: Any) -> list[list[Any]] | None:
    """The numbers of a tensor as rows; None for a shape, which has no numbers."""
    if not hasattr(value, "tolist"):
        return None
    found = value.tolist()
    found = found if isinstance(found, list) else [found]
    return found if found and isinstance(found[0], list) else [found]


def _grids(
    values: tuple[Any, Any],
    shapes: tuple[Shape, Shape],
    result: Shape | None,
    f: Callable[[float, float], float] | None,
    top: float,
) -> tuple[list[str], float, float]:
    """a, b and the result as cells, side by side: (markup, right end, lower end)."""
    parts: list[str] = []
    left, bottom = float(MARGIN), top
    rows_of = [_numbers(value) for value in values]
    target = None if result is None else (1,) * (2 - len(result)) + result
    for k, (shape, rows) in enumerate(zip(shapes, rows_of, strict=True)):
        own = (1,) * (2 - len(shape)) + shape
        high, wide = target or own
        parts.append(text(left, top - 8, "ab"[k], 13, "soft", weight=600))
        for i in range(high):
            for j in range(wide):
                there = i < own[0] and j < own[1]
                words = "" if rows is None else short(rows[i % own[0]][j % own[1]], 5)
                parts += _cell(left + j * CELL, top + i * LOW, words, "blue wash" if there else "")
        left, bottom = left + wide * CELL, max(bottom, top + high * LOW)
        if k == 0 or target:
            sign = "with" if k == 0 else "="
            parts.append(text(left + ROOM / 2, top + 20, sign, 12, "soft", "middle"))
        left += ROOM
    if target is None:
        return parts, left - ROOM, bottom
    parts.append(text(left, top - 8, "result", 13, "soft", weight=600))
    for i, j in itertools.product(*map(range, target)):
        words = ""
        if f is not None and rows_of[0] is not None and rows_of[1] is not None:
            x, y = (rows[i % len(rows)][j % len(rows[0])] for rows in rows_of if rows is not None)
            words = short(f(x, y), 5)
        parts += _cell(left + j * CELL, top + i * LOW, words, "green wash")
    return parts, left + target[1] * CELL, bottom


def _cell(x: float, y: float, words: str, fill: str) -> Iterator[str]:
    """A number in memory; without `fill`, in a dashed frame, one that is read again."""
    frame = {} if fill else {"stroke": "orange", "stroke_dasharray": "3 3"}
    yield rect(x + 1, y + 1, CELL - 2, LOW - 2, fill or "paper", rx=3, **frame)
    if words:
        yield text(x + CELL / 2, y + 20, words, 12, "ink" if fill else "soft", "middle", mono=True)
