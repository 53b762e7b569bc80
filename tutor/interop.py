"""Tensors as Python and NumPy see them: numbers, lists, arrays, text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tutor import printing
from tutor.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor


class Interop:
    """What Tensor inherits to be read by others."""

    __slots__ = ()
    __array_ufunc__ = None  # `array + tensor`: NumPy steps aside and asks the Tensor

    def item(self) -> Any:
        """The number in a one-element tensor, as a Python number."""
        if self.numel() != 1:
            raise ShapeError(
                f"item() of shape {self.shape}",
                f"it holds {self.numel()} numbers",
                "pick one by indexing, or reduce with .sum() or .mean()",
            )
        return self.buf[self.offset]

    def tolist(self) -> Any:
        """The numbers as (nested) lists."""
        nested = self.buf.tolist() if self.is_whole() else self.copy().buf.tolist()
        for axis in range(self.ndim - 1, 0, -1):  # bracket the last axis first
            size, rows = self.shape[axis], math.prod(self.shape[:axis])
            nested = [nested[i * size : (i + 1) * size] for i in range(rows)]
        return nested if self.shape else nested[0]

    def is_whole(self) -> bool:
        """True if this is its whole Buffer, row-major."""
        return self.is_contiguous() and self.offset == 0 and self.numel() == len(self.buf)

    def numpy(self) -> Any:
        """A NumPy array over the same memory: a change on either side is seen on the other."""
        import numpy as np  # only who asks for arrays needs NumPy

        size, raw = self.dtype.itemsize, self.buf.raw
        steps = tuple(stride * size for stride in self.strides)
        start = self.offset * size if self.numel() else 0
        return np.ndarray(self.shape, self.dtype.name, raw, start, steps)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        array = array if dtype is None else array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len() of a Tensor", "it is a single number", "use .numel()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ShapeError(
                f"a yes or no (bool) of shape {self.shape}",
                f"it holds {self.numel()} numbers, perhaps some true and some not",
                "compare to `is None`, or reduce to one number first",
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_float:
            raise DTypeError("a position", f"a {self.dtype.name} Tensor", "use an integer Tensor")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __repr__(self) -> str:
        return printing.format_tensor(self)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.detach().copy().requires_grad_(self.requires_grad)

    def __reduce__(self) -> tuple[Any, ...]:
        whole = self.detach().copy()
        return type(self), (whole.buf, self.shape, None, 0, self.requires_grad)
