"""A third backend in one file: NumPy's functions, where they compute what signatures.py asks for.

`view` makes operands arrays; everything else is an expression per kernel. Floats are computed in
float64 and rounded once, when they are written. What NumPy does not have (bfloat16) or does
otherwise (dividing integers by 0, casting nan to one) is left out: asked for it, tutor says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutor.backends.registry import Kernel, Operand, Table
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import bfloat16
from tutor.errors import OutOfRangeError, ShapeError

Array = Any


def view(x: Operand) -> Array:
    """The operand as an array over its memory."""
    size = x.buf.dtype.itemsize
    strides = [stride * size for stride in x.strides]
    return np.ndarray(x.shape, x.buf.dtype.format, x.buf.raw, x.offset * size, strides)


def wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def lift(f: Callable[..., Array], prepare: Callable[[Array], Array] = wide) -> Kernel:
    """The kernel out = f(*ins, **params)."""

    def kernel(out: Operand, *ins: Operand, **params: Any) -> None:
        with np.errstate(all="ignore"):
            view(out)[...] = f(*(prepare(view(x)) for x in ins), **params)

    return kernel


def exact(f: Callable[..., Array]) -> Kernel:
    """The same in the dtype of the operands."""
    return lift(f, lambda x: x)


# ---- formulas that NumPy spells otherwise --------------------------------------------------------


def larger(x: Array, y: Array) -> Array:
    both_zero = (x == 0) & (y == 0)
    return np.where(both_zero, x + y, np.maximum(x, y)) if x.dtype.kind == "f" else np.maximum(x, y)


def smaller(x: Array, y: Array) -> Array:
    return -larger(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def first(f: Callable[..., Array]) -> Callable[..., Array]:
    """argmax or argmin over any axes, whose elements are counted row-major."""

    def position(x: Array, axis: Any) -> Array:
        goes = [a % x.ndim for a in np.atleast_1d(np.array(axis, int))]
        kept = [a for a in range(x.ndim) if a not in goes]
        moved = x.transpose(kept + sorted(goes))
        shape = moved.shape[: len(kept)]
        return f(moved.reshape(*shape, -1), -1) if moved.size else np.zeros(shape, int)

    return position


def nonzero(out: Operand, x: Operand) -> None:
    found = np.flatnonzero(view(x))
    if found.size != out.shape[0]:
        raise ShapeError("kernel nonzero", f"{found.size} are true", "give out as many elements")
    view(out)[...] = found


def checked(kernel: str, index: Array, size: int, low: int = 0) -> Array:
    for i in index[(index < low) | (index >= size)].flat:
        raise OutOfRangeError(f"kernel {kernel}", f"index {i} into {size}", "stay below the size")
    return index


def gather(x: Array, index: Array, axis: int) -> Array:
    return np.take_along_axis(x, checked("gather", index, x.shape[axis], -x.shape[axis]), axis)


def index_select(x: Array, index: Array, axis: int) -> Array:
    return np.take(x, checked("index_select", index, x.shape[axis], -x.shape[axis]), axis)


def log_softmax(x: Array, axis: int) -> Array:
    with np.errstate(invalid="ignore"):
        x = x - x.max(axis, keepdims=True, initial=-np.inf)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def cross_entropy(out: Operand, x: Operand, target: Operand, *, scale: float) -> None:
    t = checked("cross_entropy", view(target), x.shape[-1])[..., None]
    losses = -scale * np.take_along_axis(log_softmax(wide(view(x)), -1), t, -1)[..., 0]
    view(out)[...] = losses if out.shape else losses.sum()


def cross_entropy_grad(x: Array, target: Array, g: Array, scale: float) -> Array:
    t = checked("cross_entropy_grad", target, x.shape[-1])[..., None]
    return scale * g[..., None] * (np.exp(log_softmax(x, -1)) - (np.arange(x.shape[-1]) == t))


def descend(p: Operand, g: Operand, *settings: Operand) -> None:
    lr, weight_decay = map(view, settings)
    view(p)[...] = wide(view(p)) - lr * (wide(view(g)) + weight_decay * wide(view(p)))


def sgd(p: Operand, g: Operand, v: Operand, *settings: Operand) -> None:
    lr, momentum, weight_decay = map(view, settings)
    view(v)[...] = momentum * wide(view(v)) + wide(view(g)) + weight_decay * wide(view(p))
    view(p)[...] = wide(view(p)) - lr * wide(view(v))


# ---- the table -----------------------------------------------------------------------------------

NAMES = {  # tutor's name: NumPy's, where it is another one
    **{f: f for f in ("sqrt", "floor", "ceil", "trunc", "exp", "exp2", "expm1", "log", "log2")},
    **{f: f for f in ("log10", "log1p", "sin", "cos", "tan", "hypot", "logaddexp", "matmul")},
    **{f"a{f}": f"arc{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "round": "rint", "atan2": "arctan2", "div": "divide", "sum": "sum", "mean": "mean",
    "prod": "prod",
}  # fmt: skip
NAMES_OF_EXACT = {
    **{f: f for f in ("add", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor", "where")},
    "neg": "negative", "abs": "absolute", "copy": "array", "sub": "subtract", "mul": "multiply",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "bitwise_not": "invert",
}  # fmt: skip
KERNELS: dict[str, Kernel] = {
    **{name: lift(getattr(np, numpys)) for name, numpys in NAMES.items()},
    **{name: exact(getattr(np, numpys)) for name, numpys in NAMES_OF_EXACT.items()},
    "sign": lift(lambda x: np.sign(x) + x.dtype.type(0)),  # of -0, too, 0
    "relu": exact(lambda x: np.where(x <= 0, x.dtype.type(0), x)),
    "relu_grad": exact(lambda g, z: np.where(z > 0, g, g.dtype.type(0))),
    "linear": lift(lambda x, w, b, relu: np.maximum(x @ w.T + b, 0 if relu else -np.inf)),
    "fill": lift(lambda value: value),
    "maximum": exact(larger), "minimum": exact(smaller),
    "argmax": exact(first(np.argmax)), "argmin": exact(first(np.argmin)), "nonzero": nonzero,
    "cat": exact(lambda *xs, axis: np.concatenate(xs, axis)),
    "gather": exact(gather), "index_select": exact(index_select),
    "log_softmax": lift(log_softmax), "softmax": lift(lambda x, axis: np.exp(log_softmax(x, axis))),
    "cross_entropy": cross_entropy, "cross_entropy_grad": lift(cross_entropy_grad), "sgd": sgd,
    "descend": descend,
}  # fmt: skip


def table() -> Table:
    dtypes = {kernel: SIGNATURES[kernel].dtypes for kernel in KERNELS}
    return {(k, t): f for k, f in KERNELS.items() for t in dtypes[k] if t is not bfloat16}
