"""Telling a wrong answer from a right one that an earlier piece breaks.

An answer that fails is run again in a library that is ours altogether. If it passes there, the
learner's earlier pieces are exchanged for ours one by one, until the one is found without which it
passes.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course import notebooks
from course.exercise import Exercise
from course.judging import judged
from course.library import saving, session
from course.library.answers import taken
from course.library.compose import Own, compose
from course.library.load import LoadError, load
from course.library.parts import Part
from tutor.errors import TutorError

NAME = "trial"
SECONDS = 15.0  # after which nobody is looked for any more


def blamed(entry: Exercise, answer: Any) -> list[str]:
    """What to say where an earlier piece is to blame for a failing answer; [] where none is."""
    try:
        number, place = notebooks.place(entry.id)
    except TutorError:  # an exercise of no chapter: a teacher's own
        return []
    parts = [p for p in saving.everything() if (p.chapter, p.place) < (number, place)]
    own = {key: one for key, one in theirs(number).items() if key in {p.key for p in parts}}
    if not own:
        return []
    library = {name for part in parts for name in part.defines}
    found = taken(answer, entry.answer, library)
    if not found.text:
        return []
    space = getattr(answer, "__globals__", {})
    names = {name: space[name] for name in found.missing if name in space}
    ends = time.monotonic() + SECONDS
    trial = Trial(entry, parts, found.text, names)
    if not trial.passes({}) or trial.passes(own):
        return []
    for part in reversed(parts):
        if part.key in own and part.answer and time.monotonic() < ends:
            rest = {key: one for key, one in own.items() if key != part.key}
            if trial.passes(rest):
                return _named(entry, part, own, parts)
    return [
        f"{entry.id} is right: with ours in place of all your earlier pieces it passes",
        f"to do: check them again, one by one: {', '.join(sorted(own))}",
    ]


def theirs(number: str) -> dict[str, Own]:
    """What is theirs in the library that runs, and of this chapter what stands in the folder."""
    running = session.running()
    found = dict(running.own) if running else {}
    for key, one in saving.shelf().own.items():
        if key[:2] == number[:2] and key not in found and not one.broken:
            found[key] = one
    return {key: one for key, one in found.items() if not one.ours}


class Trial:
    """An answer, to be judged in different libraries."""

    def __init__(
        self, entry: Exercise, parts: list[Part], text: str, names: Mapping[str, Any]
    ) -> None:
        self.entry, self.parts, self.text, self.names = entry, parts, text, names

    def passes(self, own: Mapping[str, Own]) -> bool:
        """Whether the answer passes where this much of the library is theirs."""
        try:
            library = load(compose(self.parts, own).texts(), NAME)
            space = {name: getattr(library, name) for name in library.__all__}
            space |= {**self.names, "__name__": NAME}
            place = f"<{NAME} of {self.entry.id}>"
            lines = self.text.splitlines(keepends=True)
            linecache.cache[place] = (len(self.text), None, lines, place)
            exec(compile(self.text, place, "exec", dont_inherit=True), space)
            return judged(replace(self.entry, without=()), space[self.entry.answer]).passed
        except (Exception, SystemExit):
            return False
        finally:
            for name in [name for name in sys.modules if (name + ".").startswith(f"{NAME}.")]:
                del sys.modules[name]


def _named(entry: Exercise, part: Part, own: Mapping[str, Own], parts: list[Part]) -> list[str]:
    """The piece without which the answer passes, and what its check says of it now."""
    lines = [
        f"{entry.id} is right. With our `{part.answer}` ({part.key}) in place of yours it passes:"
        f" check {part.key} again"
    ]
    try:
        library = load(compose(parts, own).texts(), NAME)
    except LoadError as error:
        return [*lines, f"{part.key} now: {error}"]
    verdict = session.verdict_of(part, library)
    if verdict is not None and verdict.passed:
        said = (
            f"its check passes, so the fault is none that the check looks for; see {part.file}.py"
        )
    else:
        said = session.first(verdict) if verdict is not None else "it has no check"
    return [*lines, f"{part.key} now: {said}"]
