"""Kernels lent to a library of one's own work on its bytes, walked as its tensors say."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import pytest

from course.lent import DTYPES, kernels


def tensor(
    numbers: list[float], shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> Any:
    """The least that a tensor must have."""
    buf = SimpleNamespace(raw=bytearray(array("f", numbers).tobytes()), dtype="float32")
    return SimpleNamespace(buf=buf, shape=shape, strides=strides, offset=offset)


def numbers(t: Any) -> list[float]:
    return list(memoryview(t.buf.raw).cast("f"))


@pytest.mark.parametrize(
    ("strides", "offset", "expected"),
    [
        ((2, 1), 0, [10, 21, 32, 43]),
        ((1, 2), 0, [10, 22, 31, 43]),  # transposed
        ((2, 1), 2, [12, 23, 34, 45]),
        ((0, 1), 1, [11, 22, 31, 42]),  # a row, stretched
        ((-2, 1), 2, [12, 23, 30, 41]),
    ],
)
def test_a_view_is_read_as_it_lies(
    strides: tuple[int, ...], offset: int, expected: list[float]
) -> None:
    x = tensor([0, 1, 2, 3, 4, 5], (2, 2), strides, offset)
    y = tensor([10, 20, 30, 40], (2, 2), (2, 1))
    out = tensor([0] * 4, (2, 2), (2, 1))
    kernels()["add", "float32"](out, x, y)
    assert numbers(out) == expected and numbers(x) == [0, 1, 2, 3, 4, 5]


def test_out_may_be_a_view_and_parameters_are_passed() -> None:
    x, out = tensor([1, 2, 3, 4], (2, 2), (2, 1)), tensor([7] * 4, (2,), (2,), 1)
    kernels()["sum", "float32"](out, x, axis=(1,))
    assert numbers(out) == [7, 3, 7, 7]


def test_there_are_kernels_for_each_dtype() -> None:
    assert {dtype for _, dtype in kernels()} == set(DTYPES)
