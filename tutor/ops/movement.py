"""Movement: the same numbers in another order. Views change strides only and move nothing.

A view's derivative is the same movement backwards: what was permuted is permuted back, what was
repeated is summed up, what was cut out is put back in place.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from tutor import dtype as dtypes
from tutor.core.engine import apply, engine
from tutor.core.op import OPS, Op
from tutor.errors import DTypeError, ShapeError
from tutor.ground import checks
from tutor.ground.layout import (
    axis_of,
    broadcast_shapes,
    broadcast_strides,
    reshape_strides,
    slice_layout,
)
from tutor.ground.literals import is_tensor
from tutor.ground.spelling import spelled
from tutor.ground.typing import Row, TensorLike
from tutor.methods.tensor import Tensor

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
        shape, strides = x.shape, x.strides
        return tuple([shape[a] for a in axes]), tuple([strides[a] for a in axes]), x.offset

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
        return apply("place", g, view="index", shape=self.inputs[0].shape, **self.params)


class Diagonal(Op):
    """z[..., i] = x[..., i, ..., i + k, ...]: axes a and b become one, the last"""

    def layout(self, x, *, k, a, b):
        rows, columns = x.shape[a] - max(-k, 0), x.shape[b] - max(k, 0)
        kept = [axis for axis in range(len(x.shape)) if axis not in (a, b)]
        length = max(min(rows, columns), 0)
        start = max(-k, 0) * x.strides[a] + max(k, 0) * x.strides[b] if length else 0
        shape = (*(x.shape[axis] for axis in kept), length)
        strides = (*(x.strides[axis] for axis in kept), x.strides[a] + x.strides[b])
        return shape, strides, x.offset + start

    def backward(self, g):
        return apply("place", g, view="diagonal", shape=self.inputs[0].shape, **self.params)


class Windows(Op):
    """z[..., i, ..., j] = x[..., i * step + j * dilation, ...]

    What a window of `size` elements sees from each place i along axis; j is the last axis. Nothing
    is copied, though most elements appear several times.
    """

    def layout(self, x, *, axis, size, step, dilation):
        span = dilation * (size - 1) + 1 if size else 0
        count = (x.shape[axis] - span) // step + 1
        if count < 1:
            raise ShapeError(
                f"windows of {size} elements, {dilation} apart, along axis {axis} of {x.shape}",
                f"a window spans {span} elements",
                "pad the tensor, or use a smaller window",
            )
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
        along = x.strides[axis]
        strides = (*x.strides[:axis], along * step, *x.strides[axis + 1 :], along * dilation)
        return shape, strides, x.offset

    def backward(self, g):
        params = {name: self.params[name] for name in ("axis", "step", "dilation")}
        return apply("fold", g, shape=self.inputs[0].shape, **params)


# ---- copies --------------------------------------------------------------------------------------


class Place(Op):
    """z = 0 everywhere, then the `view` of z = x: what that view is, backwards"""

    def forward(self, x, *, view, shape, **params):
        out = x.like(0, shape)
        window = x.over(out.buf, *OPS[view].layout(self, out, **params))
        engine.call("copy", x.dtype, window, x)
        return out

    def infer(self, x, *, view, shape, **params):
        return shape, x.buf.dtype

    def backward(self, g):
        params = {k: v for k, v in self.params.items() if k not in ("view", "shape")}
        return apply(self.params["view"], g, **params)


class Fold(Op):
    """z = the windows x added up where they came from: what Windows is, backwards"""

    def forward(self, x, *, shape, axis, step, dilation):
        out, (*_, size) = x.like(0, shape), x.shape
        for j in range(size):
            start = j * dilation
            stop = start + step * (x.shape[axis] - 1) + 1
            to = out[(*[slice(None)] * axis, slice(start, stop, step))].detach()
            engine.call("add", x.dtype, to, to, x[..., j])
        return out

    def infer(self, x, *, shape, axis, step, dilation):
        return shape, x.buf.dtype

    def backward(self, g):
        params = {name: self.params[name] for name in ("axis", "step", "dilation")}
        return apply("windows", g, size=self.inputs[0].shape[-1], **params)


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
        kept = without_nothing(xs)
        super().__init__(*kept, axis=axis_of(axis, max(len(kept[0].shape), 1)))

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


def without_nothing(xs: Any) -> Any:
    """The tensors without those of shape (0,) where others have more axes, as in PyTorch: what is
    collected may begin with a Tensor([]). Its dtype counts."""
    if len({len(x.shape) for x in xs}) == 1 or not any(x.shape == (0,) for x in xs):
        return xs
    dtype = dtypes.common(x.buf.dtype for x in xs)
    return [x.cast(dtype) for x in xs if x.shape != (0,)]


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
    """The Tensors to be joined. Numbers, lists and arrays among them become Tensors beside one."""
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
    """The coordinates of a grid: for each 1-D x a tensor over the axes of all, in which x goes
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
