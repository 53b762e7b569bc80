"""A X = B: solved exactly, or by least squares."""

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

    DomainError if a matrix is singular, ShapeError if the shapes do not fit.
    """
    a = matrix("solve", x1)
    b = x2 if isinstance(x2, Tensor) else a.wrap(x2)
    vector = b.ndim == 1
    z: Tensor = apply("solve", a, b.unsqueeze(-1) if vector else b)
    return z.squeeze(-1) if vector else z


@spelled
def inv(x: Tensor) -> Tensor:
    """A⁻¹, with A A⁻¹ = I. To compute A⁻¹ B, `solve` is faster and more accurate. DomainError if a
    matrix is singular."""
    z: Tensor = ops.inverse(square("inv", x))
    return z


@spelled
def pinv(x: Tensor, rtol: float | TensorLike | None = None) -> Tensor:
    """A⁺, the pseudo-inverse (Moore and Penrose): the smallest X among those with the smallest
    |A X - I|.

    Singular values up to `rtol` times the largest count as 0; `rtol` is one number, or a Tensor
    with one per matrix. The default is the larger of the sizes times the dtype's eps, as in NumPy.
    """
    a = matrix("pinv", x)
    z: Tensor = apply("pinv", a, rtol=cutoff("pinv", a, rtol))
    return z


@spelled
def lstsq(a: Tensor, b: TensorLike, rtol: float | None = None) -> LstsqResult:
    """The X with the smallest |A X - B|, the smallest one for ties: A⁺ B, for A (..., m, n) and B
    (..., m, k), or one vector (m).

    Also returns the squared lengths of the columns of A X - B, the rank of A, and its singular
    values; `rtol` is as in `pinv`. Gradients flow to A and B.
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
