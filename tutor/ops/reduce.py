"""Reductions: sum over the axes in `axis` (None: all; an int; a tuple), or search through them.
At the end, the base class of ops that work along one axis and keep it.

x is the operand, z the result, g its gradient. With `keepdims` a reduced axis stays, with size 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from tutor._storage.layout import axis_of
from tutor.backends.shape_rules import without
from tutor.core.engine import apply
from tutor.core.op import Op


class ReductionOp(Op, abstract=True):
    """Shapes: x (..., n, ...) -> z (..., ...), or (..., 1, ...) with keepdims."""

    promotes = 0
    defaults: ClassVar[Mapping[str, Any]] = {"axis": None, "keepdims": False}

    def finish(self, out: Any) -> Any:
        if not self.params["keepdims"]:
            return out
        kept = without(self.inputs[0].shape, self.params["axis"], keepdims=True)
        return out.over(out.buf, kept)

    def stretched(self, t: Any, x: Any) -> Any:
        """t, of z's shape, repeated along the reduced axes to x's shape."""
        if t.shape:  # a single number stretches to any shape
            t = t.reshape(without(x.shape, self.params["axis"], keepdims=True))
        return apply("expand", t, shape=x.shape)


class Sum(ReductionOp):
    """z = sum of x; integers and bools sum as 64-bit integers"""

    kernel = "sum"

    def backward(self, g):
        return self.stretched(g, self.edges[0])


class Prod(ReductionOp):
    """z = product of x; integers and bools as 64-bit integers"""

    kernel, saves = "prod", ("x",)

    def backward(self, g, x):
        """g times the product of all others, computed as the product of those before times that of
        those after, so that it is right even where x is 0."""
        axis = self.params["axis"]
        order = (*(a for a in range(len(x.shape)) if a not in axis), *axis)
        last = x.permute(order)
        flat = last.reshape((*without(x.shape, axis), math.prod(x.shape[a] for a in axis)))
        others = product_before(flat) * product_before(flat.flip(-1)).flip(-1)
        back = others.reshape(last.shape).permute(tuple(order.index(a) for a in range(len(order))))
        return self.stretched(g, x) * back


def product_before(x: Any) -> Any:
    """z_i = x_0 x_1 ... x_(i-1) along the last axis; z_0 = 1"""
    ones = x.like(1, (*x.shape[:-1], 1))
    return apply("cat", ones, x, axis=-1)[..., :-1].cumprod(-1)


class Mean(ReductionOp):
    """z = sum of x / count; integers as float32"""

    kernel, wants_float = "mean", True

    def backward(self, g):
        x = self.edges[0]
        count = math.prod(x.shape[a] for a in self.params["axis"])
        return self.stretched(g / count, x)


class Choice(ReductionOp, abstract=True):
    """The largest or smallest; ties share the gradient evenly."""

    saves = ("x", "out")

    def backward(self, g, x, z):
        axis = self.params["axis"]
        chosen = (x == self.stretched(z, x)).cast(g.dtype)
        return chosen * self.stretched(g, x) / chosen.sum(axis=axis, keepdims=True)


class Max(Choice):
    """z = the largest; nan if any is nan"""

    kernel = "max"


class Min(Choice):
    """z = the smallest; nan if any is nan"""

    kernel = "min"


class ArgMax(ReductionOp):
    """z = position of the first largest, counted row-major over the reduced axes"""

    kernel = "argmax"


class ArgMin(ReductionOp):
    """z = position of the first smallest, counted row-major over the reduced axes"""

    kernel = "argmin"


class Along(Op, abstract=True):
    """An op along one axis of its first operand. A 0-d operand counts as a row of one, as in
    PyTorch, so it has the axes 0 and -1."""

    def settle(self) -> Any:
        x, *others = self.inputs
        self.params["axis"] = axis_of(self.params["axis"], len(x.shape) or 1)
        if x.shape:
            return None
        rows = [t if t.shape else t.reshape((1,)) for t in self.inputs]
        z = type(self)(*rows, **self.params).apply()
        return z.reshape(()) if not any(t.shape for t in others) else z
