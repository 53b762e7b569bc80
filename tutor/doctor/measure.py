"""Measures the kernels in use on this machine: operations and bytes per second.

These are not the CPU's peaks (`python -m tutor bench` measures those, if there is a compiler) but
the rates of tutor's own products and sums. Each figure is the best of the runs that fit into a
tenth of a second, since other load on the machine can only slow them down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tutor.backends import registry, simd_cpp
from tutor.backends.registry import Operand
from tutor.core.buffer import Buffer
from tutor.doctor import processor
from tutor.dtype import float32

SECONDS = 0.1  # per figure
LONG_ENOUGH = 0.002  # for a product: larger ones give the same rate
LARGEST = 1024  # rows of a matrix
MOST = 1 << 27  # bytes: larger than most caches, quick to allocate
SIZE = float32.itemsize


def lines() -> dict[str, str]:
    """The measured rates as text."""
    backend = registry.current()
    name = registry.ALIASES.get(backend, backend)
    threads = simd_cpp.num_threads() if name == "simd_cpp" else 1
    found = {}
    for count in sorted({1, threads}):
        with threaded(count, name):
            rate, rows = product(backend)
        found[f"product, {of(count)}"] = (
            f"{words(rate)} float32 operations/s: {rows} x {rows} by {rows} x {rows}, {backend}"
        )
    if name != "simd_cpp":
        return found  # kernels in Python are limited by Python, not by memory
    with threaded(1, name):
        for cache in processor.caches():
            if cache.kind != "Instruction" and cache.size // 2 <= MOST:
                half = 1 << (cache.size // 2).bit_length() - 1  # a power of two has no remainder
                rate = reading(backend, half)
                found[f"L{cache.level}, {of(1)}"] = f"{words(rate)} bytes/s read, by sum"
    outermost = max((cache.size for cache in processor.caches()), default=0)
    where = "memory" if outermost < MOST else "memory, or the outermost cache"
    for count in sorted({1, threads}):
        with threaded(count, name):
            rate = reading(backend, MOST)
        found[f"memory, {of(count)}"] = f"{words(rate)} bytes/s read, by sum, from {where}"
    return found


def of(threads: int) -> str:
    return f"{threads} thread{'s' if threads > 1 else ''}"


@contextmanager
def threaded(count: int, backend: str) -> Iterator[None]:
    """The SIMD backend on that many threads within the block."""
    if backend != "simd_cpp":
        yield
        return
    before = simd_cpp.num_threads()
    simd_cpp.set_num_threads(count)
    try:
        yield
    finally:
        simd_cpp.set_num_threads(before)


def product(backend: str) -> tuple[float, int]:
    """Operations per second of a product of square matrices, and their rows: enough to be measured
    by the clock."""
    kernel, rows = registry.lookup("matmul", backend, float32), 8
    while True:
        x, y, z = (filled(backend, (rows, rows)) for _ in range(3))
        run = partial(kernel, z, x, y)
        if once(run) > LONG_ENOUGH or rows >= LARGEST:
            return 2 * rows**3 / best(run), rows
        rows *= 2


def reading(backend: str, nbytes: int) -> float:
    """Bytes per second of repeated sums over the same memory, which stays in a cache if it fits."""
    kernel = registry.lookup("sum", backend, float32)
    count = nbytes // SIZE
    times = max(1, MOST // 8 // nbytes)  # in one call, by a stride of 0: calls cost time
    x, z = filled(backend, (count,)), filled(backend, (1,))
    many, out = Operand(x.buf, (times, count), (0, 1), 0), Operand(z.buf, (), (), 0)
    return times * count * SIZE / best(partial(kernel, out, many, axis=(0, 1)))


def filled(backend: str, shape: tuple[int, ...]) -> Operand:
    """Numbers in memory that has been written once."""
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    strides = (shape[1], 1) if len(shape) > 1 else (1,)
    operand = Operand(Buffer.empty(count, float32), shape, strides, 0)
    registry.lookup("fill", backend, float32)(operand, value=1.0)
    return operand


def once(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def best(run: Callable[[], object]) -> float:
    """Seconds of the fastest of the runs that fit into SECONDS; at least one."""
    until, least = time.perf_counter() + SECONDS, once(run)
    while time.perf_counter() < until:
        least = min(least, once(run))
    return least


def words(rate: float) -> str:
    """1.23e11 as 123 G."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if rate >= unit:
            return f"{rate / unit:.3g} {name}"
    return f"{rate:.3g}"
