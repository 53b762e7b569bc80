"""`python -m tutor course status`, and checks in a terminal that know the learner's library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import two_chapters as small

from course import check, notebooks, status
from course.library import session
from tutor.__main__ import main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STRIDES = """
def strides_for(shape):
    # mine
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
"""
TOTAL = "def total(grid):\n    t = 0.0\n    for x in grid.numbers:\n        t += x\n    return t\n"


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The small chapters, and a folder of our own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    with small.used():
        yield tmp_path


def passing(id: str, name: str, text: str) -> None:
    """Check an answer as a cell of a notebook that has begun chapter 96 would."""
    import linecache

    place = f"<cell for {id}>"
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    names = {"__name__": "__main__"} | vars(sys.modules["my_tutor"])
    import math

    names["math"] = math
    exec(compile(text, place, "exec"), names)
    assert check(id, names[name]).passed


def said(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["course", "status"]) == 0
    out = capsys.readouterr().out
    assert main(["status"]) == 0
    assert capsys.readouterr().out == out
    return out


def test_an_empty_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys).startswith("your library is empty yet")
    assert not Path("my_tutor").exists()


def test_what_is_theirs_and_what_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    session.begin("96")
    passing("96.1", "strides_for", STRIDES)
    session.begin("97")
    out = said(capsys)
    table = [line.split() for line in out.splitlines()[2:5]]
    assert ["tensor.py", "1", "0", "0"] in table or ["tensor.py", "1", "1", "0"] in table, out
    assert "ours until yours pass: 96.3 total" in out
    assert "stopped passing: 96" not in out
    assert "2 of the " in out and "lines of code there are yours" in out


def test_what_has_stopped_passing(capsys: pytest.CaptureFixture[str]) -> None:
    session.begin("96")
    passing("96.1", "strides_for", STRIDES)
    passing("96.3", "total", TOTAL)
    file = next(path for path in Path("my_tutor").glob("*.py") if "t = 0.0" in path.read_text())
    file.write_text(file.read_text().replace("t = 0.0", "t = 1.0"))
    out = said(capsys)
    assert "has stopped passing: 96.3, wrong, " in out and "96.1, " not in out, out
    file.write_text(file.read_text().replace("t = 1.0", "t = = 1.0"))
    out = said(capsys)
    assert "has stopped passing: 96.3, " in out, out


SCRIPT = (
    "import sys; sys.path.insert(0, {here!r})\n"
    "import two_chapters as small\nwith small.used():\n    {do}"
)


def terminal(do: str) -> str:
    """What a program prints that has the small chapters."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(here=str(HERE), do=do)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_check_in_a_terminal_knows_and_fills_the_library(own: Path) -> None:
    """It finds their pieces as they are, saves what passes, and nothing of what the file checks."""
    session.begin("96")
    passing("96.1", "strides_for", STRIDES.replace("# mine", "# found again"))
    notebook = notebooks.read(notebooks.chapters()["96"])
    for cell in notebooks.code_cells(notebook):
        if "exercise-96.3" in notebooks.tags(cell):
            cell["source"] = "import inspect\n" + TOTAL + (
                "source = inspect.getsource(strides_for)\nassert '# found again' in source\n"
            )  # fmt: skip
    (own / "mine.ipynb").write_text(json.dumps(notebook))
    out = terminal("from course.answers import main; main('96.3', 'mine.ipynb', 'r', str(1 << 31))")
    assert "96.3 exact" in out or "96.3 close" in out, out
    library = "".join(path.read_text() for path in (own / "my_tutor").glob("*.py"))
    assert "t = 0.0" in library and "# found again" in library
    assert (own / "progress.txt").read_text().count("96.") == 2, out


def test_a_piece_of_the_library_is_checked_where_it_stands(
    own: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By its file, or, where no notebook has the exercise, by its id alone."""
    session.begin("96")
    passing("96.1", "strides_for", STRIDES)
    passing("96.3", "total", TOTAL)
    (own / "progress.txt").unlink()
    file = next(path for path in (own / "my_tutor").glob("*.py") if "t = 0.0" in path.read_text())
    before = file.read_text()
    do = f"from course.answers import main; main('96.3', {str(file)!r}, 'r', str(1 << 31))"
    out = terminal(do)
    assert out.startswith("96.3 exact") and "another version" not in out, out
    assert file.read_text() == before and "96.3 passed" in (own / "progress.txt").read_text()
    from course import shell

    assert shell.notebook_of("96.3") == str(file)
    file.write_text(before.replace("t = 0.0", "t = 1 / 0"))
    out = terminal(do)
    assert out.startswith("96.3 raised") and "t = 1 / 0" in out, out
    file.write_text(before.replace("t = 0.0", "t = = 0.0"))
    out = terminal(do)
    assert out.startswith("96.3 raised") and "SyntaxError" in out, out


def test_keeping_in_a_terminal(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session.begin("96")
    passing("96.3", "total", TOTAL)
    passing("96.3", "total", TOTAL.replace("0.0", "0.00"))
    file = next(path for path in (own / "my_tutor").glob("*.py") if "t = 0.0" in path.read_text())
    assert main(["keep", "96.3"]) == 0
    assert "t = 0.00\n" in file.read_text()
    assert main(["keep", "99.9"]) == 2


def test_lines_are_counted_without_comments() -> None:
    assert status._code("# x\n\ny = 1\n    # z\n  a = 2\n") == 2
