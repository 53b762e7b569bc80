"""Random numbers: a hash of their place in the stream, given by two cells: (seed, counter).

Philox4x32-10 turns (seed, counter) into a block of four 32-bit words (Salmon, Moraes, Dror and
Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). Element i of `out`, row-major, takes its
words from block counter + i//4, or + i//2 if it needs two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tutor._util.atomic import advance
from tutor.backends.python_ref.walk import Kernel, Number, Operand, read, write
from tutor.dtype import DType, bfloat16, float16, float32, float64

Words = tuple[int, int, int, int]


def philox(seed: int, counter: int) -> Words:
    """Block `counter` of the stream `seed`: ten rounds of multiplying, swapping and mixing."""
    a, b, c, d = (counter >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96))
    key0, key1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        x, y = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = y >> 32 ^ b ^ key0, y & 0xFFFFFFFF, x >> 32 ^ d ^ key1, x & 0xFFFFFFFF
        key0, key1 = key0 + 0x9E3779B9 & 0xFFFFFFFF, key1 + 0xBB67AE85 & 0xFFFFFFFF
    return a, b, c, d


def unit(high: int, low: int) -> float:
    """The top 53 of 64 bits as a number in [0, 1)."""
    return ((high << 32 | low) >> 11) * 2.0**-53


def drawn(
    out: Operand, numbers_of: Callable[[Words], Sequence[Number]], seed: Operand, counter: Operand,
    blocks: int,
) -> list[Any]:  # fmt: skip
    """A number for each element of out, from block `counter` on; adds `blocks` to the counter."""
    (key,), (_,), count, values = read(seed), read(counter), math.prod(out.shape), list[Number]()
    block = advance(counter.buf.raw.cast("Q"), counter.offset, blocks)
    while len(values) < count:
        values += numbers_of(philox(key, block))
        block += 1
    return values[:count]


def random_bits(out: Operand, seed: Operand, counter: Operand, *, blocks: int) -> None:
    """z_i = word i%4 of philox(seed, counter + i//4)"""
    write(out, drawn(out, tuple, seed, counter, blocks))


# dtype -> the numbers in [0, 1) of one block, from as many bits of a word, or of two, as it holds.
UNIFORM: dict[DType, Callable[[Words], Sequence[float]]] = {
    float16: lambda words: [(word >> 21) * 2.0**-11 for word in words],
    bfloat16: lambda words: [(word >> 24) * 2.0**-8 for word in words],
    float32: lambda words: [(word >> 8) * 2.0**-24 for word in words],
    float64: lambda words: [unit(*words[:2]), unit(*words[2:])],
}


def uniform(out: Operand, seed: Operand, counter: Operand, *, blocks: int) -> None:
    """z_i in [0, 1), see UNIFORM"""
    write(out, drawn(out, UNIFORM[out.buf.dtype], seed, counter, blocks))


def normal_of(words: Words) -> tuple[float, float]:
    """z = sqrt(-2 ln u) * (cos(2 pi v), sin(2 pi v)), u in (0, 1] and v in [0, 1) (Box and Muller
    1958, "A note on the generation of random normal deviates")
    """
    u, v = unit(*words[:2]) + 2.0**-53, unit(*words[2:])
    radius, angle = math.sqrt(-2 * math.log(u)), 2 * math.pi * v
    return radius * math.cos(angle), radius * math.sin(angle)


def normal(out: Operand, seed: Operand, counter: Operand, *, blocks: int) -> None:
    """z_2i, z_2i+1 = the two numbers of block counter + i"""
    write(out, drawn(out, normal_of, seed, counter, blocks))


def dropout(
    out: Operand, seed: Operand, counter: Operand, x: Operand,
    *, blocks: int, scale: float, threshold: int,
) -> None:  # fmt: skip
    """z_i = scale * x_i where word i%4 of philox(seed, counter + i//4) >= threshold, else 0"""
    words = drawn(out, tuple, seed, counter, blocks)
    each = zip(words, read(x), strict=True)
    write(out, [scale * xi if word >= threshold else 0.0 for word, xi in each])


KERNELS: dict[str, Kernel] = {
    "random_bits": random_bits,
    "uniform": uniform,
    "normal": normal,
    "dropout": dropout,
}
