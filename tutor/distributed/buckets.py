"""Buckets: gradients that are reduced together, in one message.

Every message has a fixed cost, however short it is (docs/scaling.md): sending a bias of ten numbers
alone costs nearly as much as sending a million. So gradients are packed into buckets of about a
megabyte, with one all_reduce each. It starts as soon as all gradients of the bucket are ready,
while backward still computes those of the next:

    backward:    layer 3 | layer 2 | layer 1 |
    all_reduce:          | bucket of 3 and 2 | bucket of 1 |

All ranks must call collectives in the same order. So buckets are sent in a fixed order, from the
last parameter to the first, as backward usually does; one that is ready early waits its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tutor.distributed.collectives import all_reduce
from tutor.distributed.ranks import size
from tutor.methods.tensor import Tensor
from tutor.ops.movement import concatenate

BYTES = 1 << 20  # the size of a bucket, unless a single gradient is larger
# Replaces a gradient that this rank lacks. x + -0.0 is x to the bit, for every x; 0.0 would turn
# -0.0 into 0.0, so ranks without rows would change the bits of the others.
NOTHING = -0.0


def bucketed(tensors: Sequence[Tensor], most: int = BYTES) -> list[list[int]]:
    """The positions of the tensors in each bucket, last tensors first; one dtype per bucket.

    >>> bucketed([Tensor.zeros(4), Tensor.zeros(3), Tensor.zeros(2)], most=20)
    [[2, 1], [0]]
    """
    buckets: list[list[int]] = []
    room: dict[str, int] = {}  # bytes left in the open bucket of each dtype
    filling: dict[str, list[int]] = {}
    for i, t in reversed([*enumerate(tensors)]):
        kind, wanted = t.dtype.name, t.numel() * t.dtype.itemsize
        if wanted > room.get(kind, 0):
            buckets.append([])
            filling[kind], room[kind] = buckets[-1], most
        filling[kind].append(i)
        room[kind] -= wanted
    return buckets


class BucketSums:
    """Sums over all ranks of tensors shaped as `like`; each is sent when its bucket is complete."""

    def __init__(self, like: Sequence[Tensor], buckets: Sequence[Sequence[int]]) -> None:
        self.like, self.buckets = like, buckets
        self.bucket_of = {i: b for b, bucket in enumerate(buckets) for i in bucket}
        self.missing = [len(bucket) for bucket in buckets]
        self.own: list[Tensor | None] = [None] * len(like)
        self.sent: list[tuple[Tensor, Any]] = []  # a bucket, and the handle of its all_reduce

    def put(self, i: int, own: Tensor) -> None:
        """Add this rank's part of the i-th sum; nobody may change it afterwards."""
        self.own[i] = own
        self.missing[self.bucket_of[i]] -= 1
        while len(self.sent) < len(self.buckets) and not self.missing[len(self.sent)]:
            self.send()

    def send(self) -> None:
        """Start the next bucket, with NOTHING for the gradients that this rank lacks."""
        if size() == 1:
            self.sent.append((self.like[0], None))
            return
        rows = []
        for i in self.buckets[len(self.sent)]:
            own, like = self.own[i], self.like[i]
            rows.append(Tensor.full(like.shape, NOTHING, dtype=like.dtype) if own is None else own)
        flat = concatenate([row.detach().reshape(-1) for row in rows])
        self.sent.append((flat, all_reduce(flat, wait=False)))

    def flush(self) -> None:
        """Start the remaining buckets, complete or not."""
        while len(self.sent) < len(self.buckets):
            self.send()

    def finish(self) -> list[Tensor | None]:
        """Wait for all sums and return them: views of the buckets; on one rank, its own tensors."""
        self.flush()
        if size() == 1:
            return self.own
        sums: list[Tensor | None] = [None] * len(self.like)
        for (flat, handle), bucket in zip(self.sent, self.buckets, strict=True):
            handle.wait()
            at = 0
            for i in bucket:
                shape = self.like[i].shape
                sums[i] = flat[at : at + prod(shape)].reshape(shape)
                at += prod(shape)
        return sums
