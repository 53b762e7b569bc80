"""Right answers that are not written as ours are pass: tests/course/right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from running import Runs

from course import notebooks

HERE = Path(__file__).parent
CHAPTERS = notebooks.chapters()
MODULES = sorted(path.stem for path in (HERE / "right").glob("ch*.py"))
RIGHT: dict[str, dict[str, str]] = {
    id: texts for module in MODULES for id, texts in import_module(f"right.{module}").RIGHT.items()
}


def chapter_of(id: str) -> str:
    """The chapter whose notebook has the exercise."""
    tag = f"exercise-{id}"
    here = [n for n in CHAPTERS if notebooks.code_cells(notebooks.read(CHAPTERS[n]), tag)]
    assert len(here) == 1, f"{len(here)} chapters have exercise {id}"
    return here[0]


@pytest.mark.parametrize("id", RIGHT)
def test_a_right_answer_passes_however_it_is_written(id: str, runs: Runs) -> None:
    found = runs.proofs(chapter_of(id), id, "right")
    assert list(found) == list(RIGHT[id])
    refused = [verdict["text"] for verdict in found.values() if not verdict["passed"]]
    assert refused == [], "\n".join(refused)
