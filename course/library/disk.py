"""The folder my_tutor, beside progress.txt: what stands in it, and what is left alone there.

Each region of a file begins with a mark. `.pieces.json` has, for each of them, the checksum of what
was written: a region that is not that any more was changed by hand, is the learner's, and stays as
it is; so does what stands below it. `.history` has every version of a piece that passed.
"""

from __future__ import annotations

import ast
import contextlib
import datetime
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course import record
from course.library.compose import Extra, Library, Own, Region
from course.library.parts import FILES
from course.library.source import Import, split

MARK = re.compile(
    r"# ---- (?:(?P<id>\d\d\.s?\d+), (?P<whose>yours|ours).*"
    r"|chapter (?P<chapter>\w+), given(?:, part (?P<part>\d+))?.*)"
)
FOLDER = "my_tutor"
NOTES = ".pieces.json"
TESTS = '''"""Runs the check of every piece that is yours: `python -m pytest my_tutor`."""

from pathlib import Path

import pytest
from course.library.own_tests import pieces, verdict


@pytest.mark.parametrize(("id", "name", "whose"), pieces(Path(__file__).parent))
def test_a_piece_passes(id, name, whose):
    if whose != "yours":
        pytest.skip(f"{name} is ours until yours passes")
    found = verdict(id)
    assert found.passed, found.text
'''
YOURS = "# ---- what stands below is yours"  # at the end of __init__.py


@dataclass
class Shelf:
    """What the folder has."""

    folder: Path
    begun: str = ""  # the furthest chapter
    own: dict[str, Own] = field(default_factory=dict)
    extras: dict[str, Extra] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)  # as in .pieces.json
    closed: dict[str, str] = field(default_factory=dict)  # files that cannot be written, and why

    def piece(self, id: str) -> Own | None:
        """What is theirs in place of a piece; None where it is ours."""
        own = self.own.get(id)
        return own if own and not own.ours else None


def folder() -> Path:
    """Where the learner's library is kept."""
    return record.file().parent / FOLDER


@contextlib.contextmanager
def alone(where: Path) -> Iterator[None]:
    """Nobody else writes to the folder within this block, where the system can see to that."""
    try:
        import fcntl

        where.mkdir(exist_ok=True)
        file = (where / ".lock").open("w")
    except (ImportError, OSError):  # another system, or a folder that cannot be written to anyway
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # closing the file ends it
        yield


def sha(text: str) -> str:
    """A checksum of a text, in which blanks at the ends of lines do not count."""
    plain = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return hashlib.sha256(plain.encode("utf-8", "surrogateescape")).hexdigest()[:16]


# ---- reading -------------------------------------------------------------------------------------


def read(where: Path, defaults: dict[str, str]) -> Shelf:
    """What stands in the folder. `defaults` has our text of each part, for regions without a note.

    Whatever is in it, nothing is raised: what cannot be read is left alone, and said.
    """
    shelf = Shelf(where)
    with contextlib.suppress(OSError, ValueError):
        notes = json.loads((where / NOTES).read_text("utf-8"))
        shelf.notes = notes if isinstance(notes, dict) else {}
    begun = shelf.notes.get("begun")
    shelf.begun = begun if isinstance(begun, str) else ""
    for file in FILES:
        try:
            text = (where / f"{file}.py").read_text("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            shelf.closed[file] = str(error)
            continue
        _read_file(shelf, file, text, defaults)
    return shelf


def _dict(notes: dict[str, Any], name: str) -> dict[str, Any]:
    """A dictionary in the notes, which anybody may have edited."""
    found = notes.get(name)
    return found if isinstance(found, dict) else {}


def _read_file(shelf: Shelf, file: str, text: str, defaults: dict[str, str]) -> None:
    head, regions = cut(file, text)
    imports: list[Import] = []
    try:
        extra, imports = _extra(file, head, _dict(shelf.notes, "heads").get(file))
        shelf.extras[file] = extra
    except SyntaxError as error:
        shelf.closed[file] = f"line {error.lineno} of {file}.py: {error.msg}"
    for key, whose, body in regions:
        own = _own(body, whose, _dict(shelf.notes, "regions").get(key), defaults.get(key))
        if own is None:
            continue
        try:
            uses = {name for part in (own.text, own.added) for name in _uses(part)}
        except SyntaxError as error:
            why = f"line {error.lineno} of its text: {error.msg}"
            own = Own(body, changed=True, broken=why)
            uses = set()
        asked = tuple(entry for entry in imports if entry.bound in uses)
        shelf.own[key] = Own(own.text, asked, own.changed, own.ours, own.added, own.broken)


def cut(file: str, text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """The head of a file, and its regions: key, whose the mark says it is, text."""
    head, regions, lines = "", list[tuple[str, str, str]](), list[str]()
    mark: re.Match[str] | None = None
    for line in [*text.splitlines(), None]:
        found = MARK.fullmatch(line.rstrip()) if line is not None else None
        if line is not None and found is None:
            lines.append(line)
            continue
        body = "\n".join(lines).strip("\n")
        if mark is None:
            head = body
        else:
            regions.append((_key(file, mark), mark["whose"] or "given", body))
        mark, lines = found, []
    return head, regions


def _key(file: str, mark: re.Match[str]) -> str:
    if mark["id"]:
        return mark["id"]
    chapter = mark["chapter"]
    chapter = chapter if chapter[1:2].isdigit() else f"0{chapter}"
    return f"{chapter} given {file} {mark['part'] or 1}"


def _own(body: str, whose: str, note: Any, default: str | None) -> Own | None:
    """What is theirs in a region; None where all of it is ours."""
    note = note if isinstance(note, dict) else {}
    written, count, whose = note.get("sha"), note.get("lines"), note.get("whose", whose)
    count = count if isinstance(count, int) else 0
    if not written and whose != "yours" and default is not None:
        written, count = sha(default), len(default.splitlines())
    lines = body.splitlines()
    rest = "\n".join(lines[count:]).strip("\n")
    if written and sha("\n".join(lines[:count])) == written:
        if whose == "yours":
            top = "\n".join(lines[:count])
            return Own(top, changed=bool(note.get("changed")), added=rest)
        return Own("", ours=True, added=rest) if rest else None
    if not body:  # taken out
        return None
    return Own(body, changed=True)


def _uses(text: str) -> frozenset[str]:
    return frozenset[str]().union(*(statement.uses for statement in split(text)[1]))


def _extra(file: str, head: str, written: Any) -> tuple[Extra, list[Import]]:
    """What was put at the top of a file by hand, and all that is imported there."""
    imports, _ = split(head)
    absolute = [entry for entry in imports if not entry.module.startswith(".")]
    written = written if isinstance(written, list) else []
    asked = tuple(entry for entry in absolute if str(entry) not in written)
    tree, lines = ast.parse(head), head.splitlines()
    docstring = ast.get_docstring(tree, clean=False) or ""
    for node in tree.body:
        is_doc = node is tree.body[0] and bool(docstring)
        if is_doc or isinstance(node, ast.Import | ast.ImportFrom):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
    text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")
    return Extra("" if docstring == FILES[file] else docstring, asked, text), absolute


# ---- writing -------------------------------------------------------------------------------------


def write(shelf: Shelf, library: Library) -> str:
    """Write the library. Says what went wrong, or nothing."""
    texts, plain = library.texts(), replace(library, extras={}).texts()
    regions, heads = {}, {}
    for file, own in library.regions.items():
        heads[file] = [str(entry) for entry in split(cut(file, plain[file])[0])[0]]
        for region in own:
            regions[region.key] = _note(region)
    texts["__init__"] = _init(shelf, texts["__init__"])
    trouble = ""
    for file, text in texts.items():
        if file not in shelf.closed:
            trouble = trouble or put(shelf.folder / f"{file}.py", text)
    trouble = trouble or _write_tests(shelf)
    known = {name: shelf.notes[name] for name in ("passes", "tests") if name in shelf.notes}
    shelf.notes = known | {"begun": shelf.begun, "heads": heads, "regions": regions}
    return trouble or note(shelf)


def _write_tests(shelf: Shelf) -> str:
    """Write the tests, unless they were changed by hand."""
    path, written = shelf.folder / "test_my_tutor.py", shelf.notes.get("tests")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if sha(path.read_text("utf-8")) not in (written, sha(TESTS)):
            return ""
    shelf.notes["tests"] = sha(TESTS)
    return put(path, TESTS)


def note(shelf: Shelf) -> str:
    """Write .pieces.json. Says what went wrong, or nothing."""
    return put(shelf.folder / NOTES, json.dumps(shelf.notes, indent=1, sort_keys=True) + "\n")


def _note(region: Region) -> dict[str, Any]:
    lines = len(region.text.splitlines())
    found = {"whose": region.whose, "sha": sha(region.text), "lines": lines}
    return found | ({"changed": True} if region.changed else {})


def _init(shelf: Shelf, text: str) -> str:
    """The text of __init__.py, with what the learner has written at its end."""
    before = ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        before = (shelf.folder / "__init__.py").read_text("utf-8")
    return f"{text}\n{YOURS}\n{before.partition(YOURS)[2].lstrip(chr(10))}"


def put(path: Path, text: str) -> str:
    """Write a file in one step, if it is to have another text. Says what went wrong, or nothing."""
    try:
        if path.read_text("utf-8") == text:
            return ""
    except (OSError, UnicodeDecodeError):
        pass
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{path.parent}: {error.strerror}"
    trouble = record.replace_file(path, text)
    return f"{path}: {trouble}" if trouble else ""


# ---- history -------------------------------------------------------------------------------------


def versions(where: Path, id: str) -> list[Path]:
    """Every version of a piece that passed, the latest last."""
    return sorted((where / ".history" / id).glob("*.py"))


def restored(shelf: Shelf, id: str) -> Own | None:
    """What was theirs for a piece whose region is gone, or its file; None where nothing was."""
    if _dict(_dict(shelf.notes, "regions"), id).get("whose") == "yours":
        for version in versions(shelf.folder, id)[-1:]:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                return Own(version.read_text("utf-8"))
    return None


def remember(where: Path, id: str, text: str) -> str:
    """Enter a version into the history, unless it is the latest already."""
    latest, text = versions(where, id)[-1:], text.strip("\n") + "\n"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if latest and latest[0].read_text("utf-8") == text:
            return ""
    name = datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S-%f")
    return put(where / ".history" / id / f"{name}.py", text)
