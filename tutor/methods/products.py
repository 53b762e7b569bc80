"""Sums of products: of vectors, of matrices, of all pairs from two tensors."""

from __future__ import annotations

import math
from typing import Any, Self, TypeVar

from tutor._storage import layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.methods.statistics import Statistics

T = TypeVar("T", bound=Statistics)


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


@spelled
class Products(Statistics):
    """Products of vectors, matrices and elements."""

    __slots__ = ()

    # ---- of vectors ------------------------------------------------------------------------------

    def inner(self, other: TensorLike) -> Self:
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

    def vecdot(self, other: TensorLike, axis: int = -1) -> Self:
        """sum_k x_k y_k along axis, which is counted in each operand and must have one size (else
        ShapeError); the other axes are broadcast."""
        y = beside(self, other)
        x, y = (t.movedim(layout.axis_of(axis, t.ndim), -1) for t in (self, y))
        if x.shape[-1] != y.shape[-1]:
            raise ShapeError(
                f"vecdot of shapes {self.shape} and {beside(self, other).shape} along axis {axis}",
                f"it has {x.shape[-1]} and {y.shape[-1]} numbers there",
                "give vectors of one length; what is beside them is stretched",
            )
        return (x * y).sum(-1)

    def cross(self, other: TensorLike, axis: int = -1) -> Self:
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
        return x.roll(-1, a) * y.roll(-2, a) - x.roll(-2, a) * y.roll(-1, a)

    def kron(self, other: TensorLike) -> Self:
        """The Kronecker product: each element of x becomes a block, that element times y."""
        y = beside(self, other)
        ndim = max(self.ndim, y.ndim)
        a, b = ((1,) * (ndim - t.ndim) + t.shape for t in (self, y))
        spread = self.reshape(tuple(size for n in a for size in (n, 1)))
        inside = y.reshape(tuple(size for n in b for size in (1, n)))
        return (spread * inside).reshape(tuple(m * n for m, n in zip(a, b, strict=True)))

    def cdist(self, other: TensorLike, p: float = 2.0) -> Self:
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
        apart: Self = rows.unsqueeze(-2) - columns.unsqueeze(-3)
        return apart.norm(p, -1)

    # ---- of matrices -----------------------------------------------------------------------------

    def mm(self, other: TensorLike) -> Self:
        """The product of two matrices; anything else is a ShapeError."""
        y = beside(self, other)
        of_axes("mm", (self, 2), (y, 2))
        return self @ y

    def mv(self, other: TensorLike) -> Self:
        """A matrix times a vector; anything else is a ShapeError."""
        y = beside(self, other)
        of_axes("mv", (self, 2), (y, 1))
        return self @ y

    def bmm(self, other: TensorLike) -> Self:
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

    def addmm(self, mat1: Self, mat2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta x + alpha (mat1 @ mat2); if beta is 0, x is ignored, even a nan."""
        product = checks.tensor("addmm(mat1)", mat1).mm(checks.tensor("addmm(mat2)", mat2))
        return self._plus("addmm", product, beta, alpha)

    def addmv(self, mat: Self, vec: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta x + alpha (mat @ vec)"""
        product = checks.tensor("addmv(mat)", mat).mv(checks.tensor("addmv(vec)", vec))
        return self._plus("addmv", product, beta, alpha)

    def baddbmm(self, batch1: Self, batch2: Self, *, beta: float = 1, alpha: float = 1) -> Self:
        """beta x + alpha (batch1 @ batch2), for each index of the first axis"""
        b = checks.tensor("baddbmm(batch1)", batch1).bmm(checks.tensor("baddbmm(batch2)", batch2))
        return self._plus("baddbmm", b, beta, alpha)

    def _plus(self, name: str, product: Self, beta: float, alpha: float) -> Self:
        checks.number(f"{name}(beta=...)", beta)
        scaled = product * checks.number(f"{name}(alpha=...)", alpha) if alpha != 1 else product
        if beta == 0:
            return scaled
        return (self if beta == 1 else self * beta) + scaled

    # ---- of elements -----------------------------------------------------------------------------

    def addcmul(self, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> Self:
        """x + value * tensor1 * tensor2"""
        checks.number("addcmul(value=...)", value)
        return self + beside(self, tensor1) * value * beside(self, tensor2)

    def addcdiv(self, tensor1: TensorLike, tensor2: TensorLike, *, value: float = 1) -> Self:
        """x + value * tensor1 / tensor2"""
        checks.number("addcdiv(value=...)", value)
        return self + apply("div", beside(self, tensor1) * value, beside(self, tensor2))
