"""The profiler: which kernels ran, for how long, and how much time passed between them.

    with tutor.profile() as p:
        loss = model(x).cross_entropy(y)
        loss.backward()
    print(p)                     # a table: one row for each kernel and dtype, by time
    p.rows                       # the same as data
    p.chrome_trace("step.json")  # for chrome://tracing or https://ui.perfetto.dev

A profile is an observer of Steps (tutor/backends/step.py): the Engine calls the kernels as usual,
so what is measured is what runs. Blocks may be nested; each sees all calls of all threads while it
lasts. Its observer goes when the block ends, even by an interrupt (context_settings.py says when).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from tutor._util import files
from tutor._util.context_settings import Block
from tutor.backends import costs
from tutor.backends.step import NONE, Observer, Step, watch, watchers
from tutor.dtype import DType
from tutor.errors import DomainError


class KernelCall(NamedTuple):
    """One call of a kernel. Times are in nanoseconds."""

    kernel: str
    dtype: DType
    start: int
    duration: int
    overhead: int  # of recording this call
    thread: int
    operands: tuple[costs.Layout, ...]  # shape, strides, dtype: of out, then of the inputs
    params: Mapping[str, object] = NONE

    @property
    def nbytes(self) -> int:
        """Bytes read and written: costs.nbytes."""
        return costs.nbytes(self.kernel, self.operands)

    @property
    def flops(self) -> int | None:
        """Operations computed, None if unknown: costs.flops."""
        return costs.flops(self.kernel, self.operands, self.params)


class KernelRow(NamedTuple):
    """All calls of one kernel with one dtype."""

    kernel: str
    dtype: str
    calls: int
    seconds: float
    nbytes: int
    flops: int | None

    @property
    def gb_per_s(self) -> float:
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gflop_per_s(self) -> float | None:
        return self.flops / self.seconds / 1e9 if self.flops and self.seconds else None


# ---- what the user sees --------------------------------------------------------------------------


def _note(calls: list[KernelCall], step: Step, go: Callable[[], None]) -> None:
    start = perf_counter_ns()
    go()
    stop = perf_counter_ns()
    layouts, thread = step.layouts, get_ident()
    overhead = perf_counter_ns() - stop
    calls.append(
        KernelCall(
            step.kernel, step.dtype, start, stop - start, overhead, thread, layouts, step.params
        )
    )


class profile(watch):  # noqa: N801 - read as a verb: with profile() as p
    """`with profile() as p:` records every kernel call; `print(p)` afterwards."""

    def __init__(self) -> None:
        self.calls: list[KernelCall] = []
        self.start = self.elapsed = 0  # nanoseconds; entering a profile again adds to them
        self.thread = 0
        super().__init__(partial(_note, self.calls))

    def block(self) -> Block[Observer]:
        if self.value in watchers():
            raise DomainError(
                "with p: ...", "p is a profile at work", "make another one: tutor.profile()"
            )
        self.thread, self.start = get_ident(), perf_counter_ns()
        return super().block()

    def ended(self) -> None:
        super().ended()
        self.elapsed += perf_counter_ns() - self.start

    @property
    def rows(self) -> list[KernelRow]:
        """One KernelRow for each kernel and dtype, the slowest first."""
        groups: dict[tuple[str, str], list[KernelCall]] = {}
        for call in self.calls:
            groups.setdefault((call.kernel, call.dtype.name), []).append(call)
        rows = []
        for (kernel, dtype), calls in groups.items():
            seconds = sum(c.duration for c in calls) / 1e9
            flops = None if calls[0].flops is None else sum(c.flops or 0 for c in calls)
            rows.append(
                KernelRow(kernel, dtype, len(calls), seconds, sum(c.nbytes for c in calls), flops)
            )
        return sorted(rows, key=lambda row: -row.seconds)

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time went.

        - kernels: inside them, in all threads.
        - between: the rest of the time of the thread that entered the block: the Engine's part
          (results, Buffers, the graph), and the user's own code.
        - profile: the recording itself, as far as it can be measured.
        """
        mine = sum(c.duration + c.overhead for c in self.calls if c.thread == self.thread)
        total = {
            "kernels": sum(c.duration for c in self.calls),
            "between": self.elapsed - mine,
            "profile": sum(c.overhead for c in self.calls),
        }
        return {name: ns / 1e9 for name, ns in total.items()}

    def __str__(self) -> str:
        lines = [f"{'kernel':<20}{'dtype':<10}{'calls':>8}{'ms':>10}{'share':>8}{'MB':>10}"
                 f"{'GB/s':>8}{'GFLOP/s':>9}"]  # fmt: skip
        seconds = self.seconds
        total = sum(seconds.values()) or 1.0
        for row in self.rows:
            rate = "-" if row.gflop_per_s is None else f"{row.gflop_per_s:.1f}"
            lines.append(
                f"{row.kernel:<20}{row.dtype:<10}{row.calls:>8,}{row.seconds * 1e3:>10.3f}"
                f"{row.seconds / total:>8.1%}{row.nbytes / 1e6:>10.2f}{row.gb_per_s:>8.1f}{rate:>9}"
            )
        shares = ", ".join(f"{name} {s / total:.1%}" for name, s in seconds.items())
        return "\n".join([*lines, f"{total * 1e3:.3f} ms: {shares}"])

    def chrome_trace(self, path: str | Path) -> None:
        """Write the calls as a file for chrome://tracing or https://ui.perfetto.dev, atomically.
        DataError if it cannot be written."""
        seen = dict.fromkeys([self.thread, *(c.thread for c in self.calls)])
        threads = {thread: i for i, thread in enumerate(seen)}
        events = []
        for c in self.calls:
            shapes, _, dtypes = zip(*c.operands, strict=True)
            names = [dtype.name for dtype in dtypes]
            args = {"shapes": shapes, "dtypes": names, "bytes": c.nbytes, "flops": c.flops}
            events.append(_event(c.kernel, c.start, c.duration, threads[c.thread], args))
        events.sort(key=lambda event: event["ts"])
        trace = {"traceEvents": events, "displayTimeUnit": "ns"}
        payload = json.dumps(trace).encode()
        files.write_whole(path, lambda file: file.write(payload))


def _event(name: str, start: int, duration: int, thread: int, args: Any) -> Any:
    """A "complete event" of the Trace Event Format, with times in microseconds."""
    return {
        "name": name, "cat": "kernel", "ph": "X", "ts": start / 1e3, "dur": duration / 1e3,
        "pid": 0, "tid": thread, "args": args,
    }  # fmt: skip
