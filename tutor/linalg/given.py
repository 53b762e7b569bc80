"""What the functions of this room are given: matrices, and how small is 0."""

from __future__ import annotations

from tutor.errors import ShapeError
from tutor.ground import checks
from tutor.methods.tensor import Tensor


def matrix(name: str, x: Tensor) -> Tensor:
    """x, a Tensor of matrices, as floats."""
    t: Tensor = checks.at_least(f"linalg.{name}", x, 2)
    return t if t.dtype.is_float else t.cast("float32")


def square(name: str, x: Tensor) -> Tensor:
    a = matrix(name, x)
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"linalg.{name} of shape {a.shape}", "not square", "give (..., n, n)")
    return a


def cutoff(name: str, a: Tensor, rtol: float | None) -> float:
    if rtol is None:
        return max(a.shape[-2:]) * a.dtype.eps
    tolerance: float = checks.number(f"linalg.{name}(rtol=...)", rtol, 0, nan=False)
    return tolerance
