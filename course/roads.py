"""Three roads through the chapters: each chapter's metadata says on which of them it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import notebooks

ROADS = {
    "two hours": "see the whole idea once, in sixty lines of your own",
    "weekend": "the spine: bytes, tensors, the engine, a network that reads",
    "everything": "all of it, from a byte to a trained network",
}


@dataclass(frozen=True)
class Chapter:
    """What a chapter's metadata says of it."""

    number: str  # "04b"
    path: Path
    title: str
    goal: str
    minutes: int
    roads: tuple[str, ...]

    @property
    def label(self) -> str:
        """The number as one says it: 4b."""
        return label(self.number)


def label(number: str) -> str:
    return number.lstrip("0") if number.lstrip("0")[:1].isdigit() else number[1:]


def chapters() -> list[Chapter]:
    """All chapters, in order."""
    found = []
    for number, path in notebooks.chapters().items():
        about: dict[str, Any] = notebooks.read(path)["metadata"]["tutor"]
        on = tuple(road for road in ROADS if road in about.get("roads", ["everything"]))
        goal = about["goal"].rstrip(".")
        found.append(Chapter(number, path, about["title"], goal, int(about["minutes"]), on))
    return found


def time(minutes: int) -> str:
    """Minutes as one says them: 45 min, 2 h, 13 h 30."""
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02}" if rest else f"{hours} h"


def rows() -> list[tuple[str, str, str, str]]:
    """(road, what it is for, its chapters, its time) for each of the three."""
    found = []
    for road, what in ROADS.items():
        on = [chapter for chapter in chapters() if road in chapter.roads]
        labels = ", ".join(chapter.label for chapter in on)
        found.append((road, what, labels, time(sum(chapter.minutes for chapter in on))))
    return found


def markdown() -> str:
    """The roads as a table of Markdown."""
    lines = ["| road | what for | chapters | time |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())])
