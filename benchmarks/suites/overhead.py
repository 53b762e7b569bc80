"""What an operation costs when there is nothing to compute: the way from Python to the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import libraries
from benchmarks.case import Case
from benchmarks.libraries import Run, alike, modules, operand
from benchmarks.measure import Effort
from benchmarks.targets import TARGETS
from tutor import Tensor


def ten_operations(x: Any, w: Any, b: Any) -> Any:
    """Ten, counted: * + tanh * - sigmoid * + relu sum."""
    h = ((x * w + b).tanh() * w - b).sigmoid()
    return (h * h + x).relu().sum()


def cases(effort: Effort) -> Iterator[Case]:
    one, two = operand(1), operand(1)
    add = alike(lambda x, y: x + y)
    yield Case("add of 1 element", libraries.runs(add, one, two), target=TARGETS["add 1"])
    runs = {name: _adding(name, one, two) for name in ("tutor", "torch") if modules[name]}
    yield Case("add of 1 element, with grad", runs, target=TARGETS["add 1 grad"])
    small = [operand(4, 4) for _ in range(3)]
    runs = {name: _chain(name, small) for name in ("tutor", "torch") if modules[name]}
    yield Case("10 operations forward + backward", runs, target=TARGETS["ten ops"], tolerance=1e-4)


def _leaf(name: str, x: Tensor) -> Any:
    """A leaf of its own for each library: they must not write their gradients into one place."""
    if name == "tutor":
        return x.copy().detach().requires_grad_()
    return modules["torch"].from_dlpack(x).clone().requires_grad_()


def _adding(name: str, x: Tensor, y: Tensor) -> Run:
    a, b = _leaf(name, x), _leaf(name, y)
    return lambda: a + b


def _chain(name: str, operands: list[Tensor]) -> Run:
    leaves = [_leaf(name, x) for x in operands]

    def run() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        result = ten_operations(*leaves)
        result.backward()
        return [leaf.grad for leaf in leaves]

    return run
