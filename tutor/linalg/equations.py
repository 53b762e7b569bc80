"""A X = B: solved, or as nearly as can be."""

from __future__ import annotations

from typing import NamedTuple

from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.linalg import ops
from tutor.linalg.factors import matrix_rank, svdvals
from tutor.linalg.given import cutoff, matrix, square
from tutor.methods.tensor import Tensor


class LstsqResult(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@spelled
def solve(x1: Tensor, x2: TensorLike) -> Tensor:
    """X of A X = B, for A = x1 (..., n, n) and B = x2 (..., n, k), or one vector (n).

    DomainError where a matrix is singular, ShapeError where they do not fit.
    """
    a = matrix("solve", x1)
    b = x2 if isinstance(x2, Tensor) else a.wrap(x2)
    vector = b.ndim == 1
    z: Tensor = apply("solve", a, b.unsqueeze(-1) if vector else b)
    return z.squeeze(-1) if vector else z


@spelled
def inv(x: Tensor) -> Tensor:
    """A⁻¹, with A A⁻¹ = I. Where it is to be multiplied by B, `solve` is quicker and more exact.
    DomainError where a matrix is singular."""
    z: Tensor = ops.inverse(square("inv", x))
    return z


@spelled
def pinv(x: Tensor, rtol: float | TensorLike | None = None) -> Tensor:
    """A⁺, the pseudo-inverse (Moore and Penrose): of all X with the smallest
    |A X - I| the smallest.

    Singular values that are not above `rtol` times the largest count as 0: one number, or a Tensor
    of one for each matrix. By default it is the larger of the sizes times eps of the dtype, as in
    NumPy.
    """
    a = matrix("pinv", x)
    z: Tensor = apply("pinv", a, rtol=cutoff("pinv", a, rtol))
    return z


@spelled
def lstsq(a: Tensor, b: TensorLike, rtol: float | None = None) -> LstsqResult:
    """The X with the smallest |A X - B|, of several the smallest: A⁺ B, for A (..., m, n) and B
    (..., m, k), or one vector (m).

    With it come the squared lengths of the columns of A X - B, the rank of A, and its singular
    values; `rtol` as in `pinv`. Gradients flow to A and B.
    """
    x = matrix("lstsq", a)
    y = b if isinstance(b, Tensor) else x.wrap(b)
    right = y.unsqueeze(-1) if y.ndim == 1 else y
    if right.ndim < 2 or right.shape[-2] != x.shape[-2]:
        raise ShapeError(
            f"lstsq of shapes {x.shape} and {y.shape}",
            "they have not as many rows",
            "give A (..., m, n) and B (..., m, k), or (m)",
        )
    tolerance = cutoff("lstsq", x, rtol)
    found = pinv(x, tolerance) @ right
    away = x @ found - right
    residuals = (away * away).sum(-2)
    if y.ndim == 1:
        found, residuals = found.squeeze(-1), residuals.squeeze(-1)
    rank = matrix_rank(x, tolerance)
    return LstsqResult(found, residuals, rank, svdvals(x))
