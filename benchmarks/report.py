"""The table: one line for each case as soon as it is measured, and the same as JSON lines."""

from __future__ import annotations

import json
import math
import os
import statistics
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import equality, libraries, machine
from benchmarks.case import Case
from benchmarks.measure import Effort, Probes, Samples, interleaved, probe
from benchmarks.targets import TARGETS

WIDTHS = (44, 16, 16, 16, 13, 13, 5, 7, 6)
COLUMNS = {name: name for name in libraries.NAMES}  # three who are measured, and their titles
HEADINGS = ("ratio (med)", "rate", "peak", "error", "others")
EXPLAINED = """\
best+%: the best time, and how far the median is above it. ratio: the faster of the others / tutor,
of the bests (of the medians). rate and peak are tutor's: GFLOP/s or GB/s, and the fraction of what
peak.c reached on this machine. error: of tutor's result against the others', before timing. others:
how many cores other programs kept busy meanwhile. Threads that wait for each other at a barrier, as
OpenMP's and OpenBLAS's do, can become slower by any factor when there is not a core for each: such
rows are not judged. One thread's best is near to the truth even then. A row is not judged either if
the probes before and after it, the same work each time, differ by more than 15 %."""


@dataclass
class Row:
    """A case, measured."""

    suite: str
    case: Case
    samples: dict[str, Samples] = field(default_factory=dict)
    error: float = 0.0
    differs: str = ""
    others: float | None = None  # cores that other programs kept busy
    disturbed: bool = False  # several threads, and not a core for each
    probes: Probes | None = None  # None where nothing was timed
    columns: Iterable[str] = libraries.NAMES
    peak: float | None = None  # what the machine can do of this, per second

    def ratio(self, rival: str = "faster", statistic: str = "best") -> float | None:
        """theirs / ours: above 1, tutor takes less. None where nobody is there to compare with."""
        values = {name: getattr(s, statistic) for name, s in self.samples.items()}
        ours = values.pop("tutor")
        values = {name: v for name, v in values.items() if name not in libraries.ALSO}
        if rival != "faster":
            values = {name: v for name, v in values.items() if name == rival}
        if not values or not (ours or any(values.values())):
            return None
        return min(values.values()) / ours if ours else math.inf

    def rate(self) -> float | None:
        """tutor's operations or bytes per second, at best."""
        case = self.case
        work = {"flops": case.flops, "bytes": case.bytes, "both": case.flops}.get(case.limit)
        return work / self.samples["tutor"].best if work and self.case.unit == "s" else None

    def fraction(self) -> float | None:
        """The rate as a fraction of this machine's peak."""
        rate = self.rate()
        return rate / self.peak if rate is not None and self.peak else None

    def doubt(self) -> str:
        """Why the row is not judged; empty if it may be."""
        if self.disturbed:
            return "cores were shared"
        return self.probes.doubt if self.probes else ""

    def met(self) -> bool | None:
        """Whether the target is reached; None where that cannot be said."""
        target = self.case.target
        if target is None or target.later or self.differs or self.doubt():
            return None
        if target.most is not None:
            return self.samples["tutor"].median <= target.most
        ratio, fraction = self.ratio(target.rival), self.fraction()
        if ratio is None or (target.peak and fraction is None):
            return None
        return ratio >= target.ratio and (fraction or 0.0) >= target.peak

    def verdict(self) -> str:
        target, doubt = self.case.target, self.doubt()
        unknown = f"not judged, {doubt}" if doubt else "not known"
        if target is None:
            return unknown if doubt else ""
        if target.later:
            return f"{target} (later: {target.later})"
        return f"{target}: {({True: 'met', False: 'NOT met', None: unknown})[self.met()]}"

    def line(self) -> str:
        name = f"{self.case.name:<{WIDTHS[0]}}"
        if self.differs:
            return f"{name} RESULTS DIFFER, not timed: {self.differs}"
        cells = [cell(self.samples.get(n), self.case.unit) for n in self.columns]
        best, median = self.ratio(), self.ratio(statistic="median")
        cells.append("" if best is None else f"{best:.2f} ({median:.2f})")
        rate, fraction = self.rate(), self.fraction()
        kind = "GB/s" if self.case.limit == "bytes" else "GFLOP/s"
        cells.append("" if rate is None else f"{rate / 1e9:.3g} {kind}")
        cells.append("" if fraction is None else f"{fraction:.0%}")
        cells.append(f"{self.error:.0e}" if self.error else "")
        cells.append("" if self.others is None else f"{self.others:.1f}")
        padded = (f"{c:>{w}}" for c, w in zip(cells, WIDTHS[1:], strict=True))
        return f"{name}{' '.join(padded)}  {self.verdict()}".rstrip()

    def record(self) -> dict[str, Any]:
        """Everything about this row that can be written as JSON."""
        case, target = self.case, self.case.target
        record = {
            "suite": self.suite, "case": case.name, "unit": case.unit, "differs": self.differs,
            "error": self.error, "flops": case.flops, "bytes": case.bytes, "others": self.others,
            "target": str(target) if target else None, "met": self.met(), "probes": self.probes,
        }  # fmt: skip
        if self.differs:
            return record
        return record | {
            "ratio": finite(self.ratio()),
            "ratio_of_medians": finite(self.ratio(statistic="median")),
            "rate": self.rate(),
            "peak": self.peak,
            "results": {name: s.record() for name, s in self.samples.items()},
        }


def finite(ratio: float | None) -> float | None:
    """JSON has no infinity."""
    return ratio if ratio is not None and math.isfinite(ratio) else None


def cell(samples: Samples | None, unit: str) -> str:
    if samples is None:
        return ""
    return f"{quantity(samples.best, unit)} +{min(samples.spread, 9.99):.0%}"


def quantity(value: float, unit: str) -> str:
    """Three digits, and for times the unit that keeps them readable."""
    if unit == "s":
        factor, unit = next((f, u) for f, u in ((1e6, "us"), (1e3, "ms"), (1, "s")) if
                            value * f < 1000 or f == 1)  # fmt: skip
        value *= factor
    number = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
    return f"{number} {unit}"


def measure(
    suite: str, case: Case, effort: Effort, columns: Iterable[str] = libraries.NAMES
) -> Row:
    """Check first, then time. What a library lacks, as a dtype, leaves its column empty."""
    row = Row(suite, case, columns=columns)
    if case.count is not None:
        row.samples = case.count()
        return row
    runs, results = dict(case.runs), {}
    for name, run in (case.check or case.runs).items():
        try:
            results[name] = run()
        except (TypeError, NotImplementedError, RuntimeError):
            if name == "tutor":
                raise
            runs.pop(name, None)
    try:
        row.error = equality.check(results, case.tolerance)
    except equality.ResultsDifferError as found:
        row.differs = str(found)
        return row
    del results
    start, before = machine.times(), probe()
    row.samples = better_ways(interleaved(runs, effort))
    row.probes, row.others = Probes(before, probe()), machine.others(start)
    row.disturbed = effort.threads > 1 and machine.too_few_cores(effort.threads, row.others)
    row.peak = peak(case, effort.threads)
    return row


def better_ways(samples: dict[str, Samples]) -> dict[str, Samples]:
    """Each library by the better of the ways to use it."""
    for way, library in libraries.WAYS.items():
        if way in samples:
            both = [found for name in (library, way) if (found := samples.pop(name, None))]
            samples[library] = min(both, key=lambda found: found.best)
    return samples


def peak(case: Case, threads: int) -> float | None:
    """What this machine can do at most of what limits this case."""
    if not (case.limit and case.probed):
        return None
    flops = machine.peak_flops(threads) if case.limit in ("flops", "both") else None
    if case.limit == "flops":
        return flops
    rate = machine.peak_bytes(threads, int(case.bytes), case.streams)
    if case.limit == "bytes" or not (flops and rate):
        return rate if case.limit == "bytes" else None
    return case.flops / (case.flops / flops + case.bytes / rate)


def heading(columns: Mapping[str, str] = COLUMNS) -> str:
    titles = ("", *(f"{title} best+%" for title in columns.values()), *HEADINGS)
    first, *others = (f"{h:>{w}}" for h, w in zip(titles, WIDTHS, strict=True))
    return f"{first}{' '.join(others)}  target"


def summary(rows: list[Row]) -> str:
    """How many targets are met, which are not, and which wait for something to exist."""
    known = [r for r in rows if r.met() is not None]
    missed = [f"{r.suite}: {r.case.name} ({r.case.target})" for r in known if not r.met()]
    lines = [f"targets met: {len(known) - len(missed)} of {len(known)} that were measured"]
    if doubtful := sum(bool(r.doubt()) and r.case.target is not None for r in rows):
        lines.append(f"  not judged: {doubtful}, because cores were shared, or probes differ")
    lines += [f"  not met: {text}" for text in missed]
    for what in sorted({t.later for t in TARGETS.values() if t.later}):
        waiting = [f"{t.work} ({t})" for t in TARGETS.values() if t.later == what]
        text = f"  later, with {what}: {'; '.join(waiting)}"
        lines.append(textwrap.fill(text, 100, subsequent_indent="    "))
    return "\n".join(lines)


def noise(rows: list[Row]) -> str:
    """How quiet the machine was: the middle of all rows that were timed."""
    spreads = [s.spread for r in rows if r.case.unit == "s" for s in r.samples.values()]
    others = [r.others for r in rows if r.others is not None]
    text = f"median of all spreads {statistics.median(spreads):.0%}" if spreads else ""
    return text + (f", of others {statistics.median(others):.1f} cores" if others else "")


def about(effort: Effort, date: str) -> dict[str, Any]:
    """The circumstances, which go into every line of the results."""
    return {
        "date": date,
        "effort": effort.name,
        "threads": effort.threads,
        "cpu": machine.cpu(),
        "cores": os.cpu_count(),
        "commit": machine.commit(),
        **libraries.circumstances(),
    }


def append(row: Row, circumstances: dict[str, Any], path: Path) -> None:
    """One line of JSON at the end of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({**circumstances, **row.record()}) + "\n")
