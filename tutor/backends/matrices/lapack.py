"""Matrices by LAPACK, which NumPy includes: it reads the operands in place, without a copy.

LAPACK leaves the signs of eigenvectors, singular vectors and of R to its reflections. Here they
follow the rule of `reference`, so that both give the same. Without NumPy these rows raise
KernelNotFound: `with use_backend("python")` does the same, slowly.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from tutor._storage import bounds_checks
from tutor.backends import registry
from tutor.backends.matrices.reference import not_positive, singular
from tutor.backends.matrix_signatures import MATRICES
from tutor.errors import KernelNotFound


def numpy() -> Any:
    """The package, imported at the first call of a kernel."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        raise KernelNotFound(
            "a kernel on matrices, on backend 'simd_cpp'",
            "it is LAPACK's, by way of NumPy, which is not installed",
            "pip install numpy, or: with tutor.use_backend('python'):, which needs nothing",
        ) from None


def array(np: Any, name: str, x: Any) -> Any:
    """The operand as a NumPy array over the same memory."""
    raw = bounds_checks.check(x, f"kernel {name}")
    if 0 in x.shape:
        return np.empty(x.shape, x.buf.dtype.name)
    size = x.buf.dtype.itemsize
    strides = [s * size for s in bounds_checks.steps(x)]
    return np.ndarray(x.shape, x.buf.dtype.name, raw, x.offset * size, strides)


def called(name: str, f: Callable[..., Any], out: Any, *ins: Any, **params: Any) -> None:
    np = numpy()
    z = array(np, name, out)
    with np.errstate(all="ignore"):  # an overflow silently gives inf, as everywhere
        found = f(np, *[array(np, name, x) for x in ins], **params)
    if z.size:
        z[...] = found


def solve(np: Any, a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise singular("solve") from None


def det(np: Any, a: Any) -> Any:
    return np.linalg.det(a)[..., None, None]


def slogdet(np: Any, a: Any) -> Any:
    return np.stack(np.linalg.slogdet(a), -1)[..., None, :]


def cholesky(np: Any, a: Any) -> Any:
    try:
        lower = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise not_positive() from None
    if not np.isfinite(lower).all():
        raise not_positive()
    return lower


def qr(np: Any, a: Any, *, columns: int) -> Any:
    m, n = a.shape[-2:]
    q, r = np.linalg.qr(a, "complete" if columns > min(m, n) else "reduced")
    signs = np.ones((*a.shape[:-2], columns), a.dtype)
    diagonal = np.diagonal(r, 0, -2, -1)
    signs[..., : diagonal.shape[-1]] = np.where(diagonal < 0, -1, 1)
    z = np.zeros((*a.shape[:-1], columns + n), a.dtype)
    z[..., :columns] = q * signs[..., None, :]
    z[..., : r.shape[-2], columns:] = r * signs[..., : r.shape[-2], None]
    return z


def upright(np: Any, x: Any) -> Any:
    """For each column the sign that makes its largest number positive."""
    if not x.size:
        return np.ones((*x.shape[:-2], 1, x.shape[-1]), x.dtype)
    largest = np.take_along_axis(x, np.abs(x).argmax(-2, keepdims=True), -2)
    return np.where(largest < 0, -1, 1).astype(x.dtype)


def finite(np: Any, a: Any) -> tuple[Any, Any]:
    """The matrices, with zeros for those with a nan or infinity, on which LAPACK would not
    terminate; and nan to add to the results of these."""
    good = np.isfinite(a).all((-2, -1), keepdims=True)
    return np.where(good, a, 0), np.where(good, 0, np.nan).astype(a.dtype)


def eigh(np: Any, a: Any) -> Any:
    a, bad = finite(np, a)
    values, vectors = np.linalg.eigh(a)
    return np.concatenate([values[..., None, :], vectors * upright(np, vectors)], -2) + bad


def svd(np: Any, a: Any) -> Any:
    """Transpose wide matrices, so that signs follow the same columns as in `reference`."""
    a, bad = finite(np, a)
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    v = np.swapaxes(vt, -2, -1)
    signs = upright(np, u)
    return np.concatenate([u * signs, s[..., None, :], v * signs], -2) + bad


def svdvals(np: Any, a: Any) -> Any:
    """Without the vectors it takes a fraction of the time."""
    a, bad = finite(np, a)
    return np.linalg.svd(a, compute_uv=False)[..., None, :] + bad


KERNELS: dict[str, Callable[..., Any]] = {
    "solve": solve, "det": det, "slogdet": slogdet, "cholesky": cholesky, "qr": qr, "eigh": eigh,
    "svd": svd, "svdvals": svdvals,
}  # fmt: skip


def table() -> registry.Table:
    """A row for each line of MATRICES in signatures.py and each of its dtypes."""
    kernels = {name: partial(called, name, f) for name, f in KERNELS.items()}
    return {
        (row.name, dtype): kernels[row.name] for row in MATRICES.values() for dtype in row.dtypes
    }
