"""Choosing elements by position or by a mask, and writing to them. `t[...]`: selection.py."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

from tutor.core.engine import apply, engine
from tutor.dtype import int64
from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.ground import layout
from tutor.ground.literals import is_tensor
from tutor.ground.spelling import spelled

if TYPE_CHECKING:
    from tutor.core.tensor import Tensor
    from tutor.ground.typing import TensorLike


@spelled
class Indexing:
    """Elements by position."""

    __slots__ = ()

    def gather(self: Tensor, axis: int, index: TensorLike) -> Tensor:
        """z[..., i, ...] = self[..., index[..., i, ...], ...] along axis. Here and below positions
        are from -size to size - 1, negative ones counted from the end; else OutOfRangeError."""
        return apply("gather", self, index, axis=axis)

    def take_along_axis(self: Tensor, index: TensorLike, axis: int = -1) -> Tensor:
        """`gather` as NumPy has it: beside axis the two are stretched to fit each other."""
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

    def scatter(self: Tensor, axis: int, index: TensorLike, src: TensorLike) -> Tensor:
        """self with src[..., i, ...] written to [..., index[..., i, ...], ...] along axis; of
        several to one place, the last stays. `src` may be a number, or larger than index: then
        what is beyond is left out."""
        return apply("scatter", self, *self._source(index, src), axis=axis)

    def scatter_add(self: Tensor, axis: int, index: TensorLike, src: TensorLike) -> Tensor:
        """self with src[..., i, ...] added at [..., index[..., i, ...], ...] along axis."""
        return apply("scatter_add", self, *self._source(index, src), axis=axis)

    def _source(self: Tensor, index: TensorLike, src: TensorLike) -> tuple[Tensor, Tensor]:
        nothing = isinstance(index, Sized) and not len(index)  # a list of none is one of ints
        at = index if is_tensor(index) else self.wrap(index, int64 if nothing else None)
        given = src if is_tensor(src) else self.wrap(src, self.dtype)
        if not given.shape:
            given = given.expand(at.shape)
        if given.shape != at.shape and given.ndim == at.ndim:  # what the index does not name
            ends = zip(given.shape, at.shape, strict=True)
            given = given.shrink(tuple((0, min(n, m)) for n, m in ends))
        return at, given

    def index_select(self: Tensor, axis: int, index: TensorLike) -> Tensor:
        """The slices along axis at the positions in the 1-D `index`."""
        return apply("index_select", self, index, axis=axis)

    def masked_select(self: Tensor, mask: TensorLike) -> Tensor:
        """The elements where the bool `mask` is true, 1-D; the two are stretched to one shape."""
        chosen = mask if is_tensor(mask) else self.wrap(mask, None)
        if chosen.dtype.kind != "bool":
            raise DTypeError(f"a mask of {chosen.dtype.name}", "it must be bool", "compare: x > 0")
        shape = layout.broadcast_shapes("masked_select", self.shape, chosen.shape)
        positions = apply("nonzero", chosen.expand(shape))
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
        if classes is None:  # only the numbers themselves can say it
            n = max(int(self.max()) + 1, 0) if self.numel() else 0
        else:
            (n,) = layout.checked_shape((classes,), "a number of classes")
        place = self.cast(int64).unsqueeze(-1)
        out = place.like(0, (*self.shape, n))
        place = apply("where", place < 0, n, place)  # n is no class, so the kernel refuses it
        try:
            engine.call("scatter", int64, out, out, place, place.like(1), axis=self.ndim)
        except OutOfRangeError:
            raise OutOfRangeError(
                f"one_hot into {n} classes",
                f"the numbers reach from {self.min().item()} to {self.max().item()}",
                f"give classes from 0 to {n - 1}",
            ) from None
        return out
