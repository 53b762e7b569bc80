"""Several tensors as one, and the positions of triangles, in the words of NumPy and PyTorch.

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
    """One below the other: along axis 0, a vector being a row."""
    return concatenate([t if t.ndim > 1 else t.reshape(1, -1) for t in row_of("vstack", tensors)])


@spelled
def hstack(tensors: Row) -> Tensor:
    """Side by side: along axis 1, of vectors along their only axis."""
    rows = [t if t.ndim else t.reshape(1) for t in row_of("hstack", tensors)]
    return concatenate(rows, 0 if rows[0].ndim == 1 else 1)


@spelled
def dstack(tensors: Row) -> Tensor:
    """One behind the other: along axis 2, a matrix being a slice of depth 1, a vector its row."""
    rows = [t if t.ndim > 1 else t.reshape(1, -1) for t in row_of("dstack", tensors)]
    return concatenate([t if t.ndim > 2 else t.unsqueeze(-1) for t in rows], 2)


@spelled
def column_stack(tensors: Row) -> Tensor:
    """Side by side, a vector being a column."""
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
    """Every choice of one element from each vector, a row each, the last choice fastest."""
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
    """Where the lower triangle of an n by m matrix stands, up to diagonal k: rows and columns."""
    return _triangle("tril_indices", n, m, k, True)


@spelled
def triu_indices(n: int, m: int | None = None, k: int = 0) -> tuple[Tensor, Tensor]:
    """Where the upper triangle of an n by m matrix stands, from diagonal k on."""
    return _triangle("triu_indices", n, m, k, False)
