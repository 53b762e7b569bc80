"""Telling a name that is not there because a cell was not run from a name that is wrong.

Which cell makes a name is read from the chapter, so a learner's own cells change nothing.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from course import notebooks
from course.exercise import Exercise
from course.library.source import split
from tutor.errors import TutorError


def missing(entry: Exercise, error: BaseException | None) -> list[str]:
    """What to do where an answer raised NameError for what a cell above its own makes; [] else."""
    if type(error) is not NameError:
        return []
    try:
        number, place = notebooks.place(entry.id)
    except TutorError:  # an exercise of no chapter
        return []
    return told(error, number, place)


def told(error: NameError, chapter: str, upto: int | None = None) -> list[str]:
    """Which cell of a chapter makes the missing name, looked for before the cell `upto`."""
    name = error.name
    if not isinstance(name, str):
        return []
    try:
        cells = notebooks.read(notebooks.chapters()[chapter])["cells"]
    except (KeyError, TutorError):
        return []
    number = 0
    for cell in cells[:upto]:
        if cell["cell_type"] != "code":
            continue
        number += 1
        if name in made_by(notebooks.source(cell)):
            about = notebooks.about(cell)
            of = f" (of {about[0]} {about[1]})" if about else ""
            return [
                f"`{name}` is not there yet: it is made by the {nth(number)} code cell of the"
                f" chapter{of}, which was not run",
                "to do: run that cell, and those between it and this one; it begins:"
                f" {first_line(notebooks.source(cell))}",
            ]
    return []


def made_by(text: str) -> frozenset[str]:
    """The names that a cell makes at its top level."""
    try:
        imports, statements = split(text)
    except SyntaxError:
        return frozenset()
    bound = frozenset(entry.bound for entry in imports)
    return bound.union(*(statement.defines for statement in statements))


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st"""
    last = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else last}"


# ---- where a cell itself raises ------------------------------------------------------------------


def watch(chapter: str) -> None:
    """In IPython, say which cell was not run where a cell of the chapter raises NameError."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if shell is None:
        return

    def raised(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        lines = told(error, chapter) if type(error) is NameError else []
        if lines:
            print("\n".join(lines))
        if not lines or depth(trace) > 1:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((NameError,), raised)


def depth(trace: TracebackType | None) -> int:
    """How many frames a traceback has from the cell on."""
    count = 0
    while trace is not None:
        inside = "IPython" not in trace.tb_frame.f_code.co_filename
        count += inside
        trace = trace.tb_next
    return count
