"""Buffer: a row of numbers of one dtype. It has memory for them and counts in-place changes.

    >>> b = Buffer([1.0, 2.0, 3.0])
    >>> b[-1], len(b), b.dtype, b.nbytes
    (3.0, 3, tutor.float32, 12)

Its memory (tutor/_storage/memory.py) is bytes on a device, or a promise of bytes, which is
fulfilled when a caller needs them. Shapes belong to the Tensor, gradients to the Engine. Arithmetic
on whole Buffers, outside any graph, is in tutor/core/buffer/arithmetic.py.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

from tutor import dtype as dtypes
from tutor._storage import array_like, bits, bounds_checks, memory
from tutor._storage.device_memory import CPU, devices
from tutor._storage.memory import Memory, set_buffers
from tutor._util import error_messages
from tutor._util.callers import user_line
from tutor._util.typing import DTypeLike, HasBuffer, TensorLike
from tutor.core.buffer.arithmetic import Arithmetic
from tutor.dtype import DType
from tutor.errors import DeviceError, OutOfRangeError, ShapeError


class Buffer(Arithmetic):
    """`Buffer(data, *, dtype=None)`: a copy of `data`, flattened row by row.

    `data` is a number, a (nested) list, an array, or anything with the buffer protocol. Changing it
    later never changes the Buffer. Raises DTypeError, ShapeError (ragged) or NumberRangeError.
    The memory starts at a multiple of 64 bytes and can be read through `memoryview(buffer)`.
    For arithmetic like `p.buf.data -= 0.01 * p.grad.buf.data` see tutor/core/buffer/arithmetic.py.
    """

    __slots__ = ("changed_at", "dtype", "rewritten", "version")
    memory: Any  # a Memory, or the promise of one, on some device
    device: str  # the device of that memory
    dtype: DType
    version: int  # counts in-place changes, so that stale saved values can be detected
    changed_at: tuple[str, int] | None  # file and line of the latest change
    rewritten: int  # the serial of the latest Op of a graph that has changed it in place, or 0

    def __new__(cls, data: TensorLike, *, dtype: DTypeLike | None = None) -> Buffer:
        wanted = None if dtype is None else dtypes.of(dtype)
        payload, _, found = array_like.read(data, wanted)
        return cls.from_memory(payload, dtype=found)

    @classmethod
    def empty(cls, count: int, dtype: DType, device: str = CPU) -> Buffer:
        """Room for `count` numbers on `device`, contents undefined. DTypeError for an invalid count
        or dtype."""
        return cls.over(memory.empty(count, dtype, device), dtype)

    @classmethod
    def over(cls, memory: Any, dtype: DType) -> Buffer:
        """A Buffer of `dtype` over `memory`, which may be a promise."""
        self: Buffer = object.__new__(cls)
        self.memory, self.dtype, self.changed_at = memory, dtype, None
        self.version = self.rewritten = 0
        return self

    @classmethod
    def from_memory(
        cls, owner: HasBuffer, *, dtype: DTypeLike | None = None, copy: bool = True,
        device: str = CPU,
    ) -> Buffer:  # fmt: skip
        """A Buffer of the numbers in `owner`'s memory, read as `dtype` (default: its own format).

        With `copy=False` the Buffer shares the memory, which must be contiguous: each side sees
        changes made by the other. Raises ShapeError or DTypeError if that is impossible. A copy
        may be on another `device`.
        """
        try:
            view = memoryview(owner)
        except TypeError:
            raise error_messages.no_memory(owner) from None
        found = dtypes.of(dtype or array_like.dtype_of_format(view.format, view.itemsize))
        if view.nbytes % found.itemsize or not (copy or view.c_contiguous):
            raise ShapeError(
                f"a Buffer of {found.name} over {type(owner).__name__} memory",
                f"{view.nbytes} bytes, {'' if view.c_contiguous else 'not '}contiguous",
                f"give contiguous memory of a multiple of {found.itemsize} bytes",
            )
        count = view.nbytes // found.itemsize
        if copy:
            self = cls.empty(count, found, device)
            if device == CPU:
                self.memory.raw[:] = view.tobytes()
            else:
                bounds_checks.writer(self, "a copy of memory")(view.tobytes(), 0)
            return self
        return cls.over(Memory.borrow(owner, count, found.itemsize, found.format), found)

    # ---- the numbers, one by one -----------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The size in bytes: its length times the itemsize of its dtype."""
        return len(self) * self.dtype.itemsize

    def _position(self, index: Any) -> int:
        """Where item `index` starts, in bytes; negative indices count from the end."""
        try:
            i = operator.index(index)
        except TypeError:
            raise OutOfRangeError(
                f"item {index!r} of a Buffer", type(index).__name__, "give a whole number"
            ) from None
        if not -len(self) <= i < len(self):
            raise OutOfRangeError(
                f"item {i} of a Buffer",
                f"it has {len(self)} items",
                f"use {-len(self)} to {len(self) - 1}" if len(self) else "it is empty",
            )
        return i % len(self) * self.dtype.itemsize

    def __getitem__(self, index: int) -> Any:
        """`buf[i]`: one number. OutOfRangeError if there is no such item."""
        memory, start = bounds_checks.numbers(self, "an item of a Buffer"), self._position(index)
        return bits.unpack(memory[start : start + self.dtype.itemsize], self.dtype)[0]

    def __setitem__(self, index: int, value: bool | int | float) -> None:
        """`buf[i] = value`; NumberRangeError for a number that the dtype cannot hold."""
        put, position = bounds_checks.writer(self, "to write an item"), self._position(index)
        bounds_checks.opened("to write an item")
        numbers, shape = array_like.flatten(value)
        if shape:
            raise ShapeError(f"item {index} = {value!r}", f"shape {shape}", "give one number")
        item = array_like.pack(numbers, self.dtype)
        self.touch()
        put(item, position)

    get_item, set_item = __getitem__, __setitem__

    def tolist(self) -> list[Any]:
        """All numbers as a list of Python numbers."""
        return bits.unpack(bounds_checks.numbers(self, "the numbers of a Buffer"), self.dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def overlaps(self, other: Buffer) -> bool:
        """Do the two share any byte?"""
        return bounds_checks.overlap(self, other)

    def touch(self, at: tuple[str, int] | None = None) -> None:
        """Announce that the numbers are about to change, at line `at`: values a graph has saved go
        stale. Called before the change, so that even an interrupted change is noticed."""
        self.version += 1
        self.changed_at = at or user_line()

    # ---- repr and pickle ------------------------------------------------------------------------

    def __repr__(self) -> str:
        long = len(self) > 8
        shown = ", ".join(map(repr, map(self.__getitem__, range(6)) if long else self.tolist()))
        return f"Buffer([{shown}{', ...' if long else ''}], {len(self)} x {self.dtype.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        payload = bounds_checks.numbers(self, "a copy of a Buffer").tobytes()
        return _restore, (payload, self.dtype, self.device)


def _restore(payload: bytes, dtype: DType, device: str = CPU) -> Buffer:
    try:
        device = devices.of(device)
    except DeviceError as error:
        found = f"numbers that were on the device {device!r} are on 'cpu' now: {error.found}"
        warnings.warn(found, stacklevel=3)
        device = CPU
    return Buffer.from_memory(payload, dtype=dtype, device=device)


set_buffers([Buffer.empty(0, dtype) for dtype in dtypes.TABLE])  # templates for C++'s Buffers
