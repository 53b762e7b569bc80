"""The learner's operators beside the library's: what a Python number does to a tensor's dtype."""

import operator

import pytest

import tutor
from tutor.learn.built.ch04 import FORMATS, Tensor


@pytest.mark.parametrize("f", [operator.add, operator.mul])
@pytest.mark.parametrize("number", [True, 3, 2.5, -0.5])
@pytest.mark.parametrize("dtype", FORMATS)
def test_a_python_number_takes_the_dtype_beside_it_or_brings_its_kind(dtype, number, f):
    ours, theirs = Tensor([1, 0], dtype=dtype), tutor.Tensor([1, 0], dtype=dtype)
    for left, right in ((f(ours, number), f(theirs, number)), (f(number, ours), f(number, theirs))):
        assert left.buf.dtype == right.dtype.name
        assert left.tolist() == right.tolist()
