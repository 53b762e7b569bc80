"""One reduction of gradients, statistics and the loss, over leaves, then over ranks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from tutor.distributed.buckets import NOTHING, BucketSums
from tutor.distributed.collectives import all_reduce
from tutor.distributed.leaves import Sums, Tree
from tutor.distributed.ranks import size
from tutor.distributed.statistics import BatchStatistics
from tutor.dtype import float64
from tutor.errors import DomainError
from tutor.methods.tensor import Tensor


class Result(NamedTuple):
    gradients: list[Tensor | None]  # of the mean over all rows; None: no leaf of any rank had one
    loss: float  # the mean over all rows
    drawn: int  # blocks of random numbers drawn by all leaves together
    waited: float  # seconds


class ReductionRound:
    """The running sums over the leaves of this rank.

    A leaf is a list: its gradients, its new statistics, and its loss, all multiplied by its number
    of rows. The gradients of the last leaf may come one by one (`arrived`) and be sent while the
    others are computed. An empty leaf is a list of None.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        buckets: Sequence[Sequence[int]],
        statistics: BatchStatistics,
    ) -> None:
        self.params, self.statistics = params, statistics
        self.reduction = BucketSums(params, buckets)
        self.tree = Tree()
        self.rows, self.drawn = 0.0, 0

    def arrived(self, i: int, gradient: Tensor | None) -> None:
        """Add the i-th gradient of the last leaf."""
        own = self.tree.with_last(i, gradient)
        if own is not None:
            self.reduction.put(i, own)

    def finish(self, last: Sums) -> Result:
        """Finish the sums over all ranks. DomainError if no rank has had a row."""
        count = len(self.params)
        for i, own in enumerate(list(self.reduction.own)):
            if own is None:
                self.arrived(i, last[i])
        self.reduction.flush()
        *states, loss = (self.tree.with_last(i, last[i]) for i in range(count, len(last)))
        there = [x is not None for x in (*self.reduction.own, *states)]
        numbers = [self.rows, self.drawn, NOTHING if loss is None else loss, *there]
        totals = Tensor(list(map(float, numbers)), dtype=float64)
        start = time.perf_counter()
        rows, drawn, loss, *found = all_reduce(totals).tolist()
        if not rows:
            raise DomainError("to reduce the gradients of a batch", "no rank has a row of it",
                              "leave out batches without rows")  # fmt: skip
        sums = self.reduction.finish()
        waited = time.perf_counter() - start if size() > 1 else 0.0
        gradients = [
            None if g is None or not n else g / rows
            for g, n in zip(sums, found[:count], strict=True)
        ]
        if any(found[count:]):
            self.statistics.settle(states, list(map(bool, found[count:])), rows)
        return Result(gradients, loss / rows, int(drawn), waited)
