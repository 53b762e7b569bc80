"""The profiler: which kernels ran, for how long, and what happened between them.

    with tutor.profile() as p:
        loss = model(x).cross_entropy(y)
        loss.backward()
    print(p)                     # a table: one row for each kernel and dtype, by time
    p.rows                       # the same as data
    p.chrome_trace("step.json")  # for chrome://tracing or https://ui.perfetto.dev

Within the block every kernel is wrapped as the registry hands it out, and so are the three doors of
the Engine: run, call, backward. Outside of it nothing is left of this, and nothing costs time.
Blocks may be nested; each sees all calls of all threads while it lasts.
"""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from tutor.backends import registry
from tutor.backends.signatures import SIGNATURES
from tutor.core.engine import Engine, engine
from tutor.core.op import Op
from tutor.dtype import DType
from tutor.errors import DomainError

NAMES = tuple(SIGNATURES)
ELEMENTWISE = {*NAMES[: NAMES.index("where") + 1]} - {"copy", "cast", "fill", "where"}
REDUCTIONS = {"sum", "prod", "mean", "max", "min"}
UPDATES = {"descend", "sgd", "adam"}  # read and write out and the state in place
SELECTIONS = {"gather", "index_select"}  # read as many elements as they write

Shape = tuple[int, ...]


class Call(NamedTuple):
    """One call of a kernel. Times are in nanoseconds."""

    kernel: str
    dtype: DType
    start: int
    duration: int
    overhead: int  # what it took to write this down
    thread: int
    in_engine: bool  # was it the Engine that called?
    operands: tuple[tuple[Shape, Shape, DType], ...]  # shape, strides, dtype: of out, then inputs

    @property
    def nbytes(self) -> int:
        """Bytes read and written, each element counted once for each operand that it is in."""
        moved = [_elements(shape, strides) * d.itemsize for shape, strides, d in self.operands]
        if self.kernel in SELECTIONS:
            moved[1] = moved[0]
        if self.kernel in UPDATES:
            moved += moved[:1] + moved[2:]
        return sum(moved)

    @property
    def flops(self) -> int | None:
        """One for each element of a map or reduction; of a product of sums, a multiplication and an
        addition for each term: 2mnk for a matrix product. None where it is not known."""
        out, *ins = [operand[0] for operand in self.operands]
        if self.kernel in ("matmul", "linear"):
            return 2 * math.prod(out) * ins[0][-1]
        if self.kernel == "conv2d":
            return 2 * math.prod(out) * math.prod(ins[1][1:])
        if self.kernel == "conv2d_weight":
            return 2 * math.prod(ins[1]) * math.prod(out[1:])
        if self.kernel in ELEMENTWISE:
            return math.prod(out)
        return math.prod(ins[0]) if self.kernel in REDUCTIONS else None


def _elements(shape: Shape, strides: Shape) -> int:
    """How many elements an operand has in memory: an axis of stride 0 repeats the same ones."""
    if 0 in shape:
        return 0
    return math.prod(n for n, stride in zip(shape, strides, strict=True) if stride)


class Span(NamedTuple):
    """One time that the Engine was at work. Spans within others lie in `inner` ones."""

    name: str
    start: int
    stop: int
    thread: int
    inner: bool


class Row(NamedTuple):
    """All calls of one kernel for one dtype."""

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


# ---- standing in between -------------------------------------------------------------------------


class _Thread(threading.local):
    depth = 0  # how many doors of the Engine this thread has gone through


_thread = _Thread()
_profiles: list[profile] = []
_lock = threading.Lock()


def _observer(kernel: registry.Kernel, name: str, dtype: DType) -> registry.Kernel:
    def observed(out: Any, *ins: Any, **params: Any) -> None:
        start = perf_counter_ns()
        kernel(out, *ins, **params)
        stop = perf_counter_ns()
        operands = tuple([(x.shape, x.strides, x.buf.dtype) for x in (out, *ins)])
        within = _thread.depth > 0
        overhead = perf_counter_ns() - stop
        call = Call(name, dtype, start, stop - start, overhead, get_ident(), within, operands)
        for p in tuple(_profiles):
            p.calls.append(call)

    return observed


def _door(function: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
    """`function`, with a Span written down for each call of it."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        start = perf_counter_ns()
        _thread.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            _thread.depth -= 1
            inner = _thread.depth > 0
            span = Span(name(*args), start, perf_counter_ns(), get_ident(), inner)
            for p in tuple(_profiles):
                p.spans.append(span)

    return entered


_call, _backward = Engine.call, Engine.backward


def _stand_between(on: bool) -> None:
    registry.observe(_observer, on)
    if on:
        Op.execute = staticmethod(_door(engine.run, lambda op: op.name))
        Engine.call = _door(_call, lambda _, kernel, *__: kernel)  # type: ignore[method-assign]
        Engine.backward = _door(_backward, lambda *_: "backward")  # type: ignore[method-assign]
    else:
        Op.execute = staticmethod(engine.run)
        Engine.call, Engine.backward = _call, _backward  # type: ignore[method-assign]


# ---- what the user sees --------------------------------------------------------------------------


class profile:  # noqa: N801 - read as a verb: with profile() as p
    """`with profile() as p:` writes down every kernel call; `print(p)` afterwards."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.spans: list[Span] = []
        self.start = self.elapsed = 0  # nanoseconds; a profile may be entered again, and adds up
        self.thread = 0

    def __enter__(self) -> profile:
        with _lock:
            if self in _profiles:
                raise DomainError(
                    "with p: ...", "p is a profile at work", "make another one: tutor.profile()"
                )
            if not _profiles:
                _stand_between(True)
            _profiles.append(self)
        self.thread, self.start = get_ident(), perf_counter_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        self.elapsed += perf_counter_ns() - self.start
        with _lock:
            _profiles.remove(self)
            if not _profiles:
                _stand_between(False)

    @property
    def rows(self) -> list[Row]:
        """One Row for each kernel and dtype, the one that took longest first."""
        groups: dict[tuple[str, str], list[Call]] = {}
        for call in self.calls:
            groups.setdefault((call.kernel, call.dtype.name), []).append(call)
        rows = []
        for (kernel, dtype), calls in groups.items():
            seconds = sum(c.duration for c in calls) / 1e9
            flops = None if calls[0].flops is None else sum(c.flops or 0 for c in calls)
            rows.append(
                Row(kernel, dtype, len(calls), seconds, sum(c.nbytes for c in calls), flops)
            )
        return sorted(rows, key=lambda row: -row.seconds)

    @property
    def seconds(self) -> dict[str, float]:
        """Where the time went.

        - kernels: inside them, in all threads.
        - dispatch: inside the Engine but in no kernel: results, Buffers, lookup, graph.
        - python: the rest of the thread that entered the block: the user's code, modules, steps.
        - profile: writing all this down, as far as it can be known.
        """
        kernels, profiling = Counter[bool](), Counter[bool]()  # by: within the Engine?
        mine = 0  # of the block's own thread, outside of the Engine
        for c in self.calls:
            kernels[c.in_engine] += c.duration
            profiling[c.in_engine] += c.overhead
            if c.thread == self.thread and not c.in_engine:
                mine += c.duration + c.overhead
        spans = Counter[int]()
        for span in self.spans:
            if not span.inner:
                spans[span.thread] += span.stop - span.start
        total = {
            "kernels": kernels.total(),
            "dispatch": spans.total() - kernels[True] - profiling[True],
            "python": self.elapsed - spans[self.thread] - mine,
            "profile": profiling.total(),
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
        """Write the calls as a file for chrome://tracing or https://ui.perfetto.dev."""
        seen = [self.thread, *(s.thread for s in self.spans), *(c.thread for c in self.calls)]
        threads = {thread: i for i, thread in enumerate(dict.fromkeys(seen))}
        events = [
            _event(s.name, "engine", s.start, s.stop - s.start, threads[s.thread], {})
            for s in self.spans
        ]
        for c in self.calls:
            shapes, _, dtypes = zip(*c.operands, strict=True)
            names = [dtype.name for dtype in dtypes]
            args = {"shapes": shapes, "dtypes": names, "bytes": c.nbytes, "flops": c.flops}
            events.append(_event(c.kernel, "kernel", c.start, c.duration, threads[c.thread], args))
        events.sort(key=lambda event: event["ts"])
        trace = {"traceEvents": events, "displayTimeUnit": "ns"}
        Path(path).write_text(json.dumps(trace), encoding="utf-8")


def _event(name: str, kind: str, start: int, duration: int, thread: int, args: Any) -> Any:
    """A "complete event" of the Trace Event Format; times in it are microseconds."""
    return {
        "name": name, "cat": kind, "ph": "X", "ts": start / 1e3, "dur": duration / 1e3,
        "pid": 0, "tid": thread, "args": args,
    }  # fmt: skip
