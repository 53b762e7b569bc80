"""Products of vectors and of several matrices."""

from __future__ import annotations

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.errors import ShapeError
from tutor.linalg.equations import inv
from tutor.methods.tensor import Tensor


@spelled
def matrix_power(x: Tensor, n: int) -> Tensor:
    """A A ... A, n times, in about log2 n products; a negative n takes powers of the inverse."""
    power = layout.whole_number(n, "n of matrix_power")
    a = checks.at_least("linalg.matrix_power", x, 2)
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"linalg.matrix_power of shape {a.shape}", "not square", "(..., n, n)")
    base: Tensor = inv(a) if power < 0 else a
    result = Tensor.eye(a.shape[-1], dtype=base.dtype, device=a.device).expand(a.shape)
    power, first = abs(power), True
    while power:
        if power & 1:
            result, first = (base if first else result @ base), False
        power >>= 1
        base = base @ base if power else base
    return result


@spelled
def multi_dot(arrays: list[Tensor]) -> Tensor:
    """The product of several matrices, in the order with the fewest multiplications (the first and
    the last may be vectors): Cormen et al. 2022, section 14.2."""
    xs = list(checks.tensors("linalg.multi_dot", arrays))
    if len(xs) < 2 or any(t.ndim != 2 for t in xs[1:-1]) or not {xs[0].ndim, xs[-1].ndim} <= {1, 2}:
        raise ShapeError(
            f"multi_dot of shapes {', '.join(str(t.shape) for t in xs)}",
            "no row of at least two matrices",
            "give matrices; the first and the last may be vectors",
        )
    sizes = [1 if xs[0].ndim == 1 else xs[0].shape[0]]
    sizes += [t.shape[0] for t in xs[1:]] + [1 if xs[-1].ndim == 1 else xs[-1].shape[1]]

    return product(xs, splits(sizes), 0, len(xs) - 1)


def splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices i to j (sizes[i] by sizes[i + 1] and so on) for the
    fewest multiplications: the last matrix of the left factor. Long ranges build on short ones."""
    count = len(sizes) - 1
    fewest = {(i, i): 0 for i in range(count)}
    found = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            fewest[i, j], found[i, j] = min(
                (fewest[i, k] + fewest[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return found


def product(xs: list[Tensor], last: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    """Matrices i to j, multiplied in that order."""
    if i == j:
        return xs[i]
    k = last[i, j]
    return product(xs, last, i, k) @ product(xs, last, k + 1, j)


@spelled
def cross(x1: Tensor, x2: TensorLike, *, axis: int = -1) -> Tensor:
    """The vectors orthogonal to both, for three numbers along axis: Tensor.cross."""
    found: Tensor = checks.tensor("linalg.cross", x1)
    return found.cross(x2, axis)


@spelled
def outer(x1: Tensor, x2: TensorLike) -> Tensor:
    """z_ij = x_i y_j, for two vectors."""
    found: Tensor = checks.tensor("linalg.outer", x1)
    return found.outer(x2)
