"""The different values of a Tensor, and the places of values in order: the array API's functions on
sets and on searching, each made of two sorts."""

from __future__ import annotations

from typing import NamedTuple

from tutor.core.engine import apply
from tutor.dtype import bool_, int64
from tutor.errors import DomainError
from tutor.ground.typing import TensorLike
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
    """The different values in rising order; where each is first, which one each element is, and how
    often each occurs. Every nan is different from all others."""
    flat = x.flatten()
    n, order = flat.size, flat.argsort()
    ordered = flat.index_select(0, order)
    first_of_all = Tensor.full(min(n, 1), True, dtype=bool_)
    is_new = apply("cat", first_of_all, ordered[1:] != ordered[:-1], axis=0)
    (starts,) = is_new.nonzero()
    ends = apply("cat", starts[1:], Tensor.full(min(n, 1), n, dtype=int64), axis=0)
    which = order.like(0).scatter(0, order, is_new.cast(int64).cumsum(0) - 1)
    first = order.index_select(0, starts)
    return UniqueAll(flat.index_select(0, first), first, which.reshape(x.shape), ends - starts)


def unique_values(x: Tensor, /) -> Tensor:
    """The different values, in rising order."""
    return unique_all(x).values


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different values, in rising order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different values, in rising order, and which one each element of x is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def searchsorted(
    x1: Tensor, x2: TensorLike, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """How many of the rising numbers x1 (or x1[sorter]) are < x2, with side="right" <= x2.

    A stable sort of the two together, x2 first ("left") or last, puts before each number of x2 just
    those, and the numbers of x2 that a sort of x2 alone puts before it.
    """
    if side not in ("left", "right"):
        raise DomainError(f"searchsorted(side={side!r})", "no such side", "'left' or 'right'")
    sought = x2 if isinstance(x2, Tensor) else x1.wrap(x2, x1.dtype)
    flat, x1 = sought.flatten(), x1 if sorter is None else x1[sorter]
    both = apply("cat", *((flat, x1) if side == "left" else (x1, flat)), axis=0)
    places = both.argsort().argsort()  # the inverse of a permutation is the order of its numbers
    mine = places[: flat.size] if side == "left" else places[x1.size :]
    return (mine - flat.argsort().argsort()).reshape(sought.shape)
