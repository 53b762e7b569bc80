"""Every file in examples/ runs; `make examples` sees whether each reaches what it says."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


class Example(NamedTuple):
    """How it is tried in a moment, what it leaves in its folder, and what `make examples` asks of
    the number that its main() gives: at least, or at most."""

    quickly: str
    files: str
    least: float = float("-inf")
    most: float = float("inf")


TABLE = {
    "dqn_cartpole": Example("--rounds 2", "game.svg curves.svg log.jsonl", least=475),
    "linear_regression": Example("--steps 200", "line.svg", most=1e-5),
    "two_moons": Example("--epochs 2", "moons.svg curves.svg log.jsonl", least=0.97),
}


def run(name: str, out: Path, *options: str) -> str:
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=out, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_basic_operations_print_what_is_written_down(tmp_path: Path) -> None:
    path = ROOT / "examples" / "basic_operations.py"
    assert run(path.stem, tmp_path) == path.with_suffix(".out").read_text()


def test_each_example_is_in_the_table() -> None:
    assert {path.stem for path in EXAMPLES} == {*TABLE, "basic_operations"}


@pytest.mark.parametrize("name", TABLE)
def test_an_example_runs_and_draws(name: str, tmp_path: Path) -> None:
    said = run(name, tmp_path, *TABLE[name].quickly.split(), "--out", str(tmp_path / "out"))
    assert said.strip()
    files = TABLE[name].files.split()
    assert {p.name for p in (tmp_path / "out").iterdir()} == set(files)
    for file in files:
        assert (tmp_path / "out" / file).stat().st_size > 100
        assert not file.endswith(".svg") or "<svg" in (tmp_path / "out" / file).read_text()


@pytest.mark.parametrize("name", TABLE)
def test_an_example_says_how_it_is_run_and_what_comes_out(name: str) -> None:
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text())
    told = ast.get_docstring(tree) or ""
    assert f"python examples/{name}.py" in told.splitlines()[0]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert any(f.name == "main" and f.returns is not None for f in functions)
