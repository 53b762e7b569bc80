"""What of the suite can run with the packages that are installed.

tutor itself needs none, and can be installed without its extension; its tests compare with NumPy
and draw cases with hypothesis. Where such a package is missing, the files that begin by importing
it are left out, by this one rule, and the report says so, first and last.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
FOLDERS = (ROOT, ROOT / "docs", ROOT / "docs" / "_ext")
# By the name by which they import each other: a package's is that of its folder.
OURS = {
    path.parent.name if path.name == "__init__.py" else path.stem: path
    for path in (*HERE.rglob("*.py"), *(path for folder in FOLDERS for path in folder.glob("*.py")))
}


@cache
def lacks(path: Path) -> frozenset[str]:
    """The packages that are not installed, and without which this file cannot be imported."""
    OURS_BEING_READ.add(path)
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif asks := skips(node):
            names = [asks]
        for name in (name.split(".")[0] for name in names):
            ours = OURS.get(name)
            if ours is not None:
                found |= set() if ours in OURS_BEING_READ else lacks(ours)
            elif name not in sys.stdlib_module_names and importlib.util.find_spec(name) is None:
                found.add(name)
    OURS_BEING_READ.discard(path)
    return frozenset(found)


OURS_BEING_READ: set[Path] = set()  # two files that import each other are looked at once


def skips(node: ast.stmt) -> str:
    """The package in a line `np = pytest.importorskip("numpy")`."""
    call = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.importorskip":
        return str(ast.literal_eval(call.args[0]))
    return ""


@cache
def pure() -> bool:
    """Whether the library that is installed was built without its extension, by TUTOR_PURE=1."""
    try:
        wheel = metadata.distribution("tutorgrad").read_text("WHEEL") or ""
    except metadata.PackageNotFoundError:
        return False
    return "Root-Is-Purelib: true" in wheel


COUNTED = pytest.StashKey[Counter[str]]()  # how many each file has, before any are chosen

# ---- what is said of it --------------------------------------------------------------------------

EXTRAS = "bench native onnx wheels opencl mpich cuda"  # of pyproject.toml, beside [dev]
GET = f'make test WITH="{EXTRAS}", or pip install "tutorgrad[dev,{EXTRAS.replace(" ", ",")}]"'

# How many tests there are in the files that need more than [dev]: what is not installed cannot be
# asked. tests/test_suite.py holds these to a tenth, where all is installed.
TOTAL = 65_000
COUNTS = {
    "backends/opencl/test_commands.py": 22,
    "backends/cuda/test_cuda_device.py": 59,
    "backends/cuda/test_cuda_sources.py": 132,
    "backends/opencl/test_opencl.py": 263,
    "interop/test_pytorch.py": 52,
    "nn/test_grids.py": 80,
    "nn/test_utils_rnn.py": 76,
    "onnx/test_reading_from_pytorch.py": 6,
    "onnx/test_onnx.py": 150,
    "optim/test_optim_against_torch.py": 551,
    "optim/test_group.py": 215,
    "optim/test_lbfgs.py": 40,
    "optim/test_schedules.py": 86,
    "oracle/test_oracle.py": 7746,
    "oracle/test_oracle_layers.py": 722,
    "oracle/test_oracle_names.py": 560,
    "ported/test_ported.py": 12,
    "test_gpt2.py": 14,
}


def told(nothing_missing: bool = False) -> list[str]:
    """What is left out for want of packages, and how to get them: one line, or none."""
    files = sorted(HERE.rglob("test_*.py"))
    lacking = {path: lacks(path) for path in files if lacks(path)}
    if nothing_missing or not lacking:
        return []
    count = sum(COUNTS.get(path.relative_to(HERE).as_posix(), 0) for path in lacking)
    packages = ", ".join(sorted(frozenset().union(*lacking.values())))
    some = f", about {round(count, -2):,} of {TOTAL:,} tests," if count >= 50 else ""
    return [
        f"{len(lacking)} of {len(files)} files{some} are left out, for want of {packages}: {GET}"
    ]


# Reasons for a skip that --nothing-missing lets pass: what cannot be had where `.ci/run` runs.
CANNOT_BE_HAD = {
    "root may write anywhere": "a refused permission, where root runs the tests",
    "nothing is read-only to root": "the same",
    "needs Open MPI's mpiexec": "a second MPI beside MPICH, told by TUTOR_MPIEXEC",
    "needs root, unshare": "two hosts, which root alone can make of one, with Open MPI",
    "this machine lets nobody make a host": "the same, where a container forbids it",
    "TUTOR_SITE names no built site": "Chromium: `make site-test` is a command of its own",
    "the page was measured on another CPU": "the level of docs/conformance.md, on an older CPU",
    "Python classes export the buffer protocol": "Python 3.12, where 3.11 runs the checks",
    "not all were run": "the sum over tests that several processes share",
    "the page was not followed": "what a failed test before it, which is told, has not made",
    "the real MNIST": "MNIST, which does not lie beside every checkout",
}


def excused(reason: str) -> bool:
    """Is that among what cannot be had?"""
    return any(known in reason for known in CANNOT_BE_HAD)
