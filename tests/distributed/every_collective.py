"""A program for ranks: each collective, of all dtypes and of sizes on both sides of each border at
which another way is taken, beside what it should give, which each rank computes by itself. It
prints how many cases there were, and a number for all bits."""

from __future__ import annotations

import zlib

import tutor
from tutor import Tensor, dist
from tutor.distributed.ranks import group
from tutor.distributed.transport import SMALL

rank, size = dist.rank(), dist.size()
cases, bits = 0, 0
PIECE = group().transport.piece
COUNTS = (0, 1, size - 1, 7, SMALL // 4, SMALL // 4 + 1)


def given(seed: int, count: int, dtype: tutor.dtype.DType, of: int) -> Tensor:
    """What rank `of` has."""
    tutor.manual_seed(1000 * seed + of)
    if dtype.is_float:
        return tutor.randn(count, dtype=dtype)
    x = tutor.randint(0, 200, (count,))
    return x > 100 if dtype is tutor.bool else x.cast(dtype)


def tree(rows: list[Tensor], op: str) -> Tensor:
    """Written out, for up to 4."""
    f = tutor.maximum if op == "max" else lambda a, b: a | b if a.dtype is tutor.bool else a + b
    if len(rows) == 1:
        return rows[0]
    if len(rows) == 2:
        return f(rows[0], rows[1])
    if len(rows) == 3:
        return f(f(rows[0], rows[1]), rows[2])
    return f(f(rows[0], rows[1]), f(rows[2], rows[3]))


def check(found: Tensor, wanted: Tensor, what: object) -> None:
    global cases, bits
    cases += 1
    same = found.dtype is wanted.dtype and found.shape == wanted.shape
    found, wanted = found.contiguous().copy(), wanted.contiguous().copy()
    assert same and bytes(found.buf.raw) == bytes(wanted.buf.raw), (what, found, wanted)
    if "of this rank" not in str(what):
        bits = zlib.crc32(bytes(found.buf.raw), bits)


def reductions(seed: int, count: int, dtype: tutor.dtype.DType, op: str) -> None:
    mine = given(seed, count, dtype, rank)
    rows = [given(seed, count, dtype, r) for r in range(size)]
    wanted = tree(rows, op)
    if op == "mean":
        wanted = wanted / Tensor(float(size), dtype=dtype)
    found = mine.copy()
    assert dist.all_reduce(found, op) is found
    check(found, wanted, ("all_reduce", count, dtype, op))
    whole = tutor.concatenate([mine] * size)
    part = dist.reduce_scatter(whole, op)
    check(part, wanted, ("reduce_scatter", count, dtype, op))
    check(whole, tutor.concatenate([mine] * size), "x, of this rank, stays as it is")


def movements(seed: int, count: int, dtype: tutor.dtype.DType) -> None:
    mine = given(seed, count, dtype, rank)
    rows = [given(seed, count, dtype, r) for r in range(size)]
    for root in range(size):
        found = mine.copy()
        assert dist.broadcast(found, root) is found
        check(found, rows[root], ("broadcast", count, dtype, root))
    found = dist.all_gather(mine)
    check(found, tutor.stack(rows), ("all_gather", count, dtype))


for seed, dtype in enumerate(tutor.DTYPES):
    for count in COUNTS:
        movements(seed, count, dtype)
        for op in ("sum", "mean", "max") if dtype.is_float else ("sum", "max"):
            reductions(seed, count, dtype, op)
is_quick = "simd_cpp" in tutor.registry.backends()
for count in (PIECE // 4 - 1, PIECE // 4 + 5) if is_quick else (30_000,):  # one piece, and two
    movements(99, count, tutor.float32)
    reductions(98, count, tutor.float32, "sum")

# From the left: another order, and other bits.
rows = [given(97, 5000, tutor.float32, r) for r in range(size)]
left = rows[0]
for row in rows[1:]:
    left = left + row
found = dist.all_reduce(rows[rank].copy(), order="line")
check(found, left, "line")
if size == 4:
    assert bytes(found.buf.raw) != bytes(tree(rows, "sum").buf.raw)

# A part of a Tensor, a Tensor of several axes, one number, a Buffer; and nothing beside them.
x = tutor.zeros(4, 6)
x[1:3] = float(rank + 1)
dist.all_reduce(x[1:3])
total = size * (size + 1) / 2
check(x.sum(axis=1), Tensor([0.0, 6 * total, 6 * total, 0.0]), "a part")
check(dist.all_reduce(Tensor(float(rank))), Tensor(float(sum(range(size)))), "one number")
check(dist.all_gather(tutor.full((2, 3), rank)).sum(axis=(1, 2)), 6 * tutor.arange(size), "axes")
rest = dist.reduce_scatter(tutor.arange(size * 6).reshape(size * 2, 3))
check(rest, size * tutor.arange(size * 6).reshape(size, 2, 3)[rank], "rows of this rank")
buffer = tutor.Buffer([1.0, 2.0])
assert dist.all_reduce(buffer).tolist() == [size, 2 * size]
assert dist.all_gather(tutor.Buffer([rank])).tolist() == list(range(size))
dist.barrier()
print(f"cases {cases} bits {bits}", flush=True)
