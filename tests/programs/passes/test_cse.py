"""What was computed before is not computed again: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.cse import common

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    t2: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
CASES = {
    "twice the same": (
        "t0[4] = exp.float32(x0[4]); t1[4] = exp.float32(x0[4]); y0[4] = mul.float32(t0[4], t1[4])",
        "t0[4] = exp.float32(x0[4]); y0[4] = mul.float32(t0[4], t0[4])",
    ),
    "and what follows from it": (
        "t0[4] = exp.float32(x0[4]); t1[4] = exp.float32(x0[4]); t2[4] = neg.float32(t0[4]);"
        "y0[4] = neg.float32(t1[4]); y1[4] = add.float32(t2[4], y0[4])",
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(t0[4]); y1[4] = add.float32(y0[4], y0[4])",
    ),
    "read in another shape": (
        "t0[4] = exp.float32(x0[4]); t1[4] = exp.float32(x0[4]);"
        "y0[2, 2] = mul.float32(t0[2, 2], t1[2, 2]@0/1,2)",
        "t0[4] = exp.float32(x0[4]); y0[2, 2] = mul.float32(t0[2, 2], t0[2, 2]@0/1,2)",
    ),
    "other parameters": (
        "t0[] = sum.float32(x0[4]) axis=(0,); t1[4] = softmax.float32(x0[4]) axis=0;"
        "t2[2, 2] = softmax.float32(x0[2, 2]) axis=0; y0[2, 2] = softmax.float32(x0[2, 2]) axis=1",
        "",
    ),
    "1 and True are other parameters": (
        "t0[4] = fill.float32() value=1; t1[4] = fill.float32() value=True;"
        "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "other elements": (
        "t0[2]@0/1 = neg.float32(x0[2]@0/1); y0[4] = neg.float32(x0[4]@3/-1);"
        "y1[4] = neg.float32(x0[4])",
        "",
    ),
    "what is read was written in between": (
        "t0[4] = exp.float32(s0[4]); s0[4] = neg.float32(x0[4]); t1[4] = exp.float32(s0[4]);"
        "y0[4] = mul.float32(t0[4], t1[4])",
        "",
    ),
    "a part of it was": (
        "t0[4] = exp.float32(s0[4]); s0[1]@3/1 = neg.float32(x0[1]@0/1);"
        "t1[4] = exp.float32(s0[4]); y0[4] = mul.float32(t0[4], t1[4])",
        "",
    ),
    "it changes what it reads": (
        "s0[4] = mul.float32(s0[4], x0[4]); s0[4] = mul.float32(s0[4], x0[4])",
        "",
    ),
    "the first result is changed before the second is read": (
        "t0[4] = exp.float32(x0[4]); t0[4] = neg.float32(x0[4]); t1[4] = exp.float32(x0[4]);"
        "y0[4] = mul.float32(t0[4], t1[4])",
        "",
    ),
    "the second result is changed": (
        "t0[4] = exp.float32(x0[4]); t1[4] = exp.float32(x0[4]); "
        "t1[1]@0/1 = neg.float32(x0[1]@0/1);"
        "y0[4] = mul.float32(t0[4], t1[4])",
        "",
    ),
    "two draws are two": (
        "s1: state 2 x uint64; y0[4] = uniform.float32(s1[]@0/, s1[]@1/) blocks=1;"
        "y1[4] = uniform.float32(s1[]@0/, s1[]@1/) blocks=1",
        "",
    ),
    "two updates are two": (
        "s1: state 1 x float64; s2: state 1 x float64;"
        "s0[4] = descend.float32(x0[4], s1[], s2[]); s0[4] = descend.float32(x0[4], s1[], s2[])",
        "",
    ),
    "two outputs are two Buffers": (
        "y0[4] = exp.float32(x0[4]); y1[4] = exp.float32(x0[4])",
        "y0[4] = exp.float32(x0[4]); y1[4] = copy.float32(y0[4])",
    ),
    "the second one is an output": (
        "t0[4] = exp.float32(x0[4]); y0[4] = exp.float32(x0[4]); y1[4] = neg.float32(t0[4])",
        "y0[4] = exp.float32(x0[4]); y1[4] = neg.float32(y0[4])",
    ),
    "two later ones are outputs": (
        "t0[4] = exp.float32(x0[4]); y0[4] = exp.float32(x0[4]); y1[4] = exp.float32(x0[4])",
        "y0[4] = exp.float32(x0[4]); y1[4] = copy.float32(y0[4])",
    ),
    "constants that are equal": (
        "c0: constant 1 x float32 = 2; c1: constant 1 x float32 = 2;"
        "t0[4] = mul.float32(x0[4], c0[4]@0/0); t1[4] = mul.float32(x0[4], c1[4]@0/0);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "c0: constant 1 x float32 = 2; t0[4] = mul.float32(x0[4], c0[4]@0/0);"
        "y0[4] = add.float32(t0[4], t0[4])",
    ),
    "the zeros are not equal": (
        "c0: constant 1 x float32 = 0.0; c1: constant 1 x float32 = -0.0;"
        "y0[4] = add.float32(x0[4], c0[4]@0/0); y1[4] = add.float32(x0[4], c1[4]@0/0)",
        "",
    ),
    "casts to two dtypes": (
        "t3: temp 4 x float64; t4: temp 4 x float16; "
        "y2: output 4 x float64; y3: output 4 x float16;"
        "t3[4] = cast.float32(x0[4]); t4[4] = cast.float32(x0[4]); y2[4] = neg.float64(t3[4]);"
        "y3[4] = neg.float16(t4[4])",
        "",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_common(before: str, after: str) -> None:
    becomes(common, SLOTS + before, after and SLOTS + after)
