"""The bits of a float: sign, exponent, fraction, and how they make up the number."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from tutor import dtype as dtypes
from tutor._storage import bits
from tutor._util.typing import DTypeLike
from tutor.dtype import LAYOUTS, DType
from tutor.errors import DTypeError
from tutor.viz.svg import TIMES, Picture, rect, text, width_of

MARGIN, GROUP = 22, 8  # around the picture; between sign, exponent, fraction
PARTS = (("sign", "pink"), ("exponent", "green"), ("fraction", "blue"))
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS = "\N{MINUS SIGN}"


class Parts(NamedTuple):
    """A float taken apart: (-1)^sign * significand * 2^power, unless the exponent is `special`."""

    dtype: DType
    sign: int
    exponent: int  # as stored
    fraction: int
    exponent_bits: int
    fraction_bits: int

    @property
    def value(self) -> float:
        raw = self.sign << self.exponent_bits + self.fraction_bits
        raw |= self.exponent << self.fraction_bits | self.fraction
        number: float = bits.unpack(raw.to_bytes(self.dtype.itemsize, sys.byteorder), self.dtype)[0]
        return number

    @property
    def bias(self) -> int:
        """The difference between stored and true exponent, so that the stored one has no sign."""
        return (1 << self.exponent_bits - 1) - 1

    @property
    def special(self) -> bool:
        """Whether all bits of the exponent are 1: infinity or nan."""
        return self.exponent == (1 << self.exponent_bits) - 1

    @property
    def leading(self) -> int:
        """The digit before the point: 1, or 0 for the (subnormal) numbers closest to zero."""
        return int(self.exponent > 0)

    @property
    def power(self) -> int:
        return max(self.exponent, 1) - self.bias

    def digits(self) -> tuple[str, str, str]:
        """The bits of sign, exponent and fraction, highest first."""
        exponent = f"{self.exponent:0{self.exponent_bits}b}"
        return str(self.sign), exponent, f"{self.fraction:0{self.fraction_bits}b}"


def take_apart(x: float, dtype: DTypeLike) -> Parts:
    """The float of `dtype` closest to `x`, as its parts. DTypeError for other dtypes."""
    kind = dtypes.of(dtype)
    if not kind.is_float:
        floats = ", ".join(other.name for other in dtypes.TABLE if other.is_float)
        raise DTypeError(f"the parts of a {kind.name}", "it is no float",
                         f"name one of {floats}")  # fmt: skip
    if not isinstance(x, (int, float)):
        raise DTypeError(f"the bits of {type(x).__name__} as {kind.name}", "it is no number",
                         "give an int or a float; for a Tensor of one, x.item()")  # fmt: skip
    fraction_bits = LAYOUTS[kind.format][0]
    exponent_bits = 8 * kind.itemsize - 1 - fraction_bits
    pattern = int.from_bytes(bits.pack([x], kind), sys.byteorder)
    upper, fraction = divmod(pattern, 2**fraction_bits)
    sign, exponent = divmod(upper, 2**exponent_bits)
    return Parts(kind, sign, exponent, fraction, exponent_bits, fraction_bits)


def words_for(parts: Parts) -> tuple[str, str, str, str]:
    """The meanings of sign, exponent and fraction, and the number that they form."""
    sign = "+" if not parts.sign else MINUS
    ones = f"all {parts.exponent_bits} bits are 1"
    if parts.special and parts.fraction:
        return sign, ones, "not 0", "nan, which is not a number"
    if parts.special:
        return sign, ones, "0", f"{sign} infinity"
    exponent = f"{parts.exponent} {MINUS} {parts.bias} = {parts.power}".replace("-", MINUS)
    if not parts.leading:
        exponent = f"0 stands for {parts.power}, with 0 before the point".replace("-", MINUS)
    digits = {7: 4, 10: 5, 23: 9}.get(parts.fraction_bits, 17)
    significand = parts.leading + parts.fraction / 2**parts.fraction_bits
    shown = f"{significand:.{digits}g}"
    raised = str(parts.fraction_bits).translate(RAISED)
    fraction = f"{parts.leading} + {parts.fraction} / 2{raised} = {shown}"
    power = str(parts.power).translate(RAISED)
    value = repr(parts.value).replace("-", MINUS, int(parts.value < 0))
    return sign, exponent, fraction, f"{sign} {shown} {TIMES} 2{power} = {value}"


def bits_of(x: float, *formats: DTypeLike) -> Picture:
    """The bits of `x` in each of `formats`, names of float dtypes (default: "float32").

    A float is (-1)^sign * (1 + fraction / 2^bits) * 2^(exponent - bias), as in IEEE 754. The
    picture shows the float closest to `x`. Raises DTypeError for a dtype that is not a float, or
    an `x` that is not a number.

        >>> bits_of(0.1, "float16", "float32")
        <Picture 'the bits of 0.1 as float16, float32'>
    """
    taken = [take_apart(x, name) for name in formats or ("float32",)]
    drawn: list[str] = []
    widths, y = [0.0], 14.0
    for parts in taken:
        cell = 19 if parts.dtype.itemsize <= 4 else 14
        drawn.append(text(MARGIN, y + 18, parts.dtype.name, 14, weight=600))
        left, y = float(MARGIN), y + 30
        for (_, color), digits in zip(PARTS, parts.digits(), strict=True):
            for digit in digits:
                drawn.append(rect(left + 1, y, cell - 2, 28, f"{color} wash", rx=3))
                drawn.append(text(left + cell / 2, y + 19, digit, 13, color, "middle", mono=True))
                left += cell
            left += GROUP
        widths.append(left - GROUP)
        y += 48
        *said, number = words_for(parts)
        for (name, color), words in zip(PARTS, said, strict=True):
            drawn.append(text(MARGIN, y, name, 13, color, weight=600))
            drawn.append(text(MARGIN + 84, y, words, 13, mono=True))
            widths.append(MARGIN + 84 + width_of(words, 13, mono=True))
            y += 20
        drawn.append(text(MARGIN, y, "number", 13, weight=600))
        drawn.append(text(MARGIN + 84, y, number, 13, mono=True))
        widths.append(MARGIN + 84 + width_of(number, 13, mono=True))
        y += 22
    names = ", ".join(parts.dtype.name for parts in taken)
    wide, tall = math.ceil(max(widths) + MARGIN), math.ceil(y)
    words = "\n".join(
        f"{parts.dtype.name}: {' '.join(parts.digits())}  {words_for(parts)[3]}" for parts in taken
    )
    return Picture("".join(drawn), wide, tall, f"the bits of {x!r} as {names}", words=words)
