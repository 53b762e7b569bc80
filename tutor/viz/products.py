"""The matrix product, step by step: a row, a column, the products of their numbers, the sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.viz.films import film
from tutor.viz.svg import TIMES, Picture, fit, rect, short, text, width_of

MARGIN, CELL, HIGH, APART, TOP = 24, 52, 32, 40, 96
MOST = 6  # rows, columns, and terms of a sum

Rows = list[list[Any]]


def product(
    x: TensorLike | Sequence[Sequence[float]],
    y: TensorLike | Sequence[Sequence[float]],
    seconds: float = 1.0,
) -> Picture:
    """How `x @ y` is computed, as a film: the row of x and the column of y that meet, the products
    of their numbers one after the other, their sum, and the cell it goes to.

    x (m, k) and y (k, n) are tensors or nested lists, no size above 6. Each step takes `seconds`.
    The film pauses while the pointer is over it, or after a click; readers whose system asks for
    reduced motion see the finished product. Raises ShapeError if x and y do not fit.

        >>> product([[1, 2]], [[3], [4]])
        <Picture '(1, 2) @ (2, 1): each cell is a row times a column'>
    """
    left, right = _rows_of(x), _rows_of(y)
    m, k, n = len(left), len(left[0]), len(right[0])
    if len(right) != k or max(m, k, n) > MOST:
        raise ShapeError(
            f"a picture of the product of ({m}, {k}) and ({len(right)}, {n})",
            "x needs as many columns as y has rows" if len(right) != k else "it is too large",
            f"give (m, k) and (k, n), with no size above {MOST}",
        )
    done = [[sum(a * b[j] for a, b in zip(row, right, strict=True)) for j in range(n)]
            for row in left]  # fmt: skip
    at = [MARGIN, MARGIN + k * CELL + APART, MARGIN + (k + n) * CELL + 2 * APART]
    high = TOP + max(m, k) * HIGH + MARGIN + 16
    title = f"({m}, {k}) @ ({k}, {n}): each cell is a row times a column"
    longest = max(
        width_of(_said(row, [r[j] for r in right], k), 14, mono=True)
        for row in left
        for j in range(n)
    )
    wide = max(at[2] + n * CELL, MARGIN + longest, 350.0) + MARGIN
    frames = [
        Picture("".join(_frame(left, right, done, at, (i, j), step)), wide, high, title)
        for i in range(m)
        for j in range(n)
        for step in range(1, k + 2)
    ]
    frames.append(Picture("".join(_finished(done, at[2], k)), wide, high, title))
    moving = film(frames, seconds, 3 * seconds, title)
    base = "".join(_still(left, right, at, n))
    hint = text(MARGIN, high - 12, "point at it, or click it, to make it stop", 11, "soft")
    return Picture(base + hint + moving.body, wide, high, title, moving.style)


def _rows_of(value: Any) -> Rows:
    rows = value.tolist() if hasattr(value, "tolist") else value
    fits = isinstance(rows, Sequence) and rows and all(isinstance(row, Sequence) for row in rows)
    if not fits or not rows[0] or len({len(row) for row in rows}) != 1:
        raise ShapeError("a picture of a product", f"{value!r:.60} is no matrix",
                         "give two axes, none of size 0")  # fmt: skip
    return [list(row) for row in rows]


def _said(row: Sequence[Any], column: Sequence[Any], step: int) -> str:
    """The sum so far, written out: "1·3 + 2·4 = 11"."""
    terms = list(zip(row, column, strict=True))[:step]
    words = " + ".join(f"{short(a, 5)}{TIMES}{short(b, 5)}" for a, b in terms)
    return f"{words} = {short(sum(a * b for a, b in terms), 6)}"


def _number(x: float, y: float, value: Any, fill: str, ink: str = "ink") -> Iterator[str]:
    yield rect(x + 1, y + 1, CELL - 2, HIGH - 2, fill, rx=3)
    words = fit(short(value, 6), CELL - 6, 13, mono=True)
    yield text(x + CELL / 2, y + 21, words, 13, ink, "middle", mono=True)


def _still(left: Rows, right: Rows, at: Sequence[float], n: int) -> Iterator[str]:
    """The still part: the two matrices, their names, and the empty cells of the third."""
    for name, x in zip(("x", "y", "x @ y"), at, strict=True):
        yield text(x, TOP - 10, name, 13, "soft", weight=600, mono=True)
    for rows, x in ((left, at[0]), (right, at[1])):
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                yield from _number(x + j * CELL, TOP + i * HIGH, value, "wash")
    for i in range(len(left)):
        for j in range(n):
            yield rect(at[2] + j * CELL + 1, TOP + i * HIGH + 1, CELL - 2, HIGH - 2, "wash", rx=3)


def _frame(left: Rows, right: Rows, done: Rows, at: Sequence[float], cell: tuple[int, int],
           step: int) -> Iterator[str]:  # fmt: skip
    """One step at a cell: its row and column, the terms so far, and in the last step the sum."""
    (i, j), k = cell, len(right)
    for p in range(k):
        at_it = p == step - 1
        fill = "orange wash" if at_it else "blue wash"
        yield from _number(at[0] + p * CELL, TOP + i * HIGH, left[i][p], fill)
        yield from _number(at[1] + j * CELL, TOP + p * HIGH, right[p][j], fill)
    column = [row[j] for row in right]
    yield text(MARGIN, 34, f"row {i} of x, column {j} of y", 13, "soft")
    yield text(MARGIN, 58, _said(left[i], column, min(step, k)), 14, mono=True)
    for p, q in ((p, q) for p in range(i + 1) for q in range(len(done[0]))):
        if (p, q) < cell:
            yield from _number(at[2] + q * CELL, TOP + p * HIGH, done[p][q], "green wash")
    x, y = at[2] + j * CELL, TOP + i * HIGH
    if step > k:
        yield from _number(x, y, done[i][j], "green wash")
    yield rect(x + 1, y + 1, CELL - 2, HIGH - 2, "none", rx=3, stroke="orange", stroke_width=2)


def _finished(done: Rows, x: float, k: int) -> Iterator[str]:
    terms = f"the sum of {k} products" if k > 1 else "one product"
    yield text(MARGIN, 34, f"each of these {len(done) * len(done[0])} numbers is {terms}", 13,
               "soft")  # fmt: skip
    for i, row in enumerate(done):
        for j, value in enumerate(row):
            yield from _number(x + j * CELL, TOP + i * HIGH, value, "green wash")
