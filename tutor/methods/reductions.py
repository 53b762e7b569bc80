"""Reductions, running sums, and sorting: `axis` is None (all axes), an int, or a tuple of them."""

from __future__ import annotations

import math
from typing import Self, TypeVar

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import Pair, paired, spelled
from tutor._util.typing import Axes, Axis, DTypeLike, TensorLike
from tutor.core.engine import apply
from tutor.dtype import accumulator
from tutor.errors import ShapeError
from tutor.methods.indexing import Indexing

T = TypeVar("T", bound=Indexing)


@spelled
class Reductions(Indexing):
    """Methods that reduce, accumulate or sort along axes."""

    __slots__ = ()

    # ---- reductions ------------------------------------------------------------------------------

    def sum(
        self,
        axis: Axes | None = None,
        keepdims: bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """The sum; bools and integers are summed as 64-bit integers. With `dtype` it is computed
        and returned in that dtype: integers wrap, the sum of bools is or."""
        z = apply("sum", self._as(dtype), axis=axis, keepdims=keepdims)
        return z if dtype is None else z.cast(dtype)

    def prod(
        self,
        axis: Axes | None = None,
        keepdims: bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """The product; bools and integers are multiplied as 64-bit integers. With `dtype` it is
        computed and returned in that dtype: integers wrap, the product of bools is and."""
        z = apply("prod", self._as(dtype), axis=axis, keepdims=keepdims)
        return z if dtype is None else z.cast(dtype)

    def mean(
        self,
        axis: Axes | None = None,
        keepdims: bool = False,
        *,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """The sum divided by the number of elements. With `dtype` it is computed and returned in
        that dtype: an integer sum wraps, and the quotient is truncated."""
        if dtype is None or dtypes.of(dtype).is_float:
            return apply("mean", self._as(dtype), axis=axis, keepdims=keepdims)
        count = math.prod(self.shape[a] for a in layout.axes_of(axis, self.ndim))
        return (self.sum(axis, keepdims, dtype=dtype).cast("float64") / count).cast(dtype)

    def _as(self, dtype: DTypeLike | None) -> Self:
        return self if dtype is None else self.cast(dtype)

    @paired("argmax")
    def max(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The largest; nan if any is nan. With `dim=`, PyTorch's pair: (values, indices)."""
        return apply("max", self, axis=axis, keepdims=keepdims)

    @paired("argmin")
    def min(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The smallest; nan if any is nan. With `dim=`, PyTorch's pair: (values, indices)."""
        return apply("min", self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The position of the (first) largest element, int64."""
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The position of the (first) smallest element, int64."""
        return apply("argmin", self, axis=axis, keepdims=keepdims)

    def count_nonzero(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """The number of elements that are not 0, int64."""
        return (self != 0).sum(axis, keepdims)

    def any(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """Is at least one element not 0? False for an empty tensor."""
        return (self != 0).sum(axis, keepdims) > 0

    def all(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """Are all elements not 0? True for an empty tensor."""
        return (self == 0).sum(axis, keepdims) == 0

    def var(self, axis: Axes | None = None, correction: float = 0, keepdims: bool = False) -> Self:
        """sum (x - mean)**2 / (n - correction): correction 0 gives the variance of these n numbers,
        1 (Bessel) estimates that of the distribution they were drawn from."""
        checks.number("var(correction=...)", correction)
        axes = layout.axes_of(axis, self.ndim)
        away = self - self.mean(axes, keepdims=True)
        n = math.prod(self.shape[a] for a in axes)
        total = (away * away).sum(axes, keepdims)
        return total / max(n - correction, 0)  # for too few numbers 0 / 0: nan

    def std(self, axis: Axes | None = None, correction: float = 0, keepdims: bool = False) -> Self:
        """The square root of `var`. For equal numbers the gradient is 0."""
        return root(self.var(axis, correction, keepdims), 2)

    def norm(self, ord: float = 2, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """(sum |x|**ord)**(1/ord): the Euclidean length at 2, the sum at 1, the largest at inf, the
        number of nonzero elements at 0. For the length of a zero vector the gradient is 0."""
        checks.number("norm(ord=...)", ord)
        if ord == math.inf or ord == -math.inf:
            size = self.abs()
            return size.max(axis, keepdims) if ord > 0 else size.min(axis, keepdims)
        if ord == 0:  # flat: the derivative is 0, not missing
            return apply("where", self != 0, self.like(1, ()), self * 0).sum(axis, keepdims)
        if ord == 1:
            return self.abs().sum(axis, keepdims)
        x = self if self.dtype.is_float else self.cast("float32")
        powers = (x * x if ord == 2 else x.abs() ** ord).sum(axis, keepdims)
        return root(powers, ord)

    def logsumexp(self, axis: Axes | None = None, keepdims: bool = False) -> Self:
        """ln sum e**x, with the largest x factored out to avoid overflow; -inf if empty."""
        x = self if self.dtype.is_float else self.cast("float32")
        axes = layout.axes_of(axis, self.ndim)
        some = all(self.shape[a] for a in axes)
        largest = x.detach().max(axes, keepdims=True) if some else x.like(0, ())
        largest = apply("where", largest.isfinite(), largest, 0.0)
        total = (x - largest).exp().sum(axes, keepdims=True).log() + largest
        return total if keepdims else total.squeeze(axes)

    def trace(self) -> Self:
        """The sum of the diagonal of the first two axes."""
        return self.diagonal().sum(-1)

    # ---- running sums and extremes ---------------------------------------------------------------

    def cumsum(self, axis: Axis, *, dtype: DTypeLike | None = None) -> Self:
        """z_i = x_0 + ... + x_i along axis; bools and integers as 64-bit integers. With `dtype` it
        is computed and returned in that dtype."""
        x, a = self._summand(dtype), layout.axis_of(axis, self.ndim or 1)
        z = apply("scan", x.like(1, ()), x, axis=a) if self.shape else x.copy()
        return z if dtype is None else z.cast(dtype)

    def cumprod(self, axis: Axis, *, dtype: DTypeLike | None = None) -> Self:
        """z_i = x_0 * ... * x_i along axis; bools and integers as 64-bit integers. With `dtype` it
        is computed and returned in that dtype."""
        z, a = self._summand(dtype), layout.axis_of(axis, self.ndim or 1)
        if self.numel() and self.shape:
            first, rest = z.split((1, z.shape[a] - 1), a)
            widths = [(0, rest.shape[a]) if b == a else (0, 0) for b in range(self.ndim)]
            z = apply("scan", z, first.pad(widths), axis=a)
        else:
            z = z.copy()
        return z if dtype is None else z.cast(dtype)

    def _summand(self, dtype: DTypeLike | None) -> Self:
        """x in the dtype of its running sum; bools count as integers."""
        x = self._as(dtype)
        return x.cast(accumulator(x.dtype)) if dtype is None or x.dtype.kind == "bool" else x

    @paired("_latest_max")
    def cummax(self, axis: Axis) -> Self:
        """z_i = the largest of x_0 ... x_i along axis. With `dim=`, a pair with its positions."""
        return apply("cummax", self, axis=axis)

    @paired("_latest_min")
    def cummin(self, axis: Axis) -> Self:
        """z_i = the smallest of x_0 ... x_i along axis. With `dim=`, a pair with its positions."""
        if self.dtype.is_float:
            return -(-self).cummax(axis)
        return ~(~self).cummax(axis)  # ~ reverses the order of all integers, - fails for the lowest

    def _latest_max(self, axis: Axis) -> Self:
        """The last position of the largest of x_0 ... x_i (a nan stays the largest)."""
        return self._latest(self.cummax(axis), axis)

    def _latest_min(self, axis: Axis) -> Self:
        return self._latest(self.cummin(axis), axis)

    def _latest(self, z: Self, axis: Axis) -> Self:
        a = layout.axis_of(axis, self.ndim)
        along = tuple(-1 if b == a else 1 for b in range(self.ndim))
        here = type(self).arange(self.shape[a], device=self.buf.device).reshape(along)
        return apply("where", (self == z) + (self != self), here, 0).cummax(axis)  # + is or

    # ---- sorting ---------------------------------------------------------------------------------

    def argsort(self, axis: int = -1, descending: bool = False) -> Self:
        """The positions that sort x along axis: stable, with nan as the largest."""
        return apply("argsort", self, axis=axis, descending=descending)

    @paired("argsort")
    def sort(self, axis: int = -1, descending: bool = False) -> Self:
        """x in ascending (or descending) order along axis. With `dim=`, a pair with positions."""
        return self.gather(axis, self.argsort(axis, descending))

    def topk(self, k: int, axis: int = -1, largest: bool = True) -> tuple[Self, Self]:
        """The k largest (or smallest) along axis, the most extreme first, and their positions: a
        pair, `.values` and `.indices`. ShapeError if k is out of range."""
        if not self.shape:  # a row of one
            values, positions = self.reshape(1).topk(k, axis, largest)
            shape = values.shape[1:] if k else values.shape
            return Pair(values.reshape(shape), positions.reshape(shape))
        a, k = layout.axis_of(axis, self.ndim), layout.whole_number(k, "k")
        if not 0 <= k <= self.shape[a]:
            raise ShapeError(
                f"topk({k}) of {self.shape[a]} elements",
                "there are not so many",
                "give a smaller k",
            )
        order = self.argsort(a, descending=largest)
        positions = order.shrink(tuple((0, k if b == a else n) for b, n in enumerate(self.shape)))
        return Pair(self.gather(a, positions), positions)

    def unique(self) -> Self:
        """The distinct values in ascending order, 1-D. Each nan counts as distinct."""
        x = self.flatten().sort()
        if x.numel() < 2:
            return x
        return x.masked_select(apply("cat", x.like(1, (1,)) == 1, x[1:] != x[:-1], axis=0))

    # ---- products --------------------------------------------------------------------------------

    def matmul(self, other: TensorLike) -> Self:
        """The matrix product over the last two axes; leading axes broadcast, 1-D is a vector."""
        return apply("matmul", self, other)

    dot = matmul

    def outer(self, other: TensorLike) -> Self:
        """z_ij = x_i y_j, for two vectors; anything else is a ShapeError."""
        y = other if is_tensor(other) else self.wrap(other)
        if self.ndim != 1 or y.ndim != 1:
            raise ShapeError(
                f"outer of shapes {self.shape} and {y.shape}", "no vectors", ".flatten() them"
            )
        return self.unsqueeze(1) * y


def root(x: T, ord: float) -> T:
    """x**(1/ord); where x is 0 and the slope of the root is infinite, the gradient is 0."""
    zero = x == 0
    some = apply("where", zero, 1.0, x)
    at_zero = 0.0 if ord > 0 else math.inf
    return apply("where", zero, at_zero, some.sqrt() if ord == 2 else some ** (1 / ord))
