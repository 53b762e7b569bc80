"""Datasets, samplers and the loader: each position once, in batches as PyTorch's."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest

import tutor.torch as torch
from tutor._util.system import FORKS
from tutor.errors import TutorError
from tutor.torch.utils import data


class Point(NamedTuple):
    x: float
    y: int


class Squares(data.Dataset):
    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return torch.tensor([float(i)]), i * i


class Stream(data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(5))


def test_a_shuffled_epoch_has_each_sample_once() -> None:
    loader = data.DataLoader(Squares(), batch_size=3, shuffle=True, num_workers=2)
    epochs = [[label for _, labels in loader for label in labels.tolist()] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [[i * i for i in range(7)]] * 2
    assert len(loader) == 3 and len(data.DataLoader(Squares(), 3, drop_last=True)) == 2


def test_a_generator_repeats_the_order() -> None:
    orders = []
    for _ in range(2):
        g = torch.Generator().manual_seed(5)
        orders.append([b.tolist() for b in data.DataLoader(list(range(9)), 2, True, generator=g)])
    assert orders[0] == orders[1]


def test_samplers() -> None:
    weighted = data.WeightedRandomSampler([0.0, 1.0, 0.0], 4)
    assert list(weighted) == [1, 1, 1, 1] and len(weighted) == 4
    assert sorted(data.SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=20))
    assert len(drawn) == 20 and set(drawn) <= {0, 1, 2}
    batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, False)
    assert list(batches) == [[0, 1], [2, 3], [4]] and len(batches) == 3
    assert [b.tolist() for b in data.DataLoader(range(5), batch_sampler=batches)] == list(batches)


def test_batches_of_each_kind() -> None:
    batch = next(iter(data.DataLoader([Point(0.5, 1), Point(1.5, 2)], 2)))
    assert isinstance(batch, Point) and batch.x.dtype is torch.float64
    assert batch.y.tolist() == [1, 2]
    (words,) = data.DataLoader(["a", "b"], 2)
    assert words == ["a", "b"]
    assert [b.tolist() for b in data.DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert [x for x, _ in data.DataLoader(Squares(), None)][2].tolist() == [2.0]
    with pytest.raises(TutorError, match="several lengths"):
        next(iter(data.DataLoader([(1,), (1, 2)], 2)))


class Where(data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> tuple[int, float]:
        return os.getpid(), float(i)


@pytest.mark.skipif(not FORKS, reason="no processes are forked here")
def test_workers_are_processes_and_change_no_batch() -> None:
    found = [list(data.DataLoader(Where(), 2, num_workers=n)) for n in (0, 2)]
    assert found[0][1][1].tolist() == found[1][1][1].tolist() == [2.0, 3.0]
    pids = {pid for batch in found[1] for pid in batch[0].tolist()}
    assert len(pids) == 2 and os.getpid() not in pids


def test_a_batch_of_rows_is_a_list_of_copies() -> None:
    x, y = torch.zeros(3, 2), torch.arange(3)
    batch = next(iter(data.DataLoader(data.TensorDataset(x, y), 2)))
    assert type(batch) is list and all(isinstance(t, torch.Tensor) for t in batch)
    batch[0] += 1
    assert x.sum().item() == 0.0


def test_splits_share_nothing() -> None:
    a, b = data.random_split(Squares(), [0.6, 0.4])
    assert len(a) == 5 and len(b) == 2
    assert sorted([*a.indices, *b.indices]) == list(range(7))
    both = a + b
    assert len(both) == 7 and both[-1][1] == b[1][1]
    with pytest.raises(TutorError, match="add up"):
        data.random_split(Squares(), [5, 5])
