"""Distinct values, and positions in sorted order: the array API's functions on sets and on
searching, each made of two sorts."""

from __future__ import annotations

from typing import NamedTuple

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.core.engine import apply
from tutor.dtype import bool_, int64, promote
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct values in ascending order, where each first occurs, the index of each element's
    value, and how often each occurs. Every nan counts as distinct."""
    flat = x.flatten()
    n, order = flat.size, flat.argsort()
    ordered = flat.index_select(0, order)
    first_of_all = Tensor.full(min(n, 1), True, dtype=bool_, device=flat.device)
    is_new = apply("cat", first_of_all, ordered[1:] != ordered[:-1], axis=0)
    (starts,) = is_new.nonzero()
    last = Tensor.full(min(n, 1), n, dtype=int64, device=flat.device)
    ends = apply("cat", starts[1:], last, axis=0)
    which = order.like(0).scatter(0, order, is_new.cast(int64).cumsum(0) - 1)
    first = order.index_select(0, starts)
    return UniqueAll(flat.index_select(0, first), first, which.reshape(x.shape), ends - starts)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values, in ascending order."""
    return unique_all(x).values


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values, in ascending order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values, in ascending order, and the index of each element's value."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@spelled
def searchsorted(
    x1: TensorLike, x2: TensorLike, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """The number of elements of the ascending x1 (or x1[sorter]) below x2; <= x2 for side="right".

    A stable sort of the two together, x2 first ("left") or last, puts before each number of x2 just
    those elements, and the numbers of x2 that a sort of x2 alone puts before it.
    """
    checks.one_of("searchsorted(side=...)", side, ("left", "right"))
    rising = x1 if isinstance(x1, Tensor) else Tensor(x1)
    if rising.ndim != 1:
        raise ShapeError(f"searchsorted in shape {rising.shape}", "no row", "give one axis")
    sought = x2 if isinstance(x2, Tensor) else rising.wrap(x2, rising.dtype)
    flat, rising = sought.flatten(), rising if sorter is None else rising[sorter]
    both = apply("cat", *((flat, rising) if side == "left" else (rising, flat)), axis=0)
    places = both.argsort().argsort()  # argsort inverts a permutation
    mine = places[: flat.size] if side == "left" else places[rising.size :]
    return (mine - flat.argsort().argsort()).reshape(sought.shape)


@spelled
def bucketize(input: TensorLike, boundaries: TensorLike, right: bool = False) -> Tensor:
    """The interval between the ascending boundaries that contains each number: the i with
    boundaries[i - 1] < x <= boundaries[i], or with `right` boundaries[i - 1] <= x < boundaries[i];
    0 before the first, their count after the last. searchsorted with swapped arguments."""
    return searchsorted(boundaries, input, side="right" if right else "left")


@spelled
def isin(x: TensorLike, test: TensorLike) -> Tensor:
    """True where x equals one of the numbers in `test`; nan never does."""
    sought = x if isinstance(x, Tensor) else Tensor(x)
    known = (test if isinstance(test, Tensor) else sought.wrap(test)).detach().flatten()
    dtype = promote(sought.dtype, known.dtype)
    sought, known = sought.detach().cast(dtype), known.cast(dtype).sort()
    if not known.numel():
        return sought.like(0) == 1
    at = searchsorted(known, sought).clip(None, known.numel() - 1)
    return known.index_select(0, at.flatten()).reshape(sought.shape) == sought


@spelled
def interp(x: TensorLike, xp: Tensor, fp: Tensor) -> Tensor:
    """Linear interpolation at x between the points (xp_i, fp_i), xp ascending; constant before the
    first point and after the last. Gradients flow to all three. Raises ShapeError."""
    sought = x if isinstance(x, Tensor) else Tensor(x, dtype=checks.tensor("interp(xp)", xp).dtype)
    xp, fp = checks.tensor("interp(xp)", xp), checks.tensor("interp(fp)", fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.numel():
        raise ShapeError(
            f"interp through points of shapes {xp.shape} and {fp.shape}",
            "no two rows of one length",
            "give as many heights as places, and at least one of each",
        )
    inside = sought.clip(xp[0], xp[-1])
    after = searchsorted(xp.detach(), inside.detach(), side="right").clip(1, None)
    after = after.clip(None, max(xp.numel() - 1, 0)).flatten()
    before = (after - 1).clip(0, None)
    x0, x1, f0, f1 = (t.index_select(0, i).reshape(sought.shape) for t in (xp, fp)
                      for i in (before, after))  # fmt: skip
    wide = x1 - x0
    part = (inside - x0) / apply("where", wide == 0, 1.0, wide)
    return f0 + part * (f1 - f0)
