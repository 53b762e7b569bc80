"""`t[key]` and `t[key] = value` where the key holds arrays of positions, or masks.

NumPy's rules ("advanced indexing"): the arrays are stretched to one shape, which takes the place of
the axes they index, if those stand side by side, else comes first. An int beside arrays is one of
them. A mask stands for the positions where it is true, one array for each of its axes. Slices, None
and Ellipsis mean what they always do. Positions may be negative; where one is too large for its
axis, OutOfRangeError says which. Reading gives a copy, through which gradients flow.
"""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple, TypeVar

from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.dtype import int64
from tutor.errors import DTypeError, NumberRangeError, OutOfRangeError, ShapeError
from tutor.ground import border, keys, layout
from tutor.ground.literals import is_tensor
from tutor.methods.views import Views

T = TypeVar("T", bound=Views)


class Plan(NamedTuple, Generic[T]):
    """A key, understood: its basic parts are done, the arrays are left."""

    x: T
    axes: tuple[int, ...]  # of x, that are indexed by
    positions: tuple[T, ...]  # int64, in range, all of one shape
    place: int  # where the axes of that shape come in the result

    @property
    def shape(self) -> layout.Shape:
        return self.positions[0].shape


def select(t: T, key: Any) -> T:
    """`t[key]`: slices of t, chosen along the indexed axes as if these were one."""
    plan = planned(t, key)
    x, axes, shape = plan.x, plan.axes, plan.shape
    kept = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    if len(axes) == 1:  # rows of a table, most often
        rows = apply("index_select", x, plan.positions[0].flatten(), axis=axes[0])
        return rows.reshape((*kept[: axes[0]], *shape, *kept[axes[0] :]))
    sizes = [x.shape[a] for a in axes]
    number = plan.positions[0]  # row-major, among the elements of the indexed axes
    for size, more in zip(sizes[1:], plan.positions[1:], strict=True):
        number = number * size + more
    rows = x.movedim(axes, tuple(range(len(axes)))).reshape((math.prod(sizes), *kept))
    chosen = apply("index_select", rows, number.flatten(), axis=0)
    chosen = chosen.reshape((*shape, *kept))
    return moved(chosen, len(shape), plan.place)


def assign(t: Views, key: Any, value: Any) -> None:
    """`t[key] = value`: written straight to where the elements stand in t's Buffer."""
    plan = planned(t.detach(), key)
    x, kept = plan.x, [a for a in range(plan.x.ndim) if a not in plan.axes]
    strides = border.steps(x)
    at = x.wrap(x.offset, int64)
    for axis, positions in zip(plan.axes, plan.positions, strict=True):
        at = at + positions * strides[axis]
    at = at.expand(plan.shape).reshape((*plan.shape, *[1] * len(kept)))
    for i, axis in enumerate(kept):
        along = x.arange(x.shape[axis]) * strides[axis]
        at = at + along.reshape((x.shape[axis], *[1] * (len(kept) - 1 - i)))
    at = moved(at, len(plan.shape), plan.place)
    numbers = t.over(Buffer.empty(at.numel(), t.dtype), at.shape)
    engine.write(numbers, value)  # cast and stretched to fit
    whole = t.over(t.buf, (len(t.buf),))
    flat = (at.flatten(), numbers.flatten())
    t.buf.touch()
    engine.call("scatter", t.dtype, whole, whole, *flat, axis=0)


def moved(x: T, count: int, place: int) -> T:
    """The first `count` axes moved behind the next `place` ones."""
    return x.movedim(tuple(range(count)), tuple(range(place, place + count))) if place else x


def planned(t: T, key: Any) -> Plan[T]:
    """The key as basic indexing, which is done here, and arrays of positions, which are left."""
    border.check(t, "an index by arrays")
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
    basic: list[Any] = []  # a view of t in which every indexed axis is whole
    axes: list[int] = []  # of that view
    arrays: list[Any] = []
    groups, inside, axis = 0, False, 0  # an axis of t
    for part in parts:
        is_array = is_tensor(part)
        groups += is_array and not inside
        inside = is_array
        if is_array:
            several = positions_of(part, t.shape[axis : axis + axes_taken(part)], axis)
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
    return Plan(
        apply("index", t, key=tuple(basic)),
        tuple(axes),
        tuple(x.expand(shape) for x in arrays),
        place,
    )


def array_of(t: Views, part: Any) -> Any:
    """One part of a key: None, Ellipsis, a slice, an int, or a Tensor of ints or bools."""
    if keys.is_basic((part,)):
        (part,) = keys.checked_key((part,))
        if not isinstance(part, int):
            return part
    whole = type(part) is int or (isinstance(part, (list, tuple, range)) and not part)
    try:  # an int, beside arrays, is an array, and so is a list of none
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
    """How many axes of the indexed tensor a part of the key stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if getattr(part, "dtype", int64).kind == "bool" else 1


def positions_of(part: Any, shape: layout.Shape, axis: int) -> list[Any]:
    """An array of positions, or a mask, as int64 arrays: one for each of its axes."""
    if part.dtype.kind == "bool":
        if part.shape != shape:
            raise ShapeError(
                f"a mask of shape {part.shape}",
                f"the axes it stands for, from {axis} on, have shape {shape}",
                "a mask must have the shape of what it chooses from",
            )
        return list(part.nonzero())  # of a single bool: position 0 on a new axis, or none
    (size,) = shape
    low, high = (part.min().item(), part.max().item()) if part.numel() else (0, -1)
    if low < -size or high >= size:
        raise OutOfRangeError(
            f"index {low if low < -size else high} in axis {axis}",
            f"the axis has size {size}",
            f"use {-size} to {size - 1}" if size else "the axis is empty",
        )
    part = part.cast(int64)
    return [part if low >= 0 else apply("where", part < 0, part + size, part)]
