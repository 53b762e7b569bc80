"""Every op and method of every dtype: an answer, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_ops import CASES, draw

from tutor import Tensor, float32, int8, int64
from tutor.dtype import TABLE, DType
from tutor.errors import DomainError, DTypeError, NumberRangeError

pytestmark = pytest.mark.usefixtures("backend")

NUMBERS = [dtype for dtype in TABLE if dtype.name != "bool"]
# What NumPy has no dtype for, or would read a Python number as another one than tutor.
IN_NUMPY = [dtype for dtype in TABLE if dtype.name != "bfloat16"]


def named(dtype: DType) -> str:
    return dtype.name


@pytest.mark.parametrize("dtype", TABLE, ids=named)
def test_every_op_answers_or_says_which_dtypes_it_takes(dtype: DType) -> None:
    errors = []
    for case in CASES:
        operands = [Tensor(a).cast(dtype) for a in draw(case)]
        try:
            case.f(*operands)
        except (DTypeError, DomainError, NumberRangeError) as error:  # KernelNotFound is neither
            errors.append(error)
    assert len(errors) < len(CASES) / 2
    for error in errors:
        assert all((error.asked, error.found, error.do)), str(error)


B = Tensor([True, False, True])


@pytest.mark.parametrize(
    "refused",
    [
        lambda: -B, lambda: B - B, lambda: B.relu(), lambda: B**B, lambda: B // B, lambda: B % B,
        lambda: B.fmod(B), lambda: B.abs().neg(),
    ],
)  # fmt: skip
def test_what_has_no_answer_for_bools_says_what_to_write(refused: Callable[[], Any]) -> None:
    with pytest.raises(DTypeError) as caught:
        refused()
    assert "of bool" in caught.value.asked
    assert "cast" in caught.value.do
    assert "~x is not" in caught.value.do


def test_bools_where_numpy_or_pytorch_answers_with_bools() -> None:
    for t in (B.abs(), B.sign(), B.floor(), B.round(), B + B, B * B, B.maximum(~B)):
        assert t.dtype.name == "bool"
        assert t.tolist() in (B.tolist(), [True] * 3)
    assert B.abs().buf is not B.buf  # as every other op's
    added = Tensor([True, False, False]).scatter_add(0, [1, 1, 0], [True, True, False])
    assert added.tolist() == [True, True, False]
    assert B.cumsum(0).tolist() == [1, 1, 2]


# ---- dtype= of what adds up ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod"])
@pytest.mark.parametrize("wanted", IN_NUMPY, ids=named)
def test_dtype_is_that_of_the_result_and_of_the_sum(name: str, wanted: DType) -> None:
    """Computed in what was asked for, as in NumPy: integers wrap, bools or (and)."""
    rng = np.random.default_rng(3)
    for dtype in IN_NUMPY:
        whole = dtype.kind != "float"
        most = 4 if wanted.name == "float16" and "prod" in name else 120  # 3**7 is no infinity
        numbers = rng.integers(0, most, (3, 7)) if whole else rng.random((3, 7)) * 4 + 1
        x = numbers.astype(dtype.name)
        with np.errstate(all="ignore"):
            expected = getattr(x, name)(axis=1, dtype=wanted.name)
        z = getattr(Tensor(x), name)(1, dtype=wanted)
        assert z.dtype is wanted
        ulp = 8 if wanted.itemsize > 2 else 64  # NumPy adds float16 one by one
        close = ulp * wanted.eps if wanted.is_float else 0
        np.testing.assert_allclose(z.numpy(), expected, rtol=close, atol=0)
        assert getattr(Tensor(x), name)(1, dtype=wanted.name).dtype is wanted


def test_dtype_wraps() -> None:
    assert Tensor([100, 100]).sum(dtype=int8).tolist() == -56
    assert Tensor([100, 100], dtype="uint8").prod(dtype="uint8").item() == 10_000 % 256
    assert Tensor([300, 2]).sum(dtype="uint8").item() == 46
    assert Tensor([True, True]).sum(dtype="bool").item() is True
    assert Tensor([1, 2, 4]).mean(dtype=int64).item() == 2
    assert Tensor([2.5, 2.5]).sum(dtype=int64).item() == 4
    assert Tensor([1.5], requires_grad=True).sum(dtype="float64").requires_grad


# ---- integers in functions of floats -------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS, ids=named)
def test_relu6_and_hardtanh_keep_the_dtype(dtype: DType) -> None:
    x = Tensor([0, 3, 9], dtype=dtype)
    assert (x.relu6().dtype, x.relu6().tolist()) == (dtype, [0, 3, 6])
    assert (x.hardtanh(1, 2).dtype, x.hardtanh(1, 2).tolist()) == (dtype, [1, 2, 2])
    assert x.hardtanh(0.0, 1.0).dtype is dtype
    if not dtype.is_float:
        assert x.hardtanh(0.5, 2.5).dtype is float32
    if dtype.kind == "uint":
        with pytest.raises(NumberRangeError):
            x.hardtanh()
