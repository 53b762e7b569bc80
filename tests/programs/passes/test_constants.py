"""What is known beforehand: small Programs before and after, and neutral numbers by their bits."""

from __future__ import annotations

import math
import struct

import pytest
from small import becomes, program

from tutor import Buffer
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.backends.step import Step, emit
from tutor.dtype import DType, float32
from tutor.programs.passes.constants import NEUTRAL, constants

SLOTS = """
    x0: input 4 x float32
    c0: constant 1 x float32 = 1
    c1: constant 1 x float32 = -0.0
    c2: constant 1 x float32 = 0.0
    c3: constant 4 x float32 = 1, 1, 1, 1
    c4: constant 1 x float32 = 3
    y0: output 4 x float32
"""
KEPT = "y0[4] = copy.float32(x0[4])"
CASES = {
    "times 1": ("y0[4] = mul.float32(x0[4], c0[4]@0/0)", KEPT),
    "1 times": ("y0[4] = mul.float32(c0[4]@0/0, x0[4])", KEPT),
    "divided by 1": ("y0[4] = div.float32(x0[4], c0[4]@0/0)", KEPT),
    "1 divided by": ("y0[4] = div.float32(c0[4]@0/0, x0[4])", ""),
    "minus 0": ("y0[4] = sub.float32(x0[4], c2[4]@0/0)", KEPT),
    "minus -0 makes +0 of -0": ("y0[4] = sub.float32(x0[4], c1[4]@0/0)", ""),
    "0 minus": ("y0[4] = sub.float32(c2[4]@0/0, x0[4])", ""),
    "plus -0": ("y0[4] = add.float32(x0[4], c1[4]@0/0)", KEPT),
    "plus 0 makes +0 of -0": ("y0[4] = add.float32(x0[4], c2[4]@0/0)", ""),
    "four numbers are not looked at": ("y0[4] = mul.float32(x0[4], c3[4])", ""),
    "but one of them is": ("y0[4] = mul.float32(x0[4], c3[4]@2/0)", KEPT),
    "a constant of two": (
        "t0: temp 1 x float32; t0[] = mul.float32(c4[], c4[]);"
        "y0[4] = add.float32(x0[4], t0[4]@0/0)",
        "c5: constant 1 x float32 = 9; y0[4] = add.float32(x0[4], c5[4]@0/0)",
    ),
    "of many equal numbers": (
        "t0: temp 4 x float32; t0[4] = neg.float32(c4[4]@0/0); y0[2, 2] = add.float32("
        "x0[2, 2], t0[2, 2])",
        "c5: constant 1 x float32 = -3; y0[2, 2] = add.float32(x0[2, 2], c5[2, 2]@0/0,0)",
    ),
    "what was filled": (
        "t0: temp 4 x float32; t0[4] = fill.float32() value=2.5;"
        "y0[4] = sub.float32(x0[4], t0[4]@3/-1)",
        "c5: constant 1 x float32 = 2.5; y0[4] = sub.float32(x0[4], c5[4]@0/0)",
    ),
    "what was filled is changed afterwards": (
        "t0: temp 4 x float32; t0[4] = fill.float32() value=2.5; "
        "t0[1]@1/1 = neg.float32(x0[1]@0/1);"
        "y0[4] = sub.float32(x0[4], t0[4])",
        "",
    ),
    "what was filled is wanted": ("y0[4] = fill.float32() value=2.5", ""),
    "one after another": (
        "t0: temp 1 x float32; t1: temp 1 x float32; t0[] = fill.float32() value=0.5;"
        "t1[] = add.float32(t0[], t0[]); y0[4] = mul.float32(t1[4]@0/0, x0[4])",
        KEPT,
    ),
    "a kernel that may differ between backends is left to the backend": (
        "t0: temp 1 x float32; t0[] = exp.float32(c4[]); y0[4] = add.float32(x0[4], t0[4]@0/0)",
        "",
    ),
    "an input of one number is no constant": (
        "x1: input 1 x float32; y0[4] = mul.float32(x0[4], x1[4]@0/0)",
        "",
    ),
    "bools: and true, or false": (
        "x1: input 4 x bool; c6: constant 1 x bool = True; c7: constant 1 x bool = False;"
        "y1: output 4 x bool; y2: output 4 x bool; y1[4] = mul.bool(x1[4], c6[4]@0/0);"
        "y2[4] = add.bool(c7[4]@0/0, x1[4])",
        "x1: input 4 x bool; y1: output 4 x bool; y2: output 4 x bool;"
        "y1[4] = copy.bool(x1[4]); y2[4] = copy.bool(x1[4])",
    ),
    "integers: plus 0": (
        "x1: input 4 x int32; c6: constant 1 x int32 = 0; y1: output 4 x int32;"
        "y1[4] = add.int32(x1[4], c6[4]@0/0)",
        "x1: input 4 x int32; y1: output 4 x int32; y1[4] = copy.int32(x1[4])",
    ),
    "a number that a division of integers would refuse stays": (
        "c6: constant 1 x int32 = 0; t0: temp 1 x int32; y1: output 1 x int32;"
        "t0[] = sub.int32(c6[], c6[]); y1[] = copy.int32(c6[])",
        "c6: constant 1 x int32 = 0; y1: output 1 x int32; y1[] = copy.int32(c6[])",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_constants(before: str, after: str) -> None:
    becomes(constants, SLOTS + before, after and SLOTS + after)


def test_a_division_that_will_be_refused_is_not_run_before() -> None:
    text = """
        c0: constant 1 x int32 = 0
        t0: temp 1 x int32
        t0[] = floor_divide.int32(c0[], c0[])
    """
    assert len(constants(program(text))) == 1


BITS = [0x00000000, 0x80000000, 0x3F800000, 0xBF800001, 0x7F800000, 0xFF800000, 0x00000001,
        0x80000001, 0x7F7FFFFF, 0x42280000]  # fmt: skip


@pytest.mark.parametrize("kernel", NEUTRAL)
def test_the_neutral_number_leaves_every_bit(kernel: str, backend: str) -> None:
    numbers = Buffer([struct.unpack("f", struct.pack("I", b))[0] for b in BITS], dtype=float32)
    for position, number in NEUTRAL[kernel]:
        ins = [Operand(numbers, (len(BITS),), (1,), 0)] * 2
        ins[position - 1] = Operand(Buffer([number], dtype=float32), (len(BITS),), (0,), 0)
        out = Operand(Buffer.empty(len(BITS), float32), (len(BITS),), (1,), 0)
        emit(Step(kernel, float32, out, tuple(ins)))
        assert bytes(out.buf.raw.cast("B")) == bytes(numbers.raw.cast("B"))


def test_the_other_zero_is_not_neutral() -> None:
    """What the table must tell apart: -0 + 0 is +0."""
    x = Buffer([-0.0], dtype=float32)
    out = Operand(Buffer.empty(1, float32), (), (), 0)
    emit(Step("add", float32, out, (Operand(x, (), (), 0), Operand(Buffer([0.0]), (), (), 0))))
    assert math.copysign(1, out.buf[0]) == 1


def test_every_kernel_in_the_table_takes_two_of_one_dtype() -> None:
    assert all(SIGNATURES[kernel].types == "TTT" for kernel in NEUTRAL)
    assert isinstance(float32, DType)
