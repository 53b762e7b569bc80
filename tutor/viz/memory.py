"""Memory maps: where each element of a tensor is in memory.

    >>> from tutor import Tensor
    >>> explain(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).T, highlight=(2, 0))
    <Picture 'shape (3, 2), strides (1, 3), offset 0'>

Any object with `.buf .shape .strides .offset` can be drawn; it uses `buf[i]` and `len(buf)`. It may
be of a class of your own, even one that is still wrong: reads outside of the memory are drawn in
pink with a "?".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tutor.errors import ShapeError
from tutor.viz import svg
from tutor.viz.svg import TIMES, Picture, number, rect, text, width_of
from tutor.viz.where import Index, Positions, StridedLike

CELL, TALL = 50, 44  # a cell with a number and a position
MARGIN, PER_LINE = 22, 14  # cells of memory in one line
MOST_CELLS = 5 * PER_LINE  # the rest of a longer memory is left out
MOST_ROWS, MOST_COLUMNS, MOST_SHEETS = 7, 9, 4  # the rest of a larger grid is left out
GAP = None  # marks an omission


def _cut(size: int, most: int, keep: int = 0) -> list[int | None]:
    """range(size) with its middle replaced by GAPs if it is longer than `most`."""
    if size <= most:
        return list(range(size))
    shown = sorted({*range(most - 2), keep, size - 1})
    out: list[int | None] = []
    for i in shown:
        if out and out[-1] is not GAP and i != out[-1] + 1:
            out.append(GAP)
        out.append(i)
    return out


def _color(index: Index | None, shape: Index) -> str:
    """The colour of an element, by its row: by the axis before the last one, or the only axis."""
    if index is None:
        return "wash"
    return svg.tint(index[-2] if len(index) > 1 else index[0] if index else 0)


def _cell(x: float, y: float, fill: str, value: str, small: str, **more: Any) -> str:
    return (
        rect(x + 2, y + 2, CELL - 4, TALL - 4, fill, **more)
        + text(
            x + CELL / 2, y + 20, value, 13 if len(value) < 6 else 11, anchor="middle", mono=True
        )
        + text(x + CELL / 2, y + 35, small, 11, "soft", anchor="middle", mono=True)
    )


# ---- the two halves of the picture: grids of indices, lines of memory --------------------------


def _sheets(layout: Positions, chosen: Index) -> Iterator[tuple[str, Index] | None]:
    """(caption, leading index) of each grid to be drawn: three axes have several grids."""
    leading = chosen[:-3] if len(layout.shape) > 3 else ()
    if len(layout.shape) < 3:
        yield "", ()
        return
    for i in _cut(layout.shape[-3], MOST_SHEETS, chosen[-3] if chosen else 0):
        index = (*leading, -1 if i is GAP else i)
        named = ", ".join(map(str, index))
        yield None if i is GAP else (f"[{named}, :, :]", index)


def _grid(layout: Positions, leading: Index, chosen: Index | None, x: float, y: float
          ) -> tuple[str, float, float, tuple[float, float] | None]:  # fmt: skip
    """One grid at (x, y): markup, width, height, and the place of the chosen element in it."""
    rest = layout.shape[len(leading) :]
    inner = chosen[len(leading) :] if chosen and chosen[: len(leading)] == leading else None
    keep = (inner or (0, 0)) if len(rest) > 1 else (0, *(inner or (0,)))
    rows = _cut(rest[-2], MOST_ROWS, keep[-2]) if len(rest) > 1 else [0]
    columns = _cut(rest[-1], MOST_COLUMNS, keep[-1]) if rest else [0]
    left, top = (26 if len(rest) > 1 else 0), (20 if rest else 0)
    parts, at = [], None
    if rest:
        for c, j in enumerate(columns):
            parts.append(text(x + left + (c + 0.5) * CELL, y + 13, "…" if j is GAP else j, 11,
                              "soft", "middle", mono=True))  # fmt: skip
    for r, i in enumerate(rows):
        if len(rest) > 1:
            parts.append(text(x + left - 8, y + top + (r + 0.5) * TALL + 4, "…" if i is GAP else i,
                              11, "soft", "end", mono=True))  # fmt: skip
        for c, j in enumerate(columns):
            cx, cy = x + left + c * CELL, y + top + r * TALL
            if i is GAP or j is GAP:
                parts.append(text(cx + CELL / 2, cy + 26, "…", 15, "soft", "middle"))
                continue
            index = (*leading, *(i, j)[2 - len(rest) :])
            position = layout.position(index)
            outside = not 0 <= position < layout.length
            fill = "pink wash" if outside else _color(index, layout.shape)
            edge = {"stroke": "ink", "stroke_width": 2.25} if index == chosen else {}
            if outside and not edge:
                edge = {"stroke": "pink", "stroke_dasharray": "4 3"}
            parts.append(_cell(cx, cy, fill, layout.value(position), f"@{position}", **edge))
            at = (cx + CELL / 2, cy + TALL - 2) if index == chosen else at
    return "".join(parts), left + CELL * len(columns), top + TALL * len(rows), at


def _memory_positions(layouts: list[Positions], keep: int | None) -> list[int | None]:
    """The positions to draw: all, or the first ones, those around `keep`, and the last."""
    length = layouts[0].length
    if length <= MOST_CELLS:
        return list(range(length))
    shown = {*range(3 * PER_LINE), *range(length - PER_LINE // 2, length)}
    if keep is not None and 0 <= keep < length:
        shown |= {p for p in range(keep - 3, keep + 4) if 0 <= p < length}
    out: list[int | None] = []
    for p in sorted(shown):
        if out and p != (out[-1] or 0) + 1:
            out.append(GAP)
        out.append(p)
    return out


def _kind(buf: Any) -> str:
    dtype = getattr(buf, "dtype", None)
    return f" {TIMES} {getattr(dtype, 'name', dtype)}" if dtype is not None else " numbers"


def explain(t: StridedLike, highlight: int | Sequence[int] | None = None) -> Picture:
    """The memory map of a tensor: its grid of indices, its memory, and the cells each index reads.

    A row of the grid has the colour of the memory cells that it reads; "@5" is the position that is
    read. The picture follows one index, `highlight` (by default the last), in numbers. Cells that
    no index reads are dashed; "3 x" marks one that three indices read, as with strides of 0. Raises
    DTypeError for anything but a tensor, OutOfRangeError for a highlight outside of the shape.
    """
    layout = Positions(t, "explain")
    chosen: Index | None = None
    if highlight is not None:
        chosen = layout.checked(highlight)
    elif layout.size:
        chosen = tuple(n - 1 for n in layout.shape)
    title = f"shape {layout.shape}, strides {layout.strides}, offset {layout.offset}"
    target = layout.position(chosen) if chosen is not None else None
    facts = "    ".join(title.split(", offset ")[0].replace("), ", ")|").split("|"))
    parts = [text(MARGIN, 34, f"{facts}    offset {layout.offset}", 14, weight=600, mono=True)]
    wide = MARGIN + width_of(f"{facts}    offset {layout.offset}", 14, mono=True)

    # the grids, in lines no wider than the memory
    x, y, tallest, start = float(MARGIN), 56.0, 0.0, None
    full = MARGIN + PER_LINE * CELL
    if not layout.size:
        parts.append(text(x, y + 16, "no elements: a size is 0", 13, "soft"))
        tallest = 24
    for sheet in _sheets(layout, chosen or ()) if layout.size else ():
        if sheet is None:
            parts.append(text(x - 6, y + 70, "…", 18, "soft", "middle"))
            x, wide = x + 12, max(wide, x + 4)
            continue
        caption, leading = sheet
        head = 20 if caption else 0
        body, w, h, at = _grid(layout, leading, chosen, x, y + head)
        if x > MARGIN and x + w > full:
            x, y, tallest = MARGIN, y + tallest + 16, 0
            body, w, h, at = _grid(layout, leading, chosen, x, y + head)
        if caption:
            parts.append(text(x + 26, y + 13, caption, 12, "ink", weight=600, mono=True))
        parts.append(body)
        start, tallest, wide = at or start, max(tallest, h + head), max(wide, x + w)
        x += w + 24
    y += tallest + 44

    # the memory
    line = f"memory: {layout.length}{_kind(layout.buf)}"
    behind = rect(MARGIN - 2, y - 13, width_of(line) + 12, 18, "paper")  # the arrow may cross it
    parts.append(behind + text(MARGIN, y, line, 13, weight=600))
    y += 16
    positions = _memory_positions([layout], target)
    end, shared = None, False
    for k, p in enumerate(positions):
        cx, cy = MARGIN + k % PER_LINE * CELL, y + k // PER_LINE * (TALL + 20)
        if p is GAP:
            parts.append(text(cx + CELL / 2, cy + 26, "…", 15, "soft", "middle"))
            continue
        count, first = layout.readers(p)
        edge: dict[str, Any] = {"stroke": "ink", "stroke_width": 2.25} if p == target else {}
        if not count:
            edge = {"stroke": "line", "stroke_dasharray": "4 3"}
        if p == target:
            end = (cx + CELL / 2, cy + 1)
        parts.append(_cell(cx, cy, _color(first, layout.shape), layout.value(p), f"{p}", **edge))
        if count > 1:
            shared = True
            parts.append(
                text(cx + CELL / 2, cy + TALL + 11, f"{count} {TIMES}", 11, "orange", "middle", 600)
            )
        wide = max(wide, cx + CELL)
    y += -(-len(positions) // PER_LINE) * (TALL + 20) + (14 if shared else 8)
    if start and end:
        (x0, y0), (x1, y1) = start, end
        bend = max(26.0, (y1 - y0) * 0.5)
        d = "M" + " ".join(map(number, (x0, y0))) + "C" + " ".join(
            map(number, (x0, y0 + bend, x1, y1 - bend, x1, y1 - 5)))  # fmt: skip
        parts.insert(0, svg.arrow(d, (x1, y1), (0, 1), "ink"))

    # in words and numbers
    sentences = list(_sentences(layout, chosen, target, shared))
    for words, mono in sentences:
        parts.append(text(MARGIN, y, words, 13, "ink" if mono else "soft", mono=mono))
        wide = max(wide, MARGIN + width_of(words, 13, mono))
        y += 21
    listing = [f"{facts}    offset {layout.offset}", *_listing(layout, chosen or ())]
    listing += [line.replace(TIMES, "x"), *(words for words, _ in sentences)]
    wide, tall = math.ceil(wide + MARGIN), math.ceil(y + 4)
    return Picture("".join(parts), wide, tall, title, words="\n".join(listing))


def _listing(layout: Positions, chosen: Index) -> Iterator[str]:
    """The grids in text: "2.0@1" is the number 2.0 from position 1."""
    for sheet in _sheets(layout, chosen) if layout.size else ():
        leading = None if sheet is None else sheet[1]
        rest = layout.shape[len(leading or ()) :]
        rows = _cut(rest[-2], MOST_ROWS, chosen[-2]) if len(rest) > 1 else [0]
        for i in [GAP] if leading is None else rows:
            if leading is None or i is GAP:
                yield "..."
                continue
            start = (*leading, i) if len(rest) > 1 else leading
            columns = _cut(rest[-1], MOST_COLUMNS, chosen[-1]) if rest else [0]
            found = []
            for j in columns:
                p = layout.position((*start, j or 0) if rest else start)
                found.append("..." if j is GAP else f"{layout.value(p)}@{p}")
            name = ", ".join([*map(str, start), *[":"] * bool(rest)])
            yield f"[{name}]  {'  '.join(found)}"


def _sentences(
    layout: Positions, chosen: Index | None, target: int | None, shared: bool
) -> Iterator[tuple[str, bool]]:
    """The lines below the picture, each with whether it is a formula."""
    if chosen is not None:
        letters = [*"ijklmn", *(f"i{a}" for a in range(6, len(chosen)))]
        formula = [f"{letters[a]}*strides[{a}]" for a in range(len(chosen))]
        numbers = [
            f"{i}*{s}" if s >= 0 else f"{i}*({s})"
            for i, s in zip(chosen, layout.strides, strict=True)
        ]
        name = f"[{', '.join(map(str, chosen))}]"
        yield f"{name} is at " + " + ".join(["offset", *formula]), True
        yield " " * len(name) + "     = " + " + ".join([str(layout.offset), *numbers]) + (
            f" = {target}" if chosen else ""
        ), True  # fmt: skip
        size = getattr(getattr(layout.buf, "dtype", None), "itemsize", None)
        if isinstance(size, int) and target is not None:
            start = size * target
            yield f"{size} bytes each: it is in the bytes {start} to {start + size - 1}.", False
        if not 0 <= (target or 0) < layout.length:
            end = "begins at 0" if (target or 0) < 0 else f"ends at {layout.length - 1}"
            yield f"There is no cell {target}: the memory {end}.", False
    reached = layout.reached()
    if reached is not None and reached < layout.length:
        yield f"Not read by any index: {layout.length - reached} of {layout.length} cells.", False
    if shared:
        yield f"{layout.size} indices read {reached} cells: some cells are shared.", False


def shared(*tensors: StridedLike, names: Iterable[str] | None = None) -> Picture:
    """One memory, and below it each tensor with the cells that its indices read.

    Raises ShapeError if the tensors do not share one Buffer.

        >>> from tutor import Tensor
        >>> a = Tensor([1.0, 2.0, 3.0, 4.0])
        >>> shared(a, a[::2], names=["a", "a[::2]"])
        <Picture 'one memory of 4 cells, read by a, a[::2]'>
    """
    if not tensors:
        raise ShapeError("shared()", "no tensor was given", "give one or more over one Buffer")
    layouts = [Positions(t, "shared") for t in tensors]
    labels = list(names) if names is not None else [*"abcdefghijklmnopqrstuvwxyz"][: len(tensors)]
    if len(labels) != len(tensors):
        raise ShapeError(f"shared({len(tensors)} tensors)", f"{len(labels)} names",
                         "give one name per tensor, at most 26 without names")  # fmt: skip
    for label, layout in zip(labels, layouts, strict=True):
        if layout.buf is not layouts[0].buf:
            raise ShapeError(
                f"shared(...) of {labels[0]} and {label}",
                "each has a memory of its own",
                "give views of one tensor",
            )
    positions, strip = _memory_positions(layouts, None), 30
    facts = [f"shape {t.shape}  strides {t.strides}  offset {t.offset}" for t in layouts]
    left = MARGIN + min(160.0, max(width_of(label, 13, True) for label in labels) + 16)
    per_line = PER_LINE - 2
    block = TALL + strip * len(layouts) + 22
    parts = [text(MARGIN, 34, f"one memory: {layouts[0].length}{_kind(layouts[0].buf)}", 13,
                  weight=600)]  # fmt: skip
    for k, p in enumerate(positions):
        x, y = left + k % per_line * CELL, 50 + k // per_line * block
        if k % per_line == 0:
            parts += [text(MARGIN, y + TALL + n * strip + 21, svg.fit(label, left - MARGIN - 8, 13,
                      True), 13, svg.SERIES[n % 5], weight=600, mono=True)
                      for n, label in enumerate(labels)]  # fmt: skip
        if p is GAP:
            parts.append(text(x + CELL / 2, y + 26, "…", 15, "soft", "middle"))
            continue
        parts.append(_cell(x, y, "wash", layouts[0].value(p), str(p)))
        for n, layout in enumerate(layouts):
            count, index = layout.readers(p)
            if index is not None:
                top = y + TALL + n * strip
                name = ",".join(map(str, index)) or "·"
                named = name if count == 1 else f"{count} {TIMES}"
                parts.append(rect(x + 2, top + 3, CELL - 4, strip - 6, svg.tint(n)))
                parts.append(text(x + CELL / 2, top + 19, svg.fit(named, CELL - 6, 11, True), 11,
                                  anchor="middle", mono=True))  # fmt: skip
    y = 50 + -(-len(positions) // per_line) * block + 8
    wide = left + min(len(positions), per_line) * CELL
    for label, fact in zip(labels, facts, strict=True):
        line = f"{label}:  {fact}"
        parts.append(text(MARGIN, y, line, 12, "soft", mono=True))
        wide, y = max(wide, MARGIN + width_of(line, 12, mono=True)), y + 19
    title = f"one memory of {layouts[0].length} cells, read by {', '.join(labels)}"
    return Picture("".join(parts), math.ceil(wide + MARGIN), math.ceil(y), title)
