"""The reference backend against results worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arrays import assert_same, operand, view
from kernel_inputs import result_dtype

from tutor.backends import registry
from tutor.dtype import DType, bool_, float16, float32, float64, int8, int64, uint8, uint64

KERNELS = registry.table("python_ref")

INF, NAN = math.inf, math.nan
HAND: list[tuple[str, DType, list[list[Any]], list[Any]]] = [
    ("neg", int8, [[-128, 127]], [-128, -127]),
    ("neg", uint8, [[0, 1, 255]], [0, 255, 1]),
    ("abs", int8, [[-128, -1]], [-128, 1]),
    ("relu", float32, [[-0.0, -INF, INF, NAN, -1]], [0.0, 0.0, INF, NAN, 0.0]),
    ("sqrt", float32, [[-0.0, -1, INF, 2]], [-0.0, NAN, INF, 1.41421353816986083984375]),
    ("exp", float64, [[710, -750, INF, -INF]], [INF, 0.0, INF, 0.0]),
    ("exp", float16, [[11.09375, 11.0]], [INF, 59872.0]),
    ("log", float32, [[0.0, -0.0, -1, INF]], [-INF, -INF, NAN, INF]),
    ("sin", float32, [[INF, -INF, -0.0]], [NAN, NAN, -0.0]),
    ("cos", float32, [[INF, -INF, -0.0]], [NAN, NAN, 1.0]),
    ("sigmoid", float64, [[-INF, INF, 0, -1000, -720]], [0.0, 1.0, 0.5, 0.0, math.exp(-720)]),
    ("add", bool_, [[0, 0, 1, 1], [0, 1, 0, 1]], [0, 1, 1, 1]),
    ("mul", bool_, [[0, 0, 1, 1], [0, 1, 0, 1]], [0, 0, 0, 1]),
    ("add", uint64, [[2**64 - 1], [2]], [1]),
    ("mul", int64, [[2**62], [2]], [-(2**63)]),
    ("div", float32, [[1, -1, 0, 1], [-0.0, -0.0, 0, INF]], [-INF, INF, NAN, 0.0]),
    ("div", float32, [[NAN, INF, -INF], [0, 0, 0]], [NAN, INF, -INF]),
    ("pow", float64, [[NAN, 1, -8, 10], [0, NAN, 1 / 3, 309]], [1, 1, NAN, INF]),
    ("pow", float64, [[0.0, -0.0, -0.0, -0.0], [-1, -1, -2, -0.5]], [INF, -INF, INF, INF]),
    ("pow", float64, [[-10, -10, -1], [309, 310, INF]], [-INF, INF, 1]),
    ("pow", int8, [[-3, 2, 0], [5, 9, 0]], [13, 0, 1]),
    ("maximum", float32, [[0.0, -0.0, -0.0], [-0.0, 0.0, -0.0]], [0.0, 0.0, -0.0]),
    ("minimum", float32, [[0.0, -0.0, 0.0], [-0.0, 0.0, 0.0]], [-0.0, -0.0, 0.0]),
    ("maximum", float32, [[NAN, 1], [1, NAN]], [NAN, NAN]),
    ("minimum", float32, [[NAN, 1], [1, NAN]], [NAN, NAN]),
    ("eq", float32, [[NAN, 0.0], [NAN, -0.0]], [0, 1]),
    ("ne", float32, [[NAN, 0.0], [NAN, -0.0]], [1, 0]),
    ("sign", float32, [[-0.0, -2, INF, NAN]], [0.0, -1, 1, NAN]),
    ("sign", uint8, [[0, 200]], [0, 1]),
    ("floor", float32, [[-0.5, 0.5, -0.0, 2.5, INF, NAN]], [-1, 0.0, -0.0, 2, INF, NAN]),
    ("ceil", float32, [[-0.5, 0.5, -0.0, 2.5, -INF]], [-0.0, 1, -0.0, 3, -INF]),
    ("trunc", float64, [[-0.5, 0.5, -2.5, 2.0**60 + 1]], [-0.0, 0.0, -2, 2.0**60 + 1]),
    ("round", float16, [[0.5, 1.5, 2.5, -0.5, -1.5, 0.6]], [0.0, 2, 2, -0.0, -2, 1]),
    ("bitwise_not", bool_, [[0, 1]], [1, 0]),
    ("bitwise_not", uint8, [[0, 0b1010]], [255, 0b11110101]),
    ("exp2", float64, [[10, -1074, -1076, 1024]], [1024, 2.0**-1074, 0.0, INF]),
    ("expm1", float64, [[2.0**-60, -0.0, -INF, 710]], [2.0**-60, -0.0, -1, INF]),
    ("log2", float64, [[1024, 2.0**-1074, 0, -1]], [10, -1074, -INF, NAN]),
    ("log10", float64, [[1000, -0.0, -INF]], [3, -INF, NAN]),
    ("log1p", float64, [[2.0**-60, -1, -2, -0.0]], [2.0**-60, -INF, NAN, -0.0]),
    ("tan", float32, [[INF, -0.0]], [NAN, -0.0]),
    ("asin", float64, [[1, -1, 1.5, -0.0]], [math.pi / 2, -math.pi / 2, NAN, -0.0]),
    ("acos", float64, [[1, -1, -1.5]], [0.0, math.pi, NAN]),
    ("atan", float64, [[INF, -INF]], [math.pi / 2, -math.pi / 2]),
    ("sinh", float64, [[-1000, 1000, -INF]], [-INF, INF, -INF]),
    ("cosh", float64, [[-1000, 1000, -INF]], [INF, INF, INF]),
    ("acosh", float64, [[1, 0.5, INF]], [0.0, NAN, INF]),
    ("atanh", float64, [[1, -1, 2, -0.0]], [INF, -INF, NAN, -0.0]),
    ("erf", float64, [[INF, -7, -0.0]], [1, -1, -0.0]),
    ("floor_divide", float64, [[7, -7, 7, -7], [2, 2, -2, -2]], [3, -4, -4, 3]),
    ("floor_divide", float64, [[1, -1, 0, NAN, 0], [0, 0, 0, 0, -0.0]], [INF, -INF, NAN, NAN, NAN]),
    ("floor_divide", float64, [[INF, 1, -1, 0], [2, INF, INF, -3]], [NAN, 0.0, -1, -0.0]),
    ("floor_divide", float32, [[1], [0.1]], [9]),  # 0.1 is a little more than a tenth
    ("floor_divide", int8, [[7, -7, -128], [-2, 2, -1]], [-4, -4, -128]),
    ("remainder", float64, [[7, -7, 7, -7], [2, 2, -2, -2]], [1, 1, -1, -1]),
    ("remainder", float64, [[4, -4, 1, INF, -1], [-2, 2, 0, 2, INF]], [-0.0, 0.0, NAN, NAN, INF]),
    ("remainder", int8, [[7, -7, -128], [-2, 2, -1]], [-1, 1, 0]),
    (
        "fmod",
        float64,
        [[7, -7, -4, 1, INF, -1], [-2, 2, 2, 0, 2, INF]],
        [1, -1, -0.0, NAN, NAN, -1],
    ),
    ("fmod", int8, [[7, -7, -128], [-2, 2, -1]], [1, -1, 0]),
    ("hypot", float64, [[3, 1e308, INF, NAN], [-4, 0, NAN, 1]], [5, 1e308, INF, NAN]),
    ("atan2", float64, [[0, -0.0, 0, 1], [-1, -1, 1, 0]], [math.pi, -math.pi, 0.0, math.pi / 2]),
    ("logaddexp", float64, [[0, INF, -INF, -INF], [0, INF, -INF, 3]], [math.log(2), INF, -INF, 3]),
    ("logaddexp", float64, [[1000, NAN, INF], [-1000, 1, -INF]], [1000, NAN, INF]),
    ("copysign", float64, [[3, -3, INF], [-0.0, 1, -NAN]], [-3, 3, -INF]),
    ("mul_add", float32, [[1 + 2**-12, 2], [1 + 2**-12, 3], [-1 - 2**-11, INF]], [0.0, INF]),
    ("mul_add", float16, [[300], [300], [-64992]], [25008]),  # 300 * 300 is beyond float16
    ("bitwise_and", bool_, [[0, 1, 1], [1, 0, 1]], [0, 0, 1]),
    ("bitwise_xor", int8, [[0b1100, -1], [0b1010, 1]], [0b0110, -2]),
    ("bitwise_left_shift", int8, [[1, 1, 3, -1], [7, 8, 100, 1]], [-128, 0, 0, -2]),
    ("bitwise_left_shift", uint64, [[1, 1, 5], [63, 64, 2**64 - 1]], [2**63, 0, 0]),
    ("bitwise_right_shift", int8, [[-128, -1, 127, 127], [7, 100, 6, 7]], [-1, -1, 1, 0]),
    ("cast", float32, [[-0.5, 300, -INF, NAN, 254.9]], [0, 255, 0, 0, 254]),
]


@pytest.mark.parametrize(("name", "dtype", "inputs", "wanted"), HAND)
def test_by_hand(name: str, dtype: DType, inputs: list[list[Any]], wanted: list[Any]) -> None:
    to = uint8 if name == "cast" else result_dtype(name, dtype)
    out = operand(np.zeros(len(wanted), to.format))
    KERNELS[name, dtype](out, *(operand(np.array(x, dtype.format)) for x in inputs))
    assert_same(view(out), np.array(wanted, to.format))


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        ([1000, 1000], [1 / 2, 1 / 2]),  # e**1000 would be infinite
        ([-INF, 0], [0.0, 1.0]),
        ([0, NAN], [NAN, NAN]),
        ([0, INF], [NAN, NAN]),  # inf - inf
    ],
)
def test_softmax_by_hand(x: list[float], wanted: list[float]) -> None:
    out = operand(np.zeros(2, "d"))
    KERNELS["softmax", float64](out, operand(np.array(x, "d")), axis=0)
    assert_same(view(out), np.array(wanted, "d"))
    KERNELS["log_softmax", float64](out, operand(np.array(x, "d")), axis=0)
    with np.errstate(divide="ignore"):
        assert_same(view(out), np.log(np.array(wanted, "d")))


@pytest.mark.parametrize(
    ("name", "terms", "wanted"),
    [
        ("sum", [INF, -INF], NAN),
        ("sum", [INF, 1e308], INF),
        ("sum", [1e308, 1e308], INF),
        ("sum", [1e308, 1e308, -1e308], 1e308),
        ("sum", [1e16, 1, -1e16], 1),
        ("mean", [], NAN),
        ("prod", [], 1),
        ("prod", [INF, 0], NAN),
        ("prod", [-1, 0.0], -0.0),
        ("max", [1, NAN, 2], NAN),
        ("min", [0.0, -0.0], -0.0),
    ],
)
def test_reductions_by_hand(name: str, terms: list[float], wanted: float) -> None:
    out = operand(np.zeros((), "d"))
    KERNELS[name, float64](out, operand(np.array(terms, "d")), axis=(0,))
    assert_same(view(out), np.array(wanted, "d"))


@pytest.mark.parametrize(
    ("name", "dtype", "to", "inputs", "wanted"),
    [
        # To float32 first these would be ties, and go down to the even neighbour.
        ("cast", float64, float16, [1 + 2**-11 + 2**-40], 1 + 2**-10),
        ("cast", int64, float32, [2**62 + 2**38 + 1], 2.0**62 + 2.0**39),
        ("cast", int64, float32, [-(2**62) - 2**38 - 1], -(2.0**62) - 2.0**39),
        ("cast", uint64, float32, [2**63 + 2**39], 2.0**63),  # and this is a tie
        ("cast", float64, float32, [3.4028235677973366e38], INF),
        ("cast", float64, float16, [65519.999], 65504),
        ("cast", float64, float16, [-65520], -INF),
        # One rounding for the whole sum, not one for each term.
        ("sum", float16, float16, [1, *[2**-11] * 4], 1 + 2**-9),
        ("sum", float32, float32, [1, *[2**-25] * 8], 1 + 2**-22),
        ("mean", float16, float16, [60000.0, 60000.0], 60000.0),
    ],
)
def test_rounded_once(name: str, dtype: DType, to: DType, inputs: list[Any], wanted: float) -> None:
    reduces = name != "cast"
    out = operand(np.zeros(() if reduces else len(inputs), to.format))
    KERNELS[name, dtype](
        out, operand(np.array(inputs, dtype.format)), **({"axis": 0} if reduces else {})
    )
    assert_same(view(out), np.full(out.shape, wanted, to.format))


AXIS, FALLING = {"axis": 0, "descending": False}, {"axis": 0, "descending": True}


@pytest.mark.parametrize(
    ("name", "dtype", "inputs", "params", "wanted"),
    [
        ("scan", float64, [[9, 2, 3], [1, 10, 100]], {"axis": 0}, [1, 12, 136]),
        ("scan", int8, [[9, 100, 2], [3, 0, 1]], {"axis": 0}, [3, 44, 89]),  # 300 is 44, 601 is 89
        ("scan", float64, [[0, INF], [1, 0]], {"axis": 0}, [1, INF]),
        ("scan", float64, [[0, INF, 0], [0, 1, 1]], {"axis": 0}, [0.0, NAN, NAN]),
        (
            "cummax",
            float32,
            [[-0.0, 0.0, -1, 2, NAN, 9]],
            {"axis": 0},
            [-0.0, 0.0, 0.0, 2, NAN, NAN],
        ),
        ("argsort", float32, [[3, NAN, -0.0, 0.0, -INF, NAN]], AXIS, [4, 2, 3, 0, 1, 5]),
        ("argsort", float32, [[3, NAN, -0.0, 0.0, -INF, NAN]], FALLING, [1, 5, 0, 2, 3, 4]),
        ("argsort", bool_, [[1, 0, 1, 0]], FALLING, [0, 2, 1, 3]),
        ("nonzero", bool_, [[0, 1, 1, 0, 1]], {}, [1, 2, 4]),
    ],
)
def test_along_an_axis_by_hand(
    name: str, dtype: DType, inputs: list[list[Any]], params: dict[str, Any], wanted: list[Any]
) -> None:
    out = operand(np.zeros(len(wanted), result_dtype(name, dtype).format))
    KERNELS[name, dtype](out, *(operand(np.array(x, dtype.format)) for x in inputs), **params)
    assert_same(view(out), np.array(wanted, out.buf.dtype.format))


def test_a_scan_is_rounded_where_it_is_written() -> None:
    """2049 has one bit more than float16, and what goes on along the axis keeps it."""
    x, out = operand(np.array([0, 1, 1], "e")), operand(np.zeros(3, "e"))
    KERNELS["scan", float16](out, x, operand(np.array([2048, 1, 1], "e")), axis=0)
    assert_same(view(out), np.array([2048, 2048, 2050], "e"))


def test_integers_of_a_scan_do_not_explode() -> None:
    n = 3000
    x, out = operand(np.full(n, 3)), operand(np.zeros(n, "q"))
    KERNELS["scan", int64](out, x, operand(np.ones(n, "q")), axis=0)
    assert view(out)[-1] == ((3**n - 1) // 2 + 2**63) % 2**64 - 2**63


def test_scatter_in_place_and_the_last_one_stays() -> None:
    x = operand(np.arange(5.0))
    index, src = operand(np.array([1, 4, 1])), operand(np.array([7.0, 8.0, 9.0]))
    KERNELS["scatter", float64](x, x, index, src, axis=0)
    assert view(x).tolist() == [0, 9, 2, 3, 8]


def test_matmul_is_rounded_once() -> None:
    x, out = operand(np.array([[256, 1, -256]], "e")), operand(np.zeros((1, 1), "e"))
    KERNELS["matmul", float16](out, x, operand(np.array([[256], [1], [256]], "e")))
    assert_same(view(out), np.array([[1]], "e"))
