"""Norms and their gradients, over rows or channels.

One work-item computes one row (or channel): the mean, then the mean of the squared differences,
then the results. The gradients of w and b are summed over rows by a second kernel, one work-item
for each of their numbers, from the mean and the root that the first one stored.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.opencl.handwritten import (
    at,
    dense,
    filled,
    fresh,
    hand,
    longs,
    mover,
    permuted,
    run,
    width,
)
from tutor.backends.opencl.launch import LONG, scalar
from tutor.backends.opencl.memory import Pool, Rows
from tutor.backends.registry import Operand
from tutor.backends.signatures import FLOATS
from tutor.dtype import DType, float64

# How w (and related operands) is indexed: by the position in a row, or one number per row.
MOMENTS = """
        const int64_t first = x0 + at * n;
        A_t mean = 0, var = 0;
        if (CENTRED) {
            for (int64_t k = 0; k < n; k++) mean += LOAD_X(x[first + k]);
            mean /= n;
        }
        for (int64_t k = 0; k < n; k++) {
            const A_t d = LOAD_X(x[first + k]) - mean;
            var += d * d;
        }
        var /= n;
"""

NORM = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *x, const int64_t x0, global const X_m *w,
    const int64_t w0, global const X_m *b, const int64_t b0, global A_m *means, global A_m *vars,
    const double eps, const int64_t n, const int64_t count) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
{MOMENTS}
        const A_t root = 1 / sqrt(var + (A_t)eps);
        for (int64_t k = 0; k < n; k++) {{
            const int64_t j = PER_ROW ? at : k;
            const A_t h = (LOAD_X(x[first + k]) - mean) * root;
            z[z0 + at * n + k] = STORE_X(h * LOAD_X(w[w0 + j]) + (SHIFTED ? LOAD_X(b[b0 + j]) : 0));
        }}
        if (PER_ROW) {{
            means[at] = mean;
            vars[at] = var;
        }}
    }}
}}
"""

NORM_GRAD = f"""
kernel void NAME(
    global X_m *z, const int64_t z0, global const X_m *g, const int64_t g0, global const X_m *x,
    const int64_t x0, global const X_m *w, const int64_t w0, global A_m *means, global A_m *roots,
    global X_m *dw, global X_m *db, const double eps, const int64_t n, const int64_t count) {{
    const int64_t at = get_global_id(0);
    if (at < count) {{
#if PER_ROW
        const int64_t first = x0 + at * n;
        const A_t mean = means[at], var = roots[at];
#else
{MOMENTS}
#endif
        const A_t root = 1 / sqrt(var + (A_t)eps);
        A_t level = 0, tilt = 0, sum = 0, slope = 0;
        for (int64_t k = 0; k < n; k++) {{
            const A_t gk = LOAD_X(g[g0 + at * n + k]), h = (LOAD_X(x[first + k]) - mean) * root;
            const A_t a = gk * LOAD_X(w[w0 + (PER_ROW ? at : k)]);
            level += a;
            tilt += a * h;
            sum += gk;
            slope += gk * h;
        }}
        level = CENTRED ? level / n : 0;
        tilt /= n;
        for (int64_t k = 0; k < n; k++) {{
            const A_t gk = LOAD_X(g[g0 + at * n + k]), h = (LOAD_X(x[first + k]) - mean) * root;
            const A_t a = gk * LOAD_X(w[w0 + (PER_ROW ? at : k)]);
            z[z0 + at * n + k] = STORE_X((a - level - h * tilt) * root);
        }}
        if (PER_ROW) {{
            dw[at] = STORE_X(slope);
            db[at] = STORE_X(sum);
        }} else {{
            means[at] = mean;
            roots[at] = root;
        }}
    }}
}}
"""

ADD_UP = """
kernel void NAME(
    global X_m *dw, global X_m *db, global const X_m *g, const int64_t g0, global const X_m *x,
    const int64_t x0, global const A_m *means, global const A_m *roots, const int64_t rows,
    const int64_t count) {
    const int64_t at = get_global_id(0);
    if (at < count) {
        A_t slope = 0, sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            const A_t gk = LOAD_X(g[g0 + r * count + at]);
            slope += gk * ((LOAD_X(x[x0 + r * count + at]) - means[r]) * roots[r]);
            sum += gk;
        }
        dw[at] = STORE_X(slope);
        db[at] = STORE_X(sum);
    }
}
"""


def chosen(centred: bool, shifted: bool, per_row: bool) -> str:
    pairs = (("CENTRED", centred), ("SHIFTED", shifted), ("PER_ROW", per_row))
    return "".join(f"#define {name} {int(value)}\n" for name, value in pairs)


class Norm:
    """`kernel(out, x, w, b, eps=)`, or without b; over rows."""

    def __init__(self, pool: Pool, dtype: DType, centred: bool) -> None:
        self.pool, self.dtype, self.centred = pool, dtype, centred
        self.kinds = {"X": dtype, "A": width(dtype)}

    def __call__(self, out: Any, x: Any, w: Any, *more: Any, eps: float) -> None:
        pool = self.pool
        x, w = dense(pool, x), dense(pool, w)
        b = dense(pool, more[0]) if more else w
        kernel = hand(
            pool, "norm", NORM, self.kinds, NORM_TYPES, chosen(self.centred, bool(more), False)
        )
        none = at(w)[0]
        n = x.shape[-1]
        each = (*at(x), *at(w), *at(b), none, none, eps, n)
        rows = math.prod(x.shape[:-1])
        filled(pool, out, lambda z: run(kernel, rows if n else 0, *at(z), *each))


class NormGrad(Norm):
    """`kernel(out, g, x, w, dw, db, eps=)`, or without db; over rows."""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, x: Any, w: Any, *written: Any, eps: float
    ) -> None:
        pool = self.pool
        g, x, w = (dense(pool, each) for each in (g, x, w))
        n, rows = x.shape[-1], math.prod(x.shape[:-1])
        if not n:
            return
        acc = self.kinds["A"]
        means, roots = fresh(pool, (rows,), acc), fresh(pool, (rows,), acc)
        sums = [fresh(pool, (n,), self.dtype) for _ in range(2)]
        kernel = hand(pool, "norm_grad", NORM_GRAD, self.kinds, GRAD_TYPES,
                      chosen(self.centred, True, False))  # fmt: skip
        places = [at(each)[0] for each in (means, roots, *sums)]

        def fill(z: Any) -> None:
            run(kernel, rows, *at(z), *at(g), *at(x), *at(w), *places, eps, n)

        filled(pool, out, fill)
        add = hand(pool, "norm_sums", ADD_UP, self.kinds,
                   [None, None, None, LONG, None, LONG, None, None, *longs(2)])  # fmt: skip
        run(add, n, *places[2:], *at(g), *at(x), *places[:2], rows)
        for to, found in zip(written, sums, strict=False):
            mover(pool, self.dtype)(to, found)


NORM_TYPES = [*[None, LONG] * 4, None, None, scalar(float64), *longs(2)]
GRAD_TYPES = [
    *[None, LONG] * 4, None, None, None, None, scalar(float64), *longs(2),
]  # fmt: skip


class BatchNorm(Norm):
    """`kernel(out, x, w, b, mean, var, eps=)`: each channel is a row."""

    def __call__(self, out: Any, x: Any, w: Any, b: Any, *written: Any, eps: float) -> None:  # type: ignore[override]
        pool, acc = self.pool, self.kinds["A"]
        rows = dense(pool, permuted(x, (1, 0, 2)))
        channels, n = x.shape[1], x.shape[0] * x.shape[2]
        w, b = dense(pool, w), dense(pool, b)
        found = [fresh(pool, (channels,), acc) for _ in range(2)]
        kernel = hand(pool, "norm", NORM, self.kinds, NORM_TYPES, chosen(True, True, True))
        z = fresh(pool, rows.shape, self.dtype)
        places = [at(each)[0] for each in found]
        run(kernel, channels, *at(z), *at(rows), *at(w), *at(b), *places, eps, n)
        mover(pool, self.dtype)(out, permuted(z, (1, 0, 2)))
        for to, each in zip(written, found, strict=True):
            mover(pool, acc)(to, each)


class BatchNormGrad(Norm):
    """`kernel(out, g, x, w, mean, var, dw, db, eps=)`"""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, x: Any, w: Any, mean: Any, var: Any, *written: Any, eps: float
    ) -> None:
        pool = self.pool
        g, x = (dense(pool, permuted(each, (1, 0, 2))) for each in (g, x))
        channels, n = x.shape[0], x.shape[1] * x.shape[2]
        w, mean, var = dense(pool, w), as_begun(pool, mean), as_begun(pool, var)
        sums = [fresh(pool, (channels,), self.dtype) for _ in range(2)]
        kernel = hand(pool, "norm_grad", NORM_GRAD, self.kinds, GRAD_TYPES,
                      chosen(True, True, True))  # fmt: skip
        z = fresh(pool, x.shape, self.dtype)
        places = [at(each)[0] for each in (mean, var, *sums)]
        run(kernel, channels, *at(z), *at(g), *at(x), *at(w), *places, eps, n)
        mover(pool, self.dtype)(out, permuted(z, (1, 0, 2)))
        for to, each in zip(written, sums, strict=True):
            mover(pool, self.dtype)(to, each)


def as_begun(pool: Pool, x: Any) -> Operand:
    """x, contiguous and starting at the beginning of its memory."""
    found: Operand = dense(pool, x)
    if found.offset:
        z = fresh(pool, found.shape, found.buf.dtype)
        mover(pool, found.buf.dtype)(z, found)
        return z
    return found


def kernels(pool: Pool) -> Rows:
    rows: Rows = {}
    for dtype in FLOATS:
        rows["layer_norm", dtype] = Norm(pool, dtype, True)
        rows["rms_norm", dtype] = Norm(pool, dtype, False)
        rows["layer_norm_grad", dtype] = NormGrad(pool, dtype, True)
        rows["rms_norm_grad", dtype] = NormGrad(pool, dtype, False)
        rows["batch_norm", dtype] = BatchNorm(pool, dtype, True)
        rows["batch_norm_grad", dtype] = BatchNormGrad(pool, dtype, True)
    return rows
