"""A Program as a picture: its steps from top to bottom, and the memory between them.

Existing memory (inputs, states, constants) is drawn at the left of each step that uses it. Results
of steps (temps, outputs) are vertical lines at the right, from the step that makes them to the last
that uses them: so a line also shows how long its memory is in use. More bytes make it wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from tutor.errors import DTypeError
from tutor.viz import svg
from tutor.viz.svg import TIMES, Picture, fit, number, rect, text, width_of

COLORS = {"input": "blue", "state": "green", "constant": "soft", "temp": "amber",
          "output": "orange"}  # fmt: skip
HEADS, TAILS = 34, 14  # steps to draw of a long Program, from its start and its end
INSTRUCTIONS = 8  # of a fused step that are listed
MARGIN, ROOM, PORT, LANE, GAP = 24, 34, 15, 18, 14
BOX, WIDEST = 150, 300


class Stub(NamedTuple):
    """Memory at the left of a step, and whether it is read and written."""

    words: str
    role: str
    nbytes: int
    read: bool
    written: bool


class Lane(NamedTuple):
    """A line at the right: a slot, its first and last row of use, and its column."""

    slot: Any
    first: int
    last: int
    column: int


def program(p: Any) -> Picture:
    """The steps of a Program as boxes, in order, and its slots as lines between them.

    Colours show roles, widths bytes. Of more than 48 steps the first 34 and the last 14 are drawn.
    Takes `f.recorded` or `f.program` of a function under tutor.jit; raises DTypeError for an object
    without `steps` and `names()`.
    """
    missing = [f".{name}" for name in ("steps", "names") if not hasattr(p, name)]
    if missing:
        raise DTypeError(
            f"viz.program of {type(p).__name__}",
            f"it has no {', '.join(missing)}",
            "give a Program: f.recorded or f.program, where f is a function under tutor.jit",
        )
    return ProgramDrawing(p).picture()


class ProgramDrawing:
    """The layout of a Program's picture."""

    def __init__(self, p: Any) -> None:
        self.program, self.names = p, p.names()
        count = len(p.steps)
        shown = range(count)
        self.rows: list[int | None] = [*shown]  # None: steps are left out here
        if count > HEADS + TAILS:
            self.rows = [*shown[:HEADS], None, *shown[-TAILS:]]
        self.row_of = {i: r for r, i in enumerate(self.rows) if i is not None}
        self.lanes = {lane.slot: lane for lane in self._lanes()}
        self.lines = [self._words(i) for i in self.rows]
        self.stubs = [self._stubs(i) for i in self.rows]
        self.ports = [self._ports(i) for i in self.rows]
        labels = [width_of(s.words, 12, True) for stubs in self.stubs for s in stubs]
        self.left = MARGIN + max(labels, default=0.0) + ROOM  # left edge of the boxes
        widths = [width_of(lines[0], 13) * 1.08 for lines in self.lines]
        widths += [width_of(t, 11, True) for lines in self.lines for t in lines[1:]]
        self.wide = max([BOX, *(w + 24 for w in widths)])
        self.tops, y = [], float(MARGIN)
        self.heights = [self._height(r) for r in range(len(self.rows))]
        for height in self.heights:
            self.tops.append(y)
            y += height + GAP
        self.bottom = y

    # ---- what there is ---------------------------------------------------------------------------

    def _row(self, step: int) -> int:
        """The row of a step, or the row that marks omitted steps."""
        return self.row_of.get(step, HEADS)

    def _lanes(self) -> Iterable[Lane]:
        """A line per temp and output, from the step that makes it to the last that uses it; lines
        that do not overlap share a column."""
        met: dict[Any, list[int]] = {}  # the rows where each of them is made and used
        for i, step in enumerate(self.program.steps):
            for w in step.operands:
                if w.buf.role in ("temp", "output"):
                    met.setdefault(w.buf, []).append(self._row(i))
        ends: list[int] = []  # the last row of each column so far
        for slot, rows in met.items():
            top, low = rows[0], len(self.rows) if slot.role == "output" else rows[-1]
            if None in self.rows and {*rows} == {HEADS}:
                continue  # no drawn step uses it
            column = next((c for c, end in enumerate(ends) if end < top), len(ends))
            ends[column : column + 1] = [low]
            yield Lane(slot, top, low, column)

    def _words(self, i: int | None) -> list[str]:
        """The kernel, the shape and dtype it makes, the user's line; if fused, the instructions."""
        if i is None:
            return [f"… {len(self.program.steps) - HEADS - TAILS} more steps"]
        step = self.program.steps[i]
        on = [name for name, value in step.params.items() if value is True]
        made = f"{TIMES.join(map(str, step.out.shape)) or 'one number'} {step.dtype.name}"
        words = [" ".join([f"{i} ", step.kernel, *on]), made]
        if step.where:
            words[1] += f"  {step.where[0].rpartition('/')[2]}:{step.where[1]}"
        if "code" in step.params:
            code = str(step.params["code"]).split("; ")
            words += code[:INSTRUCTIONS] + ["…"] * (len(code) > INSTRUCTIONS)
        return [words[0], *(fit(line, WIDEST, 11, mono=True) for line in words[1:])]

    def _stubs(self, i: int | None) -> list[Stub]:
        if i is None:
            return []
        step, found, cells = self.program.steps[i], [], []
        written = {w.buf for w in step.writes}
        read = {w.buf for w in step.reads}
        for slot in dict.fromkeys(w.buf for w in step.operands):
            if slot in self.lanes or slot.role in ("temp", "output"):
                continue
            if len(slot) == 1 and slot not in written:
                cells.append(slot)
                continue
            shape = next(w.shape for w in step.operands if w.buf is slot)
            words = f"{self.names[slot]} {TIMES.join(map(str, shape))}".rstrip()
            found.append(Stub(words, slot.role, slot.nbytes, slot in read, slot in written))
        if cells:
            words = " ".join(self.names[c] for c in cells)
            words = words if len(cells) < 4 else f"{self.names[cells[0]]} … {len(cells)} numbers"
            nbytes = sum(c.nbytes for c in cells)
            found.append(Stub(words, cells[0].role, nbytes, True, False))
        return found

    def _ports(self, i: int | None) -> list[tuple[Lane, bool]]:
        """Lines that connect to the step's right: those it writes (True), then those it reads."""
        if i is None:
            return []
        step = self.program.steps[i]
        lanes = self.lanes
        write = [lanes[s] for s in dict.fromkeys(w.buf for w in step.writes) if s in lanes]
        read = [lanes[s] for s in dict.fromkeys(w.buf for w in step.reads) if s in lanes]
        return [*((lane, True) for lane in write), *((lane, False) for lane in read)]

    def _height(self, row: int) -> float:
        inside = 14 + 17 * len(self.lines[row])
        ports = max(len(self.stubs[row]), len(self.ports[row]))
        return max(inside, PORT * ports + 8)

    # ---- drawing ---------------------------------------------------------------------------------

    def picture(self) -> Picture:
        right = self.left + self.wide
        columns = max((lane.column for lane in self.lanes.values()), default=-1) + 1
        parts = [self._lane(lane) for lane in self.lanes.values()]
        for r in range(len(self.rows)):
            parts += [self._stub(r, n) for n in range(len(self.stubs[r]))]
            parts += [self._port(r, n) for n in range(len(self.ports[r]))]
        parts += [self._box(r) for r in range(len(self.rows))]
        y, wide = self.bottom + 14, right + LANE * (columns + 1) + MARGIN
        legend, width = self._legend(y)
        count = len(self.program.steps)
        title = f"a program of {count} step{'s' * (count != 1)}"
        size = math.ceil(max(wide, width)), math.ceil(y + 18)
        return Picture("".join([*parts, legend]), *size, title, words=str(self.program))

    def _x(self, lane: Lane) -> float:
        return self.left + self.wide + LANE * (lane.column + 1.5)

    def _at(self, row: int, n: int, of: int) -> float:
        """The height of port n of `of` ports of a box."""
        return self.tops[row] + self.heights[row] / 2 + (n - (of - 1) / 2) * PORT

    def _lane(self, lane: Lane) -> str:
        ends = [self._at(r, n, len(ports)) for r, ports in enumerate(self.ports)
                for n, (other, _) in enumerate(ports) if other is lane]  # fmt: skip
        gap = [self.tops[HEADS] + self.heights[HEADS] / 2] if None in self.rows else []
        ends += gap if HEADS in (lane.first, lane.last) else []
        if lane.slot.role == "output":
            ends.append(self.bottom - 6)
        x, top, low = self._x(lane), min(ends), max(ends)
        color, width = COLORS[lane.slot.role], thickness(lane.slot.nbytes)
        line = svg.path(f"M{number(x)} {number(top)}V{number(low)}", color, width)
        name = text(x + 4, top - 3, self.names[lane.slot], 11, color, mono=True)
        return line + name

    def _port(self, r: int, n: int) -> str:
        lane, written = self.ports[r][n]
        y, x, edge = self._at(r, n, len(self.ports[r])), self._x(lane), self.left + self.wide
        color, width = COLORS[lane.slot.role], thickness(lane.slot.nbytes)
        if written:
            return svg.path(f"M{number(edge)} {number(y)}H{number(x)}", color, width)
        line = f"M{number(x)} {number(y)}H{number(edge + 5)}"
        return svg.arrow(line, (edge, y), (-1, 0), color, width)

    def _stub(self, r: int, n: int) -> str:
        stub, y = self.stubs[r][n], self._at(r, n, len(self.stubs[r]))
        start, edge = self.left - ROOM + 5, self.left
        color, width = COLORS[stub.role], thickness(stub.nbytes)
        parts = [text(start - 5, y + 4, stub.words, 12, color, "end", mono=True)]
        inner = (start + 5 * stub.written, edge - 5 * stub.read)
        line = f"M{number(inner[0])} {number(y)}H{number(inner[1])}"
        if stub.read:
            parts.append(svg.arrow(line, (edge, y), (1, 0), color, width))
        if stub.written:
            parts.append(svg.arrow(line, (start, y), (-1, 0), color, width))
        return "".join(parts)

    def _box(self, r: int) -> str:
        x, y, h = self.left, self.tops[r], self.heights[r]
        head, *more = self.lines[r]
        if self.rows[r] is None:
            return text(x + self.wide / 2, y + h / 2 + 4, head, 13, "soft", "middle")
        parts = [rect(x, y, self.wide, h, "paper", rx=8, stroke="ink", stroke_width=1.25)]
        line = y + (h - 17 * len(self.lines[r])) / 2 + 13
        parts.append(text(x + 12, line, head, 13, weight=600))
        for words in more:
            line += 17
            parts.append(text(x + 12, line, words, 11, "soft", mono=True))
        return "".join(parts)

    def _legend(self, y: float) -> tuple[str, float]:
        """The colour of each role that occurs, and the width of this legend."""
        roles = {slot.role for slot in self.names}
        used = {w.buf.role for step in self.program.steps for w in step.operands}
        x, parts = float(MARGIN), []
        for role, color in COLORS.items():
            if role in roles & used:
                parts.append(svg.path(f"M{number(x)} {number(y - 4)}h14", color, 3.5))
                parts.append(text(x + 20, y, role, 11, "soft"))
                x += 20 + width_of(role, 11) + 16
        words = "the wider, the more bytes"
        parts.append(text(x, y, words, 11, "soft"))
        return "".join(parts), x + width_of(words, 11) + MARGIN


def thickness(nbytes: int) -> float:
    """1.25 pixels for 100 bytes, and three quarters of a pixel more for each factor of ten."""
    return 1.25 + 0.75 * max(0.0, math.log10(max(nbytes, 1) / 100))
