"""`t[key]` and `t[key] = value` where the key holds arrays of positions, or masks.

NumPy's rules ("advanced indexing"): the arrays are broadcast to one shape. If the axes they index
are adjacent, that shape replaces them; otherwise it comes first. An int beside arrays counts as an
array. A mask means the positions where it is true, one array for each of its axes. Slices, None and
Ellipsis work as usual. Positions may be negative; OutOfRangeError names one that is too large for
its axis. Reading gives a copy, through which gradients flow.

No position is read back to Python: the kernels count negative ones from the end and refuse invalid
ones. `x[rows]` is a single kernel, index_select.
"""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple

from tutor._storage import bounds_checks, index_parsing, layout
from tutor._storage.array_like import is_number, is_tensor
from tutor.backends import registry
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import OPS
from tutor.dtype import bool_, int64
from tutor.errors import DTypeError, NumberRangeError, OutOfRangeError, ShapeError
from tutor.methods import create, views
from tutor.methods.operators import Operators, T


class ParsedKey(NamedTuple, Generic[T]):
    """A parsed key: its basic parts are applied, the arrays are left."""

    x: T
    axes: tuple[int, ...]  # the axes of x that are indexed by
    positions: tuple[T, ...]  # int64, all of one shape; a single one may be negative
    place: int  # where the axes of that shape go in the result

    @property
    def shape(self) -> layout.Shape:
        return self.positions[0].shape


def select(t: T, key: Any) -> T:
    """`t[key]`: slices of t, selected along the indexed axes as if these were one axis."""
    if not isinstance(key, tuple):
        key = key if is_tensor(key) else array_of(t, key)
        if len(key.shape) == 1 and t.shape and key.dtype.is_integer:  # rows of a table, most often
            return apply("index_select", t, key, axis=0)
    plan = planned(t, key, one_may_be_negative=True)
    x, axes, shape = plan.x, plan.axes, plan.shape
    kept = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    if len(axes) == 1:
        rows = apply("index_select", x, in_row(plan.positions[0]), axis=axes[0])
        to = (*kept[: axes[0]], *shape, *kept[axes[0] :])
        return rows if len(shape) == 1 else rows.reshape(to)
    sizes = [x.shape[a] for a in axes]
    number = plan.positions[0]  # row-major, among the elements of the indexed axes
    for size, more in zip(sizes[1:], plan.positions[1:], strict=True):
        number = number * size + more
    rows = views.movedim(x, axes, tuple(range(len(axes)))).reshape((math.prod(sizes), *kept))
    chosen = apply("index_select", rows, in_row(number), axis=0)
    chosen = chosen if len(shape) == 1 else chosen.reshape((*shape, *kept))
    return moved(chosen, len(shape), plan.place)


def in_row(x: T) -> T:
    """x with one axis."""
    return x if x.ndim == 1 else views.flatten(x)


def assign(t: Operators, key: Any, value: Any) -> None:
    """`t[key] = value`: written straight to the elements in t's Buffer. One number where a mask of
    t's shape is true needs no positions: that is a `where`."""
    key = key if is_tensor(key) or isinstance(key, tuple) else array_of(t, key)
    if is_number(value) and is_tensor(key) and key.dtype is bool_ and key.shape == t.shape:
        engine.run_into(OPS["where"](key, t.wrap(value, t.dtype), t), t)
        return
    plan = planned(t.detach(), key)
    x, kept = plan.x, [a for a in range(plan.x.ndim) if a not in plan.axes]
    strides = bounds_checks.steps(x)
    at = x.wrap(x.offset, int64)
    for axis, positions in zip(plan.axes, plan.positions, strict=True):
        at = at + positions * strides[axis]
    at = at.expand(plan.shape).reshape((*plan.shape, *[1] * len(kept)))
    for i, axis in enumerate(kept):
        along = create.arange(type(x), x.shape[axis], device=x.buf.device) * strides[axis]
        at = at + along.reshape((x.shape[axis], *[1] * (len(kept) - 1 - i)))
    at = moved(at, len(plan.shape), plan.place)
    numbers = t.over(Buffer.empty(at.numel(), t.dtype, t.buf.device), at.shape)
    engine.write(numbers, value)  # cast and stretched to fit
    whole = t.over(t.buf, (len(t.buf),))
    flat = (views.flatten(at), views.flatten(numbers))
    t.buf.touch()
    engine.call("scatter", t.dtype, whole, whole, *flat, axis=0)


def moved(x: T, count: int, place: int) -> T:
    """The first `count` axes moved behind the next `place` axes."""
    return views.movedim(x, tuple(range(count)), tuple(range(place, place + count))) if place else x


def planned(t: T, key: Any, one_may_be_negative: bool = False) -> ParsedKey[T]:
    """The key split into basic indexing, applied here, and arrays of positions, still to apply."""
    bounds_checks.fits(t, "an index by arrays")
    parts = [array_of(t, part) for part in (key if isinstance(key, tuple) else (key,))]
    named = sum(axes_taken(part) for part in parts)
    if named > t.ndim or sum(part is Ellipsis for part in parts) > 1:
        raise OutOfRangeError(
            f"an index of {named} axes into shape {t.shape}",
            "that are too many" if named > t.ndim else "'...' stands there more than once",
            "name each axis at most once, and '...' once; a mask names all of its own",
        )
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    # May the selecting kernel see the positions as they are? It names the axis in its errors, so no
    # new axis may come before it.
    as_given = (
        one_may_be_negative
        and sum(map(is_tensor, parts)) == 1
        and not any(part is None for part in parts)
    )
    basic: list[Any] = []  # a view of t in which every indexed axis is whole
    axes: list[int] = []  # of that view
    arrays: list[Any] = []
    groups, inside, axis = 0, False, 0  # an axis of t
    for part in parts:
        is_array = is_tensor(part)
        groups += is_array and not inside
        inside = is_array
        if is_array:
            sizes = t.shape[axis : axis + axes_taken(part)]
            if part.dtype.kind == "bool":
                several = positions_of_mask(part, sizes, axis)
            else:
                several = [part.cast(int64) if as_given else positions_of(part, sizes[0], axis)]
            for positions in several:
                axes.append(len(basic))
                basic.append(slice(None) if axes_taken(part) else None)
                arrays.append(positions)
        elif part is Ellipsis:
            basic += [slice(None)] * (t.ndim - named)
        else:
            basic.append(part)
        axis += t.ndim - named if part is Ellipsis else axes_taken(part)
    shape = layout.broadcast_shapes("an index by arrays", *(x.shape for x in arrays))
    place = axes[0] if groups == 1 else 0
    return ParsedKey(
        apply("index", t, key=tuple(basic)),
        tuple(axes),
        tuple(x.expand(shape) for x in arrays),
        place,
    )


def array_of(t: Operators, part: Any) -> Any:
    """One part of a key: None, Ellipsis, a slice, an int, or a Tensor of ints or bools."""
    if index_parsing.is_basic((part,)):
        (part,) = index_parsing.checked_key((part,))
        if not isinstance(part, int):
            return part
    whole = type(part) is int or (isinstance(part, (list, tuple, range)) and not part)
    try:  # an int beside arrays is an array, and so is an empty list
        array = part if is_tensor(part) else t.wrap(part, int64 if whole else None)
    except NumberRangeError as error:
        raise OutOfRangeError(
            f"index {part!r:.60} into shape {t.shape}",
            f"no axis is that long: {error.asked}",
            "use positions from -size to size - 1",
        ) from None
    if not (array.dtype.is_integer or array.dtype.kind == "bool"):
        raise DTypeError(
            f"an index of {array.dtype.name}",
            "positions are whole numbers, masks are bools",
            "give integers, or compare: t[t > 0]",
        )
    return array.detach()


def axes_taken(part: Any) -> int:
    """The number of axes of the indexed tensor that a part of the key covers."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if getattr(part, "dtype", int64).kind == "bool" else 1


def positions_of_mask(mask: Any, shape: layout.Shape, axis: int) -> list[Any]:
    """The positions where a mask is true: an int64 array for each axis that it covers."""
    if mask.shape != shape:
        raise ShapeError(
            f"a mask of shape {mask.shape}",
            f"the axes it stands for, from {axis} on, have shape {shape}",
            "a mask must have the shape of what it chooses from",
        )
    return list(mask.nonzero())  # a single bool gives position 0 on a new axis, or no position


def positions_of(index: T, size: int, axis: int) -> T:
    """The index as positions from 0 to size - 1 along that axis.

    The remainder counts negative ones from the end. The zeros that are added are selected along an
    axis of that size, by a kernel that refuses invalid positions with an error that names the axis.
    """
    n, ahead = index.numel(), (1,) * axis
    flat = in_row(index.cast(int64))
    zeros = registry.Operand(flat.wrap(0, int64).buf, (*ahead, size), (0,) * (axis + 1), 0)
    seen = flat.over(Buffer.empty(n, int64, flat.buf.device), (n,))
    out = registry.Operand(seen.buf, (*ahead, n), (0,) * axis + (1,), 0)
    engine.call("index_select", int64, out, zeros, flat, axis=axis)
    found = flat % max(size, 1) + seen
    return found if index.ndim == 1 else found.reshape(index.shape)
