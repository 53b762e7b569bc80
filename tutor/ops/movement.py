"""Movement: the same numbers in another order. Views only change strides and move nothing.

A view's derivative is the same movement backwards: permuted axes are permuted back, repeated
elements are summed, a slice is put back in place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, ClassVar

from tutor._storage import index_parsing
from tutor._storage.array_like import is_tensor, pack
from tutor._storage.layout import (
    axes_of,
    axis_of,
    broadcast_shapes,
    broadcast_strides,
    checked_shape,
    fill_in,
    pairs_of,
    reshape_strides,
    slice_layout,
    whole_number,
    whole_numbers,
)
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Row, TensorLike
from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.errors import AxisError, DTypeError, ShapeError
from tutor.methods import selection
from tutor.methods.tensor import Tensor

# ---- views: no kernel, only another layout -------------------------------------------------------


class Reshape(Op):
    """z holds x's numbers, row-major, in another shape; one size may be -1. A view where strides
    allow it, else a view of a copy; with `copy=False` a ShapeError instead"""

    def layout(self, x, *, shape, copy=True):
        to = fill_in(shape, math.prod(x.shape))
        strides = reshape_strides(x.shape, x.strides, to)
        if strides is not None:
            return to, strides, x.offset
        if copy:
            return None
        raise ShapeError(
            f"to view shape {x.shape}, strides {x.strides} as {to}",
            "no strides can walk this memory in that order",
            "use .reshape(...), which copies, or .contiguous().view(...)",
        )

    def backward(self, g):
        return g.reshape(self.edges[0].shape)


class Unsqueeze(Op):
    """z is x with a new axis of size 1 at that position"""

    def layout(self, x, *, axis):
        at = axis_of(axis, len(x.shape) + 1)
        step = x.shape[at] * x.strides[at] if at < len(x.shape) else 1
        shape = (*x.shape[:at], 1, *x.shape[at:])
        return shape, (*x.strides[:at], step, *x.strides[at:]), x.offset

    def backward(self, g):
        return g.reshape(self.edges[0].shape)


class Squeeze(Op):
    """z is x without its axes of size 1, or without the named ones, which must have size 1"""

    def layout(self, x, *, axis=None):
        axes = axes_of(axis, len(x.shape))
        if axis is not None and any(x.shape[a] != 1 for a in axes):
            raise ShapeError(f"squeeze(axis={axis})", f"shape {x.shape}", "name axes of size 1")
        kept = [a for a, n in enumerate(x.shape) if n != 1 or a not in axes]
        return tuple([x.shape[a] for a in kept]), tuple([x.strides[a] for a in kept]), x.offset

    def backward(self, g):
        return g.reshape(self.edges[0].shape)


class Permute(Op):
    """z[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...]; by default the axes are reversed"""

    def layout(self, x, *, axes=None):
        order, shape, strides = order_of(axes, len(x.shape)), x.shape, x.strides
        return tuple([shape[a] for a in order]), tuple([strides[a] for a in order]), x.offset

    def backward(self, g):
        order = order_of(self.params.get("axes"), len(g.shape))
        return apply("permute", g, axes=tuple(order.index(a) for a in range(len(order))))


def order_of(axes, ndim):
    """The axes counted from the front, in the given order; None reverses them."""
    if axes is None:
        return tuple(range(ndim - 1, -1, -1))
    order = tuple([axis_of(a, ndim) for a in (axes if hasattr(axes, "__iter__") else (axes,))])
    if sorted(order) != list(range(ndim)):
        raise AxisError(f"permute{order}", f"{ndim} axes", "name each axis exactly once")
    return order


class Transpose(Op):
    """z is x with axes a and b exchanged"""

    def layout(self, x, *, a=-2, b=-1):
        shape, strides, ndim = list(x.shape), list(x.strides), len(x.shape)
        a, b = axis_of(a, ndim or 1), axis_of(b, ndim or 1)
        if ndim:
            shape[a], shape[b] = shape[b], shape[a]
            strides[a], strides[b] = strides[b], strides[a]
        return tuple(shape), tuple(strides), x.offset

    def backward(self, g):
        return apply("transpose", g, **self.params)


class Expand(Op):
    """z[..., i, ...] = x[..., 0, ...] along axes of size 1: stride 0; -1 keeps a size"""

    def layout(self, x, *, shape):
        asked = whole_numbers(shape, "a shape to expand to")
        if -1 in asked:
            old = (-1,) * (len(asked) - len(x.shape)) + x.shape
            asked = tuple(o if n == -1 else n for n, o in zip(asked, old, strict=False))
        to = checked_shape(asked)
        return to, broadcast_strides(x.shape, x.strides, to), x.offset

    def backward(self, g):
        return g  # the Engine sums over what was stretched


class Index(Op):
    """z = x[key]: a view for ints, slices, None and Ellipsis; a copy for arrays of positions or
    bools (tutor/methods/selection.py)"""

    def settle(self):
        (x,), key = self.inputs, self.params["key"]
        if not index_parsing.is_basic(key):
            return selection.select(x, key)
        self.params["key"] = index_parsing.checked_key(key)
        return None

    def layout(self, x, *, key):
        return slice_layout(key, x.shape, x.strides, x.offset)

    def backward(self, g):
        return apply("place", g, view="index", shape=self.edges[0].shape, **self.params)


class Diagonal(Op):
    """z[..., i] = x[..., i, ..., i + k, ...]: axis1 and axis2 become one, the last"""

    defaults: ClassVar[Mapping[str, Any]] = {"k": 0, "axis1": 0, "axis2": 1}

    def settle(self):
        ndim, k = len(self.inputs[0].shape), whole_number(self.params["k"], "a diagonal")
        axis1, axis2 = (axis_of(self.params[name], ndim) for name in ("axis1", "axis2"))
        if axis1 == axis2:
            raise AxisError(f"diagonal({axis1=}, {axis2=})", "they are the same", "name two axes")
        self.params = {"k": k, "axis1": axis1, "axis2": axis2}

    def layout(self, x, *, k, axis1, axis2):
        rows, columns = x.shape[axis1] - max(-k, 0), x.shape[axis2] - max(k, 0)
        kept = [axis for axis in range(len(x.shape)) if axis not in (axis1, axis2)]
        length = max(min(rows, columns), 0)
        start = max(-k, 0) * x.strides[axis1] + max(k, 0) * x.strides[axis2] if length else 0
        shape = (*(x.shape[axis] for axis in kept), length)
        strides = (*(x.strides[axis] for axis in kept), x.strides[axis1] + x.strides[axis2])
        return shape, strides, x.offset + start

    def backward(self, g):
        return apply("place", g, view="diagonal", shape=self.edges[0].shape, **self.params)


# ---- copies --------------------------------------------------------------------------------------


class Place(Op):
    """z = 0 everywhere, then the `view` of z = x: the reverse of that view"""

    def forward(self, x, *, view, shape, **params):
        checks.one_of("place(view=...)", view, ("index", "diagonal"))
        out = x.like(0, checked_shape(shape))
        window = apply(view, out, **params)
        if window.buf is not out.buf or window.shape != x.shape:
            raise ShapeError(
                f"to place shape {x.shape} in {out.shape}",
                f"that {view} is " + ("" if window.buf is out.buf else "no view, and ")
                + f"of shape {window.shape}",
                "give as many numbers as the view has",
            )  # fmt: skip
        engine.call("copy", x.dtype, window, x)
        return out

    def backward(self, g):
        params = {k: v for k, v in self.params.items() if k not in ("view", "shape")}
        return apply(self.params["view"], g, **params)


class Pad(Op):
    """z = value around x: `widths[a] = (before, after)`"""

    kernel = "pad"
    defaults: ClassVar[Mapping[str, Any]] = {"value": 0, "before": None}

    def settle(self):
        (x,) = self.inputs
        widths = pairs_of(self.params["widths"], len(x.shape), "pad")
        self.params.update(widths=widths, before=tuple([before for before, _ in widths]))
        pack([checks.number("pad(value=...)", self.params["value"])], x.buf.dtype)  # does it fit?

    def backward(self, g):
        widths, shape = self.params["widths"], self.edges[0].shape
        return g.shrink(tuple((b, b + n) for (b, _), n in zip(widths, shape, strict=True)))


class Cat(Op):
    """z = the inputs one after another along axis"""

    kernel, promotes = "cat", 0
    defaults: ClassVar[Mapping[str, Any]] = {"axis": 0}

    def settle(self):
        self.inputs = without_nothing(self.inputs)

    def backward(self, g):
        axis = self.params["axis"]
        ends = list(accumulate(x.shape[axis] for x in self.edges))
        before = (slice(None),) * axis
        return tuple(
            g[(*before, slice(end - x.shape[axis], end))]
            for x, end in zip(self.edges, ends, strict=True)
        )


def without_nothing(xs: Any) -> Any:
    """The tensors without those of shape (0,) if others have more axes, as in PyTorch: code that
    collects tensors may start from Tensor([]). Its dtype has already been promoted with theirs."""
    if len({len(x.shape) for x in xs}) == 1 or not any(x.shape == (0,) for x in xs):
        return xs
    return tuple([x for x in xs if x.shape != (0,)])


@spelled
def stack(tensors: Row, axis: int = 0) -> Tensor:
    """The tensors, all of one shape, side by side along a new axis."""
    several = row_of("stack", tensors)
    if any(t.shape != several[0].shape for t in several):
        raise ShapeError(
            f"stack of shapes {', '.join(str(t.shape) for t in several)}",
            "they differ",
            "give tensors of one shape; cat joins them along an axis that they have",
        )
    return apply("cat", *[t.unsqueeze(axis) for t in several], axis=axis)


@spelled
def concatenate(tensors: Row, axis: int = 0) -> Tensor:
    """The tensors one after another along an axis they have; `cat` is the same."""
    return apply("cat", *row_of("cat", tensors), axis=axis)


cat = concatenate


def row_of(name: str, tensors: Row) -> list[Tensor]:
    """The Tensors to join. Numbers, lists and arrays become Tensors like the first Tensor."""
    if isinstance(tensors, str) or not hasattr(tensors, "__iter__"):
        raise DTypeError(
            f"{name}({tensors!r:.40})", "no list of tensors", f"{name}([x, y], axis=0)"
        )
    found: list[Any] = list(tensors)
    if not found:
        raise ShapeError(f"{name} of no tensors", "an empty list", "give at least one")
    like: Tensor | None = next((x for x in found if is_tensor(x)), None)
    if like is None:
        kinds = ", ".join(type(x).__name__ for x in found)
        raise DTypeError(f"{name} of {kinds}", "no Tensor is among them", "give at least one")
    return [x if is_tensor(x) else like.wrap(x) for x in found]


@spelled
def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid: each 1-D x becomes a tensor over the axes of all, in which it runs
    along its own axis. With "xy" the first two axes are exchanged, as in pictures: rows are y."""
    checks.one_of("meshgrid(indexing=...)", indexing, ("xy", "ij"))
    xs = row_of("meshgrid", arrays)
    axes = list(range(len(xs)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    apart = [checks.at_most("meshgrid", x, 1).reshape([-1 if b == a else 1 for b in axes])
             for a, x in enumerate(xs)]  # fmt: skip
    shape = broadcast_shapes("meshgrid", *(x.shape for x in apart))
    return tuple(x.expand(shape) for x in apart)
