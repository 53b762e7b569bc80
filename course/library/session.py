"""What runs: the library as it stands before a chapter, `begin("05")`, and ours in place of an
exercise that is not done, `go_on("05.3")`.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from course import record, unrun
from course.exercise import Exercise, Question, find
from course.judging import judged
from course.library import disk, saving
from course.library.compose import Own, compose
from course.library.load import LoadError, load
from course.library.parts import Part, known
from course.library.source import import_lines
from course.roads import PROJECTS, label
from course.standing import OURS, PASSED
from tutor.errors import TutorError

NAME = "my_tutor"


@dataclass
class Running:
    """A library that was put together and loaded."""

    module: Any
    texts: dict[str, str]
    own: dict[str, Own]  # what is theirs in it
    troubles: dict[str, str] = field(default_factory=dict)  # pieces of theirs that ours replace
    chapter: str = ""  # that was begun with it


LAST: list[Running] = []  # the library of the chapter that was begun last


def started(parts: list[Part], found: disk.Shelf, name: str) -> Running:
    """The library of these parts, loaded: with theirs where that runs, else with ours."""
    own = {part.key: found.own[part.key] for part in parts if part.key in found.own}
    troubles = {key: one.broken for key, one in own.items() if one.broken}
    for part in parts:
        if part.key in own and part.answer not in ("", *saving.region(part, own[part.key]).public):
            troubles[part.key] = f"it does not define `{part.answer}`"
    while True:
        chosen = {key: one for key, one in own.items() if key not in troubles}
        texts = compose(parts, chosen, found.extras).texts()
        places = _places(texts, found)
        try:
            return Running(load(texts, name, places), texts, chosen, troubles)
        except LoadError as error:
            key = _region(error.file, texts[error.file], error.line)
            if key in chosen:
                troubles[key] = f"{type(error.error).__name__}: {error.error}"
            elif chosen:  # ours raises because of theirs, or what was put at the top of a file
                key = max(chosen)
                troubles[key] = f"without it, this is no more: {error}"
            elif found.extras:
                found.extras = {}
            else:
                raise error.error from None


def _places(texts: Mapping[str, str], found: disk.Shelf) -> dict[str, str]:
    """What each text is called in tracebacks: its file, where that has just this text."""
    places = {}
    for file, text in texts.items():
        path = found.folder / f"{file}.py"
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if path.read_text("utf-8") == text:
                places[file] = str(path)
    return places


def _region(file: str, text: str, line: int) -> str:
    """The key of the region in which a line of a file stands."""
    above = "\n".join(text.splitlines()[:line])
    regions = disk.cut(file, above)[1]
    return regions[-1][0] if regions else ""


# ---- begin ---------------------------------------------------------------------------------------


def begin(chapter: int | str) -> None:
    """Put together what was built before this chapter, as the module my_tutor; before the projects,
    begin("P"), that is all of Parts I and II.

    Pieces are theirs where they passed, else ours. The same stands in the folder my_tutor.
    """
    number, where = PROJECTS if chapter == "P" else known(chapter), disk.folder()
    with disk.alone(where):
        found = saving.shelf()
        found.begun = max(found.begun, number)
        trouble = saving.write(found)
    parts = [part for part in saving.everything() if part.chapter < number]
    now = started(parts, found, NAME)
    failing = _failing(parts, found, now)
    if failing:
        for key in failing:
            del found.own[key]
        now = started(parts, found, NAME)
        now.troubles |= failing
    now.chapter, LAST[:] = number, [now]
    unrun.watch(number)
    print(_said(parts, now))
    for key, why in now.troubles.items():
        print(f"{key}, which is yours, is left out, and ours goes on in its place: {why}")
    for file, why in found.closed.items():
        print(f"{NAME}/{file}.py is left alone: {why}")
    if trouble:
        print(f"your library is not saved: {trouble}")


def running() -> Running | None:
    """The library of the chapter that was begun last; None before that."""
    return LAST[0] if LAST else None


def _said(parts: list[Part], now: Running) -> str:
    """How much of the library is theirs, and what is not."""
    pieces = [part for part in parts if part.answer]
    if not pieces:
        return "your library is empty yet: this chapter begins it"
    texts = now.texts
    marks = {file: [key for key, _, _ in disk.cut(file, texts[file])[1]] for file in texts}
    ours = [
        part.key
        for part in pieces
        if part.key in marks.get(part.file, ())
        and (part.key not in now.own or now.own[part.key].ours)
    ]
    text = f"{len(pieces) - len(ours)} of {len(pieces)} pieces of your library are yours"
    return f"{text}; ours until yours pass: {_listed(pieces, ours)}" if ours else text


def _listed(pieces: list[Part], ours: list[str]) -> str:
    """The keys of these pieces; of chapters that were left out altogether only the number."""
    chapters: dict[str, list[str]] = {}
    for part in pieces:
        chapters.setdefault(part.chapter, []).append(part.key)
    whole = [n for n, keys in chapters.items() if len(keys) > 1 and set(keys) <= set(ours)]
    single = [key for n, keys in chapters.items() if n not in whole for key in keys if key in ours]
    if whole:
        single.append(f"all of chapter{'s' * (len(whole) > 1)} {', '.join(map(label, whole))}")
    return ", ".join(single)


def _failing(parts: list[Part], found: disk.Shelf, now: Running) -> dict[str, str]:
    """Their pieces that were changed by hand and do not pass any more, and what their check says.

    What passed as it stands is not judged again.
    """
    failing, notes = {}, found.notes.setdefault("passes", {})
    for part in parts:
        own = now.own.get(part.key)
        if own is None or own.ours or not part.answer:
            continue
        stamp = disk.sha(saving.region(part, own).text)
        if notes.get(part.key) == stamp:
            continue
        verdict = verdict_of(part, now.module)
        if verdict is None or verdict.passed:
            notes[part.key] = stamp
            disk.remember(found.folder, part.key, own.text)
        else:
            failing[part.key] = f"it was changed and does not pass now: {first(verdict)}"
    with disk.alone(found.folder):
        fresh = saving.shelf()  # another kernel may have written meanwhile
        fresh.notes["passes"] = notes
        disk.note(fresh)
    return failing


def verdict_of(part: Part, library: Any) -> Any:
    """What the check of a piece says of that in a library; None where there is no such exercise."""
    entry = find(part.key)
    return judged(entry, getattr(library, part.answer)) if entry else None


def first(verdict: Any) -> str:
    """The first thing that a verdict says."""
    return f"{verdict.kind}, {verdict.lines[0]}" if verdict.lines else str(verdict.kind)


def passed(entry: Exercise | Question, answer: Any, notes: list[str]) -> list[str]:
    """Note that an answer passed, and save it if it is a piece of the library: what to say of it.

    What went wrong with that is added to `notes`.
    """
    if trouble := record.tried(entry.id, True):
        notes.append(trouble)
    if isinstance(entry, Question):
        return []
    PASSED[entry.id] = answer
    try:
        return saving.save(entry.id, answer)
    except (TutorError, OSError) as error:
        notes.append(f"it is not saved in your library: {error}")
        return []


# ---- go_on ---------------------------------------------------------------------------------------


def go_on(id: str) -> None:
    """Go on with the learner's answer if it passes, else with ours: one line says which it is.

    Theirs is what the notebook has, or else what stands in their library.
    """
    entry = find(id)
    if not isinstance(entry, Exercise):
        print(f"{id}: there is no such exercise")
        return
    names = sys._getframe(1).f_globals
    answer = names.get(entry.answer, ...)
    if id in PASSED and PASSED[id] is answer:  # a moment ago, in the cell above
        print(f"{id}: going on with yours")
    elif judged(entry, answer).passed:  # ours does not: see is_ours
        notes: list[str] = []
        lines = passed(entry, answer, notes)
        print("; ".join([f"{id}: going on with yours", *lines, *notes]))
    elif place := _saved(entry, names):
        print(f"{id}: going on with yours, as it stands in {place}")
    else:
        _run(entry.solution, f"<ours {id}>", names)
        OURS[id] = names[entry.answer]
        print(f"{id}: going on with ours until yours passes")


def _saved(entry: Exercise, names: dict[str, Any]) -> str:
    """Run the piece of theirs that stands in the library, if it passes; where that is, or ""."""
    part, own = saving.piece(entry.id), saving.shelf().piece(entry.id)
    if part is None or own is None or own.broken:
        return ""
    text, trial = f"{import_lines(own.imports)}\n{own.text}", dict(names)
    with contextlib.suppress(Exception):
        _run(text, f"<your {entry.id}>", trial)
        if judged(entry, trial.get(entry.answer, ...)).passed:
            _run(text, f"<your {entry.id}>", names)
            PASSED[entry.id] = names[entry.answer]
            return f"{NAME}/{part.file}.py"
    return ""


def _run(text: str, place: str, names: dict[str, Any]) -> None:
    """Run a text in a notebook's names, as if it stood in a cell of that place."""
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec", dont_inherit=True), names)
