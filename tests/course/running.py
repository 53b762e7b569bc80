"""Chapters that are run for tests: each once, however many tests ask and processes share them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from course import notebooks
from course.library import disk

HERE = Path(__file__).parent
CHAPTERS = notebooks.chapters()

Result = dict[str, Any]


class Runs:
    """What running a chapter gives: in a process and a folder of its own, and kept in `folder`,
    where the other processes that share the tests (pytest-xdist) find it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = functools.cache(self._run)  # of this process

    def _run(self, chapter: str, mode: str) -> Result:
        place = self.folder / f"{chapter}-{mode}"
        with disk.alone(place):  # who comes second waits
            kept = place / "result.json"
            if not kept.is_file():
                new = place / "new.json"
                new.write_text(run_chapter(chapter, mode), encoding="utf-8")
                new.rename(kept)
            result: Result = json.loads(kept.read_text(encoding="utf-8"))
        return result

    def proofs(self, chapter: str, id: str, kind: str = "proofs") -> dict[str, dict[str, Any]]:
        """What was said to the answers to an exercise: the planted ones, or of kind `right`."""
        everyone = self.run(chapter, "unsolved")[kind]
        return {proof["answer"]: proof for proof in everyone if proof["id"] == id}


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """One folder for all processes of this run of the tests."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "chapters"
    folder.mkdir(exist_ok=True)
    return folder


def run_chapter(chapter: str, mode: str) -> str:
    """What run_chapter.py prints. Not with all the training that a learner sees: that is run where
    what the text says of it is tested, in test_prose.py."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"PYTHONPATH": str(HERE.parents[1]), "IPYTHONDIR": folder, "TUTOR_CHAPTER_QUICK": "1"}
        own["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        kept = {name: text for name, text in os.environ.items() if name != "TUTOR_PROGRESS"}
        strict = [] if mode == "kernel" else ["-W", "error"]  # Jupyter's own warnings are not ours
        script = [str(HERE / "run_chapter.py"), str(CHAPTERS[chapter]), mode]
        result = subprocess.run(
            [sys.executable, *strict, *script], env=kept | own, cwd=folder,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout
