"""Conversions to other dtypes and devices, and sizes, under PyTorch's names.

All dtype conversions call `cast` (views.py); gradients flow through it.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, Self

from tutor._storage import bounds_checks, layout
from tutor._storage.array_like import is_tensor
from tutor._storage.device_memory import devices
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, DeviceLike, DTypeLike, TensorLike
from tutor.core.engine import apply
from tutor.core.tensor import TensorBase
from tutor.methods.comparisons import Comparisons


class Size(int):
    """The number of elements: an int, which NumPy and the array API read as `x.size`.

    PyTorch calls it instead: `x.size()` is the shape, `x.size(axis)` the size of one axis. It is an
    int in arithmetic, comparisons, hashing and printing; a copy or a pickle of it is a plain int.
    """

    _shape: Shape  # not `shape`: an object with a `shape` is taken for an array

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
    """Does `target` name a device, not a dtype? A string that names neither counts as a device,
    unless it starts like a dtype."""
    if not isinstance(target, str):
        return isinstance(target, devices.named)
    return not target.lower().startswith(("float", "int", "uint", "bool", "bfloat", "double",
                                          "half", "long"))  # fmt: skip


@spelled
class Conversions(Comparisons):
    """Conversions to other dtypes and devices; sizes."""

    __slots__ = ()

    def to(
        self, target: TensorBase | DTypeLike | DeviceLike | None = None,
        dtype: DTypeLike | None = None, *, device: DeviceLike | None = None,
    ) -> Self:  # fmt: skip
        """x on another device, in another dtype, or both: `x.to("opencl")`, `x.to("float64")`,
        `x.to("opencl", "float64")`; `x.to(y)` takes both from the Tensor y. Returns x itself if
        nothing changes. Gradients flow back. Raises DeviceError, DTypeError."""
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
        """x in host memory: `x.to("cpu")`."""
        return self.to("cpu")

    def type_as(self, other: TensorLike) -> Self:
        """x in the dtype of `other`, a Tensor."""
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
        """As int32, truncated towards 0."""
        return self.cast("int32")

    def long(self) -> Self:
        """As int64, truncated towards 0."""
        return self.cast("int64")

    def bool(self) -> Self:
        """True where x is not 0."""
        return self.cast("bool")

    def is_floating_point(self) -> builtins.bool:
        """Is the dtype a float?"""
        return self.dtype.is_float

    # ---- sizes and shapes ------------------------------------------------------------------------

    @property
    def size(self) -> Size:
        """The number of elements; `size()` is the shape, `size(axis)` the size of one axis."""
        return Size(self.shape)

    @property
    def _ctx(self) -> Any:
        """The op that made this tensor, under the name that lessons use."""
        return self.op

    def dim(self) -> builtins.int:
        """The number of axes: `ndim` under PyTorch's name."""
        return self.ndim

    ndimension = dim

    def expand_as(self, other: TensorLike) -> Self:
        """`expand` to the shape of `other`, a Tensor."""
        return self.expand(checks.tensor("expand_as", other).shape)

    def reshape_as(self, other: TensorLike) -> Self:
        """`reshape` to the shape of `other`, a Tensor."""
        return self.reshape(checks.tensor("reshape_as", other).shape)

    def view_as(self, other: TensorLike) -> Self:
        """`view` in the shape of `other`, a Tensor; never a copy."""
        return self.view(checks.tensor("view_as", other).shape)

    def t(self) -> Self:
        """The transpose of a matrix, or a vector or number as it is; ShapeError for more axes."""
        checks.at_most("t()", self, 2)
        return self.T

    def realize(self) -> Self:
        """x itself, with its numbers computed, which `tutor.lazy()` may have put off."""
        bounds_checks.check(self, "realize()", reading=True)
        return self
