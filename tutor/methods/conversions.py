"""Other dtypes, and how large a Tensor is, by the names that PyTorch has for them.

`cast` (views.py) is what all of these conversions are; gradients flow through it.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, Self

from tutor._storage import bounds_checks, layout
from tutor._storage.array_like import is_tensor
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, DeviceLike, DTypeLike, TensorLike
from tutor.backends import devices
from tutor.core.engine import apply
from tutor.core.tensor import TensorBase
from tutor.methods.comparisons import Comparisons


class Size(int):
    """How many numbers there are: an int, which NumPy and the array API read as `x.size`.

    PyTorch calls it: `x.size()` is the shape, `x.size(axis)` one of its sizes. It calculates,
    compares, hashes and prints as the int that it is; a copy or a pickle is a plain int.
    """

    _shape: Shape  # by another name: whatever has a `shape` is taken for an array

    def __new__(cls, shape: Shape) -> Size:
        self = super().__new__(cls, math.prod(shape))
        self._shape = shape
        return self

    @spelled
    def __call__(self, axis: Axis | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self._shape if axis is None else self._shape[layout.axis_of(axis, len(self._shape))]

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def is_device(target: Any) -> builtins.bool:
    """Is a device meant, and no dtype? A text that is none of either is read as a device's name,
    unless it begins as a dtype does."""
    if not isinstance(target, str):
        return isinstance(target, devices.device)
    return not target.lower().startswith(("float", "int", "uint", "bool", "bfloat", "double",
                                          "half", "long"))  # fmt: skip


@spelled
class Conversions(Comparisons):
    """To other dtypes; sizes."""

    __slots__ = ()

    def to(
        self, target: TensorBase | DTypeLike | DeviceLike | None = None,
        dtype: DTypeLike | None = None, *, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """On another device, in another dtype, or both: `x.to("opencl")`, `x.to("float64")`,
        `x.to("opencl", "float64")`; and `x.to(y)` is where the Tensor y is, in its dtype. What is
        there already is x itself. Gradients find their way back. DeviceError, DTypeError."""
        wanted: Any = dtype
        if is_tensor(target):
            device, wanted = target.buf.device, target.dtype
        elif target is not None and is_device(target):
            device = target  # type: ignore[assignment]
        elif target is not None:
            wanted = target
        x = self if wanted is None else self.cast(wanted)
        place = x.buf.device if device is None else devices.of(device)
        moved: Self = x if place == x.buf.device else apply("transfer", x, device=place)
        return moved

    def cpu(self) -> Self:
        """In memory of the host: `x.to("cpu")`."""
        return self.to("cpu")

    def type_as(self, other: TensorLike) -> Self:
        """In the dtype of `other`, a Tensor."""
        return self.cast(checks.tensor("type_as", other).dtype)

    def half(self) -> Self:
        """As float16."""
        return self.cast("float16")

    def bfloat16(self) -> Self:
        """As bfloat16: 8 bits of precision, the range of float32."""
        return self.cast("bfloat16")

    def float(self) -> Self:
        """As float32."""
        return self.cast("float32")

    def double(self) -> Self:
        """As float64."""
        return self.cast("float64")

    def int(self) -> Self:
        """As int32, cut towards 0."""
        return self.cast("int32")

    def long(self) -> Self:
        """As int64, cut towards 0."""
        return self.cast("int64")

    def bool(self) -> Self:
        """True where x is not 0."""
        return self.cast("bool")

    def is_floating_point(self) -> builtins.bool:
        """Is the dtype a float?"""
        return self.dtype.is_float

    # ---- how large -------------------------------------------------------------------------------

    @property
    def size(self) -> Size:
        """How many numbers there are; `size()` is the shape, `size(axis)` one of its sizes."""
        return Size(self.shape)

    @property
    def _ctx(self) -> Any:
        """The op that made this tensor, under the name that lessons use."""
        return self.op

    def dim(self) -> builtins.int:
        """How many axes: `ndim`, as PyTorch calls it."""
        return self.ndim

    ndimension = dim

    def expand_as(self, other: TensorLike) -> Self:
        """Stretched to the shape of `other`, a Tensor."""
        return self.expand(checks.tensor("expand_as", other).shape)

    def reshape_as(self, other: TensorLike) -> Self:
        """In the shape of `other`, a Tensor."""
        return self.reshape(checks.tensor("reshape_as", other).shape)

    def view_as(self, other: TensorLike) -> Self:
        """In the shape of `other`, a Tensor; never a copy."""
        return self.view(checks.tensor("view_as", other).shape)

    def t(self) -> Self:
        """A matrix with its rows as columns; a vector or a single number as it is."""
        checks.at_most("t()", self, 2)
        return self.T

    def realize(self) -> Self:
        """Itself, and its numbers are there: within `tutor.lazy()` they need not be before."""
        bounds_checks.check(self, "realize()", reading=True)
        return self
