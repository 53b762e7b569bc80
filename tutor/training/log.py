"""A training log: one line of JSON per epoch, which any program can read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tutor._util import files
from tutor.errors import DataError


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Append one line; earlier lines are never touched. DataError if the file cannot be written.
    Numbers that JSON cannot represent are written as text: "nan", "inf"."""
    known = {k: v if not isinstance(v, float) or -1e308 < v < 1e308 else str(v)
             for k, v in line.items()}  # fmt: skip
    text = json.dumps(known, allow_nan=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torn = False
        if path.exists():
            with files.opened(path) as last:
                last.seek(-1 if last.seek(0, os.SEEK_END) else 0, os.SEEK_END)
                torn = last.read() not in (b"", b"\n")
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" * torn + text + "\n")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DataError(
            f"to write the log {path}",
            str(getattr(error, "strerror", None) or error),
            "give a path that is writable",
        ) from error


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The lines of a log, in order. A last line cut off by a crash is left out; DataError for any
    other line that is not a JSON object, and for a missing file."""
    try:
        with files.opened(path, files.NOTES, "utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"to read the log {path}", str(error), "give the log of a Run") from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line) if line.strip() else None
            if entry is not None and not isinstance(entry, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                break
            raise DataError(
                f"to read the log {path}",
                f"line {number} is no JSON object: {line:.40}",
                "give the log of a Run, or take that line out",
            ) from error
        if entry is not None:
            found.append({k: _number(v) for k, v in entry.items()})
    return found


def _number(value: Any) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value
