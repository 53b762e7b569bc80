"""`python -m tutor course status`: what of the library is theirs, what is ours, and what of theirs
has stopped passing.
"""

from __future__ import annotations

from course import roads
from course.library import disk, saving, session
from course.library.parts import FILES, Part


def lines() -> list[str]:
    """The table, and what there is to do. Every piece of theirs is checked again."""
    found = saving.shelf()
    pieces = [part for part in saving.everything() if part.answer]
    theirs = [part for part in pieces if found.piece(part.key)]
    if not found.begun and not theirs:
        return ["your library is empty yet: a chapter begins it, with begin() in its first cell"]
    stand = saving.scope(found.begun, found.own)
    reached = [part for part in pieces if part in stand or part in theirs]
    failing = judged(stand, found)
    begun = roads.label(found.begun)
    upto = "with all there is" if begun == "P" else f"up to chapter {begun}"
    said = [f"{disk.folder()}, {upto}", ""]
    said += table(reached, theirs, failing)
    ours = [part for part in reached if part not in theirs]
    if ours:
        said += ["", "ours until yours pass: " + listed(ours)]
    for key, why in failing.items():
        said.append(f"has stopped passing: {key}, {why}")
    said += [f"left alone: {disk.FOLDER}/{file}.py: {why}" for file, why in found.closed.items()]
    mine, all = count(found)
    if all:
        said.append(f"{mine} of the {all} lines of code there are yours")
    return said


def judged(stand: list[Part], found: disk.Shelf) -> dict[str, str]:
    """Their pieces that do not pass now, and why; in the library as it stands."""
    failing: dict[str, str] = {}
    try:
        now = session.started(stand, found, session.NAME)
    except Exception as error:
        return {"the library": f"it cannot be imported: {error}"}
    failing |= now.troubles
    for part in stand:
        own = now.own.get(part.key)
        if part.answer and own is not None and not own.ours and part.key not in failing:
            verdict = session.verdict_of(part, now.module)
            if verdict is not None and not verdict.passed:
                failing[part.key] = session.first(verdict)
    return failing


def table(reached: list[Part], theirs: list[Part], failing: dict[str, str]) -> list[str]:
    """A line for each file: how many pieces are theirs, how many ours, how many do not pass."""
    rows = [("file", "yours", "ours", "stopped passing")]
    for file in FILES:
        here = [part for part in reached if part.file == file]
        own = [part for part in here if part in theirs]
        if here:
            stopped = sum(part.key in failing for part in own)
            rows.append((f"{file}.py", str(len(own)), str(len(here) - len(own)), str(stopped)))
    width = max(len(row[0]) for row in rows)
    return [f"{row[0]:<{width}}  {row[1]:>5}  {row[2]:>5}  {row[3]:>15}" for row in rows]


def listed(parts: list[Part]) -> str:
    return ", ".join(f"{part.key} {part.answer}" for part in parts)


def count(found: disk.Shelf) -> tuple[int, int]:
    """How many lines of code in the folder's files are theirs, and how many there are."""
    mine = all = 0
    for file in FILES:
        try:
            text = (found.folder / f"{file}.py").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        head, regions = disk.cut(file, text)
        all += _code(head)
        for key, _, body in regions:
            all += _code(body)
            mine += _code(body) if found.piece(key) else 0
    return mine, all


def _code(text: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))
