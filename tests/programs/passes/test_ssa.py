"""What is overwritten is another temp: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.ssa import versions

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    t0: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
FIRST = "t0[4] = exp.float32(x0[4]);"
CASES = {
    "in place": (
        FIRST + "t0[4] = neg.float32(t0[4]); y0[4] = abs.float32(t0[4])",
        "t1: temp 4 x float32; t1[4] = exp.float32(x0[4]); t0[4] = neg.float32(t1[4]);"
        "y0[4] = abs.float32(t0[4])",
    ),
    "each reads what stood there then": (
        FIRST + "y0[4] = abs.float32(t0[4]); t0[4] = neg.float32(x0[4]);"
        "y1[4] = abs.float32(t0[4])",
        "t1: temp 4 x float32; t1[4] = exp.float32(x0[4]); y0[4] = abs.float32(t1[4]);"
        "t0[4] = neg.float32(x0[4]); y1[4] = abs.float32(t0[4])",
    ),
    "the last one is the output": (
        "y0[4] = exp.float32(x0[4]); y0[2, 2] = neg.float32(y0[2, 2]); y0[4] = abs.float32(y0[4])",
        "t1: temp 4 x float32; t2: temp 4 x float32; t1[4] = exp.float32(x0[4]);"
        "t2[2, 2] = neg.float32(t1[2, 2]); y0[4] = abs.float32(t2[4])",
    ),
    "a part is written": (
        FIRST + "t0[2] = neg.float32(t0[2]); y0[4] = abs.float32(t0[4])",
        "",
    ),
    "a part, and then all": (
        FIRST + "t0[2] = neg.float32(t0[2]); t0[4] = abs.float32(t0[4]);"
        "y0[4] = neg.float32(t0[4])",
        "t1: temp 4 x float32; t1[4] = exp.float32(x0[4]); t1[2] = neg.float32(t1[2]);"
        "t0[4] = abs.float32(t1[4]); y0[4] = neg.float32(t0[4])",
    ),
    "a state is one place for ever": (
        "s0[4] = exp.float32(x0[4]); s0[4] = neg.float32(s0[4]); x0[4] = neg.float32(s0[4]);"
        "x0[4] = abs.float32(s0[4])",
        "",
    ),
    "an update goes on with what is there": (
        "s1: state 1 x float64; s2: state 1 x float64;" + FIRST
        + "t0[4] = descend.float32(x0[4], s1[], s2[]); t0[4] = neg.float32(t0[4]);"
        "y0[4] = abs.float32(t0[4])",
        "s1: state 1 x float64; s2: state 1 x float64; t1: temp 4 x float32;"
        "t1[4] = exp.float32(x0[4]); t1[4] = descend.float32(x0[4], s1[], s2[]);"
        "t0[4] = neg.float32(t1[4]); y0[4] = abs.float32(t0[4])",
    ),
    "a draw goes on with its counter": (
        "s1: state 1 x uint64; t1: temp 1 x uint64; t1[] = copy.uint64(s1[]);"
        "y0[4] = uniform.float32(s1[], t1[]) blocks=1;"
        "y1[4] = uniform.float32(s1[], t1[]) blocks=1",
        "",
    ),
    "a fused step with two results, one of them in place": (
        FIRST + "y0[4] = fused.float32(t0[4], t0[4])"
        " code='o0 = neg.float32 i0; o1 = abs.float32 i0'"
        " results=2 axis=(); y1[4] = neg.float32(t0[4])",
        "t1: temp 4 x float32; t1[4] = exp.float32(x0[4]); y0[4] = fused.float32(t1[4], t0[4])"
        " code='o0 = neg.float32 i0; o1 = abs.float32 i0' results=2 axis=();"
        "y1[4] = neg.float32(t0[4])",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_versions(before: str, after: str) -> None:
    becomes(versions, SLOTS + before, after and SLOTS + after)
