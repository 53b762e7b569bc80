"""The learner's operators beside the library's: what a Python number does to a tensor's dtype."""

import math
import operator

import pytest

import tutor
from course.library import ours

FORMATS, Tensor = ours("04b").FORMATS, ours("04b").Tensor


@pytest.mark.parametrize("f", [operator.add, operator.mul])
@pytest.mark.parametrize("number", [True, 3, 2.5, -0.5])
@pytest.mark.parametrize("dtype", FORMATS)
def test_a_python_number_takes_the_dtype_beside_it_or_brings_its_kind(dtype, number, f):
    ours, theirs = Tensor([1, 0], dtype=dtype), tutor.Tensor([1, 0], dtype=dtype)
    for left, right in ((f(ours, number), f(theirs, number)), (f(number, ours), f(number, theirs))):
        assert left.buf.dtype == right.dtype.name
        assert left.tolist() == right.tolist()


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([2**53, 1, -3], "int64"),
        ([2**62, 2**62], "int64"),
        ([0.1] * 10, "float64"),
        ([math.inf, 1.0], "float32"),
        ([math.inf, -math.inf], "float32"),
        ([1.5e308, 1.5e308], "float64"),
        ([], "float32"),
    ],
)
def test_a_sum_is_exact_or_what_ieee_754_says(numbers, dtype):
    ours, theirs = Tensor(numbers, dtype=dtype).sum(), tutor.Tensor(numbers, dtype=dtype).sum()
    assert repr(ours.item()) == repr(theirs.item())
