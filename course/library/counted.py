"""Counting whose lines run: `counted(lambda: train(...))`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

from course.library import disk, saving, session


def counted(function: Callable[[], Any]) -> Any:
    """What function() gives; printed is how many of the lines that ran were the learner's.

    Counted are lines of the library, each once: of my_tutor, and of the chapter's own cells.
    """
    owners = Owners()
    ran: set[tuple[str, int]] = set()
    left: dict[CodeType, set[int]] = {}  # lines of a function that have not run yet

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            ran.add((frame.f_code.co_filename, frame.f_lineno))
            left[frame.f_code].discard(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code not in left:
            left[code] = lines_of(code) if owners.has(code) else set()
        return line if left[code] else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        result = function()
    finally:
        sys.settrace(before)
    whose = [owners.of(*where) for where in ran]
    parts = [f"{whose.count('yours')} of the {len(whose)} lines that ran were yours"]
    for label in ("ours", "given"):
        if count := whose.count(label):
            parts.append(f"{count} {'were' if count > 1 else 'was'} {label}")
    print(", ".join(parts))
    return result


def lines_of(code: CodeType) -> set[int]:
    """The lines of a function in which something is done."""
    return {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}


class Owners:
    """Whose a line is, of the library that runs and of the chapter that is being worked on."""

    def __init__(self) -> None:
        running = session.running()
        self.files: dict[str, list[str]] = {}  # whose each line is, by the file of the code
        for file, text in (running.texts if running else {}).items():
            module = sys.modules.get(f"{session.NAME}.{file}")
            self.files[str(getattr(module, "__file__", ""))] = list(marked(file, text))
        number = running.chapter if running else ""
        here = [part for part in saving.everything() if part.chapter == number]
        self.pieces = {part.answer: part.key for part in here if part.answer}
        self.given = {name for part in here if not part.answer for name in part.defines}

    def has(self, code: CodeType) -> bool:
        """Whether a function is of the library."""
        if code.co_filename in self.files:
            return True
        root = code.co_qualname.split(".")[0]
        if code.co_filename.startswith("<ours "):  # what go_on has put in the place of theirs
            self.files[code.co_filename] = ["ours"]
        elif root in self.pieces.keys() | self.given and not elsewhere(code.co_filename):
            self.files[code.co_filename] = ["yours" if root in self.pieces else "given"]
        return code.co_filename in self.files

    def of(self, file: str, line: int) -> str:
        """Whose a line is."""
        lines = self.files[file]
        return lines[min(line, len(lines)) - 1]


def elsewhere(file: str) -> bool:
    """Whether a file is neither a cell nor ours in place of one, but Python's or tutor's."""
    from course.judge import NOT_THEIRS

    return file.startswith(NOT_THEIRS)


def marked(file: str, text: str) -> Iterable[str]:
    """Whose each line of a file is, by the mark above it."""
    whose = "given"
    for line in text.splitlines():
        if disk.MARK.fullmatch(line.rstrip()):
            key, said, _ = disk.cut(file, line)[1][0]
            whose = "given" if " given " in key and "changed by you" not in line else said
            whose = "yours" if "changed by you" in line else whose
        yield whose
