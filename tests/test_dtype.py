"""The dtype table, promotion and weak numbers."""

import copy
import pickle

import numpy as np
import pytest

import tutor
from tutor import DTYPES, Tensor, dtype, promote
from tutor.errors import DTypeError, NumberRangeError

PAIRS = [(a, b) for a in DTYPES for b in DTYPES]


def test_the_table_is_numpys():
    for d in DTYPES:
        assert getattr(tutor, d.name) is d
        assert np.dtype(d.name).itemsize == d.itemsize
        info = None if d.kind == "bool" else (np.finfo if d.is_float else np.iinfo)(d.name)
        assert info is None or (d.min, d.max) == (info.min, info.max)
        assert pickle.loads(pickle.dumps(d)) is d
        assert copy.deepcopy(d) is d
    assert len(DTYPES) == len({d.name for d in DTYPES}) == len({d.format for d in DTYPES}) == 12


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.name)
def test_promotion_is_numpys_and_symmetric(a, b):
    assert promote(a, b).name == np.promote_types(a.name, b.name).name
    assert promote(a, b) is promote(b, a)


@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
def test_python_numbers_are_weak(d):
    t = Tensor([1], dtype=d)
    assert (t + True).dtype is d
    assert (t + 1).dtype is (tutor.int64 if d.kind == "bool" else d)
    assert (2.0 + t).dtype is (d if d.is_float else tutor.float32)
    assert (t / 2).dtype is (d if d.is_float else tutor.float32)
    assert (t == 1).dtype is tutor.bool


def test_integers_wrap_but_numbers_that_do_not_fit_are_refused():
    assert (Tensor([200], dtype="uint8") + 100).tolist() == [44]
    with pytest.raises(NumberRangeError):
        Tensor([200], dtype="uint8") + 300
    with pytest.raises(NumberRangeError):
        Tensor([200], dtype="uint8") * -1


def test_arrays_and_numpy_scalars_are_strong_and_stand_on_either_side():
    t = Tensor([1.0, 2.0])
    for result in (t + np.ones(2), np.ones(2) + t, np.float64(1) * np.ones(2) - t):
        assert isinstance(result, Tensor)
        assert result.dtype is tutor.float64
    assert (np.float32(3) * t).tolist() == [3, 6]
    assert (np.float64(3) * t).dtype is tutor.float32  # a float64 scalar is a Python float
    assert ([10, 20] + t).tolist() == [11, 22]
    assert (np.array([1, 2]) == t).tolist() == [True, True]


def test_names_and_python_types_stand_for_dtypes():
    assert dtype.of("int8") is tutor.int8
    assert dtype.of(float) is tutor.float32
    assert dtype.of(int) is tutor.int64
    assert dtype.of(bool) is tutor.bool
    for wrong in ("float8", 3, None, complex):
        with pytest.raises(DTypeError, match="float32"):
            dtype.of(wrong)


def test_the_lessons_about_integers():
    assert (Tensor([1, 2, 3]) + Tensor([4, 5, 6])).tolist() == [5, 7, 9]
    assert (Tensor([1, 2]) / Tensor([2, 2])).tolist() == [0.5, 1.0]
    assert (Tensor([-1], dtype="int8") + Tensor([1], dtype="uint8")).dtype is tutor.int16
    assert Tensor([[1, 2], [3, 4]]).sum(axis=0).tolist() == [4, 6]
    assert Tensor([[1, 2], [3, 4]]).sum().item() == 10
    assert Tensor([1, 2]).mean().dtype is tutor.float32
    assert Tensor([True, True]).sum().tolist() == 2
