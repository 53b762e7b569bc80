"""Norms and their gradients, over rows or channels.

One work-item computes one row (or channel): the mean, then the mean of the squared differences,
then the results. The gradients of w and b are summed over rows by a second kernel, one work-item
for each of their numbers, from the mean and the root that the first one stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tutor.backends.opencl.handwritten import Body, Kernel, permuted
from tutor.backends.registry import Operand

MOMENTS = """
    A_t mean = 0, var = 0;
    if (CENTRED) {
        for (int64_t k = 0; k < n; k++) mean += LOAD_X(x[k]);
        mean /= n;
    }
    for (int64_t k = 0; k < n; k++) {
        const A_t d = LOAD_X(x[k]) - mean;
        var += d * d;
    }
    var /= n;
"""

# PER_ROW: w and b, and the gradients of both, have one number for each row; else for each column.
NORM = Body(
    "norm(X *z, const X *x, const X *w, const X *b, A *means, A *vars, double eps, n)", f"""
    x += at * n;
    z += at * n;
{MOMENTS}
    const A_t root = 1 / sqrt(var + (A_t)eps);
    for (int64_t k = 0; k < n; k++) {{
        const int64_t j = PER_ROW ? at : k;
        const A_t h = (LOAD_X(x[k]) - mean) * root;
        z[k] = STORE_X(h * LOAD_X(w[j]) + (SHIFTED ? LOAD_X(b[j]) : 0));
    }}
    if (PER_ROW) {{
        means[at] = mean;
        vars[at] = var;
    }}
""")  # fmt: skip

NORM_GRAD = Body(
    "norm_grad(X *z, const X *g, const X *x, const X *w, A *means, A *roots, X *dw, X *db,"
    " double eps, n)", f"""
    x += at * n;
    g += at * n;
    z += at * n;
#if PER_ROW
    const A_t mean = means[at], var = roots[at];
#else
{MOMENTS}
#endif
    const A_t root = 1 / sqrt(var + (A_t)eps);
    A_t level = 0, tilt = 0, sum = 0, slope = 0;
    for (int64_t k = 0; k < n; k++) {{
        const A_t gk = LOAD_X(g[k]), h = (LOAD_X(x[k]) - mean) * root;
        const A_t a = gk * LOAD_X(w[PER_ROW ? at : k]);
        level += a;
        tilt += a * h;
        sum += gk;
        slope += gk * h;
    }}
    level = CENTRED ? level / n : 0;
    tilt /= n;
    for (int64_t k = 0; k < n; k++) {{
        const A_t gk = LOAD_X(g[k]), h = (LOAD_X(x[k]) - mean) * root;
        const A_t a = gk * LOAD_X(w[PER_ROW ? at : k]);
        z[k] = STORE_X((a - level - h * tilt) * root);
    }}
    if (PER_ROW) {{
        dw[at] = STORE_X(slope);
        db[at] = STORE_X(sum);
    }} else {{
        means[at] = mean;
        roots[at] = root;
    }}
""")  # fmt: skip

ADD_UP = Body(
    "norm_sums(X *dw, X *db, const X *g, const X *x, const A *means, const A *roots, rows)", """
    A_t slope = 0, sum = 0;
    for (int64_t r = 0; r < rows; r++) {
        const A_t gk = LOAD_X(g[r * count + at]);
        slope += gk * ((LOAD_X(x[r * count + at]) - means[r]) * roots[r]);
        sum += gk;
    }
    dw[at] = STORE_X(slope);
    db[at] = STORE_X(sum);
""")  # fmt: skip

ADD_UP_CHANNELS = Body(
    "channel_sums(X *dw, X *db, const X *g, const X *x, const A *means, const A *roots, rows,"
    " places)", """
    A_t slope = 0, sum = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = (r * count + at) * places; k < (r * count + at + 1) * places; k++) {
            const A_t gk = LOAD_X(g[k]);
            slope += gk * ((LOAD_X(x[k]) - means[r]) * roots[r]);
            sum += gk;
        }
    dw[at] = STORE_X(slope);
    db[at] = STORE_X(sum);
""")  # fmt: skip


class Norm(Kernel):
    """`kernel(out, x, w, b, eps=)`, or without b; over rows."""

    def chosen(self, shifted: bool = True, per_row: bool = False) -> str:
        centred = self.name.removesuffix("_grad") != "rms_norm"
        pairs = (("CENTRED", centred), ("SHIFTED", shifted), ("PER_ROW", per_row))
        return "".join(f"#define {name} {int(value)}\n" for name, value in pairs)

    def __call__(self, out: Any, x: Any, w: Any, *more: Any, eps: float) -> None:
        x, w, *b = self.dense(x, w, *more)
        n, rows, unused = x.shape[-1], math.prod(x.shape[:-1]), w
        each = (x, w, *(b or (w,)), unused, unused, eps, n)
        self.into(out, NORM, rows if n else 0, *each, more=self.chosen(bool(b)))


class NormGrad(Norm):
    """`kernel(out, g, x, w, dw, db, eps=)`, or without db; over rows."""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, x: Any, w: Any, *written: Any, eps: float
    ) -> None:
        g, x, w = self.dense(g, x, w)
        n, rows = x.shape[-1], math.prod(x.shape[:-1])
        if not n:
            return
        found = [self.fresh((rows,), self.acc) for _ in range(2)]
        sums = [self.fresh((n,)) for _ in range(2)]
        self.into(out, NORM_GRAD, rows, g, x, w, *found, *sums, eps, n, more=self.chosen())
        self.run(ADD_UP, n, *sums, g, x, *found, rows)
        for to, each in zip(written, sums, strict=False):
            self.copy(to, each)


def channels_first(x: Any) -> Operand:
    """(k, channels, m) as (channels, k, m), and back: each channel is a row."""
    return permuted(x, (1, 0, 2))


class BatchNorm(Norm):
    """`kernel(out, x, w, b, mean, var, eps=)`: each channel is a row."""

    def __call__(self, out: Any, x: Any, w: Any, b: Any, *written: Any, eps: float) -> None:  # type: ignore[override]
        rows, w, b = self.dense(channels_first(x), w, b)
        channels, n = x.shape[1], x.shape[0] * x.shape[2]
        found = [self.fresh((channels,), self.acc) for _ in range(2)]
        how = self.chosen(per_row=True)
        self.into(channels_first(out), NORM, channels, rows, w, b, *found, eps, n, more=how)
        for to, each in zip(written, found, strict=True):
            self.copy(to, each)


class BatchNormGrad(Norm):
    """`kernel(out, g, x, w, mean, var, dw, db, eps=)`"""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, x: Any, w: Any, mean: Any, var: Any, *written: Any, eps: float
    ) -> None:
        each = self.dense(channels_first(g), channels_first(x), w, mean, var)
        channels, n = x.shape[1], x.shape[0] * x.shape[2]
        sums = [self.fresh((channels,)) for _ in range(2)]
        how = self.chosen(per_row=True)
        self.into(channels_first(out), NORM_GRAD, channels, *each, *sums, eps, n, more=how)
        for to, found in zip(written, sums, strict=True):
            self.copy(to, found)


def cut(x: Any, w: Any, groups: int) -> Iterator[tuple[int, int, Operand]]:
    """For each group of x (examples, channels, places) its first channel, how many they are, and
    the numbers of w (channels), each for all places."""
    _, n, places = x.shape
    width = max(-(-n // groups), 1)
    for first in range(0, n, width):
        count = min(width, n - first)
        offset = w.offset + first * w.strides[0]
        yield first, count, Operand(w.buf, (count, places), (w.strides[0], 0), offset)


def part(x: Any, first: int, count: int) -> Operand:
    """Some channels of x (examples, channels, places)"""
    shape = (x.shape[0], count, x.shape[2])
    return Operand(x.buf, shape, x.strides, x.offset + first * x.strides[1])


class GroupNorm(Norm):
    """`kernel(out, x, w, b, eps=, groups=)`: each group by itself, an example is a row."""

    def __call__(  # type: ignore[override]
        self, out: Any, x: Any, w: Any, b: Any, *, eps: float, groups: int
    ) -> None:
        rows, _, places = x.shape
        both = zip(cut(x, w, groups), cut(x, b, groups), strict=True)
        for (first, count, ws), (*_, bs) in both if places else ():
            here = (first, count)
            own = self.dense(part(x, *here), ws, bs)
            each = (*own, own[1], own[1], eps, count * places)
            self.into(part(out, *here), NORM, rows, *each, more=self.chosen())


class GroupNormGrad(Norm):
    """`kernel(out, g, x, w, dw, db, eps=, groups=)`"""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, x: Any, w: Any, *written: Any, eps: float, groups: int
    ) -> None:
        rows, _, places = x.shape
        for first, count, ws in cut(x, w, groups):
            here, n = (first, count), count * places
            each = self.dense(part(g, *here), part(x, *here), ws)
            found = [self.fresh((rows,), self.acc) for _ in range(2)]
            unused = [self.fresh((1,)) for _ in range(2)]
            if n:
                self.into(part(out, *here), NORM_GRAD, rows, *each, *found, *unused, eps, n,
                          more=self.chosen())  # fmt: skip
            sums = [self.fresh((count,)) for _ in range(2)]
            self.run(ADD_UP_CHANNELS, count, *sums, *each[:2], *found, rows, places)
            for to, made in zip(written, sums, strict=True):
                offset = to.offset + first * to.strides[0]
                self.copy(Operand(to.buf, (count,), to.strides, offset), made)


KERNELS = {
    "layer_norm": Norm, "rms_norm": Norm, "layer_norm_grad": NormGrad, "rms_norm_grad": NormGrad,
    "batch_norm": BatchNorm, "batch_norm_grad": BatchNormGrad, "group_norm": GroupNorm,
    "group_norm_grad": GroupNormGrad,
}  # fmt: skip
