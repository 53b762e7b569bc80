"""torch.utils.data: tutor.data with PyTorch's names, samplers and rules for batches.

Shuffled orders are drawn from tutor's generator, so they are not PyTorch's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from tutor import data as ours
from tutor.data.dataset import gives_rows, whole_numbers
from tutor.dtype import float64
from tutor.errors import ArgumentError, DataError
from tutor.torch.carrier import tag, watch
from tutor.torch.making import MADE


class Dataset(ours.Dataset):
    """A map from positions to samples: `__getitem__` and `__len__`."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(ours.IterableDataset):
    """Samples one after another: `__iter__`."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls


class TensorDataset(ours.TensorDataset, Dataset):
    """Rows of tensors of one length, by a position or by several."""

    rows = ours.TensorDataset.rows

    def __getitem__(self, index: Any) -> Any:
        return tag(tuple(t[index] for t in self.tensors))


class ConcatDataset(ours.ConcatDataset, Dataset):
    """Several datasets one after another."""

    @property
    def cumulative_sizes(self) -> list[int]:
        """Where each ends."""
        return self.ends


class Subset(Dataset):
    """The samples at some positions of another dataset."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """Subsets of these lengths, or shares of 1, in a random order."""
    seed = MADE["randint"](2**62, (), generator=generator).item()
    parts = ours.random_split(range(len(dataset)), list(lengths), seed)
    return [Subset(dataset, part.indices.tolist()) for part in parts]


# ---- samplers ------------------------------------------------------------------------------------


class Sampler:
    """Positions in some order: `__iter__`."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All positions in a random order, or `num_samples` draws with replacement."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: Any = None,
                 generator: Any = None) -> None:  # fmt: skip
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples

    def __iter__(self) -> Iterator[int]:
        n, order = len(self.data_source), list[int]()
        if self.replacement:
            order = MADE["randint"](n, (self.num_samples,), generator=self.generator).tolist()
        while len(order) < self.num_samples:
            order += MADE["randperm"](n, generator=self.generator).tolist()
        return iter(order[: self.num_samples])

    def __len__(self) -> int:
        return int(self.num_samples)


class SubsetRandomSampler(RandomSampler):
    """Those positions in a random order."""

    def __init__(self, indices: Any, generator: Any = None) -> None:
        super().__init__(indices, generator=generator)
        self.indices = indices

    def __iter__(self) -> Iterator[Any]:
        return (self.indices[i] for i in super().__iter__())


class WeightedRandomSampler(RandomSampler):
    """Positions drawn in proportion to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True,
                 generator: Any = None) -> None:  # fmt: skip
        self.weights = MADE["as_tensor"](weights, dtype=float64)
        super().__init__(self.weights, replacement, num_samples, generator)

    def __iter__(self) -> Iterator[int]:
        drawn = MADE["multinomial"](self.weights, self.num_samples, self.replacement,
                                  generator=self.generator)  # fmt: skip
        return iter(drawn.tolist())


class BatchSampler(Sampler):
    """Lists of `batch_size` positions."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        rows = iter(self.sampler)
        while batch := list(itertools.islice(rows, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n: int = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


# ---- the loader ----------------------------------------------------------------------------------


def default_collate(batch: Any) -> Any:
    """A list of samples as one batch: tensors stacked, numbers as a tensor, containers of these."""
    first = batch[0]
    if isinstance(first, float) and not hasattr(first, "__array__"):
        return MADE["tensor"](batch, dtype=float64)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if len({len(sample) for sample in batch}) > 1:
            raise DataError("a batch of samples", "they have several lengths", "pass a collate_fn")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    return tag(ours.collate(batch))


class DataLoader(ours.DataLoader):
    """The batches of a dataset, in order or shuffled; each `for` is an epoch. `num_workers` as in
    tutor.data.DataLoader: processes make the batches, or one thread; an IterableDataset is read
    once, not by each worker."""

    batch_size: Any

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
        collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
        multiprocessing_context=None, generator=None, *, prefetch_factor=None,
        persistent_workers=False, pin_memory_device="", in_order=True,
    ) -> None:  # fmt: skip
        if worker_init_fn is not None and num_workers:
            found = "each batch has its own stream of random numbers here"
            raise ArgumentError("DataLoader(worker_init_fn=)", found, "draw from torch.rand")
        if shuffle and (sampler is not None or batch_sampler is not None):
            raise ArgumentError("DataLoader(shuffle=True, sampler=)", "both order", "give one")
        given = list(dataset) if isinstance(dataset, tuple) else dataset
        super().__init__(given, batch_size or 1, drop_last=drop_last, num_workers=num_workers,
                         prefetch=(prefetch_factor or 0) * num_workers)  # fmt: skip
        alone = batch_size is None and batch_sampler is None
        if alone:
            self.collate_fn = lambda row: (collate_fn or tag)(row[0])
        elif collate_fn is not None or not gives_rows(self.dataset):
            self.collate_fn = collate_fn or default_collate
        if sampler is None and not self.streams:
            shuffled = RandomSampler(dataset, generator=generator)
            sampler = shuffled if shuffle else SequentialSampler(dataset)
        self.sampler, self.batch_size = sampler, batch_size
        self.batch_sampler = batch_sampler or BatchSampler(sampler, batch_size or 1, drop_last)

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        for batch in super().__iter__():
            rows = self.collate_fn is None and type(batch) is tuple
            yield tag(list(batch) if rows else batch)

    def __len__(self) -> int:
        if self.streams:
            return len(BatchSampler(self.dataset, self.batch_size or 1, self.drop_last))
        return len(self.batch_sampler)

    def _order(self, epoch: int) -> Any:
        """The positions of each batch, all at once if processes share them."""
        found = map(whole_numbers, self.batch_sampler)
        return list(found) if self._in_processes else found

    def _rows(self, order: Any, skip: int) -> Iterator[Any]:
        return itertools.islice(order, skip, None)


def get_worker_info() -> None:
    """None: a batch is made the same way by any worker."""


watch(__name__)
