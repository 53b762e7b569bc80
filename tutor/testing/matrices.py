"""Do a backend's matrix kernels satisfy signatures.py?

The results are not determined to the last bit: two good kernels differ by as much as the matrix is
ill-conditioned. So each result is put into its own equation, as Q R - A, QᵀQ - I and "R is zero
below its diagonal"; where no equation helps (det, slogdet, svdvals), it is compared with
python_ref's. All residuals must be within 16 (m + n) u |A| (u: half a unit in the last place; |A|:
the largest absolute row sum), a bound that backward stable algorithms keep with room to spare
(Higham 2002, "Accuracy and stability of numerical algorithms"). The memory around the result and
the inputs must not change by a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

from tutor._storage.bits import pack, unpack
from tutor._storage.memory import Memory
from tutor.backends import registry
from tutor.backends.matrices.reference import Matrix
from tutor.backends.matrix_signatures import MATRICES
from tutor.dtype import DType
from tutor.errors import KernelNotFound
from tutor.testing.cases.operands import Block
from tutor.testing.conformance import Verdict

SHAPES = ((1, 1), (2, 2), (3, 3), (5, 5), (4, 2), (2, 5))  # the last two if none must be square
SQUARE = {"solve", "det", "slogdet", "cholesky", "eigh"}
LAYOUTS: dict[str, Callable[[int, int], tuple[int, int, int, int]]] = {
    # from rows and columns to both strides, the first number's position, and the memory's size
    "contiguous": lambda m, n: (n, 1, 0, m * n),
    "offset": lambda m, n: (n, 1, 3, m * n + 5),
    "transposed": lambda m, n: (1, m, 0, m * n),
    "cut out": lambda m, n: (n + 2, 1, 1, m * (n + 2) + 1),
    "sliced": lambda m, n: (4 * n, 2, 0, 4 * m * n),
    "reversed": lambda m, n: (-n, -1, m * n - 1, m * n),
}
AROUND = 7.25  # fills the memory between and around the numbers


class Placed(NamedTuple):
    """A matrix in memory."""

    operand: registry.Operand
    cells: list[int]  # positions of its numbers, row by row
    shape: tuple[int, int]

    def memory(self) -> list[float]:
        """All numbers of its Buffer."""
        return unpack(bytes(self.operand.buf.raw), self.operand.buf.dtype)

    def read(self) -> Matrix:
        (m, n), memory = self.shape, self.memory()
        return [[memory[self.cells[i * n + j]] for j in range(n)] for i in range(m)]


def placed(matrix: Matrix, shape: tuple[int, int], layout: str, dtype: DType) -> Placed:
    m, n = shape
    down, right, first, size = LAYOUTS[layout](m, n)
    cells = [first + i * down + j * right for i in range(m) for j in range(n)]
    memory = [AROUND] * size
    for cell, x in zip(cells, (x for row in matrix for x in row), strict=True):
        memory[cell] = x
    block = Block(Memory(size, dtype.itemsize, dtype.format), dtype)
    block.raw[:] = pack(memory, dtype)
    return Placed(registry.Operand(block, shape, (down, right), first), cells, shape)


# ---- what must be -------------------------------------------------------------------------------


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[math.fsum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)]
            for r in a]  # fmt: skip


def turned(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def apart(a: Matrix, b: Matrix) -> float:
    """The largest difference; infinite if there is a nan."""
    found = [abs(x - y) for r, q in zip(a, b, strict=True) for x, y in zip(r, q, strict=True)]
    return max((d if d == d else math.inf for d in found), default=0.0)


def size_of(a: Matrix) -> float:
    return max((math.fsum(map(abs, row)) for row in a), default=0.0)


def skew(q: Matrix) -> float:
    """How far the columns are from orthonormal."""
    gram = product(turned(q), q)
    return apart(gram, [[float(i == j) for j in range(len(gram))] for i in range(len(gram))])


def falls(values: list[float]) -> bool:
    """Are the values descending and not negative?"""
    return all(x >= y for x, y in zip(values, [*values[1:], 0.0], strict=True))


def must(good: bool) -> float:
    return 0.0 if good else math.inf


def scaled(a: Matrix, values: list[float]) -> Matrix:
    return [[x * v for x, v in zip(row, values, strict=True)] for row in a]


def left_over(kernel: str, z: Matrix, known: Matrix, a: Matrix, *more: Matrix) -> Iterator[float]:
    """The residuals of a kernel's equations, for its result z for `a`, and python_ref's `known`;
    relative to |A|, or to the size of the other operands."""
    m, size = len(a), size_of(a)
    if kernel == "solve":
        yield apart(product(a, z), more[0]) / (size * size_of(z) + size_of(more[0]))
    elif kernel == "det":
        yield apart(z, known) / math.prod(math.fsum(map(abs, row)) for row in a)
    elif kernel == "slogdet":
        yield must(z[0][0] == known[0][0])
        yield abs(z[0][1] - known[0][1]) / (1 + abs(known[0][1]))
    elif kernel == "cholesky":
        yield apart(product(z, turned(z)), a) / size
        yield must(not any(x for i, row in enumerate(z) for x in row[i + 1 :]))
    elif kernel == "qr":
        columns = len(z[0]) - len(a[0])
        q, r = [row[:columns] for row in z], [row[columns:] for row in z[:columns]]
        yield apart(product(q, r), a) / size
        yield skew(q)
        yield must(not any(x for i, row in enumerate(r) for x in row[:i]))
        yield must(all(row[i] >= 0 for i, row in enumerate(r)))
    elif kernel == "eigh":
        w, v = z[0], z[1:]
        yield apart(product(a, v), scaled(v, w)) / size
        yield skew(v)
        yield must(w == sorted(w))
    elif kernel == "svd":
        u, s, v = z[:m], z[m], z[m + 1 :]
        yield apart(product(scaled(u, s), turned(v)), a) / size
        yield skew(u)
        yield skew(v)
        yield must(falls(s))
    else:
        yield apart(z, known) / size
        yield must(falls(z[0]))


# ---- the cases ----------------------------------------------------------------------------------


def drawn(kernel: str, m: int, n: int, rng: Random) -> Matrix:
    """Numbers from -1/2 to 1/2 in sixteenths; the diagonal is larger by m, so that no such matrix
    is singular; symmetric if the kernel needs it."""
    a = [[rng.randrange(-8, 9) / 16 + m * (i == j) for j in range(n)] for i in range(m)]
    if kernel in ("cholesky", "eigh"):
        a = [[a[max(i, j)][min(i, j)] for j in range(n)] for i in range(m)]
    return a


def result_shape(kernel: str, m: int, n: int) -> tuple[int, int]:
    shapes = {
        "solve": (m, 2), "det": (1, 1), "slogdet": (1, 2), "qr": (m, min(m, n) + n),
        "eigh": (m + 1, n), "svd": (m + 1 + n, min(m, n)), "svdvals": (1, min(m, n)),
    }  # fmt: skip
    return shapes.get(kernel, (m, n))


def run(backend: str, kernels: Iterable[str] | None = None, seed: int = 0) -> list[Verdict]:
    """A verdict for each kernel, or the named ones, in each of its dtypes."""
    names = list(MATRICES if kernels is None else kernels)
    return [check(backend, name, dtype, seed) for name in names for dtype in MATRICES[name].dtypes]


def check(backend: str, kernel: str, dtype: DType, seed: int = 0) -> Verdict:
    """One kernel in one dtype: every shape in every layout, for inputs and result."""
    reference = registry.lookup(kernel, "python_ref", dtype)
    try:
        tested = registry.lookup(kernel, backend, dtype)
    except KernelNotFound:
        return Verdict(kernel, dtype, 0, 0, 1.0, True, "the table has no such row", ())
    rng, count, worst, first = Random(f"{seed} {kernel} {dtype.name}"), 0, 0.0, ""
    for m, n in SHAPES:
        if kernel in SQUARE and m != n:
            continue
        for i, layout in enumerate(LAYOUTS):
            given = [drawn(kernel, m, n, rng)]
            if kernel == "solve":
                given.append(drawn("", m, 2, rng))
            if kernel == "cholesky":  # positive definite: diagonally dominant
                given[0] = [[x + m * (r == c) for c, x in enumerate(row)]
                            for r, row in enumerate(given[0])]  # fmt: skip
            count += 1
            others = [*LAYOUTS][i:] + [*LAYOUTS][:i]
            off = compared(kernel, dtype, (reference, tested), given, layout, others[2])
            if off > worst:
                worst = off
            if off > 1 and not first:
                first = f"{kernel} {dtype.name} of {given} ({layout}): {off:g} of the bound"
    return Verdict(kernel, dtype, count, worst, 1.0, not first, first, tuple(LAYOUTS))


def compared(
    kernel: str, dtype: DType, both: tuple[Any, Any], given: list[Matrix], layout: str, out: str
) -> float:
    """The largest residual as a fraction of the bound; infinite if other memory was changed, or the
    kernel raised."""
    m, n = len(given[0]), len(given[0][0])
    rows, columns = result_shape(kernel, m, n)
    params = {"columns": min(m, n)} if MATRICES[kernel].params else {}
    empty = [[0.0] * columns for _ in range(rows)]
    results, ins = [], []
    for f in both:
        ins = [placed(a, (len(a), len(a[0])), layout, dtype) for a in given]
        before = [bytes(x.operand.buf.raw) for x in ins]
        z = placed(empty, (rows, columns), out, dtype)
        try:
            f(z.operand, *[x.operand for x in ins], **params)
        except Exception:  # any error: such a matrix has a result
            return math.inf
        beside = [x for cell, x in enumerate(z.memory()) if cell not in z.cells]
        if before != [bytes(x.operand.buf.raw) for x in ins] or {*beside} - {AROUND}:
            return math.inf
        results.append(z.read())
    roundoff = 2.0**-24 if dtype.itemsize == 4 else 2.0**-53
    bound = 16 * (m + n) * roundoff
    known, found = results
    left = list(left_over(kernel, found, known, *[x.read() for x in ins]))
    return math.inf if any(x != x for x in left) else max(left) / bound
