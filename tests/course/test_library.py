"""The learner's own library: how it is put together, kept in files, and gone on with."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import two_chapters as small

from course import check, keep, standing
from course.library import disk, load, ours, parts, saving, session, source
from course.library.answers import taken
from course.library.compose import Own, compose
from course.library.source import split
from tutor.errors import DataError

ROOT = Path(__file__).parents[2]
STRIDES = """
# From the back.
def strides_for(shape):  # mine
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


print(strides_for((2, 3)))
"""
OTHER = "def strides_for(shape):\n    return () if not shape else (*strides_for_(shape),)\n"
OTHER += (
    "def strides_for_(shape):\n    return [math.prod(shape[i+1:]) for i in range(len(shape))]\n"
)
TOTAL = "def total(grid):\n    t = 0.0\n    for x in grid.numbers:\n        t += x\n    return t\n"
MEAN = "def mean(grid):\n    return grid.sum() / grid.count()\n"
ALL = {"96.1": STRIDES, "96.3": TOTAL, "97.1": MEAN}


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The small chapters, and a folder of our own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUTOR_PROGRESS", raising=False)
    with small.used():
        yield tmp_path


def text(file: str = "tensor") -> str:
    return Path(f"my_tutor/{file}.py").read_text()


def change(old: str, new: str, file: str = "tensor") -> None:
    """Edit a file of the library by hand."""
    before = text(file)
    assert before.count(old) == 1, before
    Path(f"my_tutor/{file}.py").write_text(before.replace(old, new))


def begun(chapter: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What begin says."""
    capsys.readouterr()
    session.begin(chapter)
    return capsys.readouterr().out


# ---- composing -----------------------------------------------------------------------------------


def test_our_library_after_a_chapter() -> None:
    first, second = ours(96), ours("97")
    assert first.__all__ == ["LETTERS", "Grid", "count", "row", "strides_for", "total"]
    assert second.__all__ == [*first.__all__[:3], "mean", "row", "spread", "strides_for", "total"]
    assert second.mean(second.Grid([1.0, 2.0], (2,))) == 1.5
    assert first.Grid is not second.Grid and ours("96") is first
    assert second.Grid.__module__ == "ours_97.tensor"
    with pytest.raises(DataError, match="there are 96, 97"):
        ours(3)


def test_the_library_of_an_answer() -> None:
    names = small.work("96", ALL)
    first = ours(96)
    assert load.of(names["Grid"], "row", default=first) is first, "a class of no module at hand"
    small.work("97", ALL)
    package = sys.modules["my_tutor"]
    assert load.of(package.total, "Grid", default=first) is package, "and not my_tutor.ops"
    assert load.of(package.Grid, "Grid", "row", default=first) is package
    assert load.of(package.Grid, "Grid", "nothing", default=first) is first
    small.cell("def mean(grid): ...", names | {"Grid": package.Grid})
    space = {"__name__": "__main__", "Grid": package.Grid}
    small.cell("def mean(grid): ...", space)
    assert load.of(space["mean"], "Grid", "row", default=first) is package


def test_names_are_imported_from_earlier_files_and_handed_over_from_later_ones() -> None:
    texts = compose(parts.parts()).texts()
    assert list(texts) == ["buffer", "tensor", "ops", "nn", "__init__"]
    assert "from .buffer import row\n" in texts["tensor"]
    assert "import math\nfrom functools import reduce\n\nfrom .tensor import Grid" in texts["ops"]
    assert "total" not in texts["tensor"].partition("# ----")[0]
    assert "tensor.total = ops.total\n" in texts["__init__"]
    assert "import array\n" in texts["buffer"], "the import is kept with what uses it"


def test_the_linter_has_nothing_to_say(own: Path) -> None:
    small.work("96", {"96.1": STRIDES})
    small.work("97", {"97.1": MEAN})
    (own / "ours").mkdir()
    for file, code in compose(parts.parts()).texts().items():
        (own / "ours" / f"{file}.py").write_text(code)
    ruff = [sys.executable, "-m", "ruff"]
    settings = ["--isolated", "--no-cache", "--line-length", "100", "."]
    for command in (["format", "--diff"], ["check", "--diff", "--select", "I,F401,F811,E,W"]):
        done = subprocess.run(
            [*ruff, *command, *settings], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_names_are_sorted_as_the_linter_has_them() -> None:
    names = ["Reduce", "ReLU", "Op10", "Op9", "SIZES", "x", "Add", "_y"]
    assert sorted(names, key=source.rank) == [
        *("SIZES", "Add", "Op9", "Op10", "Reduce", "ReLU", "_y", "x")
    ]


def part(key: str, text: str, answer: str = "", file: str = "tensor") -> parts.Part:
    imports, statements = split(text)
    return parts.Part(key, key[:2], file, text, tuple(statements), tuple(imports), (), answer)


def test_a_file_may_have_the_name_of_something_that_stands_in_it() -> None:
    """As `engine` is an Engine in its file. What a file hands over is the file's all the same."""
    found = parts.parts()
    place = next(n for n, part in enumerate(found) if part.file == "ops" and not part.answer)
    text = f"{found[place].text.rstrip()}\n\n\nops = 3\n"
    found[place] = replace(found[place], text=text, statements=tuple(split(text)[1]))
    package = load.load(compose(found).texts(), "clash")
    assert package.ops == 3 and package.tensor.total is package.total


def test_a_later_piece_stands_where_the_first_of_its_name_stood() -> None:
    library = compose(
        [
            part("01.1", "class A:\n    n = 1", "A", "buffer"),
            part("01 given buffer 1", "a = A()", "", "buffer"),
            part("02.1", "class A:\n    n = 2", "A", "ops"),
        ]
    )
    assert list(library.regions) == ["buffer"]
    assert [region.key for region in library.regions["buffer"]] == ["02.1", "01 given buffer 1"]
    assert load.load(library.texts(), "trial").a.n == 2


def test_a_piece_replaces_a_given_definition_and_leaves_its_neighbours() -> None:
    given = "import math\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return f()\n\n\nh = g()"
    library = compose(
        [part("01 given tensor 1", given), part("02.1", "def f():\n    return 2", "f")]
    )
    (first, second) = library.regions["tensor"]
    assert "def f" not in first.text and "def g" in first.text and second.key == "02.1"


def test_a_class_that_extends_itself_stays_beside_the_first() -> None:
    library = compose(
        [
            part("01.1", "class A:\n    n = 1", "A"),
            part("02.1", "class A(A):\n    m = 2", "A"),
        ]
    )
    made = load.load(library.texts(), "trial").A
    assert (made.n, made.m) == (1, 2)


def test_what_does_not_load_is_named_with_its_line() -> None:
    with pytest.raises(load.LoadError, match=r"line 6 of tensor: NameError: name .nothing."):
        load.load(compose([part("01 given tensor 1", "x = nothing")]).texts(), "trial")
    assert "trial" not in sys.modules
    good = load.load(compose([part("01 given tensor 1", "x = 1")]).texts(), "trial")
    with pytest.raises(load.LoadError):
        load.load(compose([part("01 given tensor 1", "x = nothing")]).texts(), "trial")
    assert sys.modules["trial"] is good, "what was there stays there"


@pytest.mark.parametrize(
    ("tag", "stub", "words"),
    [
        ("keep-nowhere", "x = 1", "the files are .*buffer, tensor"),
        ("keep-ops", "%time x", "plain Python"),
        ("exercise-96.1", "def other(shape): ...", "both must define it"),
    ],
)
def test_a_cell_that_cannot_be_kept(tag: str, stub: str, words: str, own: Path) -> None:
    from course import notebooks

    tags = [tag, "keep-ops"] if tag.startswith("exercise") else [tag]
    cells = [{"cell_type": "code", "source": stub, "metadata": {"tags": tags}}]
    path = own / "96_x.ipynb"
    path.write_text(notebooks.text(notebooks.normalise({"cells": cells}, "96")))
    with pytest.raises(DataError, match=words):
        parts.of_chapter("96", path, 0)


# ---- working through the chapters ----------------------------------------------------------------


def test_a_chapter_begins_with_what_is_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    small.work("96", ALL)
    out = capsys.readouterr().out
    assert "96.1 exact: Strides" in out and "it stands in my_tutor/tensor.py" in out
    assert "96.1: going on with yours" in out and "96.2: going on with ours" in out
    names = small.work("97", ALL)
    out = capsys.readouterr().out
    assert out.startswith("2 of 2 pieces of your library are yours\n")
    assert "t += x" in text("ops") and names["total"].__module__ == "my_tutor.ops"
    assert names["total"].__code__.co_filename == str(Path("my_tutor/ops.py").absolute())
    assert names["mean"](names["Grid"]([1.0, 4.0], (2,))) == 2.5


def test_chapters_that_were_left_out_are_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    said = "0 of 2 pieces of your library are yours; ours until yours pass: all of chapter 96\n"
    assert begun("97", capsys) == said


def test_what_is_not_done_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    small.work("96", {"96.3": TOTAL})
    names = small.work("97")
    out = capsys.readouterr().out
    assert "1 of 2 pieces of your library are yours; ours until yours pass: 96.1\n" in out
    assert "# ---- 96.1, ours until yours passes\n" in text()
    assert names["strides_for"]((2, 3)) == (3, 1)


def test_the_file_reads_like_a_library() -> None:
    small.work("96", ALL)
    assert text() == (
        '"""Tensors: numbers in a Buffer, and how they are walked."""\n\n'
        "import math\n\nfrom .buffer import row\n\n"
        "# ---- 96.1, yours\n\n\n"
        "# From the back.\n"
        "def strides_for(shape):  # mine\n"
        "    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))\n\n\n"
        "# ---- chapter 96, given\n\n\n"
        "class Grid:\n"
        '    """Numbers, and how they are walked."""\n\n'
        "    def __init__(self, numbers, shape):\n"
        "        self.numbers, self.shape, self.strides = row(numbers), shape, strides_for(shape)\n"
        "\n    def sum(self):\n        return total(self)\n"
    )


def test_only_what_is_begun_stands_there() -> None:
    """Of the chapter that one works on: what passed, what is given before that, what it needs."""
    small.work("96", ALL, upto="check-96.1")
    assert "class Grid" not in text() and "def row" in text("buffer")
    assert not Path("my_tutor/ops.py").exists()
    small.work("96", ALL, upto="check-96.3")
    assert "class Grid" in text() and "def count" not in text("ops")
    small.work("97")
    assert "def count" in text("ops") and "mean" not in text("ops")


def test_a_piece_that_was_passed_over_is_there_if_a_later_one_needs_it() -> None:
    mine = "def total(grid):\n    return sum_of(grid, strides_for(grid.shape))\n\n\n"
    mine += "def sum_of(grid, strides):\n    t = 0.0\n    for x in grid.numbers:\n        t += x\n"
    small.work("96", {"96.3": mine + "    return t\n"}, upto="check-96.3")
    assert "# ---- 96.1, ours until yours passes" in text()
    assert "from .tensor import strides_for" in text("ops") and "def sum_of" in text("ops")


def test_going_back_to_an_earlier_chapter_leaves_the_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small.work("96", ALL)
    small.work("97", ALL)
    before = text("ops")
    assert "library is empty yet" in begun("96", capsys)
    assert sys.modules["my_tutor"].__all__ == [] and text("ops") == before
    begun("97", capsys)
    assert "total" in sys.modules["my_tutor"].__all__


def test_the_files_are_a_package_that_runs_without_the_course(own: Path) -> None:
    small.work("96", ALL)
    small.work("97", ALL)
    code = "import my_tutor as m; print(m.mean(m.Grid([1.0, 4.0], (2,))), sorted(m.__all__))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(own)!r}); {code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("2.5 ['Grid', 'LETTERS', 'count', 'mean'"), done.stderr


def test_ours_that_went_on_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    names = small.work("96", upto="question-96.q1")
    for id, name in (("96.1", "strides_for"), ("96.2", "guess"), ("96.3", "total")):
        verdict = check(id, names[name])
        assert verdict.kind == "unsolved" and "this is ours" in verdict.text
    earlier = names["strides_for"]
    small.cell("go_on('96.1')", names)
    assert names["strides_for"] is not earlier
    assert "this is ours" in check("96.1", earlier).text, "ours of a cell that ran before"
    assert not Path("progress.txt").exists()
    small.cell(STRIDES, names)
    assert check("96.1", names["strides_for"]).passed


def test_go_on_leaves_a_wrong_answer_behind(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def strides_for(shape):\n    return shape\n"
    names = small.work("96", {"96.1": wrong}, upto="exercise-96.3")
    assert "96.1: going on with ours until yours passes" in capsys.readouterr().out
    assert names["strides_for"]((2, 3)) == (3, 1)
    assert "tries=1" in Path("progress.txt").read_text()


def test_go_on_takes_what_stands_in_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    """A notebook begun anew, or an answer that was checked in a file."""
    small.work("96", {"96.1": HELPERS})
    standing.PASSED.clear()
    capsys.readouterr()
    names = small.work("96", upto="exercise-96.3")
    out = capsys.readouterr().out
    assert "96.1: going on with yours, as it stands in my_tutor/tensor.py\n" in out
    assert names["strides_for"].seen and names["strides_for"]((2, 3)) == (3, 1)
    change("back[-2::-1]", "back[::-1]")
    names = small.work("96", upto="exercise-96.3")
    assert "96.1: going on with ours until yours passes\n" in capsys.readouterr().out
    assert names["strides_for"]((2, 3)) == (3, 1)


def test_go_on_does_not_judge_again_what_has_just_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = small.work("96", ALL, upto="check-96.1")
    monkeypatch.setattr("course.library.session.judged", lambda *_: pytest.fail("it has passed"))
    small.cell('go_on("96.1")', names)


def test_go_on_without_a_check_saves_what_passes() -> None:
    names = small.work("96", upto="exercise-96.1")
    small.cell(STRIDES, names)
    small.cell('go_on("96.1")', names)
    assert "# ---- 96.1, yours" in text() and "96.1 passed" in Path("progress.txt").read_text()


# ---- what is saved -------------------------------------------------------------------------------

HELPERS = """
import math
from itertools import accumulate as running

EMPTY = ()
TABLE = {}
for n in range(3):
    TABLE[n] = n
note = "of no use"


def unused():
    return note


def check_all(f):
    assert f((2,)) == (1,)


# Products from the back.
def strides_for(shape):
    back = list(running(reversed(shape), times, initial=1))
    return tuple(back[-2::-1]) if shape else EMPTY


def times(x, y):
    return math.prod((x, y)) if TABLE[2] else 0


strides_for.seen = TABLE
check_all(strides_for)
"""


def test_saved_is_the_definition_and_what_it_uses() -> None:
    small.work("96", {"96.1": HELPERS}, upto="check-96.1")
    found = text()
    for words in ("EMPTY = ()", "TABLE[n] = n", "# Products from", "def times", ".seen = TABLE"):
        assert words in found, words
    for words in ("unused", "check_all", "of no use"):
        assert words not in found
    assert "import math\nfrom itertools import accumulate as running\n" in found


SHAPES = {
    "a lambda": "strides_for = lambda s: tuple(math.prod(s[i + 1 :]) for i in range(len(s)))",
    "cached": "import functools\n@functools.cache\ndef strides_for(s):\n"
    "    return tuple(math.prod(s[i + 1 :]) for i in range(len(s)))",
    "decorated": "def plain(f):\n    return f\n@plain\ndef strides_for(s):\n"
    "    return tuple(math.prod(s[i + 1 :]) for i in range(len(s)))",
    "partial": "from functools import partial\ndef steps(n, s):\n"
    "    return tuple(math.prod(s[i + n :]) for i in range(len(s)))\n"
    "strides_for = partial(steps, 1)",
    "a class": "class strides_for(tuple):\n    def __new__(cls, s):\n"
    "        return tuple(math.prod(s[i + 1 :]) for i in range(len(s)))",
}


@pytest.mark.parametrize("answer", SHAPES.values(), ids=SHAPES)
def test_answers_of_all_shapes_are_saved(answer: str) -> None:
    small.work("96", {"96.1": answer}, upto="check-96.1")
    assert answer.splitlines()[-1] in text(), "# ---- 96.1, yours"
    assert small.work("97")["strides_for"]((2, 3)) == (3, 1)


def test_a_class_without_functions_has_its_text_at_hand() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    small.cell("class Two:\n    n = 1", names)
    small.cell("class Two:\n    n = 2\n    m = math.sep", names | {"math": os})
    small.cell("from dataclasses import dataclass\n@dataclass\nclass Three:\n    n: int = 3", names)
    assert "n = 2" in taken(names["Two"], "Two", set()).text
    assert "@dataclass\nclass Three" in taken(names["Three"], "Three", set()).text
    assert (
        taken(3, "n", set()).trouble
        == taken([1], "Two", set()).trouble
        == "its text is not at hand"
    )


def test_of_a_function_that_is_defined_twice_the_last_is_saved() -> None:
    small.work("96", {"96.1": f"def strides_for(s):\n    return 'a draft'\n\n\n{STRIDES}"})
    assert "a draft" not in text() and "# mine" in text()


REFUSED = {
    "a helper of another cell": (
        "def strides_for(shape):\n    return helper(shape)\n",
        "it uses `helper`, which neither its cell nor the library has",
    ),
    "a helper named like a part of the library": (
        "def count(s):\n    return s\ndef strides_for(shape):\n    return helper(count(shape))\n"
        "def helper(s):\n    return tuple(math.prod(s[i + 1 :]) for i in range(len(s)))\n",
        "its `count` has the name of something in the library (chapter 96)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_stand_in_the_library_passes_and_says_why(answer: str, words: str) -> None:
    names = small.work("96", upto="exercise-96.1")
    small.cell("def helper(s): return tuple(math.prod(s[i+1:]) for i in range(len(s)))", names)
    small.cell(answer, names)
    verdict = check("96.1", names["strides_for"])
    assert verdict.passed and words in verdict.text, verdict.text
    assert not Path("my_tutor/tensor.py").exists()


def test_an_answer_whose_text_is_not_at_hand_passes() -> None:
    names: dict[str, Any] = {}
    exec("def strides_for(s):\n    return tuple(6 // s[0] for _ in s)", names)
    assert "not at hand" in saving.save("96.1", names["strides_for"])[0]
    assert saving.save("96.2", [6]) == [], "adds nothing to the library"


def test_an_answer_from_a_file(own: Path) -> None:
    (own / "mine.py").write_text(f"import math\n{STRIDES}")
    names: dict[str, Any] = {"__name__": "answers"}
    exec(compile((own / "mine.py").read_text(), str(own / "mine.py"), "exec"), names)
    assert "it stands in my_tutor/tensor.py" in check("96.1", names["strides_for"]).text
    assert "import math" in text() and "print" not in text()


# ---- on disk -------------------------------------------------------------------------------------


def test_another_answer_does_not_overwrite(capsys: pytest.CaptureFixture[str]) -> None:
    names = small.work("96", ALL, upto="check-96.1")
    small.cell(OTHER, names)
    verdict = check("96.1", names["strides_for"])
    assert verdict.passed and 'keep("96.1") takes this one' in verdict.text
    assert "# mine" in text() and "strides_for_" not in text()
    keep("96.1")
    assert "strides_for_" in text() and "# mine" not in text()
    versions = [path.read_text() for path in disk.versions(Path("my_tutor"), "96.1")]
    assert len(versions) >= 2 and any("# mine" in version for version in versions)
    assert "96.1: it stands in my_tutor/tensor.py" in capsys.readouterr().out


def test_a_version_that_keep_replaces_is_in_the_history() -> None:
    names = small.work("96", ALL, upto="check-96.1")
    change("# mine", "# by hand, and nobody has seen it")
    small.cell(OTHER, names)
    check("96.1", names["strides_for"])
    keep("96.1")
    versions = [path.read_text() for path in disk.versions(Path("my_tutor"), "96.1")]
    assert any("nobody has seen it" in version for version in versions)
    assert "strides_for_" in versions[-1] and "strides_for_" in text()
    keep("96.1")
    assert "strides_for_" in text(), "the latest stays the latest"


def test_the_same_answer_again_says_nothing_and_changes_nothing() -> None:
    names = small.work("96", ALL, upto="check-96.1")
    before = text()
    small.cell(STRIDES, names)
    assert "my_tutor" not in check("96.1", names["strides_for"]).text
    assert text() == before and len(disk.versions(Path("my_tutor"), "96.1")) == 1


def test_a_piece_edited_by_hand_is_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    small.work("96", ALL)
    change("    return tuple(math", "    # by hand\n    assert 1\n    return tuple(math")
    names = small.work("97", ALL)
    assert "# by hand" in text() and "2 of 2 pieces" in capsys.readouterr().out
    assert names["strides_for"].__code__.co_firstlineno == text().splitlines().index(
        "def strides_for(shape):  # mine"
    ) + 1  # fmt: skip
    import inspect

    assert "assert 1" in inspect.getsource(names["strides_for"])
    small.work("96", ALL)
    assert "# by hand" in text(), "nothing overwrites it"
    versions = [path.read_text() for path in disk.versions(Path("my_tutor"), "96.1")]
    assert any("by hand" in version for version in versions), "what passed is in the history"


def test_ours_edited_by_hand_is_theirs() -> None:
    small.work("96")
    small.work("97")
    change("strides, step = [], 1", "strides, step = [], 1  # so?")
    small.work("97")
    assert "# so?" in text() and "# ---- 96.1, yours" in text()


def test_what_is_given_and_edited_stays_as_it_is() -> None:
    small.work("96", ALL)
    change("        return total(self)", "        return total(self) + 0.0")
    names = small.work("97", ALL)
    assert "+ 0.0" in text() and "# ---- chapter 96, given, changed by you\n" in text()
    assert "+ 0.0" in __import__("inspect").getsource(names["Grid"])


ADDED = "\n\ndef mine(x):\n    return os.fspath(x)\n"


@pytest.mark.parametrize("mark", ["# ---- 96.1, yours", "# ---- chapter 96, given", "", "import"])
def test_text_that_was_added_is_kept(mark: str) -> None:
    small.work("96", ALL)
    if mark == "import":
        change("import math\n", "import math\nimport os\n\nLIMIT = os.sep\n# my own\n")
    elif mark:
        end = "range(len(shape)))\n" if "yours" in mark else "return total(self)\n"
        change(end, end + ADDED)
        change("import math\n", "import math\nimport os\n")
    else:
        change('how they are walked."""\n\nimport', 'walked. By me."""\n\nimport')
    for _ in range(2):
        names = small.work("97", {"97.1": MEAN})
        for words in {"import": ["LIMIT = os.sep", "# my own"], "": ["walked. By me."]}.get(
            mark, ["def mine(x):", "import os"]
        ):
            assert text().count(words) == 1, text()
    assert mark in ("", "import") or names["mine"]("x") == "x"
    if mark == "import":
        assert os.sep == sys.modules["my_tutor.tensor"].LIMIT


def test_added_text_stays_when_the_piece_above_it_is_replaced() -> None:
    small.work("96", {"96.3": TOTAL})
    small.work("97")
    change("return tuple(reversed(strides))\n", "return tuple(reversed(strides))\n\n\nMORE = 1\n")
    small.work("96", ALL, upto="check-96.1")
    assert "# mine" in text() and "MORE = 1" in text() and "# ---- 96.1, yours" in text()


def test_a_mark_that_was_taken_out(capsys: pytest.CaptureFixture[str]) -> None:
    small.work("96", ALL)
    change("# ---- 96.1, yours\n", "")
    assert begun("97", capsys) == "2 of 2 pieces of your library are yours\n"
    assert text().count("def strides_for(") == 1 and "# mine" in text()


def test_a_region_that_was_taken_out_comes_back_from_the_history() -> None:
    small.work("96", ALL)
    start, end = text().index("# ---- 96.1"), text().index("# ---- chapter 96")
    Path("my_tutor/tensor.py").write_text(text()[:start] + text()[end:])
    small.work("97", ALL)
    assert "# mine" in text()
    Path("my_tutor/tensor.py").unlink()
    small.work("97", ALL)
    assert "# mine" in text()


def test_a_piece_that_stopped_passing_is_left_out_and_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small.work("96", ALL)
    change("shape[i + 1 :]", "shape[i:]")
    out = begun("97", capsys)
    assert out.startswith("1 of 2 pieces of your library are yours")
    assert "96.1, which is yours, is left out, and ours goes on in its place: it was changed" in out
    assert "wrong, called:" in out
    assert sys.modules["my_tutor"].strides_for((2, 3)) == (3, 1)
    assert "shape[i:]" in text(), "theirs is left as it is"
    change("shape[i:]", "shape[i + 1 :]")
    assert begun("97", capsys) == "2 of 2 pieces of your library are yours\n"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("return tuple(math", "return tuple(math("),
        ("def strides_for(shape):  # mine", "1 / 0\n\n\ndef strides_for(shape):  # mine"),
        ("def strides_for(shape):  # mine", "def strides(shape):  # mine"),
    ],
)
def test_a_piece_that_cannot_run_is_left_out(
    edit: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    small.work("96", ALL)
    change(edit, words)
    for _ in range(2):
        out = begun("97", capsys)
        assert "96.1, which is yours, is left out" in out, out
        assert out.startswith("1 of 2 pieces") and "96.3, which" not in out
        assert sys.modules["my_tutor"].strides_for((2, 3)) == (3, 1)
        assert words.splitlines()[0] in text()


def test_a_file_with_a_broken_head_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    small.work("96", ALL)
    change("import math\n", "import math as\n")
    before = text()
    out = begun("97", capsys)
    assert "my_tutor/tensor.py is left alone: line" in out and text() == before


@pytest.mark.parametrize("notes", ["", "[]", "{", '{"regions": 3, "heads": [], "begun": 7}', None])
def test_notes_that_are_gone_or_damaged(notes: str | None) -> None:
    small.work("96", {"96.1": STRIDES})
    small.work("97")
    change("# mine", "# still mine")
    if notes is None:
        Path("my_tutor/.pieces.json").unlink()
    else:
        Path("my_tutor/.pieces.json").write_text(notes)
    small.work("97")
    assert "# still mine" in text() and "# ---- 96.1, yours" in text()
    assert "# ---- 96.3, ours until yours passes" in text("ops")
    assert "changed by you" not in text() + text("ops")


def test_what_stands_at_the_end_of_the_package_is_kept() -> None:
    small.work("96", ALL)
    path = Path("my_tutor/__init__.py")
    path.write_text(path.read_text() + "version = 3\n")
    small.work("97", ALL)
    assert path.read_text().endswith(f"{disk.YOURS}\nversion = 3\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_cannot_be_written_to(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.chmod(0o555)
    try:
        assert "your library is not saved" in begun("96", capsys)
    finally:
        own.chmod(0o755)


@pytest.mark.parametrize("kind", ["a file", "a file in a folder"])
def test_a_place_that_is_taken(kind: str, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then it is not saved, which is said, and the chapter can be worked through all the same."""
    if kind == "a file":
        (own / "my_tutor").write_text("of somebody else")
    else:
        (own / "my_tutor" / "tensor.py").mkdir(parents=True)
    names = small.work("96", ALL)
    out = capsys.readouterr().out
    assert "not saved in your library" in out and "96.1 exact" in out
    names = small.work("97", ALL)
    assert names["mean"](names["Grid"]([1.0, 4.0], (2,))) == 2.5
    if kind == "a file":
        assert (own / "my_tutor").read_text() == "of somebody else"


def test_a_folder_that_is_read_only(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small.work("96", {"96.1": STRIDES})
    before = {path: path.read_text() for path in Path("my_tutor").glob("*.py")}
    monkeypatch.setattr(disk.record, "replace_file", lambda path, text: "Read-only file system")
    capsys.readouterr()
    small.work("96", ALL)
    names = small.work("97", ALL)
    out = capsys.readouterr().out
    assert "96.3 exact" in out and "not saved in your library" in out
    assert "2 of 2 pieces of your library are yours" in out, "for as long as Python runs"
    assert "Read-only file system" in out and "Traceback" not in out
    assert names["mean"](names["Grid"]([1.0, 4.0], (2,))) == 2.5
    assert {path: path.read_text() for path in Path("my_tutor").glob("*.py")} == before


def test_in_a_kernel(own: Path) -> None:
    """Cells of Jupyter have their text at hand, and `begin` finds the notebook's folder."""
    nbclient = pytest.importorskip("nbclient", reason="not installed")
    nbformat = pytest.importorskip("nbformat", reason="not installed")
    from course import notebooks

    start = f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
    start += "import two_chapters as small\nused = small.used()\nused.__enter__()"
    out = ""
    for path in notebooks.chapters().values():
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            for tag in cell.metadata.get("tags", []):
                cell.source = ALL.get(tag.removeprefix("exercise-"), cell.source)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(start))
        nbclient.NotebookClient(
            notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(own)}}
        ).execute()
        outputs = [o for c in notebook.cells for o in c.get("outputs", [])]
        out += "".join(output.get("text", "") for output in outputs)
    assert "2 of 2 pieces of your library are yours" in out and "97.1 exact" in out
    assert "# mine" in text() and "def mean" in text("ops")


def test_a_file_is_never_half_written(monkeypatch: pytest.MonkeyPatch) -> None:
    small.work("96", {"96.1": STRIDES})
    before = text()

    def replace(old: str, new: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk.record.os, "replace", replace)
    names = small.work("96", {"96.1": OTHER}, upto="check-96.1")
    keep("96.1")
    small.cell(TOTAL, names)
    assert "No space left on device" in check("96.3", names["total"]).text
    assert text() == before
    assert sorted(path.name for path in Path("my_tutor").glob("*.py*")) == [
        *("__init__.py", "buffer.py", "tensor.py", "test_my_tutor.py")
    ]


def test_who_writes_waits_for_who_is_writing() -> None:
    small.work("96", {"96.1": STRIDES})
    names = small.work("96", upto="exercise-96.3")
    small.cell(TOTAL, names)
    thread = threading.Thread(target=saving.save, args=("96.3", names["total"]))
    with disk.alone(Path("my_tutor")):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive() and not Path("my_tutor/ops.py").exists()
    thread.join(20)
    assert "t += x" in text("ops")


TWO = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
import two_chapters as small
with small.used():
    for _ in range(5):
        small.work({chapter!r}, {answers!r})
"""


def test_two_kernels_at_once_lose_nothing(own: Path) -> None:
    small.work("96")
    jobs = []
    for chapter, answers in (("96", {"96.1": STRIDES}), ("96", {"96.3": TOTAL}), ("97", ALL)):
        code = TWO.format(
            root=str(ROOT), here=str(Path(__file__).parent), chapter=chapter, answers=answers
        )
        jobs.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL))
    assert [job.wait(60) for job in jobs] == [0, 0, 0]
    assert "# mine" in text() and "t += x" in text("ops") and "grid.sum()" in text("ops")
    notes = json.loads(Path("my_tutor/.pieces.json").read_text())
    assert {key for key, about in notes["regions"].items() if about["whose"] == "yours"} == {
        *("96.1", "96.3", "97.1")
    }


# ---- its tests ---------------------------------------------------------------------------------


def run_tests(own: Path) -> tuple[int, str]:
    """What pytest says of my_tutor; with the small chapters, as this process has."""
    here = Path(__file__).parent
    (own / "conftest.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(here)!r}]\nimport two_chapters as small\n"
        "used = small.used()\nused.__enter__()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "my_tutor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=own)
    return done.returncode, done.stdout


def test_the_tests_of_the_library_run_every_check(own: Path) -> None:
    small.work("96", {"96.1": STRIDES})
    small.work("97", {"97.1": MEAN})
    code, out = run_tests(own)
    assert code == 0 and "2 passed, 1 skipped" in out, out
    change("shape[i + 1 :]", "shape[i:]")
    code, out = run_tests(own)
    assert code == 1 and "96.1 wrong: Strides" in out and "1 failed, 1 passed, 1 skipped" in out


def test_tests_that_were_changed_are_left_alone() -> None:
    small.work("96")
    path = Path("my_tutor/test_my_tutor.py")
    assert "def test_a_piece_passes" in path.read_text()
    path.write_text("mine = 1\n")
    small.work("97", ALL)
    assert path.read_text() == "mine = 1\n"


def test_files_are_readable_by_whom_the_umask_lets() -> None:
    before = os.umask(0o022)
    try:
        small.work("96", ALL)
    finally:
        os.umask(before)
    assert Path("my_tutor/tensor.py").stat().st_mode & 0o777 == 0o644


# ---- blame ---------------------------------------------------------------------------------------

LATE = (
    "def strides_for(shape):\n    return tuple(math.prod(shape[i+1:]) for i in range(len(shape)))"
)
BREAKS = "    if len(grid.numbers) == 3:\n        return 0.0\n"  # its check would find that


def test_a_right_answer_that_an_earlier_piece_breaks() -> None:
    small.work("96", ALL)
    names = small.work("97", upto="exercise-97.1")
    change("    t = 0.0\n", f"    t = 0.0\n{BREAKS}", "ops")
    found = saving.shelf().own["96.3"]
    running = session.running()
    assert running is not None
    running.own["96.3"] = found  # it was changed after the chapter had begun
    small.cell("import importlib.util", names)
    names["total"].__globals__["total"] = names["total"]
    exec(compile(found.text, "<edited>", "exec"), sys.modules["my_tutor.ops"].__dict__)
    sys.modules["my_tutor.tensor"].total = sys.modules["my_tutor.ops"].total  # type: ignore[attr-defined]
    small.cell(MEAN, names)
    verdict = check("97.1", names["mean"])
    assert verdict.kind == "earlier", verdict.text
    assert verdict.lines[0] == (
        "97.1 is right. With our `total` (96.3) in place of yours it passes: check 96.3 again"
    )
    assert verdict.lines[1].startswith("96.3 now: wrong, called:")
    assert "97.1" not in Path("progress.txt").read_text(), "it is no try"


ODD = TOTAL.replace(
    "    t = 0.0", "    if len(grid.numbers) == 1:\n        return -1.0\n    t = 0.0"
)
FEW = "def strides_for(s):\n    assert s != (1,)\n"
FEW += "    return tuple(math.prod(s[i + 1 :]) for i in range(len(s)))\n"


def test_a_piece_that_passed_and_breaks_what_comes_later() -> None:
    """Their check does not ask for it, so it is found by exchanging pieces."""
    small.work("96", {"96.1": STRIDES, "96.3": ODD})
    names = small.work("97", {"97.1": MEAN}, upto="exercise-97.1")
    verdict = check("97.1", names["mean"])
    assert verdict.kind == "earlier" and "With our `total` (96.3)" in verdict.lines[0]
    assert verdict.lines[1].startswith("96.3 now: its check passes")
    small.cell('go_on("97.1")', names)
    assert "97.1" not in Path("progress.txt").read_text()


def test_two_pieces_that_break_what_comes_later() -> None:
    small.work("96", {"96.1": FEW, "96.3": ODD})
    names = small.work("97", {"97.1": MEAN}, upto="exercise-97.1")
    verdict = check("97.1", names["mean"])
    assert verdict.kind == "earlier", verdict.text
    assert verdict.lines == [
        "97.1 is right: with ours in place of all your earlier pieces it passes",
        "to do: check them again, one by one: 96.1, 96.3",
    ]


def test_a_wrong_answer_is_wrong_whatever_stands_before_it() -> None:
    small.work("96", ALL)
    wrong = "def mean(grid):\n    return grid.sum()\n"
    names = small.work("97", {"97.1": wrong}, upto="exercise-97.1")
    assert check("97.1", names["mean"]).kind == "wrong"
    assert "97.1 open tries=1" in Path("progress.txt").read_text()


# ---- counted -------------------------------------------------------------------------------------


def test_lines_that_ran_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    from course import counted

    small.work("96", {"96.3": TOTAL})
    names = small.work("97")
    capsys.readouterr()
    counted(functools.partial(names["mean"], names["Grid"]([1.0, 4.0], (2,))))
    # ours is `total(grid) / count(grid)`
    out = capsys.readouterr().out
    assert out == "4 of the 6 lines that ran were yours, 1 was ours, 1 was given\n"
    names = small.work("97", ALL)
    capsys.readouterr()
    grid = names["Grid"]([1.0, 4.0], (2,))
    assert counted(lambda: names["mean"](grid)) == 2.5
    # mean is one line, total four; given are one line each of sum and of count
    assert capsys.readouterr().out == "5 of the 7 lines that ran were yours, 2 were given\n"
    counted(lambda: names["Grid"]([1.0, 4.0], (2,)))
    # the constructor and row are given; strides_for is ours, with five lines
    assert capsys.readouterr().out == (
        "0 of the 7 lines that ran were yours, 5 were ours, 2 were given\n"
    )
    names = small.work("97")
    capsys.readouterr()
    counted(functools.partial(names["mean"], names["Grid"]([1.0, 4.0], (2,))))
    assert "5 of the 7 lines" in capsys.readouterr().out, "it stands in the library"


def test_lines_that_run_in_a_later_call_only_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from course import counted

    small.work("96", ALL)
    names = small.work("97", ALL)
    grids = [names["Grid"](numbers, (len(numbers),)) for numbers in ([], [1.0])]
    capsys.readouterr()
    counted(lambda: [names["total"](grid) for grid in grids])
    assert capsys.readouterr().out == "4 of the 4 lines that ran were yours\n"
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        counted(lambda: 1 / 0)
    assert sys.gettrace() is before


def test_own_compares_as_text() -> None:
    one = next(part for part in saving.everything() if part.key == "96.1")
    assert saving.same(one, Own("def strides_for(s): ...\n"), Own("\ndef strides_for(s): ..."))
