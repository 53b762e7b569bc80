"""`python -m tutor roofline`: what limits an operation, arithmetic or memory, and how far it is.

A roofline (Williams, Waterman & Patterson 2009) shows for each piece of work how many operations it
does for a byte that it moves, and how fast it went. Under a slope memory is the limit, under the
flat part arithmetic. Roofs are measured by peak.c, at the level of instructions that tutor uses.
Operations and bytes are counted by the library (tutor/backends/costs.py): bytes as the kernel's
operands have them, not as caches really moved them, so points may lie above the memory's slope. The
operations of softmax and of attention are those of the same formula spelled with simple kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tutor
from benchmarks import libraries, machine, run
from benchmarks.measure import Effort, Probes, interleaved, probe
from tutor import Tensor, viz
from tutor.doctor import processor
from tutor.errors import DomainError, TutorError
from tutor.nn.functional import scaled_dot_product_attention
from tutor.viz import Picture

ASKED = "roofline"
ENDS = (1 / 32, 1024.0)  # of the roofs: operations per byte


def softmax(x: Tensor) -> Tensor:
    """Of each row, by five kernels."""
    e = (x - x.max(axis=-1, keepdims=True)).exp()
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """softmax(q kᵀ / sqrt(d)) v, by nine kernels."""
    return softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5) @ v


class Work(NamedTuple):
    name: str
    run: Callable[[], Any]
    spelled: Callable[[], Any]  # the same by kernels whose operations are known


def works(small: bool = False) -> list[Work]:
    """The five of chapter 14, larger than most caches; `small` for tests."""
    n, many = (16, 16) if small else (1024, 2048)
    x, y, long, other = (libraries.operand(size, size) for size in (n, n, many, many))
    images = libraries.operand(2, 4, 8, 8) if small else libraries.operand(16, 64, 56, 56)
    filters = libraries.operand(images.shape[1], images.shape[1], 3, 3)
    q, k, v = (libraries.operand(8, n, 64) for _ in range(3))
    plain: dict[str, Callable[[], Any]] = {
        "add": lambda: long + other,
        "product": lambda: x @ y,
        "convolution": lambda: images.conv2d(filters),
    }
    return [
        *(Work(name, function, function) for name, function in plain.items()),
        Work("softmax", lambda: long.softmax(axis=-1), lambda: softmax(long)),
        Work("attention", lambda: scaled_dot_product_attention(q, k, v),
             lambda: attention(q, k, v)),
    ]  # fmt: skip


def counted(work: Work) -> tuple[int, int]:
    """(operations, bytes), as the library counts them."""
    with tutor.profile() as spelled:
        work.spelled()
    with tutor.profile() as moved:
        work.run()
    return sum(row.flops or 0 for row in spelled.rows), sum(row.nbytes for row in moved.rows)


# ---- roofs and points ----------------------------------------------------------------------------


class Roofs(NamedTuple):
    """What the machine reached at most, in a second."""

    peak: float  # operations
    bandwidths: dict[str, float]  # bytes, from each level of memory, the nearest first

    @property
    def memory(self) -> float:
        return list(self.bandwidths.values())[-1]

    def bound(self, intensity: float) -> tuple[float, str]:
        """The highest rate for so many operations per byte, and what limits it."""
        slope = intensity * self.memory
        return (slope, "memory") if slope < self.peak else (self.peak, "arithmetic")


def levels(caches: Sequence[processor.Cache], threads: int) -> dict[str, int]:
    """Bytes that fit into each level of memory, by its name: half of a cache, so that it has room
    for other things. A cache of each core's own counts for each thread."""
    sizes = {
        f"L{c.level}": c.size // 2 * (threads if c.level < 3 else 1)
        for c in caches if c.kind != "Instruction"
    }  # fmt: skip
    inside = {name: size for name, size in sizes.items() if size < machine.LARGEST}
    beyond = [name for name in sizes if name not in inside]
    return inside | {" or ".join([*beyond, "memory"]): machine.LARGEST}


def roofs(threads: int, level: str) -> Roofs:
    """Measure them."""
    peak = machine.peak_flops(threads, level)
    found = {name: machine.peak_bytes(threads, size, 3, level)
             for name, size in levels(processor.caches(), threads).items()}  # fmt: skip
    bandwidths = {name: rate for name, rate in found.items() if rate is not None}
    if peak is None or not bandwidths:
        raise TutorError(ASKED, "there is no C compiler, which benchmarks/peak.c needs",
                         "install gcc or clang")  # fmt: skip
    return Roofs(peak, bandwidths)


class Point(NamedTuple):
    name: str
    operations: int
    nbytes: int
    seconds: float

    @property
    def intensity(self) -> float:
        return self.operations / self.nbytes

    @property
    def rate(self) -> float:
        return self.operations / self.seconds

    def line(self, below: Roofs) -> str:
        bound, limit = below.bound(self.intensity)
        return (f"{self.name:<12}{self.operations:>16,}{self.nbytes:>14,}{self.intensity:>10.2f}"
                f"{self.rate / 1e9:>10.1f}{self.rate / bound:>8.0%} of {limit}")  # fmt: skip


def measured(some: Sequence[Work], effort: Effort) -> list[Point]:
    """A point for each, timed in turn."""
    samples = interleaved({work.name: work.run for work in some}, effort)
    return [Point(work.name, *counted(work), samples[work.name].best) for work in some]


def picture(
    points: Mapping[str, Any], peak: float | None, slopes: Mapping[str, float | None], threads: int
) -> Picture:
    """Points [operations per byte, GFLOP/s] by name, below a roof for each slope (bytes a second);
    without roofs where they are None, for want of a compiler."""
    lines = {
        f"{slope / 1e9:.0f} GB/s {name}": [
            [i, min(peak, i * slope) / 1e9] for i in (ENDS[0], peak / slope, ENDS[1])
        ]
        for name, slope in slopes.items() if peak and slope
    }  # fmt: skip
    title = f"Roofline of {machine.cpu()}, {threads} thread{'s' * (threads > 1)}"
    title += f": {peak / 1e9:.0f} GFLOP/s" if peak else ""
    return viz.scatter(points, lines, title, "operations per byte", "GFLOP/s", log=True)


def show(threads: int, out: Path) -> None:
    """Print the roofs and a line for each point, and draw them."""
    level = libraries.circumstances()["level"]
    if level is None or threads < 1:
        why = "the kernels in Python are far below any roof" if level is None else "no thread"
        raise DomainError(f"{ASKED} --threads {threads}", why,
                          "use one thread or more, with the C++ kernels")  # fmt: skip
    effort = run.begin("full", threads)._replace(seconds=3.0)
    before = probe()
    found = roofs(threads, level)
    points = measured(works(), effort)
    probes = Probes(before, probe())
    print(
        f"{machine.cpu()}, {level}, {threads} thread(s): {found.peak / 1e9:.0f} GFLOP/s; "
        + ", ".join(f"{rate / 1e9:.0f} GB/s {name}" for name, rate in found.bandwidths.items())
    )
    print(f"{'':<12}{'operations':>16}{'bytes':>14}{'per byte':>10}{'GFLOP/s':>10}   roof")
    print("\n".join(point.line(found) for point in points))
    if probes.doubt:
        print(f"not judged: {probes.doubt}")
    marks = {point.name: [[point.intensity, point.rate / 1e9]] for point in points}
    print("written:", picture(marks, found.peak, found.bandwidths, threads).save(out))
