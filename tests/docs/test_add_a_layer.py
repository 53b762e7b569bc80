"""docs/add-a-layer.md, word for word: its changes go into a copy of the tree, where all that is
demanded of a layer and of an optimizer must pass, and must not if one of the files is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add-a-layer.md"
FILES = 4  # that a layer may take, or an optimizer

# "In `file`:" or "In the new file `file`:", and the changes there.
BLOCK = re.compile(
    r"^In (?:the new file )?`([^`]+)`:\n\n````diff\n(.*?)^````$", re.MULTILINE | re.DOTALL
)
# Where something is demanded of each, by heading, and which tests there: all that have the new name
# in theirs, and those that look for what is missing. The last are files that notice each omission.
EVERYWHERE = "docs/test_reference.py docs/test_words.py test_cycles.py test_imports.py"
MISSING = "every_public_name or test_words or no_import_comes_back or few_arrows"
TESTS = {
    "A layer": (
        f"{EVERYWHERE} oracle/test_oracle_layers.py nn/test_nn_layers_everywhere.py "
        "test_mistakes.py",
        f"Squareplus or every_layer or no_layer or {MISSING} or (test_examples and nn)",
        "docs/test_reference.py nn/test_nn_layers_everywhere.py",
    ),
    "An optimizer": (
        f"{EVERYWHERE} optim/test_optim_against_torch.py",
        f"signum or every_optimizer or {MISSING} or (test_examples and optim)",
        "docs/test_reference.py optim/test_optim_against_torch.py",
    ),
}


class Change(NamedTuple):
    file: str
    old: str
    new: str


def changes(part: str) -> list[Change]:
    """What a part of the page has changed: each hunk of its blocks, which empty lines separate."""
    found = []
    for file, block in BLOCK.findall(part):
        for hunk in re.split(r"^\n", block, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            assert all(line[0] in " +-" for line in lines), hunk
            old, new = ("".join(x[1:] for x in lines if x[0] != sign) for sign in "+-")
            found.append(Change(file, old, new))
    return found


def parts() -> dict[str, list[Change]]:
    """The changes by heading."""
    _, *split = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {head: changes(text) for head, text in zip(split[::2], split[1::2], strict=True)}


def make(change: Change, tree: Path) -> None:
    path = tree / change.file
    if not change.old:
        assert not path.exists()
        path.write_text(change.new, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    assert text.count(change.old) == 1, f"{change.file} has not, or not once:\n{change.old}"
    path.write_text(text.replace(change.old, change.new), encoding="utf-8")


@pytest.mark.parametrize("head", TESTS)
def test_four_files_are_changed(head: str, tmp_path: Path) -> None:
    found = parts()
    assert {*found} == {*TESTS}
    files = list(dict.fromkeys(change.file for change in found[head]))
    assert len(files) == FILES
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / file).exists():
            (tmp_path / file).write_text((ROOT / file).read_text(encoding="utf-8"))
    for change in found[head]:
        make(change, tmp_path)


@pytest.mark.sweep
@pytest.mark.by_turns("additions")
@pytest.mark.parametrize("head", TESTS)
def test_the_page_adds_what_all_demands_accept(head: str, field: Any) -> None:
    before = {
        change.file: (field.tree / change.file).read_text(encoding="utf-8")
        for change in parts()[head]
        if change.old
    }
    for change in parts()[head]:
        make(change, field.tree)
    for tool in ("ruff check", "ruff format --check", "mypy tutor/nn/__init__.py"):
        done = field.run(field.python, "-m", *tool.split())
        assert done.returncode == 0, done.stdout
    tests, choice, noticing = TESTS[head]
    assert field.failing(tests, choice) is None
    for file, text in before.items():
        with_it = (field.tree / file).read_text(encoding="utf-8")
        (field.tree / file).write_text(text, encoding="utf-8")
        assert field.failing(noticing, choice) is not None, f"nothing demands {file}"
        (field.tree / file).write_text(with_it, encoding="utf-8")
