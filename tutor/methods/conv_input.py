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
    found = [[one_phase(g, w, p, q, groups) for q in across] for p in down]
    z = interleaved(g, found, (*shape[:2], down[0].length, across[0].length))
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


def phases(n: int, places: int, taps: int, stride: int, dilation: int) -> list[Phase]:
    """All phases of an axis of n elements over which a window took `places`, of one length.

    Tap i saw x[a + stride * r] from place r + (a - i * dilation) / stride, if that is whole.
    """
    common, length = math.gcd(stride, dilation), -(-n // stride)
    step, gap = stride // common, dilation // common
    found = []
    for a in range(min(stride, n)):
        first = next((i for i in range(min(taps, step)) if (i * dilation - a) % stride == 0), taps)
        reach = gap * (len(range(first, taps, step)) - 1)
        before = reach + (first * dilation - a) // stride
        after = length + reach - before - places
        found.append(Phase(length, first, step, len(range(first, taps, step)), gap, before, after))
    return found


def one_phase(g: T, w: T, down: Phase, across: Phase, groups: int) -> T | None:
    """The convolution for one phase along each axis; None if no tap saw it."""
    if not down.seen or not across.seen:
        return None
    g = g[:, :, : g.shape[2] + min(0, down.after), : g.shape[3] + min(0, across.after)]
    around = [(p.before, max(0, p.after)) for p in (down, across)]
    if any(map(any, around)):
        g = views.pad(g, ((0, 0), (0, 0), *around))
    w = w[:, :, down.first :: down.step, across.first :: across.step]
    gaps = {"dilation_h": down.gap, "dilation_w": across.gap}
    return apply("conv2d", g, views.flip(w, (2, 3)), stride_h=1, stride_w=1, **gaps, groups=groups)


def interleaved(g: T, found: list[list[T | None]], shape: Shape) -> T:
    """The image whose phases these are, each of `shape`; those that are None are zeros."""
    sh, sw = len(found), len(found[0])
    seen = [(a, b, z) for a, row in enumerate(found) for b, z in enumerate(row) if z is not None]
    whole = (*shape[:2], sh * shape[2], sw * shape[3])
    if len(seen) == 1:
        ((a, b, z),) = seen
        key = (slice(None), slice(None), slice(a, None, sh), slice(b, None, sw))
        return z if sh == sw == 1 else apply("place", z, view="index", shape=whole, key=key)
    zeros = create.zeros_like(type(g), seen[0][2])
    rows: list[T] = []
    for row in found:
        beside = [(zeros if z is None else z).unsqueeze(4) for z in row]
        rows.append(apply("cat", *beside, axis=4).reshape((*shape[:3], 1, whole[3])))
    z = apply("cat", *rows, axis=3)
    return z.reshape(whole)
