"""Data sets: anything with a length that returns samples by number.

A list, an array, a Tensor, or an object of your own with `__len__` and `__getitem__` will do. The
classes here are the building blocks of most data sets. Each returns single samples, `dataset[i]`;
some can also return many rows at once (`rows`), a Tensor for each column, so that a batch costs one
kernel call instead of a Python call for each sample.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import TensorLike
from tutor.dtype import int64
from tutor.errors import DataError, DomainError, DTypeError, OutOfRangeError, ShapeError
from tutor.methods.tensor import Tensor


def as_tensor(data: TensorLike) -> Tensor:
    """`data` as a Tensor, sharing its memory if possible."""
    if isinstance(data, Tensor):
        return data
    if hasattr(data, "__dlpack__"):
        try:
            return Tensor.from_dlpack(data)
        except (BufferError, DTypeError):  # another device or byte order, or not numeric
            pass
    return Tensor(data)


def picked(t: Tensor, index: Tensor | slice) -> Tensor:
    """Rows of a Tensor on any device; positions are counted on the host."""
    return t[index] if isinstance(index, slice) else t.index_select(0, index.to(t.device))


def length(dataset: object, asked: str) -> int:
    """The number of samples. DTypeError for an object without a length or without samples."""
    given = hasattr(dataset, "__getitem__") and not isinstance(dataset, (Mapping, str, bytes))
    if given and hasattr(dataset, "__len__"):
        try:
            return len(dataset)
        except TypeError:
            pass  # NumPy's 0-d arrays do have the method
    raise DTypeError(
        asked,
        f"{checks.said(dataset)}, which has no len() or no [number]",
        "give a list, an array, a Tensor, or an object with __len__ and __getitem__",
    )


class Dataset:
    """Base class for your own data sets: write `__len__` and `__getitem__`, and inherit `map`, `+`
    and `split`. It is optional."""

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__(self)")

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__(self, index)")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])

    def map(self, function: Callable[[Any], Any]) -> MappedDataset:
        """The same data set, with each sample replaced by `function(sample)`."""
        return MappedDataset(self, function)

    def place(self, index: int) -> int:
        """`index`, counted from the end if it is negative. OutOfRangeError beyond the ends."""
        n = len(self)
        if not hasattr(index, "__index__"):
            raise DTypeError(
                f"sample {index!r:.40} of a {type(self).__name__}",
                f"{checks.said(index)} is no whole number",
                "ask for one sample by its number; a DataLoader makes batches",
            )
        if not -n <= index < n:
            raise OutOfRangeError(f"sample {index} of a {type(self).__name__}",
                                  f"there are {n}", "use 0 to len(dataset) - 1")  # fmt: skip
        return index % n


@spelled
class TensorDataset(Dataset):
    """`TensorDataset(images, labels)`: sample i is the tuple of row i of each.

    Takes Tensors, arrays (shared, not copied, if possible) and lists. ShapeError if their numbers
    of rows differ.
    """

    def __init__(self, *arrays: TensorLike) -> None:
        self.tensors = tuple(as_tensor(t) for t in arrays)
        shapes = [t.shape for t in self.tensors]
        if not shapes or not all(shape[:1] and shape[0] == shapes[0][0] for shape in shapes):
            raise ShapeError(
                "a TensorDataset",
                f"shapes {', '.join(map(str, shapes))}" if shapes else "no Tensor",
                "give at least one, each with a row for every sample: first axes alike",
            )

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        at = self.place(index)
        return tuple(t[at] for t in self.tensors)

    def rows(self, index: Tensor | slice) -> tuple[Tensor, ...]:
        """Many samples, a Tensor for each column: copies for an index, views for a slice."""
        return tuple(picked(t, index) for t in self.tensors)


class Column(Dataset):
    """One Tensor as a data set: sample i is its row i, not a tuple of one."""

    def __init__(self, data: Tensor) -> None:
        self.data = data

    def __len__(self) -> int:
        return self.data.shape[0]

    def __getitem__(self, index: int) -> Tensor:
        return self.data[self.place(index)]

    def rows(self, index: Tensor | slice) -> Tensor:
        return picked(self.data, index)


@spelled
class Subset(Dataset):
    """`Subset(dataset, indices)`: sample i is `dataset[indices[i]]`."""

    def __init__(self, dataset: Any, indices: Sequence[int] | Tensor) -> None:
        self.dataset, self.indices = as_dataset(dataset), whole_numbers(indices)
        n = length(self.dataset, "a Subset of a data set")
        if wrong := [i for i in (self._ends() if len(self.indices) else ()) if not 0 <= i < n]:
            raise OutOfRangeError("a Subset", f"index {wrong[0]}, where there are {n} samples",
                                  "use 0 to len(dataset) - 1")  # fmt: skip

    def _ends(self) -> tuple[int, int]:
        return int(self.indices.min().item()), int(self.indices.max().item())

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[self.place(index)].item())]

    def rows(self, index: Tensor | slice) -> Any:
        """These rows of the underlying data set, which must support `rows`."""
        return self.dataset.rows(picked(self.indices, index))


def gives_rows(dataset: object) -> bool:
    """Whether it can return many samples at once, as a Tensor for each column: not if a subclass of
    such a data set has changed what one sample is."""
    kinds = type(dataset).__mro__ if isinstance(dataset, Dataset) else ()
    newest = next((vars(k) for k in kinds if "rows" in vars(k) or "__getitem__" in vars(k)), ())
    return "rows" in newest and (not isinstance(dataset, Subset) or gives_rows(dataset.dataset))


def whole_numbers(indices: Any) -> Tensor:
    """Positions of samples as an int64 Tensor on the host. DTypeError if they are not integers."""
    listed = indices if isinstance(indices, (Tensor, list, tuple, range)) else list(indices)
    found = as_tensor(listed if isinstance(listed, Tensor) or len(listed) else []).detach()
    if found.numel() and (not found.dtype.is_integer or found.ndim != 1):
        raise DTypeError("positions of samples", f"{found.dtype.name} of shape {found.shape}",
                         "give a list of whole numbers")  # fmt: skip
    return found.cast(int64).cpu()


@spelled
class ConcatDataset(Dataset):
    """`ConcatDataset([a, b])`: the samples of a, then those of b."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = [as_dataset(dataset) for dataset in datasets]
        if not self.datasets:
            raise DataError("a ConcatDataset", "no data set", "give at least one")
        self.ends = list(accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.ends[-1]

    def __getitem__(self, index: int) -> Any:
        at = self.place(index)
        which = bisect_right(self.ends, at)
        return self.datasets[which][at - (self.ends[which - 1] if which else 0)]


@spelled
class MappedDataset(Dataset):
    """`MappedDataset(dataset, function)`: sample i is `function(dataset[i])`, computed on demand.

    Within a DataLoader, random numbers that the function draws from tutor's generator depend only
    on the loader's seed, the epoch and the batch.
    """

    def __init__(self, dataset: Any, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise DTypeError("a MappedDataset", f"the function is {checks.said(function)}",
                             "give a function of one sample")  # fmt: skip
        self.dataset, self.function = as_dataset(dataset), function

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.function(self.dataset[self.place(index)])


def samples(dataset: Any, rows: Tensor | slice) -> Iterator[Any]:
    """`dataset[i]` for each of these rows, one after another; a Subset finds their places all at
    once, not by a kernel for each."""
    if type(dataset) is Subset:
        return samples(dataset.dataset, picked(dataset.indices, rows))
    if type(dataset) is MappedDataset:
        return map(dataset.function, samples(dataset.dataset, rows))
    numbers = range(rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist()
    return map(dataset.__getitem__, numbers)


class IterableDataset:
    """`IterableDataset(make)`: samples that come one after another, in unknown number.

    `make()` returns a new iterator for each epoch: a generator function will do. Alternatively, a
    subclass writes `__iter__`.
    """

    def __init__(self, make: Callable[[], Iterable[Any]] | None = None) -> None:
        if make is not None and not callable(make):
            raise DTypeError(
                "an IterableDataset",
                f"{checks.said(make)}, which can be gone through once at most",
                "give a function that makes a new iterator for each epoch: a generator function",
            )
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        if self.make is None:
            raise NotImplementedError(f"{type(self).__name__} has no __iter__(self)")
        return iter(self.make())


def as_dataset(data: Any) -> Any:
    """The data as a DataLoader needs it: a Tensor or an array becomes a Column, a tuple of them a
    TensorDataset; a list, or any object with `[i]` and `len`, is returned unchanged."""
    if isinstance(data, (Dataset, IterableDataset)):
        return data
    if isinstance(data, Tensor) or hasattr(data, "__array__") or isinstance(data, memoryview):
        rows = as_tensor(data)
        if not rows.shape:
            raise ShapeError("a data set of one number", "it has no first axis",
                             "give one with a row for every sample")  # fmt: skip
        return Column(rows)
    if isinstance(data, tuple) and data and all(map(is_array, data)):
        return TensorDataset(*data)
    length(data, "a data set")
    return data


def is_array(value: object) -> bool:
    return isinstance(value, (Tensor, memoryview)) or hasattr(value, "__array__")


@spelled
def random_split(dataset: Any, lengths: Sequence[float], seed: int = 0) -> list[Subset]:
    """Subsets of those lengths, each sample in exactly one of them, assigned at random by the seed.

    `lengths` are integers that add up to len(dataset), or fractions that add up to 1: each is
    rounded down, and the first subsets get one leftover sample each.
    """
    dataset, asked = as_dataset(dataset), f"random_split into {lengths!r:.80}"
    n = length(dataset, asked)
    sizes = list(lengths) if isinstance(lengths, (list, tuple)) else []
    if not sizes or any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in sizes):
        raise DTypeError(asked, "no list of numbers", "use, for example, [0.8, 0.2]")
    if abs(sum(sizes) - 1) < 1e-6 and any(isinstance(x, float) for x in sizes):
        parts = [int(n * x + 1e-9) for x in sizes]
        for i in range(n - sum(parts)):
            parts[i % len(parts)] += 1
    elif all(isinstance(x, int) for x in sizes) and sum(sizes) == n:
        parts = [int(x) for x in sizes]
    else:
        parts = [-1]
    if min(parts) < 0:
        raise DomainError(
            asked,
            f"they add up to {sum(sizes)}, and there are {n} samples",
            "give whole numbers of that sum, or fractions whose sum is 1",
        )
    order, ends = Tensor(random.permuted(n, seed)), list(accumulate(parts))
    return [Subset(dataset, order[end - k : end]) for k, end in zip(parts, ends, strict=True)]
