"""The suite itself: what would pass without having looked at anything is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from backend_names import LEVELS

HERE = Path(__file__).parent

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
