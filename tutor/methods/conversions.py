"""Conversions to other dtypes and devices, and sizes, under PyTorch's names.

All dtype conversions call `cast` (operators.py); gradients flow through it.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import bounds_checks, layout
from tutor._storage.array_like import is_tensor
from tutor._storage.device_memory import devices
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axis, DeviceLike, DTypeLike, TensorLike
from tutor.core.engine import apply
from tutor.core.tensor import TensorBase
from tutor.methods.operators import Operators, T


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


def is_device(target: Any) -> bool:
    """Does `target` name a device, not a dtype? A string that names neither counts as a device,
    unless it starts like a dtype."""
    if not isinstance(target, str):
        return isinstance(target, devices.named)
    return not target.lower().startswith(("float", "int", "uint", "bool", "bfloat", "double",
                                          "half", "long"))  # fmt: skip


def to(
    self: T, target: TensorBase | DTypeLike | DeviceLike | None = None,
    dtype: DTypeLike | None = None, *, device: DeviceLike | None = None,
) -> T:  # fmt: skip
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
    moved: T = x if place == x.buf.device else apply("transfer", x, device=place)
    return moved


def type_as(self: T, other: TensorLike) -> T:
    """x in the dtype of `other`, a Tensor."""
    return self.cast(checks.tensor("type_as", other).dtype)


def is_floating_point(self: Operators) -> bool:
    """Is the dtype a float?"""
    return self.dtype.is_float


def dim(self: Operators) -> int:
    """The number of axes: `ndim` under PyTorch's name."""
    return self.ndim


def realize(self: T) -> T:
    """x itself, with its numbers computed, which `tutor.lazy()` may have put off."""
    bounds_checks.check(self, "realize()", reading=True)
    return self
