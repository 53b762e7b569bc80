"""A program for ranks: the sum of 8 leaves, of which each rank has the same share."""

from __future__ import annotations

import zlib

import tutor
from tutor import Tensor, dist
from tutor.distributed.sums import tree

rank, size = dist.rank(), dist.size()


def leaf(i: int) -> Tensor:
    tutor.manual_seed(i)
    return tutor.randn(70_000) * 10.0 ** (i % 3)


share = 8 // size
mine = tree([leaf(i) for i in range(rank * share, (rank + 1) * share)], lambda a, b: a + b)
print(f"bits {zlib.crc32(bytes(dist.all_reduce(mine.copy()).buf.raw))}", flush=True)
