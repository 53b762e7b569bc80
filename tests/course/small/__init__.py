"""Two small chapters, 96 and 97, in place of the real ones: what is tested with them is the library
that a learner builds, and not what the chapters say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course import exercise as exercises
from course import notebooks
from course.library import load, saving

HERE = Path(__file__).parent
MODULES = ("my_tutor", "ours_", "course.exercises.ch9", "trial")


@contextmanager
def used() -> Iterator[None]:
    """Within this block, these are the chapters."""
    before = notebooks.folder, exercises.exercises.__path__, exercises.CATALOGUE
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if forgotten(name)}
    load._ours.cache_clear()
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
