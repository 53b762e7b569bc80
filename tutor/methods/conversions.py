"""Other dtypes, and how large a Tensor is, by the names that PyTorch has for them.

`cast` (views.py) is what all of these conversions are; gradients flow through it.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, Self

from tutor.core.tensor import TensorBase
from tutor.errors import DTypeError
from tutor.ground import border, checks, layout
from tutor.ground.layout import Shape
from tutor.ground.literals import is_tensor
from tutor.ground.spelling import spelled
from tutor.ground.typing import Axis, DTypeLike, TensorLike
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


@spelled
class Conversions(Comparisons):
    """To other dtypes; sizes."""

    __slots__ = ()

    def to(self, target: TensorBase | DTypeLike) -> Self:
        """In the dtype `target`; of a Tensor: in its dtype. "cpu" is where everything is already,
        and any other device a DTypeError."""
        wanted: Any = target.dtype if is_tensor(target) else target
        if isinstance(wanted, str) and wanted.lower() == "cpu":
            return self.cast(self.dtype)
        if isinstance(wanted, str) and wanted.partition(":")[0] in ("cuda", "mps", "xpu", "gpu"):
            raise DTypeError(f"to({target!r})", "the only device here is 'cpu'", "leave it out")
        return self.cast(wanted)

    def cpu(self) -> Self:
        """Itself: the CPU is the only device here."""
        return self.cast(self.dtype)

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
        border.check(self, "realize()", reading=True)
        return self
