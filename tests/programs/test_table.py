"""The table of a Program: every column, marks, fused steps, units, and the reader's own line."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import tutor
from tutor import Tensor
from tutor.backends.step import Step
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.table import MARKS, called, described, line_of, readable

f4, f8 = tutor.float32, tutor.float64


def whole(slot: Slot, *shape: int) -> Walk:
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return Walk(slot, shape, tuple(strides))


def test_the_whole_table(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n    loss   = model(x)  # the first\nloss.backward()\n")
    where = str(file), 2
    x, w, t, y, one = (
        Slot("input", 3200, f4), Slot("state", 3200, f4), Slot("temp", 3200, f4),
        Slot("output", 80, f4), Slot("constant", 1, f4, tutor.Buffer([2.0])),
    )  # fmt: skip
    cells = [Slot("state", 1, f8) for _ in range(2)]
    number = [whole(c) for c in cells]
    steps = [
        Step("mul", f4, whole(t, 80, 40), (whole(x, 80, 40), Walk(one, (80, 40), (0, 0))),
             {}, where),
        Step("sum", f4, whole(y, 80), (Walk(t, (80, 40), (40, 1)),), {"axis": (1,)}, where),
        Step("descend", f4, whole(w, 80, 40), (Walk(t, (80, 40), (1, 80)), *number), {},
             (str(file), 3)),
        Step("descend", f4, Walk(w, (40,), (1,), 40), (Walk(t, (40,), (2,)), *number), {}, None),
    ]  # fmt: skip
    assert str(Program(steps)).splitlines() == [
        "   result    kernel      of                     kB   flop  line",
        "0  t0 80x40  mul         x0 80x40, c0* 80x40  25.6  3,200  mine.py:2  "
        + "loss = model(x) # the first",
        '1  y0 80     sum axis=1  t0 80x40             13.1  3,200     "',
        "2  s0 80x40  descend     t0.T 80x40, s1 s2    38.4         mine.py:3  loss.backward()",
        "3  s0[] 40   descend     t0[] 40, s1 s2        0.5",
        "   4 steps                                    77.6  6,400",
        "memory: 1 input of 12.8 kB, 3 states of 12.8 kB, 1 constant of 4 bytes, "
        + "1 temp of 12.8 kB, 1 output of 320 bytes",
        "; ".join(MARKS.values()),
    ]


def test_the_table_in_a_notebook() -> None:
    """The same cells as the text's, and a page can hold them: nothing of theirs is a tag."""
    a, b = Slot("input", 6, f4), Slot("output", 6, f4)
    code = "r0 = exp.float32 i0; o0 = relu.float32 r0"
    params = {"code": code, "results": 1, "axis": ()}
    step = Step("fused", f4, whole(b, 6), (whole(a, 6),), params, ("<stdin>", 3))
    page = Program([step, step])._repr_html_()
    root = ElementTree.fromstring(page.replace("<br>", "\n"))
    cells = [[cell.text or "" for cell in row] for row in root.iter("tr")]
    assert cells[0] == ["", "result", "kernel", "of", "bytes", "flop", "line"]
    fused = "\n".join(["fused", *code.split("; ")])
    assert cells[1] == ["0", "y0 6", fused, "x0 6", "48", "12", "<stdin>:3"]
    assert cells[2][:6] == ["1", "y0 6", fused, "x0 6", "48", "12"]
    assert cells[3][:2] == ["", "2 steps"]
    assert "&lt;stdin&gt;:3" in page
    assert root.find("caption").text == "memory: 1 input of 24 bytes, 1 output of 24 bytes"


def test_a_fused_step_shows_its_instructions_and_all_results() -> None:
    a, b, c = (Slot("input", 6, f4), Slot("output", 6, f4), Slot("output", 6, f4))
    code = "r0 = exp.float32 i0; o1 = neg.float32 r0; o0 = relu.float32 o1"
    step = Step("fused", f4, whole(b, 6), (whole(a, 6), whole(c, 6)),
                {"code": code, "results": 2, "axis": ()})  # fmt: skip
    lines = str(Program([step])).splitlines()
    assert lines[1].split()[:6] == ["0", "y0", "6,", "y1", "6", "fused"]
    assert lines[1].split()[6:8] == ["x0", "6"]
    assert [line.strip() for line in lines[2:5]] == code.split("; ")


@pytest.mark.parametrize(
    ("walk", "text"),
    [
        ((6, (2, 3), (3, 1), 0), "a 2x3"),
        ((6, (2, 3), (1, 2), 0), "a.T 2x3"),
        ((6, (3, 1, 2), (1, 9, 3), 0), "a.T 3x1x2"),
        ((6, (2, 3), (0, 1), 0), "a* 2x3"),
        ((6, (1, 6), (0, 1), 0), "a 1x6"),
        ((6, (3,), (1,), 0), "a[] 3"),
        ((6, (3,), (2,), 0), "a[] 3"),
        ((6, (6,), (-1,), 5), "a[] 6"),
        ((1, (), (), 0), "a"),
        ((2, (), (), 1), "a[]"),
        ((0, (0, 3), (3, 1), 0), "a 0x3"),
    ],
)
def test_how_memory_is_walked(walk: tuple[int, tuple[int, ...], tuple[int, ...], int], text: str
                              ) -> None:  # fmt: skip
    count, shape, strides, offset = walk
    assert described("a", Walk(Slot("temp", count, f4), shape, strides, offset)) == text


@pytest.mark.parametrize(
    ("kernel", "dtype", "params", "text"),
    [
        ("linear", f4, {"relu": True}, "linear relu"),
        ("linear", f4, {"relu": False}, "linear"),
        ("sum", f8, {"axis": (0, 2)}, "sum.float64 axis=0,2"),
        ("cross_entropy", f4, {"scale": 1 / 3}, "cross_entropy scale=0.333333"),
        ("fused", f4, {"code": "o0 = neg.float32 i0", "results": 1, "axis": (0,)}, "fused axis=0"),
    ],
)
def test_kernels_with_their_parameters(kernel, dtype, params, text) -> None:  # type: ignore[no-untyped-def]
    assert called(Step(kernel, dtype, whole(Slot("temp", 1, dtype), 1), (), params)) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (9999, "9999 bytes"), (10_000, "10.0 kB"), (2_500_000, "2,500.0 kB"),
     (25_000_000, "25.0 MB"), (3 * 10**10, "30.0 GB")],
)  # fmt: skip
def test_sizes(count: int, text: str) -> None:
    assert readable(count) == text


def test_a_line_that_cannot_be_read_is_a_number() -> None:
    assert line_of(("/nowhere/lost.py", 7)) == "lost.py:7"
    assert line_of(None) == ""
    assert line_of((__file__, 2)) == "test_table.py:2"  # an empty one
    assert line_of((__file__, 1)) == f'test_table.py:1  """{str(__doc__)[:38]}...'


def test_of_nothing() -> None:
    assert str(Program([])).splitlines()[-1].split() == ["0", "steps", "0", "0"]


def test_a_recorded_step_names_the_lines_of_its_function() -> None:
    jitted = tutor.jit(lambda x: x.exp().sum())
    for _ in range(3):
        jitted(Tensor([1.0, 2.0]))
    assert "test_table.py:" in str(jitted.program)
    assert "jitted = tutor.jit(lambda x: x.exp().sum())" in str(jitted.program)
