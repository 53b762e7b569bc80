"""No tool passes over a file of ours. pytest and ruff leave out whatever is called dist, unless
they are told not to; here that is a folder of the library, and one of its tests."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import missing
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


def test_what_is_left_out_for_want_of_a_package_is_for_want_of_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing at all is installed, nothing of ours is named. (Folders of ROOT and of tests
    are packages that Python finds, being in its path.)"""
    ours = {path.stem for path in ROOT.glob("[!.]*/**/*.py")}
    ours |= {path.parent.name for path in ROOT.glob("[!.]*/**/__init__.py")}
    missing.lacks.cache_clear()
    with monkeypatch.context() as here:
        here.setattr(importlib.util, "find_spec", lambda name: None)
        names = frozenset().union(*map(missing.lacks, missing.HERE.rglob("test_*.py")))
    missing.lacks.cache_clear()
    assert {"numpy", "hypothesis"} <= names
    found = {path.name for path in (*ROOT.iterdir(), *missing.HERE.iterdir()) if path.is_dir()}
    assert not names & ours - found
