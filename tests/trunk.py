"""The trunk: what a training step passes through, and what everything else stands on.

These are the four boxes, the ops, what hangs on a Tensor, the registry, the Step, the table of
kernels with its shape rules, and python_ref. tests/test_imports.py holds the fence around it, and
counts its lines.
"""

from __future__ import annotations

from pathlib import Path

import tutor

PACKAGE = Path(tutor.__file__).parent

ROOMS = ("_storage", "_util", "core", "methods", "ops", "backends.python_ref")
MODULES = (
    "dtype",
    "errors",
    "random",
    "backends",
    "backends.registry",
    "backends.shape_rules",
    "backends.signatures",
    "backends.step",
    "backends.windows",
)
# Modules in these rooms that a training step can do without.
OUTSIDE = (
    "core.engine.casting",
    "_util.files",
    "_util.former_names",
    "_util.interpreter",
    "_util.system",
    "methods.arrays",
    "methods.dlpack",
    "ops.native",
)


def module_of(path: Path) -> str:
    """`core.engine` of tutor/core/engine/__init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_trunk(module: str) -> bool:
    """Is `module`, named from inside of tutor, part of the trunk?"""
    if module in OUTSIDE:
        return False
    return module in MODULES or any(f"{module}.".startswith(f"{room}.") for room in ROOMS)


def files() -> list[Path]:
    """The files of the trunk."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if is_trunk(module_of(path))]


def lines(paths: list[Path]) -> int:
    """All their lines, comments and empty ones included."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
