"""The bits of a float: every one is drawn, and the parts make the number again."""

import math
import struct

import pytest
from drawn import check, fills, words

from tutor import Tensor, viz
from tutor.errors import DTypeError
from tutor.viz.floats import take_apart

NUMBERS = (0.0, -0.0, 0.1, 1.0, -6.0, 65504.0, 1e-42, -5e-324, 1e300, -1e300, math.inf, math.nan)
SIZES = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("x", NUMBERS)
def test_the_parts_are_those_of_the_number_that_a_tensor_holds(x, dtype):
    held = Tensor(x, dtype=dtype).item()
    parts = take_apart(x, dtype)
    assert struct.pack("d", parts.value) == struct.pack("d", held)  # also nan, and the sign of 0
    if not parts.special:
        significand = parts.leading + parts.fraction / 2**parts.fraction_bits
        assert math.ldexp((-1) ** parts.sign * significand, parts.power) == held


@pytest.mark.parametrize("dtype", SIZES)
def test_every_bit_is_drawn_in_the_colour_of_its_part(dtype):
    p = check(viz.bits(-0.1, dtype))
    drawn = [len(fills(p, f"{color} wash")) for color in ("pink", "green", "blue")]
    assert drawn == [1, *SIZES[dtype]]
    shown = [word for word in words(p) if word in ("0", "1")]
    assert "".join(shown) == "".join(take_apart(-0.1, dtype).digits())


def test_the_bits_are_those_of_the_bytes():
    p = viz.bits(0.1, "float32", "float64")
    (pattern,) = struct.unpack("I", struct.pack("f", 0.1))
    (wide,) = struct.unpack("Q", struct.pack("d", 0.1))
    shown = "".join(word for word in words(p) if word in ("0", "1"))
    assert shown == f"{pattern:032b}{wide:064b}"


def test_the_words_say_how_the_number_is_made():
    times, minus = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"
    shown = words(check(viz.bits(-6.0)))
    assert f"129 {minus} 127 = 2" in shown and "1 + 4194304 / 2²³ = 1.5" in shown
    assert f"{minus} 1.5 {times} 2² = {minus}6.0" in shown
    assert f"0 stands for {minus}126, with 0 before the point" in words(check(viz.bits(1e-42)))
    assert "nan, which is not a number" in words(check(viz.bits(math.nan, "float16")))
    assert f"{minus} infinity" in words(check(viz.bits(-1e9, "float16")))
    assert str(viz.bits(1, "float16")) == f"float16: 0 01111 0000000000  + 1 {times} 2⁰ = 1.0"


def test_bits_refuses_what_is_no_float():
    with pytest.raises(DTypeError, match="it is no float"):
        viz.bits(1.0, "int32")
    with pytest.raises(DTypeError, match="no number"):
        viz.bits("1.0")
    with pytest.raises(DTypeError, match="no number"):
        viz.bits(Tensor(1.0))
