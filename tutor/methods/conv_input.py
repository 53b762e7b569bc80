"""The gradient of a convolution for its input, phase by phase: see tutor.methods.windows."""

from __future__ import annotations

import math
from typing import NamedTuple

from tutor._storage.layout import Shape
from tutor.core.engine import apply
from tutor.methods import create, views
from tutor.methods.operators import T

CONV = ("stride_h", "stride_w", "dilation_h", "dilation_w", "groups")  # of the op conv2d


def conv2d_input(g: T, w: T, shape: Shape, **params: int) -> T:
    """The gradient of an x of `shape`: every g[n, o, p, q] goes back to its window.

    This is again a convolution: of g, with zeros around it, by the weights rotated by 180 degrees,
    with inputs and outputs exchanged. With strides, only some taps saw x[:, :, a::sh, b::sw]: each
    of these phases is a convolution of its own. One for all of them would need zeros between the
    elements of g, and multiply by those most of the time.
    """
    sh, sw, dh, dw, groups = (params[name] for name in CONV)
    outputs, inputs, rows, columns = w.shape
    w = w.reshape((groups, outputs // groups, inputs, rows, columns)).transpose(1, 2)
    w = w.reshape((groups * inputs, outputs // groups, rows, columns))
    down = phases(shape[2], g.shape[2], rows, sh, dh)
    across = phases(shape[3], g.shape[3], columns, sw, dw)
    steps = min(sh, shape[2]), min(sw, shape[3])
    found = {
        a: {b: one_phase(g, w, p, q, groups) for b, q in across.items()} for a, p in down.items()
    }
    z = interleaved(found, *steps)
    return z if z.shape == tuple(shape) else z[:, :, : shape[2], : shape[3]]


class Phase(NamedTuple):
    """What saw x[a::stride] of one axis: `seen` taps from the `first` on, `step` apart. In g they
    are `gap` apart, and they reach `before` elements before its first, `after` after its last."""

    length: int
    first: int
    step: int
    seen: int
    gap: int
    before: int
    after: int


def phases(n: int, places: int, taps: int, stride: int, dilation: int) -> dict[int, Phase]:
    """The phases x[a::stride] that a tap saw, by a, of an axis of n elements over which a window
    took `places`. All have the length of the longest.

    Tap i saw x[a + stride * r] from place r + (a - i * dilation) / stride, if that is whole. So the
    taps of one phase are stride / gcd(stride, dilation) apart.
    """
    common, length = math.gcd(stride, dilation), -(-n // stride)
    step, gap = stride // common, dilation // common
    found = {}
    for first in range(min(taps, step)):
        a = first * dilation % stride
        if a < n:
            seen = len(range(first, taps, step))
            reach = gap * (seen - 1)
            before = reach + (first * dilation - a) // stride
            after = length + reach - before - places
            found[a] = Phase(length, first, step, seen, gap, before, after)
    return dict(sorted(found.items()))


def one_phase(g: T, w: T, down: Phase, across: Phase, groups: int) -> T:
    """The convolution for one phase along each axis."""
    g = g[:, :, : g.shape[2] + min(0, down.after), : g.shape[3] + min(0, across.after)]
    around = [(p.before, max(0, p.after)) for p in (down, across)]
    if any(map(any, around)):
        g = views.pad(g, ((0, 0), (0, 0), *around))
    w = w[:, :, down.first :: down.step, across.first :: across.step]
    gaps = {"dilation_h": down.gap, "dilation_w": across.gap}
    return apply("conv2d", g, views.flip(w, (2, 3)), stride_h=1, stride_w=1, **gaps, groups=groups)


def interleaved(found: dict[int, dict[int, T]], down: int, across: int) -> T:
    """The image z with z[:, :, a::down, b::across] = found[a][b]; where there is none, it is 0."""
    if len(found) == 1 and len(found[0]) == 1:
        z = found[0][0]
        shape = (*z.shape[:2], down * z.shape[2], across * z.shape[3])
        key = (slice(None), slice(None), slice(0, None, down), slice(0, None, across))
        return z if down == across == 1 else apply("place", z, view="index", shape=shape, key=key)
    return side_by_side({a: side_by_side(row, across, 4) for a, row in found.items()}, down, 3)


def side_by_side(found: dict[int, T], count: int, axis: int) -> T:
    """`count` images along a new axis, which then is one with that before it; those that are not
    in `found` are 0."""
    some = next(iter(found.values())).unsqueeze(axis)
    zero = create.zeros_like(type(some), some[(slice(0, 1),) * some.ndim])
    parts, end = list[T](), 0
    for a, z in [*found.items(), (count, None)]:
        if a > end:
            parts.append(zero.expand(*some.shape[:axis], a - end, *some.shape[axis + 1 :]))
        if z is not None:
            parts.append(z.unsqueeze(axis))
        end = a + 1
    z = apply("cat", *parts, axis=axis)
    return z.reshape((*z.shape[: axis - 1], z.shape[axis - 1] * count, *z.shape[axis + 1 :]))
