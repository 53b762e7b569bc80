"""Scans: along one axis, each element of the result depends on those before it; and sorting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tutor.core.engine import apply
from tutor.ops.elementwise import Binary
from tutor.ops.reduce import Along


class Scan(Binary):
    """z_0 = y_0, z_i = x_i z_(i-1) + y_i along axis

    With x = 1 this is the running sum, with y = x_0, 0, 0, ... the running product, with a constant
    x < 1 the moving average: one recurrence, and one derivative, for all of them.
    """

    kernel, saves = "scan", ("x", "out")

    def backward(self, g, x, z):
        """z_i feeds the result (g_i) and, times x_(i+1), z_(i+1): the same recurrence, run from the
        end to the start."""
        axis = self.params["axis"]
        if x.buf.device != g.buf.device:  # a plain number, expanded below
            x = x.to(g.buf.device)
        after = shifted(x.expand(z.shape), -1, axis)
        gy = apply("scan", after.flip(axis), g.flip(axis), axis=axis).flip(axis)
        return gy * shifted(z, 1, axis) if self.needs[0] else None, gy


def shifted(x: Any, by: int, axis: int) -> Any:
    """x moved by one along axis, 0 at the free end: z_i = x_(i - by), by = 1 or -1"""
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = (1, 0) if by == 1 else (0, 1)
    key = [slice(None)] * len(x.shape)
    key[axis] = slice(0, -1) if by == 1 else slice(1, None)
    return x.pad(widths)[tuple(key)]


class CumMax(Along):
    """z_i = the largest of x_0 ... x_i along axis; of ties the last gets the gradient"""

    kernel, saves, promotes = "cummax", ("x", "out"), 0

    def backward(self, g, x, z):
        axis = self.params["axis"]
        along = tuple(-1 if a == axis else 1 for a in range(len(x.shape)))
        here = type(x).arange(x.shape[axis], device=x.buf.device).reshape(along)
        source = apply("where", (x == z) + (x != x), here, 0).cummax(axis)  # on bools, + is or
        return apply("scatter_add", x.like(0), source, g, axis=axis)


class ArgSort(Along):
    """z = the positions along axis that sort x in ascending (with `descending`: descending) order

    The sort is stable, and nan counts as larger than all others.
    """

    kernel, promotes = "argsort", 0
    defaults: ClassVar[Mapping[str, Any]] = {"axis": -1, "descending": False}

    def settle(self) -> Any:
        self.params["descending"] = bool(self.params["descending"])
        return super().settle()
