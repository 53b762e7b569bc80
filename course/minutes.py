"""How long a chapter takes: one formula for all of them, and the places to stop at.

A chapter is read, run, guessed at and worked through:

    minutes = words / 150 + lines of code / 5 + cells to run / 4
            + 2 for each prediction and each question + the exercises' own minutes

Words are those of the text, at the pace of somebody who wants to understand them. Lines of code are
those that are not blank, in the cells that are there to be read; five of them a minute, because
each is new. The numbers were set so that the formula gives what chapters 0 to 8 took when somebody
did all of them, about 26 hours. Challenges are extra: their minutes are not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from course import notebooks
from course.exercise import Exercise, find

WORDS, LINES, CELLS = 150, 5, 4  # a minute
PREDICTION = QUESTION = 2.0  # minutes each
STRETCH = (25, 45)  # minutes between places to stop: 30 to 40, and 5 that no exercise is cut for
LONGEST = 330  # minutes that a chapter may announce: docs/chapters.md promises it
NEAR = 0.1  # how far what a chapter announces may be from what is counted
DRAWN = re.compile(r"(?s)<svg\b.*?</svg>|</?[a-zA-Z][^>]*>")  # is looked at, not read
GUESS = re.compile(r"(?m)^guess\w* = ")


@dataclass(frozen=True)
class Parts:
    """What there is to do, and the minutes it takes."""

    words: int = 0
    lines: int = 0
    cells: int = 0
    predictions: int = 0
    questions: int = 0
    exercises: float = 0.0  # minutes, as declared

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            self.words + other.words,
            self.lines + other.lines,
            self.cells + other.cells,
            self.predictions + other.predictions,
            self.questions + other.questions,
            self.exercises + other.exercises,
        )

    @property
    def minutes(self) -> float:
        told = self.words / WORDS + self.lines / LINES + self.cells / CELLS
        asked = self.predictions * PREDICTION + self.questions * QUESTION
        return told + asked + self.exercises


def of_cell(cell: notebooks.Cell) -> Parts:
    """What one cell has in it."""
    text, about = notebooks.source(cell), notebooks.about(cell)
    if "roads" in notebooks.tags(cell):
        return Parts()  # a table in which one looks for one's own row
    if cell["cell_type"] == "markdown":
        return Parts(words=len(re.findall(r"\w+", DRAWN.sub(" ", text))))
    if cell["cell_type"] != "code" or (about and about[0] == "check"):
        return Parts()
    if about and about[0] == "question":
        return Parts(questions=1)
    entry = find(about[1]) if about else None
    return Parts(
        lines=sum(1 for line in text.splitlines() if line.strip()),
        cells=1,
        predictions=1 if GUESS.search(text) else 0,
        exercises=entry.minutes if isinstance(entry, Exercise) and not entry.stretch else 0.0,
    )


def of_chapter(notebook: notebooks.Notebook) -> Parts:
    return sum(map(of_cell, notebook["cells"]), Parts())


def announced(notebook: notebooks.Notebook) -> int:
    """What a chapter should announce: as it does, where that is near enough; else to 5 minutes."""
    counted = of_chapter(notebook).minutes
    says = notebook.get("metadata", {}).get("tutor", {}).get("minutes", 0)
    if isinstance(says, int) and abs(says - counted) <= NEAR * counted:
        return says
    return max(5, round(counted / 5) * 5)


def stretches(notebook: notebooks.Notebook) -> list[float]:
    """The minutes from each place to stop (a cell with the tag `stop`) to the next, and the end."""
    found, parts = [], Parts()
    for cell in notebook["cells"]:
        parts += of_cell(cell)
        if "stop" in notebooks.tags(cell):
            found.append(parts.minutes)
            parts = Parts()
    return [*found, parts.minutes]


def badly_cut(notebook: notebooks.Notebook) -> list[str]:
    """What is wrong with the places to stop, in words."""
    least, most = STRETCH
    *between, last = stretches(notebook)
    wrong = [
        f"{minutes:.0f} minutes before stop {number}, which should be {least} to {most}"
        for number, minutes in enumerate(between, 1)
        if not least <= minutes <= most
    ]
    if last > most:
        wrong.append(f"{last:.0f} minutes at the end without a stop, more than {most}")
    return wrong


def report(number: str, notebook: notebooks.Notebook) -> str:
    """A chapter's parts and stretches, for its author."""
    parts = of_chapter(notebook)
    says = notebook.get("metadata", {}).get("tutor", {}).get("minutes", 0)
    lines = [
        f"{number}: {parts.minutes:.0f} minutes are counted, {says} announced",
        f"    {parts.words} words, {parts.lines} lines of code, {parts.cells} cells, "
        f"{parts.predictions} predictions, {parts.questions} questions, "
        f"{parts.exercises:.0f} minutes of exercises",
        "    from stop to stop: " + ", ".join(f"{part:.0f}" for part in stretches(notebook)),
    ]
    return "\n".join([*lines, *(f"    {fault}" for fault in badly_cut(notebook))])
