import math
import struct


def as_integer(value, dtype):
    """`value` as an integer dtype holds it: an int wraps, a float is cut and stays in range."""
    bits = 8 * struct.calcsize(FORMATS[dtype])
    lowest = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    highest = lowest + 2**bits - 1
    if isinstance(value, int):
        return (value - lowest) % 2**bits + lowest
    if math.isnan(value):
        return 0
    return int(min(max(value, lowest), highest))
