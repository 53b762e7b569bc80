"""The rows of results: which there must be, the file that keeps them, the page that shows them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tutor._storage.bits import pack, unpack
from tutor.backends.signatures import FLOATS, TABLE_OF_KERNELS
from tutor.dtype import TABLE, DType, bool_
from tutor.testing.conformance import agreement

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "exhaustive.jsonl"
PAGE = ROOT / "docs" / "exhaustive.md"

Result = dict[str, Any]  # what one level has made of all inputs; see exhaustive.measure


class Row(NamedTuple):
    """What is known of a task: its hardest inputs (see expected.cpp), and each level's result."""

    hard: list[int]
    levels: dict[str, Result]


Rows = dict[str, Row]  # by str(task)


class Task(NamedTuple):
    """One row of results: a kernel, the dtype of its inputs and of its result."""

    kernel: str
    dtype: DType
    to: DType
    operands: int

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return int(2 ** (8 * self.dtype.itemsize * self.operands))

    @property
    def limit(self) -> float:
        """The most units in the last place that signatures.py allows; 0 for equal to the bit."""
        return agreement(self.kernel, self.dtype)[1]

    @property
    def may_err(self) -> bool:
        """Whether it is a function with more inputs than the tests always try, and not exact."""
        return self.limit > 0 and self.inputs > 2**16

    def __str__(self) -> str:
        to = f" -> {self.to.name}" if self.kernel == "cast" else ""
        return f"{self.kernel} {self.dtype.name}{to}"


def defined() -> set[str]:
    """The kernels of which expected.cpp says what should come out."""
    text = Path(__file__).with_name("expected.cpp").read_text(encoding="utf-8")
    return set(re.findall(r'^    \{"(\w+)",(?: |$)', text, re.MULTILINE)) - {d.name for d in TABLE}


def tasks() -> list[Task]:
    """Every defined kernel that has at most 2^32 inputs: of one float, or of two of 16 bits."""
    found = []
    known = defined()
    for row in TABLE_OF_KERNELS:
        if row.name not in known:
            continue
        out, ins = row.types[0], row.types[1:]
        if row.params or row.agree == "sum" or set(ins) != {"T"} or len(ins) > 2:
            continue  # reductions, products, and what has more operands (`where`) or none
        for dtype in row.dtypes:
            if dtype in FLOATS and dtype.itemsize * len(ins) <= 4:
                to = {"*": TABLE, "b": (bool_,), "T": (dtype,)}.get(out, ())
                found += [Task(row.name, dtype, one, len(ins)) for one in to]
    return found


def holds(task: Task, result: dict[str, Any]) -> bool:
    """Whether a level's result is within the bound of signatures.py."""
    return result["ulps"] is not None and result["ulps"] <= task.limit


# ---- the file of results -------------------------------------------------------------------------


def load(path: Path = RESULTS) -> Rows:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {
        row["task"]: Row([int(at, 16) for at in row["hard"].split()], row["levels"]) for row in rows
    }


def save(rows: Rows, path: Path = RESULTS) -> None:
    """All rows in the order of signatures.py, one line each; those of kernels gone are dropped."""
    lines = []
    for name in map(str, tasks()):
        if name in rows:
            hard = " ".join(f"{at:x}" for at in rows[name].hard)
            line = {"task": name, "levels": rows[name].levels, "hard": hard}
            lines.append(json.dumps(line) + "\n")
    part = path.with_suffix(".part")
    part.write_text("".join(lines), encoding="utf-8")
    os.replace(part, path)


# ---- the page ------------------------------------------------------------------------------------

TEXT = """\
<!-- Written by `make exhaustive`; the numbers are those of docs/exhaustive.jsonl. -->

A float32 has 32 bits, so a function of one of them has 4,294,967,296 inputs, and a computer can try
them all. `make exhaustive` does: each elementwise kernel of one float32, float16 or bfloat16, and
each of two 16-bit floats on all pairs, at every instruction-set level, against the definition: what
the C library gives in double, rounded once, which is what `python_ref` computes. Where *inputs*
says *all*, nothing is left to a sample, and the largest error is known together with the input that
has it; where it gives a number, each 257th was tried so far, for all would take hours. (CORE-MATH
and RLIBM test mathematical libraries like this; a float64 has too many inputs.) `make exhaustive
ARGS="exp log"` measures two kernels again, and in every run of the tests a sample of some hundred
thousand inputs for each kernel says whether it still computes what was measured.

*Worst* is the largest distance from the defined result, counted in numbers of the dtype, as
[the kernel table](kernels.md) states its bounds; behind it the error of the worst input in units in
the last place from the exact value (0.5 is what rounding costs anyhow), and *where* that was.
*Others* counts the inputs whose result is another number than the defined one. Where the error is
0.5000 the exact value lies so close to the middle of two numbers that the C library's double does
not tell which of them is nearer. Levels that stand together have the same figures.

"""

NAMES = {
    (4, 1): "One float32",
    (2, 1): "One float of 16 bits",
    (2, 2): "Two floats of 16 bits",
}


def page(rows: Rows) -> str:
    """The whole page."""
    return TEXT + "".join(section(title, *kind, rows) for kind, title in NAMES.items())


def section(title: str, itemsize: int, operands: int, rows: Rows) -> str:
    """The kernels with so many operands of such a size: first those that may err, then the rest."""
    chosen = [
        task
        for task in tasks()
        if (task.dtype.itemsize, task.operands) == (itemsize, operands) and str(task) in rows
    ]
    functions = [line for task in chosen if task.limit for line in lines(task, rows[str(task)])]
    exact = [exactly(name, chosen, rows) for name in dict.fromkeys(t.kernel for t in chosen)]
    return (
        f"### {title}\n\n"
        + table(("kernel", "dtype", "inputs", "levels", "worst", "where", "others"), functions)
        + "Equal to the bit, with infinities, signed zeros, subnormals and the places of nan:\n\n"
        + table(("kernel", "dtypes", "inputs", "levels"), filter(None, exact))
    )


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def lines(task: Task, row: Row) -> Iterator[tuple[str, ...]]:
    """One line for each group of levels with the same figures."""
    groups: dict[str, list[str]] = {}
    for level, result in row.levels.items():
        figures = {key: value for key, value in result.items() if key != "sample"}
        groups.setdefault(str(figures), []).append(level)
    for names in groups.values():
        result = row.levels[names[0]]
        worst = f"{result['ulps']} of {task.limit:g} ulp"
        if result["ulps"]:
            worst += f" ({result['error']:.4f})"
        where = inputs_at(task, result["at"]) if result["ulps"] else ""
        share = result["wrong"] / result["inputs"]
        others = f"{result['wrong']:,} ({share:.2%})" if result["wrong"] else "none"
        yield (
            task.kernel, task.dtype.name, tried(task, result), ", ".join(names), worst, where,
            others,
        )  # fmt: skip


def exactly(kernel: str, chosen: list[Task], rows: Rows) -> tuple[str, ...] | None:
    """The line of a kernel that must be exact; of cast for all the dtypes that it gives."""
    same = [task for task in chosen if task.kernel == kernel]
    if same[0].limit:
        return None
    levels = rows[str(same[0])].levels
    dtypes = ", ".join(dict.fromkeys(task.dtype.name for task in same))
    to = f" to {len({task.to for task in same})} dtypes" if kernel == "cast" else ""
    every = [(task, result) for task in same for result in rows[str(task)].levels.values()]
    fewest = min(every, key=lambda pair: float(pair[1]["inputs"] / pair[0].inputs))
    return kernel, dtypes + to, tried(*fewest), ", ".join(levels)


def tried(task: Task, result: dict[str, Any]) -> str:
    if result["inputs"] == task.inputs:
        return f"all {task.inputs:,}"
    return f"{result['inputs']:,} of {task.inputs:,}"


def inputs_at(task: Task, at: str) -> str:
    """The operands of the input that these hexadecimal digits are: x, or x and y."""
    size = 2 * task.dtype.itemsize
    parts = [at[i : i + size] for i in range(0, len(at), size)]
    return ", ".join(f"{number(part, task.dtype)} (0x{part})" for part in parts)


def number(digits: str, dtype: DType) -> str:
    """The number with these bits, in as few decimal digits as tell it from others."""
    x = unpack(int(digits, 16).to_bytes(dtype.itemsize, sys.byteorder), dtype)[0]
    for precision in range(1, 10):
        if unpack(pack([float(f"{x:.{precision}g}")], dtype), dtype)[0] == x:
            return f"{x:.{precision}g}"
    return repr(x)
