"""Numbers to bytes of a dtype, and back: `struct`, plus two things it lacks.

Numbers beyond a float's range become infinite, as in IEEE 754 rounding, where struct raises. And
bfloat16, which struct does not know, is float32 without its lower half.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, Literal

from tutor.dtype import DType, bfloat16, float32

# item size -> the unsigned integer that holds its bits
UNSIGNED: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


def pack(numbers: Sequence[Any], dtype: DType) -> bytes:
    """`numbers` as adjacent bytes; floats round to nearest even, integers must be in range."""
    if dtype is bfloat16:
        words = [_upper_half(number) for number in numbers]
        return struct.pack(f"={len(words)}H", *words)
    try:
        return struct.pack(f"={len(numbers)}{dtype.format}", *numbers)
    except (OverflowError, struct.error):
        if not dtype.is_float:
            raise
        return b"".join(_pack_float(number, dtype) for number in numbers)


def unpack(raw: bytes | memoryview, dtype: DType) -> list[Any]:
    """The numbers that these bytes encode."""
    count = len(raw) // dtype.itemsize
    if dtype is bfloat16:
        words = struct.unpack(f"={count}H", raw)
        raw, dtype = struct.pack(f"={count}I", *[word << 16 for word in words]), float32
    return list(struct.unpack(f"={count}{dtype.format}", raw))


def _pack_float(number: float, dtype: DType) -> bytes:
    try:
        return struct.pack("=" + dtype.format, number)
    except (OverflowError, struct.error):
        return struct.pack("=" + dtype.format, math.inf if number > 0 else -math.inf)


def _upper_half(number: float) -> int:
    """The 16 bits of the bfloat16 nearest to `number`.

    Going through float32 would round twice. Instead, count in units of the last of bfloat16's 8
    bits, which `round` does exactly, to even: the float32 of the result is already a bfloat16.
    """
    if 0 < abs(number) < 1e300:  # neither infinite nor nan
        unit = max(math.frexp(number)[1] - 8, -133)
        size = math.ldexp(round(math.ldexp(abs(number), -unit)), unit)
        number = math.copysign(size, number)  # also if it has rounded to 0
    bits: int = struct.unpack("=I", _pack_float(number, float32))[0]
    quiet = 0x40 if number != number else 0  # a nan must not lose all of its bits
    return bits >> 16 | quiet
