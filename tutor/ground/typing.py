"""The names that annotations have for what a caller may hand in. Only type checkers import these.

    def mse_loss(input: Tensor, target: TensorLike, reduction: str = "mean") -> Tensor: ...

Where a function says TensorLike, a Tensor will do, or what `Tensor(...)` can be made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, TypedDict

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor
    from tutor.dtype import DType


class HasBuffer(Protocol):
    """Memory that can be looked at: `array.array`, `bytes`, an array of NumPy's."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class HasList(Protocol):
    """What can give its numbers as a list: arrays and tensors of any library, NumPy's numbers."""

    def tolist(self) -> Any: ...


class HasDType(Protocol):
    """What NumPy and other libraries have as dtypes: `np.dtype("f4")`, by its name."""

    @property
    def name(self) -> str: ...


class Options(TypedDict, total=False):
    """What every way to make a Tensor takes, beside a shape and a dtype."""

    requires_grad: bool
    device: str


class LikeOptions(Options, total=False):
    """And a dtype, where the function has none of its own to begin with."""

    dtype: DTypeLike


Number: TypeAlias = bool | int | float
Nested: TypeAlias = "Sequence[Number | HasList | Nested]"
TensorLike: TypeAlias = "Tensor | Number | Nested | HasList | HasBuffer"
Row: TypeAlias = "Tensor | Sequence[TensorLike]"  # of several: a list of them, or a Tensor's rows
DTypeLike: TypeAlias = "DType | str | type[Any] | HasDType"
Axis: TypeAlias = SupportsIndex
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one, or several
ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # one size, or all of them
Sizes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]  # the same for all axes, or one for each
Pairs: TypeAlias = Sequence[Sequence[SupportsIndex]]  # two numbers for each axis
Padding: TypeAlias = Sizes | str  # the same of what is put around, or "same", or "valid"
Item: TypeAlias = "SupportsIndex | slice | EllipsisType | TensorLike | None"
Key: TypeAlias = "Item | tuple[Item, ...]"  # t[key]
