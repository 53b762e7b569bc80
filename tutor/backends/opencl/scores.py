"""Scores: softmax, log_softmax, cross entropy and its gradient. One work-item computes one line,
by the statements that the C of a Program has, too (codegen/scores.py).

The losses of all rows, if summed, are added by the tree of `sum`.
"""

from __future__ import annotations

import math
from typing import Any

from tutor.backends.codegen import scores
from tutor.backends.opencl.handwritten import Body, Kernel, lines, one
from tutor.backends.opencl.memory import Pool
from tutor.backends.opencl.moving import checked
from tutor.backends.opencl.reduce import Fold
from tutor.backends.registry import Operand
from tutor.dtype import DType

# In a text, types and conversions are words, the same ones for all dtypes.
LINE = scores.Line(
    x=lambda j: f"LOAD_X(x[{j} * inner])" if j != "0" else "LOAD_X(x[0])",
    put=lambda j, value: f"z[{j} * inner] = STORE_X({value});",
    size="n", kind="X_t", wide="X_t", exp="exp",
)  # fmt: skip
ROW = LINE._replace(
    x=lambda j: f"LOAD_X(x[{j}])", put=lambda j, value: f"z[{j}] = STORE_X({value});"
)


def text(head: str, start: str, statements: list[list[str]]) -> Body:
    return Body(head, "\n".join([start, *(line for each in statements for line in each)]))


SOFTMAX, LOG_SOFTMAX = (
    text(
        f"{name}(X *z, const X *x, n, inner)",
        "z += at / inner * n * inner + at % inner;\nx += at / inner * n * inner + at % inner;",
        scores.softmax(LINE, name == "log_softmax"),
    )
    for name in ("softmax", "log_softmax")
)
LOSS = text(
    "cross_entropy(Z *z, const X *x, const int64_t *targets, double scale, n)",
    "x += at * n;\nconst int64_t target = targets[at];",
    [*scores.sums(ROW), [f"z[at] = STORE_Z((X_t)(scale * ({scores.loss(ROW)})));"]],
)
SLOPE = text(
    "cross_entropy_grad(X *z, const X *x, const int64_t *targets, const X *g, step, double scale,"
    " n)",
    "z += at * n;\nx += at * n;\nconst int64_t target = targets[at];",
    scores.slope(ROW, "scale", "LOAD_X(g[at * step])"),
)


class Softmax(Kernel):
    """`kernel(out, x, axis=)`"""

    def __call__(self, out: Any, x: Any, *, axis: Any) -> None:
        (x,) = self.dense(x)
        outer, n, inner = lines(x, one(axis, x))
        if n:
            text = LOG_SOFTMAX if self.name == "log_softmax" else SOFTMAX
            self.into(out, text, outer * inner, x, n, inner)


class CrossEntropy(Kernel):
    """`kernel(out, x, target, scale=)`"""

    def __init__(self, pool: Pool, name: str, dtype: DType) -> None:
        super().__init__(pool, name, dtype)
        self.sum = Fold(pool, "sum", self.acc)

    def __call__(self, out: Any, x: Any, target: Any, *, scale: float) -> None:
        (x,) = self.dense(x)
        n, rows = x.shape[-1], math.prod(x.shape[:-1])
        found = checked(self.pool, self.name, target, n, len(x.shape) - 1, 0)
        losses = out if out.shape else self.fresh((rows,), self.acc)
        kinds = self.kinds | {"Z": losses.buf.dtype}
        self.into(losses, LOSS, rows, x, found, float(scale), n, kinds=kinds)
        if losses is not out:
            self.sum.fold(out, losses, 1, rows, 1)


class CrossEntropyGrad(Kernel):
    """`kernel(out, x, target, g, scale=)`"""

    def __call__(self, out: Any, x: Any, target: Any, g: Any, *, scale: float) -> None:
        (x,) = self.dense(x)
        n, rows, step = x.shape[-1], math.prod(x.shape[:-1]), 1
        found = checked(self.pool, self.name, target, n, len(x.shape) - 1, 0)
        if g.shape and not any(g.strides):
            g, step = Operand(g.buf, (1,), (1,), g.offset), 0  # one number for all rows
        self.into(out, SLOPE, rows, x, found, *self.dense(g), step, float(scale), n)


KERNELS = {
    "softmax": Softmax, "log_softmax": Softmax, "cross_entropy": CrossEntropy,
    "cross_entropy_grad": CrossEntropyGrad,
}  # fmt: skip
