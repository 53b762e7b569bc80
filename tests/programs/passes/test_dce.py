"""What nobody sees is not computed: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.dce import dead

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    y0: output 4 x float32
"""
CASES = {
    "a result that nobody reads": (
        "t0: temp 4 x float32; t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(x0[4])",
        "y0[4] = neg.float32(x0[4])",
    ),
    "and what only that read": (
        "t0: temp 4 x float32; t1: temp 4 x float32; t0[4] = exp.float32(x0[4]);"
        "t1[4] = neg.float32(t0[4]); y0[4] = neg.float32(x0[4])",
        "y0[4] = neg.float32(x0[4])",
    ),
    "a state that is overwritten before it is read": (
        "s0[4] = exp.float32(x0[4]); s0[4] = neg.float32(x0[4])",
        "s0[4] = neg.float32(x0[4])",
    ),
    "a state that is read in between": (
        "s0[4] = exp.float32(x0[4]); y0[4] = copy.float32(s0[4]); s0[4] = neg.float32(x0[4])",
        "",
    ),
    "a state of which only a part is overwritten": (
        "s0[4] = exp.float32(x0[4]); s0[2]@2/1 = neg.float32(x0[2]@0/1)",
        "",
    ),
    "a temp that is filled piece by piece": (
        "t0: temp 4 x float32; t0[2]@0/1 = exp.float32(x0[2]@0/1);"
        "t0[2]@2/1 = neg.float32(x0[2]@0/1); y0[4] = copy.float32(t0[4])",
        "",
    ),
    "the piece that nobody reads": (
        "t0: temp 4 x float32; t0[2]@0/1 = exp.float32(x0[2]@0/1);"
        "t0[2]@2/1 = neg.float32(x0[2]@0/1); y0[2]@0/1 = copy.float32(t0[2]@0/1)",
        "t0: temp 4 x float32; t0[2]@0/1 = exp.float32(x0[2]@0/1);"
        "y0[2]@0/1 = copy.float32(t0[2]@0/1)",
    ),
    "a column of a matrix that nobody reads": (
        "t0: temp 4 x float32; t0[2]@0/2 = exp.float32(x0[2]@0/1);"
        "t0[2]@1/2 = neg.float32(x0[2]@0/1); y0[2]@0/1 = copy.float32(t0[2]@0/2)",
        "t0: temp 4 x float32; t0[2]@0/2 = exp.float32(x0[2]@0/1);"
        "y0[2]@0/1 = copy.float32(t0[2]@0/2)",
    ),
    "what changes what it reads is not an overwriting": (
        "s0[4] = exp.float32(x0[4]); s0[4] = mul.float32(s0[4], x0[4])",
        "",
    ),
    "an update whose parameter nobody reads, but it is a state": (
        "s1: state 1 x float64; s2: state 1 x float64;"
        "s0[4] = descend.float32(x0[4], s1[]@0/, s2[]@0/)",
        "",
    ),
    "a draw moves the stream on, even if nobody wants its numbers": (
        "s1: state 2 x uint64; t0: temp 4 x float32;"
        "t0[4] = uniform.float32(s1[]@0/, s1[]@1/) blocks=1",
        "",
    ),
    "a step that may refuse what it finds stays": (
        "x1: input 2 x int64; t0: temp 2 x float32; t0[2] = gather.float32(x0[4], x1[2]) axis=0",
        "",
    ),
    "an integer division may refuse, one of floats may not": (
        "x1: input 4 x int32; x2: input 4 x int32; t0: temp 4 x int32; t1: temp 4 x float32;"
        "t0[4] = bitwise_left_shift.int32(x1[4], x2[4]); t1[4] = pow.float32(x0[4], x0[4])",
        "x1: input 4 x int32; x2: input 4 x int32; t0: temp 4 x int32;"
        "t0[4] = bitwise_left_shift.int32(x1[4], x2[4])",
    ),
    "an input that is written to is seen": ("x0[4] = neg.float32(x0[4])", ""),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_dead(before: str, after: str) -> None:
    becomes(dead, SLOTS + before, after and SLOTS + after)
