"""How exercises and questions are declared, and where they are found again by their id."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course import exercises
from course.judge import Judge
from tutor.errors import DomainError

__all__ = ["Exercise", "Judge", "Question", "everything", "exercise", "find", "question"]

ID = re.compile(r"(\d\d)\.(q?[1-9]\d*)")


@dataclass(frozen=True)
class Exercise:
    """What a learner writes: a function, a class or a value, and the check that marks it."""

    id: str  # "05.3", permanent
    title: str
    answer: str  # the name that the stub defines
    minutes: int
    hints: tuple[str, ...]
    solution: str  # source that defines `answer`
    seconds: float  # that one call of the answer may take
    check: Callable[[Judge, Any], None]

    @property
    def task(self) -> str:
        """What is checked, in a sentence."""
        return " ".join((self.check.__doc__ or "").split())


@dataclass(frozen=True)
class Question:
    """A question of the end box, with choices to take one from, or with a value for an answer."""

    id: str  # "05.q1", permanent
    text: str
    choices: dict[str, str]  # {"a": "...", "b": "..."}, or empty
    right: Any
    why: str

    @property
    def title(self) -> str:
        return self.text


CATALOGUE: dict[str, Exercise | Question] = {}


def exercise(
    id: str,
    title: str,
    *,
    answer: str,
    minutes: int,
    hints: tuple[str, ...],
    solution: str,
    seconds: float = 2.0,
) -> Callable[[Callable[[Judge, Any], None]], Callable[[Judge, Any], None]]:
    """Declare the decorated function `check(judge, answer)` to be the check of this exercise."""

    def declare(check: Callable[[Judge, Any], None]) -> Callable[[Judge, Any], None]:
        entry = Exercise(id, title, answer, minutes, hints, solution.strip("\n"), seconds, check)
        known = CATALOGUE.get(id)
        if isinstance(known, Question) or (known and known.check.__name__ != check.__name__):
            raise _taken(id)
        _enter(entry)
        return check

    return declare


def question(
    id: str, text: str, *, right: Any, why: str, choices: dict[str, str] | None = None
) -> None:
    """Declare a question: one of `choices` is `right`, or, without choices, that value is."""
    if choices and right not in choices:
        raise DomainError(
            f"question {id} with the right choice {right!r}",
            f"its choices are {', '.join(choices)}",
            "name one of them",
        )
    known = CATALOGUE.get(id)
    if known and (isinstance(known, Exercise) or known.text != text):
        raise _taken(id)
    _enter(Question(id, text, choices or {}, right, why))


def _enter(entry: Exercise | Question) -> None:
    if not ID.fullmatch(entry.id) or ("q" in entry.id) != isinstance(entry, Question):
        raise DomainError(
            f"the id {entry.id!r}",
            "an exercise is called 05.3, a question 05.q1",
            "give it an id of that form",
        )
    CATALOGUE[entry.id] = entry


def _taken(id: str) -> DomainError:
    return DomainError(f"the id {id!r}", "another entry has it already", "ids are never used twice")


# ---- finding them --------------------------------------------------------------------------------


def find(id: Any) -> Exercise | Question | None:
    """The entry of this id; None where there is none. Imports the chapter it belongs to."""
    match = ID.fullmatch(id) if isinstance(id, str) else None
    if match is None:
        return None
    module = f"ch{match[1]}"
    if module in _modules():
        importlib.import_module(f"{exercises.__name__}.{module}")
    return CATALOGUE.get(id)


def everything() -> list[Exercise | Question]:
    """All entries of all chapters, in order."""
    for module in _modules():
        importlib.import_module(f"{exercises.__name__}.{module}")
    return sorted(CATALOGUE.values(), key=lambda entry: order(entry.id))


def order(id: str) -> tuple[str, bool, int]:
    """Sorts ids: by chapter, exercises before questions, then by number."""
    chapter, _, number = id.partition(".")
    return chapter, number.startswith("q"), int(number.lstrip("q"))


def near(id: Any) -> list[str]:
    """Ids that are spelled like this one."""
    ids = [entry.id for entry in everything()]
    chapter, _, number = str(id).partition(".")
    if (full := f"{chapter:0>2}.{number}") in ids:  # 1.2 for 01.2
        return [full]
    return difflib.get_close_matches(str(id), ids, n=3, cutoff=0.5)


def _modules() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(exercises.__path__))
