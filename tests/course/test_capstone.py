"""The scoreboard of tutor200.py: what it counts and refuses, and that ours passes."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from course import capstone, record
from course.capstone import Board, Goal, scoreboard
from course.exercise import solutions
from tutor import data
from tutor.__main__ import main
from tutor.backends import registry

OURS = (solutions() / "tutor200.py").read_text("utf-8")
LOAD = data.load
SMALL = Goal(images=1000, share=0.75)
CHAPTER = Path(__file__).parents[2] / "chapters/18_two_hundred_lines.ipynb"


@functools.cache
def drawn() -> Any:
    return LOAD("digits", limit=1000)


@pytest.fixture
def compiled() -> None:
    if registry.current() == "python_ref":
        pytest.skip("there are no compiled kernels to lend: it would learn for hours")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, compiled: None) -> None:
    """Few digits that tutor draws, and no existing check: both are tested for ours."""
    monkeypatch.setattr(data, "load", lambda name, limit: drawn())
    monkeypatch.setattr(capstone, "pieces", list)


def marked(folder: Path, text: str, goal: Goal = SMALL) -> Board:
    file = folder / "tutor200.py"
    file.write_text(text)
    return scoreboard(file, goal)


def changed(*pairs: str) -> str:
    """Ours, with words exchanged."""
    text = OURS
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# ---- what is counted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0, 0)),
        ("x = 1\n", (1, 3)),
        ("# nothing\n\nx = 1  # one", (1, 3)),
        ("x = (1 +\n     2)\n", (1, 7)),
        ("x = 1; y = 2\n", (1, 7)),
        ('"""A file."""\n\nx = 1\n', (1, 3)),
        ('def f():\n    """A\n    function."""\n    return 1\n', (2, 7)),
        ('x = """no\ndocstring"""\n', (1, 3)),
        ("f('a', 'b')\n", (1, 6)),
        ('x = f"{y} and {z}"\n', (1, 3)),  # on every Python, though it is read in other ways
        ('f(f"{a}{f(b)}", 1)\n', (1, 6)),
    ],
)
def test_what_is_counted(text: str, expected: tuple[int, int]) -> None:
    assert capstone.size(text) == expected


def test_ours_is_as_long_as_it_may_be() -> None:
    lines, tokens = capstone.size(OURS)
    assert lines <= capstone.LINES and tokens <= capstone.TOKENS


# ---- ours ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("compiled")
def test_ours_passes_and_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the command, on all of MNIST, or on tutor's own digits where there is no MNIST."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(CHAPTER.parents[1]))
    Path("tutor200.py").write_text(OURS)
    code = main(["check", "18", "tutor200.py"])
    text = capfd.readouterr().out
    assert code == 0 and text.rstrip().endswith("18 passed: tutor200.py"), text
    assert "gradients   6 of 6" in text
    assert "checks      17 of 102 existing checks" in text
    assert "Ours passes 17 of these 102" in CHAPTER.read_text("utf-8")
    assert record.state(capstone.ID).passed


def test_without_a_file_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "18"]) != 0
    assert "begin a blank tutor200.py" in "".join(capsys.readouterr())
    assert not record.state(capstone.ID).tries


def test_a_file_that_never_ends_is_stopped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tutor200.py"
    file.write_text("while True:\n    pass\n")
    assert capstone.mark(str(file), seconds=3.0) == 1
    assert "18 timeout" in capfd.readouterr().out


# ---- right ones in other styles ------------------------------------------------------------------

LOOP = "    order, seen, waiting = [], set(), [(root, False)]\n"
RIGHT = {
    "as ours": OURS,
    "without momentum": changed(
        "(model.parameters(), lr, momentum=0.9)", "(model.parameters(), 5 * lr)"
    ),
    "the graph by recursion": OURS[: OURS.index(LOOP)] + """\
    order = []

    def visit(t):
        if t not in order:
            for x in t.op.inputs if t.op else ():
                if x.requires_grad:
                    visit(x)
            order.append(t)

    visit(root)
    return order[::-1]


""" + OURS[OURS.index("def fit(") :],
    "other names": OURS.replace("topological", "sorted_graph").replace("SGD", "Descent")
    .replace("MLP", "Net").replace("Linear", "Layer").replace("reshape", "refold"),
}  # fmt: skip


@pytest.mark.parametrize("style", RIGHT)
@pytest.mark.usefixtures("small")
def test_right_ones_pass(tmp_path: Path, style: str) -> None:
    board = marked(tmp_path, RIGHT[style])
    assert not board.faults and board.rows["gradients"] == "6 of 6", board.text


@pytest.mark.usefixtures("small")
def test_a_library_of_closures_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is called or made as in ours, and it borrows no kernel."""
    text = (Path(__file__).parent / "capstones/closures.py").read_text("utf-8")
    few = drawn()
    some = few._replace(train_images=few.train_images[:600], train_labels=few.train_labels[:600])
    monkeypatch.setattr(data, "load", lambda name, limit: some)
    board = marked(tmp_path, text, Goal(share=0.5))
    assert not board.faults, board.text


# ---- wrong ones ----------------------------------------------------------------------------------

WRONG = {
    "a line too many": (OURS + "\n\nx = 1\n", "1 lines less"),
    "statements in one line": (
        changed("import math\nimport random\n", "import math; import random\n"), "tokens less",
    ),
    "a long line": (
        changed("FORMATS = {", "FORMATS = {" + " " * 80), "characters: 100 at most",
    ),
    "weights in a string": (
        changed('"""Where the elements are, row by row."""', "found = '''" + "0\n" * 150 + "'''"),
        "weights are learned",
    ),
    "NumPy": (changed("import struct\n", "import numpy\n"), "imports numpy"),
    "tutor itself": (
        changed("from course.lent import kernels", "from tutor import Tensor as kernels"),
        "imports tutor",
    ),
    "the course's own pieces": (
        changed("from course.lent import kernels", "from course.library import ours as kernels"),
        "imports course.library",
    ),
    "a text that is run": (changed("import struct\n", "exec('import struct')\n"), "exec"),
    "another process": (changed("import struct\n", "import subprocess\n"), "subprocess"),
    "no Python": (changed("import struct\n", "import struct struct\n"), "not Python"),
    "raises": (changed("import struct\n", "import struct; 1 / 0\n"), ""),
    "no Tensor": (OURS.replace("Tensor", "Array"), "define `Tensor`"),
    "no learn": (changed("def learn(", "def teach("), "define `learn`"),
    "the factors of a product exchanged": (
        changed("lambda g, x, y: (g * y, g * x)", "lambda g, x, y: (g * x, g * y)"),
        "the gradient of",
    ),
    "broadcasting is not undone": (
        changed("return g if g.shape == x.shape else", "return g if g.shape else"),
        "of another shape",
    ),
    "the last share only": (
        changed("arrived[id(x)] + share if id(x) in arrived else share", "share"),
        "used three times",
    ),
    "relu lets all gradients through": (
        changed('lambda g, x: (Step(g, x).apply(),), "relu"', 'lambda g, x: (g,), "relu"'),
        ".relu()",
    ),
    "it does not learn": (
        changed("            optimizer.step()\n", "            optimizer.v\n"),
        "read better",
    ),
    "it gives the answers and no function": (changed("    return read\n", "    return labels\n"),
                                             "gives a function"),
    "one answer for all": (
        changed("return [row.index(max(row)) for row in rows]", "return [7 for row in rows[:1]]"),
        "answers to",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", WRONG)
@pytest.mark.usefixtures("small")
def test_wrong_ones_do_not_pass(tmp_path: Path, why: str) -> None:
    text, words = WRONG[why]
    board = marked(tmp_path, text)
    assert board.faults and words in board.text, board.text
    assert board.text.endswith("18 wrong: tutor200.py")
