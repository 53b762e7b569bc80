"""Marking an answer that stands in a file. `python -m course.answers 05.3 FILE RESULT` is run by
`python -m tutor check`, in a process of its own: what the file does can harm nobody else.

The process has a limit of time and one of memory. What it found it writes to the file RESULT at its
end; where nothing is there, it did not come to its end, whatever code it left.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from course import notebooks, record
from course.checking import check
from course.exercise import Exercise, Question, find, near
from course.guard import Output, quiet
from course.judge import message, own_frames
from course.judging import judged
from course.library import disk
from course.limits import MEMORY, limit_memory
from course.verdict import Verdict
from tutor.errors import DataError, DomainError

SECONDS = 120.0  # for the whole file


def mark(id: str, file: str, seconds: float = SECONDS, memory: int = MEMORY) -> int:
    """Check the answer in a .py or .ipynb file; 0 where it passes, else 1."""
    entry = exercise_of(id)
    path = Path(file)
    if path.suffix not in (".py", ".ipynb") or not path.is_file():
        found = "it ends in neither .py nor .ipynb" if path.is_file() else "there is no such file"
        raise DataError(f"the file {file}", found, "name the file that has your answer")
    if path.suffix == ".ipynb":
        notebooks.read(path)  # raises where it is none
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result")
        command = [sys.executable, "-m", "course.answers", id, file, str(result), str(memory)]
        try:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            lines = [f"{path.name} did not come to its end within {seconds:g} seconds"]
            Verdict(id, "timeout", entry.title, lines).show()
            return 1
        if not result.is_file():
            lines = [f"{path.name} {how_it_ended(ended.returncode)}"]
            Verdict(id, "raised", entry.title, lines).show()
            return 1
        return 0 if result.read_text() == "passed" else 1


def exercise_of(id: str) -> Exercise:
    """The exercise of this id; an error that says what is near to it where there is none."""
    entry = find(id)
    if isinstance(entry, Exercise):
        return entry
    found, ids = "there is none of that id", near(id)
    if isinstance(entry, Question):
        found, ids = "that is a question, which is answered by a letter or a number", []
    elif id.endswith((".py", ".ipynb")):
        found, ids = "that is a file; the id comes first", []
    raise DomainError(
        f"exercise {id!r}",
        found + (f"; near to it: {', '.join(ids)}" if ids else ""),
        "`python -m tutor check --list` lists all of them",
    )


def how_it_ended(code: int) -> str:
    """What to say of a process that ended before its time."""
    if code >= 0:
        return f"ended Python itself, with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was ended by {name}; it may have taken too much memory, or crashed"


# ---- in the process that runs the file -----------------------------------------------------------


def answer(entry: Exercise, path: Path) -> Any:
    """What the file defines under the exercise's name; a Verdict where that cannot be found out."""
    if in_library(path):
        return piece(entry, path)
    parts: Sequence[tuple[str, str | bytes]] = [(str(path), path.read_bytes())]
    if path.suffix == ".ipynb":
        parts = cells(entry.id, path)
    sys.path.insert(0, str(path.absolute().parent))  # for what it imports
    names = space("answers", path)
    trouble = None
    for name, part in parts:
        try:
            exec(compile(part, name, "exec"), names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            trouble = trouble or error  # a notebook goes on with the next cell
    if entry.answer in names and (trouble is None or path.suffix == ".ipynb"):
        return names[entry.answer]
    if trouble is None:
        lines = [f"{path.name} does not define `{entry.answer}`"]
        return Verdict(entry.id, "unsolved", entry.title, lines)
    return Verdict(entry.id, "raised", entry.title, where(trouble, path))


def in_library(path: Path) -> bool:
    """Whether a file is one of the learner's library."""
    folder = path.absolute().parent
    return folder.name == disk.FOLDER and (folder / "__init__.py").is_file()


def piece(entry: Exercise, path: Path) -> Any:
    """What a file of the library defines, which is imported as a part of that."""
    sys.path.insert(0, str(path.absolute().parents[1]))
    try:
        module = importlib.import_module(f"{disk.FOLDER}.{path.stem}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Verdict(entry.id, "raised", entry.title, where(error, path))
    if hasattr(module, entry.answer):
        return getattr(module, entry.answer)
    lines = [f"{disk.FOLDER}/{path.name} does not define `{entry.answer}`"]
    return Verdict(entry.id, "unsolved", entry.title, lines)


def space(name: str, path: Path) -> dict[str, Any]:
    """The names that a file begins with: those of a module that is known, as dataclasses ask."""
    module = ModuleType(name)
    sys.modules[name] = module
    module.__dict__.update(__file__=str(path), display=print)  # display as in Jupyter
    return module.__dict__


def cells(id: str, path: Path) -> list[tuple[str, str]]:
    """The code of a notebook up to the cell with this exercise; all of it where none is marked.

    Each cell has a file name of its own, under which errors find its lines again.
    """
    found = []
    for number, cell in enumerate(notebooks.code_cells(notebooks.read(path)), 1):
        found.append(named_cell(number, path, plain_python(notebooks.source(cell))))
        if f"exercise-{id}" in notebooks.tags(cell):
            break
    return found


def named_cell(number: int, path: Path, text: str) -> tuple[str, str]:
    """The file name of a code cell, which its lines are kept under, and its text."""
    name = f"<cell {number} of {path.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name, text


def plain_python(text: str) -> str:
    """A cell without the lines that are meant for Jupyter and not for Python."""
    if text.startswith("%%"):
        return ""
    return "\n".join("" if line.startswith(("%", "!", "?")) else line for line in text.split("\n"))


def where(error: BaseException, path: Path) -> list[str]:
    """What a file raised, and in which of its lines."""
    lines = [f"running {path.name} raised {message(error)}"]
    if isinstance(error, SyntaxError):
        name = error.filename or ""
        cell = f"{name[1:-1]}, " if name.startswith("<cell ") else ""
        return [*lines, f"{cell}line {error.lineno}: {(error.text or '').strip()}"]
    for frame in own_frames(error.__traceback__)[-1:]:
        lines.append(f"{frame.place}: {frame.text}")
    return lines


def main(id: str, file: str, result: str, memory: str) -> int:
    entry = find(id)
    assert isinstance(entry, Exercise), "`mark` has looked"
    limit_memory(int(memory))
    # Compiled code is taken for the file's as long as second and length are: an edit may keep both.
    sys.dont_write_bytecode = True
    kept = str(record.file())
    with tempfile.TemporaryDirectory() as folder, quiet(Output()):
        with contextlib.suppress(OSError, shutil.Error):  # what they have built is there as it is
            shutil.copytree(disk.folder(), Path(folder, disk.FOLDER), symlinks=True)
        os.environ["TUTOR_PROGRESS"] = f"{folder}/progress.txt"  # what the file checks, counts not
        found = answer(entry, Path(file))
    os.environ["TUTOR_PROGRESS"] = kept
    if isinstance(found, Verdict):
        verdict = found.show()
    elif in_library(Path(file)):  # there it stands already
        verdict = judged(entry, found).show()
        if verdict.kind != "unsolved":
            record.tried(id, verdict.passed)
    else:
        verdict = check(id, found)
    sys.stdout.flush()
    Path(result).write_text("passed" if verdict.passed else verdict.kind)
    return 0 if verdict.passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
