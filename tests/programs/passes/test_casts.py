"""Casts that undo each other: small Programs before and after; each three dtypes by their bits."""

from __future__ import annotations

import itertools
import struct

import pytest
from small import becomes

from tutor import Buffer
from tutor.backends.registry import Operand
from tutor.backends.step import Step, emit
from tutor.dtype import TABLE, DType, bool_
from tutor.programs.passes.casts import casts, holds, one_cast_does

SLOTS = """
    x0: input 4 x float16
    s0: state 4 x float16
    t0: temp 4 x float32
    y0: output 4 x float16
    y1: output 4 x float64
"""
CASES = {
    "there and back": (
        "t0[4] = cast.float16(x0[4]); y0[4] = cast.float32(t0[4])",
        "t0[4] = cast.float16(x0[4]); y0[4] = copy.float16(x0[4])",
    ),
    "and further": (
        "t0[4] = cast.float16(x0[4]); y1[4] = cast.float32(t0[4])",
        "t0[4] = cast.float16(x0[4]); y1[4] = cast.float16(x0[4])",
    ),
    "another way through it": (
        "t0[2, 2] = cast.float16(x0[2, 2]@0/1,2); y0[4] = cast.float32(t0[4]@3/-1);"
        "y1[2] = cast.float32(t0[2])",
        "t0[2, 2] = cast.float16(x0[2, 2]@0/1,2); y0[4] = cast.float32(t0[4]@3/-1);"
        "y1[2] = cast.float16(x0[2]@0/2)",
    ),
    "to a dtype that it has": (
        "y0[4] = cast.float16(x0[4])",
        "y0[4] = copy.float16(x0[4])",
    ),
    "the first one rounds": (
        "x1: input 4 x float32; t1: temp 4 x float16; y2: output 4 x float32;"
        "t1[4] = cast.float32(x1[4]); y2[4] = cast.float16(t1[4])",
        "",
    ),
    "changed in between": (
        "t0[4] = cast.float16(s0[4]); s0[4] = neg.float16(x0[4]); y0[4] = cast.float32(t0[4])",
        "",
    ),
    "the cast number is changed": (
        "t0[4] = cast.float16(x0[4]); t0[1] = neg.float32(t0[1]); y0[4] = cast.float32(t0[4])",
        "",
    ),
    "back to where it came from": (
        "t0[4] = cast.float16(s0[4]); s0[4] = cast.float32(t0[4])",
        "t0[4] = cast.float16(s0[4]); s0[4] = copy.float16(s0[4])",
    ),
    "back, but the other way round": (
        "t0[4] = cast.float16(s0[4]@3/-1); s0[4] = cast.float32(t0[4])",
        "",
    ),
    "three in a row": (
        "x1: input 4 x int8; t1: temp 4 x int16; t2: temp 4 x int64; y2: output 4 x uint8;"
        "t1[4] = cast.int8(x1[4]); t2[4] = cast.int16(t1[4]); y2[4] = cast.int64(t2[4])",
        "x1: input 4 x int8; t1: temp 4 x int16; t2: temp 4 x int64; y2: output 4 x uint8;"
        "t1[4] = cast.int8(x1[4]); t2[4] = cast.int8(x1[4]); y2[4] = cast.int8(x1[4])",
    ),
    "-1 as a float is cut, and as an integer wraps": (
        "x1: input 4 x int8; y2: output 4 x uint8; t0[4] = cast.int8(x1[4]);"
        "y2[4] = cast.float32(t0[4])",
        "",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_casts(before: str, after: str) -> None:
    becomes(casts, SLOTS + before, after and SLOTS + after)


# ---- which casts may be left out -----------------------------------------------------------------


def numbers(dtype: DType) -> Buffer:
    """All numbers of 8 or 16 bits; of others the ends, what is near them, and some between."""
    bits = 8 * dtype.itemsize
    if dtype is bool_:
        return Buffer([False, True])
    if bits <= 16:
        patterns = list(range(2**bits))
    else:
        near = [2**k + d for k in range(bits) for d in (-3, -1, 0, 1, 5)]
        patterns = [p % 2**bits for p in [*near, *(-p for p in near)]]
    if dtype.is_float:  # no NaN: its payload is nobody's
        exponent = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF << 52}[dtype.itemsize]
        exponent = 0x7F80 if dtype.name == "bfloat16" else exponent
        mantissa = exponent & -exponent
        patterns = [p for p in patterns if p & exponent != exponent or not p & (mantissa - 1)]
    found = Buffer.empty(len(patterns), dtype)
    letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[dtype.itemsize]
    found.raw.cast("B")[:] = struct.pack(f"{len(patterns)}{letter}", *patterns)
    return found


def cast(x: Buffer, to: DType) -> Buffer:
    out = Buffer.empty(len(x), to)
    walks = [Operand(buf, (len(x),), (1,), 0) for buf in (out, x)]
    emit(Step("cast", x.dtype, walks[0], (walks[1],)))
    return out


def bits(x: Buffer) -> bytes:
    return bytes(x.raw.cast("B"))


@pytest.mark.parametrize("a", TABLE, ids=lambda d: d.name)
def test_one_cast_does_what_two_did(a: DType) -> None:
    x = numbers(a)
    for b, c in itertools.product(TABLE, TABLE):
        if one_cast_does(a, b, c):
            assert bits(cast(cast(x, b), c)) == bits(cast(x, c)), f"{a} -> {b} -> {c}"


@pytest.mark.parametrize("a", TABLE, ids=lambda d: d.name)
def test_a_dtype_holds_another_if_its_numbers_come_back(a: DType) -> None:
    """Both ways: where it is said that all of them do, and where it is said that some do not."""
    x = numbers(a)
    for b in TABLE:
        comes_back = bits(cast(cast(x, b), a)) == bits(x)
        if holds(b, a):
            assert comes_back, f"{b} does not hold {a}"
        elif {a.kind, b.kind} != {"int", "uint"}:  # which wrap, and wrap back
            assert not comes_back, f"{b} holds {a}"
