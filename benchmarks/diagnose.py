"""`bench --diagnose`: why do times scatter?

The same work is timed again and again. Around each sample the figures are read that the system has
for the usual causes. A cause is likely if its figure moves far more often in slow samples than in
the others. Figures of a thread are the main thread's: other threads of a kernel wait unseen.
"""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import machine, run
from benchmarks.measure import SAMPLE, STEADY, Effort, Probes, probe, warm
from benchmarks.report import quantity
from tutor.profiler.counters import page_faults

UNKNOWN = "none of those that can be read; the guests of a host share caches and memory unseen"
ROOT = Path("/")
CPUS = "sys/devices/system/cpu"
LOWER = 0.95  # a clock below that part of the fastest one seen is a cause
LIKELY = 0.25  # so much more often among slow samples than among the others


# ---- figures: each raises an OSError or ValueError if it cannot be read --------------------------


def frequency(root: Path) -> float:
    """GHz of the CPU that this thread runs on."""
    stat = (root / "proc/thread-self/stat").read_text()
    cpu = stat.rpartition(")")[2].split()[36]
    return int((root / f"{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq").read_text()) / 1e6


def migrations(root: Path) -> float:
    """How often this thread has been moved to another CPU."""
    text = (root / "proc/thread-self/sched").read_text()
    found = re.search(r"nr_migrations\s*:\s*(\d+)", text)
    if found is None:
        raise ValueError("/proc/thread-self/sched has no nr_migrations")
    return int(found[1])


def faults(root: Path) -> float:
    """Page faults of this process."""
    found = page_faults()
    if found is None:
        raise ValueError("getrusage is not there")
    return sum(found)


def switches(root: Path) -> float:
    """How often a core was taken from this thread though it had work."""
    try:
        import resource
    except ImportError:
        raise ValueError("getrusage is not there") from None
    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return resource.getrusage(who).ru_nivcsw


def waiting(root: Path) -> float:
    """Milliseconds that this thread was ready and had no core."""
    return int((root / "proc/thread-self/schedstat").read_text().split()[1]) / 1e6


def stolen(root: Path) -> float:
    """Ticks of 10 ms, mostly, in which the host of a virtual machine took a core away."""
    return int((root / "proc/stat").read_text().split()[8])


def throttled(root: Path) -> float:
    """How often a core was slowed down because it was too hot."""
    files = [*(root / CPUS).glob("cpu*/thermal_throttle/core_throttle_count")]
    if not files:
        raise ValueError(f"there is no {root / CPUS}/cpu*/thermal_throttle/core_throttle_count")
    return sum(int(file.read_text()) for file in files)


class Cause(NamedTuple):
    """`least` is what a figure has to move by to count: a moment of waiting disturbs nothing."""

    name: str
    figure: Callable[[Path], float]
    unit: str
    least: float = 1.0


CAUSES = (
    Cause("frequency", frequency, "GHz at least"),
    Cause("migrations", migrations, "moves to another CPU"),
    Cause("page faults", faults, "faults"),
    Cause("context switches", switches, "times a core was taken away"),
    Cause("other processes", waiting, "ms without a core", 0.1),
    Cause("the host", stolen, "ticks that it took"),
    Cause("thermal limit", throttled, "times too hot"),
)


def readable(root: Path) -> tuple[list[Cause], dict[str, str]]:
    """The causes whose figures can be read here, and why the others cannot."""
    known, why = [], {}
    for cause in CAUSES:
        try:
            cause.figure(root)
            known.append(cause)
        except FileNotFoundError as error:
            why[cause.name] = f"there is no {error.filename}"
        except OSError as error:
            why[cause.name] = f"{error.filename}: {error.strerror}"
        except (ValueError, IndexError) as error:
            why[cause.name] = str(error)
    return known, why


# ---- samples, and what they say ------------------------------------------------------------------


class Sample(NamedTuple):
    seconds: float  # of a call
    moved: dict[str, float]  # by how much each figure moved; of the frequency, the lower one


def record(work: Callable[[], Any], count: int, known: Sequence[Cause], root: Path) -> list[Sample]:
    """`count` samples of the work, each with the figures around it."""
    calls, samples = max(1, math.ceil(SAMPLE / warm(work))), []
    for _ in range(count):
        before = [cause.figure(root) for cause in known]
        start = time.perf_counter()
        for _ in range(calls):
            work()
        seconds = (time.perf_counter() - start) / calls
        after = [cause.figure(root) for cause in known]
        samples.append(Sample(seconds, {
            cause.name: min(a, b) if cause.figure is frequency else b - a
            for cause, a, b in zip(known, before, after, strict=True)
        }))  # fmt: skip
    return samples


class Finding(NamedTuple):
    """In how many samples a figure moved, of the slow ones and of the others."""

    figure: float  # all that it moved; of the frequency, the lowest
    slow: int
    others: int


def findings(samples: Sequence[Sample], known: Sequence[Cause]) -> tuple[int, dict[str, Finding]]:
    """How many samples are slow, more than 15 % above the best, and what moved in how many."""
    best = min(s.seconds for s in samples)
    slow = [s.seconds > best * (1 + STEADY) for s in samples]
    found = {}
    for cause in known:
        figures = [s.moved[cause.name] for s in samples]
        if cause.figure is frequency:
            moved = [f < LOWER * max(figures) for f in figures]
            total = min(figures)
        else:
            moved, total = [f >= cause.least for f in figures], sum(figures)
        both = sum(m and s for m, s in zip(moved, slow, strict=True))
        found[cause.name] = Finding(total, both, sum(moved) - both)
    return sum(slow), found


def likely(slow: int, count: int, found: dict[str, Finding]) -> list[str]:
    """The causes that belong to slow samples, the clearest first."""
    more = {name: f.slow / slow - f.others / max(1, count - slow) for name, f in found.items()}
    return sorted((n for n in more if more[n] >= LIKELY), key=lambda n: -more[n])


def report(
    name: str, samples: Sequence[Sample], known: Sequence[Cause], why: dict[str, str]
) -> str:
    """All figures, or why there are none, and what they say together."""
    times, count = [s.seconds for s in samples], len(samples)
    best, (slow, found) = min(times), findings(samples, known)
    lines = [f"{name}: {count} samples, best {quantity(best, 's')}, median "
             f"{statistics.median(times) / best - 1:+.0%}, slowest {max(times) / best - 1:+.0%}; "
             f"{slow} slow, more than {STEADY:.0%} above the best"]  # fmt: skip
    for cause in CAUSES:
        said = f"cannot be read: {why.get(cause.name)}"
        if (f := found.get(cause.name)) is not None:
            said = (f"{f.figure:>9,.6g} {cause.unit + ',':<29}in {f.slow} of {slow} slow samples, "
                    f"{f.others} of {count - slow} others")  # fmt: skip
        lines.append(f"  {cause.name:<17}{said}")
    if not slow:
        return "\n".join([*lines, "  no sample is slow: there is nothing to explain"])
    causes = ", then ".join(likely(slow, count, found))
    return "\n".join([*lines, f"  likely: {causes or UNKNOWN}"])


def show(names: Sequence[str], effort: Effort, folder: Path) -> None:
    """Print the diagnosis of each row, tutor's calls alone."""
    known, why = readable(ROOT)
    for case in run.cases(names, effort):
        before, start = probe(), machine.times()
        samples = record(case.runs["tutor"], effort.pick(200, 60, 3), known, ROOT)
        others, probes = machine.others(start), Probes(before, probe())
        print(report(case.name, samples, known, why))
        if others is not None:
            print(f"  meanwhile other programs kept {others:.1f} cores busy")
        if probes.doubt:
            print(f"  the machine itself changed: {probes.doubt}", flush=True)
