"""The reference backend against NumPy and against results worked out by hand."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from arrays import LAYOUTS, assert_same, operand, view
from kernel_cases import CASES, FIRST_BLOCK, Case, sample, values

from tutor.backends import registry
from tutor.backends.registry import Operand
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import TABLE, DType, bool_, float16, float32, float64, int8, int64, uint8, uint64
from tutor.errors import OutOfRangeError

KERNELS = registry.table("python_ref")
FLOATS = pytest.mark.parametrize("dtype", [float16, float32, float64], ids=lambda d: d.name)


def result_dtype(name: str, dtype: DType) -> DType:
    total = dtype if dtype.is_float else uint64 if dtype.kind == "uint" else int64
    return {"T": dtype, "b": bool_, "i": int64, "S": total}[SIGNATURES[name].types[0]]


def answer(name: str, dtype: DType, case: Case, arrays: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        z = np.asarray(case.oracle(*arrays, **case.params))
        return z.astype(result_dtype(name, dtype).format)


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
    out = operand(np.ones_like(wanted))
    found = run(name, dtype, case, [operand(a) for a in arrays], out)
    assert_same(found, wanted, case.ulps if dtype.is_float else 0)
    for layout in LAYOUTS:  # the same bits wherever the numbers stand
        out = operand(np.ones_like(wanted), layout)
        assert_same(run(name, dtype, case, [operand(a, layout) for a in arrays], out), found)


@pytest.mark.parametrize(("name", "dtype", "case"), every(CASES))
def test_repeated_inputs(name: str, dtype: DType, case: Case) -> None:
    """Stride 0: the first slice stands for all."""
    inputs = [operand(a) for a in case.inputs(dtype)]
    repeated = [x._replace(strides=(0, *x.strides[1:])) for x in inputs]
    copied = [operand(np.array(view(x))) for x in repeated]
    blank = np.ones_like(answer(name, dtype, case, [view(x) for x in inputs]))
    wanted = run(name, dtype, case, copied, operand(blank))
    assert_same(run(name, dtype, case, repeated, operand(blank)), wanted)


# ---- kernels of another form ---------------------------------------------------------------------


@pytest.mark.parametrize("to", TABLE, ids=lambda d: d.name)
@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_cast(dtype: DType, to: DType) -> None:
    x = values(dtype)
    out = operand(np.zeros(x.shape, to.format), "sliced")
    KERNELS["cast", dtype](out, operand(x, "reversed"))
    if dtype.is_float and to.is_integer:
        nearest = [0 if v != v else sorted([to.min, v, to.max])[1] for v in x.tolist()]
        assert_same(view(out), np.array([int(v) for v in nearest], to.format))
    else:
        with np.errstate(over="ignore"):
            assert_same(view(out), x.astype(to.format))


@pytest.mark.parametrize("dtype", TABLE, ids=lambda d: d.name)
def test_fill(dtype: DType) -> None:
    for value in values(dtype):
        out = operand(np.zeros((2, 3), dtype.format), "sliced")
        KERNELS["fill", dtype](out, value=value.item())
        assert_same(view(out), np.full((2, 3), value))
        assert np.count_nonzero(np.frombuffer(out.buf.raw, dtype.format)) in (0, 6)


@FLOATS
def test_sgd(dtype: DType) -> None:
    p, g, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9))
    new_v = (0.5 * v + (g + 0.25 * p.astype(float))).astype(p.dtype)
    out, state = operand(p, "sliced"), operand(v, "transposed")
    KERNELS["sgd", dtype](out, operand(g), state, lr=0.125, momentum=0.5, weight_decay=0.25)
    assert_same(view(state), new_v)
    assert_same(view(out), (p - 0.125 * new_v.astype(float)).astype(p.dtype))


@FLOATS
def test_adam(dtype: DType) -> None:
    p, g, m, v = (sample(dtype, 4, 3, start=i) for i in (0, 5, 9, 13))
    v = np.abs(v)
    d = g + 0.25 * p.astype(float)
    new_m = (0.75 * m + 0.25 * d).astype(p.dtype)
    new_v = (0.5 * v + 0.5 * d * d).astype(p.dtype)
    step = 0.125 * new_m.astype(float) / (np.sqrt(new_v.astype(float)) / 0.5 + 0.0625)
    out, moments = operand(p, "sliced"), [operand(m, "transposed"), operand(v)]
    settings = {"lr": 0.125, "beta1": 0.75, "beta2": 0.5, "eps": 0.0625, "correction": 0.5}
    KERNELS["adam", dtype](out, operand(g), *moments, **settings, weight_decay=0.25)
    assert_same(view(moments[0]), new_m)
    assert_same(view(moments[1]), new_v)
    assert_same(view(out), (p - step).astype(p.dtype))


def test_adam_at_rest() -> None:
    """No gradient ever, and no eps: 0 / 0, as IEEE 754 has it."""
    p, zeros = operand(np.ones(2, "f")), [operand(np.zeros(2, "f")) for _ in range(3)]
    settings = {"lr": 1, "beta1": 0.5, "beta2": 0.5, "correction": 1, "weight_decay": 0}
    KERNELS["adam", float32](p, *zeros, **settings, eps=1e-8)
    assert_same(view(p), np.ones(2, "f"))
    KERNELS["adam", float32](p, *zeros, **settings, eps=0)
    assert_same(view(p), np.full(2, np.nan, "f"))


# ---- worked out by hand --------------------------------------------------------------------------

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


def test_matmul_is_rounded_once() -> None:
    x, out = operand(np.array([[256, 1, -256]], "e")), operand(np.zeros((1, 1), "e"))
    KERNELS["matmul", float16](out, x, operand(np.array([[256], [1], [256]], "e")))
    assert_same(view(out), np.array([[1]], "e"))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-1, 4, 2**40])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("gather", [(2,), (4,)]),
        ("index_select", [(2,), (4,)]),
        ("scatter_add", [(4,), (4,)]),
        ("cross_entropy", [(2,), (2, 4)]),
        ("cross_entropy_grad", [(2, 4), (2, 4)]),
    ],
)
def test_index_out_of_range(name: str, shapes: list[tuple[int, ...]], index: int) -> None:
    out, x = (operand(np.ones(shape, "f")) for shape in shapes)
    numbers = [x, operand(np.array([1, index])), operand(np.ones(2, "f"))]
    params = {"scale": 1.0} if "scale" in SIGNATURES[name].params else {"axis": 0}
    with pytest.raises(OutOfRangeError, match=f"kernel {name}(.|\n)*index {index} into 4 elements"):
        KERNELS[name, float32](out, *numbers[: len(SIGNATURES[name].types) - 1], **params)
    assert (view(out) == 1).all()  # nothing is written


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


# ---- completeness --------------------------------------------------------------------------------

OTHER_CASES = {"cast": test_cast, "fill": test_fill, "sgd": test_sgd, "adam": test_adam}


def test_every_kernel_has_a_case() -> None:
    assert {*CASES, *OTHER_CASES, *FIRST_BLOCK} == set(SIGNATURES)
    assert set(KERNELS) == {
        (row.name, dtype) for row in SIGNATURES.values() for dtype in row.dtypes
    }
