"""Movement: the same numbers in another order. Views change strides only and move nothing.

A view's derivative is the same movement backwards: what was permuted is permuted back, what was
repeated is summed up, what was cut out is put back in place.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from tutor.core.engine import apply, engine
from tutor.core.op import Op
from tutor.errors import ShapeError
from tutor.layout import axis_of, broadcast_strides, reshape_strides, slice_layout

# ---- views: no kernel, only other walking instructions -------------------------------------------


class Reshape(Op):
    """z holds x's numbers, row-major, in another shape"""

    def layout(self, x, *, shape):
        return shape, reshape_strides(x.shape, x.strides, shape), x.offset

    def backward(self, g):
        return g.reshape(self.inputs[0].shape)


class Permute(Op):
    """z[i_axes[0], i_axes[1], ...] = x[i_0, i_1, ...]"""

    def layout(self, x, *, axes):
        return tuple(x.shape[a] for a in axes), tuple(x.strides[a] for a in axes), x.offset

    def backward(self, g):
        axes = self.params["axes"]
        return apply("permute", g, axes=tuple(axes.index(a) for a in range(len(axes))))


class Expand(Op):
    """z[..., i, ...] = x[..., 0, ...] along axes of size 1: stride 0"""

    def layout(self, x, *, shape):
        return shape, broadcast_strides(x.shape, x.strides, shape), x.offset

    def backward(self, g):
        return g  # the Engine sums over what was stretched


class Index(Op):
    """z = x[key] for ints, slices, None and Ellipsis"""

    def layout(self, x, *, key):
        return slice_layout(key, x.shape, x.strides, x.offset)

    def backward(self, g):
        return apply("place", g, shape=self.inputs[0].shape, key=self.params["key"])


# ---- copies --------------------------------------------------------------------------------------


class Place(Op):
    """z = 0 everywhere, then z[key] = x: what indexing is, backwards"""

    def forward(self, x, *, shape, key):
        out = x.like(0, shape)
        window = x.over(out.buf, *slice_layout(key, shape, out.strides, 0))
        engine.call("copy", x.dtype, window, x)
        return out

    def infer(self, x, *, shape, key):
        return shape, x.buf.dtype

    def backward(self, g):
        return apply("index", g, key=self.params["key"])


class Pad(Op):
    """z = value around x: `widths[a] = (before, after)`"""

    kernel, promotes = "pad", None

    def __init__(self, x: Any, *, widths: tuple[tuple[int, int], ...], value: float = 0) -> None:
        before = tuple(pair[0] for pair in widths)
        super().__init__(x, widths=widths, before=before, value=value)

    def infer(self, x, *, widths, before, value):
        if any(n < 0 for pair in widths for n in pair):
            raise ShapeError(
                f"pad({widths})", "a width is negative", "cut with .shrink() or by indexing"
            )
        return tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True)), x.buf.dtype

    def backward(self, g):
        widths, shape = self.params["widths"], self.inputs[0].shape
        return g.shrink(tuple((b, b + n) for (b, _), n in zip(widths, shape, strict=True)))


class Cat(Op):
    """z = the inputs one after another along axis"""

    kernel, promotes = "cat", 0

    def __init__(self, *xs: Any, axis: int = 0) -> None:
        if not xs:
            raise ShapeError("cat of no tensors", "an empty list", "give at least one")
        super().__init__(*xs, axis=axis_of(axis, max(len(xs[0].shape), 1)))

    def infer(self, *xs, axis):
        first = xs[0].shape
        for x in xs:
            if len(x.shape) != len(first) or any(
                m != n for a, (m, n) in enumerate(zip(x.shape, first, strict=True)) if a != axis
            ):
                raise ShapeError(
                    f"cat along axis {axis} of shapes {', '.join(str(x.shape) for x in xs)}",
                    f"{x.shape} and {first} differ beyond axis {axis}",
                    "all sizes but that axis's must be equal",
                )
        if not first:
            raise ShapeError("cat of single numbers", "they have no axis", "use stack")
        total = sum(x.shape[axis] for x in xs)
        return (*first[:axis], total, *first[axis + 1 :]), xs[0].buf.dtype

    def backward(self, g):
        axis = self.params["axis"]
        ends = list(accumulate(x.shape[axis] for x in self.inputs))
        before = (slice(None),) * axis
        return tuple(
            g[(*before, slice(end - x.shape[axis], end))]
            for x, end in zip(self.inputs, ends, strict=True)
        )


def stack(tensors: Any, axis: int = 0) -> Any:
    """The tensors, all of one shape, side by side along a new axis."""
    return apply("cat", *[t.unsqueeze(axis) for t in tensors], axis=axis)


def concatenate(tensors: Any, axis: int = 0) -> Any:
    """The tensors one after another along an axis they have; `cat` is the same."""
    return apply("cat", *tensors, axis=axis)


cat = concatenate
