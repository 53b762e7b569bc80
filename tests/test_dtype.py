"""The dtype table, promotion and weak numbers."""

import copy
import pickle

import numpy as np
import pytest

import tutor
from tutor import DTYPES, Tensor, dtype, promote
from tutor._storage import bits
from tutor.errors import DTypeError, NumberRangeError

NUMPYS = [d for d in DTYPES if d is not tutor.bfloat16]
PAIRS = [(a, b) for a in NUMPYS for b in NUMPYS]


def test_the_table_is_numpys():
    for d in NUMPYS:
        assert np.dtype(d.name).itemsize == d.itemsize
        info = None if d.kind == "bool" else (np.finfo if d.is_float else np.iinfo)(d.name)
        assert info is None or (d.min, d.max) == (info.min, info.max)
        if d.is_float:
            assert d.eps == info.eps
            assert d.smallest_normal == info.smallest_normal
            assert d.smallest_subnormal == info.smallest_subnormal
    for d in DTYPES:
        assert getattr(tutor, d.name) is d
        assert pickle.loads(pickle.dumps(d)) is d
        assert copy.deepcopy(d) is d
    assert len(DTYPES) == len({d.name for d in DTYPES}) == len({d.format for d in DTYPES}) == 13


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.name)
def test_promotion_is_numpys_and_symmetric(a, b):
    assert promote(a, b).name == np.promote_types(a.name, b.name).name
    assert promote(a, b) is promote(b, a)


def test_bfloat16_is_the_upper_half_of_float32():
    """eps and ends by the definition: 8 bits of precision, float32's exponents."""
    d = tutor.bfloat16
    assert (d.itemsize, d.eps, d.max) == (2, 2.0**-7, (2 - 2.0**-7) * 2.0**127)
    assert (d.smallest_normal, d.smallest_subnormal) == (2.0**-126, 2.0**-133)
    words = np.arange(65536, dtype=np.uint16)
    numbers = (words.astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(bits.unpack(words.tobytes(), d), numbers, equal_nan=True)
    kept = bits.pack(numbers.tolist(), d)
    assert (np.frombuffer(kept, np.uint16) == words)[~np.isnan(numbers)].all()


def test_bfloat16_rounds_once_to_nearest_even():
    tie, below = 1 + 2.0**-8, 1 + 2.0**-8 - 2.0**-40
    above, odd = 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8
    rounded = Tensor([tie, below, above, odd, -tie, 3.4e38, 1e39], dtype="bfloat16").tolist()
    up = 1 + 2.0**-7
    assert rounded[:5] == [1.0, 1.0, up, 1 + 2.0**-6, -1.0]
    assert rounded[5:] == [float("inf"), float("inf")]
    wide = Tensor([tie, above], dtype="float64").cast("bfloat16")
    assert wide.tolist() == [1.0, up]  # rounding to float32 first would lose what is above the tie
    assert Tensor([2**62 + 2**54 + 1]).cast("bfloat16").item() == 2.0**62 * (1 + 2.0**-7)


@pytest.mark.parametrize(("d", "small"), [("bfloat16", 7), ("float16", 10)])
def test_all_patterns_of_16_bits_survive_float32(d, small):
    words = np.arange(65536, dtype=np.uint16).tobytes()
    x = Tensor(tutor.Buffer.from_memory(words, dtype=d))
    back = x.cast("float32").cast(d)
    pairs = zip(words[::2], back.buf.raw.tobytes()[::2], x.isnan().tolist(), strict=True)
    assert all(a == b or nan for a, b, nan in pairs)
    assert x.isnan().sum().item() == 2 * (2**small - 1)


def test_bfloat16_holds_bytes_and_meets_the_others_above():
    met = {d.name: promote(tutor.bfloat16, d).name for d in DTYPES}
    small = {"bool", "int8", "uint8", "bfloat16"}
    assert {name for name, to in met.items() if to == "bfloat16"} == small
    assert {met[n] for n in ("int16", "uint16", "float16", "float32")} == {"float32"}
    assert {met[n] for n in ("int32", "uint32", "int64", "uint64", "float64")} == {"float64"}
    assert all(promote(d, tutor.bfloat16).name == met[d.name] for d in DTYPES)


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


def test_numpys_dtypes_and_short_names_stand_for_dtypes():
    for d in NUMPYS:
        there = np.dtype(d.name)
        spellings = [there, there.type, there.str, there.str[1:], d.name, d, "=" + there.str[1:]]
        for spelling in spellings:
            assert dtype.of(spelling) is d
            assert Tensor([1], dtype=spelling).dtype is d
            assert Tensor([1]).cast(spelling).dtype is d
    assert dtype.of("b1") is dtype.of(bool) is dtype.of(np.bool_) is tutor.bool
    assert dtype.of(int) is tutor.int64
    assert dtype.of(float) is tutor.float32  # NumPy's would be float64
    assert dtype.of(np.float64) is tutor.float64  # though it is a subclass of float


@pytest.mark.parametrize(
    "wrong",
    [
        None, "f3", "f", "", "<", ">f4", "c8", "M8[s]", "float", "Float32", 4, 1.5, ["f4"], {},
        object,
        str, complex, np.complex64, np.number, np.generic, np.str_, np.dtype(">f4"), np.dtype("O"),
        np.dtype("M8[s]"), np.dtype([("a", "f4")]), np.float32(1), np.zeros(2), Tensor([1.0]),
        np.longdouble,
    ],
    ids=repr,
)  # fmt: skip
def test_what_names_no_dtype_is_refused_in_three_parts(wrong):
    for call in (lambda: dtype.of(wrong), lambda: Tensor([1]).cast(wrong)):
        with pytest.raises(DTypeError) as caught:
            call()
        assert str(caught.value).count("\n") == 2


@pytest.mark.parametrize(
    ("numbers", "own"),
    [
        ([2**63], None), ([2**64 - 1, 0], None), ([-(2**63) - 1], None), ([2**63, -1], None),
        ([2**64], "int64"), ([300], "int8"), ([-1], "uint64"), ([-1, 200], "uint8"),
        ([10**30], None),
        ([128, -128], "int8"), ([2**31], "int32"),
    ],
)  # fmt: skip
def test_the_advice_for_a_number_that_does_not_fit_works(numbers, own):
    with pytest.raises(NumberRangeError) as caught:
        Tensor(numbers, dtype=own)
    advised = caught.value.do.rpartition("tutor.")[2]
    found = Tensor(numbers, dtype=advised)
    assert found.tolist() == ([float(n) for n in numbers] if advised == "float64" else numbers)
