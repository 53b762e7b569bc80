"""The pages of the chapters: the notebook as it is, with hints, solutions and answers beneath."""

import sys
from pathlib import Path

import pytest

from course import notebooks
from course.exercise import Exercise, find

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/_ext"))
from folded import page

CHAPTERS = notebooks.chapters()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_page(chapter):
    notebook = notebooks.read(CHAPTERS[chapter])
    cells = page(notebook)["cells"]
    added = [cell for cell in cells if cell["id"].endswith("-folded")]
    sources = [notebooks.source(cell) for cell in cells if cell not in added]
    for here, there in zip(sources, map(notebooks.source, notebook["cells"]), strict=True):
        guess = here.startswith("guess = ") and "..." not in here
        assert here == there or (guess and here.replace('"?"', "...") == there)
    assert len({cell["id"] for cell in cells}) == len(cells)

    asked = [about for about in map(notebooks.about, notebook["cells"]) if about]
    asked = [id for kind, id in asked if kind in ("check", "question")]
    assert len(added) == len(asked) > 0
    for cell, id in zip(added, asked, strict=True):
        entry = find(id)
        if isinstance(entry, Exercise):
            assert all(text in cell["source"] for text in (*entry.hints, entry.solution))
            assert cell["source"].count(":::::{dropdown}") == len(entry.hints) + 1
        else:
            assert entry.why in cell["source"]
            assert repr(entry.right).strip("'") in cell["source"]
        assert notebooks.about(cells[cells.index(cell) - 1])[1] == id
