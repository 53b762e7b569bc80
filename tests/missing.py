"""What of the suite can run with the packages that are installed.

tutor itself needs none, and can be installed without its extension; its tests compare with NumPy
and draw cases with hypothesis. Where such a package is missing, the files that begin by importing
it are left out, by this one rule, and the head of the report says so.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

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
