"""Batches: a data set in random order, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.system import THREADS
from tutor._util.typing import DeviceLike, TensorLike
from tutor.backends import devices
from tutor.data.ahead import Ahead
from tutor.data.collate import collate, moved
from tutor.data.dataset import (
    IterableDataset,
    as_dataset,
    as_tensor,
    gives_rows,
    picked,
    whole_numbers,
)
from tutor.data.shard import Shard, part_of, shard_of
from tutor.errors import DataError, DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor

Order = Callable[[], Tensor | None]
AHEAD = 2  # batches that are made ahead for each worker that was asked for


@spelled
def batches(
    images: TensorLike,
    labels: TensorLike,
    size: int = 64,
    shuffle: bool = True,
    seed: int = 0,
    epoch: int = 0,
    drop_last: bool = False,
    shard: tuple[int, int] | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """(x, y) of `size` rows each, until every row was there once; the last pair may be shorter.

    The order depends on (seed, epoch) alone: give each epoch its number, and a run that was
    stopped continues exactly (`itertools.islice(batches(...), done, None)`; a DataLoader counts for
    itself). Shuffled batches are copies; without `shuffle` they are views of `images` and `labels`.

    Those may be Tensors, arrays of NumPy's or another library's, or lists. An array's memory is
    shared where it can be: of a file that is mapped (`np.load(path, mmap_mode="r")`) only the rows
    of a batch are read.

    `shard=(rank, size)`: of each batch that part which this rank of so many has, as
    `DataLoader(shard=)` does; of a short one it may have no row.
    """
    xs, ys = as_tensor(images), as_tensor(labels)
    rows = [t.shape[0] if t.shape else None for t in (xs, ys)]
    if rows[0] is None or rows[0] != rows[1]:
        raise ShapeError(
            "batches of images and labels",
            f"shapes {xs.shape} and {ys.shape}",
            "give one label for each image: the first axes must be alike",
        )
    if count("batches of size", size, -(2**63)) < 1:
        raise ShapeError(f"batches of size {size}", "a batch has at least one row", "use size=64")
    order = Tensor(random.permuted(rows[0], seed, epoch)).to(xs.device) if shuffle else None
    picks = pieces(rows[0], size, drop_last, order, shard_of("batches", shard))
    return ((picked(xs, pick), picked(ys, pick)) for pick in picks)


def pieces(n: int, size: int, drop_last: bool, order: Tensor | None,
           shard: Shard | None = None) -> Iterator[Any]:  # fmt: skip
    """The rows of each batch, or what a shard has of them: a piece of `order`, or a slice where
    there is none."""
    for at in range(0, n - size + 1 if drop_last else n, size):
        rows = slice(at, min(at + size, n))
        if shard is not None:
            part = shard.of(rows.stop - at)
            rows = slice(at + part.start, at + part.stop)
        yield rows if order is None else order[rows]


def count(asked: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    """A whole number of at least `least`, or the error that says so."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise DTypeError(f"{asked} {value!r:.60}", f"{checks.said(value)} is no whole number",
                         f"give a whole number from {least} on")  # fmt: skip
    number = int(value.__index__())
    if not least <= number <= most:
        raise ShapeError(f"{asked} {number}", f"it must be from {least} to {most}",
                         f"give a whole number from {least} on")  # fmt: skip
    return number


@spelled
class DataLoader:
    """`DataLoader(dataset, batch_size, shuffle=True)`: an iterable over the batches of an epoch.

    `dataset` is a Tensor or an array, a tuple of them, a list, or any object with `len` and `[i]`
    (tutor.data.dataset); or an IterableDataset, or a function that makes an iterator.

    seed        the order depends on (seed, epoch) alone. None: the seed of `manual_seed`
    sampler     an iterable over positions, gone through anew in each epoch, in place of `shuffle`
    drop_last   leave a last batch out that is shorter
    collate_fn  makes a batch of a list of samples; None: tutor.data.collate
    transform   is given each batch, of a tuple its first part (the images), and returns another
    prefetch    so many batches are made ahead, by one thread, while the program goes on
    device      where each batch is moved to; with `prefetch` by that thread, so beside the step.
                None: a batch is where its data are
    shard       (rank, size): of each batch only that part which this rank of so many has: its rows
                stand where one rank would have them, and of a short batch there may be none. What
                draws numbers, or is no plain indexing, makes the whole batch, which is then cut,
                so that the same numbers are drawn for each row
    num_workers of PyTorch's are processes. Here kernels run without Python's lock, and one thread
                does: for any number above 0, it makes `2 * num_workers` batches ahead

    Each `for` over it is the next epoch. `state_dict()` says where it stands; after
    `load_state_dict(state)` the next `for` goes on from there, with the very batches that
    were left.
    What a transform, a MappedDataset or a collate_fn draws from tutor's generator comes from a
    stream that (seed, epoch, number of the batch) name: with or without `prefetch`, after a resume,
    on any backend it is the same, and the process's own stream stands still.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        seed: int | None = None,
        sampler: Iterable[int] | None = None,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        prefetch: int = 0,
        num_workers: int = 0,
        shard: tuple[int, int] | None = None,
        device: DeviceLike | None = None,
    ) -> None:
        maker = callable(dataset) and not hasattr(dataset, "__getitem__")
        if hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__") and not maker:
            if iter(dataset) is dataset:
                raise DTypeError(
                    "a DataLoader",
                    f"{checks.said(dataset)}, which can be gone through once only",
                    "give a function that makes a new iterator for each epoch, or list(...) of it",
                )
            dataset = IterableDataset(dataset.__iter__)
        self.dataset: Any = IterableDataset(dataset) if maker else as_dataset(dataset)
        self.batch_size = count("a DataLoader with batch_size", batch_size, 1)
        self.shuffle, self.drop_last, self.sampler = bool(shuffle), bool(drop_last), sampler
        self.seed = random.initial_seed() if seed is None else seed
        count("a DataLoader with seed", self.seed, 0, 2**64 - 1)
        workers = count("a DataLoader with num_workers", num_workers, 0, 2**20)
        ahead = count("a DataLoader with prefetch", prefetch, 0, 2**20)
        self.prefetch = ahead or AHEAD * workers
        for name, f in (("collate_fn", collate_fn), ("transform", transform)):
            if f is not None:
                checks.function(f"DataLoader({name}=...)", f)
        self.collate_fn, self.transform = collate_fn, transform
        if self.streams and (shuffle or sampler is not None):
            raise DomainError(
                "a DataLoader that shuffles an IterableDataset",
                "its samples come one after another: nobody can ask for one by number",
                "leave shuffle and sampler out, or give a list of them",
            )
        if sampler is not None and (shuffle or not hasattr(sampler, "__iter__")):
            raise DomainError("a DataLoader with a sampler",
                              "shuffle=True, too" if shuffle else f"{checks.said(sampler)}",
                              "give shuffle, or an iterable over positions of samples")  # fmt: skip
        self.shard = shard_of("a DataLoader", shard)
        self.device = None if device is None else devices.of(device)
        self.epoch, self.batch = 0, 0  # the next one to be handed out
        self._goes_on = False  # whether the next iterator begins there, and not a new epoch
        self._turn: object = None  # the newest iterator's: it alone moves the position

    @property
    def streams(self) -> bool:
        """Whether the samples come one after another only."""
        return isinstance(self.dataset, IterableDataset)

    def __len__(self) -> int:
        """How many batches an epoch has. DTypeError for an IterableDataset."""
        if self.streams:
            raise DTypeError("len() of a DataLoader", "an IterableDataset has no length",
                             "count the batches as they come")  # fmt: skip
        chosen: Any = self.dataset if self.sampler is None else self.sampler
        n = len(chosen)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if self.batch and not self._goes_on:  # the last one was left in the middle
            self.epoch, self.batch = self.epoch + 1, 0
        self._goes_on = False
        turn = self._turn = object()
        # A sampler is asked once, also where a forked child makes the rest (ahead.py).
        order = cache(partial(self._order, self.epoch))
        make = partial(self._from, self.epoch, self.batch, order)
        ahead = self.prefetch if THREADS else 0
        return self._counted(Ahead(make, ahead) if ahead else make(0), turn)

    def _from(self, epoch: int, skip: int, order: Order, taken: int) -> Iterator[Any]:
        """The batches of an epoch, without those skipped or taken, where they are wanted."""
        made = self._batches(epoch, skip + taken, order)
        return made if self.device is None else map(partial(moved, device=self.device), made)

    def _counted(self, made: Iterator[Any], turn: object) -> Iterator[Any]:
        """The batches as they come; the position is that behind the one which was handed out."""
        epoch, at = self.epoch, self.batch
        try:
            for batch in made:
                at += 1
                if self._turn is turn:
                    self.epoch, self.batch = epoch, at
                yield batch
                del batch
            if self._turn is turn:
                self.epoch, self.batch = epoch + 1, 0
        finally:
            if isinstance(made, Ahead):
                made.close()

    def _batches(self, epoch: int, skip: int, order: Order) -> Iterator[Any]:
        """The batches of an epoch, without the first ones."""
        chosen = self._samples(skip) if self.streams else self._rows(order(), skip)
        make = self._streamed if self.streams else self._made
        if self._plain:
            yield from map(self.dataset.rows, chosen)  # nothing is drawn
            return
        for number, rows in enumerate(chosen, skip):
            own = random.Derived(self.seed, epoch, number)
            batch = random.drawing_from(own, make, rows)
            yield batch if self.shard is None else part_of(batch, self.shard)

    @property
    def _plain(self) -> bool:
        """Whether a batch is nothing but rows of the data."""
        rows = not self.streams and gives_rows(self.dataset)
        return rows and self.collate_fn is None and self.transform is None

    def _order(self, epoch: int) -> Tensor | None:
        """The positions of the samples of an epoch; None for one after another."""
        if self.sampler is not None:
            return whole_numbers(self.sampler)
        if self.shuffle:
            return Tensor(random.permuted(len(self.dataset), self.seed, epoch))
        return None

    def _rows(self, order: Tensor | None, skip: int) -> Iterator[Any]:
        """The positions of the samples of each batch."""
        n = len(self.dataset if order is None else order)
        shard = self.shard if self._plain else None
        return islice(pieces(n, self.batch_size, self.drop_last, order, shard), skip, None)

    def _samples(self, skip: int) -> Iterator[list[Any]]:
        """The samples of each batch, of those that come one after another."""
        samples = islice(iter(self.dataset), skip * self.batch_size, None)
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _made(self, rows: Any) -> Any:
        """The batch of these rows."""
        if gives_rows(self.dataset) and self.collate_fn is None:
            return self._changed(self.dataset.rows(rows))
        numbers = range(rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist()
        return self._streamed([self.dataset[i] for i in numbers])

    def _streamed(self, samples: list[Any]) -> Any:
        return self._changed((self.collate_fn or collate)(samples))

    def _changed(self, batch: Any) -> Any:
        if self.transform is None:
            return batch
        if isinstance(batch, tuple) and batch:
            return (self.transform(batch[0]), *batch[1:])
        return self.transform(batch)

    def _settings(self) -> dict[str, int]:
        """What the batches depend on, beside the position."""
        rows = 0 if self.streams else len(self.dataset)
        return {"rows": rows, "batch_size": self.batch_size, "shuffle": int(self.shuffle),
                "drop_last": int(self.drop_last)}  # fmt: skip

    def state_dict(self) -> dict[str, int]:
        """Where it stands, in whole numbers: seed, epoch, and how many of its batches were handed
        out, whatever has been made ahead; and the settings that must be the same to go on."""
        at = {"seed": self.seed, "epoch": self.epoch, "batch": self.batch}
        return {**at, **self._settings()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from there: the next `for` gives the batches that were left. DataError, and nothing
        is changed, if it is no such state or one of other settings."""
        own = self.state_dict()
        asked = "to load the position of a DataLoader"
        whole = isinstance(state, Mapping) and state.keys() == own.keys()
        if not whole or any(type(n) is not int or not 0 <= n < 2**64 for n in state.values()):
            raise DataError(asked, f"{state!r:.100}", "give what state_dict() returned")
        other = [f"{k} {state[k]} there, {n} here" for k, n in self._settings().items()
                 if state[k] != n]  # fmt: skip
        if other:
            raise DataError(
                asked,
                "; ".join(other),
                "make it with the settings, and over the data, with which it was saved",
            )
        self.seed, self.epoch, self.batch = state["seed"], state["epoch"], state["batch"]
        self._goes_on, self._turn = True, None
