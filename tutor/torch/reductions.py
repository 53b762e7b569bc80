"""Methods along axes whose conventions differ from NumPy's: pairs, unbiased spread, sums.

A row of FORMULAS is PyTorch's signature and what it computes, in its parameters' order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tutor import dtype as dtypes
from tutor.errors import ArgumentError, DTypeError
from tutor.functions import sets
from tutor.torch.carrier import Plain, promoted
from tutor.torch.shapes import narrow


class Pair(NamedTuple):
    """Values along an axis, and their positions: `values, indices = x.max(1)`."""

    values: Any
    indices: Any


class Extremes(NamedTuple):
    """The result of `aminmax`."""

    min: Any
    max: Any


def axes(dim: Any) -> Any:
    """All axes for an empty tuple, as in PyTorch."""
    return None if isinstance(dim, (tuple, list)) and not dim else dim


def wide(x: Any, dtype: Any) -> Any:
    """x in the dtype of its sum: integers and bools count in int64."""
    if dtype is not None:
        return Plain.cast(x, dtype)
    return x if x.dtype.is_float else Plain.cast(x, dtypes.int64)


def floats(name: str, x: Any, dtype: Any = None) -> Any:
    """x, in that dtype; DTypeError for integers, which PyTorch refuses too."""
    x = x if dtype is None else Plain.cast(x, dtype)
    if not x.dtype.is_float:
        raise DTypeError(f"{name} of {x.dtype.name}", "it needs floats", "write x.float() first")
    return x


def total(f: Any, x: Any, dtype: Any, *how: Any) -> Any:
    """A sum or product in that dtype; integers and bools count in int64."""
    found = f(wide(x, dtype), *how)
    return found if dtype is None else Plain.cast(found, dtype)


def truth(x: Any, found: Any) -> Any:
    """A bool, but uint8 for uint8."""
    return Plain.cast(found, dtypes.uint8) if x.dtype is dtypes.uint8 else found


def spread(name: str, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """The arguments of Plain.var, from either of PyTorch's signatures: by n - 1 unless told."""
    if isinstance(dim, bool):  # x.var(False)
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{name}(unbiased=, correction=)", "both are given", "give one")
    by = 1 if unbiased is None and correction is None else correction
    return floats(name, x), axes(dim), int(unbiased) if by is None else by, keepdim


def norm(x: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """(sum |x|**p)**(1/p); "fro" is p=2."""
    if p == "nuc":
        raise ArgumentError("norm(p='nuc')", "no norm of matrices", "torch.linalg.svdvals(x).sum()")
    order = 2 if p in ("fro", None) else p
    return Plain.norm(floats("norm", x, dtype), order, axes(dim), keepdim)


# ---- pairs ---------------------------------------------------------------------------------------


def at(x: Any, where: Any, dim: int, keepdim: bool = True) -> Pair:
    """The values at those positions, which still have the axis, and the positions."""
    values = Plain.gather(x, dim, where)
    if keepdim:
        return Pair(values, where)
    return Pair(Plain.squeeze(values, dim), Plain.squeeze(where, dim))


def alone(x: Any) -> Pair:
    """The pair of a tensor without axes: itself, at 0."""
    return Pair(Plain.clone(x), Plain.zeros((), dtype="int64"))


def extreme(name: str, x: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    """`max` of all, of an axis with positions, or of two tensors."""
    if isinstance(dim, Plain) or other is not None:
        a, b = promoted(x, dim if other is None else other)
        return (Plain.maximum if name == "max" else Plain.minimum)(a, b)
    if dim is None:
        return (Plain.amax if name == "max" else Plain.amin)(x)
    if not x.shape:
        return alone(x)
    where = (Plain.argmax if name == "max" else Plain.argmin)(x, dim, True)
    return at(x, where, dim, keepdim)


def sort(x: Any, dim: int, descending: bool, stable: Any) -> Pair:
    """The values in order along `dim`, and their positions."""
    return at(x, Plain.argsort(x, dim, descending), dim) if x.shape else alone(x)


def kth(x: Any, k: int, dim: int, keepdim: bool) -> Pair:
    """The k-th smallest along `dim`, and its position."""
    if not x.shape:
        return alone(x)
    return at(x, narrow(Plain.argsort(x, dim), dim, k - 1, 1), dim, keepdim)


def latest(values: Any, places: Any, x: Any, dim: int) -> Pair:
    """The extreme so far, and where it is."""
    return Pair(values(x, dim), places(x, dim)) if x.shape else alone(x)


def median(x: Any, dim: Any, keepdim: bool) -> Any:
    """The middle number, for an even count the lower of the two; nan if there is one."""
    if dim is None:
        found = Plain.reshape(median(Plain.reshape(x, -1), 0, False).values, ())
        if not x.requires_grad:
            return found
        there = Plain.eq(x, Plain.detach(found))  # equal numbers share its gradient
        count = Plain.cast(Plain.sum(there), x.dtype)
        return Plain.sum(Plain.masked_fill(x, ~there, 0.0)) / count
    pair = kth(x, (x.shape[dim] + 1) // 2 if x.shape else 1, dim, keepdim)
    if not x.dtype.is_float or not x.shape:
        return pair
    bad = Plain.isnan(x)
    first = Plain.argmax(Plain.cast(bad, "int8"), dim, keepdim)
    place = Plain.where(Plain.any(bad, dim, keepdim), first, pair.indices)
    return at(x, place if keepdim else Plain.unsqueeze(place, dim), dim, keepdim)


def unique(x: Any, ordered: bool, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    """The distinct values (or slices along dim) in order; with their places in x, and how often
    each occurs."""
    if dim is not None:
        rows = Plain.reshape(Plain.movedim(x, dim, 0), (x.shape[dim], -1)).tolist()
        first = {tuple(row): i for i, row in reversed(list(enumerate(rows)))}
        order = {row: i for i, row in enumerate(sorted(first))}
        each = Plain([order[tuple(row)] for row in rows], dtype="int64")
        values = Plain.index_select(x, dim, Plain([first[r] for r in order], dtype="int64"))
    elif not (return_inverse or return_counts):
        return Plain.unique(x)
    else:
        found = sets.unique_all(x)
        values, each = found.values, Plain.reshape(found.inverse_indices, x.shape)
    return with_places(values, each, return_inverse, return_counts)


def with_places(values: Any, each: Any, inverse: bool, counts: bool) -> Any:
    """The values; with the place of each element among them, and how often each occurs."""
    more = (each,) * bool(inverse)
    if counts:
        more += (Plain.bincount(Plain.reshape(each, -1), minlength=0),)
    return (values, *more) if more else values


def no_weights(x: Any, correction: Any, fweights: Any, aweights: Any) -> Any:
    """The covariances of the rows."""
    if fweights is not None or aweights is not None:
        raise ArgumentError("cov(fweights=, aweights=)", "tutor has no weights there", "leave out")
    return squeezed(Plain.cov(x, correction))


def squeezed(matrix: Any) -> Any:
    """The matrix; of one variable its only number."""
    return Plain.reshape(matrix, ()) if matrix.shape == (1, 1) else matrix


SPREAD = "dim=None, unbiased=None, keepdim=False, *, correction=None"
FORMULAS: dict[str, Any] = {
    "sum(input, dim=None, keepdim=False, *, dtype=None)":
        lambda x, dim, keep, dtype: total(Plain.sum, x, dtype, axes(dim), keep),
    "prod(input, dim=None, keepdim=False, *, dtype=None)":
        lambda x, dim, keep, dtype: total(Plain.prod, x, dtype, dim, keep),
    "mean(input, dim=None, keepdim=False, *, dtype=None)":
        lambda x, dim, keep, dtype: Plain.mean(floats("mean", x, dtype), axes(dim), keep),
    "nansum(input, dim=None, keepdim=False, *, dtype=None)":
        lambda x, dim, keep, dtype: total(Plain.nansum, x, dtype, axes(dim), keep),
    "nanmean(input, dim=None, keepdim=False, *, dtype=None)":
        lambda x, dim, keep, dtype: Plain.nanmean(floats("nanmean", x, dtype), axes(dim), keep),
    "cumsum(input, dim, *, dtype=None)":
        lambda x, dim, dtype: total(Plain.cumsum, x, dtype, dim),
    "cumprod(input, dim, *, dtype=None)":
        lambda x, dim, dtype: total(Plain.cumprod, x, dtype, dim),
    "any(input, dim=None, keepdim=False)":
        lambda x, dim, keep: truth(x, Plain.any(x, axes(dim), keep)),
    "all(input, dim=None, keepdim=False)":
        lambda x, dim, keep: truth(x, Plain.all(x, axes(dim), keep)),
    f"var(input, {SPREAD})": lambda x, *how: Plain.var(*spread("var", x, *how)),
    f"std(input, {SPREAD})": lambda x, *how: Plain.std(*spread("std", x, *how)),
    "norm(input, p='fro', dim=None, keepdim=False, *, dtype=None)": norm,
    "dist(input, other, p=2)": lambda x, y, p: Plain.norm(Plain.sub(*promoted(x, y)), p),
    "max(input, dim=None, keepdim=False, *, other=None)":
        lambda x, dim, keep, other: extreme("max", x, dim, keep, other),
    "min(input, dim=None, keepdim=False, *, other=None)":
        lambda x, dim, keep, other: extreme("min", x, dim, keep, other),
    "amin(input, dim=None, keepdim=False)": lambda x, dim, keep: Plain.amin(x, axes(dim), keep),
    "amax(input, dim=None, keepdim=False)": lambda x, dim, keep: Plain.amax(x, axes(dim), keep),
    "aminmax(input, *, dim=None, keepdim=False)":
        lambda x, dim, keep: Extremes(Plain.amin(x, dim, keep), Plain.amax(x, dim, keep)),
    "sort(input, dim=-1, descending=False, stable=False)": sort,
    "argsort(input, dim=-1, descending=False, stable=False)":
        lambda x, *how: sort(x, *how).indices,
    "msort(input)": lambda x: sort(x, 0, False, True).values,
    "topk(input, k, dim=-1, largest=True, sorted=True)":
        lambda x, k, dim, largest, ordered: Pair(*Plain.topk(x, k, dim, largest)),
    "kthvalue(input, k, dim=-1, keepdim=False)": kth,
    "median(input, dim=None, keepdim=False)": median,
    "mode(input, dim=-1, keepdim=False)": lambda x, dim, keep: Pair(*Plain.mode(x, dim, keep)),
    "cummax(input, dim)": lambda x, dim: latest(Plain.cummax, Plain._latest_max, x, dim),
    "cummin(input, dim)": lambda x, dim: latest(Plain.cummin, Plain._latest_min, x, dim),
    "quantile(input, q, dim=None, keepdim=False, *, interpolation='linear')": Plain.quantile,
    "softmax(input, dim, dtype=None)":
        lambda x, dim, dtype: Plain.softmax(floats("softmax", x, dtype), dim),
    "log_softmax(input, dim, dtype=None)":
        lambda x, dim, dtype: Plain.log_softmax(floats("log_softmax", x, dtype), dim),
    "unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)": unique,
    "corrcoef(input)": lambda x: squeezed(Plain.corrcoef(x)),
    "nanmedian(input)": lambda x: median(Plain.masked_select(x, Plain.eq(x, x)), None, False),
    "cov(input, *, correction=1, fweights=None, aweights=None)": no_weights,
}  # fmt: skip
ONLY_FUNCTIONS: dict[str, Any] = {
    f"var_mean(input, {SPREAD})": lambda x, *how: mean_too(Plain.var, "var_mean", x, *how),
    f"std_mean(input, {SPREAD})": lambda x, *how: mean_too(Plain.std, "std_mean", x, *how),
}


def mean_too(f: Any, name: str, *given: Any) -> tuple[Any, Any]:
    """The spread and the mean: a pair."""
    x, dims, by, keep = spread(name, *given)
    return f(x, dims, by, keep), Plain.mean(x, dims, keep)
