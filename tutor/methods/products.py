"""Sums of products: of vectors, of matrices, of all pairs from two tensors."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage import layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.methods import reductions, views
from tutor.methods.operators import T


def beside(x: T, other: TensorLike) -> T:
    """The other operand, as a Tensor."""
    found: T = other if is_tensor(other) else x.wrap(other)
    return found


def of_axes(what: str, *wanted: tuple[Any, int]) -> None:
    """ShapeError unless each Tensor has as many axes as the number paired with it."""
    if any(t.ndim != axes for t, axes in wanted):
        raise ShapeError(
            f"{what} of shapes {', '.join(str(t.shape) for t, _ in wanted)}",
            f"they have {', '.join(str(t.ndim) for t, _ in wanted)} axes",
            f"it takes {', '.join(str(axes) for _, axes in wanted)}; matmul (@) takes any",
        )


def outer(self: T, other: TensorLike) -> T:
    """z_ij = x_i y_j, for two vectors; anything else is a ShapeError."""
    y = beside(self, other)
    if self.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            f"outer of shapes {self.shape} and {y.shape}", "no vectors", ".flatten() them"
        )
    return self.unsqueeze(1) * y


def inner(self: T, other: TensorLike) -> T:
    """z[i..., j...] = sum_k x[i..., k] y[j..., k]; with a single number, the product."""
    y = beside(self, other)
    if not self.shape or not y.shape:
        return self * y
    if self.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"inner of shapes {self.shape} and {y.shape}",
            "the last axes differ",
            "they are what is summed over: they must be of one size",
        )
    rows, columns = (
        t.reshape((math.prod(t.shape[:-1]), t.shape[-1])) for t in (self, y)
    )  # fmt: skip
    return (rows @ columns.T).reshape((*self.shape[:-1], *y.shape[:-1]))


def vecdot(self: T, other: TensorLike, axis: int = -1) -> T:
    """sum_k x_k y_k along axis, which is counted in each operand and must have one size (else
    ShapeError); the other axes are broadcast."""
    y = beside(self, other)
    x, y = (views.movedim(t, layout.axis_of(axis, t.ndim), -1) for t in (self, y))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vecdot of shapes {self.shape} and {beside(self, other).shape} along axis {axis}",
            f"it has {x.shape[-1]} and {y.shape[-1]} numbers there",
            "give vectors of one length; what is beside them is stretched",
        )
    return (x * y).sum(-1)


def cross(self: T, other: TensorLike, axis: int = -1) -> T:
    """(x_1 y_2 - x_2 y_1, ...), orthogonal to both: axis has size 3 (else ShapeError)."""
    x, y = self, beside(self, other)
    shape = layout.broadcast_shapes("cross", x.shape, y.shape)
    a = layout.axis_of(axis, len(shape))
    if not shape or any(t.shape[a - len(shape)] != 3 for t in (x, y) if t.shape):
        raise ShapeError(
            f"cross of shapes {x.shape} and {y.shape} along axis {axis}",
            "no vectors of three numbers",
            "the axis must have size 3 in both",
        )
    x, y = x.expand(shape), y.expand(shape)
    return views.roll(x, -1, a) * views.roll(y, -2, a) - views.roll(x, -2, a) * views.roll(y, -1, a)


def kron(self: T, other: TensorLike) -> T:
    """The Kronecker product: each element of x becomes a block, that element times y."""
    y = beside(self, other)
    ndim = max(self.ndim, y.ndim)
    a, b = ((1,) * (ndim - t.ndim) + t.shape for t in (self, y))
    spread = self.reshape(tuple(size for n in a for size in (n, 1)))
    inside = y.reshape(tuple(size for n in b for size in (1, n)))
    return (spread * inside).reshape(tuple(m * n for m, n in zip(a, b, strict=True)))


def cdist(self: T, other: TensorLike, p: float = 2.0) -> T:
    """z_ij = the p-norm of x_i - y_j, for rows x (..., m, d) and y (..., n, d). All m n d
    differences are in memory at once."""
    y = beside(self, other)
    rows, columns = (checks.at_least("cdist", t, 2) for t in (self, y))
    if rows.shape[-1] != columns.shape[-1]:
        raise ShapeError(
            f"cdist of shapes {self.shape} and {y.shape}",
            "the rows are not of one length",
            "give (..., m, d) and (..., n, d)",
        )
    apart: T = rows.unsqueeze(-2) - columns.unsqueeze(-3)
    return reductions.norm(apart, p, -1)


def mm(self: T, other: TensorLike) -> T:
    """The product of two matrices; anything else is a ShapeError."""
    y = beside(self, other)
    of_axes("mm", (self, 2), (y, 2))
    return self @ y


def mv(self: T, other: TensorLike) -> T:
    """A matrix times a vector; anything else is a ShapeError."""
    y = beside(self, other)
    of_axes("mv", (self, 2), (y, 1))
    return self @ y


def bmm(self: T, other: TensorLike) -> T:
    """(b, m, k) @ (b, k, n): a product for each index of the first axis; else ShapeError."""
    y = beside(self, other)
    of_axes("bmm", (self, 3), (y, 3))
    if self.shape[0] != y.shape[0]:
        raise ShapeError(
            f"bmm of shapes {self.shape} and {y.shape}",
            "not as many matrices on either side",
            "give as many, or use matmul (@), which stretches leading axes",
        )
    return self @ y


def addmm(self: T, mat1: T, mat2: T, *, beta: float = 1, alpha: float = 1) -> T:
    """beta x + alpha (mat1 @ mat2); if beta is 0, x is ignored, even a nan."""
    product: T = mm(checks.tensor("addmm(mat1)", mat1), checks.tensor("addmm(mat2)", mat2))
    return _plus(self, "addmm", product, beta, alpha)


def addmv(self: T, mat: T, vec: T, *, beta: float = 1, alpha: float = 1) -> T:
    """beta x + alpha (mat @ vec)"""
    product: T = mv(checks.tensor("addmv(mat)", mat), checks.tensor("addmv(vec)", vec))
    return _plus(self, "addmv", product, beta, alpha)


def baddbmm(self: T, batch1: T, batch2: T, *, beta: float = 1, alpha: float = 1) -> T:
    """beta x + alpha (batch1 @ batch2), for each index of the first axis"""
    product: T = bmm(
        checks.tensor("baddbmm(batch1)", batch1), checks.tensor("baddbmm(batch2)", batch2)
    )
    return _plus(self, "baddbmm", product, beta, alpha)


def _plus(self: T, name: str, product: T, beta: float, alpha: float) -> T:
    checks.number(f"{name}(beta=...)", beta)
    scaled = product * checks.number(f"{name}(alpha=...)", alpha) if alpha != 1 else product
    if beta == 0:
        return scaled
    return (self if beta == 1 else self * beta) + scaled


def addcmul(self: T, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> T:
    """x + value * tensor1 * tensor2"""
    checks.number("addcmul(value=...)", value)
    return self + beside(self, tensor1) * value * beside(self, tensor2)


def addcdiv(self: T, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> T:
    """x + value * tensor1 / tensor2"""
    checks.number("addcdiv(value=...)", value)
    return self + apply("div", beside(self, tensor1) * value, beside(self, tensor2))
