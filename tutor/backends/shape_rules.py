"""Forms: how the shapes of a kernel's operands fit together, once for all kernels of one form.

Each form is a rule for the shape of the result, and a way to walk the inputs to it. An Op with a
kernel needs no rule of its own: it uses that of its kernel's form. The names are those of `enum
class Form` in simd_cpp/kernel.hpp, which states the same for C++. costs.py has the costs.

The forms of layers are written in letters, as `x (..., k), weight (n, k), bias (n) -> (..., n)`,
and these texts are what runs: see LETTERS. The other rules depend on more than shapes:

    elementwise         operands are stretched to one shape, that of the result
    update              as out; those of letter T are written, except input 1; the others are cells
    scan                as elementwise; each element depends on those before it along `axis`
    fill, draw          out is given; draw takes cells: seed, and counter, which is written
    reduce              x without the axes in `axis`
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
    fused               out is given: tutor/backends/bytecode.py says how they fit together

An op's axis may be counted from the end; from here on it is counted from the front.
"""

from __future__ import annotations

import math
import re
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
    same = shapes.count(shapes[0]) == len(shapes)
    return shapes[0] if same else broadcast_shapes(name, *shapes)


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


# ---- the same in letters -------------------------------------------------------------------------

# By form; rules.cpp in simd_cpp has the same texts.
LETTERS = {
    "mat_mul": "x (*, m, k), y (*, k, n) -> (*, m, n)",
    "linear": "x (..., k), weight (n, k), bias (n) -> (..., n)",
    "cross_entropy": "x (..., c), target (...) -> (...)",
    "cross_entropy_grad": "x (..., c), target (...), g (...) -> (..., c)",
    "attention": "q (..., l, e), k (..., s, e), v (..., s, n), mask (..., l, s), logs (..., l) "
    "-> (..., l, n)",
    "attention_grad": "g (..., l, n), q (..., l, e), k (..., s, e), v (..., s, n), "
    "mask (..., l, s), z (..., l, n), logs (..., l), dk (..., s, e), dv (..., s, n) "
    "-> (..., l, e)",
    "norm": "x (..., n), weight (n), bias (n) -> (..., n)",
    "norm_grad": "g (..., n), x (..., n), weight (n), dw (n), db (n) -> (..., n)",
    "channel_norm": "x (k, n, m), weight (n), bias (n), mean (n), var (n) -> (k, n, m)",
    "channel_norm_grad": "g (k, n, m), x (k, n, m), weight (n), mean (n), var (n), dw (n), db (n) "
    "-> (k, n, m)",
    "rnn": "wx (l, n, h), u (h, h), start (n, h) -> (l, n, h)",
    "rnn_grad": "g (l, n, h), u (h, h), z (l, n, h), dstart (n, h) -> (l, n, h)",
    "lstm": "wx (l, n, 4, h), u (4, h, h), start (2, n, h), gates (k, n, 4, h) -> (2, l, n, h)",
    "lstm_grad": "g (2, l, n, h), u (4, h, h), start (2, n, h), z (2, l, n, h), "
    "gates (l, n, 4, h), dstart (2, n, h) -> (l, n, 4, h)",
    "gru": "wx (l, n, 3, h), u (3, h, h), bias (3, h), start (n, h), gates (k, n, 4, h) "
    "-> (l, n, h)",
    "gru_grad": "g (l, n, h), u (3, h, h), start (n, h), z (l, n, h), gates (l, n, 4, h), "
    "da (l, n, 3, h), dstart (n, h) -> (l, n, 3, h)",
}
OPERAND = re.compile(r"(\w*) ?\((\*|\.\.\.|)([a-z0-9, ]*)\)")  # name (leading axes, letters)


class Letters:
    """A rule in letters, such as "x (..., k), weight (n, k), bias (n) -> (..., n)".

    A letter is the same size wherever it occurs, a digit always that size, as the 4 gates of an
    LSTM. Before the letters there may be any number of
    leading axes: `...` are the same in all operands, `*` are stretched to one shape. Operands at
    the end may be missing, as the bias of a layer without one. (NumPy writes the signatures of
    its generalized ufuncs like this.)
    """

    def __init__(self, text: str) -> None:
        found = [*OPERAND.finditer(text)]
        self.texts = [part[0] for part in found]
        *self.operands, self.result = [
            (part[1], part[2], re.findall("[a-z0-9]", part[3])) for part in found
        ]

    def __call__(self, _: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
        """The result's shape. ShapeError if an operand has other axes, or a letter two sizes."""
        leads: list[Shape] = []
        sizes: dict[str, tuple[int, str]] = {}  # of each letter, and the operand that has said so
        for shape, (operand, leading, letters) in zip(shapes, self.operands, strict=False):
            rest = len(shape) - len(letters)
            if rest < 0 or (rest and not leading):
                found = f"{operand} has shape {shape}" if shape else f"{operand} is a number"
                raise self._misfit(name, shapes, found)
            leads += [shape[:rest]] if leading else []
            for letter, size in zip(letters, shape[rest:], strict=True):
                stated = (int(letter), "the rule") if letter.isdigit() else (size, operand)
                known, first = sizes.setdefault(letter, stated)
                if known != size:
                    found = f"{letter} is {known} in {first} and {size} in {operand}"
                    raise self._misfit(name, shapes, found)
        leading, letters = self.result[1:]
        lead = leads[0] if leading else ()
        if any(other != lead for other in leads):
            if leading != "*":
                raise self._misfit(name, shapes, "the leading axes differ")
            lead = broadcast_shapes(f"{name} (leading axes)", *leads)
        return (*lead, *[sizes[letter][0] for letter in letters])

    def _misfit(self, name: str, shapes: Sequence[Shape], found: str) -> ShapeError:
        between = " and " if len(shapes) == 2 else ", "
        return ShapeError(
            f"{name} of shapes {between.join(map(str, shapes))}",
            found,
            f"give {', '.join(self.texts[: len(shapes)])}, where a letter is one size; .T and "
            ".reshape() change a shape",
        )


RULES = {form: Letters(text) for form, text in LETTERS.items()}


def _lost(signature: Signature, name: str, shapes: Sequence[Shape], params: Params) -> Shape:
    losses = RULES["cross_entropy"](signature, name, shapes, params)
    return losses if params["reduction"] == "none" else ()


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
    **{form: Form(rule) for form, rule in RULES.items()},
    "mat_mul": Form(RULES["mat_mul"], _stretch_leading),
    "cross_entropy": Form(_lost, params=("reduction",)),
    "elementwise": Form(_stretched, _stretch_all),
    "update": Form(_as_first),
    "scan": Form(_stretched, _stretch_all),
    "fill": Form(),
    "draw": Form(),
    "reduce": Form(_reduced),
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
