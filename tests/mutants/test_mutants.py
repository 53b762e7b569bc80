"""The tables of planted bugs are alive, and what plants them says what it should.

That each bug is caught is for `make mutants` to find out, which takes minutes.
"""

from __future__ import annotations

import ast
from pathlib import Path

import plant
import pytest
from mutant import ROOT, Mutant, TroubleError, planted
from native_mutants import NATIVE_MUTANTS
from python_mutants import PYTHON_MUTANTS

MUTANTS = [pytest.param(m, id=m.name) for m in (*PYTHON_MUTANTS, *NATIVE_MUTANTS)]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_bug_can_still_be_planted(mutant: Mutant) -> None:
    """Where the code has changed, so must the row: the bug is to stay thinkable."""
    text = (ROOT / mutant.file).read_text()
    with_bug = planted(mutant, text)
    assert with_bug != text
    if not mutant.is_native:
        ast.parse(with_bug)
    assert mutant.why


@pytest.mark.parametrize("mutant", MUTANTS)
def test_its_tests_are_there(mutant: Mutant) -> None:
    assert mutant.tests.split()
    for test in mutant.tests.split():
        path, *names = test.split("::")
        assert (ROOT / "tests" / path).exists(), path
        functions = (ROOT / "tests" / path).read_text() if names else ""
        assert all(f"def {name}(" in functions for name in names), test


def test_there_are_some_of_both_kinds_with_names_of_their_own() -> None:
    assert len(PYTHON_MUTANTS) >= 30 and len(NATIVE_MUTANTS) >= 20
    names = [m.name for m in (*PYTHON_MUTANTS, *NATIVE_MUTANTS)]
    assert not [name for name in names if names.count(name) > 1]
    assert {m.is_native for m in NATIVE_MUTANTS} == {True}
    assert {m.is_native for m in PYTHON_MUTANTS} == {False}


def test_every_commit_draws_its_own_and_in_time_all() -> None:
    assert plant.some(PYTHON_MUTANTS, 5, "one") == plant.some(PYTHON_MUTANTS[::-1], 5, "one")
    assert plant.some(PYTHON_MUTANTS, 5, "one") != plant.some(PYTHON_MUTANTS, 5, "two")
    commits = range(4 * len(PYTHON_MUTANTS))  # each bug is expected twenty times
    drawn = {m.name for i in commits for m in plant.some(PYTHON_MUTANTS, 5, str(i))}
    assert drawn == {m.name for m in PYTHON_MUTANTS}


# ---- in a tree of their own ----------------------------------------------------------------------

CODE = "def double(x):\n    return 2 * x\n"
TESTS = """
from small import double

def test_double():
    assert double(3) == 6

def test_nothing():
    assert double
"""


def small(was: str, becomes: str, tests: str = "test_small.py", only: str = "") -> Mutant:
    return Mutant(f"{was} {becomes} {tests}", "small.py", was, becomes, tests, "why not", only)


CAUGHT = small("2 *", "3 *")
SURVIVING = small("2 *", "3 *", "test_small.py::test_nothing")
NOT_CHOSEN = small("2 *", "3 *", only="nothing")
GONE = small("4 *", "5 *")
TWICE = small("x", "y")
MISSING = small("2 *", "3 *", "test_small.py::test_other")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    (root / "small.py").write_text(CODE)
    (root / "tests" / "test_small.py").write_text(TESTS)
    return root


@pytest.mark.parametrize("copies", [1, 2, 8])
def test_what_becomes_of_bugs(tree: Path, capsys: pytest.CaptureFixture[str], copies: int) -> None:
    planted = [CAUGHT, SURVIVING, NOT_CHOSEN, GONE, TWICE]
    found = plant.plant(planted, tree, extension=False, copies=copies)
    assert [f.mutant for f in found] == planted
    assert [f.fine for f in found] == [True, False, False, False, False]
    assert found[0].by == "tests/test_small.py::test_double"
    text = capsys.readouterr().out
    assert text.count("caught  ") == 1 and text.count("SURVIVED") == 2
    assert text.count("TROUBLE ") == 2 and text.count("why not") == 4
    assert "stands 0 times in small.py" in text and "stands 2 times in small.py" in text
    assert (tree / "small.py").read_text() == CODE  # bugs are planted in a copy


def test_tests_that_notice_nothing_are_an_error(tree: Path) -> None:
    with pytest.raises(TroubleError, match="test_other"):
        plant.plant([MISSING], tree, extension=False)
    (tree / "small.py").write_text(CODE.replace("2", "7"))
    with pytest.raises(TroubleError, match="test_double fails without any bug"):
        plant.plant([small("7", "8")], tree, extension=False)


def test_the_summary_and_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [plant.Found(CAUGHT, "a test", 1.0), plant.Found(GONE, None, 0.0, "gone")]
    monkeypatch.setattr(plant, "plant", lambda mutants, copies: found)
    assert plant.main([]) == 1
    assert capsys.readouterr().out.endswith("== 1 of 2 planted bugs caught\n")
    found.pop()
    assert plant.main(["--python", "--some", "3"]) == 0
    assert capsys.readouterr().out.endswith("== 1 of 1 planted bugs caught\n")
    assert plant.main(["--only", "no such name"]) == 2
    assert "no mutant is named like 'no such name'" in capsys.readouterr().out
    assert plant.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(m.name in listed for m in (*PYTHON_MUTANTS, *NATIVE_MUTANTS))
