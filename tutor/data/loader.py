"""Batches: a data set in random order, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any

from tutor import random
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.system import FORKS, THREADS
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
    samples,
    whole_numbers,
)
from tutor.data.shard import Shard, part_of, shard_of
from tutor.errors import DataError, DomainError, DTypeError, ShapeError
from tutor.methods.tensor import Tensor

Order = Callable[[], Tensor | None]
AHEAD = 2  # batches made ahead per requested worker


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
    """(x, y) of `size` rows each, until every row has come once; the last pair may be shorter.

    The order depends on (seed, epoch) alone: pass each epoch its number, and an interrupted run
    continues exactly (`itertools.islice(batches(...), done, None)`; a DataLoader counts for
    itself). Shuffled batches are copies; without `shuffle` they are views of `images` and `labels`.

    These may be Tensors, arrays of NumPy or another library, or lists. An array's memory is shared
    if possible: from a memory-mapped file (`np.load(path, mmap_mode="r")`) only the rows of a batch
    are read.

    `shard=(rank, size)`: only this rank's part of each batch, as in `DataLoader(shard=)`; of a
    short batch it may have no row.
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
    """The rows of each batch, or a shard's part of them: a piece of `order`, or a slice if `order`
    is None."""
    for at in range(0, n - size + 1 if drop_last else n, size):
        rows = slice(at, min(at + size, n))
        if shard is not None:
            part = shard.of(rows.stop - at)
            rows = slice(at + part.start, at + part.stop)
        yield rows if order is None else order[rows]


def count(asked: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    """A whole number of at least `least`, or the error for any other value."""
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
    sampler     an iterable over positions, iterated again in each epoch, instead of `shuffle`
    drop_last   drop a last batch that is shorter
    collate_fn  makes a batch from a list of samples; None: tutor.data.collate
    transform   maps each batch (of a tuple its first part, the images) to a new one
    prefetch    number of batches that a thread makes ahead, while the program continues
    device      where each batch is moved to; with `prefetch` by that thread, in parallel with the
                step. None: a batch stays where its data are
    shard       (rank, size): only this rank's part of each batch. Its rows are in the order that a
                single rank would have; of a short batch there may be none. If anything draws random
                numbers, or is not plain indexing, the whole batch is made and then cut, so that the
                same numbers are drawn for each row
    num_workers number of processes that make batches, if samples are asked for one by one, as in
                PyTorch (tutor.data.workers; on Linux, where they are forked). Rows of arrays come
                from kernels, which run without Python's lock: there, for streams, and on other
                systems, one thread makes them. Either makes `2 * num_workers` batches ahead,
                or as many as `prefetch`

    Each `for` over it is the next epoch. `state_dict()` records its position; after
    `load_state_dict(state)` the next `for` continues there, with exactly the remaining batches.
    Random numbers that a transform, a MappedDataset or a collate_fn draws from tutor's generator
    come from a stream named by (seed, epoch, number of the batch): they are the same with any
    `prefetch` and `num_workers`, after a resume, and on any backend, and the process's own stream
    is untouched.
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
        self.num_workers = count("a DataLoader with num_workers", num_workers, 0, 2**20)
        ahead = count("a DataLoader with prefetch", prefetch, 0, 2**20)
        self.prefetch = ahead or AHEAD * self.num_workers
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
        self.epoch, self.batch = 0, 0  # of the next batch to hand out
        self._goes_on = False  # whether the next iterator resumes there, or starts an epoch
        self._turn: object = None  # of the newest iterator, the only one that moves the position

    @property
    def streams(self) -> bool:
        """Whether the samples come only one after another."""
        return isinstance(self.dataset, IterableDataset)

    def __len__(self) -> int:
        """The number of batches in an epoch. DTypeError for an IterableDataset."""
        if self.streams:
            raise DTypeError("len() of a DataLoader", "an IterableDataset has no length",
                             "count the batches as they come")  # fmt: skip
        chosen: Any = self.dataset if self.sampler is None else self.sampler
        n = len(chosen)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        if self.batch and not self._goes_on:  # the last epoch was interrupted
            self.epoch, self.batch = self.epoch + 1, 0
        self._goes_on = False
        turn = self._turn = object()
        # A sampler is iterated once, even if a forked child makes the rest (ahead.py).
        order = cache(partial(self._order, self.epoch))
        if self._in_processes:
            return self._counted(self._workers(order), turn)
        make = partial(self._from, self.epoch, self.batch, order)
        ahead = self.prefetch if THREADS else 0
        return self._counted(Ahead(make, ahead) if ahead else make(0), turn)

    def _workers(self, order: Order) -> Iterator[Any]:
        """The batches from the present position on, made by processes."""
        from tutor.data.workers import Workers  # slow to import, and seldom needed

        epoch, skip, n = self.epoch, self.batch, self.num_workers
        order()  # here, where a sampler may change, and not in each of them
        return Workers(
            lambda taken, turn: self._batches(epoch, skip + taken, order, turn, n),
            n,
            max(1, self.prefetch // n),
            lambda batch: batch if self.device is None else moved(batch, self.device),
        )

    @property
    def _in_processes(self) -> bool:
        """Whether processes make the batches: samples are asked for one by one."""
        single = not self.streams and (not gives_rows(self.dataset) or self.collate_fn is not None)
        return FORKS and self.num_workers > 0 and single

    def _from(self, epoch: int, skip: int, order: Order, taken: int) -> Iterator[Any]:
        """The batches of an epoch, without those skipped or taken, on the requested device."""
        made = self._batches(epoch, skip + taken, order)
        return made if self.device is None else map(partial(moved, device=self.device), made)

    def _counted(self, made: Iterator[Any], turn: object) -> Iterator[Any]:
        """Pass the batches on, moving the position past each batch that is handed out."""
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
            if hasattr(made, "close"):  # threads and processes end
                made.close()

    def _batches(self, epoch: int, skip: int, order: Order, turn: int = 0,
                 turns: int = 1) -> Iterator[Any]:  # fmt: skip
        """The batches of an epoch, without the first `skip`; of these, each `turns`-th from number
        `turn` on: a worker's."""
        chosen = self._samples(skip) if self.streams else self._rows(order(), skip)
        make = self._streamed if self.streams else self._made
        if self._plain:
            yield from map(self.dataset.rows, chosen)  # no random numbers are drawn
            return
        for number, rows in islice(enumerate(chosen, skip), turn, None, turns):
            own = random.Derived(self.seed, epoch, number)
            batch = random.drawing_from(own, make, rows)
            yield batch if self.shard is None else part_of(batch, self.shard)

    @property
    def _plain(self) -> bool:
        """Whether a batch consists only of rows of the data."""
        rows = not self.streams and gives_rows(self.dataset)
        return rows and self.collate_fn is None and self.transform is None

    def _order(self, epoch: int) -> Tensor | None:
        """The positions of the samples of an epoch; None for sequential order."""
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
        """The samples of each batch of an iterable data set."""
        samples = islice(iter(self.dataset), skip * self.batch_size, None)
        while batch := list(islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _made(self, rows: Any) -> Any:
        """The batch of these rows."""
        if gives_rows(self.dataset) and self.collate_fn is None:
            return self._changed(self.dataset.rows(rows))
        found: list[Any] = []
        try:
            found.extend(samples(self.dataset, rows))
        except Exception as error:
            at = len(found) + rows.start if isinstance(rows, slice) else rows[len(found)].item()
            error.add_note(f"This is sample {at} of the data set of a DataLoader.")
            raise
        return self._streamed(found)

    def _streamed(self, samples: list[Any]) -> Any:
        return self._changed((self.collate_fn or collate)(samples))

    def _changed(self, batch: Any) -> Any:
        if self.transform is None:
            return batch
        if isinstance(batch, tuple) and batch:
            return (self.transform(batch[0]), *batch[1:])
        return self.transform(batch)

    def _settings(self) -> dict[str, int]:
        """The settings that the batches depend on, besides the position."""
        rows = 0 if self.streams else len(self.dataset)
        return {"rows": rows, "batch_size": self.batch_size, "shuffle": int(self.shuffle),
                "drop_last": int(self.drop_last)}  # fmt: skip

    def state_dict(self) -> dict[str, int]:
        """The position, in integers: seed, epoch, and how many of its batches were handed out (not
        how many were made ahead); and the settings that must match in order to resume."""
        at = {"seed": self.seed, "epoch": self.epoch, "batch": self.batch}
        return {**at, **self._settings()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Resume there: the next `for` gives the remaining batches. DataError, before any change,
        for anything but such a state, and for a state with other settings."""
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
