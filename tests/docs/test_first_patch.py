"""docs/first-patch.md: its minutes are those of chapter 18, and its changes make an op."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from test_add_a_layer import changes, make

from course import notebooks

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/first-patch.md").read_text("utf-8")
STEP = re.compile(r"(?m)^\| (.+) \| (\d+) \|$")
FILES = ["tutor/ops/functions.py", "tutor/methods/operators.py",
         "tests/ops/rows_elementwise.py", "docs/reference/tensor.md"]  # fmt: skip


def chapter() -> str:
    cells = notebooks.read(notebooks.chapters()["18"])["cells"]
    return "\n\n".join(notebooks.source(c) for c in cells if c["cell_type"] == "markdown")


def test_the_steps_are_those_of_the_chapter() -> None:
    steps = STEP.findall(PAGE)
    assert len(steps) == 7 and steps == STEP.findall(chapter())
    assert sum(int(minutes) for _, minutes in steps) == 70
    assert "That makes 70 minutes." in chapter() and "in about seventy minutes" in PAGE


def test_four_files_are_changed(tmp_path: Path) -> None:
    found = changes(PAGE)
    assert list(dict.fromkeys(change.file for change in found)) == FILES
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text("utf-8"))
    for change in found:
        make(change, tmp_path)


@pytest.mark.sweep
@pytest.mark.by_turns("additions")
def test_the_page_makes_an_op_that_is_asked_nothing_more(field: Any) -> None:
    """With the class the row and the example pass; without it they do not."""
    tests, choice = "ops/test_ops.py", "logit"
    kept = (field.tree / FILES[0]).read_text("utf-8")
    for change in changes(PAGE):
        make(change, field.tree)
    for tool in ("ruff check", "ruff format --check"):
        done = field.run(field.python, "-m", *tool.split(), *FILES[:3])
        assert done.returncode == 0, done.stdout
    assert field.failing(tests, choice) is None
    call, shown = re.findall(r">>> (.+)\n(.+)\n```", changes(PAGE)[-1].new)[0]
    done = field.run(field.python, "-c", f"from tutor import Tensor\nprint({call})")
    assert done.stdout.strip() == shown
    (field.tree / FILES[0]).write_text(kept, "utf-8")
    assert field.failing(tests, choice) is not None
