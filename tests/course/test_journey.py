"""A learner's way through all chapters, in one folder: every answer is written, and at the end
their library is theirs.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course import notebooks
from course.library import disk, parts, saving

ROOT = Path(__file__).parents[2]
CHAPTERS = [  # that build the library
    number
    for number, path in notebooks.chapters().items()
    if any(
        "begin(" in notebooks.source(cell) for cell in notebooks.code_cells(notebooks.read(path))
    )
]


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@functools.cache
def journey() -> dict[str, str]:
    """What was printed in each chapter; all are run one after the other."""
    own = {"PYTHONPATH": str(ROOT), "TUTOR_CHAPTER_QUICK": "1"}
    kept = {name: text for name, text in os.environ.items() if name != "TUTOR_PROGRESS"}
    printed = {}
    for number in CHAPTERS:
        script = [str(Path(__file__).parent / "run_chapter.py"), str(notebooks.chapters()[number])]
        done = subprocess.run(
            [sys.executable, *script, "solved"],
            env=kept | own, cwd=folder().name, capture_output=True, text=True, timeout=900,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        cells = json.loads(done.stdout)["cells"]
        assert [cell["error"] for cell in cells if cell["error"]] == []
        printed[number] = "\n".join(cell["output"] for cell in cells)
    return printed


@pytest.mark.parametrize("number", CHAPTERS)
def test_each_chapter_begins_with_a_library_that_is_theirs(number: str) -> None:
    before = [part for part in saving.everything() if part.answer and part.chapter < number]
    pieces = [part for part in before if part.chapter in CHAPTERS]
    out = journey()[number]
    if pieces:
        assert f"{len(pieces)} of {len(pieces)} pieces of your library are yours\n" in out
    for words in ("not saved", "another version", "left out", "going on with ours"):
        lines = [line for line in out.splitlines() if words in line]
        without = {part.key for part in saving.everything()}
        assert not [line for line in lines if line.split(":")[0] in without], words


def test_the_library_is_complete_and_its_tests_are_green() -> None:
    journey()
    own = Path(folder().name) / disk.FOLDER
    names = {part.answer for part in parts.parts() if part.answer and part.chapter in CHAPTERS}
    marks = re.findall(r"(?m)^# ---- (\S+), yours$", "".join(map(Path.read_text, own.glob("*.py"))))
    assert len(marks) == len(set(marks)) >= len(names)
    assert "ours until" not in "".join(map(Path.read_text, own.glob("[!t]*.py")))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(own)],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=own.parent,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and f"{len(marks)} passed" in done.stdout, done.stdout


def test_the_library_reads_like_one() -> None:
    journey()
    own = Path(folder().name) / disk.FOLDER
    ruff = [str(Path(sys.executable).parent / "ruff"), "format", "--check", "--isolated"]
    files = [str(path) for path in own.glob("*.py")]
    done = subprocess.run(
        [*ruff, "--line-length", "100", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_it_is_counted_whose_lines_ran() -> None:
    last = max(CHAPTERS)
    if "counted(" not in notebooks.chapters()[last].read_text("utf-8"):
        pytest.skip("the last chapter does not count yet")
    found = re.search(r"(\d+) of the (\d+) lines that ran were yours", journey()[last])
    assert found and int(found[1]) > int(found[2]) / 2
