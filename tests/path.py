"""`python tests/path.py`: how much of tutor one training step passes through, line by line.

The readable path: without twins in C++, with the kernels of python_ref. A step of a network as in
chapter 8 (784-128-10: zero_grad, the network, cross_entropy, backward, SGD) is made twice; of the
second one every line of tutor that runs is counted once, and the functions and files they are in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
READABLE = {"TUTOR_NATIVE": "0", "TUTOR_BACKEND": "python_ref"}


class Passed(NamedTuple):
    """What ran: lines, and the functions and files that they are in."""

    lines: int
    functions: int
    files: int


def passed(run: Callable[[], object], package: str) -> Passed:
    """What of the package runs in `run()`."""
    lines: set[tuple[str, int]] = set()
    functions: set[tuple[str, int, str]] = set()

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            return None
        if event == "line":
            lines.add((code.co_filename, frame.f_lineno))
            functions.add((code.co_filename, code.co_firstlineno, code.co_qualname))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return Passed(len(lines), len(functions), len({file for file, _ in lines}))


def measured() -> dict[str, Passed]:
    """A training step, and `a + b` with a gradient wanted."""
    import tutor
    from tutor import Tensor, nn, optim

    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = Tensor.ones(2, 784), Tensor([3, 7])
    a, b = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])

    def step() -> None:
        optimizer.zero_grad()
        model(x).cross_entropy(y).backward()
        optimizer.step()

    package = str(Path(tutor.__file__).parent) + os.sep
    found = {}
    for name, run in {"step": step, "add": lambda: a + b}.items():
        run()
        found[name] = passed(run, package)
    return found


def in_a_process_of_its_own() -> dict[str, Passed]:
    """`measured()`, on the readable path, whatever is chosen here."""
    done = subprocess.run(
        [sys.executable, __file__, "--json"], env={**os.environ, **READABLE}, cwd=ROOT, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return {name: Passed(*row) for name, row in json.loads(done.stdout.splitlines()[-1]).items()}


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(json.dumps(measured()))
    else:
        for name, row in in_a_process_of_its_own().items():
            print(f"{name}: {row.lines} lines in {row.functions} functions of {row.files} files")
