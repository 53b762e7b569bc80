"""Layout arithmetic: where each element is. Pure functions of shapes, strides and offsets.

Element `[i, j, ...]` of a tensor is at position `offset + i*strides[0] + j*strides[1] + ...`,
counted in elements. Every view (transpose, slice, broadcast) only changes these numbers.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from typing import Any

from tutor._storage.index_parsing import key_text
from tutor._storage.overlap import is_one_to_one
from tutor.errors import AxisError, OutOfRangeError, ShapeError

Shape = tuple[int, ...]
MAX_DIMS = 16  # the capacity of a C++ operand (simd_cpp/kernel.hpp)


def whole_numbers(numbers: Any, what: str) -> Shape:
    """One integer or several, as a tuple of ints; ShapeError for anything else."""
    several = numbers if hasattr(numbers, "__iter__") else (numbers,)
    try:
        # Sets have no reliable order, and a row of a matrix is not a number.
        if isinstance(numbers, (set, frozenset, dict)) or getattr(numbers, "ndim", 1) not in (0, 1):
            raise TypeError
        return tuple(map(operator.index, list(several)))
    except (MemoryError, OverflowError):  # a range of 10**18 numbers: list() allocates first
        raise ShapeError(what, f"{numbers!r}", "give fewer numbers") from None
    except TypeError:
        raise ShapeError(what, f"{numbers!r}", "give whole numbers, for example (2, 3)") from None


def whole_number(number: Any, what: str) -> int:
    """`number` as an int; ShapeError if it is not an integer."""
    if hasattr(number, "__iter__") and not hasattr(number, "__index__"):
        raise ShapeError(what, f"{number!r}", "give one whole number")
    return whole_numbers((number,), what)[0]


def positive(number: Any, what: str) -> int:
    """`number` as an int of 1 or more; ShapeError otherwise."""
    found = whole_number(number, what)
    if found < 1:
        raise ShapeError(what, f"{found}", "it must be 1 or more")
    return found


def checked_shape(sizes: Any, what: str = "a shape") -> Shape:
    """`sizes` as a tuple of non-negative ints; ShapeError if they are not a valid shape."""
    shape = whole_numbers(sizes, what)
    if min(shape, default=0) < 0:
        raise ShapeError(what, f"{shape} has a negative size", "every size must be 0 or more")
    if len(shape) > MAX_DIMS:
        raise ShapeError(what, f"{len(shape)} axes", f"a tensor has at most {MAX_DIMS} axes")
    if 0 in shape and is_beyond_count(shape):  # a non-empty one fails for lack of memory
        raise ShapeError(
            what,
            f"{shape}: it is empty, but its other sizes multiply to 2**60 or more",
            "kernels count with 63 bits whatever is empty: use smaller sizes",
        )
    return shape


def is_beyond_count(shape: Shape) -> bool:
    """True if the nonzero sizes amount to more bytes than 63 bits can count. Kernels multiply some
    sizes without the others, so this matters for empty shapes as well."""
    return math.prod(filter(None, shape)) >= 2**60


def sizes_of(args: tuple[Any, ...]) -> Any:
    """A shape given as one tuple or as separate numbers: `(2, 3)` either way."""
    given = args[0] if len(args) == 1 else args
    return (
        tuple(given) if isinstance(given, (list, Iterator)) else given
    )  # a list might be changed later


def _remembered(shape: Shape) -> Shape:
    """`shape`, checked for a cached function: ShapeError unless all sizes are ints. (2.0, 3) equals
    (2, 3), so its result would later be returned for tensors of shape (2, 3)."""
    if not all(isinstance(n, int) for n in shape):
        raise ShapeError("a shape", f"{shape!r:.60}", "give whole numbers, for example (2, 3)")
    return shape


@functools.lru_cache(maxsize=4096)
def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides: 1 for the last axis, for others the product of the later sizes."""
    strides, step = [], 1
    for size in reversed(_remembered(shape)):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """True if a row-major walk visits adjacent elements; axes of size 1 may have any stride."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return 0 in shape
            step *= size
    return True


def reach(shape: Shape, strides: Shape, offset: int) -> tuple[int, int]:
    """The lowest and the highest position of any element, for a nonempty shape."""
    ends = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return offset + sum(e for e in ends if e < 0), offset + sum(e for e in ends if e > 0)


def check_inside(shape: Shape, strides: Shape, offset: int, length: int) -> None:
    """Raise ShapeError unless every reachable element lies in a Buffer of `length` elements."""
    if len(shape) != len(strides):
        raise ShapeError(
            f"shape {shape} with strides {strides}",
            f"{len(shape)} axes but {len(strides)} strides",
            "give one stride per axis",
        )
    if 0 in shape:
        return
    low, high = reach(shape, strides, offset)
    if low < 0 or high >= length:
        raise ShapeError(
            f"shape {shape}, strides {strides}, offset {offset}",
            f"they reach from element {low} to {high}, the Buffer has elements 0 to {length - 1}",
            "use a smaller shape, other strides, or a longer Buffer",
        )


def check_writable(shape: Shape, strides: Shape) -> None:
    """Raise ShapeError for a view in which several elements share one place in memory: an expanded
    view, or overlapping windows."""
    if not is_one_to_one(shape, strides):
        expanded = any(n > 1 and s == 0 for n, s in zip(shape, strides, strict=True))
        kind = "an expanded view" if expanded else "an overlapping view"
        raise ShapeError(
            f"to write into {kind} of shape {shape}",
            "several of its elements are one number in memory",
            "write into the original, or into a .copy()",
        )


def axis_of(axis: Any, ndim: int, what: str = "axis") -> int:
    """`axis` counted from the front: -1 is the last. AxisError if there is no such axis."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise AxisError(f"{what}={axis!r}", type(axis).__name__, "give a whole number") from None
    if not -ndim <= number < ndim:
        span = f"axes {-ndim} to {ndim - 1}" if ndim else "no axes, it is a single number"
        raise AxisError(f"{what}={axis}", f"the tensor has {span}", "choose one of those")
    return number % ndim


def axes_of(axis: Any, ndim: int) -> Shape:
    """`axis=None | int | tuple` as a sorted tuple of axes counted from the front; None means all.

    A single number has no axes, but as in PyTorch 0 and -1 are accepted for it.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = sorted(axis_of(a, ndim or 1) for a in given)
    if len(set(axes)) != len(axes):
        raise AxisError(f"axis={axis}", "an axis is named twice", "name each axis once")
    return tuple(axes) if ndim else ()


@functools.lru_cache(maxsize=4096)
def broadcast_shapes(name: str, *shapes: Shape) -> Shape:
    """The shape that all `shapes` broadcast to: aligned at the right, sizes equal or 1.

    `name` is the operation's name, for the ShapeError.
    """
    ndim = max(len(_remembered(shape)) for shape in shapes)
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    result = []
    for axis, sizes in enumerate(zip(*padded, strict=True)):
        wanted = {size for size in sizes if size != 1} or {1}
        if len(wanted) > 1:
            raise ShapeError(
                f"{name} of shapes {' and '.join(map(str, shapes))}",
                f"axis {axis - ndim} (from the right) has sizes"
                f" {' against '.join(map(str, sizes))}",
                "sizes must be equal or 1: reshape, transpose or unsqueeze one of them",
            )
        result.append(wanted.pop())
    return tuple(result)


@functools.lru_cache(maxsize=4096)
def broadcast_strides(shape: Shape, strides: Shape, to: Shape) -> Shape:
    """Strides that walk `shape` as if it were `to`: 0 (stay in place) on stretched axes.

    Raises ShapeError if `shape` cannot be broadcast to `to`.
    """
    extra = len(_remembered(to)) - len(_remembered(shape))
    fits = extra >= 0 and all(n in (1, m) for n, m in zip(shape, to[max(extra, 0) :], strict=False))
    if not fits:
        raise ShapeError(
            f"to expand shape {shape} to {to}",
            "only axes of size 1 can be stretched, and new axes are added at the front",
            "reshape or unsqueeze first so that every other size is equal",
        )
    kept = (0 if n != m else s for n, m, s in zip(shape, to[extra:], strides, strict=True))
    return (0,) * extra + tuple(kept)


def pairs_of(pairs: Any, ndim: int, what: str) -> tuple[tuple[int, int], ...]:
    """`pairs` as one pair of ints per axis; ShapeError if they are anything else."""
    try:
        if isinstance(pairs, (set, frozenset)):  # no reliable order
            raise TypeError
        found = tuple((operator.index(a), operator.index(b)) for a, b in pairs)
        known = not any(isinstance(n, bool) for pair in pairs for n in pair)
    except (TypeError, ValueError):
        found, known = (), True
    if len(found) != ndim or not known:
        raise ShapeError(
            f"{what}({pairs})", f"the tensor has {ndim} axes", "give one pair of ints per axis"
        )
    return found


def check_mode(mode: str, value: Any) -> None:
    """Raise ShapeError unless `mode` is pad's "reflect", "edge" or "wrap", without a `value`."""
    if mode not in ("reflect", "edge", "wrap"):
        known = "'constant', 'edge', 'reflect' or 'wrap'"
        raise ShapeError(f"pad(mode={mode!r})", "no such mode", known)
    if value is not None:
        raise ShapeError(
            f"pad({mode=}, {value=})", "only mode 'constant' has a value", "leave one of them out"
        )


def check_padding(mode: str, size: int, before: int, after: int) -> None:
    """Raise ShapeError unless `size` elements can be padded, in a mode other than "constant"."""
    least = 2 if mode == "reflect" else 1
    if min(before, after) < 0 or (size < least and before + after):
        raise ShapeError(
            f"pad by ({before}, {after}) in mode {mode!r} of {size} elements",
            "a width is negative" if min(before, after) < 0 else f"it takes {least} elements",
            "give widths of 0 or more; mode 'constant' can pad any number of elements",
        )


def fill_in(shape: Shape, size: int) -> Shape:
    """`shape` with its one -1 replaced by the size that makes `size` elements in all."""
    asked = whole_numbers(shape, "a shape")
    known = math.prod(n for n in asked if n != -1)
    if asked.count(-1) == 1 and known and size % known == 0:
        asked = tuple(size // known if n == -1 else n for n in asked)
    if asked.count(-1) or math.prod(asked) != size:
        raise ShapeError(
            f"to view {size} elements as shape {asked}",
            f"that shape has {known} elements"
            + (" for each unit of the -1" if -1 in asked else ""),
            f"the product of the sizes must be {size}; one size may be -1",
        )
    return checked_shape(asked)


def reshape_strides(shape: Shape, strides: Shape, to: Shape) -> Shape | None:
    """Strides that walk the same elements in shape `to`, or None if no strides can.

    Neighbouring axes of the old shape form a run if each stride is the next stride times the next
    size. Each run must split into whole axes of the new shape.
    """
    if not isinstance(strides, tuple) or len(shape) != len(strides):
        raise ShapeError(f"shape {shape}", f"strides {strides!r:.60}", "give one stride per axis")
    if 0 in shape:
        return contiguous_strides(to)
    runs: list[tuple[int, int]] = []  # (elements, innermost stride), outermost run first
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == stride * size:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    result: list[int] = []
    room, step = 1, 1  # the rest of the innermost run, and the stride of its next axis
    for size in reversed(to):
        if size != 1 and room == 1:
            room, step = runs.pop()
        if room % size:
            return None
        result.append(step)
        room, step = room // size, step * size
    return tuple(reversed(result))


def slice_layout(
    key: tuple[Any, ...], shape: Shape, strides: Shape, offset: int
) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset of `t[key]` for NumPy's basic keys: ints, slices, None, Ellipsis.

    An int drops its axis, a slice keeps it (the step may be negative), None adds an axis of size 1,
    Ellipsis means all axes not named. OutOfRangeError names the axis and its size.
    """
    named = sum(k is not None and k is not Ellipsis for k in key)
    if named > len(shape) or sum(k is Ellipsis for k in key) > 1:
        raise OutOfRangeError(
            f"index {key_text(key)} of shape {shape}",
            f"{named} positions for {len(shape)} axes"
            if named > len(shape)
            else "'...' stands there more than once",
            "give at most one position per axis, and '...' once",
        )
    whole = (slice(None),) * (len(shape) - named)
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    new_shape: list[int] = []
    new_strides: list[int] = []
    axis = 0
    for k in key[:at] + whole + key[at + 1 :]:
        if k is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        size, stride = shape[axis], strides[axis]
        if isinstance(k, slice):
            start, stop, step = k.indices(size)
            count = len(range(start, stop, step))
            new_shape.append(count)
            new_strides.append(stride * step if count > 1 else stride)  # the step may be 2**62
            offset += start * stride if count else 0
        else:
            if not -size <= k < size:
                raise OutOfRangeError(
                    f"index {k} in axis {axis}",
                    f"the tensor has shape {shape}: axis {axis} has size {size}",
                    f"use {-size} to {size - 1}" if size else "the axis is empty",
                )
            offset += k % size * stride
        axis += 1
    return tuple(new_shape), tuple(new_strides), offset
