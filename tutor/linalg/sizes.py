"""Functions with one number per matrix: determinants, traces, norms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tutor._storage import layout
from tutor._storage.array_like import is_number
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axes, DTypeLike
from tutor.core.engine import apply
from tutor.errors import DomainError
from tutor.linalg.equations import inv
from tutor.linalg.factors import svdvals
from tutor.linalg.given import matrix, square
from tutor.methods.tensor import Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


@spelled
def det(x: Tensor) -> Tensor:
    """The determinant. Its gradient needs A⁻¹: backward() raises DomainError for singular A."""
    z: Tensor = apply("det", square("det", x))
    return z.squeeze((-2, -1))


@spelled
def slogdet(x: Tensor) -> SlogdetResult:
    """The determinant's sign, and the logarithm of its absolute value, which never overflows:
    (0, -inf) for a singular matrix."""
    z: Tensor = apply("slogdet", square("slogdet", x))
    return SlogdetResult(z[..., 0, 0].detach(), z[..., 0, 1])


@spelled
def diagonal(x: Tensor, offset: int = 0) -> Tensor:
    """The elements [..., i, i + offset] of matrices. A view."""
    found: Tensor = checks.at_least("linalg.diagonal", x, 2)
    return found.diagonal(offset, -2, -1)


@spelled
def trace(x: Tensor, offset: int = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of each matrix's diagonal."""
    return diagonal(x, offset).sum(-1, dtype=dtype)


@spelled
def vector_norm(
    x: Tensor, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """(sum |x|**ord)**(1/ord): Tensor.norm."""
    found: Tensor = checks.tensor("linalg.vector_norm", x)
    return found.norm(ord, axis, keepdims)


@spelled
def matrix_norm(x: Tensor, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """The norm of each matrix: "fro" the square root of the sum of squares, "nuc" the sum of the
    singular values, 2 (-2) the largest (smallest) of them, 1 (-1) the largest (smallest) sum of a
    column's absolute values, inf (-inf) that of a row's."""
    a = matrix("matrix_norm", x)
    if ord in ("fro", None):
        return a.norm(2, (-2, -1), keepdims)
    if ord == "nuc" or ord in (2, -2):
        s = svdvals(a)
        z = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
        return z.unsqueeze(-1).unsqueeze(-1) if keepdims else z
    if not is_number(ord) or ord not in (1, -1, math.inf, -math.inf):
        raise DomainError(
            f"matrix_norm(ord={ord!r:.40})", "no such norm", "'fro', 'nuc', 1, -1, 2, -2, inf, -inf"
        )
    rows, largest = abs(float(ord)) == math.inf, float(ord) > 0
    sums = a.abs().sum(-1 if rows else -2, keepdims=True)
    both = (-2, -1)
    return sums.amax(both, keepdims) if largest else sums.amin(both, keepdims)


@spelled
def norm(
    x: Tensor, ord: float | str | None = None, axis: Axes | None = None, keepdims: bool = False
) -> Tensor:
    """As in NumPy and PyTorch: `matrix_norm` for two axes, or for a matrix if `ord` is given;
    otherwise `vector_norm`."""
    found: Tensor = checks.tensor("linalg.norm", x)
    two = () if axis is None or is_number(axis) else layout.whole_numbers(axis, "axes of norm")
    if len(two) == 2:
        return matrix_norm(found.movedim(two, (-2, -1)), ord=ord).reshape(
            found.sum(two, keepdims=keepdims).shape
        )
    if axis is None and ord is not None and found.ndim == 2:
        return matrix_norm(found, keepdims, ord)
    length: Any = 2 if ord is None else ord  # only a matrix has norms with a name
    return found.norm(length, axis, keepdims)


@spelled
def cond(x: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number, the factor by which A⁻¹ may amplify an error: the largest singular
    value over the smallest (p = None or 2), else the norm p of A times that of A⁻¹."""
    a = matrix("cond", x)
    if p in (None, 2, -2):
        s = svdvals(a)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    return matrix_norm(a, ord=p) * matrix_norm(inv(a), ord=p)
