"""No tool passes over a file of ours. pytest and ruff leave out whatever is called dist, unless
they are told not to; here that is a folder of the library, and one of its tests."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("tutor", "course", "tests", "examples", "benchmarks", ".ci")


def test_pytest_looks_into_every_folder_of_tests(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("norecursedirs")
    folders = {path.parent for path in ROOT.glob("tests/**/test_*.py")}
    parts = {part for folder in folders for part in folder.relative_to(ROOT).parts}
    assert {"dist", "core", "nn"} <= parts
    assert not [part for part in parts if any(fnmatch(part, pattern) for pattern in patterns)]


def test_ruff_looks_at_every_file() -> None:
    pytest.importorskip("ruff")
    command = [sys.executable, "-m", "ruff", "check", "--show-files", *FOLDERS]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = {Path(line) for line in shown.stdout.splitlines()}
    files = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert ROOT / "tutor" / "dist" / "ranks.py" in files
    assert not files - seen
