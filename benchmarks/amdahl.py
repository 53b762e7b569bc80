"""`bench --threads 1:N`: how a row gets faster with threads, and how much of it is as if serial.

If a share s of the work is for one thread alone, and n threads divide the rest, Amdahl's law says

    time(n) / time(1) = s + (1 - s) / n

(Amdahl 1967, "Validity of the single processor approach to achieving large scale computing
capabilities"). s is fitted to the measured times by least squares: with x = 1 - 1/n and
y = time(n) / time(1) - 1/n the law is y = s x, so s = sum x y / sum x x. It is the answer of
exercise 15.7, whose check has the function. A row that memory limits has no serial part, and a
large s nevertheless: its threads share the way to memory. So one of each kind is measured if no
suite is named. Only tutor is timed, with all numbers of threads in turn.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import libraries, machine, run
from benchmarks.case import Case
from benchmarks.measure import Effort, Probes, Samples, interleaved, probe
from benchmarks.report import quantity
from course.exercises.ch15 import fitted
from tutor import viz
from tutor.backends import simd_cpp
from tutor.errors import DomainError
from tutor.viz import Picture

NAME = 36  # columns


class Scaling(NamedTuple):
    """A row's best time for each number of threads."""

    name: str
    times: dict[int, float]
    probes: Probes
    others: float | None = None  # cores that other programs kept busy

    @property
    def serial(self) -> float:
        """The s of Amdahl's law: the share that is as if for one thread alone."""
        return fitted(list(self.times.items()))

    @property
    def gains(self) -> dict[int, float]:
        """How many times as fast as one thread."""
        return {n: self.times[1] / seconds for n, seconds in self.times.items()}

    def doubt(self) -> str:
        """Why the times say nothing about the row; empty if they may be judged."""
        if machine.too_few_cores(max(self.times), self.others):
            return f"other programs kept {self.others:.1f} cores busy"
        return self.probes.doubt

    def line(self) -> str:
        cells = [
            f"{quantity(self.times[n], 's'):>9} {gain:>4.2f}x" for n, gain in self.gains.items()
        ]
        doubt = self.doubt()
        last = f"not judged, {doubt}" if doubt else f"{self.serial:>6.1%}"
        return f"{self.name:<{NAME}}{''.join(cells)}  {last}"


def law(serial: float, n: float) -> float:
    """How many times as fast n threads are, if that share is serial."""
    return 1 / (serial + (1 - serial) / n)


def scaling(case: Case, most: int, effort: Effort) -> Scaling:
    """tutor's times of this row on 1 to `most` threads, in turn."""

    def on(count: int, work: Callable[[], Any]) -> None:
        simd_cpp.set_num_threads(count)
        work()

    ours = case.runs["tutor"]
    threads = simd_cpp.num_threads()
    before, start = probe(), machine.times()
    runs = {str(n): partial(on, n, ours) for n in range(1, most + 1)}
    try:
        samples: dict[str, Samples] = interleaved(runs, effort)
    finally:
        simd_cpp.set_num_threads(threads)
    times = {int(n): some.best for n, some in samples.items()}
    return Scaling(case.name, times, Probes(before, probe()), machine.others(start))


def picture(found: Iterable[Scaling]) -> Picture:
    """The points of each row, Amdahl's line through them, and the one of no serial part."""
    rows = list(found)
    most = max(max(row.times) for row in rows)
    across = [1 + k * (most - 1) / 60 for k in range(61)]
    points = {row.name: [[n, gain] for n, gain in row.gains.items()] for row in rows}
    lines = {
        f"{row.serial:.0%} serial: {row.name}": [[n, law(row.serial, n)] for n in across]
        for row in rows
    }
    ideal = {"nothing serial": [[1.0, 1.0], [float(most), float(most)]]}
    return viz.scatter(points, lines | ideal, "Amdahl's law", "threads", "times as fast")


def show(names: Sequence[str], effort: Effort, folder: Path) -> None:
    """Print a line for each row, and draw the first that arithmetic and that memory limits."""
    if libraries.circumstances()["level"] is None:
        raise DomainError("bench --threads 1:N", "the kernels in Python run on one thread",
                          "build the extension, or leave out TUTOR_BACKEND")  # fmt: skip
    most = effort.threads
    columns = "".join(f"{f'{n} thread' + 's' * (n > 1):>15}" for n in range(1, most + 1))
    print(f"{'':{NAME}}{columns}  as if serial", flush=True)
    drawn: dict[str, Scaling] = {}
    for case in run.cases(names, effort):
        found = scaling(case, most, effort)
        drawn.setdefault(case.limit, found)
        print(found.line(), flush=True)
    if most > (os.cpu_count() or 1):
        print(f"there are {os.cpu_count()} cores: more threads than that can only wait")
    shown = [drawn[limit] for limit in ("flops", "bytes") if limit in drawn]
    if shown:
        folder.mkdir(parents=True, exist_ok=True)
        print("written:", picture(shown).save(folder / "amdahl.svg"))
