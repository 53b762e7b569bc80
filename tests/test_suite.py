"""The suite itself: what would pass without having looked at anything is an error."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import missing
import pytest
from backend_names import LEVELS, PLACES

HERE = Path(__file__).parent
ROOT = HERE.parent
FOLDERS = ("tutor", "course", "tests", "examples", "benchmarks", ".ci")  # where Python stands

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
    script = Path(shutil.copy(ROOT / ".ci" / "run", tmp_path / "tree" / ".ci" / "run"))
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
    assert asked[:2] == ["make lint", "make opencl"]
    extras = "bench native onnx wheels opencl mpich cuda"
    few = "" if mutants else " ARGS=--python --some 8 --by "  # and a commit
    assert asked[2].startswith(f"make mutants WITH={extras}{few}")
    shared = "-n auto --maxprocesses 4 --dist worksteal"  # among processes
    assert asked[3] == f"make test WITH={extras} ARGS=--nothing-missing {shared}"


def test_files_of_tests_have_names_of_their_own() -> None:
    """As no folder of tests is a package, pytest takes two files of one name for one module."""
    names = [path.name for path in HERE.rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


# ---- nothing is passed over ----------------------------------------------------------------------
# pytest and ruff leave out whatever is called build or dist, for example.


def test_pytest_looks_into_every_folder_of_tests(pytestconfig: pytest.Config) -> None:
    patterns = pytestconfig.getini("norecursedirs")
    folders = {path.parent for path in ROOT.glob("tests/**/test_*.py")}
    parts = {part for folder in folders for part in folder.relative_to(ROOT).parts}
    assert {"distributed", "core", "nn"} <= parts
    assert not [part for part in parts if any(fnmatch(part, pattern) for pattern in patterns)]


def test_ruff_looks_at_every_file() -> None:
    pytest.importorskip("ruff")
    command = [sys.executable, "-m", "ruff", "check", "--show-files", *FOLDERS]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = {Path(line) for line in shown.stdout.splitlines()}
    files = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert ROOT / "tutor" / "distributed" / "ranks.py" in files
    assert not files - seen


def test_what_is_left_out_for_want_of_a_package_is_for_want_of_a_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing at all is installed, nothing of ours is named. (Folders of ROOT and of tests
    are packages that Python finds, being in its path.)"""
    files = [path for folder in (*FOLDERS, "docs") for path in (ROOT / folder).rglob("*.py")]
    ours = {path.parent.name if path.stem == "__init__" else path.stem for path in files}
    missing.lacks.cache_clear()
    with monkeypatch.context() as here:
        here.setattr(importlib.util, "find_spec", lambda name: None)
        names = frozenset().union(*map(missing.lacks, HERE.rglob("test_*.py")))
    missing.lacks.cache_clear()
    assert {"numpy", "hypothesis"} <= names
    found = {path.name for path in (*ROOT.iterdir(), *HERE.iterdir()) if path.is_dir()}
    assert not names & ours - found - {"torch"}  # PyTorch: nobody finds tutor/torch by that name


def test_no_two_helpers_share_a_name() -> None:
    """Files that tests import stand in folders that are all in Python's path: of two that have one
    name, the tests of one folder would import the other's."""
    packages = {path.parent for path in HERE.rglob("__init__.py")}
    files = [path for path in HERE.rglob("*.py") if path.parent not in packages]
    names = Counter(path.stem for path in files if path.stem != "conftest")
    assert [name for name, count in names.items() if count > 1] == []


# ---- the sample ----------------------------------------------------------------------------------

CROSSED = """
import pytest
from backend_names import PLACES

@pytest.mark.crossed("dtype")
@pytest.mark.parametrize("dtype", ["a", "b", "c"])
@pytest.mark.parametrize("case", range(20))
def test_case(case, dtype, place):
    pass

@pytest.mark.sweep
def test_all():
    pass
"""


def test_a_sample_has_each_case_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    def ran(*options: str) -> list[str]:
        code, text = outcome(tmp_path, CROSSED, "-vv", "-p", "no:xdist", *options)
        assert code == pytest.ExitCode.OK, text
        return sorted(line for line in text.splitlines() if "PASSED" in line or "left" in line)

    def bare(lines: list[str]) -> list[str]:
        return [line.split(" PASSED")[0] for line in lines]

    everything, sampled = bare(ran()), bare(ran("--sample"))
    tests = [line for line in sampled if "::" in line]
    assert sampled == bare(ran("--sample")) and set(tests) < set(everything)
    assert not any("test_all" in line for line in tests)
    assert len(tests) == 20 * min(2, len(PLACES))
    assert {part for line in tests for part in re.findall(r"-(\d+)[-\]]", line)} == {
        str(case) for case in range(20)
    }


TURNS = """
import pytest

@pytest.mark.by_turns("one")
@pytest.mark.parametrize("case", range(5))
def test_case(case):
    pass

@pytest.mark.by_turns("two")
def test_alone():
    pass

def test_always():
    pass
"""


def test_of_the_tests_of_a_group_each_commit_runs_one(tmp_path: Path) -> None:
    def passed(asked: str, *options: str) -> set[str]:
        text = outcome(tmp_path, TURNS, "-vv", *options, TUTOR_CLAIMS=asked)[1]
        return set(re.findall(r"::(\w+(?:\[\d\])?) PASSED", text))

    whole = ("-o", "testpaths=test_it.py")
    every = {f"test_case[{i}]" for i in range(5)} | {"test_alone", "test_always"}
    assert passed("a commit") == passed("all", *whole) == passed("", *whole) == every
    found = [passed(asked, *whole) for asked in ("a commit", "another", "a third")]
    assert all(len(some) == 3 and {"test_alone", "test_always"} < some for some in found)
    assert len({*map(frozenset, found)}) > 1


SKIPPED = """
import pytest

def test_it():
    pytest.skip("there is no such tool")

def test_other():
    pytest.skip("root may write anywhere")
"""


def test_what_is_skipped_fails_unless_it_cannot_be_had(tmp_path: Path) -> None:
    assert outcome(tmp_path, SKIPPED)[0] == pytest.ExitCode.OK
    code, text = outcome(tmp_path, SKIPPED, "--nothing-missing")
    assert code == pytest.ExitCode.TESTS_FAILED and "1 failed, 1 skipped" in text
    assert "found: test_it.py::test_it is skipped: there is no such tool" in text


def test_the_tests_that_need_packages_are_as_many_as_is_said(
    request: pytest.FixtureRequest,
) -> None:
    for file, count in request.config.stash[missing.COUNTED].items():
        if file in missing.COUNTS and request.config.args == request.config.getini("testpaths"):
            assert abs(count - missing.COUNTS[file]) <= max(5, count / 10), f"{file}: {count} tests"
