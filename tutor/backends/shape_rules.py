"""Forms: how the shapes of a kernel's operands fit together, once for all kernels of one form.

Each form is a rule for the shape of the result, and a way to walk the inputs to it. An Op with a
kernel needs no rule of its own: it uses that of its kernel's form. The names are those of `enum
class Form` in simd_cpp/kernel.hpp, which states the same for C++. costs.py has the costs.

    elementwise         operands are stretched to one shape, that of the result
    update              as out; those of letter T are written, except input 1; the others are cells
    scan                as elementwise; each element depends on those before it along `axis`
    fill, draw          out is given; draw takes cells: seed, and counter, which is written
    reduce              x without the axes in `axis`
    mat_mul             (..., m, k), (..., k, n) -> (..., m, n); leading axes are stretched
    linear              x (..., k), w (n, k), b (n) -> (..., n)
    conv                x (n, c, h, w), w (o, c / groups, k, l) -> (n, o, p, q)
    conv_weight         x (n, c, h, w), g (n, o, p, q) -> (o, c / groups, k, l), k, l the `size`
    pool                x (n, c, h, w) -> (n, c, p, q)
    pool_grad           x (n, c, h, w), m and g (n, c, p, q) -> (n, c, h, w)
    nonzero             x -> (number of nonzero elements,): no rule knows it before they are counted
    pad                 x with room around it: the op's `widths`
    cat                 the inputs side by side along `axis`
    gather              index's shape, no larger than x along the axes other than `axis`
    scatter             x's shape; index and src have one shape, no larger than x, as in gather
    index_select        x's shape, with the 1-D index's length along `axis`
    cross_entropy       x (..., classes), t (...) -> (...), or () if the op adds them up
    cross_entropy_grad  x (..., classes), t (...), g (...) -> (..., classes)
    attention           q (..., l, e), k (..., s, e), v (..., s, n), mask (..., l, s), logs (..., l)
                        -> (..., l, n)
    attention_grad      g as z, q, k, v, mask, z (..., l, n), logs, dk as k, dv as v -> as q
    norm, norm_grad     x (..., n), and others (n) -> as x; norm_grad takes g, as x, first
    channel_norm, channel_norm_grad     the same for x (k, n, m)
    fused               out is given: tutor/backends/bytecode.py says how they fit together

An op's axis may be counted from the end; from here on it is counted from the front.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tutor._storage.layout import Shape, axes_of, axis_of, broadcast_shapes, broadcast_strides
from tutor.backends import windows
from tutor.backends.signatures import Signature
from tutor.errors import ShapeError

Params = Mapping[str, Any]
Rule = Callable[[Signature, str, Sequence[Shape], Params], Shape]
Walks = Callable[[Shape, tuple[Any, ...], Params], tuple[Any, ...]]


class Form(NamedTuple):
    """What all kernels of one form have in common."""

    rule: Rule | None = None  # the result's shape; ShapeError if the operands do not fit
    walks: Walks | None = None  # the inputs as the kernel walks them; None: as they are
    params: tuple[str, ...] = ()  # of the rule, besides the kernel's own


# ---- the result's shape --------------------------------------------------------------------------


def _stretched(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            return broadcast_shapes(name, *shapes)
    return first


def _as_first(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    return shapes[0]


def without(shape: Shape, axis: Shape, keepdims: bool = False) -> Shape:
    """The shape when the axes in `axis` are reduced: gone, or of size 1 with keepdims."""
    return tuple([1 if a in axis else n for a, n in enumerate(shape) if keepdims or a not in axis])


def _reduced(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    shape, axis = shapes[0], params["axis"]
    if signature.work == "chooses" and math.prod(shape[a] for a in axis) == 0:
        raise ShapeError(
            f"{name} over axis {axis} of shape {shape}",
            "there is no element to choose",
            "reduce over axes that hold at least one element",
        )
    return without(shape, axis)


def _product(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, y = shapes
    if len(x) < 2 or len(y) < 2 or x[-1] != y[-2]:
        raise ShapeError(
            f"{name} of shapes {x} and {y}",
            "a single number has no rows or columns"
            if not (x and y)
            else f"the inner sizes differ: {x[-1]} columns against {y[-2]} rows",
            "use * for numbers"
            if not (x and y)
            else "they must be equal: (m, k) @ (k, n); transpose one with .T if need be",
        )
    lead = x[:-2]
    if lead != y[:-2]:
        lead = broadcast_shapes(f"{name} (leading axes)", lead, y[:-2])
    return (*lead, x[-2], y[-1])


def _layer(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, w, *b = shapes
    fits = len(x) > 0 and len(w) == 2 and x[-1] == w[1]
    if not fits or (b and b[0] != w[:1]):
        raise ShapeError(
            f"{name} of shapes {', '.join(map(str, shapes))}",
            "they do not fit: x (m, k), weight (n, k), bias (n)",
            "x's last axis must be as long as the weight's; the bias has one number per output",
        )
    return (*x[:-1], w[0])


def _padded(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    (x,), widths = shapes, params["widths"]
    if any(n < 0 for pair in widths for n in pair):
        raise ShapeError(
            f"{name}({widths})", "a width is negative", "cut with .shrink() or by indexing"
        )
    return tuple(n + before + after for n, (before, after) in zip(x, widths, strict=True))


def _joined(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    first, axis = shapes[0], params["axis"]
    for shape in shapes:
        if len(shape) != len(first) or any(
            m != n for a, (m, n) in enumerate(zip(shape, first, strict=True)) if a != axis
        ):
            raise ShapeError(
                f"{name} along axis {axis} of shapes {', '.join(map(str, shapes))}",
                f"{shape} and {first} differ beyond axis {axis}",
                "all sizes but that axis's must be equal",
            )
    if not first:
        raise ShapeError(f"{name} of single numbers", "they have no axis", "use stack")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def is_beside(x: Shape, index: Shape, axis: int) -> bool:
    """Has index x's axes, and is it no larger than x along the axes other than `axis`?"""
    return len(index) == len(x) and all(
        n <= m for a, (n, m) in enumerate(zip(index, x, strict=True)) if a != axis
    )


def _gathered(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, index, *_rest = shapes
    axis = params["axis"]
    if not is_beside(x, index, axis):
        raise ShapeError(
            f"{name} along axis {axis} of shape {x} with index shape {index}",
            "the index has other axes, or reaches beyond x",
            f"beside axis {axis} every size of the index must be at most x's",
        )
    return index


def _scattered(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, index, src = shapes
    _gathered(signature, name, shapes, params)
    if src != index:
        raise ShapeError(
            f"{name} of {src} into {x}",
            f"the index has shape {index}",
            "src must have the index's shape",
        )
    return x


def _selected(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    (x, index), axis = shapes, params["axis"]
    if len(index) != 1:
        raise ShapeError(
            f"{name} with an index of shape {index}",
            f"{len(index)} axes",
            "give a 1-D index; .gather() takes one with x's axes",
        )
    return (*x[:axis], *index, *x[axis + 1 :])


def _lost(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, t = shapes
    if not x or t != x[:-1]:
        raise ShapeError(
            f"{name} of logits {x} with targets {t}",
            "there must be one target for each row of logits",
            f"logits (..., classes) go with targets {x[:-1]}; reshape one of them",
        )
    return t if params["reduction"] == "none" else ()


def _lost_grad(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    x, t, g = shapes
    _lost(_, name, (x, t), {"reduction": "none"})
    if g != t:
        raise ShapeError(
            f"{name} of logits {x} with gradients {g}",
            f"there are targets {t}",
            "give one gradient for each target",
        )
    return x


def _attended(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    q, k, v, mask, logs = shapes
    if len(q) > 1 and len(k) > 1 and len(v) > 1:
        lead, rows, keys = q[:-2], q[-2], k[-2]
        wanted = ((*lead, keys, q[-1]), (*lead, keys, v[-1]), (*lead, rows, keys), (*lead, rows))
        if (k, v, mask, logs) == wanted:
            return (*q[:-1], v[-1])
    raise ShapeError(
        f"{name} of shapes {', '.join(map(str, shapes))}",
        "they do not fit",
        "give (..., l, e), (..., s, e), (..., s, n), a mask (..., l, s) and logs (..., l)",
    )


def _attended_grad(_: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    g, q, k, v, mask, z, logs, dk, dv = shapes
    if not g == z == _attended(_, name, (q, k, v, mask, logs), params) or (dk, dv) != (k, v):
        raise ShapeError(
            f"{name} of a result {z} with the gradients {g}, {dk} and {dv}",
            "they do not fit",
            "give g of the shape of z, dk of that of k, and dv of that of v",
        )
    return q


def _normed(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    wholes = 2 if signature.form.endswith("_grad") else 1
    channels = signature.form.startswith("channel")
    x = shapes[0]
    places = x[1:2] if channels else x[-1:]
    fits = len(x) == 3 if channels else len(x) > 0
    if not fits or any(s != (x if i < wholes else places) for i, s in enumerate(shapes)):
        raise ShapeError(
            f"{name} of shapes {', '.join(map(str, shapes))}",
            "they do not fit",
            f"give {'(k, n, m)' if channels else '(..., n)'}, and (n) for all that is per place",
        )
    return x


# ---- walking the inputs --------------------------------------------------------------------------


def stretch(x: Any, shape: Shape) -> Any:
    """x as the kernel walks it: stride 0 along every axis it is stretched over."""
    return x.over(x.buf, shape, broadcast_strides(x.shape, x.strides, shape), x.offset)


def _stretch_all(shape: Shape, inputs: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    for x in inputs:
        if x.shape != shape:
            return tuple([x if x.shape == shape else stretch(x, shape) for x in inputs])
    return inputs  # usually there is nothing to stretch


def _stretch_leading(shape: Shape, inputs: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    lead = shape[:-2]
    return tuple([
        x if x.shape[:-2] == lead else stretch(x, (*lead, *x.shape[-2:])) for x in inputs
    ])  # fmt: skip


def _cut_to_index(shape: Shape, inputs: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    x, index = inputs
    sizes = (*shape[: params["axis"]], x.shape[params["axis"]], *shape[params["axis"] + 1 :])
    return (x if x.shape == sizes else x.over(x.buf, sizes, x.strides, x.offset)), index


FORMS: dict[str, Form] = {
    "elementwise": Form(_stretched, _stretch_all),
    "update": Form(_as_first),
    "scan": Form(_stretched, _stretch_all),
    "fill": Form(),
    "draw": Form(),
    "reduce": Form(_reduced),
    "mat_mul": Form(_product, _stretch_leading),
    "linear": Form(_layer),
    "conv": Form(windows.convolved),
    "conv_weight": Form(windows.weighed, params=("size",)),
    "pool": Form(windows.pooled),
    "pool_grad": Form(windows.shared),
    "nonzero": Form(),
    "pad": Form(_padded, params=("widths",)),
    "cat": Form(_joined),
    "gather": Form(_gathered, _cut_to_index),
    "scatter": Form(_scattered),
    "index_select": Form(_selected),
    "cross_entropy": Form(_lost, params=("reduction",)),
    "cross_entropy_grad": Form(_lost_grad),
    "attention": Form(_attended),
    "attention_grad": Form(_attended_grad),
    **dict.fromkeys(("norm", "norm_grad", "channel_norm", "channel_norm_grad"), Form(_normed)),
    "fused": Form(),
}


# ---- asked by the Engine -------------------------------------------------------------------------


def counted_axis(form: str, axis: Any, shapes: Sequence[Shape]) -> Any:
    """The parameter `axis` counted from the front: a sorted tuple for a reduction, one axis for any
    other form. A 0-d operand has axis 0, as a row of one."""
    if form == "reduce":
        return axes_of(axis, len(shapes[0]))
    several = shapes if form in ("elementwise", "scan") else shapes[:1]
    return axis_of(axis, max(map(len, several)) or 1)
