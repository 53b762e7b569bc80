"""Kernels on matrices, the last two axes of each operand; what is made of one matrix stands in one
result.

They come from elsewhere, not from a backend's own table: tutor/backends/matrices. How closely two
agree depends on the matrix: residuals, and where they can be the numbers, are compared.
"""

from __future__ import annotations

from tutor.backends.signatures import OTHERS, Signature
from tutor.dtype import float32, float64

WIDE = (float32, float64)
# fmt: off
MATRICES = {signature.name: signature for signature in (
    Signature("solve", "TTT", WIDE, "residual",
        "z = X of A X = B; a singular A raises DomainError", form="matrix"),
    Signature("det", "TT", WIDE, "residual", "z = det A, in a 1 by 1 matrix", form="matrix"),
    Signature("slogdet", "TT", WIDE, "residual",
        "z = [sign, ln |det A|]; of a singular A 0 and -inf", form="matrix"),
    Signature("cholesky", "TT", WIDE, "residual",
        "z = L, lower triangular, L L^T = A, of the lower triangle of A; raises DomainError if A "
        "is not positive definite", form="matrix"),
    Signature("qr", "TT", WIDE, "residual",
        "z = [Q R], Q R = A, Q with orthonormal columns, R upper triangular with a diagonal >= 0",
        ("columns",), form="matrix"),
    Signature("eigh", "TT", WIDE, "residual",
        "z = [w; V], A V = V diag(w), of the lower triangle of A, w rising, V orthonormal",
        form="matrix"),
    Signature("svd", "TT", WIDE, "residual",
        "z = [U; s; V], U diag(s) V^T = A, s falling, the columns of U and V orthonormal",
        form="matrix"),
    Signature("svdvals", "TT", WIDE, "residual", "z = [s], as of svd", form="matrix"),
)}
# fmt: on
OTHERS.update(MATRICES)
