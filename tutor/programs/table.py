"""A Program as a readable table: each kernel, its memory, and the user's line behind it."""

from __future__ import annotations

import html
import linecache
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tutor._storage.layout import contiguous_strides
from tutor._util.typing import Walked
from tutor.backends.step import Step

ELSEWHERE = {"fused": ("code", "results")}  # parameters shown below, or visible anyway
ROLES = ("input", "state", "constant", "temp", "output")
KERNEL, NUMBERS = 2, (0, 4, 5)  # columns
WIDEST = 44  # characters of a user's line
MARKS = {
    ".T": ".T: walked along other axes",
    "*": "*: stretched, some numbers are read again and again",
    "[]": "[]: a part of it",
}
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


Rows = list[tuple[str, ...]]


def table(steps: Sequence[Step], names: Mapping[Any, str]) -> str:
    """A line for each step, and for each instruction of a fused step; then the totals."""
    rows, below = _rows(steps, names)
    return "\n".join([*_lines(rows, below), *_below(steps)])


def html_table(steps: Sequence[Step], names: Mapping[Any, str]) -> str:
    """The same for a notebook's cell."""
    rows, below = _rows(steps, names)
    parts = [
        "".join(
            f'<{tag} style="text-align:{"right" if c in NUMBERS else "left"}">{cell}</{tag}>'
            for c, cell in enumerate(_cells(row, more))
        )
        for row, more, tag in zip(rows, below, ["th"] + ["td"] * (len(rows) - 1), strict=True)
    ]
    body = "".join(f"<tr>{part}</tr>" for part in parts[1:])
    notes = "<br>".join(map(html.escape, _below(steps)))
    return (
        f'<table><caption style="caption-side:bottom; text-align:left">{notes}</caption>'
        f"<thead><tr>{parts[0]}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cells(row: Sequence[str], more: Sequence[str]) -> Iterator[str]:
    for c, cell in enumerate(row):
        yield "<br>".join(map(html.escape, [cell, *more] if c == KERNEL else [cell]))


def _rows(steps: Sequence[Step], names: Mapping[Any, str]) -> tuple[Rows, list[list[str]]]:
    """The head, a row for each step, the totals; and the lines below each row."""
    nbytes = [step.nbytes for step in steps]
    flops = [step.flops or 0 for step in steps]
    (b, unit), (f, prefix) = _unit(nbytes), _unit(flops)
    units = f"{unit}B" if unit else "bytes", f"{prefix}flop"
    rows: Rows = [("", "result", "kernel", "of", *units, "line")]
    below: list[list[str]] = [[]]
    last: tuple[str, int] | None = None
    for i, step in enumerate(steps):
        fused = step.kernel == "fused"  # only these may have several results
        outs = [described(names[w.buf], w) for w in (step.writes if fused else [step.out])]
        ins = [described(names[w.buf], w) for w in (step.reads if fused else step.ins)]
        cost = _number(nbytes[i] / b, unit), _number(flops[i] / f, prefix) if flops[i] else ""
        line = f'{"":3}"' if last and step.where == last else line_of(step.where)
        last = step.where
        operands = ", ".join(_short(ins))
        rows.append((str(i), ", ".join(outs), called(step), operands, *cost, line))
        below.append(str(step.params["code"]).split("; ") if fused else [])
    total = _number(sum(nbytes) / b, unit), _number(sum(flops) / f, prefix)
    rows.append(("", f"{len(steps)} step{'s' * (len(steps) != 1)}", "", "", *total, ""))
    below.append([])
    return rows, below


def _lines(rows: Sequence[Sequence[str]], below: Sequence[Sequence[str]]) -> Iterator[str]:
    wide = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    for row, more in zip(rows, below, strict=True):
        cells = [cell.rjust(w) if c in NUMBERS else cell.ljust(w)
                 for c, (cell, w) in enumerate(zip(row, wide, strict=True))]  # fmt: skip
        yield "  ".join(cells).rstrip()
        yield from (f"{'':{wide[0] + wide[1] + 6}}{text}" for text in more)


def _below(steps: Sequence[Step]) -> Iterator[str]:
    """The memory used by each role, and a legend of the marks used."""
    sizes: dict[str, list[int]] = {role: [] for role in ROLES}
    for slot in dict.fromkeys(w.buf for step in steps for w in step.operands):
        sizes[slot.role].append(slot.nbytes)
    found = [f"{len(n)} {role}{'s' * (len(n) != 1)} of {readable(sum(n))}"
             for role, n in sizes.items() if n]  # fmt: skip
    if found:
        yield "memory: " + ", ".join(found)
    used = {_mark(w) for step in steps for w in step.operands}
    if explained := [text for mark, text in MARKS.items() if mark in used]:
        yield "; ".join(explained)


# ---- cells ---------------------------------------------------------------------------------------


def called(step: Step) -> str:
    """The kernel, its dtype unless float32, and its parameters except those that are off."""
    dtype = "" if step.dtype.name == "float32" else f".{step.dtype.name}"
    params = [
        name if value is True else f"{name}={_plain(value)}"
        for name, value in step.params.items()
        if value not in (False, None, ()) and name not in ELSEWHERE.get(step.kernel, ())
    ]
    return " ".join([step.kernel + dtype, *params])


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ",".join(map(_plain, value)) if isinstance(value, tuple) else str(value)


def described(name: str, w: Walked) -> str:
    """`t3.T 10x32`: a name, a mark unless it is all of the memory in order, and the shape."""
    size = "x".join(map(str, w.shape))
    return f"{name}{_mark(w)} {size}".rstrip()


def _mark(w: Walked) -> str:
    walked = [(n, s) for n, s in zip(w.shape, w.strides, strict=True) if n != 1]
    if any(s == 0 for _, s in walked):
        return "*"
    inner = sorted(walked, key=lambda axis: -axis[1])
    sizes = tuple(n for n, _ in inner)
    dense = tuple(s for _, s in inner) == tuple(contiguous_strides(sizes))
    if not dense or math.prod(sizes) != len(w.buf):
        return "[]"
    return "" if inner == walked else ".T"


def _short(ins: Sequence[str]) -> Iterator[str]:
    """Join consecutive single numbers: s6, s7, s8 -> s6 s7 s8."""
    group: list[str] = []
    for text in [*ins, " "]:
        if " " not in text:
            group.append(text)
            continue
        if group:
            yield " ".join(group)
            group = []
        if text != " ":
            yield text


def line_of(where: tuple[str, int] | None) -> str:
    """`train.py:7  loss.backward()`: with the text if the file can be read."""
    if where is None:
        return ""
    text = " ".join(linecache.getline(*where).split())
    text = text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
    return f"{where[0].rpartition('/')[2]}:{where[1]}  {text}".rstrip()


# ---- numbers -------------------------------------------------------------------------------------


def _unit(values: Iterable[int]) -> tuple[float, str]:
    """A unit for the whole column, in which the largest number has at least two digits."""
    largest = max(values, default=0)
    return next((u for u in UNITS if largest >= 10 * u[0]), UNITS[-1])


def _number(value: float, unit: str) -> str:
    return f"{value:,.1f}" if unit else f"{value:,.0f}"


def readable(nbytes: int) -> str:
    factor, unit = _unit([nbytes])
    return f"{_number(nbytes / factor, unit)} {unit}B" if unit else f"{nbytes} bytes"
