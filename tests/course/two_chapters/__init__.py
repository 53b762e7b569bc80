"""Two small chapters, 96 and 97, in place of the real ones: what is tested with them is the library
that a learner builds, and not what the chapters say.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from course import exercise as exercises
from course import notebooks, standing
from course.library import load, saving, session

HERE = Path(__file__).parent
MODULES = ("my_tutor", "ours_", "course.exercises.ch9", "trial")


@contextmanager
def used() -> Iterator[None]:
    """Within this block, these are the chapters."""
    before = notebooks.folder, exercises.exercises.__path__, exercises.CATALOGUE
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if forgotten(name)}
    load._ours.cache_clear()
    session.LAST.clear()
    standing.OURS.clear()
    standing.PASSED.clear()
    saving.UNSAVED.clear()
    notebooks.folder = lambda: HERE / "chapters"
    exercises.exercises.__path__ = [str(HERE / "exercises")]
    exercises.CATALOGUE = {}
    try:
        yield
    finally:
        notebooks.folder, exercises.exercises.__path__, exercises.CATALOGUE = before
        for name in [name for name in sys.modules if forgotten(name)]:
            del sys.modules[name]
        sys.modules |= modules
        load._ours.cache_clear()
        saving._all.cache_clear()


def forgotten(name: str) -> bool:
    """Whether a module belongs to the chapters in use."""
    return name.startswith(MODULES)


NUMBERS = count()


def cell(text: str, names: dict[str, Any]) -> None:
    """Run a cell as a notebook does: its text is at hand for tracebacks."""
    place = f"<cell {next(NUMBERS)}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec", dont_inherit=True), names)


def work(number: str, answers: Mapping[str, str] | None = None, upto: str = "") -> dict[str, Any]:
    """Work through a chapter with these answers, to the cell with the tag `upto`; its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for given in notebooks.code_cells(notebooks.read(notebooks.chapters()[number])):
        about = notebooks.about(given)
        text = notebooks.source(given)
        if about and about[0] == "exercise":
            text = (answers or {}).get(about[1], text)
        cell(text, names)
        if upto in notebooks.tags(given):
            break
    return names
