"""How a time is taken.

**Warm-up.** The first calls load code and data into caches, take memory from the system, wake
threads. They happen once in a program that runs for minutes, so they are not measured here.

**Interleaving.** A machine is not the same for a whole minute: clocks change, neighbours come and
go. All libraries are measured in turns, forward and backward (abc, cba, abc, ...), a few
milliseconds each, so that what disturbs one disturbs all. Only then a ratio means something.

**Best and median.** Nothing makes a program faster than it is, many things make it slower. So the
best of many samples is nearest to what the code costs, and is what repeats from run to run. The
median is what one gets on this machine as it was. Where both say the same, believe it; the spread
(how far the median is above the best) says how noisy the machine was.

**One sample** is as many calls as fill 2 ms: a clock that is read around a call of 1 us would
measure itself. Before each sample comes one call that does not count: the caches and the workers
belong to the library that was measured before. And before that the process must have come to rest:
workers of OpenMP and OpenBLAS look for more work for up to 30 ms before they sleep, and would take
a core from whoever is next.

The garbage collector stays on: who records a graph must pay for it.

**A probe**, a fixed piece of work, is timed before and after each row. If its two times differ by
more than 15 %, the machine itself was faster at one of them, and the row is not judged.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, NamedTuple

SAMPLE = 0.002  # seconds
NAP = 0.001
REST = 0.06  # nobody is waited for any longer
ROUNDS = (5, 40)
PROBE, STEADY = 10, 0.15  # how often a probe is timed, and how far two of them may be apart
PATIENCE = 5  # on a busy machine a library may become slower than it was by any factor


class Effort(NamedTuple):
    """How much is measured: all rows for long, some rows for a moment, or that it works at all."""

    name: str  # full, quick, smoke
    seconds: float  # for a row, all libraries together
    threads: int

    def pick(self, full: Any, quick: Any, smoke: Any) -> Any:
        return {"full": full, "quick": quick, "smoke": smoke}[self.name]


SECONDS = {"full": 0.8, "quick": 0.25, "smoke": 0.0}


class Samples(list[float]):
    """What came out of each sample: seconds per call, or whatever a case counts instead."""

    @property
    def best(self) -> float:
        return min(self)

    @property
    def median(self) -> float:
        return statistics.median(self)

    @property
    def spread(self) -> float:
        """How far the median is above the best, as a fraction of it."""
        return self.median / self.best - 1 if self.best else 0.0

    def record(self) -> dict[str, Any]:
        return {"best": self.best, "median": self.median, "spread": self.spread,
                "samples": len(self), "each": [float(f"{x:.4g}") for x in self]}  # fmt: skip


def timed(run: Callable[[], object], calls: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in repeat(None, calls):
        run()
    return (time.perf_counter() - start) / calls


def rest() -> None:
    """Wait until no thread of this process is at work: until the process takes no more CPU time."""
    end = time.perf_counter() + REST
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(NAP)
        if time.process_time() - before < NAP / 5:
            return


def warm(run: Callable[[], object]) -> float:
    """Call it until it is as fast as it gets, 20 ms at most; the seconds of the fastest call."""
    end = time.perf_counter() + 0.02
    best = timed(run, 1)
    while time.perf_counter() < end:
        best = min(best, timed(run, 1))
    return best


def probe() -> float:
    """Seconds that a fixed piece of work takes, at best: one core's speed at this moment."""
    return min(timed(lambda: sum(range(20_000)), 1) for _ in range(PROBE))


class Probes(NamedTuple):
    """The probe's times before and after a measurement."""

    before: float
    after: float

    @property
    def apart(self) -> float:
        """How much longer the slower one took: 0.2 for a fifth."""
        return max(self) / min(self) - 1 if min(self) else 0.0

    @property
    def doubt(self) -> str:
        """Why the measurement in between says nothing; empty if it may be judged."""
        return f"the probes differ by {self.apart:.0%}" if self.apart > STEADY else ""


def interleaved(runs: Mapping[str, Callable[[], object]], effort: Effort) -> dict[str, Samples]:
    """Samples of all, taken in turns, for about `effort.seconds`."""
    samples = {name: Samples() for name in runs}
    if effort.name == "smoke":
        for name, run in runs.items():
            samples[name].append(timed(run, 1))
        return samples
    gc.collect()
    fastest = {}
    for name, run in runs.items():
        rest()
        fastest[name] = warm(run)
    calls = {name: max(1, math.ceil(SAMPLE / seconds)) for name, seconds in fastest.items()}
    turn = sum(NAP + fastest[name] * (calls[name] + 1) for name in runs)
    rounds = min(max(int(effort.seconds / turn), ROUNDS[0]), ROUNDS[1])
    order, start = list(runs), time.perf_counter()
    for done in range(rounds):
        if done > 1 and time.perf_counter() - start > PATIENCE * (effort.seconds + turn):
            break
        for name in order:
            rest()
            if fastest[name] < 10 * SAMPLE:  # a longer call is not changed by how it begins
                runs[name]()
            samples[name].append(timed(runs[name], calls[name]))
        order.reverse()
    return samples
