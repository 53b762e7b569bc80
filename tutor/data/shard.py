"""Shards: the part of a batch that each of several ranks gets, of nearly equal sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tutor._util import checks
from tutor.data.dataset import is_array
from tutor.errors import DomainError, DTypeError, ShapeError


class Shard(NamedTuple):
    """The part of each batch for rank `rank` of `size`."""

    rank: int = 0
    size: int = 1

    def of(self, rows: int) -> slice:
        """Its slice of `rows` rows."""
        ends = edges(rows, self.size)
        return slice(ends[self.rank], ends[self.rank + 1])


def edges(rows: int, parts: int) -> list[int]:
    """Where `rows` are cut into `parts` whose sizes differ by one row at most.

        >>> edges(61, 4)
        [0, 16, 31, 46, 61]
        >>> edges(31, 2)
        [0, 16, 31]

    As long as the number of parts is even, the rows are halved, and the halves are halved. So a
    part of a part is a part: cutting into 2, and each into 4, is the same as cutting into 8.
    """
    if parts % 2:
        return [rows * i // parts for i in range(parts + 1)]
    half = -(-rows // 2)
    right = [half + at for at in edges(rows - half, parts // 2)]
    return edges(half, parts // 2) + right[1:]


def part_of(batch: Any, shard: Shard) -> Any:
    """A shard of a batch as `collate` makes it: the same rows of each Tensor in it."""
    return cut(batch, shard.of(rows_of(batch)))


def cut(batch: Any, rows: slice) -> Any:
    """These rows of each Tensor in a batch."""
    if isinstance(batch, Mapping):
        return {key: cut(value, rows) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)) and not is_column(batch):
        parts = [cut(value, rows) for value in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch[rows]


def rows_of(batch: Any) -> int:
    """The number of rows in a batch. DTypeError if it has no rows, ShapeError if its Tensors have
    different numbers of them."""
    columns = [*columns_of(batch)]
    wrong = next((c for c in columns if not is_column(c)), None)
    if wrong is not None or not columns:
        raise DTypeError(
            "to cut a batch into shards",
            f"{checks.said(wrong)} is in it, which has no rows" if columns else "nothing is in it",
            "make it of Tensors that have the samples along their first axis, or lists and dicts of"
            " such",
        )
    counts = {len(column) for column in columns}
    if len(counts) > 1:
        raise ShapeError("to cut a batch into shards", f"it has {sorted(counts)} rows",
                         "give all its Tensors the same first axis")  # fmt: skip
    return counts.pop()


def columns_of(batch: Any) -> Iterator[Any]:
    """The columns that a batch consists of."""
    if isinstance(batch, (Mapping, tuple, list)) and not is_column(batch):
        for value in batch.values() if isinstance(batch, Mapping) else batch:
            yield from columns_of(value)
    else:
        yield batch


def is_column(value: Any) -> bool:
    """Whether it has an entry per sample: a Tensor, an array, or a list of texts."""
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], (str, bytes))
    return is_array(value) and bool(getattr(value, "shape", ()))


def shard_of(asked: str, given: object) -> Shard | None:
    """`(rank, size)` as a Shard; None stays None. DomainError for anything else."""
    if given is None:
        return None
    whole = isinstance(given, tuple) and len(given) == 2 and {*map(type, given)} == {int}
    if not whole or not isinstance(given, tuple) or not 0 <= given[0] < given[1]:
        found = f"{given!r:.60}" if isinstance(given, tuple) else checks.said(given)
        raise DomainError(
            f"{asked} with shard={given!r:.40}",
            f"{found} is no (rank, size): ranks are 0 to size - 1",
            "give (dist.rank(), dist.size())",
        )
    return Shard(*given)
