"""The learner's Buffer and Tensor (chapters 1 and 2) beside the library's: the same numbers."""

import itertools
import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tutor
from course.library import ours

FORMATS, Buffer = ours(1).FORMATS, ours(1).Buffer
Tensor, contiguous, permute = ours(2).Tensor, ours(2).contiguous, ours(2).permute
reshape, strides_for, zeros = ours(2).reshape, ours(2).strides_for, ours(2).zeros

WHOLE = [0, 1, 127, 128, 255, 256, 300, -1, -128, -129, 2**31, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.1, 3.9, -3.9, 0.5, -0.5, 65519.0, 65520.0, 1e9, -1e9, 2.0**63, 3.5e38, -1e300, 5e-324]
FLOATS += [math.inf, -math.inf, math.nan, -0.0]

each_dtype = pytest.mark.parametrize("dtype", FORMATS)


def same(one, other):
    """Equal, nan to nan, and of one type and sign."""
    return repr(one) == repr(other)


@each_dtype
def test_items_round_trip(dtype):
    values = [0, 1, 1, 0, 1]
    b = Buffer(values, dtype)
    assert list(b) == values
    assert len(b.raw) == 5 * b.itemsize == tutor.Buffer(values, dtype=dtype).nbytes
    assert bytes(b.raw) == bytes(tutor.Buffer(values, dtype=dtype).raw)
    assert [b[i] for i in range(-5, 5)] == values * 2
    b[-1] = 0
    assert same(b[4], tutor.Buffer([0], dtype=dtype)[0])
    for i in (5, -6):
        with pytest.raises(IndexError):
            b[i]
        with pytest.raises(IndexError):
            b[i] = 1


@each_dtype
def test_casts_are_those_of_the_library(dtype):
    for number, wide in [(n, "int64") for n in WHOLE] + [(x, "float64") for x in FLOATS]:
        cast = tutor.Tensor([number], dtype=wide).cast(dtype).tolist()[0]
        assert same(Buffer([number], dtype)[0], cast), number


def test_whole_numbers_of_any_size_wrap_or_become_infinity():
    assert list(Buffer([2**64 + 5, -(10**30)], "uint64")) == [5, -(10**30) % 2**64]
    for dtype in ("float16", "float32", "float64"):
        assert list(Buffer([10**400, -(10**400)], dtype)) == [math.inf, -math.inf]


def test_the_caller_s_numbers_are_copied():
    source = array("f", [1.0, 2.0])
    b = Buffer(source)
    source[0] = 9.0
    assert list(b) == [1.0, 2.0]


# ---- Tensor --------------------------------------------------------------------------------------


@st.composite
def views(draw):
    """A permuted part of a contiguous tensor, and the library's view of the same facts."""
    shape = draw(st.lists(st.integers(1, 4), max_size=4))
    count, strides = math.prod(shape), strides_for(shape)
    axes = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from((1, 1, 2, -1))) for _ in shape]
    sizes = [-(-n // abs(step)) for n, step in zip(shape, steps, strict=True)]
    offset = sum((n - 1) * s for n, s, k in zip(shape, strides, steps, strict=True) if k < 0)
    facts = sizes, [s * k for s, k in zip(strides, steps, strict=True)], offset
    ours = permute(Tensor(Buffer(range(count)), *facts), axes)
    buf = tutor.Buffer(range(count), dtype="float32")
    return ours, tutor.Tensor(buf, *facts).permute(axes)


@given(views())
def test_views_are_those_of_the_library(pair):
    ours, real = pair
    assert (ours.shape, ours.strides, ours.offset) == (real.shape, real.strides, real.offset)
    assert ours.tolist() == real.tolist()
    assert ours.is_contiguous() == real.is_contiguous()
    assert contiguous(ours).tolist() == real.tolist()
    assert (contiguous(ours) is ours) == ours.is_contiguous()


@given(views(), st.data())
def test_reshaping_keeps_the_order(pair, data):
    ours, real = pair
    count = ours.numel()
    pairs = [p for p in itertools.product(range(1, count + 1), repeat=2) if math.prod(p) == count]
    for shape in (data.draw(st.sampled_from(pairs)), (-1,), (1, -1, 1)):
        assert reshape(ours, shape).tolist() == real.reshape(shape).tolist()
    with pytest.raises(ValueError, match="holds"):
        reshape(ours, (count + 1,))


@given(views())
def test_filling_a_view_changes_its_elements_and_no_others(pair):
    ours, _ = pair
    before, mine = list(ours.buf), ours.positions()
    ours.fill([-1.0] * ours.numel())
    expected = [-1.0 if p in mine else x for p, x in enumerate(before)]
    assert list(ours.buf) == expected


def test_what_would_leave_the_buffer_is_refused():
    numbers = Buffer(range(6))
    for facts in (
        ((7,),),
        ((2, 3), (3, 2)),
        ((2,), (-1,), 0),
        ((1,), (1,), 6),
        ((2, 2), (2, 1), 3),
    ):
        with pytest.raises(IndexError):
            Tensor(numbers, *facts)
        with pytest.raises(tutor.errors.ShapeError):
            tutor.Tensor(tutor.Buffer(range(6)), *facts)
    assert zeros((2, 0, 3)).tolist() == [[], []]
    with pytest.raises(ValueError, match="different shapes"):
        Tensor([[1, 2], [3]])
