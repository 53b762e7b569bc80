"""Buckets: gradients that go from rank to rank together.

A message has a price of its own, however short it is (docs/scaling.md): a bias of ten numbers by
itself would cost nearly what a million cost. So gradients are put one after another into buckets of
about a megabyte, and each bucket is one all_reduce. It starts as soon as all gradients in it are
there, while backward still computes those of the next:

    backward:    layer 3 | layer 2 | layer 1 |
    all_reduce:          | bucket of 3 and 2 | bucket of 1 |

Ranks must call collectives in one order. So the buckets go in a fixed one, from the last parameter
to the first, as backward mostly comes by; one that is ready too early waits for those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tutor.distributed.collectives import all_reduce
from tutor.distributed.ranks import size
from tutor.methods.tensor import Tensor
from tutor.ops.movement import concatenate

BYTES = 1 << 20  # of a bucket, unless one gradient alone has more
# What stands for a gradient that a rank does not have. x + -0.0 is x to the bit, for every x there
# is; 0.0 would turn -0.0 into 0.0, and ranks without rows would change the bits of the others.
NOTHING = -0.0


def bucketed(tensors: Sequence[Tensor], most: int = BYTES) -> list[list[int]]:
    """The positions of the tensors in each bucket, the last tensors first; of one dtype each.

    >>> bucketed([Tensor.zeros(4), Tensor.zeros(3), Tensor.zeros(2)], most=20)
    [[2, 1], [0]]
    """
    buckets: list[list[int]] = []
    room: dict[str, int] = {}  # in the bucket of each dtype that is being filled
    filling: dict[str, list[int]] = {}
    for i, t in reversed([*enumerate(tensors)]):
        kind, wanted = t.dtype.name, t.numel() * t.dtype.itemsize
        if wanted > room.get(kind, 0):
            buckets.append([])
            filling[kind], room[kind] = buckets[-1], most
        filling[kind].append(i)
        room[kind] -= wanted
    return buckets


class Reduction:
    """The sums over all ranks of tensors like these, each of which comes when it is ready."""

    def __init__(self, like: Sequence[Tensor], buckets: Sequence[Sequence[int]]) -> None:
        self.like, self.buckets = like, buckets
        self.bucket_of = {i: b for b, bucket in enumerate(buckets) for i in bucket}
        self.missing = [len(bucket) for bucket in buckets]
        self.own: list[Tensor | None] = [None] * len(like)
        self.sent: list[tuple[Tensor, Any]] = []  # a bucket, and the handle of its all_reduce

    def put(self, i: int, own: Tensor) -> None:
        """This rank's part of the i-th sum is there; nobody will change it."""
        self.own[i] = own
        self.missing[self.bucket_of[i]] -= 1
        while len(self.sent) < len(self.buckets) and not self.missing[len(self.sent)]:
            self.send()

    def send(self) -> None:
        """Start the next bucket, with nothing in the place of what has not come."""
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
        """Start what is left, though not all gradients have come."""
        while len(self.sent) < len(self.buckets):
            self.send()

    def finish(self) -> list[Tensor | None]:
        """The sums, when all have come. With one rank, what it has itself; with more, views of the
        buckets."""
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
