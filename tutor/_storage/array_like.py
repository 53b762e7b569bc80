"""Reading a user's data: numbers, nested lists, arrays, anything with the buffer protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeGuard

from tutor._storage import bits
from tutor._storage.layout import MAX_DIMS, checked_shape
from tutor._storage.memory import Memory
from tutor._util.typing import Number
from tutor.dtype import BY_NAME, DType, bool_, check_numbers, float32, int64
from tutor.errors import DTypeError, NumberRangeError, OutOfMemoryError, ShapeError

NUMBERS = (bool, int, float)
WRITTEN = (*NUMBERS, list, tuple, range)  # literals in a program


def is_number(x: object) -> TypeGuard[Number]:
    """A Python number; NumPy's float64 is one, its float32 is not."""
    return isinstance(x, NUMBERS)


class IsTensor:
    """Marker base class of Tensor, so that modules below it can recognize one."""

    __slots__ = ()


def is_tensor(x: object) -> TypeGuard[Any]:
    """A Tensor, or an instance of a subclass."""
    return isinstance(x, IsTensor)


def is_scalar(x: Any) -> bool:
    """Is x an immutable NumPy scalar: a number, a text or a time?"""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic) and x.dtype.kind not in "OV"


def holds_numbers(x: Any) -> bool:
    """Is x meant as numbers: a number, a list of them, or an object that contains some?"""
    if isinstance(x, (*WRITTEN, complex)) or hasattr(x, "shape"):
        return True
    return not isinstance(x, (str, bytes)) and (hasattr(x, "tolist") or _has_buffer(x))


def read(data: Any, dtype: DType | None) -> tuple[bytes, tuple[int, ...], DType]:
    """`data` as (bytes in row-major order, shape, dtype).

    Without `dtype`: any float gives float32, otherwise any int gives int64, otherwise bool; arrays
    keep their dtype. Raises ShapeError for ragged lists, DTypeError for values that are not numbers
    and NumberRangeError for numbers the dtype cannot hold.
    """
    if isinstance(data, (str, complex)) or data is None:
        raise _no_number(data)
    if isinstance(data, WRITTEN):
        numbers, shape = flatten(data)
    else:
        if getattr(getattr(data, "dtype", None), "kind", "f") in "mMcUSV":
            raise _no_number(data)  # dates and the like have a buffer of plain bytes
        try:
            view = memoryview(data)
        except TypeError:  # no buffer: perhaps another kind of array or tensor
            data = _plain(data)
            if not isinstance(data, (*NUMBERS, list)):
                raise _no_number(data) from None
            return read(data, dtype)
        return _read_buffer(view, dtype)
    dtype = dtype or _dtype_of(numbers)
    return pack(numbers, dtype), shape, dtype


def flatten(data: Any, depth: int = 0) -> tuple[list[Any], tuple[int, ...]]:
    """The numbers of a nested list in row-major order, and its shape. ShapeError if it is ragged or
    too deep. Depth is checked first: a list that contains itself has no end."""
    if not isinstance(data, (list, tuple, range)):
        return [_number(data)], ()
    if depth == MAX_DIMS:
        raise ShapeError(
            "a tensor from nested lists",
            f"more than {MAX_DIMS} lists in each other, or a list that contains itself",
            f"a tensor has at most {MAX_DIMS} axes: nest less deeply",
        )
    if isinstance(data, range):
        _check_room(data)
    if all(issubclass(kind, NUMBERS) for kind in set(map(type, data))):  # innermost: no recursion
        return list(data), (len(data),)
    numbers: list[Any] = []
    inner: tuple[int, ...] | None = None
    for position, item in enumerate(data):
        part, shape = flatten(item if isinstance(item, NUMBERS) else _plain(item), depth + 1)
        if inner is not None and shape != inner:
            raise ShapeError(
                "a tensor from nested lists",
                f"item 0 has shape {inner}, item {position} has shape {shape}",
                "make every row the same length",
            )
        inner = shape
        numbers += part
    return numbers, (len(data), *(inner or ()))


def _check_room(numbers: range) -> None:
    """OutOfMemoryError unless there is room for a list of `numbers`, checked before it is made: 8
    bytes per number for the pointer and 32 for the number."""
    try:
        Memory(5 * len(numbers), 8, "d")
    except (MemoryError, OverflowError):
        raise OutOfMemoryError(
            f"a tensor of {numbers}",
            "so many numbers cannot be had one by one",
            "use a shorter range, or Tensor.arange, which makes them in a kernel",
        ) from None


def pack(numbers: Sequence[Any], dtype: DType) -> bytes:
    """`numbers` as bytes of `dtype`; floats round to nearest, and to +-inf beyond the range."""
    if dtype.is_integer:
        for number in numbers if set(map(type, numbers)) != {int} else ():
            if isinstance(number, float) and not number.is_integer():
                raise NumberRangeError(
                    f"{number} as {dtype.name}",
                    f"{dtype.name} holds whole numbers only",
                    "make it a float tensor, and .cast() it to cut the fraction off",
                )
        check_numbers(numbers, dtype)
        numbers = [int(number) for number in numbers]
    return bits.pack(numbers, dtype)


def _dtype_of(numbers: list[Any]) -> DType:
    kinds = set(map(type, numbers))
    if not kinds or any(issubclass(kind, float) for kind in kinds):
        return float32
    return bool_ if kinds == {bool} else int64


def _read_buffer(view: memoryview, dtype: DType | None) -> tuple[bytes, tuple[int, ...], DType]:
    found = dtype_of_format(view.format, view.itemsize)
    shape = checked_shape(view.shape or (), "a tensor from a buffer")
    payload = view.tobytes()  # row-major, whatever the strides were
    if dtype is None or dtype is found:
        return payload, shape, found
    return pack(bits.unpack(payload, found), dtype), shape, dtype


def dtype_of_format(format: str, itemsize: int) -> DType:
    """The dtype of a buffer's elements; DTypeError for formats that tutor lacks."""
    code = format.lstrip("@=<")
    for dtype in BY_NAME.values():  # 'l' and 'q' are the same on Linux: compare kind and size
        kinds = {"int": "bhilqn", "uint": "BHILQN", "float": "eEfd", "bool": "?"}[dtype.kind]
        if len(code) == 1 and code in kinds and dtype.itemsize == itemsize:
            return dtype
    raise DTypeError(
        f"a tensor from a buffer of format {format!r}",
        f"that is none of tutor's dtypes: {', '.join(BY_NAME)}",
        "convert the array first, for example array.astype('float32')",
    )


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _plain(item: Any) -> Any:
    return item.tolist() if hasattr(item, "tolist") else item


def _number(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, NUMBERS):
        return value
    raise _no_number(value)


def _no_number(value: Any) -> DTypeError:
    return DTypeError(
        "a tensor of numbers",
        f"{type(value).__name__} {value!r:.60}",
        "give numbers, (nested) lists of numbers, or an array",
    )
