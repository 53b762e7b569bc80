"""How exercises and questions are declared, and where they are found again by their id."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import exercises
from course.judge import Judge
from tutor.errors import DataError, DomainError

__all__ = ["Exercise", "Judge", "Question", "everything", "exercise", "find", "question"]

ID = re.compile(r"(\d\d|P)\.([qs]?[1-9]\d*)")  # P: the projects after chapter 12


def solutions() -> Path:
    """The folder with a file for the solution of each exercise: 05.3.py."""
    return Path(next(iter(exercises.__path__))).parent / "solutions"


@dataclass(frozen=True)
class Exercise:
    """What a learner writes: a function, a class or a value, and the check that marks it."""

    id: str  # "05.3", or "05.s1" for a stretch challenge; permanent
    title: str
    answer: str  # the name that the stub defines
    minutes: int
    hints: tuple[str, ...]
    seconds: float  # that one call of the answer may take
    check: Callable[[Judge, Any], None]
    without: tuple[str, ...] = ()  # names that the answer must not use: it is to write them
    why_ours: str = ""  # what differs in our solution from most answers that pass, and why
    text: str | None = None  # the solution, where it stands in no file: a teacher's own exercise

    @property
    def task(self) -> str:
        """What is checked, in a sentence."""
        return " ".join((self.check.__doc__ or "").split())

    @property
    def stretch(self) -> bool:
        """Whether it is a challenge for those who want more, which is counted apart."""
        return self.id.partition(".")[2].startswith("s")

    @property
    def solution(self) -> str:
        """Source that defines `answer`, from course/solutions."""
        if self.text is not None:
            return self.text
        file = solutions() / f"{self.id}.py"
        try:
            return file.read_text("utf-8").strip("\n")
        except OSError as error:
            raise DataError(
                f"the solution of {self.id}", f"{file}: {error.strerror}", "install tutor again"
            ) from None


@dataclass(frozen=True)
class Question:
    """A question of the end box, with choices to take one from, or with a value for an answer."""

    id: str  # "05.q1", permanent
    text: str
    choices: dict[str, str]  # {"a": "...", "b": "..."}, or empty
    right: Any
    why: str
    tempting: Mapping[Any, str]  # why one may take a wrong answer, and what is wrong about it

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
    seconds: float = 2.0,
    without: tuple[str, ...] = (),
    why_ours: str = "",
    solution: str | None = None,
) -> Callable[[Callable[[Judge, Any], None]], Callable[[Judge, Any], None]]:
    """Declare the decorated function `check(judge, answer)` to be the check of this exercise.

    The solution stands in course/solutions, in a file of its id, unless it is given. An answer
    that uses one of the names in `without` is wrong. `why_ours` says what our solution does
    otherwise, and why.
    """

    def declare(check: Callable[[Judge, Any], None]) -> Callable[[Judge, Any], None]:
        text = solution if solution is None else solution.strip("\n")
        entry = Exercise(id, title, answer, minutes, hints, seconds, check, without, why_ours, text)
        known = CATALOGUE.get(id)
        if isinstance(known, Question) or (known and known.check.__name__ != check.__name__):
            raise _taken(id)
        _enter(entry)
        return check

    return declare


def question(
    id: str,
    text: str,
    *,
    right: Any,
    why: str,
    choices: dict[str, str] | None = None,
    tempting: Mapping[Any, str] | None = None,
) -> None:
    """Declare a question: one of `choices` is `right`, or, without choices, that value is.

    `tempting` says of wrong answers, {choice or value: words}, why one may take each of them, and
    what is wrong about it. The learner who gives one is told so.
    """
    if choices and right not in choices:
        raise DomainError(
            f"question {id} with the right choice {right!r}",
            f"its choices are {', '.join(choices)}",
            "name one of them",
        )
    known = CATALOGUE.get(id)
    if known and (isinstance(known, Exercise) or known.text != text):
        raise _taken(id)
    for answer in tempting or {}:
        if answer == right or (choices and answer not in choices):
            found = "it is right" if answer == right else "it is none of the choices"
            raise DomainError(
                f"question {id} with the tempting answer {answer!r}", found, "name wrong answers"
            )
    _enter(Question(id, text, choices or {}, right, why, tempting or {}))


def _enter(entry: Exercise | Question) -> None:
    if not ID.fullmatch(entry.id) or ("q" in entry.id) != isinstance(entry, Question):
        raise DomainError(
            f"the id {entry.id!r}",
            "an exercise is called 05.3, a stretch challenge 05.s1, a question 05.q1",
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
    module = f"ch{match[1].lower()}"
    if module in _modules():
        importlib.import_module(f"{exercises.__name__}.{module}")
    return CATALOGUE.get(id)


def everything() -> list[Exercise | Question]:
    """All entries of all chapters, in order."""
    for module in _modules():
        importlib.import_module(f"{exercises.__name__}.{module}")
    return sorted(CATALOGUE.values(), key=lambda entry: order(entry.id))


def order(id: str) -> tuple[str, int, int]:
    """Sorts ids: by chapter, exercises, then challenges, then questions; each by number."""
    chapter, _, number = id.partition(".")
    return chapter, "sq".find(number[0]), int(number.lstrip("qs"))


def near(id: Any) -> list[str]:
    """Ids that are spelled like this one."""
    ids = [entry.id for entry in everything()]
    chapter, _, number = str(id).partition(".")
    if (full := f"{chapter:0>2}.{number}") in ids:  # 1.2 for 01.2
        return [full]
    same = [other for other in ids if other.startswith(f"{chapter}.")]
    return difflib.get_close_matches(str(id), same or ids, n=3, cutoff=0.5)


def _modules() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(exercises.__path__))
