"""Reading and writing elements by position or by a mask. For arrays in `t[...]` see selection.py.

`scatter_reduce` combines the numbers that go to one place: sums use the kernel scatter_add, and
means are sums divided by counts; the largest and smallest have an op of their own
(tutor/ops/indexing.py). For a product, src is sorted by destination, and a scan multiplies until
the next destination begins. Positions run from -size to size - 1, negative ones from the end.
"""

from __future__ import annotations

from collections.abc import Sized

from tutor._storage import index_parsing, layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.typing import Key, TensorLike
from tutor.core.engine import apply, engine
from tutor.dtype import int64
from tutor.errors import DTypeError, ShapeError
from tutor.methods import create, inplace, selection, views
from tutor.methods.operators import T

REDUCE = ("sum", "prod", "mean", "amax", "amin")
BY = {"add": "sum", "multiply": "prod"}  # what `scatter` calls them


def assign(self: T, key: Key, value: TensorLike) -> None:
    """`x[key] = value`"""
    follow = inplace.is_followed(self, value)
    engine.check_writable(self)
    if index_parsing.is_basic(key):
        part = self.detach()[key]
        if follow:
            inplace.put(self, part, value, "x[key] = value")
        else:
            engine.write(part, value)
    elif follow:
        _put(self, key, value)
    else:
        selection.assign(self, key, value)


def _put(self: T, key: Key, value: TensorLike) -> None:
    """`x[key] = value` with arrays as keys, in a graph."""
    order = create.arange(type(self), self.numel(), device=self.buf.device)
    at: T = order.reshape(self.shape)[key]
    values = inplace.fitted(value, at, self.dtype)

    def written(x: T) -> T:
        flat = (views.flatten(x), views.flatten(at), views.flatten(values))
        made: T = apply("scatter", *flat, axis=0).reshape(self.shape)
        return made

    inplace.overwrite(self, written, "x[key] = value", "where(mask, value, x)", values)


def take_along_axis(self: T, index: TensorLike, axis: int = -1) -> T:
    """NumPy's `gather`: the two are broadcast along all axes except `axis`."""
    a = layout.axis_of(axis, self.ndim)
    at = index if is_tensor(index) else self.wrap(index, None)
    if at.ndim != self.ndim:
        raise ShapeError(
            f"take_along_axis of shape {self.shape} with an index of shape {at.shape}",
            f"the index has {at.ndim} axes",
            f"give it {self.ndim}; index_select takes positions along one axis",
        )
    beside = layout.broadcast_shapes(
        "take_along_axis",
        (*self.shape[:a], 1, *self.shape[a + 1 :]),
        (*at.shape[:a], 1, *at.shape[a + 1 :]),
    )
    x = self.expand((*beside[:a], self.shape[a], *beside[a + 1 :]))
    return x.gather(a, at.expand((*beside[:a], at.shape[a], *beside[a + 1 :])))


def scatter(self: T, axis: int, index: TensorLike, src: TensorLike, reduce: str | None = None) -> T:
    """self with src[..., i, ...] written to [..., index[..., i, ...], ...] along axis; if
    several go to one place, the last wins. `src` may be a number, or larger than index: the
    excess is ignored. reduce="add" and "multiply" are `scatter_reduce` by "sum" and "prod"."""
    if reduce is not None:
        checks.one_of("scatter(reduce=...)", reduce, BY)
        return scatter_reduce(self, axis, index, src, BY[reduce])
    return apply("scatter", self, *_source(self, index, src), axis=axis)


def scatter_add(self: T, axis: int, index: TensorLike, src: TensorLike) -> T:
    """self with src[..., i, ...] added at [..., index[..., i, ...], ...] along axis."""
    return apply("scatter_add", self, *_source(self, index, src), axis=axis)


def index_add(self: T, axis: int, index: TensorLike, source: TensorLike, *, alpha: float = 1) -> T:
    """self with alpha * source[..., i, ...] added at [..., index[i], ...] along axis: row by row,
    for a 1-D index, what `scatter_add` does number by number."""
    a = layout.axis_of(axis, self.ndim or 1)
    at = index if is_tensor(index) else self.wrap(index, None)
    rows = source if is_tensor(source) else self.wrap(source, self.dtype)
    if at.ndim > 1 or rows.ndim != self.ndim:
        raise ShapeError(
            f"index_add into shape {self.shape}, with an index of shape {at.shape}",
            f"the source has shape {rows.shape}",
            "give a 1-D index, and a source with the axes of the tensor",
        )
    ahead, behind = (1,) * a, (1,) * (rows.ndim - 1 - a)
    each = at.reshape((*ahead, -1, *behind)).expand(rows.shape)
    added = rows if alpha == 1 else rows * alpha
    if added.dtype is not self.dtype:
        raise DTypeError(
            f"index_add into {self.dtype.name}",
            f"alpha * source is {added.dtype.name}",
            f"cast it: index_add(axis, index, (alpha * source).cast(tutor.{self.dtype.name}))",
        )
    return scatter_add(self, axis, each, added)


def scatter_reduce(
    self: T, axis: int, index: TensorLike, src: TensorLike, reduce: str = "sum",
    include_self: bool = True,
) -> T:  # fmt: skip
    """self with, at [..., index[..., i, ...], ...] along axis, the "sum", "prod", "mean",
    "amax" or "amin" of all src[..., i, ...] that go there and, with include_self, of self's
    element. If several are the largest or smallest, they share the gradient equally."""
    checks.one_of("scatter_reduce(reduce=...)", reduce, REDUCE)
    at, given = _source(self, index, src)
    return reduced(self, axis, at, given, reduce, include_self)


def _source(self: T, index: TensorLike, src: TensorLike) -> tuple[T, T]:
    at: T
    if is_tensor(index):
        at = index
    else:
        nothing = isinstance(index, Sized) and not len(index)  # an empty list is one of ints
        at = self.wrap(index, int64 if nothing else None)
    given = src if is_tensor(src) else self.wrap(src, self.dtype)
    if not given.shape:
        given = given.expand(at.shape)
    if given.shape != at.shape and given.ndim == at.ndim:  # drop what is beyond the index
        ends = zip(given.shape, at.shape, strict=True)
        given = views.shrink(given, tuple((0, min(n, m)) for n, m in ends))
    return at, given


def masked_select(self: T, mask: TensorLike) -> T:
    """The elements where the bool `mask` is true, 1-D; the two are broadcast to one shape."""
    chosen = mask if is_tensor(mask) else self.wrap(mask, None)
    if chosen.dtype.kind != "bool":
        raise DTypeError(f"a mask of {chosen.dtype.name}", "it must be bool", "compare: x > 0")
    shape = layout.broadcast_shapes("masked_select", self.shape, chosen.shape)
    positions = apply("nonzero", chosen.expand(shape))
    return views.flatten(self.expand(shape)).index_select(0, positions)


def nonzero(self: T) -> tuple[T, ...]:
    """The positions where x is not 0: for each axis an int64 vector, in row-major order."""
    shape = self.shape or (1,)
    rest, found = apply("nonzero", self), []
    for size in reversed(shape):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))


def reduced(x: T, axis: int, index: T, src: T, reduce: str, include_self: bool) -> T:
    """See `scatter_reduce`."""
    a = layout.axis_of(axis, x.ndim or 1)
    if not x.shape:  # a row of one
        rows = [t if t.shape else t.reshape(1) for t in (x, index, src)]
        return reduced(rows[0], a, rows[1], rows[2], reduce, include_self).reshape(())
    z: T
    if reduce in ("amax", "amin"):
        z = apply(
            "scatter_extreme", x, index, src, axis=a, largest=reduce == "amax",
            include_self=include_self,
        )  # fmt: skip
        return z
    written: T = apply("scatter", x, index, src, axis=a)  # this checks all arguments
    if not index.numel():
        return written
    ones = index.like(1)
    count = apply("scatter_add", ones.like(0, x.shape), index, ones, axis=a)
    start = x if include_self else apply("where", count > 0, x.like(int(reduce == "prod")), x)
    if reduce == "prod":
        z = start * products(x, a, index, src)
    else:
        z = apply("scatter_add", start, index, src, axis=a)
    if reduce == "mean":
        number = count + 1 if include_self else apply("where", count > 0, count, 1)
        z = z / number.cast(x.dtype) if x.dtype.is_float else z // number.cast(x.dtype)
    return z


def products(x: T, axis: int, index: T, src: T) -> T:
    """The product of all src that go to each place of x, 1 where none does."""
    at = apply("where", index < 0, index + x.shape[axis], index)
    order = apply("argsort", at, axis=axis)
    at, src = (apply("gather", t, order, axis=axis) for t in (at, src))
    before = (slice(None),) * axis
    first = at.like(1, (*at.shape[:axis], 1, *at.shape[axis + 1 :])) == 1
    ahead = apply("index", at, key=(*before, slice(1, None)))
    behind = apply("index", at, key=(*before, slice(None, -1)))
    begins = apply("cat", first, ahead != behind, axis=axis)
    # z_i = src_i where a place begins, else z_(i-1) * src_i; the last of each place is the product.
    nothing = src.like(0)
    on, start = apply("where", begins, nothing, src), apply("where", begins, src, nothing)
    running = apply("scan", on, start, axis=axis)
    product: T = apply("scatter", x.like(1), at, running, axis=axis)
    return product
