"""Some inputs out of all: those that every run of the tests tries."""

from __future__ import annotations

import functools
import math
from array import array


@functools.cache
def sample(itemsize: int, operands: int) -> array[int]:
    """The numbers of inputs chosen on purpose, always the same: all of one operand of 16 bits.

    Of float32 both ends of each power of two, with either sign, some in between, and what lies
    around the places where formulas change over: multiples of pi/4, of ln(2)/2 and of 1/16. Of
    pairs every fifth x with a few y, and others at random.
    """
    if itemsize * operands == 2:
        return array("I", range(2**16))
    random = 1
    found = array("I")

    def draw() -> int:  # the generator of Numerical Recipes: 32 bits, the upper ones good enough
        nonlocal random
        random = (1664525 * random + 1013904223) % 2**32
        return random >> 8

    if operands == 2:
        some = [0x0000, 0x8000, 0x0001, 0x3C00, 0xBC00, 0x3F80, 0x4248, 0x7C00, 0x7F80, 0xFF80]
        some += [0x7FC0]  # zeros, 1 or near it, pi, inf and nan, of one of the dtypes
        found.extend(x << 16 | y for y in some for x in range(0, 2**16, 5))
        found.extend((draw() & 0xFFFF) << 16 | draw() & 0xFFFF for _ in range(2**17))
        return found
    ends = [*range(24), *range(2**23 - 24, 2**23)]
    for power in range(0, 2**32, 2**23):
        found.extend(power + end for end in ends)
        found.extend(power + (draw() & 0x7FFFFF) for _ in range(208))
    special = [k * unit for k in range(1, 512) for unit in (math.pi / 4, math.log(2) / 2, 1 / 16)]
    special += [51471.0, 51472.0, math.sqrt(0.5), math.tan(math.pi / 8), 88.72284, 103.97208]
    for number in special:
        bits = memoryview(array("f", [number])).cast("B").cast("I")[0]
        found.extend(sign + bits + near for sign in (0, 2**31) for near in range(-8, 9))
    return found
