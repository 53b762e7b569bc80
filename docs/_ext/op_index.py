"""All ops of the catalogue, as the site lists them: what each computes, its derivative, its kernel
with dtypes and exactness, what it saves, and where it stands. (Its picture: op_figures.py.)

    ```{op-index} elementwise
    ```

lists the ops of tutor/ops/elementwise.py (or of `linalg`), each with the anchor `op-<name>`;
`op-names` all names as links. What is said of an op is taken from the op when the site is built.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from functools import cache
from typing import Any, NamedTuple

import op_figures
from source_lines import ROOT, Place

import tutor.linalg
from tutor import OPS, Tensor
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.signatures import ALL, BITS, FLOATS, INTEGERS, NUMBERS, SIGNATURES

GROUPS = {ALL: "all thirteen", NUMBERS: "all but bool", FLOATS: "the four floats",
          INTEGERS: "the eight integers", BITS: "bool and the integers"}  # fmt: skip


class Kernel(NamedTuple):
    name: str
    dtypes: str
    agrees: str
    measured: str  # "" where nothing was measured


class About(NamedTuple):
    name: str
    says: str  # the docstring
    derivative: str  # one expression, or the lines of `backward`; "" for none
    kernels: tuple[Kernel, ...]  # none: a view
    saves: tuple[str, ...]
    method: str  # of Tensor; "" where there is none of that name
    place: Place


def family(name: str) -> str:
    """The file, and so the section: elementwise, functions, ..., linalg."""
    *_, room, file = OPS[name].__module__.split(".")
    return room if room == "linalg" else file


def families() -> list[str]:
    own = [n for n, op in OPS.items() if op.__module__.startswith("tutor.")]
    return list(dict.fromkeys(map(family, own)))


def members(of: str) -> list[str]:
    return [n for n, op in OPS.items() if op.__module__.startswith("tutor.") and family(n) == of]


def derivative(op: Any) -> str:
    """What `backward` says: the expression it returns, or all its lines."""
    if not op.differentiable:
        return ""
    source = textwrap.dedent(inspect.getsource(op.backward))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return ast.unparse(body[0].value)
    return source.rstrip()


@cache
def measurements() -> dict[str, dict[str, Any]]:
    """What docs/exhaustive.jsonl has of each kernel and dtype."""
    rows = (ROOT / "docs" / "exhaustive.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["task"]: row["levels"] for row in map(json.loads, rows)}


def measured(kernel: str) -> str:
    """How far the worst of all inputs is from the definition."""
    levels = measurements().get(f"{kernel} float32")
    if not levels:
        return ""
    inputs = min(level["inputs"] for level in levels.values())
    worst = max(level["ulps"] for level in levels.values())
    of = "all 4,294,967,296 float32" if inputs == 2**32 else f"{inputs:,} float32"
    return f"of {of}, tried one by one, " + (
        "every one gives the same bits" if not worst else f"the worst is {worst} ulp away"
    )


def kernels(name: str) -> tuple[str, ...]:
    """That which the op names; of one that names none, those that run when it is called."""
    op = OPS[name]
    if op.kernel:
        return (op.kernel,)
    if op.is_view:
        return ()
    seen: list[str] = []
    run = op_figures.CALLS[name]() if name in op_figures.CALLS else op_figures.SAMPLES[name]
    with tutor.watch(lambda step, go: (go(), seen.append(step.kernel))):
        run()
    return tuple(dict.fromkeys(seen))


def kernel(name: str) -> Kernel:
    row = MATRICES.get(name) or SIGNATURES.get(name)
    if row is None:  # between devices: tutor/backends/transfers.py, whatever the backends
        return Kernel(name, "all dtypes", "exact", "")
    dtypes = GROUPS.get(row.dtypes) or ", ".join(d.name for d in row.dtypes)
    return Kernel(name, dtypes, row.agree, measured(name))


def about(name: str) -> About:
    op = OPS[name]
    said = (inspect.getdoc(op) or "").partition("\n\n>>>")[0]  # without its example
    return About(
        name, said, derivative(op), tuple(map(kernel, kernels(name))),
        op.saves, name if hasattr(Tensor, name) else "",
        Place(op.__module__.replace(".", "/") + ".py", op.__name__),
    )  # fmt: skip
