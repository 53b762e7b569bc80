"""batches: every row once, in an order that (seed, epoch) alone decides, on every backend."""

from __future__ import annotations

from array import array
from itertools import chain, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.backends import registry
from tutor.data import batches
from tutor.dtype import float32, uint8
from tutor.errors import DTypeError, ShapeError
from tutor.methods.tensor import Tensor


def rows(n, dtype="uint8"):
    """Images (n, 2, 3) and labels (n,): image i holds i, i + 1, ... and has the label i."""
    images = Tensor([[[i, i + 1, i + 2], [i + 3, i + 4, i + 5]] for i in range(n)], dtype=dtype)
    return images.reshape(n, 2, 3), Tensor(list(range(n)), dtype="int64")


def order(n, **options):
    return [y.tolist() for _, y in batches(*rows(n), **options)]


@pytest.fixture(params=registry.backends())
def backend(request):
    with registry.use_backend(request.param):
        yield request.param


SIZES = [  # n, size, drop_last, rows of each batch
    (10, 4, False, [4, 4, 2]),
    (10, 4, True, [4, 4]),
    (8, 4, False, [4, 4]),
    (8, 4, True, [4, 4]),
    (3, 64, False, [3]),
    (3, 64, True, []),
    (5, 1, False, [1] * 5),
    (0, 4, False, []),
]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("n", "size", "drop_last", "expected"), SIZES)
def test_sizes(backend, n, size, drop_last, expected, shuffle):
    found = list(batches(*rows(n), size=size, shuffle=shuffle, drop_last=drop_last))
    assert [x.shape for x, _ in found] == [(k, 2, 3) for k in expected]
    assert [y.shape for _, y in found] == [(k,) for k in expected]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_each_row_once_with_its_label(backend, shuffle, dtype):
    found = list(batches(*rows(50, dtype), size=7, shuffle=shuffle, seed=1))
    assert {x.dtype for x, _ in found} == {{"uint8": uint8, "float32": float32}[dtype]}
    seen = []
    for x, y in found:
        for image, label in zip(x.tolist(), y.tolist(), strict=True):
            assert image == [[label, label + 1, label + 2], [label + 3, label + 4, label + 5]]
            seen.append(label)
    assert sorted(seen) == list(range(50))
    assert (seen == list(range(50))) is not shuffle


def test_seed_and_epoch_alone_decide(backend):
    first = order(40, size=8, seed=5, epoch=2)
    Tensor.rand(100)  # whatever else draws random numbers
    assert order(40, size=8, seed=5, epoch=2) == first
    assert order(40, size=40, seed=5, epoch=2) == [list(chain(*first))], "nor does the size matter"
    others = [order(40, size=8, seed=s, epoch=e) for s in (5, 6) for e in range(4)]
    assert len({str(other) for other in others}) == 8


def test_the_order_is_the_same_everywhere(backend):
    """A run that was stopped here continues elsewhere: these numbers must never change."""
    assert order(10, size=10, seed=0, epoch=0) == [[7, 4, 1, 6, 2, 0, 3, 8, 9, 5]]
    assert order(10, size=10, seed=42, epoch=3) == [[6, 1, 5, 4, 3, 8, 7, 0, 9, 2]]


def test_a_stopped_epoch_continues(backend):
    whole = order(30, size=4, seed=3, epoch=1)
    again = batches(*rows(30), size=4, seed=3, epoch=1)
    assert [y.tolist() for _, y in islice(again, 5, None)] == whole[5:]


def test_a_change_to_a_shuffled_batch_stays_there(backend):
    images, labels = rows(6)
    for x, _ in batches(images, labels, size=4):
        x[...] = 99
    assert images.tolist() == rows(6)[0].tolist()


def test_without_shuffling_nothing_is_copied():
    images, labels = rows(6)
    assert all(
        x.buf is images.buf and y.buf is labels.buf
        for x, y in batches(images, labels, size=4, shuffle=False)
    )


def test_views_of_data_can_be_batched(backend):
    images, labels = rows(9)
    found = list(batches(images[::-2], labels[::-2], size=2, shuffle=False))
    assert [y.tolist() for _, y in found] == [[8, 6], [4, 2], [0]]
    shuffled = list(batches(images[::-2], labels[::-2], size=9))
    assert [image[0][0] for image in shuffled[0][0].tolist()] == shuffled[0][1].tolist()


def sources(tmp_path):
    """The images and labels of rows(5), handed in as others have them."""
    images, labels = (t.numpy().copy() for t in rows(5))
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    return {
        "arrays": (images, labels),
        "lists": (images.tolist(), labels.tolist()),
        "an array and a list": (images, labels.tolist()),
        "a Tensor and an array": (Tensor(images), labels),
        "a file, mapped": (mapped, labels),
        "other strides": (np.asfortranarray(images), labels[::-1][::-1]),
        "no dlpack": (memoryview(images), array("q", labels.tolist())),
    }


KINDS = ("arrays", "lists", "an array and a list", "a Tensor and an array", "a file, mapped",
         "other strides", "no dlpack")  # fmt: skip


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_and_lists(backend, tmp_path, kind, shuffle):
    images, labels = sources(tmp_path)[kind]
    wanted = batches(*rows(5), size=2, shuffle=shuffle)
    found = batches(images, labels, size=2, shuffle=shuffle)
    for (x, y), (wanted_x, wanted_y) in zip(found, wanted, strict=True):
        assert type(x) is type(y) is Tensor
        assert x.tolist() == wanted_x.tolist() and y.tolist() == wanted_y.tolist()
        assert y.dtype is wanted_y.dtype
        assert x.dtype is (wanted_x.dtype if kind != "lists" else y.dtype)


def test_an_array_s_memory_is_shared(tmp_path):
    images, labels = sources(tmp_path)["arrays"]
    for x, y in batches(images, labels, size=2, shuffle=False):
        assert np.shares_memory(x.numpy(), images) and np.shares_memory(y.numpy(), labels)
    mapped, labels = sources(tmp_path)["a file, mapped"]
    (x, _), *_ = batches(mapped, labels, shuffle=False)
    assert np.shares_memory(x.numpy(), mapped)


REFUSED = [
    ((Tensor([[1, 2]]), Tensor([1, 2])), {}, "shapes"),
    ((Tensor(1), Tensor(1)), {}, "shapes"),
    ((np.zeros((2, 3)), [1, 2, 3]), {}, "shapes"),
    ((np.zeros(()), np.zeros(())), {}, "shapes"),
    ((Tensor([1, 2]), Tensor([1, 2])), {"size": 0}, "at least one row"),
    ((Tensor([1, 2]), Tensor([1, 2])), {"size": -3}, "at least one row"),
]


@pytest.mark.parametrize(("tensors", "options", "message"), REFUSED)
def test_refused_before_the_first_batch(tensors, options, message):
    with pytest.raises(ShapeError, match=message):
        batches(*tensors, **options)


@pytest.mark.parametrize(
    "wrong",
    [np.array(["a"]), np.array([1j]), np.array([1.0], ">f4"), None, {"a": 1}, [[1, 2], [3]]],
)
def test_what_is_no_data_is_refused(wrong):
    for pair in ((wrong, [1]), ([1], wrong)):
        with pytest.raises((DTypeError, ShapeError)) as caught:
            batches(*pair)
        assert str(caught.value).count("\n") == 2


@given(
    n=st.integers(0, 60), size=st.integers(1, 70), seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 2**30), drop=st.booleans(),
)  # fmt: skip
def test_any_size_seed_and_epoch(n, size, seed, epoch, drop):
    found = order(n, size=size, seed=seed, epoch=epoch, drop_last=drop)
    assert all(len(batch) == size for batch in found[:-1])
    seen = list(chain(*found))
    assert len(set(seen)) == len(seen) == (n // size * size if drop else n)
    assert set(seen) <= set(range(n))
