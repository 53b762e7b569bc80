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
from tutor.backends.codegen import folds
from tutor.backends.opencl.handwritten import Body, Kernel, copied, filled, permuted
from tutor.backends.opencl.memory import Pool
from tutor.backends.opencl.products import product
from tutor.backends.registry import Operand

NAMES = ("size_h", "size_w", "stride_h", "stride_w", "dilation_h", "dilation_w")
SIZES = f"h, w, p, q, {', '.join(NAMES)}"

POOL = Body(f"max_pool2d(X *z, const X *x, {SIZES})", """
    const int64_t column = at % q * stride_w, row = at / q % p * stride_h;
    x += (at / q / p * h + row) * w + column;
    X_t a = LOAD_X(x[0]);
    for (int64_t i = 0; i < size_h; i++)
        for (int64_t j = 0; j < size_w; j++) {
            const X_t b = LOAD_X(x[i * dilation_h * w + j * dilation_w]);
            a = BOTH;
        }
    z[at] = STORE_X(a);
""")  # fmt: skip

POOL_GRAD = Body(f"max_pool2d_grad(X *z, const X *x, const X *m, const X *g, {SIZES})", """
    const int64_t column = at % w, row = at / w % h, image = at / w / h;
    const X_t me = LOAD_X(x[at]);
    X_t sum = 0;
    for (int64_t i = size_h - 1; i >= 0; i--)
        for (int64_t j = size_w - 1; j >= 0; j--) {
            const int64_t top = row - i * dilation_h, left = column - j * dilation_w;
            const int64_t b = top / stride_h, c = left / stride_w;
            if (top < 0 || left < 0 || top % stride_h || left % stride_w || b >= p || c >= q)
                continue;
            const int64_t window = (image * p + b) * q + c;
            const X_t largest = LOAD_X(m[window]);
            if (me != largest) continue;
            int64_t equal = 0;
            for (int64_t k = 0; k < size_h; k++)
                for (int64_t l = 0; l < size_w; l++)
                    equal += LOAD_X(x[(image * h + top + k * dilation_h) * w + left
                                      + l * dilation_w]) == largest;
            sum += LOAD_X(g[window]) / (X_t)equal;
        }
    z[at] = STORE_X(sum);
""")  # fmt: skip


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
    return shaped(copied(pool, permuted(x, order)), shape)


def shaped(x: Any, shape: tuple[int, ...]) -> Operand:
    """A contiguous operand in another shape."""
    return Operand(x.buf, shape, contiguous_strides(shape), x.offset)


class Conv(Kernel):
    """`kernel(out, x, w, ...)`: for each image and group, weights (o, c k l) @ (c k l, p q)."""

    def __call__(self, out: Any, x: Any, w: Any, *, groups: int, **how: int) -> None:
        if 0 in out.shape:
            return
        n, o, p, q = out.shape
        terms = math.prod(w.shape[1:])
        view = seen(x, (p, q), w.shape[2:], groups, how)
        columns = turned(view, (0, 1, 2, 5, 6, 3, 4), (n, groups, terms, p * q), self.pool)
        (w,) = self.dense(w)
        each = o // groups
        weights = Operand(w.buf, (n, groups, each, terms), (0, each * terms, terms, 1), w.offset)
        if n > 1 and groups > 1:  # both axes together have no single step between matrices
            weights = copied(self.pool, weights)

        def fill(z: Any) -> None:
            product(self.pool, shaped(z, (n, groups, each, p * q)), weights, columns)

        filled(self.pool, out, fill)


class ConvWeight(Kernel):
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
            product(self.pool, shaped(z, (groups, each, terms)), grads, rows)

        filled(self.pool, out, fill)


class MaxPool(Kernel):
    """`kernel(out, x, size_h=, size_w=, ...)`"""

    def __call__(self, out: Any, x: Any, **how: int) -> None:
        (x,) = self.dense(x)
        both = folds.combined("max", self.dtype, "a", "b", self.c)
        sizes = (*x.shape[2:], *out.shape[2:], *(how[name] for name in NAMES))
        self.into(out, POOL, math.prod(out.shape), x, *sizes, more=f"#define BOTH {both}\n")


class MaxPoolGrad(Kernel):
    """`kernel(out, x, m, g, size_h=, size_w=, ...)`"""

    def __call__(self, out: Any, x: Any, m: Any, g: Any, **how: int) -> None:
        x, m, g = self.dense(x, m, g)
        sizes = (*x.shape[2:], *m.shape[2:], *(how[name] for name in NAMES))
        self.into(out, POOL_GRAD, math.prod(x.shape), x, m, g, *sizes)


KERNELS = {
    "max_pool2d": MaxPool, "conv2d": Conv, "conv2d_weight": ConvWeight,
    "max_pool2d_grad": MaxPoolGrad,
}  # fmt: skip
