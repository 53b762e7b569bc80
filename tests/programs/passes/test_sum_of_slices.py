"""Sums of parts: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes, given, program, run

import tutor
from tutor import Tensor
from tutor.programs.passes import improved
from tutor.programs.passes.dce import dead
from tutor.programs.passes.sum_of_slices import pieces
from tutor.programs.program import Program

SLOTS = """
    x0: input 2 x float32
    x1: input 2 x float32
    s0: state 2 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
LEFT = "t0[4] = fill.float32() value=0.0; t0[2]@0/1 = copy.float32(x0[2]);"
RIGHT = "t1[4] = fill.float32() value=0.0; t1[2]@2/1 = copy.float32(x1[2]);"
ZERO = "c0: constant 1 x float32 = 0;"
PUT = "y0[2]@0/1 = add.float32(x0[2], c0[2]@0/0); y0[2]@2/1 = add.float32(x1[2], c0[2]@0/0);"
CASES = {
    "two halves": (LEFT + RIGHT + "y0[4] = add.float32(t0[4], t1[4])", ZERO + PUT),
    "read as another shape": (LEFT + RIGHT + "y0[2, 2] = add.float32(t0[2, 2], t1[2, 2])",
                              ZERO + PUT),
    "two columns": (
        "t0[2, 2] = fill.float32() value=0.0; t0[2]@0/2 = copy.float32(x0[2]);"
        "t1[2, 2] = fill.float32() value=0.0; t1[2]@1/2 = copy.float32(x1[2]@1/-1);"
        "y0[2, 2] = add.float32(t0[2, 2], t1[2, 2])",
        ZERO + "y0[2]@0/2 = add.float32(x0[2], c0[2]@0/0);"
        "y0[2]@1/2 = add.float32(x1[2]@1/-1, c0[2]@0/0)",
    ),
    "with something between them": (
        LEFT + "t1[4] = fill.float32() value=0.0; t1[1]@3/1 = copy.float32(x1[1]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        ZERO + "y0[4] = fill.float32() value=0.0; y0[2]@0/1 = add.float32(x0[2], c0[2]@0/0);"
        "y0[1]@3/1 = add.float32(x1[1], c0[1]@0/0)",
    ),
    "three, one after another": (
        "t2: temp 4 x float32; t3: temp 4 x float32;" + LEFT
        + "t1[4] = fill.float32() value=0.0; t1[1]@2/1 = copy.float32(x1[1]);"
        "t2[4] = add.float32(t0[4], t1[4]);"
        "t3[4] = fill.float32() value=0.0; t3[1]@3/1 = copy.float32(x1[1]@1/1);"
        "y0[4] = add.float32(t3[4], t2[4])",
        ZERO + "y0[1]@3/1 = add.float32(x1[1]@1/1, c0[1]@0/0);"
        "y0[2]@0/1 = add.float32(x0[2], c0[2]@0/0); y0[1]@2/1 = add.float32(x1[1], c0[1]@0/0)",
    ),
    "they meet": (
        LEFT + "t1[4] = fill.float32() value=0.0; t1[2]@1/1 = copy.float32(x1[2]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "not zeros": (
        LEFT + "t1[4] = fill.float32() value=1.0; t1[2]@2/1 = copy.float32(x1[2]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "zeros of the other sign": (
        LEFT + "t1[4] = fill.float32() value=-0.0; t1[2]@2/1 = copy.float32(x1[2]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "a part was written twice": (
        LEFT + RIGHT + "t1[1] = copy.float32(x0[1]); y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "somebody reads the zeros first": (
        "t0[4] = fill.float32() value=0.0; y1[4] = neg.float32(t0[4]);"
        "t0[2]@0/1 = copy.float32(x0[2]);" + RIGHT + "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "the original has changed": (
        LEFT.replace("x0", "s0") + "s0[2] = neg.float32(x0[2]);" + RIGHT
        + "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "added in another order": (LEFT + RIGHT + "y0[4] = add.float32(t0[4], t1[4]@3/-1)", ""),
    "subtracted": (LEFT + RIGHT + "y0[4] = sub.float32(t0[4], t1[4])", ""),
    "one of them is needed by itself, too": (
        LEFT + RIGHT + "y0[4] = add.float32(t0[4], t1[4]); y1[4] = neg.float32(t0[4])",
        LEFT + ZERO + PUT + "y1[4] = neg.float32(t0[4])",
    ),
}  # fmt: skip


def without_the_rest(what: Program) -> Program:
    """What the sums no longer read is dead."""
    return dead(pieces(what))


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_pieces(before: str, after: str) -> None:
    becomes(without_the_rest, SLOTS + before, after and SLOTS + after)


def test_a_zero_below_zero_becomes_one_above_as_in_the_sum() -> None:
    what = program(SLOTS + CASES["two halves"][0])
    numbers = given(what)
    numbers[next(s for s in numbers if s.role == "input")] = b"\x00\x00\x00\x80" * 2
    assert run(pieces(what), numbers) == run(what, numbers)


def test_the_gradient_of_a_sequence_costs_no_more_than_the_sequence() -> None:
    """Each of the moments has a gradient that is 0 at all others."""

    def step(x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        h = x[:, 0].exp()
        for moment in range(1, 20):
            h = h * 0.5 + x[:, moment].exp()
        h.sum().backward()
        assert x.grad is not None
        return x.grad

    jitted = tutor.jit(step, passes=())
    for _ in range(2):
        jitted(Tensor.randn(3, 20, 4))
    what = jitted.recorded
    made = improved(what)
    numbers = given(what)
    assert run(made, numbers) == run(what, numbers)
    assert what.nbytes > 20 * 3 * 20 * 4 * 4
    assert made.nbytes < 20 * 3 * 20 * 4 * 4
