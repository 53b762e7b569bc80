"""The elements of a slot's memory that a Walk visits, and the same elements as another Walk."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tutor._storage.layout import Shape, reach, reshape_strides
from tutor.programs.program import Walk

LINE = 64  # bytes of a cache line
NEAR = 65536  # bytes that stay in a core's own caches, whatever else is walked


def same(a: Walk, b: Walk) -> bool:
    """Do both visit the same elements in the same order? The stride of an axis of size 1 is
    ignored."""
    if a.buf is not b.buf or a.offset != b.offset or a.shape != b.shape:
        return False
    return a.strides == b.strides or all(
        n == 1 or s == t for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)
    )


def overlap(a: Walk, b: Walk) -> bool:
    """May the two have an element in common? False only if they certainly have none."""
    if a.buf is not b.buf or 0 in a.shape or 0 in b.shape:
        return False
    if a.is_whole or b.is_whole:
        return True
    low, high = reach(a.shape, a.strides, a.offset)
    first, last = reach(b.shape, b.strides, b.offset)
    if high < first or last < low:
        return False
    steps = {abs(stride) for _, stride in [*_steps(a), *_steps(b)]}
    if (low - first) % (math.gcd(*steps) or 1):  # one has even positions, the other odd, say
        return False
    return not _apart(_spans(a, low, steps), _spans(b, first, steps))


def _steps(walk: Walk) -> Iterator[tuple[int, int]]:
    """Size and stride of each axis along which the elements differ."""
    return ((n, s) for n, s in zip(walk.shape, walk.strides, strict=True) if n > 1 and s)


def _spans(walk: Walk, low: int, steps: set[int]) -> list[tuple[int, int]] | None:
    """The walk as a box: its first and last position in units of each step, the largest first. None
    if a step is not a multiple of the next, or the box extends beyond a row."""
    spans, room = [], 0
    for step in sorted(steps, reverse=True):
        extent = sum((n - 1) for n, s in _steps(walk) if abs(s) == step)
        start, low = divmod(low, step)
        if room and (room % step or (start + extent) * step >= room):
            return None
        spans.append((start, start + extent))
        room = step
    return spans


def _apart(a: list[tuple[int, int]] | None, b: list[tuple[int, int]] | None) -> bool:
    """Is there a direction in which one box ends before the other begins? For example, two columns
    of a matrix, neither of which is before the other in memory."""
    if a is None or b is None:
        return False
    return any(x[1] < y[0] or y[1] < x[0] for x, y in zip(a, b, strict=True))


def is_scattered(walk: Walk) -> bool:
    """Is each element of a row in a different cache line, with more lines than the L1 and L2 caches
    can keep until the next row? This is true of a large transposed matrix."""
    size = walk.buf.dtype.itemsize
    if math.prod(walk.shape) * size <= NEAR:
        return False
    *_, (_, last) = [(1, 0), *_steps(walk)]
    return abs(last) * size >= LINE


def viewed(walk: Walk, shape: Shape) -> Walk | None:
    """The same elements in the same order in another shape; None if no strides can express it."""
    if walk.shape == shape:
        return walk
    if math.prod(walk.shape) != math.prod(shape):
        return None
    strides = reshape_strides(walk.shape, walk.strides, shape)
    return None if strides is None else Walk(walk.buf, shape, strides, walk.offset)


def covers(walk: Walk) -> bool:
    """Does it visit each number of its slot once, in any order of axes?"""
    return _sorted(walk, walk)[0].is_whole


def _sorted(first: Walk, second: Walk) -> tuple[Walk, Walk]:
    """Both with their axes in the memory order of the first."""
    axes = sorted(range(len(first.shape)), key=lambda a: (first.shape[a] == 1, -first.strides[a]))
    return (
        first._replace(
            shape=tuple([first.shape[a] for a in axes]),
            strides=tuple([first.strides[a] for a in axes]),
        ),
        second._replace(
            shape=tuple([second.shape[a] for a in axes]),
            strides=tuple([second.strides[a] for a in axes]),
        ),
    )


def through(walk: Walk, made: Walk, source: Walk) -> Walk | None:
    """`made` was filled from `source`, element by element: the elements of `made` that `walk`
    reads, as a walk of the source. None if no strides can express it.

    If `made`, with its axes sorted, is contiguous, its position p is element p of the source in the
    same order. A run of source axes with uniform steps counts as one axis, of `size` elements that
    are `flat` apart in `made`; an axis of `walk` must stay within one run.
    """
    if same(walk, made):
        return source
    made, source = _sorted(made, source)
    if 0 in walk.shape or not made.is_whole:
        return None
    runs: list[tuple[int, int, int]] = []  # size, flat, stride in the source; the innermost first
    flat = 1
    for size, stride in zip(reversed(source.shape), reversed(source.strides), strict=True):
        if runs and size != 1 and stride == runs[-1][2] * runs[-1][0]:
            runs[-1] = (runs[-1][0] * size, runs[-1][1], runs[-1][2])
        elif size != 1:
            runs.append((size, flat, stride))
        flat *= size
    offset, strides = source.offset, [0] * len(walk.shape)
    for size, flat, stride in runs:
        start = low = high = walk.offset // flat % size
        offset += start * stride
        for axis, (n, s) in enumerate(zip(walk.shape, walk.strides, strict=True)):
            if n > 1 and flat <= abs(s) < flat * size:
                steps, rest = divmod(s, flat)
                if rest:
                    return None
                strides[axis] = steps * stride
                low, high = low + min(0, steps * (n - 1)), high + max(0, steps * (n - 1))
        if low < 0 or high >= size:
            return None
    return Walk(source.buf, walk.shape, tuple(strides), offset)
