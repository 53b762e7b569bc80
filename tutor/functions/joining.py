"""Joining tensors, and the positions of triangles, by the names of NumPy and PyTorch.

>>> import tutor
>>> tutor.hstack([tutor.zeros(2, 1), tutor.ones(2, 2)])
Tensor([[0., 1., 1.],
        [0., 1., 1.]])
"""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Row, TensorLike
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.ops.movement import concatenate, meshgrid, row_of, stack


@spelled
def vstack(tensors: Row) -> Tensor:
    """Joined along axis 0, one below the other; a vector is a row."""
    return concatenate([t if t.ndim > 1 else t.reshape(1, -1) for t in row_of("vstack", tensors)])


@spelled
def hstack(tensors: Row) -> Tensor:
    """Joined along axis 1, side by side; vectors are joined along their only axis."""
    rows = [t if t.ndim else t.reshape(1) for t in row_of("hstack", tensors)]
    return concatenate(rows, 0 if rows[0].ndim == 1 else 1)


@spelled
def dstack(tensors: Row) -> Tensor:
    """Joined along axis 2; a matrix is a slice of depth 1, a vector is one row of it."""
    rows = [t if t.ndim > 1 else t.reshape(1, -1) for t in row_of("dstack", tensors)]
    return concatenate([t if t.ndim > 2 else t.unsqueeze(-1) for t in rows], 2)


@spelled
def column_stack(tensors: Row) -> Tensor:
    """Joined along axis 1, side by side; a vector is a column."""
    rows = row_of("column_stack", tensors)
    return concatenate([t if t.ndim > 1 else t.reshape(-1, 1) for t in rows], 1)


@spelled
def block_diag(*tensors: TensorLike) -> Tensor:
    """The matrices along the diagonal of one matrix, which is 0 elsewhere."""
    blocks = [checks.at_most("block_diag", t, 2) for t in row_of("block_diag", tensors)]
    blocks = [t if t.ndim == 2 else t.reshape(1, -1) for t in blocks]
    width, rows, before = sum(t.shape[1] for t in blocks), [], 0
    for t in blocks:
        rows.append(t.pad([(0, 0), (before, width - before - t.shape[1])]))
        before += t.shape[1]
    return concatenate(rows)


@spelled
def cartesian_prod(*tensors: TensorLike) -> Tensor:
    """All combinations of one element from each vector, one per row, the last varying fastest."""
    xs = row_of("cartesian_prod", tensors)
    if any(t.ndim != 1 for t in xs):
        raise ShapeError(
            f"cartesian_prod of shapes {', '.join(str(t.shape) for t in xs)}",
            "not all are vectors",
            ".flatten() them",
        )
    if len(xs) == 1:
        return xs[0]
    return stack([t.flatten() for t in meshgrid(*xs, indexing="ij")], -1)


def _triangle(name: str, n: int, m: int | None, k: int, lower: bool) -> tuple[Tensor, Tensor]:
    rows, columns = layout.checked_shape((n, n if m is None else m), f"the sizes of {name}")
    i, j = Tensor.arange(rows).unsqueeze(1), Tensor.arange(columns)
    away = j - i - layout.whole_number(k, "a diagonal")
    found = (away <= 0 if lower else away >= 0).nonzero()
    return found[0], found[1]


@spelled
def tril_indices(n: int, m: int | None = None, k: int = 0) -> tuple[Tensor, Tensor]:
    """The rows and columns of the lower triangle of an n by m matrix, up to diagonal k."""
    return _triangle("tril_indices", n, m, k, True)


@spelled
def triu_indices(n: int, m: int | None = None, k: int = 0) -> tuple[Tensor, Tensor]:
    """The rows and columns of the upper triangle of an n by m matrix, from diagonal k on."""
    return _triangle("triu_indices", n, m, k, False)
