"""Statistics: tensors other than parameters that a forward pass changes, such as the running mean
of a batch norm.

Each leaf normalizes by the mean and variance of its own rows, as each rank does in other libraries
(and as the small batches of Hoffer et al. 2017, "Train longer, generalize better", do on purpose).
Every leaf updates the running numbers from their values before the batch; their new values are the
mean over the leaves, weighted by rows as gradients are. So they, too, have the same bits on any
number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

from tutor.distributed.buckets import BucketSums, bucketed
from tutor.dtype import float64
from tutor.methods.tensor import Tensor


class BatchStatistics:
    """The tensors of a model that are not parameters, during one batch."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors
        self.before: list[Tensor] = []
        self.note()

    def note(self) -> None:
        """Count changes from here on."""
        self.versions = [t.buf.version for t in self.tensors]

    def begin(self) -> None:
        """Save the values from before the batch."""
        self.before = [t.detach().copy() for t in self.tensors]
        self.note()

    def take(self, rows: float) -> list[Tensor | None]:
        """The new value of each, times `rows`; None if it has not changed. A counter becomes a
        float64, which represents it exactly."""
        taken: list[Tensor | None] = []
        for t, version in zip(self.tensors, self.versions, strict=True):
            now = None if t.buf.version == version else as_float(t) * rows
            taken.append(now)
        return taken

    def restore(self) -> None:
        """Restore the values from before the batch."""
        for t, before, version in zip(self.tensors, self.before, self.versions, strict=True):
            if t.buf.version != version:
                t.assign(before)
        self.note()

    def settle(self, own: Sequence[Tensor | None], changed: Sequence[bool], rows: float) -> None:
        """Set each tensor to the mean, over all rows, of its new values on all leaves."""
        tensors = [t for t, c in zip(self.tensors, changed, strict=True) if c]
        like = [as_float(t) for t in tensors]
        reduction = BucketSums(like, bucketed(like))
        for i, x in enumerate(x for x, c in zip(own, changed, strict=True) if c):
            if x is not None:
                reduction.put(i, x)
        for t, total in zip(tensors, reduction.finish(), strict=True):
            if total is not None:
                mean = total / rows
                t.assign(mean if t.dtype.is_float else mean.round().cast(t.dtype))
        self.note()


def as_float(t: Tensor) -> Tensor:
    return t.detach() if t.dtype.is_float else t.detach().cast(float64)
