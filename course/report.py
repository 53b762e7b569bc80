"""`python -m tutor course report FOLDER`: what each learner's folder passes, all of it run anew.

Nothing that a submission says of itself is believed, not its progress file either. Each one is
marked in a sandbox (course/sandbox.py) by course/grading.py.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.exercise import Exercise, Question, everything
from course.verdict import KINDS, PASSED
from tutor.errors import DataError, DomainError

SECONDS = 900.0  # for one learner
CELL = 30.0  # for one cell of a notebook, or one file
MEMORY = 4 << 30  # bytes, of addresses, for one process

NOTE = (
    "note: no namespaces can be made here: time and memory are limited, but what was handed in can"
    " reach the network and your files; see docs/teachers.md"
)
UNREAD = "unread"  # it passes, and its text has a way to the check: somebody is to read it
RANK = {kind: rank for rank, kind in enumerate(("", "unsolved", "raised", "timeout", "changed"))}


@dataclass
class Learner:
    """What one folder passes."""

    name: str
    kinds: dict[str, str] = field(default_factory=dict)  # of each id that was tried
    texts: dict[str, str] = field(default_factory=dict)  # why not
    like_ours: list[str] = field(default_factory=list)  # ids whose answer is our solution
    troubles: list[str] = field(default_factory=list)

    def take(self, line: str) -> bool:
        """Note a finding of the sandbox; whether it was the last one."""
        try:
            found: Any = json.loads(line)
        except ValueError:
            return False
        if not isinstance(found, dict):
            return False
        if isinstance(found.get("trouble"), str):
            self.troubles.append(found["trouble"][:200])
        id, kind = str(found.get("id")), str(found.get("kind"))
        if kind in PASSED and found.get("reach"):
            kind, found["text"] = (
                UNREAD,
                f"found: it passes, and reaches for more: {found['reach']}",
            )
        if id in IDS and kind in (*KINDS, UNREAD) and not self.passed(id):
            if kind in PASSED or RANK.get(kind, 9) >= RANK.get(self.kinds.get(id, ""), 9):
                self.kinds[id], self.texts[id] = kind, str(found.get("text", ""))[:400]
            if kind in PASSED and found.get("ours") is True:
                self.like_ours.append(id)
        return "end" in found

    def passed(self, id: str) -> bool:
        return self.kinds.get(id) in PASSED

    def count(self, entries: list[Exercise | Question]) -> int:
        return sum(self.passed(entry.id) for entry in entries)


IDS = {entry.id: entry for entry in everything()}


def command(folder: str, file: str | None, seconds: float, memory: int) -> int:
    """Mark a folder of submissions; print the table, and write it as CSV."""
    try:
        from course import sandbox
    except ModuleNotFoundError:
        raise DomainError(
            "a report", "this system has no limits for processes", "run it on Linux or macOS"
        ) from None
    submissions = learners(Path(folder))
    apart = sandbox.possible()
    if not apart:
        print(NOTE, file=sys.stderr)
    found = []
    for path in submissions:
        if sys.stderr.isatty():
            print(f"{path.name} ...", file=sys.stderr)
        found.append(marked(path, seconds, memory, apart))
    print("\n".join(table(found)))
    if file:
        write_csv(Path(file), found)
    return 0


def learners(folder: Path) -> list[Path]:
    """One folder a learner."""
    if not folder.is_dir():
        raise DataError(
            f"a report on {folder}", "there is no such folder", "name the folder of submissions"
        )
    found = [p for p in sorted(folder.iterdir()) if p.is_dir() and not p.name.startswith(".")]
    if not found:
        raise DataError(
            f"a report on {folder}",
            "it has no folders in it",
            "make one folder for each learner, with notebooks, my_tutor or .py files in it",
        )
    return found


def marked(path: Path, seconds: float, memory: int, apart: bool) -> Learner:
    """What one submission passes."""
    from course import sandbox

    learner = Learner(path.name)
    run = [sys.executable, "-m", "course.grading", "{pipe}", str(min(CELL, seconds / 10))]
    ended = sandbox.run(path, run, seconds=seconds, memory=memory, apart=apart)
    last = False
    for line in ended.said.splitlines():
        last = learner.take(line) or last
    if not last:
        why = f"more than {seconds:g} seconds" if ended.code is None else "Python ended"
        learner.troubles.append(f"not marked to its end: {why}")
    return learner


# ---- showing it ----------------------------------------------------------------------------------


def chapters() -> dict[str, list[Exercise | Question]]:
    """What is counted in each chapter: exercises and questions; challenges are counted apart."""
    found: dict[str, list[Exercise | Question]] = {}
    for entry in IDS.values():
        if not stretch(entry):
            found.setdefault(entry.id.partition(".")[0], []).append(entry)
    return found


def stretch(entry: Exercise | Question) -> bool:
    return isinstance(entry, Exercise) and entry.stretch


def table(found: list[Learner]) -> list[str]:
    """A line for each learner, with a column for each chapter; what did not pass below."""
    by_chapter = chapters()
    challenges = [entry for entry in IDS.values() if stretch(entry)]
    rows = [["learner", *by_chapter, "passed", "of"] + (["more"] if challenges else [])]
    for learner in found:
        counts = [learner.count(entries) for entries in by_chapter.values()]
        row = [learner.name, *map(str, counts), str(sum(counts))]
        row.append(str(sum(map(len, by_chapter.values()))))
        rows.append(row + ([str(learner.count(challenges))] if challenges else []))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())
    for learner in found:
        lines += notes(learner)
    return lines


def notes(learner: Learner) -> list[str]:
    """What a teacher may want to look at."""
    lines = []
    tried = [id for id, kind in learner.kinds.items() if kind not in (*PASSED, "unsolved")]
    for id in sorted(tried):
        said = learner.texts[id].splitlines() or [""]
        telling = (line for line in said if line.startswith(("found:", "raised:", "got:")))
        text = " ".join(next(telling, said[0]).split())
        lines.append(f"{learner.name}: {id} {learner.kinds[id]}: {text}"[:120])
    if learner.like_ours:
        same = ", ".join(sorted(learner.like_ours))
        lines.append(f"{learner.name}: as in our solution, word for word: {same}")
    return lines + [f"{learner.name}: {trouble}"[:160] for trouble in learner.troubles]


def write_csv(path: Path, found: list[Learner]) -> None:
    """A row for each learner, with the kind of each exercise and question."""
    counted = [entry for entry in IDS.values() if not stretch(entry)]
    head = ["learner", "passed", "of", *IDS, "as in our solution", "troubles"]
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(head)
            for learner in found:
                kinds = [learner.kinds.get(id, "") for id in IDS]
                same, troubles = " ".join(learner.like_ours), "; ".join(learner.troubles)
                numbers = [learner.count(counted), len(counted)]
                words = map(as_text, [*kinds, same, troubles])
                writer.writerow([as_text(learner.name), *numbers, *words])
    except OSError as error:
        raise DataError(
            f"the table {os.fspath(path)}", str(error), "name a file you can write to"
        ) from None


def as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: names of folders are the learners' own."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t") else cell
