"""torch.linalg: tutor.linalg with PyTorch's signatures."""

from __future__ import annotations

from typing import Any

from tutor import linalg as ours
from tutor.torch.carrier import missing
from tutor.torch.signatures import adapted
from tutor.torch.table import rows

SIGNATURES = """
cholesky(A, *, upper=False, out=None)
cond(A, p=None, *, out=None)
cross(input, other, *, dim=-1, out=None)
det(A)
diagonal(A, *, offset=0, dim1=-2, dim2=-1)
eigh(A, UPLO='L', *, out=None)
eigvalsh(A, UPLO='L', *, out=None)
inv(A, *, out=None)
matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None, out=None)
matrix_power(A, n, *, out=None)
multi_dot(tensors, *, out=None)
pinv(A, *, atol=None, rtol=None, hermitian=False, out=None)
qr(A, mode='reduced', *, out=None)
slogdet(A, *, out=None)
solve(A, B, *, left=True, out=None)
svd(A, full_matrices=True, *, driver=None, out=None)
svdvals(A, *, driver=None, out=None)
vecdot(x, y, *, dim=-1, out=None)
vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None)
"""
for _name, _text, _ in rows(SIGNATURES):
    globals()[_name] = adapted(_name, _text, getattr(ours, _name))


def __getattr__(name: str) -> Any:
    raise missing("linalg", name)
