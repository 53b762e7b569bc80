"""A relu in the product before it: small Programs before and after, and its bits."""

from __future__ import annotations

import struct

import pytest
from small import becomes

from tutor import Buffer
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.dtype import DType, bfloat16, float16, float32, float64
from tutor.programs.passes.epilogue import epilogue

SLOTS = """
    x0: input 4 x float32
    s0: state 4 x float32
    s1: state 2 x float32
    t0: temp 4 x float32
    t1: temp 4 x float32
    y0: output 4 x float32
    y1: output 4 x float32
"""
LAYER = "t0[2, 2] = linear.float32(x0[2, 2], s0[2, 2], s1[2]) relu=False;"
DONE = "= linear.float32(x0[2, 2], s0[2, 2], s1[2]) relu=True;"
CASES = {
    "a relu after a layer": (
        LAYER + "t1[2, 2] = relu.float32(t0[2, 2]); y0[2, 2] = neg.float32(t1[2, 2])",
        f"t1[2, 2] {DONE} y0[2, 2] = neg.float32(t1[2, 2])",
    ),
    "its result is wanted": (LAYER + "y0[2, 2] = relu.float32(t0[2, 2])", f"y0[2, 2] {DONE}"),
    "and its derivative": (
        LAYER + "t1[2, 2] = relu.float32(t0[2, 2]); y0[2, 2] = relu_grad.float32(x0[2, 2],"
        "t1[2, 2])",
        f"t1[2, 2] {DONE} y0[2, 2] = relu_grad.float32(x0[2, 2], t1[2, 2])",
    ),
    "somebody else reads what stands before it": (
        LAYER + "y0[2, 2] = relu.float32(t0[2, 2]); y1[2, 2] = neg.float32(t0[2, 2])",
        "",
    ),
    "what stands before it is wanted": (
        "y1[2, 2] = linear.float32(x0[2, 2], s0[2, 2], s1[2]) relu=False;"
        "y0[2, 2] = relu.float32(y1[2, 2])",
        "",
    ),
    "of a part": (LAYER + "y0[2]@0/1 = relu.float32(t0[2]@0/1)", ""),
    "of its columns": (LAYER + "y0[2, 2] = relu.float32(t0[2, 2]@0/1,2)", ""),
    "it has one": (
        "t0[2, 2] = linear.float32(x0[2, 2], s0[2, 2], s1[2]) relu=True;"
        "y0[2, 2] = relu.float32(t0[2, 2])",
        "",
    ),
    "the result is a state, read in between": (
        LAYER + "y0[2, 2] = neg.float32(s2[2, 2]); s2[2, 2] = relu.float32(t0[2, 2])",
        "y0[2, 2] = neg.float32(s2[2, 2]); s2[2, 2] " + DONE,
    ),
    "the weight moves in between, so it is done before": (
        LAYER + "s0[4] = neg.float32(s0[4]); y0[2, 2] = relu.float32(t0[2, 2])",
        f"y0[2, 2] {DONE} s0[4] = neg.float32(s0[4])",
    ),
    "the weight moves, and the result has no place yet": (
        LAYER + "y0[2, 2] = neg.float32(s2[2, 2]); s0[4] = neg.float32(s0[4]);"
        "s2[2, 2] = relu.float32(t0[2, 2])",
        "",
    ),
    "the result goes to what the layer reads": (LAYER + "x0[2, 2] = relu.float32(t0[2, 2])", ""),
    "of another shape": (
        LAYER + "y0[4] = relu.float32(t0[4])",
        f"y0[2, 2] {DONE}",
    ),
    "a relu after a product without bias": (
        "t0[2, 2] = matmul.float32(x0[2, 2], s0[2, 2]); y0[2, 2] = relu.float32(t0[2, 2])",
        "",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_epilogue(before: str, after: str) -> None:
    slots = SLOTS + "s2: state 4 x float32;"
    becomes(epilogue, slots + before, after and slots + after)


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_bits_of_a_layer_with_its_relu(dtype: DType, count: int, backend: str) -> None:
    """With zeros of both signs, infinities, NaN, and sums that round to 0 from either side."""
    inf, tiny = float("inf"), 2.0 ** {float16: -20, bfloat16: -130, float32: -140}.get(dtype, -1060)
    x = [0.0, -0.0, 1.0, -1.0, tiny, -tiny, inf, -inf, float("nan"), 0.3, -0.7, 2.0**-13]
    rows = [[a, b] for a in x for b in x]
    w = [[(-1.0) ** j * 2.0 ** -(j % 9), 1.0 - j] for j in range(count)]
    b = [(-0.0, 0.0, 0.25, -tiny / 2)[j % 4] for j in range(count)]
    ins = (operand(rows, dtype), operand(w, dtype), operand([b], dtype, (count,)))
    once, twice, mid = (operand([[0.0] * count] * len(rows), dtype) for _ in range(3))
    emit(Step("linear", dtype, once, ins, {"relu": True}))
    emit(Step("linear", dtype, mid, ins, {"relu": False}))
    emit(Step("relu", dtype, twice, (mid,)))
    found = [repr(z.buf.tolist()) for z in (once, twice)]
    assert found[0] == found[1]
    assert "nan" in found[0] and "inf" in found[0]
    assert not any(struct.pack("d", z)[7] & 0x80 for z in once.buf.tolist() if z == z)


def operand(rows: list[list[float]], dtype: DType, shape: tuple[int, ...] = ()) -> Operand:
    shape = shape or (len(rows), len(rows[0]))
    buf = Buffer([number for row in rows for number in row], dtype=dtype)
    strides = (shape[1], 1) if len(shape) == 2 else (1,)
    return Operand(buf, shape, strides, 0)
