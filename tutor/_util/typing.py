"""The names that annotations have for what a caller may hand in.

    def mse_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor: ...

Where a function says TensorLike, a Tensor will do, or what `Tensor(...)` can be made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Protocol, Self, SupportsIndex, TypeAlias, TypedDict

from tutor.dtype import DType


class HasBuffer(Protocol):
    """Memory that can be looked at: `array.array`, `bytes`, an array of NumPy's."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class Walked(Protocol):
    """Memory and how to walk it: a Tensor, or a registry.Operand."""

    @property
    def buf(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def offset(self) -> int: ...


class AnyTensor(Walked, Protocol):
    """What the Engine, and ops, ask of a Tensor, whose class is built on them."""

    op: Any
    requires_grad: bool
    _grad: Any
    _hooks: Any

    @property
    def dtype(self) -> DType: ...
    def over(self, buf: Any, shape: Any, strides: Any = None, offset: int = 0) -> Self: ...
    def alias(self) -> Self: ...
    def wrap(self, value: Any, dtype: DType | None = None, shape: Any = ()) -> Self: ...
    def copy(self) -> Self: ...
    def like(self, value: Any) -> Self: ...
    def cast(self, dtype: Any) -> Self: ...
    def expand(self, *shape: Any) -> Self: ...
    def reshape(self, *shape: Any) -> Self: ...
    def sum(self, axis: Any = None) -> Self: ...
    def __add__(self, other: Any) -> Self: ...


class HasList(Protocol):
    """What can give its numbers as a list: arrays and tensors of any library, NumPy's numbers."""

    def tolist(self) -> Any: ...


class HasDType(Protocol):
    """What NumPy and other libraries have as dtypes: `np.dtype("f4")`, by its name."""

    @property
    def name(self) -> str: ...


class Drawing(Protocol):
    """A picture that a notebook shows: see tutor/viz/svg.py."""

    @property
    def svg(self) -> str: ...

    def save(self, path: str | PathLike[str]) -> PathLike[str]: ...


class HasDevice(Protocol):
    """What can be given where the name of a device is: `tutor.device(...)`."""

    @property
    def name(self) -> str: ...
    @property
    def index(self) -> int | None: ...


class Options(TypedDict, total=False):
    """What every way to make a Tensor takes, beside a shape and a dtype."""

    requires_grad: bool
    device: DeviceLike | None


class LikeOptions(Options, total=False):
    """And a dtype, where the function has none of its own to begin with."""

    dtype: DTypeLike


Number: TypeAlias = bool | int | float
Nested: TypeAlias = Sequence["Number | Walked | HasList | Nested"]
TensorLike: TypeAlias = Walked | Number | Nested | HasList | HasBuffer
Row: TypeAlias = Iterable[TensorLike]  # of several: a list of them, or a Tensor's rows
DeviceLike: TypeAlias = str | HasDevice
DTypeLike: TypeAlias = DType | str | type[Any] | HasDType
Axis: TypeAlias = SupportsIndex
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one, or several
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one size, or all of them
Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # the same for all axes, or one for each
Pairs: TypeAlias = Sequence[Sequence[SupportsIndex]]  # two numbers for each axis
Padding: TypeAlias = Sizes | str  # the same of what is put around, or "same", or "valid"
Item: TypeAlias = SupportsIndex | slice | EllipsisType | TensorLike | None
Key: TypeAlias = Item | tuple[Item, ...]  # t[key]
