"""Chapters that are run for tests: each once, however many tests ask and processes share them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from course import notebooks
from course.library import disk

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHAPTERS = notebooks.chapters()

Result = dict[str, Any]


class Runs:
    """What running a chapter gives: in a process and a folder of its own, and kept in `folder`,
    where the other processes that share the tests (pytest-xdist) find it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.once = functools.cache(self._once)  # of this process

    def run(self, chapter: str, mode: str) -> Result:
        """By one of the modes of run_chapter.py. `solved` is what claims are asked in, too, of a
        chapter that has no shorter form: then one run serves both."""
        if mode == "solved" and not is_shorter(chapter):
            return self.claims(chapter, "drawn")
        return self.once(run_chapter, chapter, mode)

    def claims(self, chapter: str, data: str) -> Result:
        """The run with all its training in which its claims are asked."""
        return self.once(run_claims, chapter, data)

    def proofs(self, chapter: str, id: str, kind: str = "proofs") -> dict[str, dict[str, Any]]:
        """What was said to the answers to an exercise: the planted ones, or of kind `right`."""
        everyone = self.run(chapter, "unsolved")[kind]
        return {proof["answer"]: proof for proof in everyone if proof["id"] == id}

    def _once(self, how: Callable[[str, str], str], chapter: str, mode: str) -> Result:
        place = self.folder / f"{chapter}-{mode}"
        with disk.alone(place):  # who comes second waits
            kept = place / "result.json"
            if not kept.is_file():
                new = place / "new.json"
                new.write_text(how(chapter, mode), encoding="utf-8")
                new.rename(kept)
            result: Result = json.loads(kept.read_text(encoding="utf-8"))
        return result


def shared_folder(factory: pytest.TempPathFactory, config: pytest.Config) -> Path:
    """One folder for all processes of this run of the tests, and for no other run."""
    base = factory.getbasetemp()
    folder = (base.parent if hasattr(config, "workerinput") else base) / "chapters"
    folder.mkdir(exist_ok=True)
    return folder


def errors(result: Result) -> dict[str, str]:
    """By cell, what was raised."""
    return {cell["id"]: cell["error"] for cell in result["cells"] if cell["error"]}


def is_shorter(chapter: str) -> bool:
    """Whether it trains for less time where TUTOR_CHAPTER_QUICK asks for that."""
    cells = notebooks.code_cells(notebooks.read(CHAPTERS[chapter]))
    return any("TUTOR_CHAPTER_QUICK" in notebooks.source(cell) for cell in cells)


def run_chapter(chapter: str, mode: str) -> str:
    """What run_chapter.py prints. Not with all the training that a learner sees: that is run where
    what the text says of it is tested, in test_prose.py."""
    own = {"TUTOR_CHAPTER_QUICK": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    strict = mode != "kernel"  # Jupyter's own warnings are not ours
    return in_a_process("run_chapter.py", str(CHAPTERS[chapter]), mode, own=own, strict=strict)


def run_claims(chapter: str, data: str) -> str:
    """What run_claims.py prints. Where data is to be drawn, none is found in the folder."""
    own = {} if data == "mnist" else {"TUTOR_DATA": None, "TUTOR_CACHE": "."}
    return in_a_process("run_claims.py", chapter, data, own={"TUTOR_CHAPTER_QUICK": None} | own)


def in_a_process(
    script: str, *words: str, own: Mapping[str, str | None], strict: bool = True
) -> str:
    """What the script prints, in a folder of its own, and with those variables, or without."""
    with tempfile.TemporaryDirectory() as folder:
        always = {"PYTHONPATH": str(ROOT), "IPYTHONDIR": folder, "TUTOR_PROGRESS": None}
        variables = {**os.environ, **always, **own}
        result = subprocess.run(
            [sys.executable, *["-W", "error"] * strict, str(HERE / script), *words],
            env={name: text for name, text in variables.items() if text is not None},
            cwd=folder, capture_output=True, text=True, timeout=2400, check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout
