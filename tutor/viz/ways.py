"""The path of a call: from the operator to an Op, through the registry, to the kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tutor._util import checks
from tutor.errors import ShapeError
from tutor.viz.films import film
from tutor.viz.svg import Picture, arrow, fit, rect, text, width_of

MARGIN, TOP, BOX, ARROW = 24, 92, 132, 46
CELL, HIGH, NAME = 26, 20, 84  # the table: a cell; a kernel's name
MOST = 30  # rows and columns of the table

Entry = tuple[str, str, str]  # kernel, backend, dtype


class Way(NamedTuple):
    """One call: the source text, the Op it became, the registry entry it asked for, and the result.

    `entry` is (name, backend, dtype), or None for an Op without a kernel, such as a view; `found`
    is the kernel's own name, or None if the registry had no such entry.
    """

    call: str
    op: str
    entry: Entry | None
    found: str | None


def dispatch(
    ways: Iterable[Sequence[str | Entry | None]], table: Iterable[Entry], seconds: float = 1.2
) -> Picture:
    """The path of each call, lit up step by step: the source text, the Op, the registry entry, the
    kernel.

    `ways` are (call, op, entry, found), see `Way`; `table` are all entries of the registry, each
    (name, backend, dtype). A cell with two dots has two backends. The film pauses while the pointer
    is over it, or after a click; readers whose system asks for reduced motion see the whole path of
    the last call. Raises ShapeError for no call, or a table of more than 30 kernels.

        >>> entries = [("add", "python", "float32"), ("add", "python", "int8")]
        >>> dispatch([("x + y", "Add", entries[0], "kernel")], entries)
        <Picture 'the way of x + y'>
    """
    checks.number("dispatch(seconds=...)", seconds, 1e-3, nan=False)
    calls = [_way(way) for way in ways]
    entries = [*dict.fromkeys(tuple(map(str, entry)) for entry in table)]
    entries += [w.entry for w in calls if w.entry is not None and w.entry not in entries]
    there = {*map(tuple, entries)} - {w.entry for w in calls if w.found is None}
    names = sorted({name for name, _, _ in entries})
    dtypes = list(dict.fromkeys(dtype for _, _, dtype in entries))
    backends = list(dict.fromkeys(backend for _, backend, _ in entries))
    if not calls or max(len(names), len(dtypes)) > MOST:
        raise ShapeError(
            f"the ways of {len(calls)} calls through {len(names)} kernels",
            "nothing was called" if not calls else f"at most {MOST} can be drawn",
            "give a call or more, and the entries that matter to them",
        )
    grid = _Grid(names, dtypes, backends)
    high = max(grid.bottom, TOP + 150) + MARGIN + 20
    wide = grid.right + ARROW + BOX + 40 + MARGIN
    frames = []
    for number, way in enumerate(calls, 1):
        count = f"call {number} of {len(calls)}: " if len(calls) > 1 else ""
        for step in range(1, 5):
            shown = "".join(_lit(way, step, grid, count))
            frames.append(Picture(shown, wide, high, way.call))
    moving = film(frames, seconds, seconds)
    base = "".join(grid.drawn(there))
    hint = text(MARGIN, high - 12, "point at it, or click it, to make it stop", 11, "soft")
    title = "the way of " + ", ".join(dict.fromkeys(way.call for way in calls))
    return Picture(base + hint + moving.body, math.ceil(wide), math.ceil(high), title, moving.style)


def _way(given: Sequence[Any]) -> Way:
    """A call as a Way; ShapeError unless it has four parts."""
    if isinstance(given, str) or len(given) != 4:
        raise ShapeError("the way of a call", f"{given!r:.60}", "give (call, op, entry, found)")
    return Way(*given)


class _Grid:
    """The registry as a table: rows for kernels, columns for dtypes, dots for backends."""

    def __init__(self, names: list[str], dtypes: list[str], backends: list[str]) -> None:
        self.names, self.dtypes, self.backends = names, dtypes, backends
        self.left = MARGIN + 2 * BOX + 2 * ARROW + NAME
        self.right = self.left + len(dtypes) * CELL
        self.bottom = TOP + len(names) * HIGH

    def cell(self, entry: Entry) -> tuple[float, float]:
        name, _, dtype = entry
        column, row = self.dtypes.index(dtype), self.names.index(name)
        return self.left + column * CELL, TOP + row * HIGH

    def drawn(self, there: set[Any]) -> Iterator[str]:
        for j, dtype in enumerate(self.dtypes):
            x = self.left + (j + 0.5) * CELL
            yield text(x, TOP - 8, dtype, 11, "soft", mono=True,
                       transform=f"rotate(-50 {x:g} {TOP - 8})")  # fmt: skip
        for name in self.names:
            y = self.cell((name, "", self.dtypes[0]))[1]
            words = fit(name, NAME - 10, 12, mono=True)
            yield text(self.left - 8, y + 14, words, 12, "soft", "end", mono=True)
            for dtype in self.dtypes:
                x, _ = self.cell((name, "", dtype))
                yield rect(x + 1, y + 1, CELL - 2, HIGH - 2, "wash", rx=2)
                has = [b for b in self.backends if (name, b, dtype) in there]
                for k, backend in enumerate(has):
                    ink = ("blue", "orange", "green", "pink")[self.backends.index(backend) % 4]
                    at = x + CELL / 2 + 8 * (k - (len(has) - 1) / 2)
                    yield rect(at - 3, y + HIGH / 2 - 3, 6, 6, ink, rx=3)
        x = self.left - NAME + 10
        for k, backend in enumerate(self.backends):
            ink = ("blue", "orange", "green", "pink")[k % 4]
            yield rect(x, self.bottom + 14, 8, 8, ink, rx=4)
            yield text(x + 14, self.bottom + 22, backend, 12, "soft")
            x += 30 + width_of(backend, 12)


def _box(x: float, y: float, head: str, words: str, on: bool, mono: bool = True) -> Iterator[str]:
    yield text(x + BOX / 2, y - 10, head, 12, "soft", "middle")
    yield rect(x, y, BOX, 40, "orange wash" if on else "wash", rx=8,
               stroke="orange" if on else "line", stroke_width=2 if on else 1)  # fmt: skip
    shown = fit(words, BOX - 12, 14, mono=mono, bold=True)
    yield text(x + BOX / 2, y + 25, shown, 14, "ink", "middle", 600, mono=mono)


def _lit(way: Way, step: int, grid: _Grid, count: str) -> Iterator[str]:
    """The stations up to this step: 1 the call, 2 the Op, 3 the entry, 4 the kernel."""
    y, entry = TOP + 30.0, way.entry
    said = [
        f"{way.call} is written",
        f"the operator makes an object of class {way.op}",
        f"it asks for {entry}" if entry else f"{way.op} needs no kernel: it only changes the walk",
        f"the registry has {way.found}" if way.found else "the registry has nothing: LookupError",
    ]
    if entry is None:
        said[3] = "so nothing is calculated"
    yield text(MARGIN, 34, count + said[step - 1], 14, weight=600)
    yield from _box(MARGIN, y, "the operator", way.call, step == 1)
    if step >= 2:
        x = MARGIN + BOX
        yield arrow(f"M{x + 4} {y + 20}L{x + ARROW - 4} {y + 20}", (x + ARROW - 3, y + 20), (1, 0),
                    "orange")  # fmt: skip
        yield from _box(MARGIN + BOX + ARROW, y, "the Op", way.op, step == 2)
    if entry is None:
        return
    x0, y0 = grid.cell(entry)
    if step >= 3:
        x = MARGIN + 2 * BOX + ARROW
        yield arrow(f"M{x + 4} {y + 20}L{x + ARROW - 12} {y + 20}", (x + ARROW - 8, y + 20), (1, 0),
                    "orange")  # fmt: skip
        yield rect(grid.left - 2, y0, grid.right - grid.left + 4, HIGH, "none", stroke="orange")
        yield rect(x0, TOP - 2, CELL, grid.bottom - TOP + 4, "none", stroke="orange")
        ink = "orange" if way.found else "red"
        yield rect(x0, y0, CELL, HIGH, "none", stroke=ink, stroke_width=3)
    if step >= 4:
        x, words = grid.right, way.found or "nothing"
        yield arrow(f"M{x + 6} {y + 20}L{x + ARROW - 4} {y + 20}", (x + ARROW - 3, y + 20), (1, 0),
                    "orange")  # fmt: skip
        yield from _box(x + ARROW, y, f"on {entry[1]}", words, True)
