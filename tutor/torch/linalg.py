"""torch.linalg: tutor.linalg with PyTorch's signatures."""

from __future__ import annotations

from typing import Any

from tutor import linalg as ours
from tutor.errors import ArgumentError
from tutor.torch.carrier import Plain, missing
from tutor.torch.signatures import adapted, formula
from tutor.torch.table import rows

SIGNATURES = """
cholesky(A, *, upper=False, out=None)
cond(A, p=None, *, out=None)
det(A)
diagonal(A, *, offset=0, dim1=-2, dim2=-1)
eigh(A, UPLO='L', *, out=None)
eigvalsh(A, UPLO='L', *, out=None)
inv(A, *, out=None)
matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None, out=None)
matrix_power(A, n, *, out=None)
multi_dot(tensors, *, out=None)
pinv(A, rtol=None, hermitian=False, *, atol=None, out=None)
qr(A, mode='reduced', *, out=None)
slogdet(A, *, out=None)
matrix_rank(A, *, atol=None, rtol=None, hermitian=False, out=None)
svd(A, full_matrices=True, *, driver=None, out=None)
svdvals(A, *, driver=None, out=None)
vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None)
"""
for _name, _text, _ in rows(SIGNATURES):
    globals()[_name] = adapted(_name, _text, getattr(ours, _name))


def solve(a: Any, b: Any, left: bool, out: Any) -> Any:
    """The X of A X = B; of a stack of matrices B may be a stack of vectors."""
    if not left:
        return Plain.transpose(ours.solve(Plain.transpose(a), Plain.transpose(b)))
    if b.ndim > 1 and b.shape == a.shape[:-1]:
        return Plain.squeeze(ours.solve(a, Plain.unsqueeze(b, -1)), -1)
    return ours.solve(a, b)


def norm(x: Any, order: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
    """A vector's length; a matrix's norm if there are two axes and an order."""
    x = x if dtype is None else Plain.cast(x, dtype)
    if order is None:
        return ours.vector_norm(x, axis=dim, keepdims=keepdim)
    pair = x.ndim == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2
    if not pair:
        return ours.vector_norm(x, axis=dim, keepdims=keepdim, ord=order)
    if dim is not None and tuple(a % x.ndim for a in dim) != (x.ndim - 2, x.ndim - 1):
        raise ArgumentError(f"norm(dim={dim})", "the axes of matrices come last here",
                            "write x.movedim(dim, (-2, -1)) first")  # fmt: skip
    return ours.matrix_norm(x, keepdims=keepdim, ord=order)


def logdet(sign: Any, size: Any) -> Any:
    """ln det A; nan for a negative determinant."""
    return Plain.where(sign < 0, float("nan"), size)


FORMULAS: dict[str, Any] = {
    "inv_ex(A, *, check_errors=False, out=None)": lambda a, check, out: (
        ours.inv(a),
        Plain.zeros(a.shape[:-2], dtype="int32"),
    ),
    "cholesky_ex(A, *, upper=False, check_errors=False, out=None)": lambda a, upper, check, out: (
        ours.cholesky(a, upper=upper),
        Plain.zeros(a.shape[:-2], dtype="int32"),
    ),
    "solve_ex(A, B, *, left=True, check_errors=False, out=None)": lambda a, b, left, *more: (
        solve(a, b, left, None),
        Plain.zeros(a.shape[:-2], dtype="int32"),
    ),
    "logdet(A)": lambda a: logdet(*ours.slogdet(a)),
    "solve(A, B, *, left=True, out=None)": solve,
    "norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None)": norm,
    "cross(input, other, *, dim=-1, out=None)": lambda x, y, dim, out: Plain.cross(x, y, dim),
    "vecdot(x, y, *, dim=-1, out=None)": lambda x, y, dim, out: ours.vecdot(x, y, axis=dim),
}
for _row, _compute in FORMULAS.items():
    globals()[_row.partition("(")[0]] = formula(_row, _compute)


def __getattr__(name: str) -> Any:
    raise missing("linalg", name)
