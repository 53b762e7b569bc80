"""Results that take the memory of an input: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes

from tutor.programs.passes.inplace import inplace

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    t2: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
FIRST = "t0[4] = exp.float32(x0[4]);"
CASES = {
    "an input that ends there": (
        FIRST + "t1[4] = neg.float32(t0[4]); y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        FIRST + "t0[4] = neg.float32(t0[4]); y0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
    ),
    "one after another, up to an output": (
        FIRST + "t1[4] = neg.float32(t0[4]); t2[4] = abs.float32(t1[4]);"
        "y0[4] = relu.float32(t2[4])",
        "y0[4] = exp.float32(x0[4]); y0[4] = neg.float32(y0[4]); y0[4] = abs.float32(y0[4]);"
        "y0[4] = relu.float32(y0[4])",
    ),
    "somebody needs it later": (
        FIRST + "t1[4] = neg.float32(t0[4]); y0[2, 2] = matmul.float32(t1[2, 2], t0[2, 2])",
        "",
    ),
    "the second operand ends there": (
        FIRST + "t1[4] = mul.float32(x0[4], t0[4]); y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        FIRST + "t0[4] = mul.float32(x0[4], t0[4]); y0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
    ),
    "both are the same": (
        FIRST + "t1[4] = mul.float32(t0[4], t0[4]); y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        FIRST + "t0[4] = mul.float32(t0[4], t0[4]); y0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
    ),
    "a product has still to read": (
        FIRST + "y0[2, 2] = fused.float32(x0[2, 2], t0[2, 2], t0[2, 2]) code="
        "'r0 = matmul.float32 i0 i1; o0 = add.float32 r0 i2' results=1 axis=()",
        "",
    ),
    "it is read from its end": (
        FIRST + "t1[4] = neg.float32(t0[4]@3/-1); y0[4] = exp.float32(t1[4]@3/-1)",
        "",
    ),
    "it is read both ways": (
        FIRST + "t1[4] = mul.float32(t0[4], t0[4]@3/-1);"
        "y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        "",
    ),
    "an input or a state is somebody else's": (
        "y0[4] = neg.float32(x0[4]); y1[4] = neg.float32(s0[4])",
        "",
    ),
    "an output is wanted as it is": ("y0[4] = exp.float32(x0[4]); y1[4] = neg.float32(y0[4])", ""),
    "another dtype": (
        "t3: temp 4 x int32; y2: output 4 x int32;" + FIRST + "t3[4] = cast.float32(t0[4]);"
        "y2[2, 2] = matmul.int32(t3[2, 2], t3[2, 2])",
        "",
    ),
    "a product reads more than one element for each": (
        FIRST + "t1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]);"
        "y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        "",
    ),
    "one output takes it, the other has its own": (
        FIRST + "y0[4] = neg.float32(t0[4]); y1[4] = neg.float32(x0[4])",
        "y0[4] = exp.float32(x0[4]); y0[4] = neg.float32(y0[4]); y1[4] = neg.float32(x0[4])",
    ),
    "the result was there before": (
        "t1[4] = neg.float32(x0[4]); y1[2, 2] = matmul.float32(t1[2, 2], x0[2, 2]);" + FIRST
        + "t1[4] = neg.float32(t0[4]); y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        "",
    ),
    "a fused step": (
        FIRST + "t1[4] = fused.float32(t0[4], x0[4])"
        " code='r0 = mul.float32 i0 i1; o0 = neg.float32 r0' results=1 axis=();"
        "y0[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        FIRST + "t0[4] = fused.float32(t0[4], x0[4])"
        " code='r0 = mul.float32 i0 i1; o0 = neg.float32 r0' results=1 axis=();"
        "y0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
    ),
    "a fused step with two results, and one input that ends": (
        FIRST + "t1[4] = fused.float32(t0[4], x0[4], t2[4])"
        " code='o0 = mul.float32 i0 i1; o1 = neg.float32 o0' results=2 axis=();"
        "y0[2, 2] = matmul.float32(t1[2, 2], t2[2, 2])",
        FIRST + "t0[4] = fused.float32(t0[4], x0[4], t1[4])"
        " code='o0 = mul.float32 i0 i1; o1 = neg.float32 o0' results=2 axis=();"
        "y0[2, 2] = matmul.float32(t0[2, 2], t1[2, 2])",
    ),
    "a fused step that reduces": (
        "t3: temp 1 x float32; t4: temp 1 x float32; y2: output 1 x float32;"
        "t3[1] = exp.float32(x0[1]); t4[] = fused.float32(t3[1], x0[1])"
        " code='r0 = mul.float32 i0 i1; o0 = sum.float32 r0' results=1 axis=(0,);"
        "y2[1, 1] = matmul.float32(t4[1, 1], t4[1, 1])",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_inplace(before: str, after: str) -> None:
    becomes(inplace, SLOTS + before, after and SLOTS + after)
