"""`python -m tutor check` and `python -m tutor chapters`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course import answers, copies, notebooks, record, roads
from course.exercise import find
from tutor.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of our own to work in; what is started there finds this tutor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


# ---- check ---------------------------------------------------------------------------------------

FILES = {
    "right": (0, "exact", "reached = -3.95"),
    "wrong": (1, "wrong", "reached = 3.0"),
    "not begun": (1, "unsolved", "reached = ..."),
    "another name": (1, "unsolved", "x = -3.95"),
    "a syntax error": (1, "raised", "reached = 3 +\n"),
    "an error before it": (1, "raised", "def f():\n    return 1 / 0\n\n\nf()\nreached = -3.95"),
    "an error after it": (1, "raised", "reached = -3.95\nraise ValueError"),
    "leaves Python": (1, "raised", "reached = -3.95\nimport sys\nsys.exit(0)"),
    "kills Python": (1, "raised", "import os\nos._exit(77)"),
    "the path of a program": (0, "exact", "reached = -3.95\nif __name__ == '__main__':\n    1 / 0"),
    "prints and checks": (
        0,
        "exact",
        "from course import check\nreached = 2.0\ncheck('00.1', reached)\nprint('x')\n"
        "reached = -3.95",
    ),
    "asks": (1, "raised", "reached = float(input())"),
}


@pytest.mark.parametrize(("code", "kind", "text"), FILES.values(), ids=FILES)
def test_check_marks_a_file(
    code: int, kind: str, text: str, own: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (own / "mine.py").write_text(text)
    assert main(["check", "00.1", "mine.py"]) == code
    out, err = capfd.readouterr()
    assert out.startswith(f"00.1 {kind}: Another target\n") and err == ""
    assert "Traceback" not in out and len(out.splitlines()) < 8
    before = (own / "mine.py").read_text()
    assert before == text


def test_an_error_is_shown_with_its_line(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, line in (
        ("a syntax error", "line 1: reached = 3 +"),
        ("an error before it", "line 2 of f: return 1 / 0"),
    ):
        (own / "mine.py").write_text(FILES[name][2])
        main(["check", "00.1", "mine.py"])
        assert line in capfd.readouterr().out


def test_a_file_that_never_ends(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "mine.py").write_text("import itertools\nreached = 1\nfor _ in itertools.count(): pass")
    assert answers.mark("00.1", "mine.py", seconds=2) == 1
    assert "00.1 timeout: Another target\nmine.py did not" in capfd.readouterr().out


def test_progress_of_a_file_counts_once(own: Path) -> None:
    (own / "mine.py").write_text(FILES["prints and checks"][2])
    main(["check", "00.1", "mine.py"])
    assert (own / "progress.txt").read_text() == "00.1 passed tries=0 hints=0\n"


def notebook_with(own: Path, stub: str, before: str = "") -> str:
    notebook = notebooks.read(notebooks.chapters()["00"])
    cells = notebook["cells"]
    place = next(n for n, cell in enumerate(cells) if "exercise-00.1" in notebooks.tags(cell))
    cells[place]["source"] = stub
    cells.insert(0, {"cell_type": "code", "source": before, "metadata": {}})
    later = {"cell_type": "code", "source": "import os\nos._exit(1)", "metadata": {}}
    (own / "mine.ipynb").write_text(json.dumps({"cells": [*cells, later]}))
    return "mine.ipynb"


def test_check_marks_a_notebook(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It runs the cells up to that exercise, over errors and past magics."""
    magics = "%matplotlib inline\n!ls\nx = 1 / 0"
    file = notebook_with(own, "reached = Tensor(-3.95).item()", magics)
    assert main(["check", "00.1", file]) == 0, capfd.readouterr()
    assert main(["check", "00.1", notebook_with(own, "reached = 1.0")]) == 1
    assert main(["check", "00.1", notebook_with(own, "%%time\nreached = 1.0")]) == 1
    assert "does not define `reached`" in capfd.readouterr().out
    assert main(["check", "00.1", notebook_with(own, "reached = y")]) == 1
    assert "NameError: name 'y'" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["00.1", "missing.py"], "no such file"),
        (["00.1", "."], "no such file"),
        (["00.1", "mine.txt"], "neither .py nor .ipynb"),
        (["00.99", "mine.py"], "near to it: 00."),
        (["00.q1", "mine.py"], "give the answer itself, as python -m tutor check 00.q1 b"),
        (["00.q1"], "there is no answer"),
        (["00.1"], "an id and a file"),
        (["mine.py"], "the id comes first"),
    ],
)
def test_misuse(
    arguments: list[str], words: str, own: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (own / "mine.txt").write_text("")
    (own / "mine.py").write_text("reached = 1")
    assert main(["check", *arguments]) == 2
    assert words in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', '{"cells": [{}]}', "\x00"])
def test_a_damaged_notebook(text: str, own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "mine.ipynb").write_text(text)
    assert main(["check", "00.1", "mine.ipynb"]) == 2
    out, err = capfd.readouterr()
    assert "asked: the notebook mine.ipynb" in err and "Traceback" not in out + err


def test_a_file_that_is_no_text(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "mine.py").write_bytes(b"reached = '\xff'")
    assert main(["check", "00.1", "mine.py"]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("00.1 raised") and "Traceback" not in out + err


def test_a_file_may_import_what_lies_beside_it(own: Path) -> None:
    (own / "folder").mkdir()
    (own / "folder" / "beside.py").write_text("value = -3.95")
    (own / "folder" / "mine.py").write_text("from beside import value as reached")
    assert main(["check", "00.1", "folder/mine.py"]) == 0


def test_list(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "progress.txt").write_text("00.1 passed tries=0 hints=0\n")
    assert main(["check", "--list"]) == 0
    out = capfd.readouterr().out
    assert "00.1   passed  Another target\n" in out and "00.q1  open " in out


# ---- what else a notebook does -------------------------------------------------------------------


def test_leaving_python_is_no_pass(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever code it leaves: what the file found, it says at its end or not at all."""
    (own / "mine.py").write_text("reached = 1.0\nimport os\nos._exit(0)")
    assert main(["check", "00.1", "mine.py"]) == 1
    assert "mine.py ended Python itself, with code 0" in capfd.readouterr().out
    (own / "mine.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert main(["check", "00.1", "mine.py"]) == 1
    assert "was ended by SIGKILL" in capfd.readouterr().out


def test_memory_is_limited(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In the file, and in a function that the check calls."""
    (own / "mine.py").write_text("reached = bytearray(1 << 30)")
    assert answers.mark("00.1", "mine.py", memory=1 << 28) == 1
    assert capfd.readouterr().out.startswith("00.1 raised: ")
    (own / "mine.py").write_text("def strides_for(shape):\n    return bytearray(1 << 30)")
    assert answers.mark("02.1", "mine.py", memory=1 << 28) == 1
    out = capfd.readouterr().out
    assert out.startswith("02.1 raised: ") and "MemoryError" in out


def test_questions_are_answered_in_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    from course.exercise import Question, everything

    for entry in everything():
        if isinstance(entry, Question):
            typed = entry.right if isinstance(entry.right, str) else repr(entry.right)
            assert main(["check", entry.id, typed]) == 0, entry.id
            assert main(["check", entry.id, "mistaken"]) == 1, entry.id
    assert record.states()["00.q1"].passed


def test_hints_and_solutions_in_the_terminal(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["hint", "00.1"]) == 0
    assert capfd.readouterr().out.startswith("00.1, hint 1 of 3: ")
    assert main(["solution", "00.1"]) == 0
    assert "opens after a pass, or after 3 more tries" in capfd.readouterr().out
    (own / "mine.py").write_text("reached = -3.95")
    assert main(["check", "00.1", "mine.py"]) == 0
    capfd.readouterr()
    assert main(["solution", "00.1"]) == 0
    assert "reached" in capfd.readouterr().out
    assert (main(["hint", "00.77"]), main(["solution", "x"])) == (2, 2)
    assert "there is none of that id" in capfd.readouterr().out


def test_check_alone_says_how_far_one_is(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    out = capfd.readouterr().out
    assert "0 of 8" in out and "next: 00.1, Another target" in out
    (own / "progress.txt").write_text("00.1 passed tries=0 hints=0\n")
    assert main(["check"]) == 0
    out = capfd.readouterr().out
    assert "1 of 8" in out and "next: 00.2" in out


def test_the_notebook_of_this_folder_is_found(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = notebook_with(own, "reached = Tensor(-3.95).item()")
    assert main(["check", "00.1"]) == 0
    (own / file).rename(own / "mine.new.ipynb")  # an update that lies beside it is second
    notebook_with(own, "reached = 0.0")
    assert main(["check", "00.1"]) == 1
    (own / "third.ipynb").write_text((own / "mine.ipynb").read_text())
    capfd.readouterr()
    assert main(["check", "00.1"]) == 2
    assert "mine.ipynb, third.ipynb have that exercise" in capfd.readouterr().err


NOTEBOOKS = {
    "a cell above": ("x = 1\ny = f(0)\n", "reached = y", "line 2 of the cell, in cell 1 of mine"),
    "its own cell": ("", "def f():\n    return 1 / 0\n\n\nreached = f()", "line 2 of f, in cell "),
    "no Python": ("", "reached = = 3", ", line 1: reached = = 3"),
}


@pytest.mark.parametrize(("before", "stub", "words"), NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_notebook_s_verdict_names_cell_and_line(
    before: str, stub: str, words: str, own: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As code, never as the JSON that the file is."""
    assert main(["check", "00.1", notebook_with(own, stub, before)]) == 1
    out = capfd.readouterr().out
    assert words in out and "\\n" not in out and '",' not in out, out


def test_a_verdict_on_a_function_in_a_notebook(
    own: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the check calls raises in a cell, too."""
    notebook = notebooks.read(notebooks.chapters()["02"])
    for number, cell in enumerate(notebooks.code_cells(notebook), 1):
        if "exercise-02.1" in notebooks.tags(cell):
            name = find("02.1").answer
            cell["source"] = f"def {name}(*args):\n    return 1 / 0"
            place = number
    (own / "one.ipynb").write_text(json.dumps(notebook))
    assert main(["check", "02.1", "one.ipynb"]) == 1
    out = capfd.readouterr().out
    assert f"line 2 of {name}, in cell {place} of one.ipynb:\n" in out
    assert "    return 1 / 0" in out


@pytest.mark.parametrize(
    "command",
    ["check --list", "kernels", "doctor", "chapters list", "check", "--help", "program -h"],
)
def test_who_reads_the_output_may_stop(command: str, own: Path) -> None:
    """As `| head` does: no traceback, for every command."""
    command = f"{sys.executable} -u -m tutor {command}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "" and done.returncode in (0, 141)


# ---- chapters start ------------------------------------------------------------------------------


def test_start_copies_and_never_overwrites(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [path.name for path in notebooks.chapters().values()]
    assert main(["chapters", "start"]) == 0
    assert sorted(path.name for path in (own / "my-chapters").iterdir()) == sorted(
        [*names, "projects.md", "README.md", ".chapters.json"]
    )
    assert "copied to my-chapters: 00_five_minutes.ipynb" in capfd.readouterr().out
    mine = own / "my-chapters" / names[0]
    assert mine.read_bytes() == notebooks.chapters()["00"].read_bytes()

    mine.write_text("my work")
    (own / "my-chapters" / "README.md").unlink()
    assert main(["chapters", "start"]) == 0
    out = capfd.readouterr().out
    assert mine.read_text() == "my work"
    assert "copied to my-chapters: README.md" in out and "left as they are" in out


def test_the_list_names_every_chapter(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["chapters", "start", "a/folder"])
    page = (own / "a/folder/README.md").read_text()
    assert all(f"]({path.name})" in page for path in notebooks.chapters().values())
    capfd.readouterr()
    assert main(["chapters", "list"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == len(notebooks.chapters()) + len(roads.rows())
    assert "Five minutes" in lines[0] and lines[-1].startswith("part III, the road everything: ")
    assert all(f"| {part} | {road} |" in page for part, road, *_ in roads.rows())


def test_a_folder_that_cannot_be_written_to(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "file").write_text("mine")
    for folder in ("file", "file/inside", str(notebooks.folder())):
        assert main(["chapters", "start", folder]) == 2
        assert "asked: a copy of the chapters in" in capfd.readouterr().err
    assert (own / "file").read_text() == "mine"


def test_a_link_that_leads_nowhere_is_left(own: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own / "my-chapters").mkdir()
    (own / "my-chapters" / "README.md").symlink_to(own / "gone")
    assert main(["chapters", "start"]) == 0
    assert "left as they are, because they were there: README.md" in capfd.readouterr().out
    assert not (own / "gone").exists()


# ---- chapters build ------------------------------------------------------------------------------


@pytest.fixture
def tree(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree with one chapter that is not in the stored form."""
    (own / "chapters").mkdir()
    cells = [{"cell_type": "code", "source": "x = 1", "metadata": {"tags": ["keep"], "a": 1}}]
    metadata = {"tutor": {"title": "Bytes"}, "widgets": {}}
    text = json.dumps({"cells": cells, "metadata": metadata})
    (own / "chapters" / "01_bytes.ipynb").write_text(text)
    monkeypatch.setattr(notebooks, "folder", lambda: own / "chapters")
    return own


def test_build_writes_and_then_has_nothing_to_do(
    tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = (tree / "chapters" / "01_bytes.ipynb").read_text()
    assert main(["chapters", "build", "--check"]) == 1
    assert capfd.readouterr().out.count("differs: ") == 1
    assert (tree / "chapters" / "01_bytes.ipynb").read_text() == before

    assert main(["chapters", "build"]) == 0
    assert capfd.readouterr().out.count("written: ") == 1
    notebook = notebooks.read(tree / "chapters" / "01_bytes.ipynb")
    assert notebook["cells"][0] == {
        "cell_type": "code",
        "execution_count": None,
        "id": "01-0",
        "metadata": {"tags": ["keep"]},
        "outputs": [],
        "source": ["x = 1"],
    }
    assert "widgets" not in notebook["metadata"] and notebook["nbformat_minor"] == 5
    assert main(["chapters", "build", "--check"]) == 0
    assert capfd.readouterr().out == "all as they are stored: 1\n"


def test_jupyter_takes_the_stored_form(own: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="not installed")
    for path in notebooks.chapters().values():
        nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


def test_commands_are_found_by_python_m(own: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tutor", "chapters", "start", "here"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and (own / "here" / "README.md").is_file(), done.stderr


def test_the_wheel_has_the_chapters_where_they_are_looked_for() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    packages = settings["wheel"]["packages"]
    assert packages == {"tutor": "tutor", "course": "course", "course/chapters": "chapters"}
    assert notebooks.HERE == ROOT / "course"


def test_the_page_of_the_folder_is_short() -> None:
    assert copies.README.count("\n") < 18
