"""Statistics: spread, order and counts, and sums that skip nan."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tutor._storage import layout
from tutor._storage.array_like import is_number, is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import Pair
from tutor._util.typing import Axes, Axis, Number, TensorLike
from tutor.core.engine import apply
from tutor.dtype import float64, int64
from tutor.errors import DomainError, DTypeError, ShapeError
from tutor.methods import create, elementwise, indexing, reductions, views
from tutor.methods.operators import T

BETWEEN = ("linear", "lower", "higher", "nearest", "midpoint")


class Extremes(NamedTuple):
    """The result of `aminmax`."""

    min: Any
    max: Any


def std_mean(
    self: T, axis: Axes | None = None, correction: float = 0, keepdims: bool = False
) -> tuple[T, T]:
    """`std` and `mean`: a pair."""
    return reductions.std(self, axis, correction, keepdims), self.mean(axis, keepdims)


def var_mean(
    self: T, axis: Axes | None = None, correction: float = 0, keepdims: bool = False
) -> tuple[T, T]:
    """`var` and `mean`: a pair."""
    return reductions.var(self, axis, correction, keepdims), self.mean(axis, keepdims)


def aminmax(self: T, axis: Axes | None = None, keepdims: bool = False) -> Extremes:
    """The smallest and the largest: (min, max)."""
    return Extremes(self.amin(axis, keepdims), self.amax(axis, keepdims))


def nan_to_num(
    self: T, nan: Number = 0.0, posinf: Number | None = None, neginf: Number | None = None
) -> T:
    """nan becomes `nan`, inf becomes `posinf` (None: the largest float of the dtype), -inf
    `neginf` (None: the lowest). The gradient passes where nothing is replaced."""
    if not self.dtype.is_float:
        return self.copy()
    high = checks.number("posinf", self.dtype.max if posinf is None else posinf)
    low = checks.number("neginf", self.dtype.min if neginf is None else neginf)
    z = apply("where", self != self, checks.number("nan", nan), self)
    z = apply("where", self == math.inf, high, z)
    return apply("where", self == -math.inf, low, z)


def nansum(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
    """The sum of the elements that are not nan."""
    return apply("where", self != self, 0, self).sum(axis, keepdims)


def nanmean(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
    """The mean of the elements that are not nan; nan if there are none."""
    count = (self == self).sum(axis, keepdims)
    return nansum(self, axis, keepdims) / count.cast(
        self.dtype if self.dtype.is_float else "float32"
    )


def quantile(
    self: T, q: TensorLike, axis: Axes | None = None, keepdims: bool = False,
    interpolation: str = "linear",
) -> T:  # fmt: skip
    """The number below which a share q (0 to 1, or a 1-D Tensor of them) of all numbers lies.

    In n sorted numbers it is the one at position q (n - 1), from 0. Between two numbers it is
    the linear interpolation ("linear"), the "lower", the "higher", the "nearest" or the
    "midpoint". Several q come first in the shape. A nan among the numbers gives nan.
    DomainError if a q is not from 0 to 1, DTypeError unless x is a float.
    """
    checks.one_of("quantile(interpolation=...)", interpolation, BETWEEN)
    if not self.dtype.is_float:
        raise DTypeError(
            f"quantile of {self.dtype.name}", "it lies between numbers", "cast it to float32"
        )
    shares = (q if is_tensor(q) else self.wrap(q, float64)).detach().cast(float64)
    if shares.ndim > 1:
        raise ShapeError(f"quantile(q of shape {shares.shape})", "too many axes", "flatten it")
    if not (is_number(q) and 0 <= q <= 1) and not bool(((shares >= 0) * (shares <= 1)).all()):
        raise DomainError("quantile(q)", "a q that is not from 0 to 1", "0.5 is the median")
    x = self if self.shape else self.reshape(1)
    axes = layout.axes_of(axis, x.ndim)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    n = math.prod(x.shape[a] for a in axes)
    if not n:
        raise ShapeError(f"quantile of shape {self.shape}", "no numbers", "give at least one")
    rows = x.permute((*kept, *axes)).reshape((*(x.shape[a] for a in kept), n))
    ordered = reductions.sort(rows, -1)
    at = shares * (n - 1)
    low, high = at.floor().cast(int64), at.ceil().cast(int64)
    below, above = (_at_places(ordered, i) for i in (low, high))
    part = (at - at.floor()).cast(self.dtype)
    if interpolation == "linear":
        z = elementwise.lerp(below, above, part)
    elif interpolation == "midpoint":
        z = elementwise.lerp(below, above, apply("where", part == 0, 0.0, part.like(0.5)))
    elif interpolation == "nearest":
        z = _at_places(ordered, at.round().cast(int64))
    else:
        z = below if interpolation == "lower" else above
    last = ordered[..., -1:]
    z = apply("where", last != last, last, z)  # (others..., how many q)
    z = views.movedim(z, -1, 0) if shares.ndim else z.squeeze(-1)
    if not keepdims:
        return z
    sizes = tuple(1 if a in axes else m for a, m in enumerate(self.shape))
    return z.reshape((*shares.shape, *sizes))


def _at_places(ordered: Any, places: Any) -> Any:
    return ordered.index_select(-1, places.reshape(-1))


def median(self: T, axis: Axes | None = None, keepdims: bool = False) -> T:
    """The middle number; for an even count the mean of the two middle ones, as in NumPy."""
    x = self if self.dtype.is_float else self.cast("float32")
    return quantile(x, 0.5, axis, keepdims, "midpoint")


def mode(self: T, axis: Axis = -1, keepdims: bool = False) -> tuple[T, T]:
    """(values, indices): the most frequent number of each row along axis, the smallest in a
    tie, and its last position. Every nan counts as distinct."""
    a, x = layout.axis_of(axis, self.ndim or 1), self if self.shape else self.reshape(1)
    if not x.shape[a]:
        raise ShapeError(f"mode of shape {self.shape} along axis {a}", "no numbers",
                         "give at least one")  # fmt: skip
    order = x.detach().argsort(a)
    ordered = x.detach().gather(a, order)
    n = x.shape[a]
    at = create.arange(type(x), n, device=x.buf.device)
    places = at.reshape((-1, *[1] * (x.ndim - 1 - a)))
    before = ordered.index_select(a, (at - 1).maximum(0))
    starts = apply("where", ordered == before, 0, places)  # where a run of equals begins
    longest = (places - starts.cummax(a)).argmax(a, keepdims=True)
    at = order.gather(a, longest)
    values = x.gather(a, at)
    if keepdims and self.shape:
        return Pair(values, at)
    return Pair(values.squeeze(a), at.squeeze(a))


def logcumsumexp(self: T, axis: Axis) -> T:
    """z_i = ln(e**x_0 + ... + e**x_i) along axis, with the largest so far, m_i, factored out:
    the recurrence s_i = e**(m_(i-1) - m_i) s_(i-1) + e**(x_i - m_i), z_i = ln s_i + m_i."""
    x = self if self.dtype.is_float else self.cast("float32")
    a = layout.axis_of(axis, self.ndim or 1)
    if not self.shape:
        return x.copy()
    m = x.detach().cummax(a)
    safe = apply("where", m.isfinite(), m, 0.0)
    before = views.roll(m, 1, a)
    decay = apply("where", before == m, 1.0, (before - safe).exp())
    s = apply("scan", decay, (x - safe).exp(), axis=a)
    return s.log() + safe


def bincount(self: T, weights: TensorLike | None = None, minlength: int = 0) -> T:
    """z_k = the number of elements of x (1-D, integers >= 0) equal to k, or the sum of their
    weights; max(x) + 1 entries, at least `minlength`. DTypeError, DomainError, ShapeError."""
    if not self.dtype.is_integer or self.ndim != 1:
        raise DTypeError(
            f"bincount of {self.dtype.name} of shape {self.shape}",
            "what is counted are whole numbers, in a row",
            ".flatten() it, and cast it to int64",
        )
    least = layout.checked_shape((minlength,), "minlength")[0]
    if self.numel() and int(self.min().item()) < 0:
        raise DomainError("bincount", "a negative number", "give numbers of 0 or more")
    size = max(least, int(self.max().item()) + 1 if self.numel() else 0)
    at = self.cast(int64)
    w = at.like(1) if weights is None else weights if is_tensor(weights) else self.wrap(weights)
    if w.shape != self.shape:
        raise ShapeError(
            f"bincount of {self.numel()} numbers with weights of shape {w.shape}",
            "they differ",
            "give one weight for each",
        )
    return indexing.scatter_add(w.like(0, (size,)), 0, at, w)


def histc(self: T, bins: int = 100, min: Number = 0, max: Number = 0) -> T:
    """The number of elements in each of `bins` equal intervals from min to max (both 0: from
    the smallest element to the largest). The last interval includes its end; elements outside
    are ignored. In the dtype of x, as in PyTorch. Raises DTypeError, DomainError."""
    if not self.dtype.is_float:
        raise DTypeError(
            f"histc of {self.dtype.name}", "intervals have ends of any size", "cast to float32"
        )
    (n,) = layout.checked_shape((layout.positive(bins, "bins"),))
    low, high = (float(checks.number(f"histc({m})", v)) for m, v in (("min", min), ("max", max)))
    x = views.flatten(self.detach()).cast(float64)
    if low == high == 0 and x.numel():
        low, high = float(x.min().item()), float(x.max().item())
    if low == high:
        low, high = low - 1, high + 1
    if not (low < high and math.isfinite(high - low)):
        raise DomainError(f"histc({low}, {high})", "that is no interval", "give min < max")
    inside = (x >= low) * (x <= high)
    at = apply("where", inside, (x - low) * (n / (high - low)), n).floor().cast(int64)
    at = apply("where", inside * (at >= n), n - 1, at).maximum(0).minimum(n)
    counts = indexing.scatter_add(at.like(0, (n + 1,)), 0, at, at.like(1))
    return counts[:n].cast(self.dtype)


def cov(self: T, correction: float = 1) -> T:
    """c_ij = sum_k (x_ik - mean_i) (x_jk - mean_j) / (n - correction): the covariances of the
    rows of x (variables, n), or the variance of x (n)."""
    checks.number("cov(correction=...)", correction)
    rows = checks.at_most("cov", self, 2)
    x = rows if rows.dtype.is_float else rows.cast("float32")
    away = x - x.mean(-1, keepdims=True) if x.shape else x * 0
    n = x.shape[-1] if x.shape else 1
    if x.ndim < 2:
        one: T = (away * away).sum() / max(n - correction, 0)
        return one
    several: T = away @ away.T / max(n - correction, 0)
    return several


def corrcoef(self: T) -> T:
    """r_ij = c_ij / sqrt(c_ii c_jj), where c are the covariances of the rows: from -1 to 1."""
    c = cov(self)
    if not c.shape:
        return c / c
    spread = c.diagonal().sqrt()
    return elementwise.clip(c / spread.unsqueeze(1) / spread, -1, 1)
