import math
import struct


def bfloat16_bits(x):
    """The pattern of the bfloat16 nearest to a float, as an int from 0 to 65535."""
    sign = 0x8000 if math.copysign(1, x) < 0 else 0
    x = abs(x)
    if x != x:
        return sign | 0x7FC0
    # From this middle on, infinity is nearest; below, float32 holds every bfloat16 exactly.
    if x >= 2.0**128 - 2.0**119:
        return sign | 0x7F80

    def value(pattern):
        return struct.unpack("<f", struct.pack("<I", pattern << 16))[0]

    low, high = 0, 0x7F7F  # patterns are in order, so halve what is left
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if value(middle) <= x else (low, middle - 1)
    following = value(low + 1) if low < 0x7F7F else 2.0**128
    below, above = x - value(low), following - x
    return sign | (low + (above < below or (above == below and low % 2)))
