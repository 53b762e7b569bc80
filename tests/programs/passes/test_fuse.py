"""Chains as one step: small Programs before and after."""

from __future__ import annotations

import pytest
from small import becomes, program

from tutor.backends.bytecode import MOST_INSTRUCTIONS, MOST_OPERANDS
from tutor.programs.passes.fuse import fuse

SLOTS = """
    x0: input 4 x float32
    x1: input 2 x float32
    s0: state 4 x float32
    c0: constant 1 x float32 = 2
    t0: temp 4 x float32
    t1: temp 4 x float32
    t2: temp 4 x float32
    b0: temp 4 x bool
    y0: output 4 x float32
    y1: output 4 x float32
    y2: output 1 x float32
    y3: output 2 x float32
"""


def fused(out: str, ins: str, code: str, results: int = 1, axis: str = "()") -> str:
    return f"{out} = fused.float32({ins}) code={code!r} results={results} axis={axis};"


CHAINS = {
    "a chain": (
        "t0[4] = mul.float32(x0[4], c0[4]@0/0); t1[4] = add.float32(t0[4], x0[4]);"
        "y0[4] = relu.float32(t1[4])",
        fused(
            "y0[4]",
            "x0[4], c0[4]@0/0",
            "r0 = mul.float32 i0 i1; r1 = add.float32 r0 i0; o0 = relu.float32 r1",
        ),
    ),
    "with a sum at its end": (
        "t0[4] = mul.float32(x0[4], c0[4]@0/0); y2[] = sum.float32(t0[4]) axis=(0,)",
        fused(
            "y2[]", "x0[4], c0[4]@0/0", "r0 = mul.float32 i0 i1; o0 = sum.float32 r0", axis="(0,)"
        ),
    ),
    "with the mean of each row, and what was in between": (
        "t3: temp 2 x float32; y0[2, 2] = exp.float32(x0[2, 2]); t3[2] = mean.float32(y0[2, 2])"
        " axis=(1,); y1[2, 2] = matmul.float32(t3[2, 2]@0/1,0, y0[2, 2])",
        "t3: temp 2 x float32;"
        + fused(
            "t3[2]", "x0[2, 2], y0[2, 2]", "o1 = exp.float32 i0; o0 = mean.float32 o1", 2, "(1,)"
        )
        + "y1[2, 2] = matmul.float32(t3[2, 2]@0/1,0, y0[2, 2])",
    ),
    "with the sum of each column": (
        "t0[2, 2] = mul.float32(x0[2, 2], x0[2, 2]); y3[2] = sum.float32(t0[2, 2]) axis=(0,)",
        "",
    ),
    "with a sum that is read in another shape": (
        "t0[2, 2] = exp.float32(x0[2, 2]@0/1,2); y2[] = sum.float32(t0[4]) axis=(0,)",
        fused("y2[]", "x0[2, 2]@0/1,2", "r0 = exp.float32 i0; o0 = sum.float32 r0", axis="(0, 1)"),
    ),
    "with broadcasting, and without": (
        "t0[2, 2] = mul.float32(x0[2, 2], x1[2, 2]@0/0,1); y0[4] = add.float32(t0[4], x0[4])",
        fused(
            "y0[2, 2]", "x0[2, 2], x1[2, 2]@0/0,1", "r0 = mul.float32 i0 i1; o0 = add.float32 r0 i0"
        ),
    ),
    "the smaller one is not computed again and again": (
        "t3: temp 2 x float32; t3[2] = exp.float32(x1[2]);"
        "y0[2, 2] = add.float32(x0[2, 2], t3[2, 2]@0/0,1)",
        "",
    ),
    "with comparisons and casts": (
        "t3: temp 4 x float64; y4: output 4 x float64; b0[4] = lt.float32(x0[4], c0[4]@0/0);"
        "t0[4] = where.float32(b0[4], x0[4], c0[4]@0/0); t3[4] = cast.float32(t0[4]);"
        "y4[4] = exp.float64(t3[4])",
        "y4: output 4 x float64; y4[4] = fused.float64(x0[4], c0[4]@0/0)"
        " code='r0 = lt.float32 i0 i1; r1 = where.float32 r0 i0 i1; r2 = cast.float64 r1;"
        " o0 = exp.float64 r2' results=1 axis=()",
    ),
    "what others need is a result, too": (
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(t0[4]);"
        "y1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
        fused("y0[4]", "x0[4], t0[4]", "o1 = exp.float32 i0; o0 = neg.float32 o1", 2)
        + "y1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
    ),
    "two chains meet": (
        "t0[4] = exp.float32(x0[4]); t1[4] = neg.float32(s0[4]); y0[4] = add.float32(t0[4], t1[4])",
        fused(
            "y0[4]",
            "x0[4], s0[4]",
            "r0 = exp.float32 i0; r1 = neg.float32 i1; o0 = add.float32 r0 r1",
        ),
    ),
    "a copy is no instruction": (
        "t0[4] = copy.float32(x0[4]); t1[4] = exp.float32(t0[4]); y0[4] = neg.float32(t1[4])",
        fused("y0[4]", "x0[4]", "r0 = exp.float32 i0; o0 = neg.float32 r0"),
    ),
    "unless it is wanted": (
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(t0[4]); y1[4] = copy.float32(y0[4])",
        fused(
            "y1[4]",
            "x0[4], y0[4]",
            "r0 = exp.float32 i0; o0 = neg.float32 r0; o1 = copy.float32 o0",
            2,
        ),
    ),
    "one instruction and copies are one step": (
        "t0[2, 2] = copy.float32(x0[2, 2]@0/1,2); y0[4] = exp.float32(t0[4])",
        "y0[2, 2] = exp.float32(x0[2, 2]@0/1,2)",
    ),
}
ORDER = {
    "what stands between goes before": (
        "t0[4] = exp.float32(x0[4]); t1[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "t1[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]);"
        + fused("y0[4]", "x0[4], t1[4]", "r0 = exp.float32 i0; o0 = add.float32 r0 i1"),
    ),
    "or after": (
        "t0[4] = exp.float32(x0[4]); t1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]);"
        "t2[4] = neg.float32(t0[4]); y0[4] = maximum.float32(t2[4], x0[4]);"
        "y1[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
        fused(
            "y0[4]",
            "x0[4], t0[4]",
            "o1 = exp.float32 i0; r0 = neg.float32 o1; o0 = maximum.float32 r0 i0",
            2,
        )
        + "t1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]);"
        "y1[2, 2] = matmul.float32(t1[2, 2], x0[2, 2])",
    ),
    "it stands in the way": (
        "t0[4] = exp.float32(x0[4]); t1[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]);"
        "y0[4] = add.float32(t0[4], t1[4])",
        "",
    ),
    "the chain moves to where there is room": (
        "t0[4] = exp.float32(x0[4]); t1[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]);"
        "t2[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]); y0[4] = add.float32(t0[4], t1[4]);"
        "y1[2, 2] = matmul.float32(t2[2, 2], x0[2, 2])",
        "t1[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]);"
        + fused("y0[4]", "x0[4], t1[4], t0[4]", "o1 = exp.float32 i0; o0 = add.float32 o1 i1", 2)
        + "t2[2, 2] = matmul.float32(t0[2, 2], x0[2, 2]);"
        "y1[2, 2] = matmul.float32(t2[2, 2], x0[2, 2])",
    ),
}
HAZARDS = {
    "in place": (
        "t0[4] = exp.float32(s0[4]); s0[4] = add.float32(s0[4], t0[4])",
        fused("s0[4]", "s0[4]", "r0 = exp.float32 i0; o0 = add.float32 i0 r0"),
    ),
    "read before and after it is written": (
        "t0[4] = exp.float32(s0[4]); s0[4] = neg.float32(t0[4]); y0[4] = add.float32(t0[4], s0[4])",
        fused("y0[4]", "s0[4], s0[4]",
              "r0 = exp.float32 i0; o1 = neg.float32 r0; o0 = add.float32 r0 o1", 2),
    ),
    "written in between, by the product": (
        "t0[4] = exp.float32(s0[4]); s0[2, 2] = matmul.float32(x0[2, 2], x0[2, 2]);"
        "y0[4] = add.float32(t0[4], s0[4])",
        "",
    ),
    "read from its end": (
        "t0[4] = exp.float32(x0[4]); y0[4] = neg.float32(t0[4]@3/-1)",
        "",
    ),
    "written where another element was read": (
        "t0[4] = exp.float32(s0[4]@3/-1); s0[4] = neg.float32(t0[4])",
        "",
    ),
    "a part is written": (
        "t0[4] = exp.float32(s0[4]); s0[2] = neg.float32(t0[2]); y0[2] = add.float32(t0[2], s0[2])",
        "t0[4] = exp.float32(s0[4]);"
        + fused("y0[2]", "t0[2], s0[2]", "o1 = neg.float32 i0; o0 = add.float32 i0 o1", 2),
    ),
    "written twice": (
        "s0[4] = exp.float32(x0[4]); s0[4] = neg.float32(s0[4])",
        fused("s0[4]", "x0[4]", "r0 = exp.float32 i0; o0 = neg.float32 r0"),
    ),
    "a division that may be refused, into a temp": (
        "x2: input 4 x int32; x3: input 4 x int32; t3: temp 4 x int32; y4: output 4 x int32;"
        "t3[4] = bitwise_left_shift.int32(x2[4], x3[4]); y4[4] = neg.int32(t3[4])",
        "x2: input 4 x int32; x3: input 4 x int32; y4: output 4 x int32;"
        "y4[4] = fused.int32(x2[4], x3[4])"
        " code='r0 = bitwise_left_shift.int32 i0 i1; o0 = neg.int32 r0' results=1 axis=()",
    ),
    "but not into a state, of which half would be written": (
        "x2: input 4 x int32; x3: input 4 x int32; t3: temp 4 x int32; s3: state 4 x int32;"
        "t3[4] = bitwise_left_shift.int32(x2[4], x3[4]); s3[4] = neg.int32(t3[4])",
        "",
    ),
    "and not two, of which the second could be refused first": (
        "x2: input 4 x int32; x3: input 4 x int32; t3: temp 4 x int32; y4: output 4 x int32;"
        "t3[4] = bitwise_left_shift.int32(x2[4], x3[4]);"
        "y4[4] = bitwise_left_shift.int32(t3[4], x3[4])",
        "",
    ),
    "an index that may be refused stays before a state is written": (
        "x2: input 4 x int64; t0[4] = exp.float32(x0[4]); y1[4] = gather.float32(x0[4], x2[4])"
        " axis=0; s0[4] = add.float32(t0[4], y1[4])",
        "x2: input 4 x int64; y1[4] = gather.float32(x0[4], x2[4]) axis=0;"
        + fused("s0[4]", "x0[4], y1[4]", "r0 = exp.float32 i0; o0 = add.float32 r0 i1"),
    ),
    "a softmax has parameters": (
        "t0[4] = exp.float32(x0[4]); y0[4] = softmax.float32(t0[4]) axis=0",
        "",
    ),
    "what stood in the way is gone when the chain is one step": (
        "y0[4] = neg.float32(x0[4]); t1[2, 2] = matmul.float32(y0[2, 2], x0[2, 2]);"
        "b0[4] = lt.float32(t1[4], s0[4]); y1[4] = where.float32(b0[4], x0[4], s0[4]);"
        "b0[4] = eq.float32(y0[4], x0[4])",
        "y0[4] = fused.float32(x0[4]) code='o0 = neg.float32 i0; r0 = eq.float32 o0 i0'"
        " results=1 axis=(); t1[2, 2] = matmul.float32(y0[2, 2], x0[2, 2]);"
        + fused("y1[4]", "t1[4], s0[4], x0[4]",
                "r0 = lt.float32 i0 i1; o0 = where.float32 r0 i2 i1"),
    ),
    "nobody wants the end": (
        "t3: temp 1 x float32; t0[4] = exp.float32(x0[4]); t3[] = sum.float32(t0[4]) axis=(0,);"
        "y0[2, 2] = matmul.float32(t0[2, 2], x0[2, 2])",
        "",
    ),
    "nothing at all": (
        "x2: input 0 x float32; t3: temp 0 x float32; y4: output 0 x float32;"
        "t3[0] = exp.float32(x2[0]); y4[0] = neg.float32(t3[0])",
        "",
    ),
}  # fmt: skip
CASES = {**CHAINS, **ORDER, **HAZARDS}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_fuse(before: str, after: str) -> None:
    becomes(fuse, SLOTS + before, after and SLOTS + after)


def test_a_large_matrix_that_is_transposed_is_walked_by_its_own_kernel() -> None:
    """Which goes through it in squares; a chain goes row by row."""
    slots = "x0: input 40000 x float32; t0: temp 40000 x float32; t1: temp 40000 x float32;"
    slots += "y0: output 40000 x float32;"
    first = "t0[200, 200] = exp.float32(x0[200, 200]@0/1,200);"
    rest = "t1[40000] = neg.float32(t0[40000]); y0[40000] = abs.float32(t1[40000]);"
    done = fused("y0[40000]", "t0[40000]", "r0 = neg.float32 i0; o0 = abs.float32 r0")
    becomes(fuse, slots + first + rest, slots + first + done)


def test_a_chain_is_cut_where_one_call_takes_no_more_instructions() -> None:
    count = 3 * MOST_INSTRUCTIONS + 1
    slots = "".join(f"t{i}: temp 4 x float32;" for i in range(count))
    steps = "".join(f"t{i + 1}[4] = neg.float32(t{i}[4]);" for i in range(count - 1))
    what = "x0: input 4 x float32; y0: output 4 x float32;" + slots
    what += "t0[4] = exp.float32(x0[4]);" + steps + f"y0[4] = neg.float32(t{count - 1}[4])"
    made = fuse(program(what))
    assert [str(s.params["code"]).count(";") + 1 for s in made] == [MOST_INSTRUCTIONS] * 3 + [2]


def test_a_chain_is_cut_where_one_call_takes_no_more_operands() -> None:
    count = MOST_OPERANDS + 10
    slots = "".join(f"x{i}: input 4 x float32; t{i}: temp 4 x float32;" for i in range(count))
    steps = "".join(f"t{i}[4] = add.float32(t{i - 1}[4], x{i}[4]);" for i in range(1, count))
    what = slots + "y0: output 4 x float32; t0[4] = neg.float32(x0[4]);" + steps
    made = fuse(program(what + f"y0[4] = neg.float32(t{count - 1}[4])"))
    assert len(made) >= 2
    assert all(len(step.operands) <= MOST_OPERANDS for step in made)
