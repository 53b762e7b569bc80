"""Other shapes: views, which walk the same Buffer in another way, and copies.

All are composed of the views and copies that are ops: see tutor/methods/operators.py.
"""

from __future__ import annotations

import itertools
import math

from tutor import dtype as dtypes
from tutor._storage import layout
from tutor._storage.layout import Shape
from tutor._util import checks
from tutor._util.typing import Axes, Pairs, ShapeLike, Sizes, TensorLike
from tutor.core.buffer import Buffer
from tutor.core.engine import apply
from tutor.errors import AxisError, ShapeError
from tutor.methods import create
from tutor.methods.operators import T

# ---- views: other walking instructions over the same Buffer --------------------------------------


def flatten(self: T, start: int = 0, end: int = -1) -> T:
    """The axes from `start` to `end`, both included, as one."""
    if not self.shape:
        return self.reshape(1)
    a, b = layout.axis_of(start, self.ndim), layout.axis_of(end, self.ndim)
    if a > b:
        raise AxisError(f"flatten({start}, {end})", "the end comes first", "swap the two")
    return self.reshape((*self.shape[:a], math.prod(self.shape[a : b + 1]), *self.shape[b + 1 :]))


def unflatten(self: T, axis: int, sizes: ShapeLike) -> T:
    """`flatten` backwards: the axis becomes several; one of `sizes` may be -1."""
    a = layout.axis_of(axis, self.ndim)
    if not self.shape:
        raise ShapeError("unflatten of a single number", "it has no axes", "use .reshape")
    parts = layout.whole_numbers(sizes, "sizes of unflatten")
    inner = layout.fill_in(parts, self.shape[a])
    return self.reshape((*self.shape[:a], *inner, *self.shape[a + 1 :]))


def movedim(self: T, source: Sizes, destination: Sizes) -> T:
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


def broadcast_to(self: T, *shape: ShapeLike) -> T:
    """`expand`, by NumPy's name."""
    return self.expand(*shape)


def flip(self: T, axis: Axes | None = None) -> T:
    """The named axes (default: all) in reverse order. A view."""
    axes = layout.axes_of(axis, self.ndim)
    key = tuple(slice(None, None, -1 if a in axes else 1) for a in range(self.ndim))
    return apply("index", self, key=key)


def shrink(self: T, bounds: Pairs) -> T:
    """`bounds[a] = (start, stop)` for every axis: the box between them."""
    key = tuple(slice(*pair) for pair in layout.pairs_of(bounds, self.ndim, "shrink"))
    return apply("index", self, key=key)


def diag_embed(self: T, k: int = 0, axis1: int = -2, axis2: int = -1) -> T:
    """Matrices of zeros with the last axis of x on diagonal k: `diagonal` backwards."""
    by, ndim = layout.whole_number(k, "a diagonal"), self.ndim + 1
    n = self.shape[layout.axis_of(-1, self.ndim)] + abs(by)
    a, b = (layout.axis_of(axis, ndim) for axis in (axis1, axis2))
    shape = list(self.shape[:-1])
    for axis in sorted((a, b)):
        shape.insert(axis, n)
    return apply("place", self, view="diagonal", shape=tuple(shape), k=by, axis1=a, axis2=b)


def diag(self: T, k: int = 0) -> T:
    """For a vector, the matrix with it on diagonal k; for a matrix, its diagonal k, a view."""
    if self.ndim not in (1, 2):
        raise ShapeError(
            f"diag of shape {self.shape}",
            f"{self.ndim} axes",
            "give a vector or a matrix; .diagonal(k, -2, -1) and .diag_embed(k) take more axes",
        )
    return diag_embed(self, k) if self.ndim == 1 else self.diagonal(k)


def diagflat(self: T, k: int = 0) -> T:
    """The matrix with all elements of x, row-major, on diagonal k."""
    return diag_embed(self.reshape(-1), k)


def split(self: T, sizes: Sizes, axis: int = 0) -> tuple[T, ...]:
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
    return tuple(_parts(self, each, axis))


def _parts(self: T, sizes: Shape, axis: int) -> list[T]:
    """Cuts many parts that need a gradient from halves of halves: a part's gradient is as large
    as what it is cut from, so cutting all from the whole would cost parts * size."""
    if len(sizes) > 4 and self.requires_grad:
        half = len(sizes) // 2
        left, right = sizes[:half], sizes[half:]
        first, second = _parts(self, (sum(left), sum(right)), axis)
        return _parts(first, left, axis) + _parts(second, right, axis)
    before = (slice(None),) * axis
    ends = itertools.accumulate(sizes)
    return [
        apply("index", self, key=(*before, slice(end - size, end)))
        for size, end in zip(sizes, ends, strict=True)
    ]


def chunk(self: T, n: int, axis: int = 0) -> tuple[T, ...]:
    """Splits into n parts along axis, as PyTorch does: ceil(size / n) elements each, the rest
    in the last; fewer parts if those suffice."""
    size = self.shape[layout.axis_of(axis, self.ndim)]
    return split(self, max(-(-size // layout.positive(n, "a number of parts")), 1), axis)


# ---- copies --------------------------------------------------------------------------------------


def pad(self: T, widths: Pairs, value: float | None = None, mode: str = "constant") -> T:
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
            at = create.arange(type(self), -before, size + after, device=self.buf.device)
            if mode == "edge":
                at = at.maximum(0).minimum(size - 1)
            elif mode == "wrap":
                at = at % size
            else:  # a b c b | a b c b | ...
                period = 2 * (size - 1)
                at = (at % period).minimum(-at % period)
            x = apply("index_select", x, at, axis=axis)
    return x


def tile(self: T, *repeats: ShapeLike) -> T:
    """The whole tensor repeated: repeats[a] times along axis a (new axes in front)."""
    times = layout.checked_shape(layout.sizes_of(repeats), "repeats")
    times = (1,) * (self.ndim - len(times)) + times
    shape = (1,) * (len(times) - self.ndim) + self.shape
    # (2, 3) twice along both: (1, 2, 1, 3) stretched to (2, 2, 2, 3), then (4, 6)
    apart = tuple(n for size in shape for n in (1, size))
    wide = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    together = tuple(t * n for t, n in zip(times, shape, strict=True))
    return self.reshape(apart).expand(wide).copy().reshape(together)


def repeat(self: T, repeats: Sizes, axis: int | None = None) -> T:
    """Each element `repeats` times in a row, along axis (None: of the flattened tensor), as in
    NumPy. `repeats` is a number, or one per element. PyTorch's `repeat` is `tile` here."""
    x, a = (flatten(self), 0) if axis is None else (self, layout.axis_of(axis, self.ndim))
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


def roll(self: T, shifts: Sizes, axis: Axes | None = None) -> T:
    """x shifted by `shifts` positions along axis; elements that fall off the end return at the
    front. With axis=None the flattened tensor is rolled. Tuples roll several axes."""
    by = layout.whole_numbers(shifts, "shifts")
    if axis is None:
        return roll(flatten(self), sum(by), 0).reshape(self.shape)
    axes = layout.whole_numbers(axis, "axes")
    if len(axes) != len(by):
        raise AxisError(f"roll({shifts}, {axis=})", "not as many", "one shift for each axis")
    x = self
    for shift, a in zip(by, axes, strict=True):
        size = self.shape[layout.axis_of(a, self.ndim)]
        tail = -shift % size if size else 0
        if tail:
            x = apply("cat", *reversed(split(x, (tail, size - tail), a)), axis=a)
    return x if x is not self else self.copy()


def rot90(self: T, k: int = 1, axes: Sizes = (0, 1)) -> T:
    """x rotated by k right angles, from the first of the two axes towards the second."""
    turns, pair = layout.whole_number(k, "k") % 4, layout.whole_numbers(axes, "axes of rot90")
    if len(pair) != 2:
        raise AxisError(f"rot90(axes={pair})", f"{len(pair)} axes", "name two: (0, 1)")
    a, b = (layout.axis_of(axis, self.ndim) for axis in pair)
    if a == b or not self.shape:
        raise AxisError(f"rot90(axes={pair})", "they are the same", "name two axes")
    turned = self if turns % 2 == 0 else self.transpose(a, b)
    flipped = ((), (a,), (a, b), (b,))[turns]
    return flip(turned, flipped) if flipped else turned.copy()


def tril(self: T, k: int = 0) -> T:
    """x with 0 above diagonal k of the last two axes."""
    return _triangle(self, k, True)


def triu(self: T, k: int = 0) -> T:
    """x with 0 below diagonal k of the last two axes."""
    return _triangle(self, k, False)


def _triangle(self: T, k: int, lower: bool) -> T:
    if self.ndim < 2:
        raise ShapeError("a triangle", f"shape {self.shape}", "it takes rows and columns")
    here = self.buf.device
    Buffer.empty(self.numel(), self.dtype, here)  # is there memory? Checked before the arange
    row = create.arange(type(self), self.shape[-2], device=here).unsqueeze(1)
    column = create.arange(type(self), self.shape[-1], device=here)
    by = layout.whole_number(k, "a diagonal")
    row = row + by if by else row
    kept = column <= row if lower else column >= row
    return apply("where", kept, self, False if self.dtype.kind == "bool" else 0)


# ---- PyTorch's names -----------------------------------------------------------------------------


def t(self: T) -> T:
    """The transpose of a matrix, or a vector or number as it is; ShapeError for more axes."""
    checks.at_most("t()", self, 2)
    return self.T


def expand_as(self: T, other: TensorLike) -> T:
    """`expand` to the shape of `other`, a Tensor."""
    return self.expand(checks.tensor("expand_as", other).shape)


def reshape_as(self: T, other: TensorLike) -> T:
    """`reshape` to the shape of `other`, a Tensor."""
    return self.reshape(checks.tensor("reshape_as", other).shape)


def view_as(self: T, other: TensorLike) -> T:
    """`view` in the shape of `other`, a Tensor; never a copy."""
    return self.view(checks.tensor("view_as", other).shape)
