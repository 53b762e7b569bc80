"""Overlap: do two elements of a view share one place in memory?

They do in an expanded view, which has strides of 0, and in overlapping windows (`unfold`).
"""

from __future__ import annotations

import math


def is_one_to_one(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Does each element have its own place in memory?"""
    if 0 in shape:
        return True
    axes = sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1)
    span, nested = 0, True  # nested: a step along an axis exceeds the span of all smaller ones
    for stride, size in axes:
        nested &= stride > span
        span += stride * (size - 1)
    if nested:
        return True
    fewer_places = math.prod(shape) > span + 1
    return not (fewer_places or axes[0][0] == 0 or _returns(axes[::-1], 0, False))


def _returns(axes: list[tuple[int, int]], position: int, moved: bool) -> bool:
    """Can steps along the axes, given as (stride, size) with the longest stride first, lead from
    `position` back to 0? Standing still does not count, so the first move goes forward."""
    if not axes:
        return moved and position == 0
    (stride, size), *rest = axes
    span = sum(s * (n - 1) for s, n in rest)
    least = max(1 - size if moved else 0, -((span + position) // stride))
    most = min(size - 1, (span - position) // stride)
    return any(
        _returns(rest, position + stride * steps, moved or steps > 0)
        for steps in range(least, most + 1)
    )
