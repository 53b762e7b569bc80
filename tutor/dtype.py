"""The thirteen element types: one table for Python, C++ and the documentation.

A dtype says how many bytes one number takes and how its bits are read. `format` is the character
Python's `struct` and the buffer protocol use for it; the C++ backend recognises a dtype by the same
character (`simd_cpp/kernel.hpp`), so the two tables cannot drift apart without a test noticing.
`struct` does not know bfloat16: its character "E" is tutor's own, and array_like.py reads its bits.
"""

from __future__ import annotations

import functools
import importlib
import struct
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tutor._util.keyword_aliases import spelled
from tutor.errors import DTypeError, NumberRangeError

# Floats (IEEE 754, and bfloat16: float32 without its lower half): the bits behind the binary point,
# and the exponent of the largest numbers.
LAYOUTS = {"e": (10, 15), "E": (7, 127), "f": (23, 127), "d": (52, 1023)}


class DType:
    """One row of the table below: `name`, `kind`, `format`, and what follows from them.

    `min` and `max` are the ends of the finite range. Floats also have `eps`, the distance from 1 to
    the next number, and the smallest positive numbers: `smallest_normal`, and below it, with fewer
    and fewer bits, down to `smallest_subnormal`.
    """

    __slots__ = (
        "eps", "format", "index", "itemsize", "kind", "max", "min", "name", "smallest_normal",
        "smallest_subnormal",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, format: str, index: int) -> None:
        self.name, self.kind, self.format, self.index = name, kind, format, index
        self.itemsize = 2 if format == "E" else struct.calcsize(format)
        bits = 8 * self.itemsize
        self.min: int | float
        self.max: int | float
        if kind == "int":
            self.min, self.max = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        elif kind == "uint":
            self.min, self.max = 0, 2**bits - 1
        elif kind == "bool":
            self.min, self.max = 0, 1
        else:
            mantissa, exponent = LAYOUTS[format]
            self.eps = 2.0**-mantissa
            self.max = (2.0 - self.eps) * 2.0**exponent
            self.min = -self.max
            self.smallest_normal = 2.0 ** (1 - exponent)
            self.smallest_subnormal = self.smallest_normal * self.eps

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def __numpy_dtype__(self) -> Any:
        """Asked for by NumPy (2.4 and later): np.zeros(3, dtype=tutor.float32)."""
        return importlib.import_module("numpy").dtype(self.name)

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.kind in ("int", "uint")

    def __repr__(self) -> str:
        return f"tutor.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return of, (self.name,)  # a copy or an unpickled dtype is the one object of that name


# name, kind, struct format. The order is the C++ enum's order.
TABLE = tuple(
    DType(*row, index)
    for index, row in enumerate(
        (
            ("bool", "bool", "?"),
            ("int8", "int", "b"),
            ("int16", "int", "h"),
            ("int32", "int", "i"),
            ("int64", "int", "q"),
            ("uint8", "uint", "B"),
            ("uint16", "uint", "H"),
            ("uint32", "uint", "I"),
            ("uint64", "uint", "Q"),
            ("float16", "float", "e"),
            ("bfloat16", "float", "E"),
            ("float32", "float", "f"),
            ("float64", "float", "d"),
        )
    )
)
BY_NAME = {dtype.name: dtype for dtype in TABLE}
(
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64,
) = TABLE  # fmt: skip

LETTERS = {"bool": "b", "int": "i", "uint": "u", "float": "f"}  # of the kinds, as NumPy has them
RANK = {"bool": 0, "int": 1, "uint": 1, "float": 2}  # which kind can hold which

# The three that stand for a Python number where nothing else says which: bool, int, float.
DEFAULTS = {bool: bool_, int: int64, float: float32}


# NumPy's short names: a kind and how many bytes ("f4"), perhaps behind a sign for their order.
SHORT = {
    f"{LETTERS[dtype.kind]}{dtype.itemsize}": dtype for dtype in TABLE if dtype is not bfloat16
}
OWN_ORDER = ("=", "|", "<" if sys.byteorder == "little" else ">")


def of(dtype: Any) -> DType:
    """The dtype meant by a dtype, its name (`"float32"`, `"f4"`), a Python type (`float`, which is
    float32 here), or one of NumPy's (`np.float32`, `np.dtype("f4")`).

    Raises DTypeError for anything else, listing what there is.
    """
    if isinstance(dtype, DType):
        return dtype
    found = None
    if isinstance(dtype, str):
        found = BY_NAME.get(dtype) or SHORT.get(dtype[dtype.startswith(OWN_ORDER) :])
    elif isinstance(dtype, type):
        found = DEFAULTS.get(dtype) or _of_numpy(dtype)
    elif dtype is not None:
        found = _of_numpy(dtype)
    if found is None:
        raise DTypeError(
            f"a dtype, given as {dtype!r}",
            f"{type(dtype).__name__} {dtype!r} names none",
            f"use one of {', '.join(BY_NAME)}, for example dtype=tutor.float32 or dtype='float32'",
        )
    return found


def _of_numpy(dtype: Any) -> DType | None:
    """The dtype of one of NumPy's scalar types or dtypes. NumPy is asked only if it is there: who
    has one of its types has imported it."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not (
        isinstance(dtype, numpy.dtype)
        or (isinstance(dtype, type) and issubclass(dtype, numpy.generic))
    ):
        return None
    try:
        found = numpy.dtype(dtype)
    except TypeError:  # np.number and its like are kinds, no dtypes
        return None
    return BY_NAME.get(found.name) if found.isnative else None


@spelled
def promote(a: DType | str | type, b: DType | str | type) -> DType:
    """The smallest dtype that can hold values of both: the array API's table, NumPy 2's rule
    where that standard is silent (integer with float). int64 with uint64 gives float64, as there;
    float16 with bfloat16, neither of which holds the other, float32.
    """
    return _meeting(of(a), of(b))


@functools.cache
def _meeting(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if a.kind == "bool" or b.kind == "bool":
        return b if a.kind == "bool" else a
    if a.kind == b.kind:
        if a.itemsize == b.itemsize:
            return float32
        return a if a.itemsize >= b.itemsize else b
    if a.is_float or b.is_float:
        real, whole = (a, b) if a.is_float else (b, a)
        # The float must hold every integer of up to 8, 16, or more bits exactly (float64 excepted).
        needed = {1: float16, 2: float32, 4: float64, 8: float64}[whole.itemsize]
        return real if real.itemsize >= needed.itemsize else needed
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: int64, 8: float64}[unsigned.itemsize]


def accumulator(dtype: DType) -> DType:
    """What a sum is kept in: floats as they are, bool and signed as int64, unsigned as uint64."""
    return dtype if dtype.is_float else uint64 if dtype.kind == "uint" else int64


def of_number(number: bool | int | float, beside: DType | None = None) -> DType:
    """The dtype a Python number takes beside a tensor of dtype `beside`, or alone.

    A number is weak: it takes the tensor's dtype. Only where that dtype's kind could not hold it
    (a float beside integers, an int beside bools) does the number's own default decide.
    """
    own = DEFAULTS[bool if isinstance(number, bool) else int if isinstance(number, int) else float]
    if beside is None:
        return own
    return beside if RANK[beside.kind] >= RANK[own.kind] else own


def common(operands: Iterable[DType | bool | int | float]) -> DType | None:
    """The one dtype in which tensors of these dtypes and these Python numbers meet; None if there
    is nothing."""
    found: DType | None = None
    numbers = []
    for operand in operands:
        if not isinstance(operand, DType):
            numbers.append(operand)
        else:
            found = operand if found is None else _meeting(found, operand)
    for number in numbers:
        found = of_number(number, found)
    return found


def check_numbers(numbers: Sequence[bool | int | float], dtype: DType) -> None:
    """Raise NumberRangeError when an integer `dtype` cannot hold all of these whole numbers."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    if low < dtype.min or high > dtype.max:
        raise NumberRangeError(
            f"{low if low < dtype.min else high} as {dtype.name}",
            f"{dtype.name} holds {dtype.min} to {dtype.max}",
            f"use a dtype that holds it: tutor.{holding(low, high).name}",
        )


def holding(low: int | float, high: int | float) -> DType:
    """The narrowest integer dtype that holds `low` and `high`; float64, which rounds, if none."""
    whole = sorted((d for d in TABLE if d.is_integer), key=lambda d: (d.itemsize, d.kind))
    return next((d for d in whole if d.min <= low and high <= d.max), float64)
