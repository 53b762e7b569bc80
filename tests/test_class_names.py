"""One name, one thing: no two classes of tutor share a name, except for those listed here.

The classes of tutor.torch have PyTorch's names, which are ours as well: they are left out."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import tutor

PACKAGE = Path(tutor.__file__).parent

# An operation has one name everywhere: its Op, its layer, and its kernels on a device.
OP, OTHERS = "ops", ("nn", "backends/opencl")
SHARED = {
    "Conv": "the base of the layers, and the kernels on a device",
    "Draw": "a random number generator: of test cases, and on a device",
    "Fold": "the op, by PyTorch's name; how terms are combined, in C and on a device",
    "Function": "tutor.Function, by PyTorch's name; a function of C",
    "Group": "parameters of an optimizer, and ranks: both public, both PyTorch's words",
    "MaxPool": "the base of the layers, and the kernels on a device",
    "Pool": "the base of the pooling layers, and memory that waits for reuse",
    "Scores": "of a classifier, public; of attention, in C",
}


def classes(files: Iterable[Path]) -> dict[str, list[str]]:
    """The folders in tutor/ that define a class of each name, once for each definition."""
    found = defaultdict(list)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.parent.relative_to(PACKAGE).as_posix())
    return found


def is_one_operation(folders: list[str]) -> bool:
    """Is each of them of another part of the library, and one the Op?"""
    parts = [next((p for p in (OP, *OTHERS) if f"{f}/".startswith(f"{p}/")), f) for f in folders]
    return OP in parts and len(set(parts)) == len(parts) and {*parts} <= {OP, *OTHERS}


def test_no_two_classes_share_a_name() -> None:
    wing = PACKAGE / "torch"
    found = classes(path for path in PACKAGE.rglob("*.py") if wing not in path.parents)
    shared = {name: at for name, at in found.items() if len(at) > 1 and not is_one_operation(at)}
    assert shared.keys() == SHARED.keys(), shared


def test_what_is_one_operation() -> None:
    assert is_one_operation(["ops", "nn", "backends/opencl"])
    assert is_one_operation(["nn/functional", "ops"])
    assert not is_one_operation(["nn", "backends/opencl"])
    assert not is_one_operation(["ops", "ops"])
    assert not is_one_operation(["ops", "programs"])
