"""Run whole examples and see whether they reach what they say: `make examples`, for minutes.

python tests/reached.py [NAME ...]
"""

from __future__ import annotations

import runpy
import sys
import tempfile
import time
from pathlib import Path

from test_examples import ROOT, TABLE


def main(names: list[str]) -> int:
    missed = []
    for name in names or TABLE:
        wanted, start = TABLE[name], time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            path = ROOT / "examples" / f"{name}.py"
            sys.argv = [str(path), "--out", str(Path(folder, "out"))]
            found = float(runpy.run_path(str(path))["main"]())
        met = wanted.least <= found <= wanted.most
        asked = f"at least {wanted.least:g}" if wanted.most == float("inf") else (
            f"at most {wanted.most:g}")  # fmt: skip
        print(f"== {name}: {found:g}, {asked} was asked: {'met' if met else 'NOT met'};", end=" ")
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
        missed += [] if met else [name]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
