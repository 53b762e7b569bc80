"""Choosing elements by position or by a mask, and writing to them. `t[...]`: tutor/selection.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tutor import layout
from tutor.core.engine import apply, engine
from tutor.dtype import int64
from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.spelling import spelled

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor


@spelled
class Indexing:
    """Elements by position."""

    __slots__ = ()

    def gather(self: Tensor, axis: int, index: Any) -> Tensor:
        """z[..., i, ...] = self[..., index[..., i, ...], ...] along axis."""
        return apply("gather", self, index, axis=axis)

    def take_along_axis(self: Tensor, index: Any, axis: int = -1) -> Tensor:
        """`gather` as NumPy has it: negative positions count from the end, and beside axis the two
        are stretched to fit each other."""
        a = layout.axis_of(axis, self.ndim)
        index = index if hasattr(index, "over") else self.wrap(index, None)
        if index.ndim != self.ndim:
            raise ShapeError(
                f"take_along_axis of shape {self.shape} with an index of shape {index.shape}",
                f"the index has {index.ndim} axes",
                f"give it {self.ndim}; index_select takes positions along one axis",
            )
        beside = layout.broadcast_shapes(
            "take_along_axis",
            (*self.shape[:a], 1, *self.shape[a + 1 :]),
            (*index.shape[:a], 1, *index.shape[a + 1 :]),
        )
        x = self.expand((*beside[:a], self.shape[a], *beside[a + 1 :]))
        index = index.expand((*beside[:a], index.shape[a], *beside[a + 1 :])).cast(int64)
        return x.gather(a, apply("where", index < 0, index + self.shape[a], index))

    def scatter(self: Tensor, axis: int, index: Any, src: Any) -> Tensor:
        """self with src[..., i, ...] written to [..., index[..., i, ...], ...] along axis; of
        several to one place, the last stays. `src` may be a number, or larger than index: then
        what is beyond is left out."""
        return apply("scatter", self, *self._source(index, src), axis=axis)

    def scatter_add(self: Tensor, axis: int, index: Any, src: Any) -> Tensor:
        """self with src[..., i, ...] added at [..., index[..., i, ...], ...] along axis."""
        return apply("scatter_add", self, *self._source(index, src), axis=axis)

    def _source(self: Tensor, index: Any, src: Any) -> tuple[Tensor, Tensor]:
        if not hasattr(index, "over"):  # a list of none is one of ints
            index = self.wrap(index, None if not hasattr(index, "__len__") or len(index) else int64)
        src = src if hasattr(src, "over") else self.wrap(src, self.dtype)
        if not src.shape:
            src = src.expand(index.shape)
        if src.shape != index.shape and src.ndim == index.ndim:  # what the index does not name
            ends = zip(src.shape, index.shape, strict=True)
            src = src.shrink(tuple((0, min(n, m)) for n, m in ends))
        return index, src

    def index_select(self: Tensor, axis: int, index: Any) -> Tensor:
        """The slices along axis at the positions in the 1-D `index`."""
        return apply("index_select", self, index, axis=axis)

    def masked_select(self: Tensor, mask: Any) -> Tensor:
        """The elements where the bool `mask` is true, 1-D; the two are stretched to one shape."""
        mask = mask if hasattr(mask, "over") else self.wrap(mask, None)
        if mask.dtype.kind != "bool":
            raise DTypeError(f"a mask of {mask.dtype.name}", "it must be bool", "compare: x > 0")
        shape = layout.broadcast_shapes("masked_select", self.shape, mask.shape)
        positions = apply("nonzero", mask.expand(shape))
        return self.expand(shape).flatten().index_select(0, positions)

    def nonzero(self: Tensor) -> tuple[Tensor, ...]:
        """Where x is not 0: for each axis the positions along it, int64, in row-major order."""
        shape = self.shape or (1,)
        rest, found = apply("nonzero", self), []
        for size in reversed(shape):
            found.append(rest % size)
            rest = rest // size
        return tuple(reversed(found))

    def one_hot(self: Tensor, classes: int | None = None) -> Tensor:
        """For each class number 0 ... classes - 1 a row (the last axis) of int64: 1 there, else 0.
        Without `classes`: as many as the largest number asks for."""
        if not self.dtype.is_integer:
            raise DTypeError(
                f"one_hot of {self.dtype.name}", "a class is a whole number", "cast it to int64"
            )
        low, high = (self.min().item(), self.max().item()) if self.numel() else (0, -1)
        n = high + 1 if classes is None else layout.whole_number(classes, "a number of classes")
        if low < 0 or high >= n:
            raise OutOfRangeError(
                f"one_hot into {n} classes",
                f"the numbers reach from {low} to {high}",
                f"give classes from 0 to {n - 1}",
            )
        place = self.cast(int64).unsqueeze(-1)
        out = place.like(0, (*self.shape, n))
        engine.call("scatter", int64, out, out, place, place.like(1), axis=self.ndim)
        return out
