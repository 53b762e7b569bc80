"""What a learner has done so far, in a text file: one line `05.3 passed tries=2 hints=1` per id.

The file is `progress.txt` in the current folder, or what TUTOR_PROGRESS names. It is replaced as a
whole, so it is never half written. Lines that are not understood are kept as they are.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

LINE = re.compile(r"((?:\d\d|P)\.[qs]?\d+) (open|passed) tries=(\d{1,9}) hints=(\d{1,9})\s*")
LOCK = threading.Lock()


@dataclass(frozen=True)
class State:
    """How far one exercise is."""

    passed: bool = False
    tries: int = 0  # that did not pass
    hints: int = 0  # that were shown

    def line(self, id: str) -> str:
        state = "passed" if self.passed else "open"
        return f"{id} {state} tries={self.tries} hints={self.hints}"


SESSION: dict[tuple[str, str], State] = {}  # what could not be written, by file and id


def file() -> Path:
    """Where progress is kept."""
    path = Path(os.environ.get("TUTOR_PROGRESS") or "progress.txt")
    try:
        return path.absolute()
    except OSError:  # the current folder is gone
        return path


def states() -> dict[str, State]:
    """What the file says, and what it could not be told. An unreadable file says nothing."""
    found = {}
    for line in _lines()[0]:
        if match := LINE.fullmatch(line):
            found[match[1]] = State(match[2] == "passed", int(match[3]), int(match[4]))
    own = str(file())
    return found | {id: state for (path, id), state in SESSION.items() if path == own}


def state(id: str) -> State:
    return states().get(id, State())


def tried(id: str, passed: bool) -> str:
    """Note a try. Says what went wrong where it could not be written, else nothing."""
    with LOCK:
        before = state(id)
        if passed:
            return _save(id, replace(before, passed=True))
        return _save(id, replace(before, tries=before.tries + (not before.passed)))


def hinted(id: str, hints: int) -> str:
    """Note that so many hints were shown. Says what went wrong, or nothing."""
    with LOCK:
        return _save(id, replace(state(id), hints=hints))


def _about(line: str, id: str) -> bool:
    match = LINE.fullmatch(line)
    return match is not None and match[1] == id


def _lines() -> tuple[list[str], str]:
    """The lines of the file, and why it could not be read."""
    try:
        text = file().read_text("utf-8", errors="surrogateescape")
        return text.removesuffix("\n").split("\n") if text else [], ""
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], error.strerror or str(error)


def _save(id: str, state: State) -> str:
    """Write one line anew; the file is replaced in one step."""
    path = file()
    SESSION[str(path), id] = state
    lines, trouble = _lines()
    if not trouble:
        others = [line for line in lines if not _about(line, id)]
        place = next((n for n, line in enumerate(lines) if _about(line, id)), len(others))
        changed = [*others[:place], state.line(id), *others[place:]]
        if changed != lines:
            trouble = replace_file(path, "".join(f"{line}\n" for line in changed))
    if trouble:
        return f"progress is not saved: {path}: {trouble}"
    del SESSION[str(path), id]
    return ""


def umask() -> int:
    """What new files are not permitted to everybody."""
    os.umask(mask := os.umask(0))
    return mask


def replace_file(path: Path, text: str) -> str:
    """Write a file so that it has the old text or the new, never a part. Says what went wrong."""
    try:
        path = path.resolve()  # a link stays one
        if path.exists() and not path.is_file():
            return "it is no file"
        number, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with open(number, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask())
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        return error.strerror or str(error)
    return ""
