"""What the bindings check before a kernel runs: shapes, dtypes, number of operands, keywords."""

from __future__ import annotations

from typing import Any

import pytest
from operands import Block, Operand, filled, operand, values

from tutor.backends import simd_cpp
from tutor.backends.simd_cpp import _simd
from tutor.dtype import (
    BY_NAME,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint32,
    uint64,
)  # fmt: skip
from tutor.errors import AxisError, DomainError, DTypeError, OutOfRangeError, ShapeError

KERNELS = simd_cpp.table(simd_cpp.levels()[-1])
HUGE = 2**62

# ---- Shapes --------------------------------------------------------------------------------------


def index(*values: int) -> Any:
    return filled(list(values), int64)


X = operand(2, 3)
IMAGE = operand(1, 3, 4, 5)
STEPS = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}
CONV, POOL = STEPS | {"groups": 1}, STEPS | {"size_h": 2, "size_w": 2}
FAR = {"dilation_h": 2**62 + 2**61}
SHAPES = {
    "add": (operand(2, 3), X, operand(3, 2)),
    "add, ndim": (operand(6), X, X),
    "matmul, inner": (operand(2, 2), X, X),
    "matmul, rows": (operand(3, 3), X, operand(3, 3)),
    "matmul, 1-D": (operand(2), X, operand(3)),
    "matmul, batch": (operand(4, 2, 2), operand(4, 2, 3), operand(5, 3, 2)),
    "linear": (operand(2, 4), X, operand(4, 2), operand(4), {"relu": 0}),
    "linear, bias": (operand(2, 4), X, operand(4, 3), operand(3), {"relu": 0}),
    "linear, rows": (operand(3, 4), X, operand(4, 3), operand(4), {"relu": 0}),
    "linear, 0-d": (operand(), operand(), operand(4, 3), operand(4), {"relu": 0}),
    "linear, w": (operand(2, 4), X, operand(1, 4, 3), operand(4), {"relu": 0}),
    "max": (operand(2), X, {"axis": 0}),
    "max, nothing left": (operand(1), X, {"axis": (0, 1)}),
    "pad, too far": (operand(2, 4), X, {"before": (0, 2), "value": 0}),
    "pad, negative": (operand(4, 4), X, {"before": (-1, 0), "value": 0}),
    "pad, overflow": (operand(4, 4), X, {"before": (2**63 - 1, 0), "value": 0}),
    "pad, count": (operand(4, 4), X, {"before": (0,), "value": 0}),
    "cat": (operand(2, 5), X, X, {"axis": 1}),
    "cat, others": (operand(2, 6), X, operand(3, 3), {"axis": 1}),
    "gather": (operand(2, 2), X, operand(3, 2, dtype=int64), {"axis": 1}),
    "gather, x": (operand(3, 2), X, operand(3, 2, dtype=int64), {"axis": 1}),
    "scatter_add": (X, X, operand(3, 3, dtype=int64), operand(3, 3), {"axis": 1}),
    "scatter_add, x": (operand(2, 4), X, operand(2, 1, dtype=int64), operand(2, 1), {"axis": 1}),
    "scatter": (X, X, operand(3, 3, dtype=int64), operand(3, 3), {"axis": 1}),
    "scatter, index": (X, X, operand(2, 1, dtype=int64), operand(2, 2), {"axis": 1}),
    "scan": (X, X, operand(2, 2), {"axis": 1}),
    "scan, out": (operand(3, 2), X, X, {"axis": 1}),
    "cummax": (operand(2), X, {"axis": 1}),
    "argsort": (operand(3, 2, dtype=int64), X, {"axis": 0, "descending": False}),
    "conv2d": (operand(1, 3, 4, 5), operand(1, 2, 5, 6), operand(3, 2, 2, 3), CONV),
    "conv2d, groups": (IMAGE, operand(1, 2, 5, 6), operand(3, 1, 2, 2), CONV | {"groups": 2}),
    "conv2d, ndim": (IMAGE, operand(2, 5, 6), operand(3, 2, 2, 2), CONV),
    "conv2d, too far": (IMAGE, operand(1, 2, 5, 6), operand(3, 2, 2, 2), CONV | FAR),
    "conv2d, no taps": (IMAGE, operand(1, 2, 5, 6), operand(3, 2, 0, 2), CONV),
    "conv2d_weight": (operand(3, 2, 2, 3), operand(1, 2, 5, 6), operand(1, 3, 5, 4), CONV),
    "max_pool2d": (operand(1, 2, 4, 5), operand(1, 2, 5, 6), POOL | {"size_w": 3}),
    "max_pool2d, channels": (operand(1, 3, 4, 5), operand(1, 2, 5, 6), POOL),
    "max_pool2d, too large": (operand(1, 2, 4, 5), operand(1, 2, 5, 6), POOL | {"size_h": 2**62}),
    "max_pool2d_grad": (*[operand(1, 2, 5, 6)] * 2, *[operand(1, 2, 4, 4)] * 2, POOL),
    "prod": (operand(2), X, {"axis": 0}),
    "descend": (X, operand(3, 2), *[operand(dtype=float64)] * 2),
    "descend, a cell": (X, X, operand(dtype=float64), operand(1, dtype=float64)),
    "sgd, the state": (X, X, operand(2), *[operand(dtype=float64)] * 3),
    "adam, the count": (*[X] * 4, *[operand(dtype=float64)] * 5, operand(1, dtype=uint64)),
    "normal": (X, operand(1, dtype=uint64), operand(dtype=uint64), {"blocks": 1}),
    "uniform": (X, operand(dtype=uint64), operand(0, dtype=uint64), {"blocks": 1}),
    "index_select": (operand(2, 3), X, index(0, 1), {"axis": 1}),
    "index_select, 2-D": (X, X, operand(2, 3, dtype=int64), {"axis": 1}),
    "cross_entropy": (operand(2), X, index(0, 1, 2), {"scale": 1}),
    "cross_entropy, out": (operand(1), X, index(0, 1), {"scale": 1}),
    "cross_entropy_grad": (X, X, index(0, 1), operand(3), {"scale": 1}),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_that_do_not_fit_are_refused(case):
    *operands, params = SHAPES[case] if isinstance(SHAPES[case][-1], dict) else (*SHAPES[case], {})
    with pytest.raises(ShapeError) as caught:
        KERNELS[case.split(",")[0], float32](*operands, **params)
    assert str(operands[0].shape) in caught.value.found
    assert caught.value.do


@pytest.mark.parametrize("wrong", [0, -1, 1.5, 2**64 + 1, float("nan")])
@pytest.mark.parametrize("name", [*CONV, "size_h", "size_w"])
def test_windows_count_from_one(name, wrong):
    out, x, w = operand(1, 2, 4, 5), operand(1, 2, 5, 6), operand(2, 2, 2, 2)
    call = ("conv2d", (out, x, w), CONV) if name in CONV else ("max_pool2d", (out, x), POOL)
    kernel, operands, params = call
    with pytest.raises(DomainError, match=name):
        KERNELS[kernel, float32](*operands, **params | {name: wrong})


# ---- Dtypes and keywords -------------------------------------------------------------------------

DTYPES = {
    "add": [(int32, float32, float32), (float32, int32, float32), (float32, float32, int32)],
    "eq": [(float32, float32, float32), (bool_, float32, int32)],
    "where": [(float32, float32, float32, float32), (float32, bool_, float32, int32)],
    "cast": [(int32, int32)],
    "add for bfloat16": [(bfloat16, float16, bfloat16), (float16, bfloat16, bfloat16)],
    "argsort": [(float32, float32), (int32, float32)],
    "descend": [(float32, float32, float32, float64), (float32, float64, float64, float64)],
    "uniform": [(float32, uint64, int64), (float32, uint32, uint64)],
    "nonzero for bool": [(int32, bool_), (int64, int8), (bool_, bool_)],
}


@pytest.mark.parametrize(("name", "dtypes"), [(n, d) for n, ds in DTYPES.items() for d in ds])
def test_dtypes_that_do_not_fit_are_refused(name, dtypes):
    kernel, _, dtype = name.partition(" for ")
    params = {"argsort": {"axis": 0, "descending": False}}.get(kernel, {})
    with pytest.raises(DTypeError):
        KERNELS[kernel, BY_NAME[dtype or "float32"]](
            *(operand(6, dtype=d) for d in dtypes), **params
        )


def test_a_sum_is_as_wide_as_its_letter_says():
    KERNELS["sum", int8](operand(dtype=int64), operand(6, dtype=int8), axis=0)
    with pytest.raises(DTypeError):
        KERNELS["sum", int8](operand(dtype=int8), operand(6, dtype=int8), axis=0)


@pytest.mark.parametrize("count", [0, 1, 2, 4, 30])
def test_a_wrong_number_of_operands_is_refused(count):
    with pytest.raises(TypeError, match="operands"):
        KERNELS["add", float32](*[operand(6)] * count)
    with pytest.raises(TypeError, match="operands"):
        KERNELS["cat", float32](*[operand(6)] * (count > 0), axis=0)


def test_cat_takes_more_inputs_than_fit_on_the_stack():
    out = operand(60)
    KERNELS["cat", float32](out, *(filled([float(i)] * 2) for i in range(30)), axis=-1)
    assert values(out) == [float(i // 2) for i in range(60)]


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({}, "'value' is missing"),
        ({"value": 1, "axis": 0}, "'axis' is not among"),
        ({"valeu": 1}, "'value' is missing"),
        ({"value": "1"}, "not str"),
        ({"value": None}, "not NoneType"),
        ({"value": 1j}, "not complex"),
    ],
)
def test_wrong_keywords_are_refused(params, match):
    with pytest.raises(TypeError, match=match):
        KERNELS["fill", float32](operand(6), **params)


@pytest.mark.parametrize("axis", [2, -3, HUGE, -(2**70), 2**70, (0, 0), (0, -2), (0, 1, 0)])
def test_wrong_axes_are_refused(axis):
    with pytest.raises(AxisError):
        KERNELS["max", float32](operand(2), operand(2, 3), axis=axis)


@pytest.mark.parametrize("axis", [(), (0, 1)])
def test_only_reductions_take_any_number_of_axes(axis):
    for kernel in ("softmax", "cummax"):
        with pytest.raises(AxisError):
            KERNELS[kernel, float32](operand(2, 3), operand(2, 3), axis=axis)
    KERNELS["max", float32](operand(2, 3) if not axis else operand(), operand(2, 3), axis=axis)


@pytest.mark.parametrize("axis", [None, 1.0, "0", [0], (0.0,), (None,)])
def test_an_axis_is_an_int_or_a_tuple_of_them(axis):
    with pytest.raises(TypeError):
        KERNELS["max", float32](operand(2), operand(2, 3), axis=axis)


def test_numbers_keep_their_bits():
    for dtype, number in [(int64, -(2**63)), (uint64, 2**64 - 1), (int64, 2**53 + 1)]:
        out = operand(1, dtype=dtype)
        KERNELS["fill", dtype](out, value=number)
        assert values(out) == [number]
    out = operand(1, dtype=int64)
    for number, expected in [(-2.9, -2), (True, 1), (float("nan"), 0), (float("inf"), 0)]:
        KERNELS["fill", int64](out, value=number)
        assert values(out) == [expected]


def test_out_must_be_writable_and_without_repeated_elements():
    frozen = Operand(Block(_simd.Memory.borrow(bytes(24), 6, 4, "f"), float32), (6,), (1,))
    with pytest.raises(DTypeError, match="read-only"):
        KERNELS["neg", float32](frozen, operand(6))
    KERNELS["neg", float32](operand(6), frozen)
    with pytest.raises(ShapeError, match="stride 0"):
        KERNELS["neg", float32](Operand(operand(6).buf, (6,), (0,)), operand(6))
    settings = [operand(dtype=float64)] * 3
    with pytest.raises(DTypeError, match="read-only"):
        KERNELS["sgd", float32](operand(6), operand(6), frozen, *settings)
    stopped = Operand(Block(_simd.Memory.borrow(bytes(8), 1, 8, "Q"), uint64), (), ())
    with pytest.raises(DTypeError, match=r"input 2(.|\n)*read-only"):
        KERNELS["uniform", float32](operand(6), operand(dtype=uint64), stopped, blocks=1)
    KERNELS["uniform", float32](operand(6), stopped, operand(dtype=uint64), blocks=1)


def test_nonzero_takes_any_shape_and_gives_one_axis():
    x = filled([True] * 6, bool_)
    x.shape, x.strides = (2, 3), (3, 1)
    out = operand(6, dtype=int64)
    KERNELS["nonzero", bool_](out, x)
    assert values(out) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ShapeError, match="one axis"):
        KERNELS["nonzero", bool_](operand(2, 3, dtype=int64), x)


def test_values_that_a_kernel_refuses():
    with pytest.raises(OutOfRangeError):
        KERNELS["gather", float32](operand(2), operand(3), index(0, 7), axis=0)
    with pytest.raises(DomainError, match="negative power"):
        KERNELS["pow", int64](index(0), index(2), index(-1))


def test_an_index_may_share_memory_with_out():
    """It is copied before it is checked: what the kernel writes cannot make it point elsewhere."""
    far = 10**15
    x = filled([far, 3, -far, 0], int64)
    for strides, offset, expected in [((1,), 0, [0, 3, -far, far]), ((-1,), 3, [far, -far, 3, 0])]:
        out = filled([3, 1, 2, 0], int64)
        index = Operand(out.buf, (4,), strides, offset)
        KERNELS["gather", int64](out, x, index, axis=0)
        assert values(out) == expected
    out = filled([3, 1, 2, 0], int64)
    KERNELS["gather", int64](out, x, Operand(out.buf, (4,), (0,), 2), axis=0)
    assert values(out) == [-far] * 4
