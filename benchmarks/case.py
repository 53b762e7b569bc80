"""A case is one row to be measured: the same work, written for each library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks import libraries
from benchmarks.measure import Samples
from benchmarks.targets import Target
from tutor import Tensor


@dataclass
class Case:
    """`runs` does the work once and returns its result, for every library that can.

    `flops` and `bytes` are what the work needs at least, by the formula: the same for everybody,
    however much a library really computes or moves. `streams` is 1 where nearly all bytes are read.
    `limit` says which of the two has a peak worth a fraction, or that "both" take their time, one
    after the other; peak.c's is one of float32, so other dtypes' products say `probed=False`.
    `check` gives the results to compare, where not those of `runs`. `count` replaces timing where
    something else is measured, in `unit`.
    """

    name: str
    runs: dict[str, libraries.Run] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0
    streams: int = 3
    limit: str = ""  # "flops", "bytes", "both", or neither
    probed: bool = True
    tolerance: float | None = None
    target: Target | None = None
    check: dict[str, libraries.Run] | None = None
    count: Callable[[], dict[str, Samples]] | None = None
    unit: str = "s"


def moving(name: str, functions: libraries.Functions, *operands: Tensor, **options: Any) -> Case:
    """A case that memory limits: its bytes are the operands' and the result's."""
    runs = libraries.runs(functions, *operands)
    result = runs["tutor"]()
    size = libraries.touched(*operands, result)
    options.setdefault("flops", max(t.numel() for t in (*operands, result)))
    return Case(name, runs, bytes=size, limit="bytes", **options)
