"""Work through a chapter as somebody does who writes everything: `python work_through.py 05`.

Every answer is right, and, where tests/course/right has one, written otherwise than ours. Prints
what the checks say. The library is put together in the current folder.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parent))

from run_chapter import display, right_answer, run_cell

from course import notebooks
from course.exercise import Exercise, Question, find


def answers(chapter: str) -> dict[str, str]:
    """By exercise, an answer that is not ours."""
    if not (Path(__file__).parent / f"right/ch{chapter[:2]}.py").is_file():
        return {}
    right = importlib.import_module(f"right.ch{chapter[:2]}").RIGHT
    return {id: next(iter(texts.values())).strip("\n") for id, texts in right.items()}


def work(chapter: str) -> None:
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    names, own = main.__dict__, answers(chapter)
    names["display"] = display
    for cell in notebooks.code_cells(notebooks.read(notebooks.chapters()[chapter])):
        text, about = notebooks.source(cell), notebooks.about(cell)
        entry = find(about[1]) if about and about[0] != "check" else None
        if isinstance(entry, Exercise):
            text = own.get(entry.id, entry.solution)
        elif isinstance(entry, Question):
            text = right_answer(text, entry)
        run_cell(text, f"<cell {cell['id']}>", names)


if __name__ == "__main__":
    work(sys.argv[1])
