"""Matrices in plain Python: the textbook algorithms, which define the right results.

A matrix is a list of rows of Python floats. Source: Golub and Van Loan 2013, "Matrix computations":
elimination 3.4, Cholesky 4.2, Householder 5.2, Jacobi for eigenvalues 8.5 and, one-sided, for
singular values 8.6. Signs that an algorithm leaves open follow a rule: the diagonal of R is not
negative, and the largest number (the first if equal) of each eigenvector, and of each column of U,
is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tutor._storage.bounds_checks import guarded
from tutor.backends import registry
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.python_ref.walk import Kernel, Operand, read, write
from tutor.errors import DomainError

Matrix = list[list[float]]
SMALL = 2.0**-52  # relative to its neighbours, a smaller number is 0 in float64
SWEEPS = 60  # far more than Jacobi's method needs: each doubles the correct digits


def matrices(x: Operand) -> list[Matrix]:
    """The matrices of the last two axes, one for each index of the others."""
    (m, n), values = x.shape[-2:], read(x)
    rows = [values[i * n : (i + 1) * n] for i in range(math.prod(x.shape[:-1]))]
    return [rows[b * m : (b + 1) * m] for b in range(math.prod(x.shape[:-2]))]


def each(out: Operand, f: Callable[..., Matrix], *ins: Operand) -> None:
    """Apply f to each matrix, or to each pair."""
    found = [f(*several) for several in zip(*map(matrices, ins), strict=True)]
    write(out, [value for z in found for row in z for value in row])


def transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def identity(n: int) -> Matrix:
    return [[float(i == j) for j in range(n)] for i in range(n)]


def dot(x: list[float], y: list[float]) -> float:
    return math.fsum(p * q for p, q in zip(x, y, strict=True))


# ---- elimination ---------------------------------------------------------------------------------


def eliminated(rows: Matrix, n: int) -> tuple[Matrix, float]:
    """The first n columns reduced to upper triangular form by adding multiples of rows to lower
    ones; and the sign of the row permutation: pivots are the largest of each column."""
    rows, sign = [row[:] for row in rows], 1.0
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        if best != k:
            rows[k], rows[best], sign = rows[best], rows[k], -sign
        pivot = rows[k]
        for i in range(k + 1, n) if pivot[k] else ():
            factor = rows[i][k] / pivot[k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], pivot, strict=True)]
    return rows, sign


def solved(a: Matrix, b: Matrix) -> Matrix:
    """X with A X = B: elimination, then back substitution."""
    n, (rows, _) = len(a), eliminated([[*x, *y] for x, y in zip(a, b, strict=True)], len(a))
    x: Matrix = [[] for _ in a]
    for i in reversed(range(n)):
        if not rows[i][i]:
            raise singular("solve")
        x[i] = [
            (right - math.fsum(rows[i][k] * x[k][j] for k in range(i + 1, n))) / rows[i][i]
            for j, right in enumerate(rows[i][n:])
        ]
    return x


def singular(name: str) -> DomainError:
    return DomainError(
        f"{name} of a matrix, or of several",
        "one is singular: some row of it is a sum of multiples of the others",
        "use pinv or lstsq, or add a small multiple of the identity: A + 1e-6 * eye(n)",
    )


def determinant(a: Matrix) -> Matrix:
    rows, sign = eliminated(a, len(a))
    return [[sign * math.prod(row[i] for i, row in enumerate(rows))]]


def log_determinant(a: Matrix) -> Matrix:
    rows, sign = eliminated(a, len(a))
    pivots = [row[i] for i, row in enumerate(rows)]
    if 0 in pivots:
        return [[0.0, -math.inf]]
    sign *= math.prod(math.copysign(1, p) for p in pivots)
    return [[sign, math.fsum(math.log(abs(p)) for p in pivots)]]


# ---- factors -------------------------------------------------------------------------------------


def cholesky(a: Matrix) -> Matrix:
    """L with L Lᵀ = A, from the lower triangle of A, row by row."""
    n = len(a)
    lower = [[0.0] * n for _ in a]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - dot(lower[i][:j], lower[j][:j])
            if i == j and not rest > 0:
                raise not_positive()
            lower[i][j] = math.sqrt(rest) if i == j else rest / lower[j][j]
    return lower


def not_positive() -> DomainError:
    return DomainError(
        "cholesky of a matrix, or of several",
        "one is not positive definite: not all of its eigenvalues are above 0",
        "give a symmetric matrix such as XᵀX, and add a small multiple of the identity",
    )


def factored(a: Matrix, columns: int) -> Matrix:
    """[Q R]: Householder's reflections turn A into R and the identity into Q, column by column."""
    m, n = len(a), len(a[0]) if a else 0
    r, q = [row[:] for row in a], identity(m)  # q is Qᵀ
    for k in range(min(m, n)):
        v = [r[i][k] if i >= k else 0.0 for i in range(m)]
        v[k] += math.copysign(math.sqrt(dot(v, v)), v[k])
        size = dot(v, v)
        for t in (r, q) if size else ():
            moved = [2 * dot(v, column) / size for column in transposed(t)]
            for i in range(k, m):
                t[i] = [x - v[i] * y for x, y in zip(t[i], moved, strict=True)]
        if r[k][k] < 0:
            r[k], q[k] = [-x for x in r[k]], [-x for x in q[k]]
    return [
        [*[q[j][i] for j in range(columns)], *[x if j >= i else 0.0 for j, x in enumerate(r[i])]]
        for i in range(m)
    ]


def turned(x: list[float], y: list[float], c: float, s: float) -> tuple[list[float], list[float]]:
    """The two rows, rotated by the angle with that cosine and sine."""
    pairs = list(zip(x, y, strict=True))
    return [c * p - s * q for p, q in pairs], [s * p + c * q for p, q in pairs]


def angle(off: float, difference: float) -> tuple[float, float]:
    """Cosine and sine of the smaller of the two angles with tan(2 angle) = 2 off / difference."""
    tau = difference / (2 * off)
    t = math.copysign(1.0, tau) / (abs(tau) + math.hypot(1.0, tau))
    c = 1 / math.hypot(1.0, t)
    return c, t * c


def upright(x: list[float]) -> float:
    """The sign that makes the largest number positive."""
    return math.copysign(1.0, max(x, key=abs)) if any(x) else 1.0


def eigen(a: Matrix) -> Matrix:
    """Ascending eigenvalues above their eigenvectors as columns, from the lower triangle of A:
    rotations set one off-diagonal number after another to 0, until all are."""
    n = len(a)
    if not all(math.isfinite(x) for row in a for x in row):
        return [[math.nan] * n for _ in range(n + 1)]
    a, v = [[a[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)], identity(n)
    least = SMALL / 64 * max((abs(x) for row in a for x in row), default=0.0)
    for _ in range(SWEEPS):
        turns = 0
        for p in range(n):
            for q in range(p + 1, n):
                if abs(a[p][q]) > least:
                    turns += 1
                    c, s = angle(a[p][q], a[q][q] - a[p][p])
                    a[p], a[q] = turned(a[p], a[q], c, s)
                    for row in a:
                        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
                    v[p], v[q] = turned(v[p], v[q], c, s)  # the vectors are rows here
        if not turns:
            break
    order = sorted(range(n), key=lambda i: a[i][i])
    vectors = [[x * upright(v[i]) for x in v[i]] for i in order]
    return [[a[i][i] for i in order], *(transposed(vectors) or [])]


def singular_values(a: Matrix) -> Matrix:
    """U above the singular values above V, with corresponding columns aligned: pairs of columns of
    A are rotated until all are orthogonal; their lengths descend."""
    m, n = len(a), len(a[0]) if a else 0
    if m < n:
        z = singular_values(transposed(a))
        v, s, u = z[:n], z[n], z[n + 1 :]
    else:
        if not all(math.isfinite(x) for row in a for x in row):
            return [[math.nan] * n for _ in range(m + 1 + n)]
        u, s, v = one_sided(transposed(a), n)
    signs = [upright(column) for column in transposed(u)]
    u, v = ([[x * sign for x, sign in zip(r, signs, strict=True)] for r in t] for t in (u, v))
    return [*u, s, *v]


def values_alone(a: Matrix) -> Matrix:
    return [singular_values(a)[len(a)]] if a and a[0] else [[]]


def one_sided(columns: Matrix, n: int) -> tuple[Matrix, list[float], Matrix]:
    v = identity(n)
    for _ in range(SWEEPS):
        turns = 0
        for p in range(n):
            for q in range(p + 1, n):
                off, x, y = (dot(columns[i], columns[j]) for i, j in ((p, q), (p, p), (q, q)))
                if abs(off) > SMALL * math.sqrt(x) * math.sqrt(y):
                    turns += 1
                    c, s = angle(off, y - x)
                    columns[p], columns[q] = turned(columns[p], columns[q], c, s)
                    v[p], v[q] = turned(v[p], v[q], c, s)
        if not turns:
            break
    sizes = [math.sqrt(dot(x, x)) for x in columns]
    order = sorted(range(n), key=lambda i: -sizes[i])
    least = max(sizes, default=0.0) * SMALL * n
    known: Matrix = []
    for i in order:
        known.append(
            [x / sizes[i] for x in columns[i]] if sizes[i] > least else beside(known, columns[i])
        )
    return transposed(known), [sizes[i] for i in order], transposed([v[i] for i in order])


def beside(known: Matrix, like: list[float]) -> list[float]:
    """A unit vector orthogonal to those known: made from the axis that is farthest off."""
    best: list[float] = []
    for axis in identity(len(like)):
        for x in (*known, *known):  # twice, to remove rounding errors as well
            part = dot(axis, x)
            axis = [a - part * b for a, b in zip(axis, x, strict=True)]
        best = max(best, axis, key=lambda t: dot(t, t))
    size = math.sqrt(dot(best, best))
    return [x / size for x in best]


KERNELS: dict[str, Kernel] = {
    "solve": lambda out, a, b: each(out, solved, a, b),
    "det": lambda out, a: each(out, determinant, a),
    "slogdet": lambda out, a: each(out, log_determinant, a),
    "cholesky": lambda out, a: each(out, cholesky, a),
    "qr": lambda out, a, *, columns: each(out, lambda x: factored(x, columns), a),
    "eigh": lambda out, a: each(out, eigen, a),
    "svd": lambda out, a: each(out, singular_values, a),
    "svdvals": lambda out, a: each(out, values_alone, a),
}


def table() -> registry.Table:
    """A row for each line of matrix_signatures.py and each of its dtypes."""
    kernels: dict[str, Any] = {name: guarded(name, KERNELS[name]) for name in MATRICES}
    return {
        (row.name, dtype): kernels[row.name] for row in MATRICES.values() for dtype in row.dtypes
    }
