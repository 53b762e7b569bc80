"""What a whole process costs: importing, one epoch from start to end, memory, page faults.

Each measurement is a process of its own that loads one library only, so the libraries take turns as
processes here. Their time is the wall's; their memory is the largest that they ever had resident.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import libraries, trainers
from benchmarks.case import Case
from benchmarks.measure import Effort, Samples
from benchmarks.targets import TARGETS

ROOT = Path(__file__).parents[2]
HERE = [name for name in libraries.NAMES if libraries.modules[name] is not None]
TRAINING = [name for name in HERE if name != "numpy"]  # it has no layers, and nothing to compare


class Done(NamedTuple):
    printed: float
    seconds: float
    mebibytes: float


def child(*arguments: str) -> Done:
    """Run benchmarks/child.py and wait for it. What it wrote to stderr is seen if it fails."""
    command = [sys.executable, "-m", "benchmarks.child", *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seconds = time.perf_counter() - start
    printed, mebibytes = map(float, done.stdout.split())
    return Done(printed, seconds, mebibytes)


def turns(rounds: int, libraries_: list[str], *arguments: str) -> dict[str, list[Done]]:
    """Processes in turns, after one of each that does not count: it reads the files from disk."""
    what, *rest = arguments
    found: dict[str, list[Done]] = {name: [] for name in libraries_}
    for _ in range(rounds + (rounds > 1)):
        for name in libraries_:
            found[name].append(child(what, name, *rest))
    return {name: done[rounds > 1 :] for name, done in found.items()}


def samples(found: dict[str, list[Done]], field: str) -> dict[str, Samples]:
    return {name: Samples(getattr(d, field) for d in done) for name, done in found.items()}


def cases(effort: Effort) -> Iterator[Case]:
    rounds = effort.pick(5, 2, 1)
    threads, steps = str(effort.threads), str(effort.pick(200, 100, 2))
    imported = turns(rounds, effort.pick(HERE, HERE, ["tutor"]), "import")
    yield Case("import", count=lambda: samples(imported, "printed"), target=TARGETS["import"])
    count = effort.pick(60_000, 12_800, 256)
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in zip(("images", "labels"), trainers.images(count), strict=True):
            Path(folder, name).write_bytes(numbers.buf.raw)
        found = turns(effort.pick(3, 2, 1), TRAINING, "epoch", folder, threads)
    yield Case(f"process for an epoch of {count}", count=lambda: samples(found, "seconds"),
               target=TARGETS["process"])  # fmt: skip
    data = count * (784 * 4 + 8) / 2**20  # what any program needs to hold them
    above = {name: Samples(d.mebibytes - data for d in done) for name, done in found.items()}
    yield Case("its peak memory above the images", count=lambda: above, unit="MiB",
               target=TARGETS["memory"])  # fmt: skip
    trained = effort.pick(TRAINING, TRAINING, ["tutor"])
    faults = turns(effort.pick(3, 1, 1), trained, "faults", threads, steps)
    yield Case("page faults of a step, batch 128", count=lambda: samples(faults, "printed"),
               unit="faults")  # fmt: skip
