"""Which index of a tensor reads which cell of its memory."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, SupportsIndex

from tutor.errors import DTypeError, OutOfRangeError, ShapeError
from tutor.viz.svg import short

Index = tuple[int, ...]


class StridedLike(Protocol):
    """A Tensor, or an object of your own that walks its memory in the same way."""

    @property
    def buf(self) -> Any: ...
    @property
    def shape(self) -> Sequence[SupportsIndex]: ...
    @property
    def strides(self) -> Sequence[SupportsIndex]: ...
    @property
    def offset(self) -> SupportsIndex: ...


class Positions:
    """The walking instructions of a tensor: which index reads which position of its memory."""

    def __init__(self, t: StridedLike, where: str) -> None:
        missing = [f".{name}" for name in ("buf", "shape", "strides", "offset")
                   if not hasattr(t, name)]  # fmt: skip
        if missing:
            raise DTypeError(
                f"{where} of {type(t).__name__}",
                f"it has no {', '.join(missing)}",
                "give a Tensor, or an object with .buf .shape .strides and .offset",
            )
        self.buf, self.offset = t.buf, operator.index(t.offset)
        self.shape = tuple(operator.index(n) for n in t.shape)
        self.strides = tuple(operator.index(n) for n in t.strides)
        if len(self.shape) != len(self.strides):
            raise ShapeError(
                f"{where} of shape {self.shape} with strides {self.strides}",
                f"{len(self.shape)} axes but {len(self.strides)} strides",
                "give one stride per axis",
            )
        self.size, self.length = math.prod(self.shape), len(self.buf)

    def position(self, index: Index) -> int:
        """offset + i*strides[0] + j*strides[1] + ..."""
        return self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def checked(self, index: int | Sequence[int]) -> Index:
        """`index` with each number counted from the front, or an OutOfRangeError."""
        given = tuple(index) if isinstance(index, Iterable) else (index,)
        fits = len(given) == len(self.shape) and all(
            isinstance(i, int) and -n <= i < n for i, n in zip(given, self.shape, strict=True)
        )
        if not fits:
            raise OutOfRangeError(
                f"to highlight index {index!r}",
                f"the shape is {self.shape}",
                "give one whole number per axis, each smaller than that axis",
            )
        return tuple(i % n for i, n in zip(given, self.shape, strict=True))

    @functools.cached_property
    def search(self) -> Search:
        return Search(self.shape, self.strides)

    def readers(self, position: int) -> tuple[int, Index | None]:
        """The number of indices that read a position, and the first of them (None if none)."""
        count, found = self.search.ways(0, position - self.offset) if self.size else (0, ())
        if not count:
            return 0, None
        by_axis = dict(zip(self.search.axes, found, strict=True))
        return count, tuple(by_axis[a] for a in range(len(self.shape)))

    def reached(self) -> int | None:
        """The number of cells that are read at all; None if counting them would take long."""
        if self.length > 10_000:
            return None
        return sum(self.readers(p)[0] > 0 for p in range(self.length))

    def value(self, position: int) -> str:
        return short(self.buf[position], 5) if 0 <= position < self.length else "?"


class Search:
    """Finds the indices that read a position. It tries axes from the largest stride on; what the
    other axes can still reach bounds the choice, so a memory of millions needs no list of indices.

    It has no reference to the Positions: a reference cycle would wait for the garbage collector.
    """

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.shape, self.strides = shape, strides
        self.axes = sorted(range(len(shape)), key=lambda a: -abs(strides[a]))
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        counts = range(len(shape) + 1)
        self.low = [sum(min(reach[a], 0) for a in self.axes[k:]) for k in counts]
        self.high = [sum(max(reach[a], 0) for a in self.axes[k:]) for k in counts]
        self.known: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}

    def ways(self, k: int, rest: int) -> tuple[int, tuple[int, ...]]:
        """Over axes[k:], which must add up to `rest`: the number of ways, and the first way."""
        if k == len(self.axes):
            return (rest == 0), ()
        if (k, rest) not in self.known:
            self.known[k, rest] = self._ways(k, rest)
        return self.known[k, rest]

    def _ways(self, k: int, rest: int) -> tuple[int, tuple[int, ...]]:
        n, stride = self.shape[self.axes[k]], self.strides[self.axes[k]]
        if stride == 0:
            count, first = self.ways(k + 1, rest)
            return n * count, (0, *first)
        ends = sorted(((rest - self.low[k + 1]) / stride, (rest - self.high[k + 1]) / stride))
        total, found = 0, tuple[int, ...]()
        for i in range(max(0, math.ceil(ends[0])), min(n - 1, math.floor(ends[1])) + 1):
            count, first = self.ways(k + 1, rest - i * stride)
            if count and not total:
                found = (i, *first)
            total += count
        return total, found
