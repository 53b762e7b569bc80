"""The golden messages, in the order in which somebody meets an error: by its type.

tests/messages.txt has lines that cannot work, each with the error that it raises; a test runs them
on every backend and compares every word. Here they are read again, for the page of errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tutor import errors

FILE = Path(__file__).parents[2] / "tests" / "messages.txt"


class Message(NamedTuple):
    line: str
    error: str
    asked: str
    found: str
    do: str


def messages() -> list[Message]:
    """All of them, as they stand in the file."""
    _, *blocks = FILE.read_text(encoding="utf-8").rstrip().split("\n\n>>> ")
    found = []
    for block in blocks:
        line, error, *says = block.split("\n")
        text = "\n".join(says)
        asked, _, more = text.removeprefix("asked: ").partition("\nfound: ")
        first, _, do = more.partition("\nto do: ")
        found.append(Message(line, error, asked, first, do))
    return found


def by_type() -> dict[str, list[Message]]:
    """Those of each type of error, the most frequent type first."""
    kinds: dict[str, list[Message]] = {}
    for message in messages():
        kinds.setdefault(message.error, []).append(message)
    return dict(sorted(kinds.items(), key=lambda item: -len(item[1])))


def parents(error: str) -> list[str]:
    """What else catches it: Python's own errors."""
    kind = getattr(errors, error)
    own = [c for c in kind.__mro__ if c.__module__ == "builtins"]
    return [c.__name__ for c in own if c not in (Exception, BaseException, object)]
