"""Windows over images: convolutions as products, pools as gathering.

The contents of all windows are a view of the image with special strides (`seen` in python_ref). A
copy of it, made by the generated kernel `copy`, has one column per position, and a convolution is
the weights times that matrix; its gradient for the weights is the other product. The maximum of a
window is computed by the work-item of its position. Its gradient is gathered as well: the work-item
of an image element reads each window that contains it, so no two work-items add to one number.
"""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import contiguous_strides
from tutor.backends.opencl.handwritten import at, copied, dense, filled, hand, longs, run
from tutor.backends.opencl.launch import LONG
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.opencl.products import product
from tutor.backends.opencl.reduce import folding
from tutor.backends.registry import Operand
from tutor.backends.signatures import ALL, FLOATS
from tutor.dtype import DType

SIZES = """const int64_t h, const int64_t w, const int64_t p, const int64_t q,
    const int64_t size_h, const int64_t size_w, const int64_t stride_h, const int64_t stride_w,
    const int64_t dilation_h, const int64_t dilation_w, const int64_t count"""

POOL = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0,
    {SIZES}) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
        const int64_t column = at % q * stride_w, row = at / q % p * stride_h;
        const int64_t first = x0 + (at / q / p * h + row) * w + column;
        X_t a = LOAD_X(x[first]);
        for (int64_t i = 0; i < size_h; i++)
            for (int64_t j = 0; j < size_w; j++) {{
                const X_t b = LOAD_X(x[first + i * dilation_h * w + j * dilation_w]);
                a = BOTH;
            }}
        z[z0 + at] = STORE_X(a);
    }}
}}
"""

POOL_GRAD = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0, global const X_m *m,
    const int64_t m0, global const X_m *g, const int64_t g0,
    {SIZES}) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
        const int64_t column = at % w, row = at / w % h, image = at / w / h;
        const X_t me = LOAD_X(x[x0 + at]);
        X_t sum = 0;
        for (int64_t i = size_h - 1; i >= 0; i--)
            for (int64_t j = size_w - 1; j >= 0; j--) {{
                const int64_t top = row - i * dilation_h, left = column - j * dilation_w;
                const int64_t b = top / stride_h, c = left / stride_w;
                if (top < 0 || left < 0 || top % stride_h || left % stride_w || b >= p || c >= q)
                    continue;
                const int64_t window = (image * p + b) * q + c;
                const X_t largest = LOAD_X(m[m0 + window]);
                if (me != largest) continue;
                int64_t equal = 0;
                for (int64_t k = 0; k < size_h; k++)
                    for (int64_t l = 0; l < size_w; l++)
                        equal += LOAD_X(x[x0 + (image * h + top + k * dilation_h) * w + left
                                          + l * dilation_w]) == largest;
                sum += LOAD_X(g[g0 + window]) / (X_t)equal;
            }}
        z[z0 + at] = STORE_X(sum);
    }}
}}
"""


def seen(
    x: Any, places: tuple[int, ...], window: tuple[int, ...], groups: int, how: Any
) -> Operand:
    """x as (n, groups, c / groups, p, q, high, wide): the contents of each window."""
    (n, c), (image, channel, row, column) = x.shape[:2], x.strides
    shape = (n, groups, c // groups, *places, *window)
    by = (row * how["stride_h"], column * how["stride_w"])
    within = (row * how["dilation_h"], column * how["dilation_w"])
    strides = (image, c // groups * channel, channel, *by, *within)
    return Operand(x.buf, shape, strides, x.offset)


def turned(x: Operand, order: tuple[int, ...], shape: tuple[int, ...], pool: Pool) -> Operand:
    """A copy of x with its axes in that order, as a contiguous operand of that shape."""
    walk = Operand(x.buf, tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order),
                   x.offset)  # fmt: skip
    found = copied(pool, walk)
    return Operand(found.buf, shape, contiguous_strides(shape), 0)


class Windows:
    """A kernel of this family for one dtype."""

    def __init__(self, pool: Pool, dtype: DType) -> None:
        self.pool, self.dtype = pool, dtype


class Conv(Windows):
    """`kernel(out, x, w, ...)`: for each image and group, weights (o, c k l) @ (c k l, p q)."""

    def __call__(self, out: Any, x: Any, w: Any, *, groups: int, **how: int) -> None:
        if 0 in out.shape:
            return
        n, o, p, q = out.shape
        terms = math.prod(w.shape[1:])
        view = seen(x, (p, q), w.shape[2:], groups, how)
        columns = turned(view, (0, 1, 2, 5, 6, 3, 4), (n, groups, terms, p * q), self.pool)
        w = dense(self.pool, w)
        each = o // groups
        weights = Operand(w.buf, (n, groups, each, terms), (0, each * terms, terms, 1), w.offset)
        if n > 1 and groups > 1:  # both axes together have no single step between matrices
            weights = copied(self.pool, weights)

        def fill(z: Any) -> None:
            shape = (n, groups, each, p * q)
            flat = Operand(z.buf, shape, contiguous_strides(shape), z.offset)
            product(self.pool, flat, weights, columns)

        filled(self.pool, out, fill)


class ConvWeight(Windows):
    """`kernel(out, x, g, ...)`: for each group, g (o, n p q) @ windows (n p q, c k l)."""

    def __call__(self, out: Any, x: Any, g: Any, *, groups: int, **how: int) -> None:
        if 0 in out.shape:
            return
        o, _, k, wide = out.shape
        n, _, p, q = g.shape
        terms, each = math.prod(out.shape[1:]), o // groups
        view = seen(x, (p, q), (k, wide), groups, how)
        rows = turned(view, (1, 0, 3, 4, 2, 5, 6), (groups, n * p * q, terms), self.pool)
        grads = turned(g, (1, 0, 2, 3), (groups, each, n * p * q), self.pool)

        def fill(z: Any) -> None:
            shape = (groups, each, terms)
            flat = Operand(z.buf, shape, contiguous_strides(shape), z.offset)
            product(self.pool, flat, grads, rows)

        filled(self.pool, out, fill)


class MaxPool(Windows):
    """`kernel(out, x, size_h=, size_w=, ...)`"""

    def __call__(self, out: Any, x: Any, **how: int) -> None:
        pool, x = self.pool, dense(self.pool, x)
        both = folding("max", self.dtype, self.dtype, pool.place.c)[1]
        kernel = hand(pool, "max_pool2d", POOL, {"X": self.dtype},
                      [None, LONG, None, *longs(12)], f"#define BOTH {both}\n")  # fmt: skip
        sizes = (*x.shape[2:], *out.shape[2:], *(how[name] for name in NAMES))
        filled(pool, out, lambda z: run(kernel, math.prod(out.shape), *at(z), *at(x), *sizes))


class MaxPoolGrad(Windows):
    """`kernel(out, x, m, g, size_h=, size_w=, ...)`"""

    def __call__(self, out: Any, x: Any, m: Any, g: Any, **how: int) -> None:
        pool = self.pool
        x, m, g = (dense(pool, each) for each in (x, m, g))
        types = [None, LONG, None, LONG, None, LONG, None, *longs(12)]
        kernel = hand(pool, "max_pool2d_grad", POOL_GRAD, {"X": self.dtype}, types)
        sizes = (*x.shape[2:], *m.shape[2:], *(how[name] for name in NAMES))
        each = (*at(x), *at(m), *at(g), *sizes)
        filled(pool, out, lambda z: run(kernel, math.prod(x.shape), *at(z), *each))


NAMES = ("size_h", "size_w", "stride_h", "stride_w", "dilation_h", "dilation_w")


def kernels(pool: Pool) -> Rows:
    rows: Rows = {("max_pool2d", dtype): MaxPool(pool, dtype) for dtype in ALL}
    for dtype in FLOATS:
        rows["conv2d", dtype] = Conv(pool, dtype)
        rows["conv2d_weight", dtype] = ConvWeight(pool, dtype)
        rows["max_pool2d_grad", dtype] = MaxPoolGrad(pool, dtype)
    return rows
