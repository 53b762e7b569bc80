"""Other shapes: views, which walk the same Buffer in another way, and copies."""

from __future__ import annotations

import itertools
import math
from typing import Self

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Axes, DTypeLike, Pairs, ShapeLike, Sizes
from tutor.core.buffer import Buffer
from tutor.core.engine import apply
from tutor.errors import AxisError, ShapeError
from tutor.methods.inplace import InPlaceMethods


@spelled
class Views(InPlaceMethods):
    """Methods that change the shape, as views or copies."""

    __slots__ = ()

    # ---- views: other walking instructions over the same Buffer ----------------------------------

    def reshape(self, *shape: ShapeLike) -> Self:
        """The same numbers in another shape; one size may be -1. A view if strides allow, else a
        view of a copy."""
        return apply("reshape", self, shape=layout.sizes_of(shape))

    def view(self, *shape: ShapeLike) -> Self:
        """As `reshape`, but never a copy: ShapeError if no strides can walk the new shape."""
        return apply("reshape", self, shape=layout.sizes_of(shape), copy=False)

    def flatten(self, start: int = 0, end: int = -1) -> Self:
        """The axes from `start` to `end`, both included, as one."""
        if not self.shape:
            return self.reshape(1)
        a, b = layout.axis_of(start, self.ndim), layout.axis_of(end, self.ndim)
        if a > b:
            raise AxisError(f"flatten({start}, {end})", "the end comes first", "swap the two")
        return self.reshape(
            (*self.shape[:a], math.prod(self.shape[a : b + 1]), *self.shape[b + 1 :])
        )

    ravel = flatten

    def unflatten(self, axis: int, sizes: ShapeLike) -> Self:
        """`flatten` backwards: the axis becomes several; one of `sizes` may be -1."""
        a = layout.axis_of(axis, self.ndim)
        if not self.shape:
            raise ShapeError("unflatten of a single number", "it has no axes", "use .reshape")
        parts = layout.whole_numbers(sizes, "sizes of unflatten")
        inner = layout.fill_in(parts, self.shape[a])
        return self.reshape((*self.shape[:a], *inner, *self.shape[a + 1 :]))

    def permute(self, *axes: ShapeLike) -> Self:
        """All axes in a new order."""
        return apply("permute", self, axes=layout.sizes_of(axes))

    def transpose(self, a: int = -2, b: int = -1) -> Self:
        """Axes a and b exchanged."""
        return apply("transpose", self, a=a, b=b)

    swapaxes = transpose

    def movedim(self, source: Sizes, destination: Sizes) -> Self:
        """The axes `source` (an int or a tuple) moved to the positions `destination`."""
        ndim = self.ndim or 1
        froms = [layout.axis_of(a, ndim) for a in layout.whole_numbers(source, "axes")]
        tos = [layout.axis_of(a, ndim) for a in layout.whole_numbers(destination, "axes")]
        if len(set(froms)) != len(froms) or len(set(tos)) != len(tos) or len(froms) != len(tos):
            raise AxisError(
                f"movedim({source}, {destination})",
                "as many different places are needed as axes",
                "name each axis and each place once",
            )
        order = [a for a in range(self.ndim) if a not in froms]
        for to, a in sorted(zip(tos, froms, strict=True)):
            order.insert(to, a)
        return apply("permute", self, axes=tuple(order) if self.shape else ())

    moveaxis = movedim

    @property
    def mT(self) -> Self:  # noqa: N802
        """The last two axes exchanged: the transpose of each matrix."""
        return self.transpose()

    @property
    def T(self) -> Self:  # noqa: N802 - as in mathematics
        """All axes in reverse order: the transpose of a matrix."""
        return apply("permute", self)

    def expand(self, *shape: ShapeLike) -> Self:
        """Axes of size 1 stretched, new ones added at the front; -1 keeps a size. No copy."""
        return apply("expand", self, shape=layout.sizes_of(shape))

    def broadcast_to(self, *shape: ShapeLike) -> Self:
        """`expand`, by NumPy's name."""
        return self.expand(*shape)

    def squeeze(self, axis: Axes | None = None) -> Self:
        """Without the axes of size 1 (or without those named, which must have size 1)."""
        return apply("squeeze", self, axis=axis)

    def unsqueeze(self, axis: int) -> Self:
        """With a new axis of size 1 at that position."""
        return apply("unsqueeze", self, axis=axis)

    def flip(self, axis: Axes | None = None) -> Self:
        """The named axes (default: all) in reverse order. A view."""
        axes = layout.axes_of(axis, self.ndim)
        key = tuple(slice(None, None, -1 if a in axes else 1) for a in range(self.ndim))
        return apply("index", self, key=key)

    def shrink(self, bounds: Pairs) -> Self:
        """`bounds[a] = (start, stop)` for every axis: the box between them."""
        key = tuple(slice(*pair) for pair in layout.pairs_of(bounds, self.ndim, "shrink"))
        return apply("index", self, key=key)

    def diagonal(self, k: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The elements [i, i + k] of axes axis1 and axis2, as a new last axis. A view."""
        return apply("diagonal", self, k=k, axis1=axis1, axis2=axis2)

    def diag_embed(self, k: int = 0, axis1: int = -2, axis2: int = -1) -> Self:
        """Matrices of zeros with the last axis of x on diagonal k: `diagonal` backwards."""
        by, ndim = layout.whole_number(k, "a diagonal"), self.ndim + 1
        n = self.shape[layout.axis_of(-1, self.ndim)] + abs(by)
        a, b = (layout.axis_of(axis, ndim) for axis in (axis1, axis2))
        shape = list(self.shape[:-1])
        for axis in sorted((a, b)):
            shape.insert(axis, n)
        return apply("place", self, view="diagonal", shape=tuple(shape), k=by, axis1=a, axis2=b)

    def diag(self, k: int = 0) -> Self:
        """For a vector, the matrix with it on diagonal k; for a matrix, its diagonal k, a view."""
        if self.ndim not in (1, 2):
            raise ShapeError(
                f"diag of shape {self.shape}",
                f"{self.ndim} axes",
                "give a vector or a matrix; .diagonal(k, -2, -1) and .diag_embed(k) take more axes",
            )
        return self.diag_embed(k) if self.ndim == 1 else self.diagonal(k)

    def diagflat(self, k: int = 0) -> Self:
        """The matrix with all elements of x, row-major, on diagonal k."""
        return self.reshape(-1).diag_embed(k)

    def unfold(self, axis: int, size: int, step: int = 1, dilation: int = 1) -> Self:
        """Sliding windows of `size` elements, `dilation` apart, at every `step` positions along
        axis: the windows lie along axis, their elements along a new last axis. A view."""
        if not self.shape:
            return apply("index", self.reshape(1).unfold(axis, size, step, dilation), key=0)
        return apply("windows", self, axis=axis, size=size, step=step, dilation=dilation)

    def split(self, sizes: Sizes, axis: int = 0) -> tuple[Self, ...]:
        """Consecutive views along axis: of `sizes` elements each (the last may be smaller), or of
        the sizes in a tuple; ShapeError unless these add up to the axis's size."""
        axis = layout.axis_of(axis, self.ndim)
        n = self.shape[axis]
        if hasattr(sizes, "__iter__"):
            each = layout.checked_shape(sizes, "sizes to split into")
        else:
            size = layout.positive(sizes, "a size to split into")
            each = (*[size] * (n // size), *[n % size] * (n % size > 0)) or (0,)
        if sum(each) != n:
            raise ShapeError(
                f"split({sizes}) along axis {axis} of shape {self.shape}",
                f"the sizes add up to {sum(each)}, not {n}",
                "give sizes that do",
            )
        return tuple(self._parts(each, axis))

    def _parts(self, sizes: Shape, axis: int) -> list[Self]:
        """Cuts many parts that need a gradient from halves of halves: a part's gradient is as large
        as what it is cut from, so cutting all from the whole would cost parts * size."""
        if len(sizes) > 4 and self.requires_grad:
            half = len(sizes) // 2
            left, right = sizes[:half], sizes[half:]
            first, second = self._parts((sum(left), sum(right)), axis)
            return first._parts(left, axis) + second._parts(right, axis)
        before = (slice(None),) * axis
        ends = itertools.accumulate(sizes)
        return [
            apply("index", self, key=(*before, slice(end - size, end)))
            for size, end in zip(sizes, ends, strict=True)
        ]

    def chunk(self, n: int, axis: int = 0) -> tuple[Self, ...]:
        """Splits into n parts along axis, as PyTorch does: ceil(size / n) elements each, the rest
        in the last; fewer parts if those suffice."""
        size = self.shape[layout.axis_of(axis, self.ndim)]
        return self.split(max(-(-size // layout.positive(n, "a number of parts")), 1), axis)

    # ---- copies ----------------------------------------------------------------------------------

    def copy(self) -> Self:
        """The same numbers in memory of their own, row-major; gradients flow through."""
        return apply("copy", self)

    clone = copy

    def contiguous(self) -> Self:
        """x itself if it is row-major in memory, otherwise a row-major copy."""
        return self if self.is_contiguous() else apply("copy", self)

    def cast(self, dtype: DTypeLike) -> Self:
        """x in another dtype; x itself if it has that one already. `astype` is the same."""
        wanted = dtypes.of(dtype)
        return self if wanted is self.dtype else apply("cast", self, dtype=wanted)

    astype = cast

    def pad(self, widths: Pairs, value: float | None = None, mode: str = "constant") -> Self:
        """`widths[a] = (before, after)`: the number of elements added around every axis.

        mode "constant" adds `value`, by default 0; "edge" repeats the outermost element; "reflect"
        mirrors the elements behind it, c b | a b c | b a; "wrap" continues from the other end,
        b c | a b c | a b.
        """
        if mode == "constant":
            number = 0 if value is None else checks.number("pad(value=...)", value)
            return apply("pad", self, widths=widths, value=number)
        x, pairs = self, layout.pairs_of(widths, self.ndim, "pad")
        layout.check_mode(mode, value)
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                size = self.shape[axis]
                layout.check_padding(mode, size, before, after)
                at = type(self).arange(-before, size + after, device=self.buf.device)
                if mode == "edge":
                    at = at.clip(0, size - 1)
                elif mode == "wrap":
                    at = at % size
                else:  # a b c b | a b c b | ...
                    period = 2 * (size - 1)
                    at = (at % period).minimum(-at % period)
                x = apply("index_select", x, at, axis=axis)
        return x

    def tile(self, *repeats: ShapeLike) -> Self:
        """The whole tensor repeated: repeats[a] times along axis a (new axes in front)."""
        times = layout.checked_shape(layout.sizes_of(repeats), "repeats")
        times = (1,) * (self.ndim - len(times)) + times
        shape = (1,) * (len(times) - self.ndim) + self.shape
        # (2, 3) twice along both: (1, 2, 1, 3) stretched to (2, 2, 2, 3), then (4, 6)
        apart = tuple(n for size in shape for n in (1, size))
        wide = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
        together = tuple(t * n for t, n in zip(times, shape, strict=True))
        return self.reshape(apart).expand(wide).copy().reshape(together)

    def repeat(self, repeats: Sizes, axis: int | None = None) -> Self:
        """Each element `repeats` times in a row, along axis (None: of the flattened tensor), as in
        NumPy. `repeats` is a number, or one per element. PyTorch's `repeat` is `tile` here."""
        x, a = (self.flatten(), 0) if axis is None else (self, layout.axis_of(axis, self.ndim))
        n = x.shape[a]
        given = repeats.tolist() if hasattr(repeats, "tolist") else repeats
        times = layout.whole_numbers(given, "repeats")
        if min(times, default=0) < 0:
            raise ShapeError(f"repeat({given})", "a negative number", "say how often: 0 or more")
        if len(times) == 1:
            wide = (*x.shape[: a + 1], times[0], *x.shape[a + 1 :])
            together = (*x.shape[:a], n * times[0], *x.shape[a + 1 :])
            return x.unsqueeze(a + 1).expand(wide).copy().reshape(together)
        if len(times) != n:
            raise ShapeError(
                f"repeat({given}) of {n} elements", f"{len(times)} numbers", "one, or one for each"
            )
        total = sum(times)
        ends = [end for end in itertools.accumulate(times[:-1]) if end < total]
        at = self.wrap(ends, dtypes.int64)  # where the next one begins
        begun = apply("scatter_add", at.like(0, (total,)), at, at.like(1), axis=0)
        return apply("index_select", x, apply("scan", begun.like(1, ()), begun, axis=0), axis=a)

    repeat_interleave = repeat

    def roll(self, shifts: Sizes, axis: Axes | None = None) -> Self:
        """x shifted by `shifts` positions along axis; elements that fall off the end return at the
        front. With axis=None the flattened tensor is rolled. Tuples roll several axes."""
        by = layout.whole_numbers(shifts, "shifts")
        if axis is None:
            return self.flatten().roll(sum(by), 0).reshape(self.shape)
        axes = layout.whole_numbers(axis, "axes")
        if len(axes) != len(by):
            raise AxisError(f"roll({shifts}, {axis=})", "not as many", "one shift for each axis")
        x = self
        for shift, a in zip(by, axes, strict=True):
            size = self.shape[layout.axis_of(a, self.ndim)]
            tail = -shift % size if size else 0
            if tail:
                x = apply("cat", *reversed(x.split((tail, size - tail), a)), axis=a)
        return x if x is not self else self.copy()

    def rot90(self, k: int = 1, axes: Sizes = (0, 1)) -> Self:
        """x rotated by k right angles, from the first of the two axes towards the second."""
        turns, pair = layout.whole_number(k, "k") % 4, layout.whole_numbers(axes, "axes of rot90")
        if len(pair) != 2:
            raise AxisError(f"rot90(axes={pair})", f"{len(pair)} axes", "name two: (0, 1)")
        a, b = (layout.axis_of(axis, self.ndim) for axis in pair)
        if a == b or not self.shape:
            raise AxisError(f"rot90(axes={pair})", "they are the same", "name two axes")
        turned = self if turns % 2 == 0 else self.transpose(a, b)
        flipped = ((), (a,), (a, b), (b,))[turns]
        return turned.flip(flipped) if flipped else turned.copy()

    def tril(self, k: int = 0) -> Self:
        """x with 0 above diagonal k of the last two axes."""
        return self._triangle(k, True)

    def triu(self, k: int = 0) -> Self:
        """x with 0 below diagonal k of the last two axes."""
        return self._triangle(k, False)

    def _triangle(self, k: int, lower: bool) -> Self:
        if self.ndim < 2:
            raise ShapeError("a triangle", f"shape {self.shape}", "it takes rows and columns")
        here = self.buf.device
        Buffer.empty(self.numel(), self.dtype, here)  # is there memory? Checked before the arange
        row = type(self).arange(self.shape[-2], device=here).unsqueeze(1)
        column = type(self).arange(self.shape[-1], device=here)
        by = layout.whole_number(k, "a diagonal")
        row = row + by if by else row
        kept = column <= row if lower else column >= row
        return apply("where", kept, self, False if self.dtype.kind == "bool" else 0)
