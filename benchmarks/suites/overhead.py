"""What an operation costs when there is nothing to compute: the way from Python to the kernel."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import libraries
from benchmarks.case import Case
from benchmarks.libraries import Run, alike, modules, operand
from benchmarks.measure import Effort, Samples
from benchmarks.suites import process
from benchmarks.targets import TARGETS
from tutor import Tensor


def ten_operations(x: Any, w: Any, b: Any) -> Any:
    """Ten, counted: * + tanh * - sigmoid * + relu sum."""
    h = ((x * w + b).tanh() * w - b).sigmoid()
    return (h * h + x).relu().sum()


# What costs more to ask for than to compute: of x (8, 8), a row b (8,) and positions ids (3,).
SMALL: dict[str, Callable[..., Any]] = {
    "x + x": lambda x, b, ids: x + x,
    "x * 2.0": lambda x, b, ids: x * 2.0,
    "relu": lambda x, b, ids: x.relu(),
    "x + row": lambda x, b, ids: x + b,
    "sum": lambda x, b, ids: x.sum(),
    "sum of rows": lambda x, b, ids: x.sum(1),
    "softmax": lambda x, b, ids: x.softmax(-1),
    "x.T": lambda x, b, ids: x.T,
    "x[0]": lambda x, b, ids: x[0],
    "x[1:3, ::2]": lambda x, b, ids: x[1:3, ::2],
    "reshape(-1)": lambda x, b, ids: x.reshape(-1),
    "x[ids]": lambda x, b, ids: x[ids],
}


def cell(x: Any, h: Any, c: Any, wx: Any, wh: Any, b: Any) -> tuple[Any, Any]:
    """One step of an LSTM, as it is written by hand."""
    n = h.shape[1]
    z = x @ wx + h @ wh + b
    i, f, o = z[:, :n].sigmoid(), z[:, n : 2 * n].sigmoid(), z[:, 3 * n :].sigmoid()
    c = f * c + i * z[:, 2 * n : 3 * n].tanh()
    return o * c.tanh(), c


def cases(effort: Effort) -> Iterator[Case]:
    x, row, ids = operand(8, 8), operand(8), Tensor([0, 3, 5])
    for name, f in SMALL.items():
        functions = {"tutor": f, "torch": f}
        runs = libraries.runs(functions, x, row, ids)
        yield Case(f"{name} of (8, 8)", runs, target=TARGETS["small"], tolerance=1e-6)
    yield from one_after_another(effort)
    yield from graphs(effort)


def one_after_another(effort: Effort) -> Iterator[Case]:
    """Few elements, with and without a graph."""
    one, two = operand(1), operand(1)
    add = alike(lambda x, y: x + y)
    yield Case("add of 1 element", libraries.runs(add, one, two), target=TARGETS["add 1"])
    runs = {name: _adding(name, one, two) for name in ("tutor", "torch") if modules[name]}
    yield Case("add of 1 element, with grad", runs, target=TARGETS["add 1 grad"])
    small = [operand(4, 4) for _ in range(3)]
    runs = {name: chain(name, small) for name in ("tutor", "torch") if modules[name]}
    yield Case("10 operations forward + backward", runs, target=TARGETS["ten ops"], tolerance=1e-4)


def graphs(effort: Effort) -> Iterator[Case]:
    """What a graph costs to build and to walk: an LSTM of 100 steps, and a long chain of adds."""
    steps, hidden, batch = effort.pick(100, 20, 2), 64, 16
    weights = [operand(hidden, 4 * hidden), operand(hidden, 4 * hidden), operand(4 * hidden)]
    inputs = [operand(batch, hidden) for _ in range(steps)]
    runs = {n: _unrolled(n, weights, inputs) for n in ("tutor", "torch") if modules[n]}
    yield Case(f"LSTM by hand, {steps} steps", runs, target=TARGETS["lstm"], tolerance=1e-3)
    for count in effort.pick((1000, 1_000_000), (1000, 100_000), (10,)):
        runs = {n: _recorded(n, count) for n in ("tutor", "torch") if modules[n]}
        built = {name: Samples(run() for _ in range(3)) for name, run in runs.items()}
        yield Case(f"an add in a graph of {count}", count=functools.partial(dict, built),
                   unit="us", target=TARGETS["node"])  # fmt: skip
    count = effort.pick(1_000_000, 100_000, 10_000)  # of fewer, pages say too little
    kept = process.turns(1, process.TRAINING, "graph", str(count))
    yield Case(f"memory of an add in a graph of {count}", unit="bytes",
               count=lambda: process.samples(kept, "printed"),
               target=TARGETS["node bytes"])  # fmt: skip


def _unrolled(name: str, weights: list[Tensor], inputs: list[Tensor]) -> Run:
    leaves = [_leaf(name, w) for w in weights]
    xs = [libraries.views(x)[name] for x in inputs]

    def run() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        h = c = xs[0] * 0.0
        for x in xs:
            h, c = cell(x, h, c, *leaves)
        h.sum().backward()
        return [leaf.grad for leaf in leaves]

    return run


def _recorded(name: str, count: int) -> Callable[[], float]:
    """Microseconds for each of `count` adds."""
    y0, one = _leaf(name, operand(1)), libraries.views(operand(1))[name]

    def run() -> float:
        start = time.process_time()
        y = y0
        for _ in range(count):
            y = y + one
        return (time.process_time() - start) / count * 1e6

    return run


def _leaf(name: str, x: Tensor) -> Any:
    """A leaf of its own for each library: they must not write their gradients into one place."""
    if name == "tutor":
        return x.copy().detach().requires_grad_()
    return modules["torch"].from_dlpack(x).clone().requires_grad_()


def _adding(name: str, x: Tensor, y: Tensor) -> Run:
    a, b = _leaf(name, x), _leaf(name, y)
    return lambda: a + b


def chain(name: str, operands: list[Tensor]) -> Run:
    leaves = [_leaf(name, x) for x in operands]

    def run() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        result = ten_operations(*leaves)
        result.backward()
        return [leaf.grad for leaf in leaves]

    return run
