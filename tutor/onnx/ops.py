"""The ONNX form of each op: one row, or one function, per op.

A function gets the Graph and the OpCall: names of the operands, parameters, shapes and dtype. The
names on the right are the standard's: onnx.ai/onnx/operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tutor.methods.tensor import Tensor
from tutor.onnx.graph import TYPES, Graph, cannot
from tutor.onnx.norms import group_norm, layer_norm, rms_norm
from tutor.onnx.recurrent_writing import LAYERS
from tutor.onnx.sizes import Batch, Value
from tutor.ops.gelu import CURVE, LINE

FIRST, LAST = -(2**63), 2**63 - 1  # the limits of a slice
SAME = {  # the same function with the same operands
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg",
    "abs": "Abs", "sign": "Sign", "where": "Where", "eq": "Equal", "lt": "Less",
    "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "maximum": "Max",
    "minimum": "Min", "copy": "Identity", "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
    "erf": "Erf", "sigmoid": "Sigmoid", "relu": "Relu", "floor": "Floor", "ceil": "Ceil",
    "round": "Round", "matmul": "MatMul", "softplus": "Softplus", "mish": "Mish",
}  # fmt: skip
OF_BOOLS = {
    "add": "Or", "mul": "And", "maximum": "Or", "minimum": "And", "ne": "Xor",
    "bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "bitwise_not": "Not",
}  # fmt: skip
OF_INTS = {f"bitwise_{name}": f"Bitwise{name.title()}" for name in ("and", "or", "xor", "not")}
REDUCTIONS = {name: f"Reduce{name.title()}" for name in ("sum", "mean", "max", "min", "prod")}


class OpCall(NamedTuple):
    """One op of a trace, as input to the functions below."""

    op: str
    ins: tuple[str, ...]
    params: Mapping[str, Any]
    given: tuple[Value, ...]  # the operands themselves
    out: Value
    where: tuple[str, int]

    @property
    def dtype(self) -> str:
        """The dtype of the operand that selects the kernel."""
        return str(self.given[-1].tensor.dtype.name)


def written(g: Graph, call: OpCall) -> str:
    """The name of the op's result, after adding the nodes that compute it. ExportError for an op
    that is not in the tables."""
    if call.dtype == "bool" and call.op in OF_BOOLS:
        return g.add(OF_BOOLS[call.op], *call.ins)
    if call.op in OF_INTS and call.dtype != "bool":
        return g.add(OF_INTS[call.op], *call.ins)
    if call.op in SAME:
        return g.add(SAME[call.op], *call.ins)
    if call.op in REDUCTIONS:
        return reduction(g, call)
    function = FUNCTIONS.get(call.op)
    if function is None:
        raise cannot(call.op, "there is nothing like it among what this library writes", call.where)
    return function(g, call)


def reduction(g: Graph, c: OpCall) -> str:
    (x,), keeps = c.ins, int(c.params["keepdims"])
    wanted = c.out.tensor.dtype.name
    if wanted != c.dtype:  # integers and bools sum as int64
        x = g.add("Cast", x, to=TYPES[wanted])
    if not c.params["axis"]:
        return g.add("Identity", x)
    return g.add(REDUCTIONS[c.op], x, g.ints(c.params["axis"]), keepdims=keeps)


def position(g: Graph, c: OpCall) -> str:
    """argmax, argmin: along one axis, or over all numbers, flattened."""
    (x,), axes, kind = c.ins, c.params["axis"], {"argmax": "ArgMax", "argmin": "ArgMin"}[c.op]
    if len(axes) == 1:
        return g.add(kind, x, axis=axes[0], keepdims=int(c.params["keepdims"]))
    if len(axes) != len(c.given[0].shape):
        raise cannot(c.op, f"it goes over the axes {axes}; ONNX has one, or all", c.where)
    flat = g.add("Reshape", x, g.ints([-1]))
    return g.reshaped(g.add(kind, flat, axis=0, keepdims=0), c.out.shape)


# ---- other functions of numbers ------------------------------------------------------------------


def one(g: Graph, c: OpCall, value: float) -> str:
    return g.number(value, c.dtype)


def logaddexp(g: Graph, c: OpCall) -> str:
    """max + ln(1 + e**-|x - y|)"""
    x, y = c.ins
    apart = g.add("Neg", g.add("Abs", g.add("Sub", x, y)))
    return g.add("Add", g.add("Max", x, y), log1p(g, c._replace(ins=(g.add("Exp", apart),))))


def log1p(g: Graph, c: OpCall) -> str:
    return g.add("Log", g.add("Add", c.ins[0], one(g, c, 1)))


def floor_divide(g: Graph, c: OpCall) -> str:
    if not c.given[0].tensor.dtype.is_float:
        raise cannot(c.op, "of integers; ONNX rounds towards 0", c.where)
    return g.add("Floor", g.add("Div", *c.ins))


def remainder(g: Graph, c: OpCall) -> str:
    x, y = c.ins
    if not c.given[0].tensor.dtype.is_float:
        return g.add("Mod", x, y, fmod=0)
    return g.add("Sub", x, g.add("Mul", y, floor_divide(g, c)))


def trunc(g: Graph, c: OpCall) -> str:
    return g.add("Mul", g.add("Sign", c.ins[0]), g.add("Floor", g.add("Abs", c.ins[0])))


def hypot(g: Graph, c: OpCall) -> str:
    return g.add("Sqrt", g.add("Add", *[g.add("Mul", x, x) for x in c.ins]))


# ---- products ------------------------------------------------------------------------------------


def linear(g: Graph, c: OpCall) -> str:
    z = g.add("Gemm", *c.ins, transB=1)
    return g.add("Relu", z) if c.op == "linear_relu" else z


def conv2d(g: Graph, c: OpCall) -> str:
    p = c.params
    return g.add("Conv", *c.ins, group=p["groups"], kernel_shape=c.given[1].shape[2:],
                 strides=(p["stride_h"], p["stride_w"]),
                 dilations=(p["dilation_h"], p["dilation_w"]))  # fmt: skip


def max_pool2d(g: Graph, c: OpCall) -> str:
    p = list(c.params.values())
    return g.add("MaxPool", *c.ins, kernel_shape=p[:2], strides=p[2:4], dilations=p[4:6])


def attention(g: Graph, c: OpCall) -> str:
    """softmax(scale * q kᵀ + mask) v; a row that sees no key is 0, and one with a nan is nan"""
    q, k, v, mask = c.ins
    axes = [*range(len(c.given[1].shape))]
    turned = g.add("Transpose", k, perm=[*axes[:-2], axes[-1], axes[-2]])
    scores = g.add("Mul", g.add("MatMul", q, turned), one(g, c, c.params["scale"]))
    scores = g.add("Add", scores, mask)
    if c.params["causal"]:
        rows, keys = c.given[0].shape[-2], c.given[1].shape[-2]
        later = Tensor.arange(keys) > Tensor.arange(rows).unsqueeze(1)
        scores = g.add("Where", g.constant(later), one(g, c, -math.inf), scores)
    unseen = g.add("Cast", g.add("Equal", scores, one(g, c, -math.inf)), to=TYPES["float32"])
    blind = g.add("Cast", g.add("ReduceProd", unseen, g.ints([-1]), keepdims=1), to=TYPES["bool"])
    shares = g.add("Where", blind, one(g, c, 0), g.add("Softmax", scores, axis=-1))
    return g.add("MatMul", shares, v)


def gelu(g: Graph, c: OpCall) -> str:
    """x/2 (1 + erf(x sqrt(1/2))), or x sigmoid(2 sqrt(2/pi) (x + 0.044715 x**3))"""
    (x,) = c.ins
    if c.op == "gelu":
        wide = g.add("Erf", g.add("Mul", x, one(g, c, math.sqrt(0.5))))
        return g.add("Mul", g.add("Mul", x, one(g, c, 0.5)), g.add("Add", wide, one(g, c, 1)))
    cube = g.add("Mul", g.add("Mul", g.add("Mul", x, x), x), one(g, c, CURVE))
    return g.add("Mul", x, g.add("Sigmoid", g.add("Add", cube, g.add("Mul", x, one(g, c, LINE)))))


# ---- along an axis -------------------------------------------------------------------------------


def along(kind: str, **fixed: Any) -> Callable[[Graph, OpCall], str]:
    """An operator with the same `axis`."""
    return lambda g, c: g.add(kind, *c.ins, axis=c.params["axis"], **fixed)


def scan(g: Graph, c: OpCall) -> str:
    """z_i = x z_(i-1) + y_i: where x is 1, the running sum"""
    factor = c.given[0].tensor
    if not bool((factor == 1).all()):
        raise cannot(c.op, "ONNX has running sums only", c.where)
    return g.add("CumSum", c.ins[1], g.number(c.params["axis"], "int64"))


def argsort(g: Graph, c: OpCall) -> str:
    axis = c.params["axis"]
    count = g.shape([c.given[0].shape[axis]])
    return g.add("TopK", c.ins[0], count, outputs=2, at=1, axis=axis,
                 largest=int(c.params["descending"]), sorted=1)  # fmt: skip


# ---- shapes --------------------------------------------------------------------------------------


def cast(g: Graph, c: OpCall) -> str:
    return g.add("Cast", *c.ins, to=TYPES[c.out.tensor.dtype.name])


def reshape(g: Graph, c: OpCall) -> str:
    return g.reshaped(c.ins[0], c.out.shape)


def permute(g: Graph, c: OpCall) -> str:
    """permute, and transpose: the order of axes is read off an example."""
    given = Tensor.zeros([1] * len(c.given[0].shape))
    order = list(range(given.ndim))
    if c.op == "permute":
        axes = c.params.get("axes")
        order = order[::-1] if axes is None else [a % given.ndim for a in as_tuple(axes)]
    elif order:
        a, b = (c.params.get(name, d) for name, d in (("a", -2), ("b", -1)))
        order[a], order[b] = order[b], order[a]
    return g.add("Transpose", *c.ins, perm=order)


def as_tuple(axes: Any) -> tuple[int, ...]:
    return tuple(axes) if hasattr(axes, "__iter__") else (axes,)


def expand(g: Graph, c: OpCall) -> str:
    return g.add("Expand", c.ins[0], g.shape(c.out.shape))


def index(g: Graph, c: OpCall) -> str:
    """x[key] of ints, slices, None and Ellipsis: Slice, then Squeeze, then Unsqueeze"""
    key = c.params["key"]
    sizes = c.given[0].shape
    named = sum(part is not None and part is not Ellipsis for part in key)
    full = (slice(None),) * (len(sizes) - named)
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    key = (*key[:at], *full, *key[at + 1 :])
    cut: list[tuple[int, ...]] = []
    gone: list[int] = []
    new: list[int] = []
    axis = 0
    for part in key:
        if part is None:
            new.append(axis - len(gone) + len(new))
            continue
        if isinstance(part, slice):
            if (row := sliced(part, sizes[axis], c)) is not None:
                cut.append((axis, *row))
        else:
            cut.append((axis, part, part + 1 if part != -1 else LAST, 1))
            gone.append(axis)
        axis += 1
    x = c.ins[0]
    if cut:
        axes, starts, ends, steps = (g.ints(row) for row in zip(*cut, strict=True))
        x = g.add("Slice", x, starts, ends, axes, steps)
    if gone:
        x = g.add("Squeeze", x, g.ints(gone))
    return g.add("Unsqueeze", x, g.ints(new)) if new else x


def sliced(part: slice, size: Any, c: OpCall) -> tuple[int, int, int] | None:
    """Start, end and step; None for a slice of everything."""
    step = 1 if part.step is None else part.step
    stop = None if part.stop == size else part.stop
    if isinstance(part.start, Batch) or isinstance(stop, Batch):
        raise cannot(c.op, f"{part} depends on how many rows there are", c.where)
    if step == 1 and part.start in (None, 0) and stop is None:
        return None
    start = part.start if part.start is not None else (0 if step > 0 else LAST)
    return start, stop if stop is not None else (LAST if step > 0 else FIRST), step


def place(g: Graph, c: OpCall) -> str:
    """Zeros with x at every step-th place of each axis: zeros after each number, then around all"""
    x, sizes, key = c.ins[0], list(c.given[0].shape), c.params.get("key", ())
    plain = all(isinstance(part, slice) and (part.step or 1) > 0 for part in key)
    if c.params["view"] != "index" or not plain or len(key) > len(sizes):
        raise cannot(c.op, f"numbers that go to the places {key}", c.where)
    before, behind = [0] * len(sizes), [0] * len(sizes)
    for axis, part in enumerate(key):
        if part == slice(None) or sizes[axis] == (whole := c.out.shape[axis]):
            continue
        start, _, step = part.indices(whole)
        if step > 1:  # (..., n, ...) -> (..., n, step, ...) -> (..., n step, ...)
            more = [0] * (len(sizes) + 1)
            x = g.add("Unsqueeze", x, g.ints([axis + 1]))
            more[axis + 1] = step - 1
            x = g.add("Pad", x, g.ints([0] * len(more) + more), g.number(0, c.dtype))
            x = g.reshaped(x, [*sizes[:axis], sizes[axis] * step, *sizes[axis + 1 :]])
            sizes[axis] = (sizes[axis] - 1) * step + 1
            x = g.add("Slice", x, g.ints([0]), g.ints([sizes[axis]]), g.ints([axis]))
        before[axis], behind[axis] = start, whole - start - sizes[axis]
    return g.add("Pad", x, g.ints(before + behind), g.number(0, c.dtype))


def pad(g: Graph, c: OpCall) -> str:
    widths = c.params["widths"]
    ends = [before for before, _ in widths] + [after for _, after in widths]
    return g.add("Pad", c.ins[0], g.ints(ends), g.number(c.params["value"], c.dtype))


def windows(g: Graph, c: OpCall) -> str:
    """Row i of the positions is the window at place i; its axis moves to the end."""
    p, axis, ndim = c.params, c.params["axis"], len(c.given[0].shape)
    count = c.out.shape[axis]
    places = (Tensor.arange(count) * p["step"]).unsqueeze(1)
    seen = g.constant(places + Tensor.arange(p["size"]) * p["dilation"])
    x = g.add("Gather", c.ins[0], seen, axis=axis)
    order = [a for a in range(ndim + 1) if a != axis + 1]
    return g.add("Transpose", x, perm=[*order, axis + 1])


FUNCTIONS: dict[str, Callable[[Graph, OpCall], str]] = {
    "one_hot": lambda g, c: g.add(  # an invalid class: ONNX gives zeros, tutor refuses it
        "OneHot", *c.ins, g.number(c.params["classes"], "int64"), g.ints([0, 1]), axis=-1),
    "ne": lambda g, c: g.add("Not", g.add("Equal", *c.ins)),
    "exp2": lambda g, c: g.add("Pow", one(g, c, 2), *c.ins),
    "expm1": lambda g, c: g.add("Sub", g.add("Exp", *c.ins), one(g, c, 1)),
    "log2": lambda g, c: g.add("Mul", g.add("Log", *c.ins), one(g, c, 1 / math.log(2))),
    "log10": lambda g, c: g.add("Mul", g.add("Log", *c.ins), one(g, c, 1 / math.log(10))),
    "log1p": log1p, "logaddexp": logaddexp, "floor_divide": floor_divide, "remainder": remainder,
    "fmod": lambda g, c: g.add("Mod", *c.ins, fmod=1), "trunc": trunc, "hypot": hypot,
    "mul_add": lambda g, c: g.add("Add", g.add("Mul", *c.ins[:2]), c.ins[2]),
    "argmax": position, "argmin": position, "linear": linear, "linear_relu": linear,
    "conv2d": conv2d, "max_pool2d": max_pool2d, "attention": attention, "layer_norm": layer_norm,
    "rms_norm": rms_norm, "group_norm": group_norm, "gelu": gelu, "gelu_tanh": gelu,
    "silu": lambda g, c: g.add("Mul", c.ins[0], g.add("Sigmoid", c.ins[0])),
    "softmax": along("Softmax"),
    "log_softmax": along("LogSoftmax"), "cat": along("Concat"), "gather": along("GatherElements"),
    "index_select": along("Gather"), "scatter": along("ScatterElements"), "windows": windows,
    "scatter_add": along("ScatterElements", reduction="add"), "scan": scan, "argsort": argsort,
    "cast": cast, "reshape": reshape, "unsqueeze": reshape, "squeeze": reshape, "permute": permute,
    "transpose": permute, "expand": expand, "index": index, "place": place, "pad": pad,
    **LAYERS,
}  # fmt: skip
