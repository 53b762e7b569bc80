"""How each ONNX operator is computed with Tensors: one row for each.

A function gets what is Given by the node, and its operands: Tensors, NumPy arrays (sizes and
positions, known without running the model), or None for one that is left out. onnx.ai/onnx has
their definitions.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from tutor import functions as T  # noqa: N812
from tutor.functions.einsum import einsum
from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.onnx import movement
from tutor.onnx.given import Function, Given, as_tensor, cannot, either, ints
from tutor.onnx.graph import TYPES
from tutor.onnx.recurrent import GATES, recurrent
from tutor.ops.movement import cat

NAMES = {code: name for name, code in TYPES.items()}


def of(f: Function) -> Function:
    """A function of Tensors alone, without attributes."""
    return lambda _, *xs: f(*map(as_tensor, xs))


def folded(f: Function) -> Function:
    """One of two, of any number of operands."""
    return lambda _, *xs: reduce(f, map(as_tensor, xs))


# ---- products and windows ------------------------------------------------------------------------


def gemm(n: Given, a: Tensor, b: Tensor, c: Any = None) -> Tensor:
    alpha, beta = n.get("alpha", 1.0), n.get("beta", 1.0)
    a, b = (as_tensor(x) for x in (a, b))
    a = a.T if n.get("transA") else a
    if n.get("transB") and alpha == beta == 1 and (c is None or as_tensor(c).ndim == 1):
        return F.linear(a, b, as_tensor(c))
    z = a @ (b.T if n.get("transB") else b)
    z = z if alpha == 1 else z * alpha
    return z if c is None else z + as_tensor(c) * beta


def around(n: Given, x: Tensor, size: tuple[int, ...], value: float = 0.0) -> Tensor:
    """x with the padding of a window of that size."""
    dims, how = len(size), n.get("auto_pad", "NOTSET")
    step, gap = n.get("strides", [1] * dims), n.get("dilations", [1] * dims)
    pads = list(n.get("pads", [0] * 2 * dims))
    if how.startswith("SAME"):
        for i in range(dims):
            length = x.shape[2 + i]
            span = (size[i] - 1) * gap[i] + 1
            total = max((-(-length // step[i]) - 1) * step[i] + span - length, 0)
            first = total // 2 if how == "SAME_UPPER" else total - total // 2
            pads[i], pads[dims + i] = first, total - first
    if not any(pads):
        return x
    return x.pad(((0, 0), (0, 0), *zip(pads[:dims], pads[dims:], strict=True)), value)


CONVS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONVS_BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG_POOLS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def conv(n: Given, x: Tensor, w: Any, b: Any = None) -> Tensor:
    w, dims = as_tensor(w), x.ndim - 2
    x = around(n, x, w.shape[2:])
    step, gap = (tuple(n.get(name, [1] * dims)) for name in ("strides", "dilations"))
    return CONVS[dims](x, w, as_tensor(b), step, 0, gap, n.get("group", 1))


def conv_transpose(n: Given, x: Tensor, w: Any, b: Any = None) -> Tensor:
    dims = x.ndim - 2
    pads = n.get("pads", [0] * 2 * dims)
    if (
        n.get("auto_pad", "NOTSET") != "NOTSET"
        or n.get("output_shape")
        or pads[:dims] != pads[dims:]
    ):
        raise cannot("ConvTranspose", "its padding differs from end to end, or follows a shape")
    step, gap, extra = (
        tuple(n.get(name, [least] * dims))
        for name, least in (("strides", 1), ("dilations", 1), ("output_padding", 0))
    )
    return CONVS_BACK[dims](
        x, as_tensor(w), as_tensor(b), step, tuple(pads[:dims]), extra, n.get("group", 1), gap
    )


def max_pool(n: Given, x: Tensor) -> Tensor:
    if n.results > 1 or n.get("ceil_mode"):
        raise cannot("MaxPool", "it asks for positions, or for windows that reach over the end")
    size = tuple(n.get("kernel_shape"))
    x = around(n, x, size, -math.inf)
    step, gap = (tuple(n.get(name, [1] * len(size))) for name in ("strides", "dilations"))
    return MAX_POOLS[len(size)](x, size, step, 0, gap)


def average_pool(n: Given, x: Tensor) -> Tensor:
    size = tuple(n.get("kernel_shape"))
    pads, step = n.get("pads", [0] * 2 * len(size)), tuple(n.get("strides", [1] * len(size)))
    if any(pads) and not n.get("count_include_pad"):
        whole = around(n, x.like(1), size)
        x = around(n, x, size)
        pool = AVG_POOLS[len(size)]
        return pool(x, size, step) / pool(whole, size, step)
    if n.get("ceil_mode") or any(d != 1 for d in n.get("dilations", [1])):
        raise cannot("AveragePool", "ceil_mode, or dilations")
    return AVG_POOLS[len(size)](around(n, x, size), size, step)


# ---- norms ---------------------------------------------------------------------------------------


def batch_norm(n: Given, x: Tensor, w: Any, b: Any, mean: Any, var: Any) -> Tensor:
    w, b, mean, var = (as_tensor(t) for t in (w, b, mean, var))
    return F.batch_norm(x, mean, var, w, b, False, 0.1, n.get("epsilon", 1e-5))


def layer_norm(n: Given, x: Tensor, w: Any, b: Any = None) -> Tensor:
    shape = x.shape[n.get("axis", -1) % x.ndim :]
    return F.layer_norm(x, shape, as_tensor(w), as_tensor(b), n.get("epsilon", 1e-5))


def softmax(f: Function) -> Function:
    """Before version 13 all axes from `axis` on are one."""

    def run(n: Given, x: Tensor) -> Any:
        if n.opset >= 13:
            return f(x, n.get("axis", -1))
        at = n.get("axis", 1) % x.ndim
        return f(x.reshape((*x.shape[:at], -1)), -1).reshape(x.shape)

    return run


# ---- reductions ----------------------------------------------------------------------------------


def reduction(f: Function) -> Function:
    def run(n: Given, x: Tensor, axes: Any = None) -> Any:
        found = either(n, "axes", axes)
        if not found and n.get("noop_with_empty_axes"):
            return x
        axis = tuple(found) if found else tuple(range(x.ndim))
        z = f(x, axis=axis, keepdims=bool(n.get("keepdims", 1)))
        return z if z.dtype is x.dtype else z.cast(x.dtype)

    return run


def position(f: Function) -> Function:
    def run(n: Given, x: Tensor) -> Any:
        if n.get("select_last_index"):
            raise cannot("ArgMax", "it asks for the last of several")
        return f(x, axis=n.get("axis", 0), keepdims=bool(n.get("keepdims", 1)))

    return run


def cumsum(n: Given, x: Tensor, axis: Any) -> Tensor:
    if n.get("exclusive") or n.get("reverse"):
        raise cannot("CumSum", "exclusive, or reverse")
    return x.cumsum(ints(axis)[0])  # type: ignore[index]


def top_k(n: Given, x: Tensor, k: Any) -> tuple[Tensor, Tensor]:
    axis = n.get("axis", -1) % x.ndim
    order = x.argsort(axis=axis, descending=bool(n.get("largest", 1)))
    chosen = order[(*[slice(None)] * axis, slice(ints(k)[0]))]  # type: ignore[index]
    return x.gather(axis, chosen), chosen


def one_hot(n: Given, x: Any, depth: Any, values: Any) -> Tensor:
    """values[1] where x is the position along the new axis, perhaps counted from its end; else
    values[0]."""
    count, (off, on) = ints(depth)[0], as_tensor(values)  # type: ignore[index]
    x, axis = as_tensor(x), n.get("axis", -1)
    ndim = x.ndim + 1
    places = Tensor.arange(count).reshape([-1 if a == axis % ndim else 1 for a in range(ndim)])
    x = x.unsqueeze(axis)
    return T.where((x == places) | (x == places - count), on, off)


def clip(n: Given, x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    bounds = [n.get(name) if t is None else as_tensor(t)
              for name, t in (("min", low), ("max", high))]  # fmt: skip
    return x if bounds == [None, None] else x.clip(*bounds)


def mod(n: Given, x: Any, y: Any) -> Any:
    return (T.fmod if n.get("fmod") else T.remainder)(as_tensor(x), as_tensor(y))


def div(n: Given, x: Any, y: Any) -> Any:
    """Integers are divided towards 0."""
    x, y = as_tensor(x), as_tensor(y)
    if x.dtype.is_float:
        return x / y
    return T.sign(x) * T.sign(y) * (abs(x) // abs(y))


PLAIN = """
    Abs Neg Sign Sqrt Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Floor
    Ceil Round Sigmoid Relu Softplus Softsign Mish MatMul Pow Where IsNaN HardSwish
"""  # of the same name here, in lower case
FUNCTIONS: dict[str, Function] = {
    **{name: of(getattr(T, name.lower())) for name in PLAIN.split()},
    **{kind: recurrent(kind) for kind in GATES},
    "Add": folded(T.add), "Sub": of(T.sub), "Mul": folded(T.mul), "Div": div, "Mod": mod,
    "Max": folded(T.maximum), "Min": folded(T.minimum), "Sum": folded(T.add),
    "Reciprocal": of(lambda x: 1 / x), "Identity": of(lambda x: x),
    "Dropout": lambda n, x, *_: x, "Equal": of(T.eq), "Less": of(T.lt), "LessOrEqual": of(T.le),
    "Greater": of(T.gt), "GreaterOrEqual": of(T.ge), "And": of(T.logical_and),
    "Or": of(T.logical_or), "Xor": of(T.logical_xor), "Not": of(T.logical_not),
    "BitwiseAnd": of(T.bitwise_and), "BitwiseOr": of(T.bitwise_or), "BitwiseXor": of(T.bitwise_xor),
    "BitwiseNot": of(T.bitwise_not),
    "LeakyRelu": lambda n, x: F.leaky_relu(x, n.get("alpha", 0.01)),
    "Elu": lambda n, x: F.elu(x, n.get("alpha", 1.0)),
    "Celu": lambda n, x: F.celu(x, n.get("alpha", 1.0)), "Selu": lambda n, x: F.selu(x),
    "HardSigmoid": lambda n, x: (x * n.get("alpha", 0.2) + n.get("beta", 0.5)).clip(0, 1),
    "Gelu": lambda n, x: F.gelu(x, n.get("approximate", "none")),
    "PRelu": lambda n, x, w: T.where(x >= 0, x, x * as_tensor(w)), "Clip": clip,
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
    "GatherElements": lambda n, x, i: as_tensor(x).gather(n.get("axis", 0), as_tensor(i)),
    "ScatterElements": movement.scatter,
    "Concat": lambda n, *xs: cat([as_tensor(x) for x in xs], axis=n.get("axis")),
    "Expand": movement.expand, "Pad": movement.pad,
    "Tile": lambda n, x, times: x.tile(tuple(ints(times) or ())),
    "Cast": lambda n, x: x.cast(NAMES[n.get("to")]), "ConstantOfShape": movement.constant_of_shape,
    "Range": movement.constant_of_shape, "Trilu": movement.trilu,
    "Einsum": lambda n, *xs: einsum(n.get("equation"), *map(as_tensor, xs)),
}  # fmt: skip
