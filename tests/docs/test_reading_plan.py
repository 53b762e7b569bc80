"""docs/reading-plan.md: each piece of docs/reading.md in one week; its paths and counts."""

from __future__ import annotations

import re
from pathlib import Path

import trunk
from test_reading import pieces

from course import notebooks, roads

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reading-plan.md").read_text("utf-8")
WEEK = re.compile(r"(?m)^\| (\d) \| ([^|]*) \| ([\d,]+) \| ([\d.]+) \| ([^|]*) \| [^|]+ \|$")
EVENING = re.compile(r"(?m)^\| (`[^|]*) \| ([\d,]+) \| ([^|]*) \| [^|]+ \|$")
BESIDE = re.compile(r"(?m)^\| `(tutor/[^`]+)` \| `tinygrad\.[\w.]+` \| [\d,]+ \| [^|]+ \|$")
NEAR = 0.1  # how far a stated count of lines may be from what is counted
HOURS = (2.5, 4.0)  # a week


def number(text: str) -> int:
    return int(text.replace(",", ""))


def spelled(text: str) -> list[int]:
    """1 to 3, 7: [1, 2, 3, 7]."""
    found: list[int] = []
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        found += range(int(first), int(last or first) + 1)
    return found


def near(stated: str, counted: int) -> bool:
    return abs(number(stated) - counted) <= NEAR * counted


def test_every_piece_is_read_in_one_week() -> None:
    weeks = WEEK.findall(PAGE)
    assert [int(week) for week, *_ in weeks] == list(range(1, len(weeks) + 1))
    read = [piece for _, text, *_ in weeks for piece in spelled(text)]
    assert sorted(read) == list(range(1, len(pieces()) + 1))


def test_a_week_has_the_lines_and_hours_that_it_states() -> None:
    cut = pieces()
    for week, text, lines, hours, _ in WEEK.findall(PAGE):
        here = spelled(text)
        assert float(hours) == len(here) / 2 and HOURS[0] <= float(hours) <= HOURS[1], week
        counted = trunk.lines([path for piece in here for path in cut[piece - 1]])
        assert near(lines, counted), f"week {week} has {counted} lines"


def test_the_other_rows_name_files_of_that_length() -> None:
    rows = EVENING.findall(PAGE)
    assert len(rows) >= 5
    for files, lines, _ in rows:
        paths = [ROOT / path for path in re.findall(r"`([^`]+)`", files)]
        assert [path for path in paths if not path.is_file()] == []
        counted = trunk.lines(paths)
        assert near(lines, counted), f"{files} have {counted} lines"
        assert not set(paths) & set(trunk.files()), "the trunk is in the weeks"


def test_the_chapters_are_there() -> None:
    known = {roads.label(chapter) for chapter in notebooks.chapters()}
    columns = [row[4] for row in WEEK.findall(PAGE)] + [row[2] for row in EVENING.findall(PAGE)]
    named = {label for text in columns for label in text.split(", ")}
    assert named <= known, named - known


def test_the_counterparts_of_tinygrad_are_files_of_ours() -> None:
    files = BESIDE.findall(PAGE)
    assert len(files) >= 5 and [path for path in files if not (ROOT / path).is_file()] == []
