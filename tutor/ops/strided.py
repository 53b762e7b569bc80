"""Parts of a tensor as memory sees them, to read and to replace: what changes in place compute
(tutor/core/engine/writing.py)."""

from __future__ import annotations

import math
from typing import Any

from tutor._storage.layout import (
    check_inside,
    checked_shape,
    contiguous_strides,
    whole_number,
    whole_numbers,
)
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.errors import ShapeError


def checked_part(sizes: Any, strides: Any, start: Any) -> dict[str, Any]:
    """The parameters of Strided as whole numbers."""
    shape, steps = checked_shape(sizes), whole_numbers(strides, "strides")
    if len(shape) != len(steps):
        raise ShapeError(
            f"a part of sizes {shape}", f"strides {steps}", "give one stride for each size"
        )
    return {"sizes": shape, "strides": steps, "start": whole_number(start, "a start")}


class Strided(Op):
    """z is the part of x, laid out row by row, that begins at `start` and is walked by `strides`:
    z[i, j, ...] = flat(x)[start + i * strides[0] + j * strides[1] + ...]"""

    def settle(self):
        self.params = checked_part(**self.params)

    def layout(self, x, *, sizes, strides, start):
        if x.strides != contiguous_strides(x.shape):
            return None
        check_inside(sizes, strides, start, math.prod(x.shape))
        return sizes, strides, x.offset + start

    def backward(self, g):
        shape = self.edges[0].shape
        zeros = g.like(0, (math.prod(shape),))
        order = type(g).arange(math.prod(shape), device=g.device).reshape(shape)
        places = apply("strided", order, **self.params)  # a walk may come by a number twice
        flat = [t.reshape((-1,)) for t in (places, g)]
        return apply("scatter_add", zeros, *flat, axis=0).reshape(shape)


class Put(Op):
    """z = x, but for the part described by `sizes`, `strides` and `start` (see Strided), which is
    value: what a change in place computes"""

    takes, promotes = ("x", "value"), 0

    def settle(self):
        self.params = checked_part(**self.params)

    def forward(self, x, value, *, sizes, strides, start):
        z = apply("copy", x.detach())
        part = apply("strided", z, sizes=sizes, strides=strides, start=start)
        engine.write(part, value.detach())
        return z

    def backward(self, g):
        needs_x, needs_value = self.needs
        nothing = g.like(0, self.params["sizes"])
        return (apply("put", g, nothing, **self.params) if needs_x else None,
                apply("strided", g, **self.params) if needs_value else None)  # fmt: skip
