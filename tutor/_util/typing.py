"""Type aliases for the arguments of public functions.

    def mse_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor: ...

TensorLike means a Tensor, or anything that `Tensor(...)` accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Protocol, Self, SupportsIndex, TypeAlias, TypedDict

from tutor.dtype import DType


class HasBuffer(Protocol):
    """An object with the buffer protocol: `array.array`, `bytes`, a NumPy array."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class Walked(Protocol):
    """Memory and its layout: a Tensor, or a registry.Operand."""

    @property
    def buf(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def offset(self) -> int: ...


class AnyTensor(Walked, Protocol):
    """The part of Tensor that the Engine and ops use; the class itself is built on them."""

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
    """An object with `tolist()`: arrays and tensors of any library, NumPy's numbers."""

    def tolist(self) -> Any: ...


class HasDType(Protocol):
    """A dtype of NumPy or another library, identified by its name: `np.dtype("f4")`."""

    @property
    def name(self) -> str: ...


class Drawing(Protocol):
    """A picture that a notebook shows: see tutor/viz/svg.py."""

    @property
    def svg(self) -> str: ...

    def save(self, path: str | PathLike[str]) -> PathLike[str]: ...


class HasDevice(Protocol):
    """An object accepted instead of a device name: `tutor.device(...)`."""

    @property
    def name(self) -> str: ...
    @property
    def index(self) -> int | None: ...


class Options(TypedDict, total=False):
    """Options of every function that creates a Tensor, besides shape and dtype."""

    requires_grad: bool
    device: DeviceLike | None


class LikeOptions(Options, total=False):
    """The same plus a dtype, for functions without a dtype parameter of their own."""

    dtype: DTypeLike


Number: TypeAlias = bool | int | float
Nested: TypeAlias = Sequence["Number | Walked | HasList | Nested"]
TensorLike: TypeAlias = Walked | Number | Nested | HasList | HasBuffer
Row: TypeAlias = Iterable[TensorLike]  # several of them: a list, or a Tensor's rows
DeviceLike: TypeAlias = str | HasDevice
DTypeLike: TypeAlias = DType | str | type[Any] | HasDType
Axis: TypeAlias = SupportsIndex
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one, or several
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one size, or all of them
Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # the same for all axes, or one for each
Pairs: TypeAlias = Sequence[Sequence[SupportsIndex]]  # two numbers for each axis
Padding: TypeAlias = Sizes | str  # as Sizes, or "same", or "valid"
Item: TypeAlias = SupportsIndex | slice | EllipsisType | TensorLike | None
Key: TypeAlias = Item | tuple[Item, ...]  # t[key]
