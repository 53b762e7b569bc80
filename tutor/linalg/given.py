"""Checks of the arguments of tutor.linalg: matrices, and the tolerance for singular values."""

from __future__ import annotations

from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor._util import checks
from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor


def matrix(name: str, x: Tensor) -> Tensor:
    """x, a Tensor of matrices, converted to floats."""
    t: Tensor = checks.at_least(f"linalg.{name}", x, 2)
    return t if t.dtype.is_float else t.cast("float32")


def square(name: str, x: Tensor) -> Tensor:
    a = matrix(name, x)
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"linalg.{name} of shape {a.shape}", "not square", "give (..., n, n)")
    return a


def cutoff(name: str, a: Tensor, rtol: float | TensorLike | None) -> float | Tensor:
    """The smallest singular value that counts, relative to the matrix's largest: one number, or
    one per matrix, with one more axis."""
    if rtol is None:
        return max(a.shape[-2:]) * a.dtype.eps
    if not is_number(rtol):
        each = (rtol if isinstance(rtol, Tensor) else Tensor(rtol, device=a.device)).detach()
        lead = a.shape[:-2]
        if layout.broadcast_shapes(f"linalg.{name}(rtol=...)", lead, each.shape) != lead:
            raise ShapeError(
                f"linalg.{name} of shape {a.shape} with rtol of shape {each.shape}",
                f"there are matrices {lead}",
                "give one tolerance, or one for each matrix",
            )
        return each.cast(a.dtype).unsqueeze(-1)
    tolerance: float = checks.number(f"linalg.{name}(rtol=...)", rtol, 0, nan=False)
    return tolerance
