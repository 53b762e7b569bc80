"""Saving what passed: into my_tutor, and into its history. `keep("02.1")` takes the latest one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from course import notebooks
from course.library import disk
from course.library.answers import taken
from course.library.compose import Own, Region, compose, unmarked
from course.library.parts import Part, parts

UNSAVED: dict[tuple[str, str], str] = {}  # what could not be written, by folder and id


@functools.lru_cache(maxsize=4)
def _all(stamp: tuple[tuple[str, int], ...]) -> tuple[Part, ...]:
    return tuple(parts())


def everything() -> tuple[Part, ...]:
    """All parts of all chapters."""
    paths = notebooks.chapters().items()
    return _all(tuple((f"{number} {path}", path.stat().st_mtime_ns) for number, path in paths))


def piece(id: str) -> Part | None:
    """The part that this exercise adds to the library; None where it adds nothing."""
    return next((part for part in everything() if part.key == id), None)


def shelf() -> disk.Shelf:
    """What stands in my_tutor now."""
    every = everything()
    found = disk.read(disk.folder(), {part.key: region(part, None).text for part in every})
    loose = unmarked(every, found.own, found.extras)
    for part in every:
        if part.key not in found.own and part.answer and part.answer not in loose[part.file]:
            text = UNSAVED.get((str(found.folder), part.key))
            own = Own(text) if text else disk.restored(found, part.key)
            found.own |= {part.key: own} if own else {}
    return found


def scope(begun: str, own: Mapping[str, Own]) -> list[Part]:
    """What stands on disk when this chapter was begun: all parts of the chapters before it, and of
    itself what passed, with what that needs."""
    found = [part for part in everything() if part.chapter < begun]
    here = [part for part in everything() if part.chapter == begun]
    theirs = [n for n, part in enumerate(here) if part.key in own and not own[part.key].ours]
    last = max(theirs, default=-1)
    chosen = [p for n, p in enumerate(here) if n in theirs or (not p.answer and n <= last)]
    while more := _needed(chosen, [part for part in here if part not in chosen], own):
        chosen += more
    return found + [part for part in here if part in chosen]


def _needed(chosen: list[Part], others: list[Part], own: Mapping[str, Own]) -> list[Part]:
    """The other parts whose names are used by those that are chosen."""
    regions = [r for found in compose(chosen, own).regions.values() for r in found]
    uses = frozenset[str]().union(*(region.uses for region in regions))
    return [part for part in others if uses & set(part.defines)]


def write(found: disk.Shelf) -> str:
    """Write the folder anew. Says what went wrong, or nothing."""
    return disk.write(found, compose(scope(found.begun, found.own), found.own, found.extras))


def save(id: str, answer: Any, replace: bool = False) -> list[str]:
    """Put an answer that passed into the library, unless there is another one of theirs.

    Gives what there is to say about it.
    """
    part = piece(id)
    if part is None:
        return []
    before = [other for other in everything() if other.chapter <= part.chapter]
    found = taken(answer, part.answer, {name for other in before for name in other.defines})
    if trouble := found.trouble or _refused(part, found.missing, found.defines):
        return [f"it passes, and is not saved in your library: {trouble}"]
    return store(part, found.text, replace)


def _refused(part: Part, missing: Iterable[str], defines: Iterable[str]) -> str:
    """Why a text cannot stand in the library; "" where it can."""
    for name in missing:
        return (
            f"it uses `{name}`, which neither its cell nor the library has; write `{name}` in the"
            " same cell"
        )
    taken_names = {n: p for p in everything() for n in p.defines if p.key != part.key}
    for name in sorted(defines):
        if name != part.answer and name in taken_names:
            chapter = taken_names[name].chapter.removeprefix("0")
            return (
                f"its `{name}` has the name of something in the library (chapter {chapter}); call"
                " it otherwise"
            )
    return ""


def store(part: Part, text: str, replace: bool) -> list[str]:
    """Write a version that passed into the history, and into its file if it may stand there."""
    where, place = disk.folder(), f"{disk.FOLDER}/{part.file}.py"
    with disk.alone(where):
        found = shelf()
        before, kept = found.piece(part.key), found.own.get(part.key)
        other = before is not None and not same(part, before, Own(text))
        if other and replace and before is not None:  # what goes is not lost
            disk.remember(where, part.key, before.text)
        trouble = disk.remember(where, part.key, text)
        if part.file in found.closed:
            return [f"it is not saved in your library: {found.closed[part.file]}"]
        if other and not replace:
            return [
                f"another version of yours stands in {place} and was left there;"
                f' from course import keep; keep("{part.key}") takes this one'
            ]
        if before is None or other:
            added, asked = (kept.added, kept.imports) if kept else ("", ())
            found.own[part.key] = Own(text, asked if added else (), added=added)
        found.begun = max(found.begun, part.chapter)
        notes = found.notes.setdefault("passes", {})
        notes[part.key] = disk.sha(region(part, found.own[part.key]).text)
        trouble = write(found) or trouble
    if trouble:
        UNSAVED[str(where), part.key] = text
        return [f"it is not saved in your library: {trouble}"]
    return [f"it stands in {place}"] if before is None or replace else []


def region(part: Part, own: Own | None) -> Region:
    """A part as it stands in its file."""
    (found,) = next(iter(compose([part], {part.key: own} if own else {}).regions.values()))
    return found


def same(part: Part, one: Own, other: Own) -> bool:
    """Whether two versions are the same text, when they stand in their file."""
    return not one.broken and region(part, one).text == region(part, other).text


def keep(id: str) -> None:
    """Put the latest version of a piece that passed into the library, in place of the other one."""
    part, where = piece(id), disk.folder()
    if part is None:
        print(f"{id} adds nothing to the library")
        return
    latest = disk.versions(where, id)[-1:]
    if not latest:
        print(f"{id}: no version of it has passed yet")
        return
    lines = store(part, latest[0].read_text("utf-8"), replace=True)
    print(f"{id}: {'; '.join(lines)}")
