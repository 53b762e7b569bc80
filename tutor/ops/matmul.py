"""The matrix product, and the linear layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tutor._storage.device_memory import common
from tutor.backends.shape_rules import Letters, stretch
from tutor.backends.signatures import SIGNATURES
from tutor.core.buffer import Buffer
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.dtype import bool_, int64


class MatMul(Op):
    """z_ij = sum_k x_ik y_kj over the last two axes: (..., m, k) @ (..., k, n) -> (..., m, n)

    Leading axes broadcast. A 1-D x is one row, a 1-D y one column; z lacks that axis. Bools add up
    as or, integers wrap.
    """

    kernel, saves, saved_for, promotes = "matmul", ("x", "y"), {"x": "y"}, 0

    def settle(self) -> Any:
        x, y = self.inputs
        if x.buf.dtype is bool_:  # or over and: is there a k with both?
            return MatMul(x.cast(int64), y.cast(int64)).apply() != 0
        if len(x.shape) != 1 and len(y.shape) != 1:
            return None
        row = x.unsqueeze(0) if len(x.shape) == 1 else x
        column = y.unsqueeze(1) if len(y.shape) == 1 else y
        z = MatMul(row, column).apply()
        z = z.squeeze(-1) if column is not y else z
        return z.squeeze(-1 if column is not y else -2) if row is not x else z

    def backward(self, g, x, y):
        gx = gy = None
        if self.needs[0]:
            gx = g @ y.transpose()
        if self.needs[1]:
            # For a transposed y (a weight stored as (out, in)), compute the transposed product, so
            # that the gradient has y's memory layout.
            column_major = y.strides[-2] < y.strides[-1]
            gy = (g.transpose() @ x).transpose() if column_major else x.transpose() @ g
        return gx, gy


_layer = Letters("x (m, k), weight (n, k), bias (n) -> (m, n)")


class Linear(Op):
    """z = x wᵀ + b, or x wᵀ, for x (m, k), w (n, k), b (n)

    Equal to `x @ w.T + b`, in one op and, for floats, in one kernel: the bias is added while the
    sums are still in registers.
    """

    saves: ClassVar[tuple[str, ...]] = ("x", "w")
    saved_for: ClassVar[Mapping[str, str]] = {"x": "w"}
    promotes = 0
    relu: ClassVar[bool] = False  # are negative results set to 0?

    def infer(self, x, w, b=None):
        return _layer(
            SIGNATURES["linear"], self.name, [t.shape for t in self.inputs], {}
        ), x.buf.dtype

    def forward(self, x, w, b=None):
        shape, dtype = self.infer(x, w, b)
        device = common(self.name, self.inputs)
        z = x.over(Buffer.empty(shape[0] * shape[1], dtype, device), shape)
        if b is not None and dtype.is_float:
            engine.call("linear", dtype, z, x, w, b, relu=self.relu)
            return z
        transposed = w.over(w.buf, w.shape[::-1], w.strides[::-1], w.offset)
        engine.call("matmul", dtype, z, x, transposed)
        if b is not None:
            engine.call("add", dtype, z, z, stretch(b, shape))
        if self.relu:
            engine.call("relu", dtype, z, z)
        return z

    def backward(self, g, x, w, z=None):
        if self.relu:
            g = apply("relu_grad", g, z)
        gx = g @ w if self.needs[0] else None
        gw = g.T @ x if self.needs[1] else None
        gb = (g.sum(axis=0) if self.needs[2] else None,) if len(self.needs) == 3 else ()
        return (gx, gw, *gb)


class LinearReLU(Linear):
    """z = relu(x wᵀ + b), or relu(x wᵀ); with derivative 0 at 0"""

    name, saves, relu = "linear_relu", ("x", "w", "out"), True
