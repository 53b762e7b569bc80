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
    "convert",
]


# ---- chapter 1: bytes

FORMATS = {
    "bool": "?", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I",
    "int32": "i", "uint64": "Q", "int64": "q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


class Buffer:
    """A row of numbers of one dtype, kept as bytes."""

    def __init__(self, numbers, dtype="float32"):
        self.dtype, self.itemsize = dtype, struct.calcsize(FORMATS[dtype])
        self.raw = bytearray(len(numbers) * self.itemsize)
        self.write(0, numbers)

    def __len__(self):
        return len(self.raw) // self.itemsize

    def __getitem__(self, i):
        return self.read(i + len(self) if i < 0 else i, 1)[0]

    def __setitem__(self, i, value):
        self.write(i + len(self) if i < 0 else i, [value])

    def read(self, start, count):
        """`count` numbers, from position `start` on."""
        return struct.unpack_from(*self.place(start, count))

    def write(self, start, numbers):
        """Put `numbers` at position `start` and behind it."""
        place = self.place(start, len(numbers))
        try:
            struct.pack_into(*place, *numbers)
        except (struct.error, OverflowError):  # not all of them are numbers of this dtype
            struct.pack_into(*place, *[convert(x, self.dtype) for x in numbers])

    def place(self, start, count):
        """What struct must be told to find these positions; IndexError where there are none."""
        if not 0 <= start <= start + count <= len(self):
            raise IndexError(f"{count} from position {start} on, of {len(self)} numbers")
        return f"{count}{FORMATS[self.dtype]}", self.raw, start * self.itemsize


LIMITS = {"float16": 2**16 - 2**4, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


def convert(value, dtype):
    """`value` as dtype holds it: integers wrap; a float cut to an integer stays in range."""
    if dtype == "bool":
        return bool(value)
    if dtype in LIMITS:  # from there on, the nearest float is infinity
        end = math.inf if value > 0 else -math.inf
        return end if abs(value) >= LIMITS[dtype] else value
    bits = 8 * struct.calcsize(FORMATS[dtype])
    lowest = 0 if dtype.startswith("u") else -(2 ** (bits - 1))
    if isinstance(value, float):
        return 0 if math.isnan(value) else int(min(max(value, lowest), lowest + 2**bits - 1))
    return (value - lowest) % 2**bits + lowest
