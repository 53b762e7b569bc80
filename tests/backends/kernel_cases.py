"""What kernels are tried on: for each a row of inputs, parameters and NumPy's answer."""

from __future__ import annotations

import decimal
import importlib
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from kernel_inputs import (
    choice,
    divided,
    few,
    indices,
    one,
    pairs,
    powers,
    results,
    sample,
    samples,
    shifts,
    tame,
)

from tutor.backends.signatures import SIGNATURES, TABLE_OF_KERNELS
from tutor.dtype import DType
from tutor.testing.conformance import agreement

# ---- one row per kernel --------------------------------------------------------------------------


class Case(NamedTuple):
    oracle: Callable[..., Any]  # of the inputs, as NumPy arrays, and the parameters
    inputs: Callable[[DType], list[np.ndarray]]
    params: Mapping[str, Any] = MappingProxyType({})
    ulps: float = 0


def precise(f: Callable[..., Any]) -> Callable[..., Any]:
    """f in at least float64; in 80 bits where the machine has them."""
    return lambda *xs, **params: f(*(x.astype(np.longdouble) for x in xs), **params)


def widened(f: Callable[..., Any]) -> Callable[..., Any]:
    """f of floats in float64."""

    def wide(*xs: np.ndarray, **params: Any) -> Any:
        return f(*(x.astype(np.float64) if x.dtype.kind == "f" else x for x in xs), **params)

    return wide


def layer(x: np.ndarray, w: np.ndarray, b: np.ndarray, relu: bool) -> np.ndarray:
    z = x @ w.T + b
    return np.maximum(z, 0) if relu else z


def erf(x: float) -> float:
    """2/sqrt(pi) e**-x**2 sum_n 2**n x**(2n+1) / (1 * 3 * 5 ... (2n+1)), whose terms have one sign
    (Abramowitz and Stegun 1964, 7.1.6), in 50 digits."""
    if not abs(x) < 6:
        return math.copysign(1, x) if x == x else x
    with decimal.localcontext() as context:
        context.prec = 50
        x = decimal.Decimal(float(x))
        term = total = x
        for n in range(1, 300):
            term *= 2 * x * x / (2 * n + 1)
            total += term
        return float(2 / PI.sqrt() * (-x * x).exp() * total)


def normal(x: float) -> float:
    """P(X <= x) of a standard normal X"""
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


def gelu(x: float) -> float:
    return x * normal(x) if x != -math.inf else -0.0


def gelu_grad(g: float, x: float) -> float:
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return g * (normal(x) + (0 if math.isinf(x) else x * density))


def sigmoid_of(x: float) -> float:
    """The sigmoid that gelu_tanh multiplies x by."""
    x = min(max(x, -40.0), 40.0)
    u = x * (1.5957691216057307117 + 0.071354816272600248 * (x * x))  # 2 sqrt(2/pi) (x + c x**3)
    return math.exp(max(min(u, 0.0), -700.0)) / (1 + math.exp(-abs(u)))


def gelu_tanh(x: float) -> float:
    return x * sigmoid_of(x) if x > -40 or x != x else -0.0


def gelu_tanh_grad(g: float, x: float) -> float:
    if abs(x) > 40:
        return g * (1.0 if x > 0 else -0.0)
    s = sigmoid_of(x)
    return g * (s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))


def silu(x: float) -> float:
    return x * softplus_grad(1.0, x) if x != -math.inf else -0.0


def silu_grad(g: float, x: float) -> float:
    e = math.exp(min(x, 0.0))
    if math.isinf(x):
        return g * (1.0 if x > 0 else -0.0)
    by = 1 / (1 + math.exp(-abs(x)))
    return g * (e * by * (1 + x * by) if x < 0 else by * (1 + x * math.exp(-x) * by))


def softplus_grad(g: float, x: float) -> float:
    """g times the sigmoid"""
    return g * (math.exp(min(x, 0.0)) / (1 + math.exp(-abs(x))))


def mish(x: float) -> float:
    if x == -math.inf:
        return -0.0
    return x * math.tanh(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


def mish_grad(g: float, x: float) -> float:
    """Misra's own form, divided by e**3x where e**x could overflow"""
    if math.isinf(x):
        return g * (1.0 if x > 0 else -0.0)
    e = math.exp(-abs(x))
    if x > 0:
        omega = 4 * (x + 1) * e**3 + 4 * e + 1 + e * e * (4 * x + 6)
        return g * (omega / (2 * e + 1 + 2 * e * e) ** 2)
    omega = 4 * (x + 1) + 4 * e * e + e**3 + e * (4 * x + 6)
    return g * (e * (omega / (2 * e + e * e + 2) ** 2))


PI = decimal.Decimal("3.14159265358979323846264338327950288419716939937510")


def conv(
    stride: tuple[int, int] = (1, 1), dilation: tuple[int, int] = (1, 1), groups: int = 1
) -> dict[str, int]:
    names = ("stride_h", "stride_w", "dilation_h", "dilation_w")
    return dict(zip(names, (*stride, *dilation), strict=True)) | {"groups": groups}


def pooled(size: tuple[int, int], stride: tuple[int, int]) -> dict[str, int]:
    found = conv(stride) | {"size_h": size[0], "size_w": size[1]}
    return {name: n for name, n in found.items() if name != "groups"}


def seen(x: np.ndarray, size: tuple[int, ...], p: Mapping[str, int]) -> np.ndarray:
    """x as (n, c, p, q, k, l): what each window sees, as a view."""
    reach = [(n - 1) * p[f"dilation_{a}"] + 1 for n, a in zip(size, "hw", strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    windows = windows[:, :, :: p["stride_h"], :: p["stride_w"]]
    return windows[..., :: p["dilation_h"], :: p["dilation_w"]]


def convolve(x: np.ndarray, w: np.ndarray, **p: int) -> np.ndarray:
    parts = zip(
        np.split(seen(x, w.shape[2:], p), p["groups"], 1), np.split(w, p["groups"]), strict=True
    )
    return np.concatenate([np.einsum("ncpqkl,ockl->nopq", *part) for part in parts], 1)


def convolve_weight(x: np.ndarray, g: np.ndarray, shape: tuple[int, ...], **p: int) -> np.ndarray:
    parts = zip(
        np.split(seen(x, shape[2:], p), p["groups"], 1), np.split(g, p["groups"], 1), strict=True
    )
    return np.concatenate([np.einsum("ncpqkl,nopq->ockl", *part) for part in parts])


def pool(x: np.ndarray, *, size_h: int, size_w: int, **p: int) -> np.ndarray:
    return seen(x, (size_h, size_w), p).max((-2, -1))


def pool_grad(
    x: np.ndarray, m: np.ndarray, g: np.ndarray, *, size_h: int, size_w: int, **p: int
) -> np.ndarray:
    equal = seen(x, (size_h, size_w), p) == m[..., None, None]
    z = np.zeros_like(x)
    for *window, k, j in np.argwhere(equal):
        n, c, row, column = window
        at = row * p["stride_h"] + k, column * p["stride_w"] + j
        z[(n, c, *at)] += g[tuple(window)] / equal[tuple(window)].sum()
    return z


def rows(axis: Any) -> dict[str, Any]:
    return {"axis": axis}


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.where(x == x, np.zeros_like(x), x))


def zeros_in_order(f: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """f(x, y) for maximum or minimum, with -0 below +0."""
    equal = f(np.signbit(x) * -1, np.signbit(y) * -1)
    return np.where(
        (x == 0) & (y == 0), np.where(equal, -x.dtype.type(0), x.dtype.type(0)), f(x, y)
    )


def larger(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return zeros_in_order(np.maximum, x, y) if x.dtype.kind == "f" else np.maximum(x, y)


def smaller(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return zeros_in_order(np.minimum, x, y) if x.dtype.kind == "f" else np.minimum(x, y)


def pad(x: np.ndarray, before: tuple[int, ...], value: float) -> np.ndarray:
    return np.pad(x, [(b, 1) for b in before], constant_values=value)


def cat(*xs: np.ndarray, axis: int) -> np.ndarray:
    return np.concatenate(xs, axis)


def floor_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, x / y, x // y) if x.dtype.kind == "f" else x // y


def shift(f: Callable[..., Any]) -> Callable[..., Any]:
    """f in as many steps as it takes, for no step of NumPy's may be as wide as the type."""

    def shifted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        steps, one = y.copy(), y.dtype.type(1)
        while steps.any():
            x, steps = np.where(steps > 0, f(x, one), x), np.where(steps > 0, steps - one, steps)
        return x

    return shifted


def mul_add(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x * y + w, both rounded as float32 or float64"""
    wide = [each.astype(np.promote_types(each.dtype, np.float32)) for each in (x, y, w)]
    return wide[0] * wide[1] + wide[2]


def recurrence(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """y_i + x_i * y_(i-1) + x_i * x_(i-1) * y_(i-2) + ..., term by term."""
    x, y = np.moveaxis(x, axis, 0), np.moveaxis(y, axis, 0)
    total, term = np.zeros_like(y), y.copy()
    for step in range(len(y)):
        total = total + term
        term = np.concatenate([np.zeros_like(term[:1]), term[:-1]]) * x
        term[: step + 1] = 0
    return np.moveaxis(total, 0, axis)


def argsort(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """NumPy's stable order. Backwards: of what is turned around, so that equals keep theirs."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(turned, axis)


def scatter(x: np.ndarray, index: np.ndarray, src: np.ndarray, axis: int) -> np.ndarray:
    z = x.copy()
    for at in np.ndindex(index.shape):
        z[(*at[:axis], index[at], *at[axis + 1 :])] = src[at]
    return z


def scatter_add(x: np.ndarray, index: np.ndarray, src: np.ndarray, axis: int) -> np.ndarray:
    z = x.astype(np.float64) if x.dtype.kind == "f" else x.copy()
    where = list(np.indices(index.shape))
    where[axis] = index
    np.add.at(z, tuple(where), src)
    return z


def softmax(x: np.ndarray, axis: Any) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: Any) -> np.ndarray:
    return np.log(softmax(x, axis))


def cross_entropy(x: np.ndarray, t: np.ndarray, scale: float) -> np.ndarray:
    return -scale * np.take_along_axis(log_softmax(x, -1), t.astype(int)[..., None], -1)[..., 0]


def cross_entropy_grad(x: np.ndarray, t: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
    return scale * g[..., None] * (softmax(x, -1) - (np.arange(x.shape[-1]) == t[..., None]))


ONE_HOT = (4, 3, 5)  # rows of five classes


def classified(dtype: DType) -> list[np.ndarray]:
    return [sample(dtype, *ONE_HOT), indices(5, 4, 3)]


CASES: dict[str, list[Case]] = {
    "neg": [Case(np.negative, one)],
    "abs": [Case(np.abs, one)],
    "relu": [Case(relu, one)],
    "sqrt": [Case(np.sqrt, one)],
    "sign": [Case(lambda x: np.sign(x) + x.dtype.type(0), one)],
    "floor": [Case(np.floor, one)],
    "ceil": [Case(np.ceil, one)],
    "round": [Case(np.rint, one)],
    "trunc": [Case(np.trunc, one)],
    "bitwise_not": [Case(np.invert, one)],
    **{
        name: [Case(precise(f), one, ulps=1)]
        for name, f in {
            "exp2": np.exp2,
            "expm1": np.expm1,
            "log2": np.log2,
            "log10": np.log10,
            "log1p": np.log1p,
            "tan": np.tan,
            "asin": np.arcsin,
            "acos": np.arccos,
            "atan": np.arctan,
            "sinh": np.sinh,
            "cosh": np.cosh,
            "asinh": np.arcsinh,
            "acosh": np.arccosh,
            "atanh": np.arctanh,
        }.items()
    },
    "erf": [Case(np.vectorize(erf, [float]), one, ulps=1)],
    "exp": [Case(precise(np.exp), one, ulps=1)],
    "log": [Case(precise(np.log), one, ulps=1)],
    "sin": [Case(precise(np.sin), one, ulps=1)],
    "cos": [Case(precise(np.cos), one, ulps=1)],
    "tanh": [Case(precise(np.tanh), one, ulps=1)],
    "sigmoid": [Case(precise(lambda x: 1 / (1 + np.exp(-x))), one, ulps=2)],
    "copy": [Case(np.copy, one)],
    "add": [Case(np.add, pairs)],
    "sub": [Case(np.subtract, pairs)],
    "mul": [Case(np.multiply, pairs)],
    "div": [Case(np.divide, pairs)],
    "pow": [Case(lambda x, y: x**y, powers, ulps=1)],
    "floor_divide": [Case(widened(floor_divide), divided)],
    "remainder": [Case(widened(np.remainder), divided)],
    "fmod": [Case(np.fmod, divided)],
    "hypot": [Case(precise(np.hypot), pairs, ulps=1)],
    "atan2": [Case(precise(np.arctan2), pairs, ulps=1)],
    "logaddexp": [Case(precise(np.logaddexp), tame, ulps=1)],
    "copysign": [Case(np.copysign, pairs)],
    "relu_grad": [Case(lambda g, z: np.where(z > 0, g, 0), pairs)],
    "tanh_grad": [Case(precise(lambda g, z: g * ((1 - z) * (1 + z))), results, ulps=3)],
    "sigmoid_grad": [Case(precise(lambda g, z: g * (z * (1 - z))), results, ulps=3)],
    "softplus": [Case(precise(lambda x: np.logaddexp(x, 0)), one, ulps=1)],
    "silu": [Case(np.vectorize(silu, [float]), one, ulps=3)],
    "mish": [Case(np.vectorize(mish, [float]), one, ulps=1)],
    "softplus_grad": [Case(np.vectorize(softplus_grad, [float]), results, ulps=1)],
    "silu_grad": [Case(np.vectorize(silu_grad, [float]), results, ulps=2)],
    "mish_grad": [Case(np.vectorize(mish_grad, [float]), results, ulps=4)],
    "gelu": [Case(np.vectorize(gelu, [float]), one, ulps=4)],
    "gelu_tanh": [Case(np.vectorize(gelu_tanh, [float]), one, ulps=1)],
    "gelu_grad": [Case(np.vectorize(gelu_grad, [float]), results, ulps=2)],
    "gelu_tanh_grad": [Case(np.vectorize(gelu_tanh_grad, [float]), results, ulps=2)],
    "bitwise_and": [Case(np.bitwise_and, pairs)],
    "bitwise_or": [Case(np.bitwise_or, pairs)],
    "bitwise_xor": [Case(np.bitwise_xor, pairs)],
    "bitwise_left_shift": [Case(shift(np.left_shift), shifts)],
    "bitwise_right_shift": [Case(shift(np.right_shift), shifts)],
    "maximum": [Case(larger, pairs)],
    "minimum": [Case(smaller, pairs)],
    "eq": [Case(np.equal, pairs)],
    "ne": [Case(np.not_equal, pairs)],
    "lt": [Case(np.less, pairs)],
    "le": [Case(np.less_equal, pairs)],
    "gt": [Case(np.greater, pairs)],
    "ge": [Case(np.greater_equal, pairs)],
    "mul_add": [Case(mul_add, lambda d: [*pairs(d), pairs(d)[0][::-1]])],
    "where": [Case(np.where, choice)],
    "sum": [Case(np.sum, samples((3, 4, 5)), rows(axis)) for axis in (0, -1, (0, 2), (2, 0, 1), ())]
    + [Case(np.sum, samples((3, 0)), rows(1))],
    "prod": [
        Case(
            widened(np.prod), lambda d: [np.abs(sample(d, 2, 3, 2)) % 3 + sample(d, 1)], rows(axis)
        )
        for axis in (0, -1, (0, 2), (2, 0, 1), ())
    ]
    + [Case(widened(np.prod), samples((3, 0)), rows(1))],
    "mean": [
        Case(precise(np.mean), samples((3, 4, 5)), rows(axis), 0.5) for axis in (1, (-1, 0), ())
    ],
    "max": [Case(np.max, samples((3, 4, 5)), rows(axis)) for axis in (1, (0, 2), (0, 1, 2))]
    + [Case(np.max, one, rows(0))],
    "min": [Case(np.min, samples((3, 4, 5)), rows(axis)) for axis in (1, (0, 2), (0, 1, 2))]
    + [Case(np.min, one, rows(0))],
    "argmax": [
        Case(np.argmax, samples((3, 4, 5)), rows(1)),
        Case(lambda x, axis: np.argmax(x.reshape(3, -1), 1), samples((3, 4, 5)), rows((1, 2))),
        Case(lambda x, axis: np.argmax(x), one, rows((0, 1))),
    ],
    "argmin": [
        Case(np.argmin, samples((3, 4, 5)), rows(1)),
        Case(lambda x, axis: np.argmin(x.reshape(3, -1), 1), samples((3, 4, 5)), rows((1, 2))),
        Case(lambda x, axis: np.argmin(x), one, rows((0, 1))),
    ],
    "scan": [
        Case(widened(recurrence), samples((4, 3), (4, 3)), rows(0)),
        Case(widened(recurrence), samples((2, 4, 3), (2, 4, 3)), rows(-2)),
        Case(widened(recurrence), samples((3, 0), (3, 0)), rows(1)),
    ],
    "cummax": [
        Case(np.maximum.accumulate, samples((3, 4, 5)), rows(1)),
        Case(np.maximum.accumulate, one, rows(1)),
    ],
    "argsort": [
        Case(argsort, inputs, {"axis": axis, "descending": descending})
        for inputs, axis in ((samples((3, 40)), 1), (one, -1), (few, 0))
        for descending in (False, True)
    ],
    "matmul": [
        Case(np.matmul, samples((3, 4), (4, 5))),
        Case(np.matmul, samples((2, 2, 3, 4), (2, 2, 4, 1))),
        Case(np.matmul, samples((3, 0), (0, 2))),
    ],
    "linear": [
        Case(widened(layer), samples((3, 4), (5, 4), (5,)), {"relu": relu})
        for relu in (False, True)
    ]
    + [
        Case(widened(layer), samples((2, 3, 4), (5, 4), (5,)), {"relu": True}),
        Case(widened(layer), samples((4,), (5, 4), (5,)), {"relu": False}),
        Case(widened(layer), samples((3, 0), (2, 0), (2,)), {"relu": False}),
    ],
    "conv2d": [
        Case(widened(convolve), samples((2, 3, 6, 7), (4, 3, 2, 3)), conv()),
        Case(widened(convolve), samples((2, 4, 8, 9), (6, 2, 3, 2)), conv((2, 3), (2, 1), 2)),
    ],
    "conv2d_weight": [
        Case(
            widened(lambda x, g, **p: convolve_weight(x, g, (4, 3, 2, 3), **p)),
            samples((2, 3, 6, 7), (2, 4, 5, 5)),
            conv(),
        ),
        Case(
            widened(lambda x, g, **p: convolve_weight(x, g, (6, 2, 3, 2), **p)),
            samples((2, 4, 8, 9), (2, 6, 2, 3)),
            conv((2, 3), (2, 1), 2),
        ),
    ],
    "max_pool2d": [
        Case(pool, samples((2, 3, 6, 7)), pooled((2, 3), (1, 1))),
        Case(pool, samples((2, 3, 8, 9)), pooled((3, 2), (2, 3))),
    ],
    "max_pool2d_grad": [
        Case(
            widened(pool_grad),
            lambda d: [few(d)[0].reshape(1, 2, 5, 6), *samples((1, 2, 2, 3), (1, 2, 2, 3))(d)],
            pooled((2, 2), (2, 2)),
        ),
        Case(
            widened(pool_grad),
            lambda d: [
                few(d)[0].reshape(1, 2, 5, 6),
                few(d)[0].reshape(1, 2, 5, 6)[:, :, :4, :4],
                8 * sample(d, 1, 2, 4, 4),
            ],
            pooled((2, 3), (1, 1)),
        ),
    ],
    "pad": [Case(pad, samples((2, 3)), {"before": (1, 2), "value": 1})],
    "cat": [
        Case(cat, samples((2, 3)), rows(0)),
        Case(cat, samples((2, 3), (2, 0), (2, 4)), rows(-1)),
        Case(cat, samples((2, 3), (1, 3), (4, 3)), rows(0)),
    ],
    "gather": [
        Case(np.take_along_axis, lambda d: [sample(d, 6, 4), indices(6, 3, 4)], rows(0)),
        Case(np.take_along_axis, lambda d: [sample(d, 3, 2, 4), indices(2, 3, 9, 4)], rows(1)),
        Case(np.take_along_axis, lambda d: [sample(d, 6, 4), indices(6, 3, 4) - 4], rows(0)),
    ],
    "scatter_add": [
        Case(
            scatter_add,
            lambda d, low=low: [sample(d, 5, 4), indices(5, 9, 3) - low, sample(d, 9, 3, start=3)],
            rows(0),
        )
        for low in (0, 3)
    ],
    "scatter": [
        Case(
            scatter,
            lambda d: [sample(d, 5, 4), indices(5, 9, 3), sample(d, 9, 3, start=3)],
            rows(0),
        ),
        Case(
            scatter,
            lambda d: [sample(d, 2, 5), indices(5, 2, 7), sample(d, 2, 7, start=3)],
            rows(1),
        ),
        Case(
            scatter,
            lambda d: [sample(d, 2, 5), indices(5, 2, 7) - 3, sample(d, 2, 7, start=3)],
            rows(1),
        ),
    ],
    "nonzero": [Case(np.flatnonzero, lambda d: [indices(3, 4, 5) == 1])],
    "index_select": [
        Case(np.take, lambda d: [sample(d, 6, 4), indices(6, 9)], rows(0)),
        Case(np.take, lambda d: [sample(d, 3, 6, 4), indices(6, 5)], rows(1)),
        Case(np.take, lambda d: [sample(d, 3, 6, 4), indices(6, 5) - 6], rows(1)),
    ],
    "softmax": [Case(precise(softmax), samples((3, 4, 5)), rows(axis), 2) for axis in (-1, (0, 2))],
    "log_softmax": [
        Case(precise(log_softmax), samples((3, 4, 5)), rows(axis), 2) for axis in (1, (0, 2))
    ],
    "cross_entropy": [
        Case(precise(cross_entropy), classified, {"scale": 0.75}, 2),
        Case(
            precise(lambda *xs, scale: cross_entropy(*xs, scale).sum()), classified, {"scale": 2}, 2
        ),
    ],
    "cross_entropy_grad": [
        Case(
            precise(cross_entropy_grad),
            lambda d: [*classified(d), sample(d, 4, 3, start=9)],
            {"scale": 0.75},
            4,
        )
    ],
}


def of_its_op(kernel: str, inputs: int) -> list[Case]:
    """Of an elementwise kernel without a row above: the formula of its op's row in tests/ops."""
    sys.path.append(str(Path(__file__).parents[1] / "ops"))
    table = importlib.import_module("rows_elementwise").CASES
    kind, ulps = agreement(kernel, SIGNATURES[kernel].dtypes[-1])
    oracles = [
        row.oracle if kind == "exact" else precise(row.oracle)
        for row in table
        if row.op == kernel and len(row.shapes) == inputs and row.oracle is not None
    ]
    return [Case(oracle, (one, pairs)[inputs - 1], ulps=ulps) for oracle in oracles[:1]]


for signature in TABLE_OF_KERNELS:
    alike = signature.form == "elementwise" and signature.types in ("TT", "TTT", "bTT")
    wanted = alike and signature.name not in CASES
    if wanted and (found := of_its_op(signature.name, len(signature.types) - 1)):
        CASES[signature.name] = found
