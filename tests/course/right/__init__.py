"""Right answers that are written otherwise than ours, by exercise.

A check must take them all: it asks for what the text asks for, and not for our way of doing it.
`RIGHT = {"05.7": {"a loop": "def record(op): ..."}}`; where nothing has to be said about them, the
texts in a list.
"""

from __future__ import annotations

from importlib import import_module


def texts(module: str) -> dict[str, list[str]]:
    """The answers of a chapter, `texts("ch05")`, by exercise."""
    right = import_module(f"right.{module}").RIGHT
    return {id: list(found.values() if isinstance(found, dict) else found)
            for id, found in right.items()}  # fmt: skip
