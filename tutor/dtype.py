"""The thirteen element types: one table for Python, C++ and the documentation.

A dtype determines how many bytes a number takes and how its bits are read. `format` is its
character in Python's `struct` and the buffer protocol. The C++ backend recognises a dtype by the
same character (`simd_cpp/kernel.hpp`), so a test notices if the two tables drift apart. `struct`
lacks bfloat16: its character "E" is tutor's own, and bits.py converts it.
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

# Floats (IEEE 754, and bfloat16: float32 without its lower half): the bits after the binary point,
# and the exponent of the largest numbers.
LAYOUTS = {"e": (10, 15), "E": (7, 127), "f": (23, 127), "d": (52, 1023)}


class DType:
    """One row of the table below: `name`, `kind`, `format`, and the properties derived from them.

    `min` and `max` are the ends of the finite range. Floats also have `eps`, the distance from 1 to
    the next larger number; `smallest_normal`, the smallest positive number of full precision; and
    `smallest_subnormal`, the smallest positive number of all.
    """

    __slots__ = (
        "eps", "format", "index", "is_float", "is_integer", "itemsize", "kind", "max", "min",
        "name", "smallest_normal", "smallest_subnormal",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, format: str, index: int) -> None:
        self.name, self.kind, self.format, self.index = name, kind, format, index
        self.itemsize = 2 if format == "E" else struct.calcsize(format)
        self.is_float, self.is_integer = kind == "float", kind in ("int", "uint")  # bool is neither
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
    def __numpy_dtype__(self) -> Any:
        """Read by NumPy (2.4 and later): np.zeros(3, dtype=tutor.float32)."""
        return importlib.import_module("numpy").dtype(self.name)

    def __repr__(self) -> str:
        return f"tutor.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return of, (self.name,)  # copies and unpickled dtypes are the same object


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

LETTERS = {"bool": "b", "int": "i", "uint": "u", "float": "f"}  # NumPy's letters for the kinds
RANK = {"bool": 0, "int": 1, "uint": 1, "float": 2}  # which kind can hold which

# The defaults for Python numbers: bool, int, float.
DEFAULTS = {bool: bool_, int: int64, float: float32}


# NumPy's short names: a kind and a size in bytes ("f4"), optionally after a byte-order sign.
SHORT = {
    f"{LETTERS[dtype.kind]}{dtype.itemsize}": dtype for dtype in TABLE if dtype is not bfloat16
}
OWN_ORDER = ("=", "|", "<" if sys.byteorder == "little" else ">")


def of(dtype: Any) -> DType:
    """The DType for a DType, a name (`"float32"`, `"f4"`), a Python type (`float` means float32
    here), or a NumPy type or dtype (`np.float32`, `np.dtype("f4")`).

    Raises DTypeError for anything else, listing the available dtypes.
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
    """The dtype for a NumPy scalar type or dtype. NumPy is never imported for this: a caller with
    such a type has imported it."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not (
        isinstance(dtype, numpy.dtype)
        or (isinstance(dtype, type) and issubclass(dtype, numpy.generic))
    ):
        return None
    try:
        found = numpy.dtype(dtype)
    except TypeError:  # np.number and the like are abstract
        return None
    return BY_NAME.get(found.name) if found.isnative else None


@spelled
def promote(a: DType | str | type, b: DType | str | type) -> DType:
    """The smallest dtype that can hold values of both: the array API's table, and NumPy 2's rules
    where that standard is silent (integer with float). int64 with uint64 gives float64, as in
    NumPy; float16 with bfloat16 gives float32, since neither can hold the other.
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
    """The dtype of a sum: the same for floats, int64 for bool and signed, uint64 for unsigned."""
    return dtype if dtype.is_float else uint64 if dtype.kind == "uint" else int64


def of_number(number: bool | int | float, beside: DType | None = None) -> DType:
    """The dtype that a Python number takes beside a tensor of dtype `beside`, or alone.

    A number is weakly typed: it takes the tensor's dtype. Only if that dtype's kind cannot hold it
    (a float beside integers, an int beside bools) does it take its own default.
    """
    own = DEFAULTS[bool if isinstance(number, bool) else int if isinstance(number, int) else float]
    if beside is None:
        return own
    return beside if RANK[beside.kind] >= RANK[own.kind] else own


def common(operands: Iterable[DType | bool | int | float]) -> DType | None:
    """The common dtype of tensors of these dtypes and these Python numbers; None if there are no
    operands."""
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
    """Raise NumberRangeError unless the integer `dtype` can hold all of these whole numbers."""
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
