"""Attention and its gradient: matrix products, and one kernel for each row of scores.

Scores, weights and their gradients are stored as (batch, l, s) in the dtype of the computation: the
speed of the products matters more here than the memory.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.opencl.handwritten import Body, Kernel, as_dtype, casting, permuted
from tutor.backends.opencl.products import product
from tutor.backends.registry import Operand

WEIGH = Body("attention(A *p, const X *mask, A *logs, double scale, causal, known, rows, n)", """
    p += at * n;
    mask += at * n;
    const int64_t end = causal && at % rows < n ? at % rows + 1 : n;
    A_t largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const A_t s = (A_t)scale * p[j] + LOAD_X(mask[j]);
        p[j] = j < end ? s : -INFINITY;
        if (j < end && (s > largest || s != s)) largest = s;
    }
    A_t log_norm = known ? logs[at] : -INFINITY;
    if (!known && largest != -INFINITY) {
        for (int64_t j = 0; j < end; j++) sum += exp(p[j] - largest);
        log_norm = largest + log(sum);
    }
    const A_t by = known || largest == -INFINITY ? 1 : 1 / sum;
    const A_t from = known ? log_norm : largest;
    for (int64_t j = 0; j < n; j++)
        p[j] = log_norm != -INFINITY && j < end ? exp(p[j] - from) * by : 0;
    if (!known) logs[at] = log_norm;
""")  # fmt: skip

SLOPES = Body("attention_grad(A *ds, const A *p, const A *g, const A *z, double scale, n, e)", """
    A_t level = 0;
    for (int64_t k = at * e; k < (at + 1) * e; k++) level += g[k] * z[k];
    for (int64_t j = at * n; j < (at + 1) * n; j++) ds[j] = p[j] * (ds[j] - level) * (A_t)scale;
""")  # fmt: skip


def turned(x: Operand) -> Operand:
    """x with its last two axes swapped."""
    return permuted(x, (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))


class Attention(Kernel):
    """`kernel(out, q, k, v, mask, logs, scale=, causal=)`"""

    def weights(
        self, q: Any, k: Any, mask: Any, logs: Any, scale: float, causal: bool, known: bool
    ) -> Operand:
        """e**(s - logs) for all rows; writes logs if they are not given."""
        p = self.fresh((*q.shape[:-1], k.shape[-2]), self.acc)
        product(self.pool, p, q, turned(k))
        how = (float(scale), int(causal), int(known), q.shape[-2], k.shape[-2])
        self.run(WEIGH, math.prod(q.shape[:-1]), p, *self.dense(mask), logs, *how)
        return p

    def wide(self, *operands: Any) -> list[Any]:
        return [as_dtype(self.pool, x, self.acc) for x in operands]

    def times(self, out: Any, x: Operand, y: Operand) -> None:
        """out = x @ y, rounded at the end."""
        if 0 in out.shape:
            return
        z = self.fresh(out.shape, self.acc)
        product(self.pool, z, x, y)
        if self.acc is self.dtype:
            self.copy(out, z)
        else:
            casting(self.pool, self.dtype, self.acc)(out, z)

    def __call__(
        self, out: Any, q: Any, k: Any, v: Any, mask: Any, logs: Any, *, scale: float, causal: bool
    ) -> None:
        q, k, v = self.wide(q, k, v)
        norms = self.fresh(logs.shape, self.acc)
        p = self.weights(q, k, mask, norms, scale, causal, False)
        self.times(out, p, v)
        self.copy(logs, norms)


class AttentionGrad(Attention):
    """`kernel(out, g, q, k, v, mask, z, logs, dk, dv, scale=, causal=)`"""

    def __call__(  # type: ignore[override]
        self, out: Any, g: Any, q: Any, k: Any, v: Any, mask: Any, z: Any, logs: Any, dk: Any,
        dv: Any, *, scale: float, causal: bool,
    ) -> None:  # fmt: skip
        g, q, k, v, z = self.wide(g, q, k, v, z)
        (logs,) = self.dense(logs)
        p = self.weights(q, k, mask, logs, scale, causal, True)
        ds = self.fresh(p.shape, self.acc)
        product(self.pool, ds, g, turned(v))
        rows, sizes = math.prod(q.shape[:-1]), (k.shape[-2], v.shape[-1])
        self.run(SLOPES, rows, ds, p, g, z, float(scale), *sizes)
        self.times(out, ds, k)
        self.times(dk, turned(ds), q)
        self.times(dv, turned(p), g)


KERNELS = {"attention": Attention, "attention_grad": AttentionGrad}
