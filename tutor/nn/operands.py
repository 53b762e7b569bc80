"""What a layer may be called on."""

from __future__ import annotations

from tutor.core.op.catalogue import on_op
from tutor.errors import DTypeError
from tutor.methods.tensor import Tensor


def check_dtype(asked: str, x: Tensor, weight: Tensor) -> None:
    """DTypeError unless the input has the weights' dtype, or autocast casts them. To promote
    would compute, and return, float64 from one such input on."""
    if not (isinstance(x, Tensor) and isinstance(weight, Tensor)):
        return  # others complain
    found, wanted = x.dtype, weight.dtype
    if found is not wanted and not on_op.casts:
        also = f", or the model to {found.name}: model.to({found.name!r})" if found.is_float else ""
        raise DTypeError(
            f"{asked} of {found.name} inputs with {wanted.name} weights",
            "a layer computes in the dtype of its weights",
            f"cast the inputs, x.to({wanted.name!r}){also}",
        )
