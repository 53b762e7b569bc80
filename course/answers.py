"""Marking an answer that stands in a file. `python -m course.answers 05.3 FILE` is run by
`python -m tutor check`, in a process of its own: what the file does can harm nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from course import notebooks, record
from course.checking import check
from course.exercise import Exercise, Question, find, near
from course.guard import Output, quiet
from course.judge import message, own_frames
from course.verdict import Verdict
from tutor.errors import DataError, DomainError

SECONDS = 120.0  # for the whole file


def mark(id: str, file: str, seconds: float = SECONDS) -> int:
    """Check the answer in a .py or .ipynb file; 0 where it passes, else 1."""
    entry = find(id)
    if not isinstance(entry, Exercise):
        found, ids = "there is none of that id", near(id)
        if isinstance(entry, Question):
            found, ids = "questions are marked in the chapter", []
        elif id.endswith((".py", ".ipynb")):
            found, ids = "that is a file; the id comes first", []
        raise DomainError(
            f"exercise {id!r}",
            found + (f"; near to it: {', '.join(ids)}" if ids else ""),
            "`python -m tutor check --list` lists all of them",
        )
    path = Path(file)
    if path.suffix not in (".py", ".ipynb") or not path.is_file():
        found = "it ends in neither .py nor .ipynb" if path.is_file() else "there is no such file"
        raise DataError(f"the file {file}", found, "name the file that has your answer")
    if path.suffix == ".ipynb":
        notebooks.read(path)  # raises where it is none
    command = [sys.executable, "-m", "course.answers", id, file]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        lines = [f"{path.name} did not come to its end within {seconds:g} seconds"]
        Verdict(id, "timeout", entry.title, lines).show()
        return 1
    if ended.returncode not in (0, 1):
        lines = [f"{path.name} ended Python itself, with code {ended.returncode}"]
        Verdict(id, "raised", entry.title, lines).show()
        return 1
    return ended.returncode


def answer(entry: Exercise, path: Path) -> Any:
    """What the file defines under the exercise's name; a Verdict where that cannot be found out."""
    parts: list[str | bytes] = [path.read_bytes()]
    if path.suffix == ".ipynb":
        parts = [plain_python(text) for text in cells(entry.id, notebooks.read(path))]
    sys.path.insert(0, str(path.absolute().parent))  # for what it imports
    names: dict[str, Any] = {"__name__": "answers", "__file__": str(path)}
    names["display"] = print  # as in Jupyter
    trouble = None
    for part in parts:
        try:
            exec(compile(part, str(path), "exec"), names)
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


def cells(id: str, notebook: notebooks.Notebook) -> list[str]:
    """The code of a notebook up to the cell with this exercise; all of it where none is marked."""
    texts = []
    for cell in notebooks.code_cells(notebook):
        texts.append(notebooks.source(cell))
        if f"exercise-{id}" in notebooks.tags(cell):
            break
    return texts


def plain_python(text: str) -> str:
    """A cell without the lines that are meant for Jupyter and not for Python."""
    if text.startswith("%%"):
        return ""
    return "\n".join("" if line.startswith(("%", "!", "?")) else line for line in text.split("\n"))


def where(error: BaseException, path: Path) -> list[str]:
    """What a file raised, and in which of its lines."""
    lines = [f"running {path.name} raised {message(error)}"]
    if isinstance(error, SyntaxError):
        return [*lines, f"line {error.lineno}: {(error.text or '').strip()}"]
    for frame in own_frames(error.__traceback__)[-1:]:
        lines.append(f"line {frame.line} of {frame.function}: {frame.text}")
    return lines


def main(id: str, file: str) -> int:
    entry = find(id)
    assert isinstance(entry, Exercise), "`mark` has looked"
    kept = str(record.file())
    with tempfile.TemporaryDirectory() as folder, quiet(Output()):
        os.environ["TUTOR_PROGRESS"] = f"{folder}/progress.txt"  # what the file checks, counts not
        found = answer(entry, Path(file))
    os.environ["TUTOR_PROGRESS"] = kept
    if isinstance(found, Verdict):
        found.show()
        return 1
    return 0 if check(id, found).passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
