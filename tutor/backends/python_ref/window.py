"""Convolution and pooling: windows that slide over the last two axes of (n, c, h, w)."""

from functools import reduce
from math import prod

from tutor.backends.python_ref.elementwise import maximum
from tutor.backends.python_ref.matmul import dot
from tutor.backends.python_ref.reduce import total
from tutor.backends.python_ref.walk import Kernel, Operand, groups, positions, read, write


def seen(x: Operand, z: Operand, high: int, wide: int, groups: int = 1, **steps: int) -> Operand:
    """x as (n, groups, c / groups, p, q, high, wide): the window of each place (p, q) of z"""
    (n, c), (image, channel, row, column) = x.shape[:2], x.strides
    shape = (n, groups, c // groups, *z.shape[2:], high, wide)
    by = (row * steps["stride_h"], column * steps["stride_w"])
    within = (row * steps["dilation_h"], column * steps["dilation_w"])
    strides = (image, c // groups * channel, channel, *by, *within)
    return Operand(x.buf, shape, strides, x.offset)


def conv2d(out: Operand, x: Operand, w: Operand, **params: int) -> None:
    """z[n, o, p, q] = sum_c,i,j x[n, c, p * stride_h + i * dilation_h, ...] * w[o, c, i, j]"""
    places, weights = prod(out.shape[2:]), groups(w, (1, 2, 3))
    windows = groups(seen(x, out, *w.shape[2:], **params), (2, 5, 6))
    z = [
        dot(window, weight)
        for n in range(out.shape[0])
        for o, weight in enumerate(weights)
        for first in [(n * params["groups"] + o * params["groups"] // len(weights)) * places]
        for window in windows[first : first + places]
    ]
    write(out, z)


def conv2d_weight(out: Operand, x: Operand, g: Operand, **params: int) -> None:
    """z[o, c, i, j] = sum_n,p,q x[n, c, p * stride_h + i * dilation_h, ...] * g[n, o, p, q]"""
    places, grads = prod(out.shape[1:]), groups(g, (0, 2, 3))
    windows = groups(seen(x, g, *out.shape[2:], **params), (0, 3, 4))
    z = [
        dot(window, grad)
        for o, grad in enumerate(grads)
        for first in [o * params["groups"] // len(grads) * places]
        for window in windows[first : first + places]
    ]
    write(out, z)


def max_pool2d(out: Operand, x: Operand, *, size_h: int, size_w: int, **steps: int) -> None:
    """z[n, c, p, q] = the largest element of its window; nan if any is nan"""
    windows = groups(seen(x, out, size_h, size_w, **steps), (5, 6))
    write(out, [reduce(maximum, window) for window in windows])


def max_pool2d_grad(
    out: Operand, x: Operand, m: Operand, g: Operand, *, size_h: int, size_w: int, **steps: int
) -> None:
    """Each window of x splits its g evenly among its elements that equal its largest, m"""
    found: dict[int, list[float]] = {position: [] for position in positions(out)}
    at = iter(positions(seen(out, m, size_h, size_w, **steps)))
    windows = groups(seen(x, m, size_h, size_w, **steps), (5, 6))
    for window, largest, share in zip(windows, read(m), read(g), strict=True):
        for value, position in zip(window, at, strict=False):
            if value == largest:
                found[position].append(share / window.count(largest))
    write(out, [total(shares) for shares in found.values()])


KERNELS: dict[str, Kernel] = {
    f.__name__: f for f in (conv2d, conv2d_weight, max_pool2d, max_pool2d_grad)
}
