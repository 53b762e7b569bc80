"""The computation of each ONNX operator with Tensors: one row per operator.

A function gets the node's attributes (Given) and its operands: Tensors, NumPy arrays (sizes and
positions, known without running the model), or None for an omitted one. The definitions are on
onnx.ai/onnx.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from tutor import functions as T  # noqa: N812
from tutor._storage.layout import axis_of
from tutor.functions.einsum import einsum
from tutor.methods import windows
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.onnx import movement
from tutor.onnx.given import Function, Given, as_tensor, cannot, either, ints
from tutor.onnx.graph import TYPES
from tutor.onnx.recurrent import GATES, recurrent
from tutor.ops.movement import cat

NAMES = {code: name for name, code in TYPES.items()}


def of(f: Function) -> Function:
    """Wrap a function of Tensors only, without attributes."""
    return lambda _, *xs: f(*map(as_tensor, xs))


def folded(f: Function) -> Function:
    """Extend a function of two operands to any number of them."""
    return lambda _, *xs: reduce(f, map(as_tensor, xs))


# ---- products and windows ------------------------------------------------------------------------


def gemm(n: Given, a: Tensor, b: Tensor, c: Any = None) -> Tensor:
    alpha, beta = n.get("alpha"), n.get("beta")
    a, b = (as_tensor(x) for x in (a, b))
    a, turned = a.T if n.flag("transA") else a, n.flag("transB")
    if turned and alpha == beta == 1 and (c is None or as_tensor(c).shape == b.shape[:1]):
        return F.linear(a, b, as_tensor(c))
    z = a @ (b.T if turned else b)
    z = z if alpha == 1 else z * alpha
    return z if c is None else z + as_tensor(c) * beta


class NodeWindows:
    """The windows of a node: `own`, the padding it asks for on each side of each axis, and `more`,
    how far the last windows reach beyond that with ceil_mode."""

    def __init__(self, n: Given, x: Tensor, size: tuple[int, ...], pools: bool = True) -> None:
        self.size, self.dims, self.pools = size, len(size), pools
        self.step, self.gap = self.each(n, "strides"), self.each(n, "dilations")
        pads, how = n.get("pads", [0] * 2 * self.dims), n.get("auto_pad")
        if x.ndim != self.dims + 2 or len(pads) != 2 * self.dims:
            raise cannot(n.kind, f"windows of {size} in shape {x.shape}, with pads={pads}")
        known = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
        if pools and any(p >= size[i % self.dims] for i, p in enumerate(pads)):
            raise cannot(n.kind, f"pads={pads}: windows of {size} that see nothing else")
        if how not in known or (how != "NOTSET" and any(pads)) or min(size, default=1) < 1:
            raise cannot(n.kind, f"windows of {size}, auto_pad={how!r}, with pads={pads}")
        self.own, self.more = [], []
        ceil = n.flag("ceil_mode")
        if how.startswith("SAME") and (ceil or (self.pools and self.gap != (1,) * self.dims)):
            raise cannot(n.kind, f"auto_pad={how!r} with ceil_mode or dilations: programs differ")
        for i, (length, s) in enumerate(zip(x.shape[2:], self.step, strict=True)):
            span, before, after = (size[i] - 1) * self.gap[i] + 1, pads[i], pads[self.dims + i]
            if how.startswith("SAME"):
                total = max((-(-length // s) - 1) * s + span - length, 0)
                before = total // 2 if how == "SAME_UPPER" else total - total // 2
                after = total - before
            self.own.append((before, after))
            left = (length + before + after - span) % s
            # The last window must begin inside x or in the padding before it.
            begins = length + before + after - span - left + s < length + before
            self.more.append(s - left if ceil and left and begins else 0)

    def each(self, n: Given, name: str) -> tuple[int, ...]:
        found = tuple(n.get(name, [1] * self.dims))
        if len(found) != self.dims or min(found, default=1) < 1:
            raise cannot(n.kind, f"{name}={found} for {self.dims} axes")
        return found

    def around(self, x: Any, value: float = 0.0, beyond: float = 0.0) -> Any:
        """x with `value` in its padding, and `beyond` in the cells after the padding."""
        z = x.pad(((0, 0), (0, 0), *self.own), value) if any(map(any, self.own)) else x
        if any(self.more):
            z = z.pad(((0, 0), (0, 0), *[(0, m) for m in self.more]), beyond)
        return z

    def mean(self, x: Any) -> Any:
        seen = windows.windows(x, self.size, self.step, self.gap)
        return seen.mean(tuple(range(-self.dims, 0)))


def conv(n: Given, x: Tensor, w: Any, b: Any = None) -> Any:
    w = as_tensor(w)
    n.only("kernel_shape", list(w.shape[2:]), f"its weights are for {w.shape[2:]}")
    at = NodeWindows(n, x, w.shape[2:], pools=False)
    return windows.conv(
        at.around(x), w, as_tensor(b), at.step, 0, at.gap, n.get("group"), dims=at.dims
    )


def conv_transpose(n: Given, x: Tensor, w: Any, b: Any = None) -> Any:
    w, dims = as_tensor(w), x.ndim - 2
    n.only("auto_pad", "NOTSET", "its padding follows a shape")
    n.only("kernel_shape", list(w.shape[2:]), f"its weights are for {w.shape[2:]}")
    pads = n.get("pads", [0] * 2 * dims)
    if pads[:dims] != pads[dims:]:
        raise cannot("ConvTranspose", f"pads={pads}, which differ from end to end")
    step, gap, extra = (
        tuple(n.get(name, [least] * dims))
        for name, least in (("strides", 1), ("dilations", 1), ("output_padding", 0))
    )
    return windows.conv_transpose(
        x, w, as_tensor(b), step, tuple(pads[:dims]), extra, n.get("group"), gap, dims=dims
    )


def max_pool(n: Given, x: Tensor) -> Any:
    n.idle("storage_order")  # it concerns positions, a second result
    at = NodeWindows(n, x, tuple(n.get("kernel_shape")))
    least = -math.inf if x.dtype.is_float else x.dtype.min
    seen = at.around(x, least, least)
    return windows.max_pool(seen, at.size, at.step, 0, at.gap, dims=at.dims)


def average_pool(n: Given, x: Tensor) -> Any:
    """The mean of each window, counting padding only if requested."""
    at = NodeWindows(n, x, tuple(n.get("kernel_shape")))
    counted = at.around(x.like(1, (1, 1, *x.shape[2:])), float(n.flag("count_include_pad")))
    return at.mean(at.around(x)) / at.mean(counted)


# ---- norms ---------------------------------------------------------------------------------------


def batch_norm(n: Given, x: Tensor, w: Any, b: Any, mean: Any, var: Any) -> Tensor:
    n.only("training_mode", 0, "it would change its running mean")
    n.only("is_test", 1, "it would change its running mean")
    n.idle("momentum")  # only for training
    w, b, mean, var = (as_tensor(t) for t in (w, b, mean, var))
    return F.batch_norm(x, mean, var, w, b, False, 0.1, n.get("epsilon"))


def layer_norm(n: Given, x: Tensor, w: Any, b: Any = None) -> tuple[Tensor, ...]:
    at, eps = n.axis(x), n.get("epsilon")
    z = F.layer_norm(x, x.shape[at:], as_tensor(w), as_tensor(b), eps)
    if n.results == 1:
        return (z,)
    axes = tuple(range(at, x.ndim))
    spread = x.var(axes, correction=0, keepdims=True)
    return z, x.mean(axes, keepdims=True), 1 / (spread + eps).sqrt()


def dropout(n: Given, x: Tensor, ratio: Any = None, training: Any = None) -> tuple[Tensor, Tensor]:
    """x, and the mask of kept elements: all True, because this is inference."""
    n.only("is_test", 1, "it would draw random numbers")
    if training is not None and as_tensor(training).item():
        raise cannot("Dropout", "training_mode: it would draw random numbers")
    n.idle("ratio", "seed")  # only for training
    kept = x.like(1)
    return x, kept if n.opset < 10 else kept.cast("bool")


def softmax(f: Function) -> Function:
    """Before version 13 all axes from `axis` on are flattened into one."""

    def run(n: Given, x: Tensor) -> Any:
        at = n.axis(x)
        if n.opset >= 13:
            return f(x, at)
        return f(x.reshape((*x.shape[:at], math.prod(x.shape[at:]))), -1).reshape(x.shape)

    return run


# ---- reductions ----------------------------------------------------------------------------------


def reduction(f: Function) -> Function:
    def run(n: Given, x: Tensor, axes: Any = None) -> Any:
        found, keeps, noop = (
            either(n, "axes", axes), n.flag("keepdims"), n.flag("noop_with_empty_axes")
        )  # fmt: skip
        if not found and noop:
            return x
        z = f(x, axis=tuple(found) if found else tuple(range(x.ndim)), keepdims=keeps)
        return z if z.dtype is x.dtype else z.cast(x.dtype)

    return run


def position(f: Function) -> Function:
    def run(n: Given, x: Tensor) -> Any:
        axis, keeps = n.get("axis"), n.flag("keepdims")
        if n.flag("select_last_index"):
            return x.shape[axis] - 1 - f(x.flip(axis), axis=axis, keepdims=keeps)
        return f(x, axis=axis, keepdims=keeps)

    return run


def cumsum(n: Given, x: Tensor, axis: Any) -> Tensor:
    return x.cumsum(ints(axis)[0]).cast(x.dtype)  # type: ignore[index]


def top_k(n: Given, x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
    n.only("sorted", 1, "which order is meant nobody knows")
    axis, largest = n.axis(x), n.opset < 11 or n.flag("largest")
    order = x.argsort(axis=axis, descending=largest)
    chosen = order[(*[slice(None)] * axis, slice(ints(k)[0]))]  # type: ignore[index]
    return x.gather(axis, chosen), chosen


def one_hot(n: Given, x: Any, depth: Any, values: Any) -> Tensor:
    """values[1] where x equals the position along the new axis (a negative x counts from its end),
    else values[0]."""
    count, (off, on) = ints(depth)[0], as_tensor(values)  # type: ignore[index]
    x = as_tensor(x)
    axis, ndim = axis_of(n.get("axis"), x.ndim + 1), x.ndim + 1
    places = Tensor.arange(count).reshape([-1 if a == axis else 1 for a in range(ndim)])
    x = x.unsqueeze(axis)
    return T.where((x == places) | (x == places - count), on, off)


def clip(n: Given, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    bounds = [n.get(name) if t is None else as_tensor(t)
              for name, t in (("min", low), ("max", high))]  # fmt: skip
    return x if bounds == [None, None] else x.clip(*bounds)


def mod(n: Given, x: Any, y: Any) -> Any:
    return (T.fmod if n.flag("fmod") else T.remainder)(as_tensor(x), as_tensor(y))


def cast(n: Given, x: Tensor) -> Tensor:
    if n.get("to") not in NAMES:
        raise cannot("Cast", f"to={n.get('to')}, a dtype that is not here")
    n.flag("saturate")
    n.idle("round_mode")  # both concern floats of 8 bits and fewer, which tutor lacks
    return x.cast(NAMES[n.get("to")])


def prelu(n: Given, x: Tensor, slope: Any) -> Tensor:
    """Before version 7 the slopes belong to channels."""
    slope = as_tensor(slope)
    if n.opset < 7 and slope.ndim == 1 < x.ndim:
        slope = slope.reshape((-1, *[1] * (x.ndim - 2)))
    return T.where(x >= 0, x, x * slope)


def div(n: Given, x: Any, y: Any) -> Any:
    """Division; integers are divided towards 0."""
    x, y = as_tensor(x), as_tensor(y)
    if x.dtype.is_float:
        return x / y
    return T.sign(x) * T.sign(y) * (abs(x) // abs(y))


PLAIN = """
    Abs Neg Sign Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Floor
    Ceil Round Sigmoid Relu Softplus Softsign Mish MatMul Where IsNaN HardSwish
"""  # these have the same names here, in lower case
FUNCTIONS: dict[str, Function] = {
    **{name: of(getattr(T, name.lower())) for name in PLAIN.split()},
    **{kind: recurrent(kind) for kind in GATES},
    "Add": folded(T.add), "Sub": of(T.sub), "Mul": folded(T.mul), "Div": div, "Mod": mod,
    "Max": folded(T.maximum), "Min": folded(T.minimum), "Sum": folded(T.add),
    "Pow": of(lambda x, y: T.pow(x, y).cast(x.dtype)),
    "Reciprocal": of(lambda x: 1 / x), "Identity": of(lambda x: x),
    "Dropout": dropout, "Equal": of(T.eq), "Less": of(T.lt), "LessOrEqual": of(T.le),
    "Greater": of(T.gt), "GreaterOrEqual": of(T.ge), "And": of(T.logical_and),
    "Or": of(T.logical_or), "Xor": of(T.logical_xor), "Not": of(T.logical_not),
    "BitwiseAnd": of(T.bitwise_and), "BitwiseOr": of(T.bitwise_or), "BitwiseXor": of(T.bitwise_xor),
    "BitwiseNot": of(T.bitwise_not),
    "LeakyRelu": lambda n, x: F.leaky_relu(x, n.get("alpha")),
    "Elu": lambda n, x: F.elu(x, n.get("alpha")),
    "Celu": lambda n, x: F.celu(x, n.get("alpha")),
    "Selu": lambda n, x: F.elu(x, n.get("alpha")) * n.get("gamma"),
    "HardSigmoid": lambda n, x: (x * n.get("alpha") + n.get("beta")).clip(0, 1),
    "Gelu": lambda n, x: F.gelu(x, n.get("approximate")), "PRelu": prelu, "Clip": clip,
    "Gemm": gemm, "Conv": conv, "ConvTranspose": conv_transpose, "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": lambda n, x: x.mean(tuple(range(2, x.ndim)), keepdims=True),
    "GlobalMaxPool": lambda n, x: x.max(tuple(range(2, x.ndim)), keepdims=True),
    "BatchNormalization": batch_norm, "LayerNormalization": layer_norm,
    "Softmax": softmax(T.softmax), "LogSoftmax": softmax(T.log_softmax),
    "ReduceSum": reduction(T.sum), "ReduceMean": reduction(T.mean), "ReduceMax": reduction(T.max),
    "ReduceMin": reduction(T.min), "ReduceProd": reduction(T.prod), "ArgMax": position(T.argmax),
    "ArgMin": position(T.argmin), "CumSum": cumsum, "TopK": top_k, "OneHot": one_hot,
    "Reshape": movement.reshape, "Flatten": movement.flatten, "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze, "Squeeze": movement.squeeze,
    "Slice": movement.slice_, "Split": movement.split, "Gather": movement.gather,
    "GatherElements": lambda n, x, i: as_tensor(x).gather(n.get("axis"), as_tensor(i)),
    "ScatterElements": movement.scatter,
    "Concat": lambda n, *xs: cat([as_tensor(x) for x in xs], axis=n.get("axis", 1)),
    "Expand": movement.expand, "Pad": movement.pad,
    "Tile": lambda n, x, times: x.tile(tuple(ints(times) or ())),
    "Cast": cast, "ConstantOfShape": movement.constant_of_shape,
    "Range": movement.constant_of_shape, "Trilu": movement.trilu,
    "Einsum": lambda n, *xs: einsum(n.get("equation"), *map(as_tensor, xs)),
}  # fmt: skip
