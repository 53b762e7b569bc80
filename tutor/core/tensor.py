"""TensorBase: a Buffer, the instructions for walking it, and a place for a gradient.

    >>> from tutor import Buffer, Tensor
    >>> t = Tensor(Buffer([1.0, 2.0, 3.0, 4.0]), shape=(2, 2))
    >>> t.strides, t.T.strides, t.T.buf is t.buf
    ((2, 1), (1, 2), True)

Shape, strides and offset locate element `[i, j, ...]` in the Buffer. Ops and the Engine work with
nothing else. Users work with the subclass Tensor, whose operators and methods (`Tensor.zeros`,
`x.sum(axis=0)` and so on) are in tutor/methods/.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

from tutor import dtype as dtypes
from tutor._storage import array_like, bits, bounds_checks, layout
from tutor._storage.device_memory import devices
from tutor._storage.layout import Shape
from tutor._util import error_messages
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, DTypeLike, Number, ShapeLike, TensorLike
from tutor.core.buffer import Buffer
from tutor.dtype import DType
from tutor.errors import DeviceError, DTypeError, GraphError, ShapeError


@spelled
class TensorBase(array_like.IsTensor):
    """The base of every Tensor: its data, its layout and its place in the graph."""

    __slots__ = (
        "__weakref__", "_base", "_grad", "_hooks", "buf",
        "offset", "op", "requires_grad", "shape", "strides",
    )  # fmt: skip
    buf: Buffer
    shape: Shape
    strides: Shape  # the distance, in elements, to the next element along each axis
    offset: int  # the position of the first element
    requires_grad: bool
    op: Any  # the Op that made it, as a node of the graph; None for a leaf
    _base: Any  # a weak reference to the tensor of which this is a view; None if it is none
    _grad: Any
    _hooks: list[Callable[[Any], Any]]  # only set if there are any
    public: ClassVar[type[Any]]  # the class of every result: Tensor registers itself here

    def __init__(
        self, data: TensorLike | Buffer, shape: ShapeLike | None = None,
        strides: ShapeLike | None = None, offset: int = 0, requires_grad: bool = False, *,
        dtype: DTypeLike | None = None, device: DeviceLike | None = None,
    ) -> None:  # fmt: skip
        if isinstance(data, Buffer):
            if device is not None and (name := devices.of(device)) != data.device:
                raise DeviceError(
                    f"a Tensor on {name!r} over a Buffer",
                    f"the Buffer is on {data.device!r}",
                    "leave device out, and move the Tensor: x.to(device)",
                )
            self.buf = data
            found: Shape = (len(data),)
            if dtype is not None and dtypes.of(dtype) is not data.dtype:
                raise DTypeError(
                    f"a Tensor of {dtypes.of(dtype).name} over a Buffer",
                    f"the Buffer holds {data.dtype.name}",
                    "leave dtype out, and .cast() the Tensor",
                )
        else:
            wanted = None if dtype is None else dtypes.of(dtype)
            if not (isinstance(data, array_like.WRITTEN) or array_like.is_scalar(data)):
                bounds_checks.opened("a Tensor from an array")
            payload, found, stored = array_like.read(data, wanted)
            self.buf = Buffer.from_memory(payload, dtype=stored, device=devices.of(device, data))
        self.shape = found if shape is None else layout.checked_shape(shape)
        if strides is None:
            self.strides = layout.contiguous_strides(self.shape)
        else:
            self.strides = layout.whole_numbers(strides, "strides")
        (self.offset,) = layout.whole_numbers((offset,), "an offset")
        if not isinstance(data, Buffer) and self.numel() != len(self.buf):
            layout.fill_in(self.shape, len(self.buf))  # raises, naming both sizes
        layout.check_inside(self.shape, self.strides, offset, len(self.buf))
        self._base = self._grad = self.op = None
        self.requires_grad = False
        if requires_grad:
            self.requires_grad_()

    @classmethod
    def over(cls, buf: Buffer, shape: Shape, strides: Shape | None = None, offset: int = 0) -> Self:
        """A Tensor over `buf` with this layout; unchecked, for callers that know it fits."""
        t: Self = object.__new__(TensorBase.public)
        t.buf, t.shape, t.offset = buf, shape, offset
        t.strides = layout.contiguous_strides(shape) if strides is None else strides
        t._base, t._grad, t.op, t.requires_grad = None, None, None, False
        return t

    def alias(self) -> Self:
        """The same elements, outside any graph."""
        return self.over(self.buf, self.shape, self.strides, self.offset)

    detach = alias

    def wrap(self, value: TensorLike, dtype: DType | None = None, shape: Shape = ()) -> Self:
        """`value` as a constant operand for this Tensor; a number is expanded to `shape`."""
        if not array_like.is_number(value):
            made: Self = TensorBase.public(value, dtype=dtype, device=self.buf.device)
            return made
        dtype = dtypes.of_number(value) if dtype is None else dtype
        negative = value == 0 and math.copysign(1, value) < 0  # as a cache key -0.0 equals 0.0
        constant: Self = (_constant.__wrapped__ if negative else _constant)(value, dtype, shape)
        return constant

    # ---- properties ------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The type of its numbers: one of `tutor.DTYPES`."""
        dtype: DType = bounds_checks.told(self, "dtype")
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        try:
            return len(self.shape)
        except TypeError:
            bounds_checks.check(self, "the number of axes")
            raise

    def numel(self) -> int:
        """The number of elements."""
        try:
            return math.prod(self.shape)
        except TypeError:
            bounds_checks.check(self, "the number of elements")
            raise

    def stride(self, axis: int | None = None) -> Shape | int:
        """The strides in elements: of all axes as a tuple, or of one axis as an int."""
        return self.strides if axis is None else self.strides[layout.axis_of(axis, self.ndim)]

    def is_contiguous(self) -> bool:
        """Are its elements stored row by row without gaps, starting at `offset`?"""
        return layout.is_contiguous(self.shape, self.strides)

    def item(self) -> Number:
        """The only element as a Python number; ShapeError unless there is exactly one."""
        memory = bounds_checks.read(self, "item()")
        if self.numel() != 1:
            raise ShapeError(
                f"item() of shape {self.shape}",
                f"it holds {self.numel()} numbers",
                "pick one by indexing, or reduce with .sum() or .mean()",
            )
        start, size = self.offset * self.dtype.itemsize, self.dtype.itemsize
        number: Number = bits.unpack(memory[start : start + size], self.dtype)[0]
        return number

    # ---- gradient --------------------------------------------------------------------------------

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op made it: parameters are leaves, as are tensors without a graph."""
        return self.op is None

    @property
    def grad(self) -> Self | None:
        """The gradient that backward() has accumulated here, or None."""
        grad: Self | None = self._grad
        return grad

    @grad.setter
    def grad(self, value: Self | None) -> None:
        like = value is None or (
            isinstance(value, TensorBase)
            and value.shape == self.shape
            and value.dtype is self.dtype
        )
        if not like or value is self:
            raise error_messages.no_gradient_of(self, value)
        self._grad = value

    def requires_grad_(self, on: bool = True) -> Self:
        """Require a gradient from here on (or no longer); returns the tensor itself."""
        if on and not self.dtype.is_float:
            raise DTypeError(
                f"requires_grad for a {self.dtype.name} Tensor",
                "only floats have derivatives",
                "make it a float Tensor, for example Tensor([1.0, 2.0]) or .cast('float32')",
            )
        if not on and self.op is not None:
            raise GraphError("requires_grad_(False)", "an op made this tensor", "use .detach()")
        self.requires_grad = on
        return self


@functools.lru_cache(maxsize=1024, typed=True)
def _constant(number: bool | int | float, dtype: DType, shape: Shape) -> Any:
    """A number as an operand, cached: `x * 2` occurs in every loop. Its memory is read-only."""
    payload = array_like.pack([number], dtype)
    buf = Buffer.from_memory(payload, dtype=dtype, copy=False)
    return TensorBase.public(buf, shape, (0,) * len(shape))
