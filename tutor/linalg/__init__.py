"""Linear algebra: the array API's extension `linalg`, and what PyTorch and NumPy add to it.

    >>> from tutor import Tensor, linalg
    >>> linalg.solve(Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([2.0, 4.0]))
    Tensor([1., 1.])

Matrices are the last two axes, and all functions take stacks of them. float32 and float64 are
computed in their own precision, integers become float32. Every differentiable function has
gradients (tutor/linalg/ops.py has the formulas). The numbers come from LAPACK, through NumPy, or,
on the backend python_ref, from textbook algorithms (tutor/backends/matrices).
"""

from tutor.array_api import matmul, matrix_transpose, tensordot, vecdot  # in both namespaces
from tutor.backends import matrices  # noqa: F401 - which gives the backends their rows
from tutor.linalg.equations import LstsqResult, inv, lstsq, pinv, solve
from tutor.linalg.factors import (
    EighResult,
    QRResult,
    SVDResult,
    cholesky,
    eigh,
    eigvalsh,
    matrix_rank,
    qr,
    svd,
    svdvals,
)
from tutor.linalg.products import cross, matrix_power, multi_dot, outer
from tutor.linalg.sizes import (
    SlogdetResult,
    cond,
    det,
    diagonal,
    matrix_norm,
    norm,
    slogdet,
    trace,
    vector_norm,
)

__all__ = [
    "EighResult", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "cond",
    "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
