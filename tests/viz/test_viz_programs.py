"""Programs as pictures: a box for each step, lines for memory, and no line where nothing is."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from drawn import all_of, check, fills, words

import tutor
from tutor import Tensor, nn, optim, viz
from tutor.backends.step import Step
from tutor.errors import DTypeError
from tutor.programs.program import Program, Slot, Walk
from tutor.viz import programs, svg

f4 = tutor.float32


def whole(slot: Slot) -> Walk:
    return Walk(slot, (len(slot),), (1,))


def chain(count: int, size: int = 4) -> Program:
    """x -> t0 -> t1 -> ... -> y"""
    slots = [Slot("input", size, f4), *[Slot("temp", size, f4) for _ in range(count - 1)],
             Slot("output", size, f4)]  # fmt: skip
    return Program([Step("neg", f4, whole(b), (whole(a),), {}, ("mine.py", 3))
                    for a, b in pairwise(slots)])  # fmt: skip


def trained() -> tuple[Program, Program]:
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    adam = optim.Adam(nn.get_parameters(model), lr=0.1)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = model(x * 2 - 1).cross_entropy(y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    jitted = tutor.jit(step)
    for _ in range(3):
        jitted(Tensor.rand(4, 6), Tensor([0, 1, 2, 0]))
    return jitted.recorded, jitted.program


def boxes(p: Any) -> list[Any]:
    return [r for r in fills(p, "paper") if r.get("stroke") == svg.color("ink")]


def lines(p: Any, role: str) -> list[tuple[float, float, float]]:
    """(x, from y, to y) of each line at the right."""
    found = []
    for path in all_of(p, "path"):
        match = re.fullmatch(r"M([\d.]+) ([\d.]+)V([\d.]+)", path.get("d"))
        if match and path.get("stroke") == svg.color(programs.COLORS[role]):
            found.append((float(match[1]), float(match[2]), float(match[3])))
    return found


def test_each_step_of_a_training_step_is_a_box_in_order() -> None:
    for program in trained():
        p = check(viz.program(program))
        assert len(boxes(p)) == len(program)
        heads = [w for w in words(p) if re.match(r"\d+  [a-z]", w)]
        kernels = [step.kernel for step in program]
        assert [h.split()[:2] for h in heads] == [[str(i), k] for i, k in enumerate(kernels)]
        tops = [float(b.get("y")) for b in boxes(p)]
        assert tops == sorted(tops) and len(set(tops)) == len(tops)
        assert {"input", "state", "output"} <= set(words(p))
        assert "test_viz_programs.py:" in " ".join(words(p))


def test_memory_is_a_line_from_its_maker_to_its_last_reader() -> None:
    program = trained()[0]
    p = viz.program(program)
    for role in ("temp", "output"):
        slots = {w.buf for step in program for w in step.operands if w.buf.role == role}
        assert len(lines(p, role)) == len(slots)
    tops = [float(b.get("y")) for b in boxes(p)]
    lowest = max(tops)
    assert all(low > lowest for _, _, low in lines(p, "output"))
    assert all(low < p.height - 40 for _, _, low in lines(p, "temp"))


def test_lines_that_do_not_meet_share_a_column() -> None:
    p = check(viz.program(chain(9)))
    columns = {x for x, _, _ in lines(p, "temp")}
    assert len(lines(p, "temp")) == 8 and len(columns) == 2
    for x in columns:
        found = sorted((top, low) for at, top, low in lines(p, "temp") if at == x)
        assert all(a[1] < b[0] for a, b in pairwise(found))


def test_wider_lines_carry_more() -> None:
    assert programs.thickness(1) == programs.thickness(100) == 1.25
    assert programs.thickness(1000) == 2.0
    wide, thin = (
        max(float(e.get("stroke-width")) for e in all_of(viz.program(chain(2, n)), "path")
            if e.get("stroke") == svg.color("amber") and "V" in e.get("d"))
        for n in (10_000, 10)
    )  # fmt: skip
    assert wide > thin


def test_what_was_there_before_stands_at_the_left_with_its_shape() -> None:
    g, (w, m, v) = Slot("input", 600, f4), (Slot("state", 600, f4) for _ in range(3))
    numbers = [Walk(Slot("state", 1, tutor.float64), (), ()) for _ in range(6)]
    large = [Walk(slot, (20, 30), (30, 1)) for slot in (g, m, v)]
    step = Step("adam", f4, Walk(w, (20, 30), (30, 1)), (*large, *numbers), {})
    p = check(viz.program(Program([step])))
    size = f"20{svg.TIMES}30"
    names = {f"x0 {size}", f"s0 {size}", f"s1 {size}", f"s2 {size}", "s3 … 6 numbers"}
    assert names <= set(words(p))
    heads = [e for e in all_of(p, "path") if e.get("fill") == svg.color("green")]
    assert len(heads) == 2 * 3 + 1  # what it updates is read and written, the numbers are read


def test_a_fused_step_shows_its_instructions() -> None:
    jitted = tutor.jit(lambda x: (x * 2 + 1).relu().sum())
    for _ in range(2):
        jitted(Tensor.rand(8))
    p = check(viz.program(jitted.program))
    code = str(jitted.program.steps[0].params["code"]).split("; ")
    assert len(code) == 4 and set(code) <= set(words(p))
    many = "; ".join(
        ["r0 = neg.float32 i0"] + ["r0 = neg.float32 r0"] * 20 + ["o0 = neg.float32 r0"]
    )
    step = Step("fused", f4, whole(Slot("output", 4, f4)), (whole(Slot("input", 4, f4)),),
                {"code": many, "results": 1, "axis": ()})  # fmt: skip
    p = check(viz.program(Program([step])))
    assert words(p).count("r0 = neg.float32 r0") == programs.INSTRUCTIONS - 1 and "…" in words(p)


@pytest.mark.parametrize("count", [1, 48, 49, 300])
def test_a_long_program_is_cut(count: int) -> None:
    p = check(viz.program(chain(count)))
    assert len(boxes(p)) == min(count, 48)
    assert p.title == f"a program of {count} step{'s' * (count > 1)}"
    assert (f"… {count - 48} more steps" in words(p)) == (count > 48)
    last = [w for w in words(p) if w.startswith(f"{count - 1}  neg")]
    assert len(last) == 1
    assert len(lines(p, "output")) == 1


def test_what_was_made_long_before_comes_out_of_the_gap() -> None:
    """A temp that is made in the part that is left out, and needed after it."""
    steps = list(chain(100))
    early = steps[50].out.buf
    steps.append(Step("add", f4, whole(Slot("output", 4, f4)), (whole(early), whole(early)), {}))
    p = check(viz.program(Program(steps)))
    gap = next(float(t.get("y")) for t in all_of(p, "text") if "more steps" in (t.text or ""))
    assert any(abs(top - gap) < 20 and low > gap + 100 for _, top, low in lines(p, "temp"))


def test_results_that_no_drawn_step_has_to_do_with_are_left_out() -> None:
    steps = list(chain(100))
    steps[50].out.buf.role = "output"  # made in the part that is left out, and read there
    p = check(viz.program(Program(steps)))
    assert len(boxes(p)) == 48 and len(lines(p, "output")) == 1


def test_of_nothing() -> None:
    assert check(viz.program(Program([]))).title == "a program of 0 steps"


def test_a_notebook_shows_it_and_a_terminal_has_the_table() -> None:
    program = chain(3)
    p = viz.program(program)
    assert p._repr_svg_().startswith("<svg") and "<svg" in p._repr_html_()
    assert str(p) == str(program)


@pytest.mark.parametrize("thing", [Tensor([1.0]), 3, None])
def test_what_is_no_program_is_refused(thing: Any) -> None:
    with pytest.raises(DTypeError, match=r"f\.recorded or f\.program"):
        viz.program(thing)
