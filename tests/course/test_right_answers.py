"""Right answers that are not written as ours are pass: tests/course/right."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

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


@functools.cache
def verdicts(chapter: str) -> list[dict[str, Any]]:
    """What the checks of a chapter say, asked in a process and a folder of its own."""
    kept = {name: text for name, text in os.environ.items() if name != "TUTOR_PROGRESS"}
    kept |= {"PYTHONPATH": str(HERE.parents[1]), "TUTOR_CHAPTER_QUICK": "1"}
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, "-W", "error", str(HERE / "run_right.py"), str(CHAPTERS[chapter])],
            env=kept, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("id", RIGHT)
def test_a_right_answer_passes_however_it_is_written(id: str) -> None:
    found = [verdict for verdict in verdicts(chapter_of(id)) if verdict["id"] == id]
    assert len(found) == len(RIGHT[id])
    refused = [verdict["text"] for verdict in found if not verdict["passed"]]
    assert refused == [], "\n".join(refused)
