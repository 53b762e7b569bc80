"""Data sets: samples by number, and many at once."""

from __future__ import annotations

import numpy as np
import pytest

from tutor import Tensor
from tutor.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    MappedDataset,
    Subset,
    TensorDataset,
    collate,
    random_split,
)
from tutor.data.dataset import as_dataset
from tutor.errors import (
    OutOfRangeError,
)

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.arange(6)


def values(sample):
    if isinstance(sample, Tensor):
        return sample.tolist()
    return tuple(map(values, sample)) if isinstance(sample, tuple) else sample


class Squares(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.place(index) ** 2


SAMPLES = [
    (lambda: TensorDataset(X, Y), [(X[i].tolist(), i) for i in range(6)]),
    (lambda: TensorDataset(Tensor(Y)), [(i,) for i in range(6)]),
    (lambda: as_dataset(X), X.tolist()),
    (lambda: as_dataset(Tensor(Y)), list(range(6))),
    (lambda: as_dataset((X, Y)), [(X[i].tolist(), i) for i in range(6)]),
    (lambda: Subset(Y, [4, 0, 4]), [4, 0, 4]),
    (lambda: Subset(["a", "b", "c"], range(2, 0, -1)), ["c", "b"]),
    (lambda: Subset(Subset(Y, [5, 4, 3]), Tensor([2, 0])), [3, 5]),
    (lambda: Subset(Y, []), []),
    (lambda: ConcatDataset([Y, [], ["a"]]), [0, 1, 2, 3, 4, 5, "a"]),
    (lambda: MappedDataset(Y, lambda s: s.item() * 10), [0, 10, 20, 30, 40, 50]),
    (Squares, [0, 1, 4, 9]),
    (lambda: Squares() + Squares().map(str), [0, 1, 4, 9, "0", "1", "4", "9"]),
]


@pytest.mark.parametrize(("make", "wanted"), SAMPLES)
def test_samples(make, wanted):
    dataset = make()
    assert len(dataset) == len(wanted)
    assert [values(dataset[i]) for i in range(len(dataset))] == wanted
    assert [values(sample) for sample in dataset] == wanted
    assert [values(dataset[i]) for i in range(-len(wanted), 0)] == wanted
    for beyond in (len(wanted), -len(wanted) - 1):
        with pytest.raises(OutOfRangeError):
            dataset[beyond]


def test_rows_of_a_subset_are_those_of_its_data_set():
    subset = Subset((X, Y), [5, 1, 3, 0])
    x, y = subset.rows(Tensor([2, 0]))
    assert y.tolist() == [3, 5] and x.tolist() == X[[3, 5]].tolist()
    x, y = subset.rows(slice(1, 3))
    assert y.tolist() == [1, 3] and x.tolist() == X[[1, 3]].tolist()


class Scaled(TensorDataset):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x * 100, y


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: Subset(d, range(6))])
def test_a_loader_asks_a_subclass_for_its_own_samples(wrap):
    batches = DataLoader(wrap(Scaled(X, Y)), 3)
    assert [x.tolist() for x, _ in batches] == [(X[:3] * 100).tolist(), (X[3:] * 100).tolist()]


def test_memory_of_arrays_is_shared():
    assert np.shares_memory(TensorDataset(X)[0][0].numpy(), X)
    assert np.shares_memory(as_dataset(X)[0].numpy(), X)


def test_random_split_deals_each_sample_once():
    for lengths, sizes in (([4, 2], [4, 2]), ([0.5, 0.5], [3, 3]), ([0.7, 0.3], [5, 1]),
                           ([6, 0], [6, 0])):  # fmt: skip
        parts = random_split(Y, lengths, seed=3)
        assert [len(part) for part in parts] == sizes
        assert sorted(s.item() for part in parts for s in part) == list(range(6))
    first, again, other = (
        [s.item() for s in random_split(Y, [4, 2], seed=seed)[0]] for seed in (3, 3, 4)
    )
    assert first == again != other
    assert [s.item() for s in random_split(range(100), [50, 50])[0].map(Tensor)] != list(range(50))


def test_collate_keeps_the_form_of_a_sample():
    from collections import namedtuple

    Pair = namedtuple("Pair", "x y")
    samples = [
        {"x": X[i], "n": i, "f": i / 2, "b": i > 0, "t": str(i), "p": Pair(Tensor(i), [i, (i,)])}
        for i in range(3)
    ]
    batch = collate(samples)
    assert batch["x"].tolist() == X[:3].tolist() and batch["x"].dtype.name == "float32"
    assert batch["n"].tolist() == [0, 1, 2] and batch["n"].dtype.name == "int64"
    assert batch["f"].tolist() == [0, 0.5, 1] and batch["f"].dtype.name == "float32"
    assert batch["b"].tolist() == [False, True, True]
    assert batch["t"] == ["0", "1", "2"]
    assert type(batch["p"]) is Pair and batch["p"].x.tolist() == [0, 1, 2]
    assert [part.tolist() for part in (batch["p"].y[0], *batch["p"].y[1])] == [[0, 1, 2]] * 2
    assert collate([np.float64(0.5), np.float64(1.5)]).tolist() == [0.5, 1.5]
    assert collate([np.int32(3), np.int32(4)]).dtype.name == "int32"
