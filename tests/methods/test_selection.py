"""t[key] and t[key] = value with arrays of positions and masks: NumPy's rules, and gradients."""

import array
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutor
from tutor import Tensor, no_grad, registry
from tutor.errors import (
    DTypeError,
    GraphError,
    NumberRangeError,
    OutOfRangeError,
    ShapeError,
    TutorError,
)
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("backend")


@st.composite
def keys(draw):
    """A shape and a key for it, of everything that NumPy takes."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    parts, axis, dots = [], 0, False
    while axis < len(shape):
        n = shape[axis]
        kinds = ["slice", "mask", "new", "stop"]
        kinds += ["ints", "ints", "int", "list"] if n else []
        kinds += ["dots"] if not dots else []
        kinds += ["wide mask"] if axis + 1 < len(shape) else []
        kind = draw(st.sampled_from(kinds))
        positions = st.integers(-n, n - 1) if n else st.nothing()
        if kind == "stop":
            break
        if kind == "new":
            parts.append(draw(st.sampled_from([None, None, True, False])))
            continue
        if kind == "dots":
            parts.append(Ellipsis)
            axis, dots = draw(st.integers(axis, len(shape))), True
            continue
        if kind == "wide mask":
            count = n * shape[axis + 1]
            bools = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            parts.append(np.array(bools, dtype=bool).reshape(shape[axis : axis + 2]))
            axis += 2
            continue
        if kind == "slice":
            parts.append(draw(st.slices(n)))
        elif kind == "mask":
            parts.append(
                np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
            )
        elif kind == "int":
            parts.append(draw(positions))
        elif kind == "list":
            parts.append(draw(st.lists(positions, max_size=3)))
        else:
            to = draw(st.sampled_from([(), (1,), (3,), (2, 3), (0,)]))
            count = int(np.prod(to))
            numbers = draw(st.lists(positions, min_size=count, max_size=count))
            parts.append(np.array(numbers, dtype=np.int64).reshape(to))
        axis += 1
    return shape, tuple(parts)


def numpys(key):
    """A list of no positions is one of ints here; NumPy takes it for floats."""
    return tuple(np.array(p, dtype=np.int64) if isinstance(p, list) and not p else p for p in key)


@settings(max_examples=150)
@given(keys())
def test_reading_is_numpys(drawn):
    shape, key = drawn
    a = np.arange(int(np.prod(shape)), dtype=float).reshape(shape)
    try:
        expected = a[numpys(key)]
    except IndexError:
        with pytest.raises(TutorError):
            Tensor(a)[key]
        return
    try:
        found = Tensor(a)[key]
    except (OutOfRangeError, ShapeError):
        assert not expected.size  # NumPy looks less closely where nothing is chosen
        return
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()


@settings(max_examples=150)
@given(keys(), st.data())
def test_writing_is_numpys(drawn, data):
    shape, key = drawn
    a = np.arange(int(np.prod(shape)), dtype=float).reshape(shape)
    try:
        chosen = a[numpys(key)]
    except IndexError:
        with pytest.raises(TutorError):
            Tensor(a)[key] = 7.0
        return
    value = 7.0 if data.draw(st.booleans()) else np.full(chosen.shape[-1:], -1.0)
    t = Tensor(a.T.copy(), dtype="float64").T  # not row-major
    try:
        t[key] = value
    except (OutOfRangeError, ShapeError):
        assert not chosen.size
        return
    a[numpys(key)] = value
    assert t.tolist() == a.tolist()


def test_of_several_writes_to_one_place_the_last_stays():
    t = Tensor.zeros(3)
    t[[1, 1, 1]] = Tensor([4.0, 5.0, 6.0])
    assert t.tolist() == [0, 6, 0]


def test_gradients_add_up_where_an_element_was_chosen_twice():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[[0, 0, 2]] * Tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [11, 0, 100]
    mask = np.array([[True, False], [False, True]])
    gradcheck(lambda x: x[mask, 1:] ** 2, np.arange(12.0).reshape(2, 2, 3))
    gradcheck(lambda x: x[:, [[0, -1]], None, 0] ** 2, np.arange(12.0).reshape(2, 2, 3))


def test_tensors_lists_and_arrays_are_keys():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x[Tensor([1, 0])].tolist() == x[[1, 0]].tolist() == x[np.array([1, 0])].tolist()
    assert x[x > 2].tolist() == [3, 4]
    assert x[Tensor(1), Tensor(0)].item() == 3
    assert x[Tensor([1, 0], dtype="uint8"), [0, 1]].tolist() == [3, 2]
    assert x[[]].shape == (0, 2)
    x[x > 2] = 0
    assert x.tolist() == [[1, 2], [0, 0]]


CHOSEN = {
    "index_select": (lambda x, at: x.index_select(1, at), lambda a, at: a[:, at]),
    "gather": (lambda x, at: x.gather(1, [at, at]), lambda a, at: a[:, at]),
    "take_along_axis": (lambda x, at: x.take_along_axis([at], 1), lambda a, at: a[:, at]),
    "brackets": (lambda x, at: x[[0, 0, -1], at], lambda a, at: a[[0, 0, -1], at]),
    "two axes": (lambda x, at: x[:, [at]], lambda a, at: a[:, [at]]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_negative_positions_count_from_the_end_and_so_do_their_gradients(name):
    ours, numpys = CHOSEN[name]
    a, at = np.arange(8.0).reshape(2, 4), [-1, 3, -4]
    assert ours(Tensor(a), at).tolist() == numpys(a, at).tolist()
    gradcheck(lambda x: ours(x, at) ** 2, a)
    for wrong in (4, -5):
        with pytest.raises(OutOfRangeError, match=f"index {wrong} in axis 1"):
            ours(Tensor(a), [0, wrong, 0])


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_what_is_written_at_negative_positions(name):
    scatter = getattr(Tensor, name)
    a, src, at = np.ones((2, 4)), np.arange(6.0).reshape(2, 3), [[-1, 0, -4], [3, -2, 1]]
    expected = a.copy()
    for (i, j), k in np.ndenumerate(at):
        expected[i, k] = src[i, j] + (expected[i, k] if name == "scatter_add" else 0)
    assert scatter(Tensor(a), 1, at, Tensor(src)).tolist() == expected.tolist()
    gradcheck(lambda x, s: scatter(x, 1, at, s) ** 2, a, src)


def test_selecting_reads_no_position_back(backend):
    """Rows of a table are one kernel call, whatever the rows are."""
    made = []

    def watched(name, kernel):
        return lambda *operands, **params: (made.append(name), kernel(*operands, **params))[1]

    table = registry.table(backend)
    registry.register("watched", {key: watched(key[0], table[key]) for key in table})
    x, ids, at = Tensor.randn(8, 8), Tensor([1, -5, 2]), np.array([[0, -1], [7, 3]])
    y = Tensor.randn(4, 5, 6)
    try:
        with tutor.use_backend("watched"):
            for key in (ids, [1, -5, 2], (ids,), (slice(None), ids), at, (..., ids)):
                made.clear()
                x[key]
                assert made == ["index_select"], key
            for key in ((ids, ids), (0, ids), ([1, -4, 2], slice(None), [[0], [1]])):
                made.clear()
                (x if len(key) == 2 else y % 3)[key]
                assert not {"min", "max", "where", "lt", "nonzero"} & {*made}, key
    finally:
        registry._tables.pop("watched")


def test_basic_keys_still_give_views():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x[1].buf is x.buf
    assert x[Tensor(1)].buf is x.buf
    assert x[[1]].buf is not x.buf


KEYS = [
    # a tuple inside of the key, and a range, are arrays of positions
    ((0, 1), [2]), ((1, 0, -1), [0, 1, 2]), ((0, 1),), ((),), ((True, False, True),),
    (((0, 1), (1, 2)), 0), (slice(None), (0, 2)), ((0, 2), ..., (1, 3)),
    (range(3), [2, 1, 0]), (range(2),), (slice(None), range(1, 3)), (range(0),),
    (array.array("b", [0, 2]), 1), (memoryview(np.array([2, 0])),), (np.int8(1), [np.uint8(2)]),
    # slices of NumPy's ints, and of more than there is
    (slice(np.int64(1), 10**30),), (slice(-(10**30), np.uint8(2)), [1, 0]),
    # Ellipsis stands between arrays, also where it stands for no axis at all
    (slice(None), [0, 1], ..., [1, 2]), (slice(None), [0, 1], [1, 2], ...),
    (slice(None), [0, 1], ..., None, [1, 2]), (..., [0, 1], [1, 2]), ([0, 1], ..., [1, 2]),
    (slice(None), [0, 1], ..., True, [1, 2]), (True, [0, 1]), (False, [1]),
    (slice(None), [0, 1], ..., 1), (slice(None), 1, ..., [0, 1]),
    (slice(None), [0, 1], None, [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: re.sub(" at 0x[0-9a-f]*", "", str(key)))
@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 5, 6)], ids=str)
def test_each_kind_of_part_means_what_it_means_to_numpy(key, shape):
    a = np.arange(float(np.prod(shape))).reshape(shape)
    as_numpy = tuple(
        np.array(k, dtype=int if not len(k) else None) if isinstance(k, (array.array, tuple)) else k
        for k in key
    )
    t = Tensor(a, dtype="float64")
    assert t[key].shape == a[as_numpy].shape
    assert t[key].tolist() == a[as_numpy].tolist()
    t[key] = -1.0
    a[as_numpy] = -1.0
    assert t.tolist() == a.tolist()


@pytest.mark.parametrize("axis", range(3))
def test_a_position_is_smaller_than_the_size_of_its_axis(axis):
    """The next one would be the first of the next row, which is there."""
    shape = (2, 3, 4)
    x = Tensor.arange(24).reshape(shape)
    n = shape[axis]
    for position in (n, -n - 1, n + 1):
        for many in ([position], [0, position], [[position]], Tensor([position], dtype="int16")):
            for others in (0, [0], slice(None), slice(0, 1)):
                key = tuple(many if a == axis else others for a in range(3))
                with pytest.raises(OutOfRangeError, match=f"index {position} in axis {axis}"):
                    x[key]
                with pytest.raises(OutOfRangeError, match=f"index {position} in axis {axis}"):
                    x[key] = 0
    assert x.tolist() == Tensor.arange(24).reshape(shape).tolist()
    for position in (n - 1, -n):
        key = tuple([position] if a == axis else [0] for a in range(3))
        assert x[key].tolist() == x.numpy()[key].tolist()


@pytest.mark.parametrize(
    "key",
    [
        math.nan, 1.0, 1j, "a", b"ab", {1}, {}, (n for n in (1,)), object(), slice(0.5, None),
        slice("a", None), slice(None, None, 0), slice([1], None), 10**30, ([0], 10**30),
        ([10**30], 0), [1.5], ["a"], [None], [[0], [0, 1]], np.array(["a"]), [object()],
        np.array(["2020"], dtype="M8[s]"), np.array([0], dtype=object), np.array([2**63], "uint64"),
    ],
    ids=lambda key: re.sub(" at 0x.*", "", f"{type(key).__name__} {key!r:.30}"),  # no addresses
)  # fmt: skip
def test_what_is_no_position_is_refused_in_three_parts(key):
    x = Tensor.zeros(2, 3)
    for call in (lambda: x[key], lambda: x.__setitem__(key, 1.0)):
        with pytest.raises(TutorError) as caught:
            call()
        assert str(caught.value).count("\n") == 2
    assert not x.any()


def test_lists_without_end_are_refused_at_once():
    endless = [0]
    endless.append(endless)
    deep = [0]
    for _ in range(500):
        deep = [deep]
    for key in (endless, deep, (endless, 0), ([0], deep)):
        with pytest.raises(ShapeError, match="16"):
            Tensor.zeros(2, 3)[key]


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (([0, 3],), OutOfRangeError, "index 3 in axis 0"),
        ((0, [-4]), OutOfRangeError, "index -4 in axis 1"),
        (([0], [0], [0]), OutOfRangeError, "3 axes"),
        (([True, False, True],), ShapeError, "mask"),
        (([0.5],), DTypeError, "whole numbers"),
        (([0, 1], [0, 1, 2]), ShapeError, "index by arrays"),
        ((..., [0], ...), OutOfRangeError, "once"),
        ((["a"],), DTypeError, "numbers"),
    ],
)
def test_mistakes_are_explained(key, error, words):
    x = Tensor.zeros(2, 3)
    with pytest.raises(error, match=words):
        x[key]
    with pytest.raises(error, match=words):
        x[key] = 1.0
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_writing_where_a_gradient_is_wanted_is_refused():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GraphError):
        x[[0]] = 5.0
    with no_grad():
        x[[0]] = 5.0
    assert x.tolist() == [5, 2]
    with pytest.raises(ShapeError, match="expanded"):
        Tensor([1.0]).expand(3)[[0]] = 2.0


def test_a_saved_value_that_is_overwritten_through_a_mask_is_noticed():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    with no_grad():
        x[x > 1] = 0.0
    with pytest.raises(GraphError, match="changed in place"):
        y.backward()


def test_many_parts_cost_little_more_than_the_whole_in_backward() -> None:
    """From the whole each, the gradients of L parts would be L times as large as it."""

    def bytes_of(length: int) -> int:
        x = Tensor.randn(length, 8, requires_grad=True)

        def step() -> None:
            x.grad = None
            sum(part.exp().sum() for part in x.split(1)).backward()

        recorded = tutor.jit(step, passes=())
        for _ in range(2):
            recorded()
        found: int = recorded.recorded.nbytes
        return found

    assert bytes_of(128) < 3 * bytes_of(64)


def test_the_parts_of_what_needs_a_gradient_are_views() -> None:
    x = Tensor.arange(12.0).reshape(6, 2)
    needing = x.copy().requires_grad_()
    for parts, plain in ((needing.split(1), x.split(1)), (needing.chunk(6, 0), x.chunk(6, 0))):
        for part, expected in zip(parts, plain, strict=True):
            assert part.buf is needing.buf and part.tolist() == expected.tolist()
            assert (part.shape, part.strides, part.offset) == (
                expected.shape, expected.strides, expected.offset)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.T, lambda x: x[1:, ::2], lambda x: x[0]])
def test_one_number_where_a_mask_is_true(dtype, view):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    ours = Tensor(array.copy())
    seen, theirs = view(ours), view(array)
    mask = theirs > 4
    seen[Tensor(mask)] = 1
    theirs[mask] = 1
    assert ours.dtype.name == dtype and ours.tolist() == array.tolist()
    seen[(~mask).tolist()] = True
    theirs[~mask] = True
    assert ours.tolist() == array.tolist()


def test_a_number_that_a_mask_cannot_write_is_refused():
    x = Tensor([1, 2, 3], dtype="int8")
    for number in (1000, 0.5):
        with pytest.raises(NumberRangeError):
            x[x > 5] = number
    with pytest.raises(ShapeError):
        x[Tensor([True, False])] = 1
    assert x.tolist() == [1, 2, 3]


def test_a_step_that_writes_by_a_mask_is_recorded():
    @tutor.jit
    def cut(x):
        z = x.copy()
        z[z > 2] = 0.5
        return z

    for numbers in ([1.0, 3.0, 5.0], [3.0, 1.0, 0.0], [9.0, 9.0, 2.0]):
        assert cut(Tensor(numbers)).tolist() == [n if n <= 2 else 0.5 for n in numbers]
    assert cut.stats()["replayed"] == 1
