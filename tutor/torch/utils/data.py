"""torch.utils.data: datasets, samplers, and a loader in this process.

`num_workers` is accepted: the batches are the same, made one after another. Shuffled orders are
drawn from tutor's generator, so they are not PyTorch's.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from tutor.dtype import float64
from tutor.errors import ArgumentError, DataError
from tutor.torch.carrier import Plain, tag, watch
from tutor.torch.making import MADE


class Dataset:
    """A map from positions to samples: `__getitem__` and `__len__`."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError("a Dataset needs __getitem__")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after another: `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("an IterableDataset needs __iter__")


class TensorDataset(Dataset):
    """Rows of tensors of one length."""

    def __init__(self, *tensors: Any) -> None:
        if len({t.shape[0] for t in tensors}) > 1:
            raise DataError("TensorDataset", f"lengths {[t.shape[0] for t in tensors]}", "be equal")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class ConcatDataset(Dataset):
    """Several datasets one after another."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        index += len(self) if index < 0 else 0
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


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
    n, sizes = len(dataset), list(lengths)
    if abs(sum(sizes) - 1) < 1e-9 and any(isinstance(s, float) for s in sizes):
        sizes = [int(n * share) for share in sizes]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
    if sum(sizes) != n:
        raise DataError(f"random_split into {sizes}", f"there are {n} samples", "add up to that")
    order = MADE["randperm"](n, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


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
        n = len(self.data_source)
        if self.replacement:
            drawn = MADE["randint"](n, (self.num_samples,), generator=self.generator)
            return iter(drawn.tolist())
        order: list[int] = []
        while len(order) < self.num_samples:
            order += MADE["randperm"](n, generator=self.generator).tolist()
        return iter(order[: self.num_samples])

    def __len__(self) -> int:
        return int(self.num_samples)


class SubsetRandomSampler(Sampler):
    """Those positions in a random order."""

    def __init__(self, indices: Any, generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        order = MADE["randperm"](len(self.indices), generator=self.generator).tolist()
        return iter([self.indices[i] for i in order])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Positions drawn in proportion to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True,
                 generator: Any = None) -> None:  # fmt: skip
        self.weights = MADE["as_tensor"](weights, dtype=float64)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = MADE["multinomial"](self.weights, self.num_samples, self.replacement,
                                  generator=self.generator)  # fmt: skip
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


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
    if isinstance(first, Plain):
        return tag(MADE["stack"](batch))
    if hasattr(first, "__array__"):
        return tag(MADE["stack"]([MADE["as_tensor"](x) for x in batch]))
    if isinstance(first, float):
        return tag(MADE["tensor"](batch, dtype=float64))
    if isinstance(first, int):
        return tag(MADE["tensor"](batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, (tuple, list)):
        if len({len(sample) for sample in batch}) > 1:
            raise DataError("a batch of samples", "they have several lengths", "pass a collate_fn")
        return [default_collate(column) for column in zip(*batch, strict=True)]
    raise DataError(f"a batch of {type(first).__name__}", "it is neither a tensor, a number nor a "
                    "container of these", "pass a collate_fn")  # fmt: skip


class DataLoader:
    """The batches of a dataset, in order or shuffled; each `for` is an epoch."""

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
        collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None,
        multiprocessing_context=None, generator=None, *, prefetch_factor=None,
        persistent_workers=False, pin_memory_device="", in_order=True,
    ) -> None:  # fmt: skip
        if worker_init_fn is not None and num_workers:
            raise ArgumentError("DataLoader(worker_init_fn=)", "there are no workers here",
                                "leave it out, and draw from torch.rand")  # fmt: skip
        if shuffle and (sampler is not None or batch_sampler is not None):
            raise ArgumentError("DataLoader(shuffle=True, sampler=)", "both order", "give one")
        self.dataset, self.collate_fn = dataset, collate_fn
        self.batch_size, self.drop_last, self.num_workers = batch_size, drop_last, num_workers
        self.iterable = isinstance(dataset, IterableDataset)
        if sampler is None and not self.iterable:
            shuffled = RandomSampler(dataset, generator=generator)
            sampler = shuffled if shuffle else SequentialSampler(dataset)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if batch_sampler is None and batch_size is not None and not self.iterable:
            self.batch_sampler = BatchSampler(sampler, batch_size, drop_last)

    def __class_getitem__(cls, kind: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        collate = self.collate_fn or default_collate
        if self.iterable:
            rows = iter(self.dataset)
            while batch := list(itertools.islice(rows, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield tag(collate(batch))
            return
        if self.batch_sampler is None:
            for i in self.sampler:
                yield tag(self.dataset[i] if self.collate_fn is None else collate(self.dataset[i]))
            return
        for places in self.batch_sampler:
            yield tag(collate([self.dataset[i] for i in places]))

    def __len__(self) -> int:
        if self.iterable:
            return len(BatchSampler(self.dataset, self.batch_size, self.drop_last))
        batches: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(batches)


def get_worker_info() -> None:
    """None: there are no workers."""


watch(__name__)
