"""Many numbers to few: limited by reading, and a lesson in the order of additions.

A sum in one go would wait for each addition to end before the next; all libraries keep several
sums, and so round differently. That is why the tolerance here is wider than elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tutor
from benchmarks import libraries
from benchmarks.case import Case, moving
from benchmarks.libraries import numpy as np
from benchmarks.libraries import operand, torch
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS, Target

FOLDS = {
    "sum": {
        "tutor": lambda x, axis: x.sum(axis),
        "numpy": lambda x, axis: x.sum(axis),
        "torch": lambda x, axis: x.sum(axis),
    },
    "mean": {
        "tutor": lambda x, axis: x.mean(axis),
        "numpy": lambda x, axis: x.mean(axis),
        "torch": lambda x, axis: x.mean(axis),
    },
    "max": {
        "tutor": lambda x, axis: x.max(axis),
        "numpy": lambda x, axis: x.max(axis),
        "torch": lambda x, axis: x.amax(() if axis is None else axis),
    },
    "argmax": {
        "tutor": lambda x, axis: x.argmax(axis),
        "numpy": lambda x, axis: x.argmax(axis),
        "torch": lambda x, axis: x.argmax(axis),
    },
}
# What gives as many numbers as it gets.
ROWS = {
    "softmax": {
        "tutor": lambda x: x.softmax(-1),
        "numpy": lambda x: np_softmax(x),
        "torch": lambda x: torch.softmax(x, -1),
    },
    "log_softmax": {
        "tutor": lambda x: x.log_softmax(-1),
        "torch": lambda x: torch.log_softmax(x, -1),
    },
    "cumsum": {
        "tutor": lambda x: x.cumsum(-1),
        "numpy": lambda x: np.cumsum(x, -1),
        "torch": lambda x: torch.cumsum(x, -1),
    },
    "sort": {
        "tutor": lambda x: x.sort(-1),
        "numpy": lambda x: np.sort(x, -1),
        "torch": lambda x: torch.sort(x, -1).values,
    },
}
CROSS_ENTROPY = {
    "tutor": lambda x, y: x.cross_entropy(y),
    "torch": lambda x, y: torch.nn.functional.cross_entropy(x, y),
}
SIZES = {"1K": 32, "1M": 1024, "16M": 4096}
TOLERANCE = {"float64": 1e-11, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


def np_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def fold(
    name: str, what: str, x: tutor.Tensor, axis: int | None, target: Target | None = None
) -> Case:
    functions = {
        lib: lambda x, f=f: f(x, axis) for lib, f in FOLDS[name].items()
    }  # the axis is no array
    exact = name in ("max", "argmax")
    return moving(
        f"{name} {what}", functions, x, streams=1, flops=x.numel(), target=target,
        tolerance=0.0 if exact else TOLERANCE.get(x.dtype.name, 0.0),
    )  # fmt: skip


def cases(effort: Effort) -> Iterator[Case]:
    for size, n in effort.pick(SIZES, {"1M": 1024}, {"1K": 32}).items():
        # normal numbers: among uniform ones, two may share the largest place
        x = tutor.randn(n, n) + 0.5
        for name in ("sum", "max") if effort.name == "quick" else FOLDS:
            asked = TARGETS["1M"] if name == "sum" and size == "1M" else None
            yield fold(name, size, x, None, asked)
        for name in ("sum",) if effort.name == "quick" else ("sum", "max", "argmax"):
            yield fold(name, f"axis 0 {size}", x, 0)
            yield fold(name, f"axis 1 {size}", x, 1)
        for name in ("softmax",) if effort.name == "quick" else ROWS:
            if size != "16M" or name != "sort":
                yield moving(f"{name} rows {size}", ROWS[name], x, tolerance=TOLERANCE["float32"])
        if effort.name != "quick":
            yield fold("sum", f"xᵀ axis 1 {size}", x.T, 1)
            yield fold("sum", f"stretched {size}", x[:1].expand(n, n), None)
    yield _scores(effort.pick(60_000, 60_000, 100))
    if effort.name != "quick":
        yield from _dtypes(effort.pick(1024, 1024, 32))


def _scores(rows: int) -> Case:
    """The loss of as many images as MNIST has, 10 scores each: rows much shorter than a page."""
    labels = (tutor.rand(rows) * 10).cast("int64")
    x = operand(rows, 10)
    runs = libraries.runs(CROSS_ENTROPY, x, labels)
    size = libraries.touched(x, labels)
    return Case(f"cross_entropy {rows} x 10", runs, flops=x.numel(), bytes=size, streams=1,
                limit="bytes", tolerance=TOLERANCE["float32"])  # fmt: skip


def _dtypes(n: int) -> Iterator[Case]:
    for dtype in tutor.DTYPES:
        if dtype.name not in ("float32", "bool"):
            x = operand(n, n, dtype=dtype)
            yield fold("sum", f"axis 1 {dtype.name} {n * n}", x, 1)
            yield fold("max", f"{dtype.name} {n * n}", x, None)
