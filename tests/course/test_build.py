"""The modules that are generated from kept cells: what they contain, and in which form."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from course import build, notebooks
from tutor.errors import DataError

ONE = """
import math
from array import array

# How many bytes a number takes.
SIZES = {letter: 4 * n for letter, n in zip("fd", (1, 2), strict=True)}
ORDER = 1
for letter in SIZES:
    ORDER *= SIZES[letter]


class Buffer:
    \"\"\"A row of numbers.\"\"\"

    def __init__(self, numbers):
        self.data = array("d", numbers)  # eight bytes each


def root(x):
    return math.sqrt(x)
"""

TWO = """
from __future__ import annotations
import functools, os
from collections import deque, OrderedDict
from math import sqrt as wurzel
import tutor, sys
from tutor.backends.registry import current
from tutor.backends.registry import lookup as lookup_tutor
from itertools import (combinations_with_replacement, count, cycle, islice, permutations, product,
    starmap, takewhile, tee)

class Buffer(Buffer):
    def __len__(self):
        return len(self.data)
def root(x):
    return wurzel(x)  # ours is shorter
_hidden = deque([combinations_with_replacement, permutations, product, starmap, takewhile, tee])
_hidden += [count, cycle, islice]
_more = (tutor.__version__, current, lookup_tutor)
left, (right, other) = 1, (2, OrderedDict())
root2 = root10 = functools.partial(root, 2.0)
"""


def chapter(folder: Path, number: str, title: str, *cells: tuple[str, list[str]]) -> Path:
    """A notebook with these code cells, given as (source, tags)."""
    notebook: dict[str, Any] = {"metadata": {"tutor": {"title": title}}, "cells": []}
    for text, tags in cells:
        cell = {"cell_type": "code", "source": text, "metadata": {"tags": tags}, "outputs": [1]}
        notebook["cells"].append(cell)
    path = folder / f"{number}_name.ipynb"
    path.write_text(notebooks.text(notebooks.normalise(notebook, number)))
    return path


@pytest.fixture
def text(tmp_path: Path) -> str:
    first = chapter(
        tmp_path, "01", "Bytes", (ONE, ["keep"]), ("print(1)", []), ("PAGE = 4096", ["keep"])
    )
    second = chapter(
        tmp_path,
        "02",
        "Shape and Strides",
        ("from course.built.ch01 import *", ["keep"]),
        (TWO, ["keep"]),
    )
    return build.module([build.kept("01", first), build.kept("02", second)])


def test_an_exercise_that_is_kept_is_there_as_its_solution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "01.1.py").write_text("def half(x):\n    return x / 2\n")
    monkeypatch.setattr(build, "solutions", lambda: tmp_path)
    stub = ("def half(x): ...", ["exercise-01.1", "keep-ops"])
    given = ("def twice(x): return 2 * x", ["keep-nn"])
    path = chapter(tmp_path, "04b", "Half", stub, ("def no(): ...", ["exercise-01.2"]), given)
    text = build.module([build.kept("04b", path)])
    names: dict[str, Any] = {"__name__": "built"}
    exec(text, names)
    assert names["half"](3) == 1.5 and names["twice"](3) == 6 and "no" not in names
    assert "# ---- chapter 4b: half" in text


def test_it_stands_alone_and_gives_all_public_names(text: str) -> None:
    names: dict[str, Any] = {"__name__": "built"}
    exec(text, names)
    assert names["__all__"] == [
        *("ORDER", "PAGE", "SIZES", "Buffer", "left", "other", "right", "root", "root2", "root10")
    ]
    assert names["SIZES"] == {"f": 4, "d": 8}
    assert len(names["Buffer"]([1.0, 2.0])) == 2 and names["root2"]() == 2.0**0.5
    assert all(name in names for name in names["__all__"])


def test_what_is_defined_anew_replaces_what_was_there(text: str) -> None:
    assert text.count("def root(") == 1 and "math.sqrt" not in text
    assert "class Buffer:" in text and "class Buffer(Buffer):" in text


def test_imports_are_merged_and_unused_ones_left_out(text: str) -> None:
    head = text.split("__all__")[0].partition('"""\n\n')[2]
    assert head == (
        "from __future__ import annotations\n\n"
        "import functools\n"
        "from array import array\n"
        "from collections import OrderedDict, deque\n"
        "from itertools import (\n"
        "    combinations_with_replacement,\n    count,\n    cycle,\n    islice,\n"
        "    permutations,\n    product,\n    starmap,\n    takewhile,\n    tee,\n"
        ")\n"
        "from math import sqrt as wurzel\n\n"
        "import tutor\n"
        "from tutor.backends.registry import current\n"
        "from tutor.backends.registry import lookup as lookup_tutor\n\n"
    )


def test_comments_and_headings_stay(text: str) -> None:
    assert "# ---- chapter 1: bytes\n" in text and "# ---- chapter 2: shape and Strides\n" in text
    assert "# How many bytes a number takes.\nSIZES =" in text
    assert "# eight bytes each" in text and "# ours is shorter" in text
    assert "print(1)" not in text and "\n\n\nPAGE = 4096\n\n\n# ----" in text


def test_the_linter_has_nothing_to_say(text: str, tmp_path: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
    file = tmp_path / "ch02.py"
    file.write_text(text)
    settings = ["--config", str(Path(__file__).parents[2] / "pyproject.toml")]
    for command in (["check"], ["format", "--diff"]):
        done = subprocess.run(
            [ruff, *command, *settings, str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("cell", "words"),
    [("%time x = 1", "plain Python"), ("from course import check", "another cell")],
)
def test_a_cell_that_cannot_be_kept(cell: str, words: str, tmp_path: Path) -> None:
    path = chapter(tmp_path, "01", "Bytes", (cell, ["keep"]))
    with pytest.raises(DataError, match=words):
        build.kept("01", path)
