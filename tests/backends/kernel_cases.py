"""What kernels are tried on: for each a row of inputs, parameters and NumPy's answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from arrays import numpy_type

from tutor.dtype import DType, bool_

# ---- the numbers that kernels are tried on -------------------------------------------------------


def values(dtype: DType) -> np.ndarray:
    """The ends of the range, the special values, and some between."""
    if dtype is bool_:
        return np.array([False, True])
    if dtype.is_integer:
        around = {-128, -7, -1, 0, 1, 2, 5, 100, dtype.min, dtype.min + 1, dtype.max}
        return np.array([n for n in sorted(around) if dtype.min <= n <= dtype.max], dtype.format)
    info = np.finfo(numpy_type(dtype))
    ends = [info.max, info.tiny, info.smallest_subnormal, np.inf, 0.0]
    signed = [s * v for v in [*ends, 1 / 3, 0.5, 1, 3, 11.1, 88.7, 745, 65504] for s in (1, -1)]
    with np.errstate(over="ignore"):
        return np.array([*signed, np.nan], dtype.format)


def one(dtype: DType) -> list[np.ndarray]:
    v = values(dtype)
    return [np.stack([v, v[::-1]])]


def pairs(dtype: DType) -> list[np.ndarray]:
    return [np.array(a) for a in np.meshgrid(values(dtype), values(dtype), indexing="ij")]


def powers(dtype: DType) -> list[np.ndarray]:
    x, y = pairs(dtype)
    return [x, np.where(y < 0, 3, y).astype(y.dtype) if dtype.is_integer else y]


def choice(dtype: DType) -> list[np.ndarray]:
    x, y = pairs(dtype)
    return [np.arange(x.size).reshape(x.shape) % 3 == 0, x, y]


def sample(dtype: DType, *shape: int, start: int = 0) -> np.ndarray:
    """Small multiples of 1/8 (for floats): their sums and products are exact in float64."""
    numbers = (np.arange(start, start + math.prod(shape)) * 37 % 53 - 26).reshape(shape)
    return (numbers / 8 if dtype.is_float else numbers).astype(dtype.format)


def samples(*shapes: tuple[int, ...]) -> Callable[[DType], list[np.ndarray]]:
    return lambda dtype: [sample(dtype, *shape, start=7 * i) for i, shape in enumerate(shapes)]


def indices(size: int, *shape: int) -> np.ndarray:
    return (np.arange(math.prod(shape)) * 5 % 7 % size).reshape(shape)


# ---- one row per kernel --------------------------------------------------------------------------


class Case(NamedTuple):
    oracle: Callable[..., Any]  # of the inputs, as NumPy arrays, and the parameters
    inputs: Callable[[DType], list[np.ndarray]]
    params: Mapping[str, Any] = MappingProxyType({})
    ulps: float = 0


def precise(f: Callable[..., Any]) -> Callable[..., Any]:
    """f in at least float64; in 80 bits where the machine has them."""
    return lambda *xs, **params: f(*(x.astype(np.longdouble) for x in xs), **params)


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
    "maximum": [Case(larger, pairs)],
    "minimum": [Case(smaller, pairs)],
    "eq": [Case(np.equal, pairs)],
    "ne": [Case(np.not_equal, pairs)],
    "lt": [Case(np.less, pairs)],
    "le": [Case(np.less_equal, pairs)],
    "gt": [Case(np.greater, pairs)],
    "ge": [Case(np.greater_equal, pairs)],
    "where": [Case(np.where, choice)],
    "sum": [Case(np.sum, samples((3, 4, 5)), rows(axis)) for axis in (0, -1, (0, 2), (2, 0, 1), ())]
    + [Case(np.sum, samples((3, 0)), rows(1))],
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
    "matmul": [
        Case(np.matmul, samples((3, 4), (4, 5))),
        Case(np.matmul, samples((2, 2, 3, 4), (2, 2, 4, 1))),
        Case(np.matmul, samples((3, 0), (0, 2))),
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
    ],
    "scatter_add": [
        Case(
            scatter_add,
            lambda d: [sample(d, 5, 4), indices(5, 9, 3), sample(d, 9, 3, start=3)],
            rows(0),
        )
    ],
    "index_select": [
        Case(np.take, lambda d: [sample(d, 6, 4), indices(6, 9)], rows(0)),
        Case(np.take, lambda d: [sample(d, 3, 6, 4), indices(6, 5)], rows(1)),
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


# ---- random numbers -----------------------------------------------------------------------------

U, V = ((0x6627E8D5_E169C58D >> 11) + 1) / 2**53, (0xBC57AC4C_9B00DBD8 >> 11) / 2**53
RADIUS = math.sqrt(-2 * math.log(U))
FIRST_BLOCK = {  # of seed 0: its words are the first of the known answers
    "random_bits": {"uint32": [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]},
    "uniform": {
        "float16": [0x331 / 2**11, 0x70B / 2**11, 0x5E2 / 2**11, 0x4D8 / 2**11],
        "float32": [0x6627E8 / 2**24, 0xE169C5 / 2**24, 0xBC57AC / 2**24, 0x9B00DB / 2**24],
        "float64": [(0x6627E8D5_E169C58D >> 11) / 2**53, (0xBC57AC4C_9B00DBD8 >> 11) / 2**53],
    },
    "normal": {
        dtype: [RADIUS * math.cos(2 * math.pi * V), RADIUS * math.sin(2 * math.pi * V)]
        for dtype in ("float16", "float32", "float64")
    },
}
