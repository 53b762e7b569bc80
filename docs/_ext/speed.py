"""The benchmarks' lines of JSON as charts: docs/measured.jsonl, which a run of `make bench` wrote.

A chart shows one suite. Each case has a scale of its own, on which the slowest library fills the
row: so a step of 20 ms and an addition of 0.5 us stand in one picture, and lengths are compared
within a case.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tutor.viz.svg import Picture, fit, rect, text, width_of

MEASURED = Path(__file__).parents[1] / "measured.jsonl"
Row = dict[str, Any]

# library: (what it is called, colour of its bar). tutor first, in every case.
LIBRARIES = {
    "tutor": ("tutor", "blue"),
    "eager": ("tutor without jit", "amber"),
    "numpy": ("NumPy", "orange"),
    "torch": ("PyTorch", "green"),
}
STEADY = 0.25
WIDTH, MARGIN, BAR, NAME = 480, 20, 17, 122
TIME = 74  # room for "21.7 ms" behind the longest bar


def rows(suite: str | None = None, file: Path = MEASURED) -> list[Row]:
    """The rows of a suite, or of all, that have a time of tutor's and of another library, and whose
    medians are no more than STEADY above the bests: what varied more was disturbed too much."""
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [
        row for row in found
        if suite in (None, row["suite"]) and row["unit"] == "s" and not row["differs"]
        and "tutor" in row["results"] and len(row["results"]) > 1
        and max(found["spread"] for found in row["results"].values()) <= STEADY
    ]  # fmt: skip


def seconds(value: float) -> str:
    """Three digits and a unit: "21.7 ms"."""
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, size in units.items() if value >= 0.9995 * size), "ns")
    shown = value / units[unit]
    digits = 2 if shown < 9.995 else 1 if shown < 99.95 else 0
    return f"{shown:.{digits}f} {unit}"


def measured_on(some: Sequence[Row]) -> str:
    """One sentence: which machine, when, with what, and how quiet it was."""
    row = some[0]
    busy = max(r["others"] or 0.0 for r in some)
    rest = "Nothing else ran." if busy < 0.2 else (
        f"Other programs wanted up to {busy:.1f} of its cores meanwhile, "
        "so the best time of many counts."
    )  # fmt: skip
    threads = f"{row['threads']} thread{'s' * (row['threads'] != 1)} for each library"
    return (f"Measured on {row['date'][:10]} on {row['cpu']} ({row['cores']} cores, "
            f"{row['level']}): {threads}; tutor {row['tutor']}, NumPy {row['numpy']}, "
            f"PyTorch {row['torch']}. {rest}")  # fmt: skip


def chart(some: Sequence[Row], title: str, width: int = WIDTH) -> Picture:
    """A group of bars for each case, each with its time; the shorter the faster."""
    y = 58.0
    parts = [
        text(MARGIN, 30, title, 15, weight=600),
        text(MARGIN, 48, "best time of each; the shorter, the faster", 12, "soft"),
    ]
    longest = width - 2 * MARGIN - NAME - TIME
    for row in some:
        y += 24
        ratio = row["ratio"]
        said = f"{ratio:.1f} times as fast" if ratio >= 1.05 else (
            "as fast" if ratio > 0.95 else f"takes {1 / ratio:.1f} times as long")  # fmt: skip
        room = width - 2 * MARGIN - width_of(said, 12) - 14
        parts.append(text(MARGIN, y, fit(row["case"], room, 13, bold=True), 13, weight=600))
        parts.append(text(width - MARGIN, y, said, 12, "soft", "end"))
        slowest = max(found["best"] for found in row["results"].values())
        y += 6
        for library, (name, colour) in LIBRARIES.items():
            if library not in row["results"]:
                continue
            best = row["results"][library]["best"]
            wide = max(2.0, longest * best / slowest)
            weight = 600 if library == "tutor" else None
            parts.append(text(MARGIN + NAME - 8, y + 13, name, 12, "ink", "end", weight))
            parts.append(rect(MARGIN + NAME, y + 1, wide, BAR - 3, colour, rx=2))
            parts.append(text(MARGIN + NAME + wide + 7, y + 13, seconds(best), 12, weight=weight))
            y += BAR
    words = "; ".join(
        f"{row['case']}: " + ", ".join(
            f"{LIBRARIES[name][0]} {seconds(found['best'])}"
            for name, found in row["results"].items() if name in LIBRARIES)
        for row in some)  # fmt: skip
    return Picture("".join(parts), width, math.ceil(y + 18), f"{title}. {words}", words=words)
