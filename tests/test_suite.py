"""The suite itself: what would pass without having looked at anything is an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from backend_names import LEVELS

HERE = Path(__file__).parent

# In place of make: says what it was asked for, and ends the tests as the variable STATUS tells.
MAKE = """#!/bin/sh
echo "make $*"
[ "$1" = test ] || exit 0
echo "1 failed, 2 passed in 3.00s"
echo "make: *** [Makefile:59: test] Error $STATUS"
exit $STATUS
"""

EMPTY = """
import pytest

@pytest.mark.parametrize("row", [])
def test_rows(row):
    assert row
"""

MISSING = """
import pytest

def test_it():
    pytest.importorskip("no_such_package")

def test_other():
    assert True
"""


def outcome(folder: Path, code: str, *options: str, **variables: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", ".", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parent}", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(not LEVELS, reason="TUTOR_PURE: this installation has no extension")
def test_a_table_without_rows_is_an_error(tmp_path: Path) -> None:
    code, text = outcome(tmp_path, EMPTY)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "test_it.py::test_rows" in text and "empty parameter set" in text


def test_without_the_extension_there_are_no_levels_and_that_is_no_error(tmp_path: Path) -> None:
    code, text = outcome(tmp_path, EMPTY + "\ndef test_other():\n    pass\n", TUTOR_PURE="1")
    assert code == pytest.ExitCode.OK
    assert "1 passed, 1 skipped" in text


def test_what_is_missing_is_skipped_unless_asked_otherwise(tmp_path: Path) -> None:
    code, text = outcome(tmp_path, MISSING)
    assert code == pytest.ExitCode.OK and "1 passed, 1 skipped" in text
    code, text = outcome(tmp_path, MISSING, "--nothing-missing")
    assert code == pytest.ExitCode.TESTS_FAILED and "1 failed, 1 passed" in text
    assert "No module named 'no_such_package'" in text


# ---- what must pass before a change goes in ------------------------------------------------------


@pytest.mark.parametrize("status", ["0", "1"])
@pytest.mark.parametrize("mutants", ["", "all"])
def test_ci_runs_everything_and_ends_with_the_summary(
    tmp_path: Path, status: str, mutants: str
) -> None:
    (tmp_path / "bin").mkdir()
    make = tmp_path / "bin" / "make"
    make.write_text(MAKE)
    make.chmod(0o755)
    (tmp_path / "tree" / ".ci").mkdir(parents=True)
    script = Path(shutil.copy(HERE.parent / ".ci" / "run", tmp_path / "tree" / ".ci" / "run"))
    path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(script)],
        env={**os.environ, "PATH": path, "STATUS": status, "TUTOR_MUTANTS": mutants},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == int(status), done.stderr
    assert lines[-1] == "1 failed, 2 passed in 3.00s"
    asked = [line for line in lines if line.startswith("make ")]
    assert asked[0] == "make lint"
    assert asked[1] == "make mutants" if mutants else asked[1].startswith("make mutants ARGS=--py")
    shared = "-n auto --maxprocesses 4 --dist worksteal"  # among processes
    extras = "bench native onnx wheels opencl mpich cuda"
    assert asked[2] == f"make test WITH={extras} ARGS=--nothing-missing {shared}"


def test_files_of_tests_have_names_of_their_own() -> None:
    """As no folder of tests is a package, pytest takes two files of one name for one module."""
    names = [path.name for path in HERE.rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
