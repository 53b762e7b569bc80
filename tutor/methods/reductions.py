"""Reductions, running sums, and sorting: `axis` is None (all axes), an int, or a tuple of them."""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import Pair, paired
from tutor._util.typing import Axes, Axis, DTypeLike
from tutor.core.engine import apply
from tutor.dtype import accumulator
from tutor.errors import ShapeError
from tutor.methods import create, indexing, views
from tutor.methods.operators import T

# ---- reductions ----------------------------------------------------------------------------------


def var(self: T, axis: Axes | None = None, correction: float = 0, keepdims: bool = False) -> T:
    """sum (x - mean)**2 / (n - correction): correction 0 gives the variance of these n numbers,
    1 (Bessel) estimates that of the distribution they were drawn from."""
    checks.number("var(correction=...)", correction)
    axes = layout.axes_of(axis, self.ndim)
    away = self - self.mean(axes, keepdims=True)
    n = math.prod(self.shape[a] for a in axes)
    total = (away * away).sum(axes, keepdims)
    return total / max(n - correction, 0)  # for too few numbers 0 / 0: nan


def std(self: T, axis: Axes | None = None, correction: float = 0, keepdims: bool = False) -> T:
    """The square root of `var`. For equal numbers the gradient is 0."""
    return root(var(self, axis, correction, keepdims), 2)


def norm(self: T, ord: float = 2, axis: Axes | None = None, keepdims: bool = False) -> T:
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


def logsumexp(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
    """ln sum e**x, with the largest x factored out to avoid overflow; -inf if empty."""
    x = self if self.dtype.is_float else self.cast("float32")
    axes = layout.axes_of(axis, self.ndim)
    some = all(self.shape[a] for a in axes)
    largest = x.detach().max(axes, keepdims=True) if some else x.like(0, ())
    largest = apply("where", largest.isfinite(), largest, 0.0)
    total = (x - largest).exp().sum(axes, keepdims=True).log() + largest
    return total if keepdims else total.squeeze(axes)


# ---- running sums and extremes -------------------------------------------------------------------


def cumsum(self: T, axis: Axis, *, dtype: DTypeLike | None = None) -> T:
    """z_i = x_0 + ... + x_i along axis; bools and integers as 64-bit integers. With `dtype` it
    is computed and returned in that dtype."""
    x, a = _summand(self, dtype), layout.axis_of(axis, self.ndim or 1)
    z = apply("scan", x.like(1, ()), x, axis=a) if self.shape else x.copy()
    return z if dtype is None else z.cast(dtype)


def cumprod(self: T, axis: Axis, *, dtype: DTypeLike | None = None) -> T:
    """z_i = x_0 * ... * x_i along axis; bools and integers as 64-bit integers. With `dtype` it
    is computed and returned in that dtype."""
    z, a = _summand(self, dtype), layout.axis_of(axis, self.ndim or 1)
    if self.numel() and self.shape:
        first, rest = views.split(z, (1, z.shape[a] - 1), a)
        widths = [(0, rest.shape[a]) if b == a else (0, 0) for b in range(self.ndim)]
        z = apply("scan", z, views.pad(first, widths), axis=a)
    else:
        z = z.copy()
    return z if dtype is None else z.cast(dtype)


def _summand(self: T, dtype: DTypeLike | None) -> T:
    """x in the dtype of its running sum; bools count as integers."""
    x = self if dtype is None else self.cast(dtype)
    return x.cast(accumulator(x.dtype)) if dtype is None or x.dtype.kind == "bool" else x


@paired("_latest_min")
def cummin(self: T, axis: Axis) -> T:
    """z_i = the smallest of x_0 ... x_i along axis. With `dim=`, a pair with its positions."""
    if self.dtype.is_float:
        return -(-self).cummax(axis)
    return ~(~self).cummax(axis)  # ~ reverses the order of all integers, - fails for the lowest


def latest_max(self: T, axis: Axis) -> T:
    """The last position of the largest of x_0 ... x_i (a nan stays the largest)."""
    return _latest(self, self.cummax(axis), axis)


def latest_min(self: T, axis: Axis) -> T:
    return _latest(self, cummin(self, axis), axis)


def _latest(self: T, z: T, axis: Axis) -> T:
    a = layout.axis_of(axis, self.ndim)
    along = tuple(-1 if b == a else 1 for b in range(self.ndim))
    here = create.arange(type(self), self.shape[a], device=self.buf.device).reshape(along)
    return apply("where", (self == z) + (self != self), here, 0).cummax(axis)  # + is or


# ---- sorting -------------------------------------------------------------------------------------


@paired("argsort")
def sort(self: T, axis: int = -1, descending: bool = False) -> T:
    """x in ascending (or descending) order along axis. With `dim=`, a pair with positions."""
    return self.gather(axis, self.argsort(axis, descending))


def topk(self: T, k: int, axis: int = -1, largest: bool = True) -> tuple[T, T]:
    """The k largest (or smallest) along axis, the most extreme first, and their positions: a
    pair, `.values` and `.indices`. ShapeError if k is out of range."""
    if not self.shape:  # a row of one
        values, positions = topk(self.reshape(1), k, axis, largest)
        shape = values.shape[1:] if k else values.shape
        return Pair(values.reshape(shape), positions.reshape(shape))
    a, k = layout.axis_of(axis, self.ndim), layout.whole_number(k, "k")
    if not 0 <= k <= self.shape[a]:
        raise ShapeError(
            f"topk({k}) of {self.shape[a]} elements", "there are not so many", "give a smaller k"
        )
    order = self.argsort(a, descending=largest)
    positions = views.shrink(
        order, tuple((0, k if b == a else n) for b, n in enumerate(self.shape))
    )
    return Pair(self.gather(a, positions), positions)


def unique(self: T) -> T:
    """The distinct values in ascending order, 1-D. Each nan counts as distinct."""
    x = sort(views.flatten(self))
    if x.numel() < 2:
        return x
    return indexing.masked_select(x, apply("cat", x.like(1, (1,)) == 1, x[1:] != x[:-1], axis=0))


def root(x: T, ord: float) -> T:
    """x**(1/ord); where x is 0 and the slope of the root is infinite, the gradient is 0."""
    zero = x == 0
    some = apply("where", zero, 1.0, x)
    at_zero = 0.0 if ord > 0 else math.inf
    return apply("where", zero, at_zero, some.sqrt() if ord == 2 else some ** (1 / ord))
