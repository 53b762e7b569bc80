"""A row of the tables python_mutants.py and native_mutants.py: a bug, and what must notice it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Mutant(NamedTuple):
    """In `file`, the text `was` (which stands there once) becomes `becomes`; then one of `tests`,
    of those that pytest's -k `only` chooses, must fail. `why` says what would happen to somebody
    if none did."""

    name: str
    file: str
    was: str
    becomes: str
    tests: str  # as pytest takes them, from the folder tests on, separated by spaces
    why: str
    only: str = ""

    @property
    def is_native(self) -> bool:
        """Must something be built to plant it?"""
        return self.file.endswith((".cpp", ".hpp"))

    @property
    def has_a_twin(self) -> bool:
        """Does C++ do the same, so that it is noticed only where the twin is taken away?"""
        return "/core/engine/" in self.file or self.file.endswith("/layout.py")


class TroubleError(Exception):
    """A mutant that says nothing: its text is gone, its tests are gone, or it cannot be built."""


def planted(mutant: Mutant, text: str) -> str:
    """`text`, the whole of the mutant's file, with the bug in it."""
    found = text.count(mutant.was)
    if found != 1:
        raise TroubleError(
            f"its text stands {found} times in {mutant.file}, not once:\n{mutant.was}"
        )
    return text.replace(mutant.was, mutant.becomes)
