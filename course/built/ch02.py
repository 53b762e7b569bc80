"""What the learner has built by the end of chapter 2.

Generated from the chapters' kept cells by `python -m tutor chapters build`. Change the
chapter, never this file.
"""

import math
import struct

__all__ = [
    "FORMATS",
    "LIMITS",
    "Buffer",
    "Tensor",
    "as_integer",
    "contiguous",
    "convert",
    "flatten",
    "pack",
    "permute",
    "reshape",
    "strides_for",
    "transpose",
    "unpack",
    "zeros",
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


# ---- chapter 2: shape, strides, offset


def strides_for(shape):
    """The strides of numbers that lie row by row: the last axis steps by 1."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def flatten(data):
    """Nested lists as one flat list, and their shape."""
    if not isinstance(data, list | tuple):
        return [data], ()
    rows = [flatten(row) for row in data]
    shapes = {shape for _, shape in rows}
    if len(shapes) > 1:
        raise ValueError(f"rows of different shapes: {sorted(shapes)}")
    return [x for row, _ in rows for x in row], (len(data), *(shapes.pop() if shapes else ()))


class Tensor:
    """A Buffer plus walking instructions: shape, strides and offset."""

    def __init__(
        self, data, shape=None, strides=None, offset=0, dtype="float32", requires_grad=False
    ):
        if not hasattr(data, "raw"):  # no Buffer: a number, or nested lists
            numbers, shape = flatten(data)
            data = Buffer(numbers, dtype)
        self.buf, self.offset = data, offset
        self.shape = (len(data),) if shape is None else tuple(shape)
        self.strides = strides_for(self.shape) if strides is None else tuple(strides)
        self.requires_grad, self.grad, self.op = requires_grad, None, None
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        first, last = (offset + sum(f(r, 0) for r in reach) for f in (min, max))
        if self.numel() and not 0 <= first <= last < len(data):
            raise IndexError(f"positions {first} to {last} of a Buffer of {len(data)} numbers")

    def numel(self):
        return math.prod(self.shape)

    def is_contiguous(self):
        """Whether the elements lie row by row. An axis of size 1 is never walked."""
        steps = zip(self.shape, self.strides, strides_for(self.shape), strict=True)
        return all(size == 1 or stride == wanted for size, stride, wanted in steps)

    def positions(self):
        """Where the elements stand in the Buffer, the last axis fastest."""
        found = [self.offset]
        for size, stride in zip(self.shape, self.strides, strict=True):
            found = [start + i * stride for start in found for i in range(size)]
        return found

    def values(self):
        """All elements, row by row."""
        if self.is_contiguous():
            return self.buf.read(self.offset, self.numel())
        cells = self.buf.read(0, len(self.buf))
        return [cells[p] for p in self.positions()]

    def fill(self, numbers):
        """Put `numbers` where the elements stand, row by row."""
        if self.is_contiguous():
            self.buf.write(self.offset, numbers)
        else:
            for p, x in zip(self.positions(), numbers, strict=True):
                self.buf[p] = x

    def over(self, shape, strides, offset):
        """The same Buffer, walked in another way."""
        return Tensor(self.buf, shape, strides, offset)

    def item(self):
        (value,) = self.values()
        return value

    def tolist(self):
        items = list(self.values())
        for axis in range(len(self.shape) - 1, 0, -1):
            size, rows = self.shape[axis], math.prod(self.shape[:axis])
            items = [items[i * size : (i + 1) * size] for i in range(rows)]
        return items if self.shape else items[0]

    def __repr__(self):
        return f"Tensor({self.tolist()}, {self.buf.dtype})"


def zeros(shape, dtype="float32"):
    buf = Buffer([], dtype)
    buf.raw = bytearray(math.prod(shape) * buf.itemsize)
    return Tensor(buf, shape)


def permute(t, axes):
    """The axes of t in another order. No number moves."""
    return t.over([t.shape[a] for a in axes], [t.strides[a] for a in axes], t.offset)


def transpose(t, a=-2, b=-1):
    """Axes a and b exchanged."""
    axes = list(range(len(t.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return permute(t, axes)


def contiguous(t):
    """t itself if its numbers lie row by row, else a copy for which they do."""
    return t if t.is_contiguous() else Tensor(Buffer(t.values(), t.buf.dtype), t.shape)


def reshape(t, shape):
    """The same numbers in the same order under another shape; -1 is worked out."""
    if -1 in shape:
        known = -math.prod(shape)
        shape = [t.numel() // known if size == -1 else size for size in shape]
    if math.prod(shape) != t.numel():
        raise ValueError(f"shape {t.shape} holds {t.numel()} numbers, {tuple(shape)} does not")
    t = contiguous(t)
    return t.over(shape, strides_for(shape), t.offset)
