"""The numbers that kernels are tried on, and the first random ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from arrays import rounded

from tutor.backends.signatures import SIGNATURES
from tutor.dtype import DType, bool_, int64, uint64


def values(dtype: DType) -> np.ndarray:
    """The ends of the range, the special values, and some between."""
    if dtype is bool_:
        return np.array([False, True])
    if dtype.is_integer:
        around = {-128, -7, -1, 0, 1, 2, 5, 100, dtype.min, dtype.min + 1, dtype.max}
        return np.array([n for n in sorted(around) if dtype.min <= n <= dtype.max], dtype.format)
    ends = [dtype.max, dtype.smallest_normal, dtype.smallest_subnormal, np.inf, 0.0]
    known = [*ends, 1 / 3, 0.5, 1, 1.5, 3, 11.1, 88.7, 745, 65504]
    with np.errstate(over="ignore"):
        return rounded([*(s * v for v in known for s in (1, -1)), np.nan], dtype)


def one(dtype: DType) -> list[np.ndarray]:
    v = values(dtype)
    return [np.stack([v, v[::-1]])]


def pairs(dtype: DType) -> list[np.ndarray]:
    return [np.array(a) for a in np.meshgrid(values(dtype), values(dtype), indexing="ij")]


def tame(dtype: DType) -> list[np.ndarray]:
    """Pairs whose larger one does not cancel with the logarithm that is added to it."""
    return [np.where((x > -1.4) & (x < 0), -x, x) for x in pairs(dtype)]


def results(dtype: DType) -> list[np.ndarray]:
    """Pairs whose second one may be a result of tanh."""
    x, y = pairs(dtype)
    return [x, np.where(abs(y) <= 1, y, 0.75).astype(y.dtype)]


def powers(dtype: DType) -> list[np.ndarray]:
    x, y = pairs(dtype)
    return [x, np.where(y < 0, 3, y).astype(y.dtype) if dtype.is_integer else y]


def divided(dtype: DType) -> list[np.ndarray]:
    x, y = pairs(dtype)
    return [x, np.where(y == 0, 3, y).astype(y.dtype) if dtype.is_integer else y]


def shifts(dtype: DType) -> list[np.ndarray]:
    counts = np.array([0, 1, 2, 5, 7, 8, 31, 63, 64, 100], dtype.format)
    return [np.array(a) for a in np.meshgrid(values(dtype), counts, indexing="ij")]


def choice(dtype: DType) -> list[np.ndarray]:
    x, y = pairs(dtype)
    return [np.arange(x.size).reshape(x.shape) % 3 == 0, x, y]


def sample(dtype: DType, *shape: int, start: int = 0) -> np.ndarray:
    """Small multiples of 1/8 (for floats): their sums and products are exact in float64."""
    numbers = (np.arange(start, start + math.prod(shape)) * 37 % 53 - 26).reshape(shape)
    return rounded(numbers / 8 if dtype.is_float else numbers, dtype)


def samples(*shapes: tuple[int, ...]) -> Callable[[DType], list[np.ndarray]]:
    return lambda dtype: [sample(dtype, *shape, start=7 * i) for i, shape in enumerate(shapes)]


def few(dtype: DType) -> list[np.ndarray]:
    """Few different numbers, so that many are equal."""
    return [rounded(np.arange(60) * 7 % 11 % 3, dtype)]


def indices(size: int, *shape: int) -> np.ndarray:
    return (np.arange(math.prod(shape)) * 5 % 7 % size).reshape(shape)


def result_dtype(name: str, dtype: DType) -> DType:
    total = dtype if dtype.is_float else uint64 if dtype.kind == "uint" else int64
    return {"T": dtype, "b": bool_, "i": int64, "S": total}[SIGNATURES[name].types[0]]


# ---- random numbers -----------------------------------------------------------------------------

U, V = ((0x6627E8D5_E169C58D >> 11) + 1) / 2**53, (0xBC57AC4C_9B00DBD8 >> 11) / 2**53
RADIUS = math.sqrt(-2 * math.log(U))
FIRST_BLOCK: dict[
    str, dict[str, list[float]]
] = {  # of seed 0: its words are the first of the known answers
    "random_bits": {"uint32": [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]},
    "uniform": {
        "float16": [0x331 / 2**11, 0x70B / 2**11, 0x5E2 / 2**11, 0x4D8 / 2**11],
        "bfloat16": [0x66 / 2**8, 0xE1 / 2**8, 0xBC / 2**8, 0x9B / 2**8],
        "float32": [0x6627E8 / 2**24, 0xE169C5 / 2**24, 0xBC57AC / 2**24, 0x9B00DB / 2**24],
        "float64": [(0x6627E8D5_E169C58D >> 11) / 2**53, (0xBC57AC4C_9B00DBD8 >> 11) / 2**53],
    },
    "normal": {
        dtype: [RADIUS * math.cos(2 * math.pi * V), RADIUS * math.sin(2 * math.pi * V)]
        for dtype in ("float16", "bfloat16", "float32", "float64")
    },
}
