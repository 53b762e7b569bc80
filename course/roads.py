"""The roads through the chapters, three for each part: a chapter's metadata says on which of them
it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import notebooks

ROADS = {
    "I": {
        "two hours": "see the whole idea once, in sixty lines of your own",
        "weekend": "the spine: bytes, tensors, the engine, a network that reads",
        "everything": "all of it, from a byte to a trained network",
    },
    "II": {
        "two evenings": "a GPT that writes, standing on our layers and our attention",
        "second weekend": "the spine: what makes deep networks learn, attention, the GPT",
        "everything": "all of it, with the network that reads at 99 %",
    },
    "III": {
        "one evening": "why one loop is slow: lines, tiles, chains and lanes, all of it counted",
        "third weekend": "the spine: memory and lanes, and a product near the machine's peak",
        "everything": "all of it, with threads, the price of memory, and a compiler",
    },
}
SECOND = "09"  # the chapter with which Part II begins
PROJECTS = "12p"  # as the projects stand in the order of chapters: behind Part II
THIRD = "13"  # the chapter with which Part III begins


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
    def part(self) -> str:
        return part(self.number)

    @property
    def label(self) -> str:
        """The number as one says it: 4b."""
        return label(self.number)


def part(number: str) -> str:
    """ "I", "II" or "III": the part of the course that a chapter belongs to."""
    return "I" if number < SECOND else "II" if number < THIRD else "III"


def label(number: str) -> str:
    """A chapter's number as one says it; "P" for the projects."""
    if number == PROJECTS:
        return "P"
    return number.lstrip("0") if number.lstrip("0")[:1].isdigit() else number[1:]


def chapters() -> list[Chapter]:
    """All chapters, in order."""
    found = []
    for number, path in notebooks.chapters().items():
        about: dict[str, Any] = notebooks.read(path)["metadata"]["tutor"]
        lies = about.get("roads", ["everything"])
        on = tuple(road for road in ROADS[part(number)] if road in lies)
        goal = about["goal"].rstrip(".")
        found.append(Chapter(number, path, about["title"], goal, int(about["minutes"]), on))
    return found


def time(minutes: int) -> str:
    """Minutes as one says them: 45 min, 2 h, 13 h 30."""
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02}" if rest else f"{hours} h"


HEADS = ("part", "road", "what for", "chapters", "time")


def rows() -> list[tuple[str, str, str, str, str]]:
    """(part, road, what it is for, its chapters, its time) for each of the three of each part."""
    found, known = [], chapters()
    for number, roads in ROADS.items():
        for road, what in roads.items():
            on = [chapter for chapter in known if chapter.part == number and road in chapter.roads]
            labels = ", ".join(chapter.label for chapter in on)
            found.append((number, road, what, labels, time(sum(c.minutes for c in on))))
    return found


def markdown() -> str:
    """The roads as a table of Markdown."""
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())])
