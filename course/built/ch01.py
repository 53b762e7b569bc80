"""What the learner has built by the end of chapter 1.

Generated from the chapters' kept cells by `python -m tutor chapters build`. Change the
chapter, never this file.
"""

import math
import struct

__all__ = [
    "FORMATS",
    "LIMITS",
    "Buffer",
    "as_integer",
    "convert",
    "pack",
    "unpack",
]


# ---- chapter 1: bytes

FORMATS = {
    "bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


def unpack(raw, dtype):
    """The numbers of some bytes, as a tuple."""
    return struct.unpack(f"{len(raw) // struct.calcsize(FORMATS[dtype])}{FORMATS[dtype]}", raw)


class Buffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(pack(numbers, dtype))

    def __len__(self):
        return len(self.raw) // self.itemsize

    def place(self, start, count):
        """Where in `raw` these numbers are; IndexError where they are not."""
        if not 0 <= start <= start + count <= len(self):
            raise IndexError(f"{count} from position {start} on, of {len(self)} numbers")
        return slice(start * self.itemsize, (start + count) * self.itemsize)

    def read(self, start, count):
        """`count` numbers, from position `start` on."""
        return unpack(self.raw[self.place(start, count)], self.dtype)

    def write(self, start, numbers):
        """Put `numbers` at position `start` and behind it."""
        self.raw[self.place(start, len(numbers))] = pack(numbers, self.dtype)

    def __getitem__(self, i):
        return self.read(i + len(self) if i < 0 else i, 1)[0]

    def __setitem__(self, i, value):
        self.write(i + len(self) if i < 0 else i, [value])


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


LIMITS = {"float16": 2**16 - 2**4, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


def convert(value, dtype):
    """`value`, an int or a float, as any of the twelve dtypes holds it, but for rounding."""
    if dtype == "bool":
        return bool(value)
    if dtype not in LIMITS:
        return as_integer(value, dtype)
    if abs(value) >= LIMITS[dtype]:  # from there on, the nearest float is infinity
        return math.inf if value > 0 else -math.inf
    return value


def pack(numbers, dtype):
    """The bytes of some numbers; those that do not fit the dtype are converted."""
    layout = f"{len(numbers)}{FORMATS[dtype]}"
    try:
        return struct.pack(layout, *numbers)
    except (struct.error, OverflowError):
        return struct.pack(layout, *[convert(x, dtype) for x in numbers])
