"""Marking all that one learner has handed in: `python -m course.grading PIPE SECONDS`, run in the
sandbox. One cell, or one file, may take so many seconds.

The current folder has the notebooks, the package `my_tutor`, and .py files. Nothing of it is run in
this process: each file is run in a child, and what a check calls in a child of that one, so that
whatever happens there ends one exercise and no other (course/children.py). Whose ids a file may
speak of is read from its text here. Each finding is a line of JSON.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course import notebooks
from course.answers import named_cell, plain_python, space
from course.children import Finding, Say, in_child, judge_in_child
from course.exercise import Exercise, everything, find
from course.guard import Output, TimeUp, limited, quiet
from course.library.compose import compose
from course.library.parts import known, parts
from course.reach import reaches
from tutor.errors import TutorError

GRACE = 3.0  # seconds more, after which a child is ended that the alarm did not reach
RESTARTS = 20  # of one notebook, after cells that ended Python
MARK = re.compile(r"# ---- (\d\d\.s?\d+), yours\b")
ID = re.compile(r"(\d\d|P)[._-](s?\d+)")


def everything_here(seconds: float) -> Iterator[Finding]:
    """The findings on each file of the current folder."""
    for path in sorted(Path().rglob("*.ipynb")):
        if ".new" not in path.name and not any(part.startswith(".") for part in path.parts):
            yield from of_notebook(path, seconds)
    for package in sorted(Path().rglob("my_tutor")):
        if package.is_dir():
            yield from of_package(package, seconds)
    for path in sorted(Path().rglob("*.py")):
        if "my_tutor" not in path.parts and not path.name.startswith(("test_", "conftest")):
            yield from of_file(path, seconds)


# ---- notebooks -----------------------------------------------------------------------------------


def of_notebook(path: Path, seconds: float) -> Iterator[Finding]:
    """Its exercises and questions, each judged where its cell stands; cells that raise are passed
    over, as in Jupyter, and so are those that end Python."""
    try:
        cells = notebooks.code_cells(notebooks.read(path))
    except TutorError as error:
        yield {"trouble": f"{path}: {error.found}"}
        return
    skipped: set[int] = set()
    own = {
        about[1]: cell for cell in cells if (about := notebooks.about(cell)) and about[0] != "check"
    }
    ids = {id for id in own if find(id)}
    reach = _of_cells(cells, path)
    for _ in range(RESTARTS):
        found, ended = in_child(
            lambda say, fifo: _run(path, cells, skipped, seconds, (say, fifo)), seconds + GRACE, ids
        )
        places = [finding["at"] for finding in found if isinstance(finding.get("at"), int)]
        if ended or not places:
            break
        skipped.add(places[-1])
        yield {"trouble": f"{path}: cell {places[-1]} ended Python, or ran on and on"}
    for finding in found:
        if "id" in finding:
            entry = find(finding["id"])
            text = plain_python(notebooks.source(own[finding["id"]]))
            ours = isinstance(entry, Exercise) and like_ours(text, entry)
            yield finding | {"where": str(path), "ours": ours, "reach": reach}


def _of_cells(cells: list[notebooks.Cell], path: Path) -> str:
    """What the learner's own cells reach for; those that stand so in our chapters do as we do."""
    texts = [text for cell in cells if (text := notebooks.source(cell)) not in _ours()]
    return _reach("\n".join(map(plain_python, texts)), path)


def _theirs(text: str) -> str:
    """The statements of a file of my_tutor without those that are ours; their lines stay."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.splitlines()
    for node in tree.body:
        if ast.dump(node) in _our_statements():
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "\n".join(lines)


@functools.cache
def _our_statements() -> frozenset[str]:
    """The statements of our library, as it is after each chapter."""
    return frozenset(
        ast.dump(node)
        for number in notebooks.chapters()
        for text in compose(parts(upto=known(number))).texts().values()
        for node in ast.parse(text).body
    )


@functools.cache
def _ours() -> frozenset[str]:
    """The texts of the chapters' cells."""
    return frozenset(
        notebooks.source(cell)
        for path in notebooks.chapters().values()
        for cell in notebooks.code_cells(notebooks.read(path))
    )


def _reach(text: str, path: Path) -> str:
    """What a file reaches for, and the package beside it, which it may import."""
    folder, found = path.absolute().parent, []
    if why := reaches(text, folder):
        found.append(f"{path}: {why}")
    for place in {folder / "my_tutor", Path("my_tutor").absolute()}:
        for file in sorted(place.glob("*.py")) if path.parent != place else ():
            if why := reaches(_theirs(_text(file)), place.parent):
                found.append(f"my_tutor/{file.name}: {why}")
    return "; ".join(found)


def _run(
    path: Path,
    cells: list[notebooks.Cell],
    skipped: set[int],
    seconds: float,
    to: tuple[Say, str],
) -> None:
    """Run a notebook in this process, and have each answer judged in a child of it."""
    _settle(path)
    say, fifo = to
    names = space("__main__", path)
    for number, cell in enumerate(cells, 1):
        about = notebooks.about(cell)
        if about and about[0] == "check":
            continue
        name, text = named_cell(number, path, plain_python(notebooks.source(cell)))
        entry = find(about[1]) if about else None
        wanted = getattr(entry, "answer", None) or _assigned(text)
        if entry is not None:
            names.pop(wanted, None)  # an answer of the same name stands further up
        trouble = "Python ended, or ran on and on, in this cell"
        if number not in skipped:
            say({"at": number})
            trouble = _run_cell(name, text, names, seconds)
        if entry is None:
            continue
        if wanted in names:
            judge_in_child(entry, names[wanted], say, fifo)
        else:
            why = trouble or f"it does not define `{wanted}`"
            say({"id": entry.id, "kind": "raised" if trouble else "unsolved", "text": why})


def _run_cell(name: str, text: str, names: dict[str, Any], seconds: float) -> str:
    """Run a cell; what it raised, or nothing."""
    try:
        with quiet(Output()):
            limited(lambda: exec(compile(text, name, "exec"), names), seconds)
    except TimeUp:
        return f"it took more than {seconds:g} seconds"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def _assigned(text: str) -> str:
    """The first name that a cell gives a value: `answer`, in that of a question."""
    match = re.search(r"(?m)^(\w+) = ", text)
    return match[1] if match else "answer"


def _settle(path: Path) -> None:
    """Be in the folder of a file, with what it imports within reach: its library lies beside it, or
    where all that was handed in has its root."""
    if (Path("my_tutor")).is_dir() and not (path.parent / "my_tutor").is_dir():
        os.environ["TUTOR_PROGRESS"] = str(Path("progress.txt").absolute())
    os.chdir(path.absolute().parent)
    sys.path.insert(0, str(Path.cwd()))


# ---- the package, and files ----------------------------------------------------------------------


def of_package(folder: Path, seconds: float) -> Iterator[Finding]:
    """What is marked as theirs in the files of my_tutor."""
    ids: dict[str, bool] = {}
    for path in sorted(folder.glob("*.py")):
        text = _text(path)
        for match in MARK.finditer(text):
            entry = find(match[1])
            if isinstance(entry, Exercise):
                ids[entry.id] = like_ours(text[match.start() :], entry)

    def work(say: Say, fifo: str) -> None:
        _settle(folder)
        import my_tutor  # type: ignore[import-not-found, unused-ignore]

        for id in ids:
            entry = find(id)
            if isinstance(entry, Exercise) and hasattr(my_tutor, entry.answer):
                judge_in_child(entry, getattr(my_tutor, entry.answer), say, fifo)

    if ids:
        found, ended = in_child(work, seconds, ids)
        reach = _reach("", folder)
        if not ended:
            yield {"trouble": f"{folder}: it cannot be imported"}
        for finding in found:
            yield finding | {"where": str(folder), "ours": ids[finding["id"]], "reach": reach}


def of_file(path: Path, seconds: float) -> Iterator[Finding]:
    """The exercises whose answers a .py file defines at its top level; or the one it is called by,
    as 05.3.py."""
    text = _text(path)
    named = ID.search(path.stem)
    defined = set(_definitions(text))
    entries = [
        entry
        for entry in everything()
        if isinstance(entry, Exercise)
        and entry.answer in defined
        and (named is None or entry.id == f"{named[1]}.{named[2]}")
    ]

    def work(say: Say, fifo: str) -> None:
        _settle(path)
        names = space("answers", path)
        trouble = _run_cell(path.name, text, names, seconds)
        for entry in entries:
            if entry.answer in names and not trouble:
                judge_in_child(entry, names[entry.answer], say, fifo)
            else:
                say({"id": entry.id, "kind": "raised", "text": trouble})

    if entries:
        found, ended = in_child(work, seconds + GRACE, {entry.id for entry in entries})
        reach = _reach(text, path)
        said = {finding.get("id") for finding in found}
        for entry in entries:
            if not ended and entry.id not in said:
                found.append({"id": entry.id, "kind": "raised", "text": "Python ended"})
        ours = {entry.id: like_ours(text, entry) for entry in entries}
        for finding in found:
            yield finding | {"where": str(path), "ours": ours[finding["id"]], "reach": reach}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _definitions(text: str) -> dict[str, ast.stmt]:
    """What a file defines at its top level, by name."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def like_ours(text: str, entry: Exercise) -> bool:
    """Whether the answer is our solution, word for word but for comments and docstrings; not asked
    of short ones, which two people write alike."""
    ours = _definitions(entry.solution).get(entry.answer)
    theirs = _definitions(text).get(entry.answer)
    if ours is None or theirs is None or len(ast.unparse(ours).splitlines()) < 6:
        return False
    return _bare(ours) == _bare(theirs)


def _bare(node: ast.stmt) -> str:
    """The code of a definition without its docstrings."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(part) is not None:
            part.body = part.body[1:] or [ast.Pass()]
    return ast.dump(node)


def main(pipe: str, seconds: str) -> int:
    with os.fdopen(int(pipe), "w", encoding="utf-8") as out:
        os.set_inheritable(out.fileno(), False)
        for finding in everything_here(float(seconds)):
            print(json.dumps(finding), file=out, flush=True)
        print(json.dumps({"end": True}), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
