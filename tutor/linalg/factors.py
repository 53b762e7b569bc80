"""Factorizations: a matrix as a product of matrices that are easier to work with."""

from __future__ import annotations

from typing import NamedTuple

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.linalg import ops  # noqa: F401 - which enters them in the catalogue
from tutor.linalg.given import cutoff, matrix, square
from tutor.methods.tensor import Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


@spelled
def cholesky(x: Tensor, *, upper: bool = False) -> Tensor:
    """L, lower triangular, with L Lᵀ = A (upper: Lᵀ). Reads only the lower triangle of symmetric A.
    DomainError unless all eigenvalues are above 0."""
    z: Tensor = apply("cholesky", square("cholesky", x))
    return z.mT if upper else z


@spelled
def qr(x: Tensor, mode: str = "reduced") -> QRResult:
    """Q R = A: Q has orthonormal columns, R is upper triangular with a non-negative diagonal.

    "reduced": Q (..., m, k), R (..., k, n) with k = min(m, n); "complete": Q (..., m, m), R
    (..., m, n). (NumPy and PyTorch leave the signs to LAPACK.)
    """
    checks.one_of("linalg.qr(mode=...)", mode, ("reduced", "complete"))
    a = matrix("qr", x)
    m, n = a.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    z: Tensor = apply("qr", a, columns=k)
    return QRResult(z[..., :k], z[..., :k, k:])


@spelled
def eigh(x: Tensor) -> EighResult:
    """w and V with A V = V diag(w), for symmetric A, reading only its lower triangle: w ascends,
    the columns of V are orthonormal, the largest number of each column is positive."""
    z: Tensor = apply("eigh", square("eigh", x))
    return EighResult(z[..., 0, :], z[..., 1:, :])


@spelled
def eigvalsh(x: Tensor) -> Tensor:
    """The eigenvalues of symmetric matrices, in ascending order."""
    return eigh(x).eigenvalues


@spelled
def svd(x: Tensor, full_matrices: bool = True) -> SVDResult:
    """U diag(S) Vh = A: columns of U and rows of Vh are orthonormal, S descends and is not
    negative, the largest number of each column of U is positive.

    U (..., m, k), S (..., k), Vh (..., k, n) with k = min(m, n). `full_matrices` completes U to
    (..., m, m) and Vh to (..., n, n) with orthogonal vectors, through which no gradient flows.
    """
    a = matrix("svd", x)
    m = a.shape[-2]
    z: Tensor = apply("svd", a)
    u, s, v = z[..., :m, :], z[..., m, :], z[..., m + 1 :, :]
    if full_matrices:
        u, v = _full(u), _full(v)
    return SVDResult(u, s, v.mT)


def _full(u: Tensor) -> Tensor:
    """Completes orthonormal columns to a square orthogonal matrix, by a complete QR."""
    m, k = u.shape[-2:]
    if k == m:
        return u
    return apply("cat", u, qr(u.detach(), "complete").Q[..., k:], axis=-1)


@spelled
def svdvals(x: Tensor) -> Tensor:
    """The singular values, in descending order."""
    z: Tensor = apply("svdvals", matrix("svdvals", x))
    return z[..., 0, :]


@spelled
def matrix_rank(x: Tensor, rtol: float | TensorLike | None = None) -> Tensor:
    """The number of singular values above `rtol` times the largest; default as in `pinv`."""
    a = matrix("matrix_rank", x).detach()
    s, tolerance = svdvals(a), cutoff("matrix_rank", a, rtol)
    if not s.shape[-1]:
        return s.sum(-1).cast("int64")
    return (s > s.amax(-1, keepdims=True) * tolerance).sum(-1)
