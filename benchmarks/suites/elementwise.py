"""One operation on each element: limited by memory, as soon as the arrays leave the first cache.

1 K elements show the cost of a call, 1 M the caches, 16 M the memory. The result is allocated by
each library, as it is in a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tutor
from benchmarks.case import Case, moving
from benchmarks.libraries import alike, operand, torch
from benchmarks.libraries import numpy as np
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS

UNARY = {
    "exp": {
        "tutor": lambda x: x.exp(),
        "numpy": lambda x: np.exp(x),
        "torch": lambda x: torch.exp(x),
    },
    "relu": {
        "tutor": lambda x: x.relu(),
        "numpy": lambda x: np.maximum(x, 0),
        "torch": lambda x: torch.relu(x),
    },
    "tanh": {
        "tutor": lambda x: x.tanh(),
        "numpy": lambda x: np.tanh(x),
        "torch": lambda x: torch.tanh(x),
    },
    "sigmoid": {
        "tutor": lambda x: x.sigmoid(),
        "numpy": lambda x: 1 / (1 + np.exp(-x)),
        "torch": lambda x: torch.sigmoid(x),
    },
    "copy": {
        "tutor": lambda x: x.copy(),
        "numpy": lambda x: x.copy(order="C"),
        "torch": lambda x: x.clone(memory_format=torch.contiguous_format),
    },
}
BINARY = {"add": alike(lambda x, y: x + y), "mul": alike(lambda x, y: x * y)}
WHERE = {
    "tutor": lambda mask, x, y: tutor.where(mask, x, y),
    "numpy": lambda mask, x, y: np.where(mask, x, y),
    "torch": lambda mask, x, y: torch.where(mask, x, y),
}
CHAIN = {
    "tutor": lambda x: (x * 2 + 1).relu().sum(),
    "numpy": lambda x: np.maximum(x * 2 + 1, 0).sum(),
    "torch": lambda x: (x * 2 + 1).relu().sum(),
}
SIZES = {"1K": 32, "1M": 1024, "16M": 4096}  # squares of so many rows, to have two axes to swap
ASKED = ("add", "mul", "exp", "relu")  # at 1 M, contiguous


def cast(target: str) -> dict[str, Callable[[Any], Any]]:
    return {
        "tutor": lambda x: x.cast(target),
        "numpy": lambda x: x.astype(target),
        "torch": lambda x: x.to(getattr(torch, target)),
    }


def cases(effort: Effort) -> Iterator[Case]:
    for size, n in effort.pick(SIZES, {"1K": 32, "1M": 1024}, {"1K": 32}).items():
        yield from _contiguous(effort, size, n)
    for size, n in effort.pick({"1M": 1024, "16M": 4096}, {}, {"1K": 32}).items():
        yield from _layouts(size, n)
    n = effort.pick(1024, 1024, 32)
    yield from _dtypes(effort, n)
    what = f"(x*2+1).relu().sum() {n * n}"
    yield moving(what, CHAIN, operand(n, n))


def _contiguous(effort: Effort, size: str, n: int) -> Iterator[Case]:
    x, y, mask = operand(n, n), operand(n, n), operand(n, n, dtype="bool")
    quick = effort.name == "quick" and size == "1K"
    for name, functions in BINARY.items():
        if not (quick and name != "add"):
            target = TARGETS["1M"] if size == "1M" else None
            yield moving(f"{name} {size}", functions, x, y, target=target)
    if quick:
        return
    for name, functions in UNARY.items():
        target = TARGETS["1M"] if size == "1M" and name in ASKED else None
        yield moving(f"{name} {size}", functions, x, target=target)
    yield moving(f"where {size}", WHERE, mask, x, y)


def _layouts(size: str, n: int) -> Iterator[Case]:
    """Walked along the other axis, or with an axis that is only stretched.

    For exp of xᵀ the others walk memory as it lies and give a transposed result; tutor's is
    row-major, always. That is a choice of tutor's, so it is measured and not evened out.
    """
    x, y, row, column = operand(n, n), operand(n, n), operand(1, n), operand(n, 1)
    for name in ("copy", "exp"):
        yield moving(f"{name} xᵀ {size}", UNARY[name], x.T)
    yield moving(f"add x + yᵀ {size}", BINARY["add"], x, y.T)
    yield moving(f"add x + row {size}", BINARY["add"], x, row)
    yield moving(f"add x + column {size}", BINARY["add"], x, column)
    yield moving(f"mul column * row {size}", BINARY["mul"], column, row)


def _dtypes(effort: Effort, n: int) -> Iterator[Case]:
    every = [dtype for dtype in tutor.DTYPES if dtype.name != "float32"]
    if effort.name == "quick":
        every = [tutor.float64, tutor.float16, tutor.int32]
    for dtype in every:
        x, y = operand(n, n, dtype=dtype), operand(n, n, dtype=dtype)
        yield moving(f"add {dtype.name} {n * n}", BINARY["add"], x, y)
        if effort.name == "quick":
            continue
        if dtype.name != "bool":
            yield moving(f"relu {dtype.name} {n * n}", UNARY["relu"], x)
        if dtype.is_float:
            yield moving(f"exp {dtype.name} {n * n}", UNARY["exp"], x)
        yield moving(f"cast {dtype.name} to float32 {n * n}", cast("float32"), x)
    for target in ("float64", "float16", "bfloat16", "int32"):
        if effort.name != "quick":
            functions = cast(target)
            if target == "bfloat16":  # NumPy has no such dtype
                del functions["numpy"]
            yield moving(f"cast float32 to {target} {n * n}", functions, operand(n, n))
