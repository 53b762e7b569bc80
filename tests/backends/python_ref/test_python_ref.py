"""The reference backend against NumPy and against results worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from arrays import LAYOUTS, assert_same, cell, numpy_type, operand, rounded, view
from backend_names import BACKENDS
from kernel_cases import CASES, Case
from kernel_inputs import FIRST_BLOCK, result_dtype, sample, values
from test_python_ref_network import (
    test_attention,
    test_dropout,
    test_gru,
    test_lstm,
    test_norms,
    test_rnn,
)

from tutor.backends import registry
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.core.buffer import Buffer
from tutor.dtype import (
    TABLE,
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int64,
    uint64,
)
from tutor.errors import OutOfRangeError

KERNELS = registry.table("python_ref")
TABLES = [registry.table(name) for name in BACKENDS]
FLOATS = pytest.mark.parametrize(
    "dtype", [float16, bfloat16, float32, float64], ids=lambda d: d.name
)


def answer(name: str, dtype: DType, case: Case, arrays: list[np.ndarray]) -> np.ndarray:
    # NumPy would round its results to float32 first, as mul_add is meant to round its product
    if dtype is bfloat16 and name != "mul_add":
        arrays = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
    with np.errstate(all="ignore"):
        z = np.asarray(case.oracle(*arrays, **case.params))
        return rounded(z, result_dtype(name, dtype))


def laid(array: np.ndarray, dtype: DType, layout: str = "contiguous") -> Operand:
    """An input: of the dtype the kernel is tried for, if it has the type of those numbers."""
    return operand(array, layout, dtype if array.dtype == numpy_type(dtype) else None)


def every(table: dict[str, list[Case]]) -> list[Any]:
    return [
        pytest.param(name, dtype, case, id=f"{name}-{number}-{dtype.name}")
        for name, cases in table.items()
        for number, case in enumerate(cases)
        for dtype in SIGNATURES[name].dtypes
    ]


def run(name: str, dtype: DType, case: Case, inputs: list[Operand], out: Operand) -> np.ndarray:
    KERNELS[name, dtype](out, *inputs, **case.params)
    return view(out)


@pytest.mark.parametrize(("name", "dtype", "case"), every(CASES))
def test_values(name: str, dtype: DType, case: Case) -> None:
    arrays = case.inputs(dtype)
    wanted = answer(name, dtype, case, arrays)
    to = result_dtype(name, dtype)
    out = operand(np.ones_like(wanted), dtype=to)
    found = run(name, dtype, case, [laid(a, dtype) for a in arrays], out)
    assert_same(found, wanted, case.ulps * dtype.eps if dtype.is_float else 0)
    for layout in LAYOUTS:  # the same bits wherever the numbers stand
        out = operand(np.ones_like(wanted), layout, to)
        ins = [laid(a, dtype, layout) for a in arrays]
        assert_same(run(name, dtype, case, ins, out), found)


@pytest.mark.parametrize(("name", "dtype", "case"), every(CASES))
def test_repeated_inputs(name: str, dtype: DType, case: Case) -> None:
    """Stride 0: the first slice stands for all."""
    to, inputs = result_dtype(name, dtype), [laid(a, dtype) for a in case.inputs(dtype)]
    repeated = [x._replace(strides=(0, *x.strides[1:])) for x in inputs]
    copied = [operand(np.array(view(x)), dtype=x.buf.dtype) for x in repeated]
    blank = np.ones_like(answer(name, dtype, case, [view(x) for x in copied]))
    wanted = run(name, dtype, case, copied, operand(blank, dtype=to))
    assert_same(run(name, dtype, case, repeated, operand(blank, dtype=to)), wanted)


# ---- kernels of another form ---------------------------------------------------------------------


@pytest.mark.parametrize("to", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_cast(dtype: DType, to: DType) -> None:
    x = values(dtype)
    out = operand(np.zeros(x.shape, numpy_type(to)), "sliced", to)
    KERNELS["cast", dtype](out, operand(x, "reversed", dtype))
    if dtype.is_float and to.is_integer:
        nearest = [0 if v != v else sorted([to.min, v, to.max])[1] for v in x.tolist()]
        assert_same(view(out), np.array([int(v) for v in nearest], to.format))
    else:
        with np.errstate(over="ignore"):
            assert_same(view(out), rounded(x, to))


@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_fill(dtype: DType) -> None:
    for value in values(dtype):
        out = operand(np.zeros((2, 3), numpy_type(dtype)), "sliced", dtype)
        KERNELS["fill", dtype](out, value=value.item())
        assert_same(view(out), np.full((2, 3), value))
        bits = np.frombuffer(out.buf.raw, f"u{dtype.itemsize}")
        assert np.count_nonzero(bits) == (0 if value == 0 and not np.signbit(value * 1.0) else 6)


@pytest.mark.parametrize("dtype", [d for d in TABLE if d.name != "bool"], ids=lambda d: d.name)
def test_arange(dtype: DType) -> None:
    for start, step, parts in ((3, 2, 1), (100, 50, 1), (-1.5, 0.1, 1), (0, 1, 3), (2, -3, 7)):
        if not dtype.is_float and (parts > 1 or start < 0 or step < 0 or step % 1):
            continue
        out = operand(np.zeros((2, 3), numpy_type(dtype)), "sliced", dtype)
        KERNELS["arange", dtype](out, start=start, step=step, parts=parts)
        i = np.arange(6).reshape(2, 3)
        wanted = start + step * (i / parts) if dtype.is_float else start + step * i
        assert_same(view(out), rounded(wanted, dtype))


@FLOATS
def test_sgd(dtype: DType) -> None:
    p, g, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    new_v = rounded(0.5 * v.astype(float) + (g + 0.25 * p.astype(float)), dtype)
    out, state = operand(p, "sliced", dtype), operand(v, "transposed", dtype)
    KERNELS["sgd", dtype](out, laid(g, dtype), state, cell(0.125), cell(0.5), cell(0.25))
    assert_same(view(state), new_v)
    assert_same(view(out), rounded(p - 0.125 * new_v.astype(float), dtype))


@FLOATS
def test_descend(dtype: DType) -> None:
    p, g = (sample(dtype, 4, 3, start=i) for i in (0, 5))
    out = operand(p, "sliced", dtype)
    KERNELS["descend", dtype](out, laid(g, dtype, "transposed"), cell(0.125), cell(0.25))
    assert_same(view(out), rounded(p - 0.125 * (g + 0.25 * p.astype(float)), dtype))


@FLOATS
def test_adam(dtype: DType) -> None:
    p, g, m, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9, 13))
    v = np.abs(v)
    d = g + 0.25 * p.astype(float)
    new_m = rounded(0.75 * m.astype(float) + 0.25 * d, dtype)
    new_v = rounded(0.5 * v.astype(float) + 0.5 * d * d, dtype)
    rate, root = 0.125 / (1 - 0.75**3), np.sqrt(1 - 0.5**3)  # of the third step
    step = rate * new_m.astype(float) / (np.sqrt(new_v.astype(float)) / root + 0.0625)
    out, moments = operand(p, "sliced", dtype), [laid(m, dtype, "transposed"), laid(v, dtype)]
    settings = [cell(x) for x in (0.125, 0.75, 0.5, 0.0625, 0.25)]
    KERNELS["adam", dtype](out, laid(g, dtype), *moments, *settings, cell(2, uint64))
    assert_same(view(moments[0]), new_m)
    assert_same(view(moments[1]), new_v)
    assert_same(view(out), rounded(p - step, dtype))


@FLOATS
def test_nesterov(dtype: DType) -> None:
    p, g, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    d = g + 0.25 * p.astype(float)
    new_v = rounded(0.5 * v.astype(float) + d, dtype)
    out, state = operand(p, "sliced", dtype), operand(v, "transposed", dtype)
    KERNELS["nesterov", dtype](out, laid(g, dtype), state, cell(0.125), cell(0.5), cell(0.25))
    assert_same(view(state), new_v)
    assert_same(view(out), rounded(p - 0.125 * (d + 0.5 * new_v.astype(float)), dtype))


@FLOATS
def test_adamw(dtype: DType) -> None:
    p, g, m, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9, 13))
    v, wide = np.abs(v), g.astype(float)
    new_m = rounded(0.75 * m.astype(float) + 0.25 * wide, dtype)
    new_v = rounded(0.5 * v.astype(float) + 0.5 * wide * wide, dtype)
    rate, root = 0.125 / (1 - 0.75**3), np.sqrt(1 - 0.5**3)
    step = rate * new_m.astype(float) / (np.sqrt(new_v.astype(float)) / root + 0.0625)
    out, moments = operand(p, "sliced", dtype), [laid(m, dtype, "transposed"), laid(v, dtype)]
    settings = [cell(x) for x in (0.125, 0.75, 0.5, 0.0625, 0.25)]
    KERNELS["adamw", dtype](out, laid(g, dtype), *moments, *settings, cell(2, uint64))
    assert_same(view(moments[0]), new_m)
    assert_same(view(moments[1]), new_v)
    assert_same(view(out), rounded((1 - 0.125 * 0.25) * p.astype(float) - step, dtype))


@FLOATS
def test_rmsprop(dtype: DType) -> None:
    p, g, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    v, d = np.abs(v), g + 0.25 * p.astype(float)
    new_v = rounded(0.75 * v.astype(float) + 0.25 * d * d, dtype)
    out, state = operand(p, "sliced", dtype), operand(v, "transposed", dtype)
    settings = [cell(x) for x in (0.125, 0.75, 0.0625, 0.25)]
    KERNELS["rmsprop", dtype](out, laid(g, dtype), state, *settings)
    assert_same(view(state), new_v)
    step = 0.125 * d / (np.sqrt(new_v.astype(float)) + 0.0625)
    assert_same(view(out), rounded(p - step, dtype))


@FLOATS
def test_adagrad(dtype: DType) -> None:
    p, g, s = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    s, d = np.abs(s), g + 0.25 * p.astype(float)
    new_s = rounded(s.astype(float) + d * d, dtype)
    out, state = operand(p, "sliced", dtype), operand(s, "transposed", dtype)
    settings = [cell(x) for x in (0.125, 0.5, 0.0625, 0.25)]
    KERNELS["adagrad", dtype](out, laid(g, dtype), state, *settings, cell(2, uint64))
    assert_same(view(state), new_s)
    step = 0.125 / (1 + 2 * 0.5) * d / (np.sqrt(new_s.astype(float)) + 0.0625)
    assert_same(view(out), rounded(p - step, dtype))


@FLOATS
def test_lion(dtype: DType) -> None:
    p, g, m = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    out, state = operand(p, "sliced", dtype), operand(m, "transposed", dtype)
    wide_g, wide_m = g.astype(float), m.astype(float)
    settings = [cell(x) for x in (0.125, 0.75, 0.5, 0.25)]
    KERNELS["lion", dtype](out, laid(g, dtype), state, *settings)
    kept = (1 - 0.125 * 0.25) * p.astype(float)
    sign = np.sign(0.75 * wide_m + 0.25 * wide_g)
    assert_same(view(out), rounded(kept - 0.125 * sign, dtype))
    assert_same(view(state), rounded(0.5 * wide_m + 0.5 * wide_g, dtype))


def test_adam_at_rest() -> None:
    """No gradient ever, and no eps: 0 / 0, as IEEE 754 has it."""
    p, zeros = operand(np.ones(2, "f")), [operand(np.zeros(2, "f")) for _ in range(3)]
    for eps in (1e-8, 0.0):
        assert_same(view(p), np.ones(2, "f"))
        settings = [cell(x) for x in (1, 0.5, 0.5, eps, 0)]
        KERNELS["adam", float32](p, *zeros, *settings, cell(0, uint64))
    assert_same(view(p), np.full(2, np.nan, "f"))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-5, -1, 4, 2**40, -(2**63), 2**63 - 1])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("gather", [(2,), (4,)]),
        ("index_select", [(2,), (4,)]),
        ("scatter_add", [(4,), (4,)]),
        ("scatter", [(4,), (4,)]),
        ("cross_entropy", [(2,), (2, 4)]),
        ("cross_entropy_grad", [(2, 4), (2, 4)]),
    ],
)
def test_index_out_of_range(name: str, shapes: list[tuple[int, ...]], index: int) -> None:
    out, x = (operand(np.ones(shape, "f")) for shape in shapes)
    numbers = [x, operand(np.array([1, index])), operand(np.ones(2, "f"))]
    params = {"scale": 1.0} if "scale" in SIGNATURES[name].params else {"axis": 0}
    axis, low = len(shapes[1]) - 1, 0 if "cross" in name else -4
    if low <= index < 4:  # a target is no position: it does not count from the end
        return
    for table in TABLES:
        with pytest.raises(OutOfRangeError) as caught:
            table[name, float32](out, *numbers[: len(SIGNATURES[name].types) - 1], **params)
        assert str(caught.value).splitlines() == [
            f"asked: kernel {name}, index {index} in axis {axis}",
            "found: the axis has size 4",
            f"to do: use {low} to 3",
        ]
        assert (view(out) == 1).all()  # nothing is written


@pytest.mark.parametrize("name", ["gather", "index_select", "scatter", "scatter_add"])
def test_an_empty_axis_has_no_positions(name: str) -> None:
    out, x, index = operand(np.ones(1, "f")), operand(np.ones(0, "f")), operand(np.array([0]))
    operands = (x, x, index, out) if "scatter" in name else (out, x, index)
    for table in TABLES:
        with pytest.raises(OutOfRangeError, match=r"size 0\n.*axis is empty"):
            table[name, float32](*operands, axis=0)


def test_negative_exponent() -> None:
    x = operand(np.array([2, 3]))
    with pytest.raises(ValueError, match=r"3\*\*-1(.|\n)*cast to a float dtype"):
        KERNELS["pow", int64](x, x, operand(np.array([1, -1])))
    assert view(x).tolist() == [2, 3]


def test_operands_must_fit() -> None:
    short, long = operand(np.ones(2, "f")), operand(np.ones(3, "f"))
    for operands in ((long, short, short), (short, long, short), (short, long, long)):
        with pytest.raises(ValueError, match=r"argument|different structures|assignment"):
            KERNELS["add", float32](*operands)


def test_needs_no_package() -> None:
    """NumPy is not imported, and not needed."""
    program = """
import sys
sys.modules["numpy"] = None
from tutor.backends import registry
from tutor.core.buffer import Buffer
from tutor.dtype import float32
x = registry.Operand(Buffer([1.0, -2.0]), (2,), (1,), 0)
registry.lookup("abs", "python_ref", float32)(x, x)
print(x.buf.tolist())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[1.0, 2.0]\n"


@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_fused(dtype: DType) -> None:
    x, y = (sample(dtype, 4, 3, start=i) for i in (0, 5))
    code = "r0 = maximum.T i0 i1; o1 = eq.T i0 r0; o0 = max.T r0".replace("T", dtype.name)
    out, more = operand(x[0], dtype=dtype), operand(x > 0, "sliced")
    params = {"code": code, "results": 2, "axis": (0,)}
    KERNELS["fused", dtype](out, laid(x, dtype, "transposed"), laid(y, dtype), more, **params)
    assert_same(view(out), np.maximum(x, y).max(0))
    assert_same(view(more), x >= y)


# ---- completeness --------------------------------------------------------------------------------

OTHER_CASES = {
    "cast": test_cast,
    "fill": test_fill,
    "arange": test_arange,
    "descend": test_descend,
    "sgd": test_sgd,
    "adam": test_adam,
    "nesterov": test_nesterov,
    "adamw": test_adamw,
    "rmsprop": test_rmsprop,
    "adagrad": test_adagrad,
    "lion": test_lion,
    "fused": test_fused,
    **{f"{norm}{grad}": test_norms
       for norm in ("layer_norm", "rms_norm", "batch_norm", "group_norm")
       for grad in ("", "_grad")},
    "attention": test_attention,
    "attention_grad": test_attention,
    **{f"{cell}{grad}": test for grad in ("", "_grad")
       for cell, test in (("rnn", test_rnn), ("lstm", test_lstm), ("gru", test_gru))},
    "dropout": test_dropout,
}  # fmt: skip


def test_every_kernel_has_a_case() -> None:
    assert {*CASES, *OTHER_CASES, *FIRST_BLOCK} == set(SIGNATURES)
    assert set(KERNELS) == {
        (row.name, dtype) for row in SIGNATURES.values() for dtype in row.dtypes
    }


def test_acosh_is_nan_below_1_whatever_the_c_library_says(monkeypatch):
    """musl's, of which Python in a page is made, gives -11.8 for -32752."""
    kernel = KERNELS["acosh", float64]
    monkeypatch.setattr("math.acosh", lambda x: -11.8 if x < 1 else 2.0)
    x, out = [
        Operand(Buffer(v, dtype=float64), (2,), (1,), 0) for v in ([-32752.0, 3.0], [0.0, 0.0])
    ]
    kernel(out, x)
    assert repr(list(out.buf)) == "[nan, 2.0]"
