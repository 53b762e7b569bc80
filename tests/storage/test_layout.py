"""Views against NumPy: any shape, any chain of movements, any basic index."""

import collections
import itertools
import operator
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tutor
from tutor import Tensor
from tutor._storage.overlap import is_one_to_one
from tutor.errors import (
    AxisError,
    DomainError,
    DTypeError,
    NumberRangeError,
    OutOfRangeError,
    ShapeError,
)

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def pair(shape):
    a = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return a, Tensor(a)


def same(array, tensor):
    assert tensor.shape == array.shape
    assert tensor.tolist() == array.tolist()


@given(shapes)
def test_construction_and_lists(shape):
    a, t = pair(shape)
    same(a, t)
    assert t.is_contiguous()
    assert t.numel() == a.size
    if a.size:
        assert t.stride() == tuple(s // 8 for s in a.strides)
    assert np.array_equal(t.numpy(), a)


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (4, 1), (2, 1, 3), (1, 1), (0, 3), (5,), ()])
def test_contiguous_is_what_numpy_calls_so(shape):
    """The stride of an axis of size 1 is never walked, so it may be anything."""
    a, t = pair(shape)
    first, back = slice(0, 1), slice(None, None, -1)
    keys = [..., None, (None, ..., None)] + [(first,), (..., first), (back,)] * bool(shape)
    for key in keys:
        array, view = a[key], t[key]
        assert view.is_contiguous() == array.flags.c_contiguous, key
        turned = view.permute(*reversed(range(view.ndim)))
        assert turned.is_contiguous() == array.T.flags.c_contiguous, key


@given(st.data())
def test_basic_indexing_is_numpys(data):
    a, t = pair(data.draw(shapes))
    a, t = (a.T, t.T) if data.draw(st.booleans()) else (a, t)
    key = data.draw(hnp.basic_indices(a.shape, max_dims=6, allow_newaxis=True, allow_ellipsis=True))
    view = t[key]
    same(np.asarray(a[key]), view)
    assert view.buf is t.buf


@given(st.data())
def test_chains_of_views(data):
    a, t = pair(data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)))
    for _ in range(data.draw(st.integers(1, 5))):
        move = data.draw(st.sampled_from(["permute", "flip", "slice", "unsqueeze", "reshape"]))
        if move == "permute":
            axes = data.draw(st.permutations(range(a.ndim)))
            a, t = a.transpose(axes), t.permute(*axes)
        elif move == "flip":
            axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
            a, t = np.flip(a, axis), t.flip(axis)
        elif move == "slice":
            axis = data.draw(st.integers(0, a.ndim - 1))
            key = (slice(None),) * axis + (data.draw(st.slices(a.shape[axis])),)
            a, t = a[key], t[key]
        elif move == "unsqueeze" and a.ndim < 6:
            axis = data.draw(st.integers(-a.ndim - 1, a.ndim))
            a, t = np.expand_dims(a, axis), t.unsqueeze(axis)
        elif move == "reshape":
            to = (-1,) if a.size else a.shape
            a, t = a.reshape(to), t.reshape(to)
        same(a, t)
    same(a + 1, t + 1)
    same(a.sum(axis=0), t.sum(axis=0))


@given(st.data())
def test_reshape_is_a_view_exactly_where_numpy_makes_one(data):
    base = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    a, t = pair(base)
    axes = data.draw(st.permutations(range(a.ndim)))
    a, t = a.transpose(axes), t.permute(*axes)
    sizes = [n for n in range(1, a.size + 1) if a.size % n == 0]
    first = data.draw(st.sampled_from(sizes))
    second = data.draw(st.sampled_from([n for n in sizes if (a.size // first) % n == 0]))
    to = (first, second, a.size // first // second)
    same(a.reshape(to), t.reshape(to))
    if np.shares_memory(a.reshape(to), a):
        assert t.view(to).buf is t.buf
    else:
        with pytest.raises(ShapeError, match="contiguous"):
            t.view(to)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=0))
def test_broadcasting_is_numpys(drawn):
    (first, second), result = drawn
    (a, s), (b, t) = pair(first), pair(second)
    same(a + b, s + t)
    same(np.broadcast_to(a, result), s.expand(result))
    same(np.where(a > b, a, b), tutor.where(s > t, s, t))


@given(shapes, shapes)
def test_shapes_that_do_not_broadcast_are_refused(first, second):
    (a, s), (b, t) = pair(first), pair(second)
    try:
        expected = (a * b).shape
    except ValueError:
        with pytest.raises(ShapeError, match="against"):
            s * t
    else:
        assert (s * t).shape == expected


@given(st.data())
def test_writing_through_a_view(data):
    a, t = pair(data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)))
    key = data.draw(hnp.basic_indices(a.shape, allow_newaxis=False))
    a[key] = -7
    t[key] = -7
    same(a, t)
    if a[key].ndim and a[key].size:
        row = np.arange(a[key].shape[-1])
        a[key] = row
        t[key] = Tensor(row)
        same(a, t)


def test_overlapping_assignment_reads_before_it_writes(backend):
    t = Tensor(range(6))
    t[1:] = t[:-1]
    assert t.tolist() == [0, 0, 1, 2, 3, 4]
    t[:] = t[::-1]
    assert t.tolist() == [4, 3, 2, 1, 0, 0]


def test_views_share_and_copies_do_not():
    t = Tensor.zeros(2, 3)
    for view in (
        t.T,
        t.view(3, 2),
        t.reshape(6),
        t[0],
        t.unsqueeze(0),
        t.expand(4, 2, 3),
        t.flip(0),
    ):
        assert view.buf is t.buf
    for other in (t.copy(), t.T.contiguous(), t.T.reshape(6), Tensor(t)):
        assert other.buf is not t.buf
    assert t.contiguous() is t
    assert t.T.is_contiguous() is False


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda t: t[2], OutOfRangeError, "axis 0"),
        (lambda t: t[0, 3], OutOfRangeError, "axis 1"),
        (lambda t: t[0, -4], OutOfRangeError, "axis 1"),
        (lambda t: t[0, 0, 0], OutOfRangeError, "3 positions"),
        (lambda t: t[..., ...], OutOfRangeError, "once"),
        (lambda t: t[::0], OutOfRangeError, "step"),
        (lambda t: t["a"], OutOfRangeError, "position"),
        (lambda t: t[1.0], OutOfRangeError, "position"),
        (lambda t: t[[0, 2]], OutOfRangeError, "axis 0"),
        (lambda t: t[0, np.array([-4])], OutOfRangeError, "axis 1"),
        (lambda t: t[[0], [0], [0]], OutOfRangeError, "3 axes"),
        (lambda t: t[[True]], ShapeError, "mask"),
        (lambda t: t[[0.5]], DTypeError, "t > 0"),
        (lambda t: t.reshape("a"), ShapeError, "whole numbers"),
        (lambda t: Tensor(t.buf, (2,), ("a",)), ShapeError, "strides"),
        (lambda t: Tensor(t.buf, (2,), offset="a"), ShapeError, "offset"),
        (lambda t: Tensor.arange("a"), ShapeError, "numbers"),
        (lambda t: Tensor.zeros(1e9), ShapeError, "whole numbers"),
        (lambda t: tutor.cat([]), ShapeError, "at least one"),
        (lambda t: tutor.stack([]), ShapeError, "at least one"),
        (lambda t: t.index_select(0, 1), ShapeError, "1-D"),
        (lambda t: tutor.apply("addd", t), DomainError, "near to it: add"),
        (lambda t: tutor.manual_seed("a"), NumberRangeError, "whole number"),
        (lambda t: t.reshape(4), ShapeError, "6 elements"),
        (lambda t: t.reshape(-1, -1), ShapeError, "-1"),
        (lambda t: t.reshape(4, -1), ShapeError, "-1"),
        (lambda t: t.T.view(6), ShapeError, "no strides"),
        (lambda t: t.expand(3, 3), ShapeError, "size 1"),
        (lambda t: t.expand(2), ShapeError, "size 1"),
        (lambda t: t.squeeze(0), ShapeError, "size 1"),
        (lambda t: t.permute(0, 0), AxisError, "once"),
        (lambda t: t.transpose(0, 2), AxisError, "axes -2 to 1"),
        (lambda t: t.sum(axis=2), AxisError, "axes"),
        (lambda t: t.sum(axis=(0, -2)), AxisError, "twice"),
        (lambda t: t.sum(axis="x"), AxisError, "whole number"),
        (lambda t: t.flip(5), AxisError, "axes"),
        (lambda t: t.unsqueeze(4), AxisError, "axes"),
        (lambda t: t.pad([(1, 1)]), ShapeError, "per axis"),
        (lambda t: t.pad([(1, -1), (0, 0)]), ShapeError, "negative"),
        (lambda t: Tensor(t.buf, (2, 4)), ShapeError, "reach"),
        (lambda t: Tensor(t.buf, (2, 3), (3, 1), 1), ShapeError, "reach"),
        (lambda t: Tensor(t.buf, (2, 3), (-3, 1)), ShapeError, "reach"),
        (lambda t: Tensor(t.buf, (2, 3), (2**62, 1)), ShapeError, "reach"),
        (lambda t: Tensor(t.buf, (2, 3), (3,)), ShapeError, "strides"),
        (lambda t: Tensor(t.buf, (-1, 3)), ShapeError, "negative"),
        (lambda t: Tensor(t.buf, (2.5,)), ShapeError, "whole numbers"),
        (lambda t: Tensor([1, 2, 3], (2, 2)), ShapeError, "3 elements"),
        (lambda t: Tensor.zeros((1,) * 17), ShapeError, "16 axes"),
    ],
)
def test_mistakes_are_explained(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make(Tensor([[1, 2, 3], [4, 5, 6]]))
    assert str(caught.value).count("\n") >= 2


def test_a_number_that_does_not_fit_is_not_written():
    t = Tensor([1, 2], dtype="uint8")
    for number in (300, -1, 2.5):
        with pytest.raises(NumberRangeError):
            t[0] = number
    t[1] = 255
    assert t.tolist() == [1, 255]
    t[:] = Tensor([3.7, 4.0])
    assert t.tolist() == [3, 4]


def test_writing_to_an_expanded_view_is_refused():
    with pytest.raises(ShapeError, match="expanded"):
        Tensor.zeros(1, 3).expand(2, 3)[...] = 1.0


WINDOWS = {  # of arange(12): each view, and whether its elements have places of their own
    "step below size": (lambda x: x.unfold(0, 3), False),
    "step 2, size 3": (lambda x: x.unfold(0, 3, 2), False),
    "one window": (lambda x: x.unfold(0, 12), True),
    "one number each": (lambda x: x.unfold(0, 1), True),
    "side by side": (lambda x: x.unfold(0, 3, 3), True),
    "with gaps": (lambda x: x.unfold(0, 2, 5), True),
    "dilated, the same steps": (lambda x: x.unfold(0, 2, 3, 3), False),
    "dilated, between one another": (lambda x: x.unfold(0, 2, 2, 3), True),
    "dilated beyond": (lambda x: x.unfold(0, 2, 1, 6)[:6], True),
    "of a matrix": (lambda x: x.reshape(3, 4).unfold(1, 2), False),
    "rows of a matrix": (lambda x: x.reshape(3, 4).unfold(0, 2), False),
    "backwards": (lambda x: x.flip(0).unfold(0, 3)[::-1], False),
    "every other window": (lambda x: x.unfold(0, 2)[::2], True),
    "a diagonal of windows": (lambda x: x.unfold(0, 3).diagonal(), True),
    "none": (lambda x: x.unfold(0, 3)[:0], True),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_overlapping_windows_cannot_be_written_to(name, backend):
    """What stood there would depend on the order in which a kernel goes through it."""
    view, apart = WINDOWS[name]
    for change in (
        lambda v: v.__setitem__(..., 7),
        lambda v: v.__iadd__(1),
        lambda v: v.fill_(7),
        lambda v: v.copy_(v * 2),
        lambda v: v.__setitem__(v > 3, 7) if v.numel() else None,
    ):
        x = Tensor(list(range(12)), dtype="float32")
        v, wanted = view(x), view(x).copy()
        before, version = x.tolist(), x.buf.version
        if apart:
            change(v), change(wanted)
            assert v.tolist() == wanted.tolist()
            continue
        with pytest.raises(ShapeError, match="overlapping"):
            change(v)
        assert (x.tolist(), x.buf.version) == (before, version)


def test_whether_places_are_apart_is_counted():
    rng = random.Random(0)
    seen = collections.Counter()
    for _ in range(3000):
        shape = tuple(rng.choice((0, 1, 2, 2, 3, 3, 4)) for _ in range(rng.randrange(5)))
        strides = tuple(rng.randrange(-12, 30) for _ in shape)
        places = [
            sum(map(operator.mul, at, strides)) for at in itertools.product(*map(range, shape))
        ]
        apart = len(set(places)) == len(places)
        assert is_one_to_one(shape, strides) is apart, (shape, strides)
        seen[apart] += 1
    assert min(seen.values()) > 100
