"""Running suites: measure each case, print its line, write it down, draw the pictures."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tutor
from benchmarks import libraries, machine, pictures, report
from benchmarks.case import Case, moving
from benchmarks.libraries import alike, operand
from benchmarks.measure import SECONDS, Effort
from benchmarks.suites import matmul


def begin(size: str, threads: int) -> Effort:
    """Limit the threads of all libraries; how much is to be measured."""
    libraries.limit_threads(threads)
    return Effort(size, SECONDS[size], threads)


def suites(names: Sequence[str], effort: Effort, out: Path, folder: Path) -> bool:
    """Run these suites and write down what came out. True if all results were equal."""
    threads = effort.threads
    about = report.about(effort, datetime.now(UTC).isoformat(timespec="seconds"))
    introduce(about)
    rows: list[report.Row] = []
    for name in names:
        suite = importlib.import_module(f"benchmarks.suites.{name}")
        columns = getattr(suite, "COLUMNS", report.COLUMNS)
        tutor.manual_seed(0)  # the same numbers each time: rounding errors differ with them
        print(f"\n== {name}\n{report.heading(columns)}", flush=True)
        for case in suite.cases(effort):
            rows.append(report.measure(name, case, effort, columns))
            print(rows[-1].line(), flush=True)
            report.append(rows[-1], about, out)
    print(f"\n{report.EXPLAINED}\n\n{report.summary(rows)}")
    print(f"{peaks(threads)}\n{report.noise(rows)}")
    drawn = [str(path) for path in pictures.draw(rows, effort, folder)]
    print("written:", ", ".join([str(out), *drawn]))
    return not any(row.differs for row in rows)


def cases(names: Sequence[str], effort: Effort) -> Iterator[Case]:
    """The timed rows of these suites. If none is named, one row that arithmetic limits, a product,
    and one that memory limits, an addition."""
    if not names:
        n, many = effort.pick(1024, 1024, 16), effort.pick(4096, 4096, 16)
        yield matmul.product(f"product {n}", operand(n, n), operand(n, n))
        yield moving(f"add {many * many:,}", alike(operator.add), *[operand(many, many)] * 2)
    for name in names:
        tutor.manual_seed(0)
        suite = importlib.import_module(f"benchmarks.suites.{name}")
        yield from (case for case in suite.cases(effort) if case.count is None)


def introduce(about: dict[str, Any]) -> None:
    """What is measured on what."""
    there = [f"{name} {about[name] or 'missing'}" for name in libraries.NAMES]
    print(f"{', '.join(there)}; backend {about['backend']} {about['level'] or ''}")
    print(f"{about['cpu']}, {about['cores']} cores; {about['date']}", end="; ")
    print(f"{about['threads']} thread(s) for each library")


def peaks(threads: int) -> str:
    """What this machine reached in this run, at best."""
    flops = machine.peak_flops(threads)
    sizes = {"64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB": 1 << 24, "128 MiB": 1 << 27}
    speeds = {text: machine.peak_bytes(threads, size, 3) for text, size in sizes.items()}
    found = [f"{speed / 1e9:.0f} GB/s on {text}" for text, speed in speeds.items() if speed]
    if flops is None or len(found) < len(sizes):
        return "no C compiler was found: the fraction of this machine's peak is missing"
    text = ", ".join(found)
    return f"measured peak: {flops / 1e9:.0f} GFLOP/s in float32; z = x + y: {text}"
