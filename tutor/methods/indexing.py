"""Reading and writing elements by position or by a mask. For `t[...]` see selection.py."""

from __future__ import annotations

from collections.abc import Sized
from typing import Self

from tutor._storage import index_parsing, layout
from tutor._storage.array_like import is_tensor
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Key, TensorLike
from tutor.core.engine import apply, engine
from tutor.dtype import int64
from tutor.errors import DTypeError, ShapeError
from tutor.methods import scattering, selection
from tutor.methods.inplace import check_in_place
from tutor.methods.views import Views


@spelled
class Indexing(Views):
    """Elements by position."""

    __slots__ = ()

    def __getitem__(self, key: Key) -> Self:
        """NumPy's indexing: ints, slices, None and Ellipsis give a view, arrays of positions or
        bools a copy (tutor/methods/selection.py)."""
        return apply("index", self, key=key)

    def __setitem__(self, key: Key, value: TensorLike) -> None:
        instead = "use where(cond, a, b), or make the change under no_grad() or on a .detach()"
        check_in_place(self, "t[...] = value", instead, value)
        engine.check_writable(self)
        if index_parsing.is_basic(key):
            engine.write(self[key], value)
        else:
            selection.assign(self, key, value)

    def gather(self, axis: int, index: TensorLike) -> Self:
        """z[..., i, ...] = self[..., index[..., i, ...], ...] along axis. Here and below, positions
        run from -size to size - 1, negative ones from the end; others raise OutOfRangeError."""
        return apply("gather", self, index, axis=axis)

    def take_along_axis(self, index: TensorLike, axis: int = -1) -> Self:
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

    def scatter(
        self, axis: int, index: TensorLike, src: TensorLike, reduce: str | None = None
    ) -> Self:
        """self with src[..., i, ...] written to [..., index[..., i, ...], ...] along axis; if
        several go to one place, the last wins. `src` may be a number, or larger than index: the
        excess is ignored. reduce="add" and "multiply" are `scatter_reduce` by "sum" and "prod"."""
        if reduce is not None:
            checks.one_of("scatter(reduce=...)", reduce, scattering.BY)
            return self.scatter_reduce(axis, index, src, scattering.BY[reduce])
        return apply("scatter", self, *self._source(index, src), axis=axis)

    def scatter_add(self, axis: int, index: TensorLike, src: TensorLike) -> Self:
        """self with src[..., i, ...] added at [..., index[..., i, ...], ...] along axis."""
        return apply("scatter_add", self, *self._source(index, src), axis=axis)

    def scatter_reduce(
        self, axis: int, index: TensorLike, src: TensorLike, reduce: str = "sum",
        include_self: bool = True,
    ) -> Self:  # fmt: skip
        """self with, at [..., index[..., i, ...], ...] along axis, the "sum", "prod", "mean",
        "amax" or "amin" of all src[..., i, ...] that go there and, with include_self, of self's
        element. If several are the largest or smallest, they share the gradient equally."""
        checks.one_of("scatter_reduce(reduce=...)", reduce, scattering.REDUCE)
        at, given = self._source(index, src)
        return scattering.reduced(self, axis, at, given, reduce, include_self)

    def _source(self, index: TensorLike, src: TensorLike) -> tuple[Self, Self]:
        at: Self
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
            given = given.shrink(tuple((0, min(n, m)) for n, m in ends))
        return at, given

    def index_select(self, axis: int, index: TensorLike) -> Self:
        """The slices along axis at the positions in the 1-D `index`."""
        return apply("index_select", self, index, axis=axis)

    def masked_select(self, mask: TensorLike) -> Self:
        """The elements where the bool `mask` is true, 1-D; the two are broadcast to one shape."""
        chosen = mask if is_tensor(mask) else self.wrap(mask, None)
        if chosen.dtype.kind != "bool":
            raise DTypeError(f"a mask of {chosen.dtype.name}", "it must be bool", "compare: x > 0")
        shape = layout.broadcast_shapes("masked_select", self.shape, chosen.shape)
        positions = apply("nonzero", chosen.expand(shape))
        return self.expand(shape).flatten().index_select(0, positions)

    def nonzero(self) -> tuple[Self, ...]:
        """The positions where x is not 0: for each axis an int64 vector, in row-major order."""
        shape = self.shape or (1,)
        rest, found = apply("nonzero", self), []
        for size in reversed(shape):
            found.append(rest % size)
            rest = rest // size
        return tuple(reversed(found))
