"""A folder after the chapters were worked through with one's own answers: a library that runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from by_turns import ASKED, turn

import tutor
from course import notebooks, roads
from course.library import saving

HERE = Path(__file__).parent
ROOT = Path(tutor.__file__).parents[1]
# Of Parts II and III, which take minutes, a commit has every other chapter of one (by_turns.py).
LATER = [
    number for number in notebooks.chapters() if roads.part(number) == ("II", "III")[turn(4) // 2]
][turn(4) % 2 :: 2]
CHAPTERS = [
    number
    for number, path in notebooks.chapters().items()
    if (ASKED == "all" or roads.part(number) == "I" or number in LATER) and any(
        "begin(" in notebooks.source(cell) for cell in notebooks.code_cells(notebooks.read(path))
    )
]  # fmt: skip


def python(folder: Path, *words: str) -> str:
    """What a command prints, run in that folder."""
    own = {"PYTHONPATH": str(ROOT), "TUTOR_CHAPTER_QUICK": "1", "IPYTHONDIR": str(folder)}
    kept = {name: text for name, text in os.environ.items() if name != "TUTOR_PROGRESS"}
    result = subprocess.run(
        [sys.executable, *words], env=kept | own, cwd=folder, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


@pytest.mark.sweep
def test_a_folder_that_was_worked_through(tmp_path: Path) -> None:
    """Every converted chapter, one after the other; then what has become of it is looked at. (One
    test: processes that share the tests would each work it through.)"""
    for chapter in CHAPTERS:
        said = python(tmp_path, str(HERE / "work_through.py"), chapter)
        found = re.findall(r"(?m)^(\d\d\.[qs]?\d+) ([a-z]+)(?=:|$)", said)
        assert found and {kind for _, kind in found} <= {"exact", "close"}, found
    every_piece_is_theirs_and_passes(tmp_path)
    their_tests_are_green(tmp_path)
    it_reads_like_one_library(tmp_path)


def every_piece_is_theirs_and_passes(folder: Path) -> None:
    marks = re.findall(
        r"(?m)^# ---- (\S+), (yours|ours)",
        "\n".join(file.read_text() for file in (folder / "my_tutor").glob("*.py")),
    )
    brought = {key for key, whose in marks if whose == "ours"}  # of chapters that were left out
    assert not {key.partition(".")[0] for key in brought} & {*CHAPTERS}
    later = {}  # of two pieces that define the same, the later one stands there
    for part in saving.everything():
        if part.answer and (part.chapter in CHAPTERS or part.key in brought):
            later[part.answer] = part.key
    whose = {key: "ours" if key in brought else "yours" for key in later.values()}
    assert dict(marks) == whose
    said = python(folder, "-m", "tutor", "course", "status")
    assert "has stopped passing" not in said, said


def their_tests_are_green(folder: Path) -> None:
    said = python(folder, "-m", "pytest", "-q", "my_tutor/test_my_tutor.py")
    assert re.search(r"(?m)^\d+ passed", said), said


def it_reads_like_one_library(folder: Path) -> None:
    """The formatter has nothing to change in it, where their answers are formatted."""
    files = sorted(map(str, (folder / "my_tutor").glob("*.py")))
    ruff = [sys.executable, "-m", "ruff", "format", "--diff", "--isolated"]
    found = subprocess.run(
        [*ruff, "--line-length", "100", *files], capture_output=True, text=True, check=False
    )
    assert len(files) > len(CHAPTERS) / 2 and found.returncode == 0, found.stdout
