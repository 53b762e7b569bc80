"""Tensors from existing data, by PyTorch's names."""

from __future__ import annotations

from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DeviceLike, DTypeLike, TensorLike
from tutor.methods.tensor import Tensor


@spelled
def tensor(
    data: TensorLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`Tensor(data, ...)`: a copy of numbers, lists, arrays."""
    return Tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


@spelled
def from_numpy(array: TensorLike) -> Tensor:
    """`from_dlpack(array)`: shares the array's memory, so that a change on either side is seen on
    the other; a read-only array can only be read. BufferError if it is not an array, or for dtypes
    that tutor does not have."""
    return Tensor.from_dlpack(array)
