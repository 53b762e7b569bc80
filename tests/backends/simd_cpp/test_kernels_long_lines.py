"""What kernels do in another way where there is much of it: argsort deals out by digits, max and
argmax look through blocks of vectors, a transposed matrix is turned by squares of registers."""

from __future__ import annotations

import math
import random

import pytest
from backend_names import LEVELS
from operands import Operand, filled, operand, values

from tutor._storage.bits import pack
from tutor.backends import registry
from tutor.backends.python_ref.reduce import argmax, argmin
from tutor.dtype import TABLE, DType, float32, float64, int64

LENGTHS = [1, 11, 12, 13, 100, 255, 511, 512, 513, 700, 5000]


def numbers(n: int, dtype: DType) -> list:
    """n numbers over the whole range of dtype, many of them twice, a few special."""
    draw = random.Random(n)
    if dtype.is_float:
        few = [draw.gauss(0, 10 ** draw.randint(-3, 3)) for _ in range(n)]
        special = [0.0, -0.0, math.inf, -math.inf, *[math.nan] * (n % 2)]
        few[: n // 4] = [float(round(x)) for x in few[: n // 4]]
    else:
        few = [draw.randint(int(dtype.min), int(dtype.max)) for _ in range(n)]
        special = [int(dtype.min), int(dtype.max)]
        few[: n // 4] = [draw.choice(few) for _ in few[: n // 4]]
    for number in special if n > 20 else []:
        few[draw.randrange(n)] = number
    draw.shuffle(few)
    return [bool(x) for x in few] if dtype.name == "bool" else few


def line(n: int, dtype: DType):
    """An operand, and what it holds after rounding to its dtype."""
    x = filled(numbers(n, dtype), dtype)
    return x, values(x)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_argsort_is_stable(level: str, dtype: DType, descending: bool) -> None:
    kernel = registry.table(level)["argsort", dtype]
    for n in LENGTHS:
        x, held = line(n, dtype)
        out = operand(n, dtype=int64)
        kernel(out, x, axis=0, descending=descending)
        keys = [(v != v, 0 if v != v else v) for v in held]
        # `reverse` keeps the order of equals, too
        assert values(out) == sorted(range(n), key=keys.__getitem__, reverse=descending)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_of_zeros_the_better_one_wins_and_of_all_nan(level: str, dtype: DType, name: str) -> None:
    """max has +0 over -0 and min -0 over +0, wherever it stands among thousands of others."""
    kernel, sign = registry.table(level)[name, dtype], 1.0 if name == "max" else -1.0
    draw = random.Random(0)
    for n in (1, 3, 16, 63, 64, 65, 200, 511, 512, 513, 4095, 4096, 4097, 40_000):
        for special, behind, wanted in (
            (0.0, -1.0, 0.0),
            (-0.0, -1.0, -0.0),
            (0.0, -0.0, 0.0),
            (-2.0, -3.0, -2.0),
            (math.nan, math.inf, math.nan),
        ):
            for place in {0, n // 2, n - 1, draw.randrange(n)}:
                held = [sign * behind] * n
                held[place] = sign * special
                out = operand(dtype=dtype)
                kernel(out, filled(held, dtype), axis=(0,))
                (found,) = values(out)
                assert repr(found) == repr(sign * wanted if wanted == wanted else math.nan), n


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_the_first_of_the_largest_is_found(level: str, dtype: DType, name: str) -> None:
    kernel = registry.table(level)[name, dtype]
    for n in LENGTHS:
        x, held = line(n, dtype)
        out = operand(dtype=int64)
        kernel(out, x, axis=(0,))
        assert values(out) == [{"argmax": argmax, "argmin": argmin}[name](held)]


@pytest.mark.parametrize("columns", [1, 9])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_the_first_of_the_largest_stands_in_another_chunk_than_the_others(
    level: str, dtype: DType, name: str, columns: int
) -> None:
    """Longer ones are cut, every 32,768 elements, and what was found in each piece is compared."""
    kernel, rows, places = registry.table(level)[name, dtype], 70_000, (5, 32_767, 32_768, 69_999)
    other, best = {"argmax": (0, 1), "argmin": (1, 0)}[name]
    for first in range(len(places)):
        for most in (best, math.nan) if dtype.is_float else (best,):
            x, size = operand(rows, dtype=dtype), dtype.itemsize
            x.buf.raw[:] = pack([other], dtype) * rows
            for place in places[first:]:
                x.buf.raw[place * size : (place + 1) * size] = pack([most], dtype)
            repeated = Operand(x.buf, (rows, columns), (1, 0))
            out = operand(columns, dtype=int64)
            kernel(out, repeated, axis=(0,))
            assert values(out) == [places[first]] * columns


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_the_first_of_the_largest_of_each_column(level: str, dtype: DType, name: str) -> None:
    kernel, oracle = registry.table(level)[name, dtype], {"argmax": argmax, "argmin": argmin}[name]
    for rows, columns in (40, 70), (1100, 9):
        x, held = line(rows * columns, dtype)
        out = operand(columns, dtype=int64)
        kernel(out, Operand(x.buf, (rows, columns), (columns, 1)), axis=(0,))
        assert values(out) == [oracle(held[c::columns]) for c in range(columns)]


@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("level", LEVELS)
def test_a_transposed_matrix_is_copied(level: str, dtype: DType) -> None:
    for rows, columns in (16, 32), (33, 70), (100, 31):
        x, _ = line(rows * columns, dtype)
        out = operand(columns, rows, dtype=dtype)
        registry.table(level)["copy", dtype](out, Operand(x.buf, (columns, rows), (1, columns)))
        size = dtype.itemsize
        raw = bytes(x.buf.raw)
        items = [raw[i : i + size] for i in range(0, len(raw), size)]
        assert bytes(out.buf.raw) == b"".join(
            items[r * columns + c] for c in range(columns) for r in range(rows)
        )
