"""Every float there is: each kernel of one float32 on all 4,294,967,296 inputs, at every level.

    python tests/exhaustive/exhaustive.py exp log     (make exhaustive ARGS="exp log")
    python tests/exhaustive/exhaustive.py --every 4099

So is each kernel of one float16 or bfloat16 on all 65,536, and each of two on all pairs of them.
expected.cpp says what should come out, and why that is known; here the kernels are called.

A row of results is one kernel for one dtype: for each level the worst input and its error. It goes
to docs/exhaustive.jsonl as soon as it is measured, and only if the bound of signatures.py holds;
docs/exhaustive.md is made of all of them. A row is measured again only if the kernel is no longer
the one that was measured (its results on a sample, see `Sample`, are not what they were), or if not
all inputs were tried; so a run that was interrupted goes on where it was.

Nine tenths of the time is the scalar level's, which is built quickly rather than for speed (-O1,
and fma in software). With `-O3 -march=x86-64-v3` instead (SCALAR in CMakeLists.txt) it takes a
sixth of that and gives the same bits: nothing is contracted, and fma rounds once either way. So
softplus, silu and mish were measured; then their samples were compared with those of the usual
build.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import functools
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from exhaustive_rows import PAGE, ROOT, Result, Row, Rows, Task, holds, load, page, save, tasks
from exhaustive_sample import sample

from tutor.backends import simd_cpp
from tutor.backends.registry import Operand
from tutor.backends.signatures import FLOATS
from tutor.core.buffer import Buffer
from tutor.dtype import BY_NAME, float64

BLOCK = 2**17  # inputs at a time: their operands stay in the L2 cache
SPAN = 2**25  # inputs of one thread at a time


class Found(ctypes.Structure):
    """What one level has made of some inputs; see expected.cpp."""

    _fields_ = (
        ("wrong", ctypes.c_int64),
        ("undecided", ctypes.c_int64),
        ("ulps", ctypes.c_int64),
        ("error", ctypes.c_double),
        ("at", ctypes.c_uint32),
    )
    wrong: int
    undecided: int
    ulps: int
    error: float
    at: int

    def add(self, other: Found) -> None:
        self.wrong += other.wrong
        self.undecided += other.undecided
        self.ulps = -1 if -1 in (self.ulps, other.ulps) else max(self.ulps, other.ulps)
        if other.error > self.error:
            self.error, self.at = other.error, other.at


class Hardest(ctypes.Structure):
    """The input of each 512th of them whose exact value is closest to the middle of two numbers."""

    _fields_ = (("distance", ctypes.c_double * 512), ("at", ctypes.c_uint32 * 512))
    distance: Any
    at: Any

    def __init__(self) -> None:
        super().__init__()
        self.distance[:] = [1.0] * 512

    def add(self, other: Hardest) -> None:
        for part in range(512):
            if other.distance[part] < self.distance[part]:
                self.distance[part], self.at[part] = other.distance[part], other.at[part]

    def inputs(self) -> list[int]:
        """Those that are hard indeed: a double's error of a thousand units could matter."""
        return [int(at) for at, d in zip(self.at, self.distance, strict=True) if d < 2.0**-16]


# ---- the C++ half --------------------------------------------------------------------------------


def compiler() -> str | None:
    """The C++ compiler of this machine, if it has one."""
    return shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")


@functools.cache
def library() -> Any:
    """expected.cpp, compiled when it has changed."""
    source = Path(__file__).with_name("expected.cpp")
    texts = source.read_bytes() + source.with_name("dtypes.hpp").read_bytes()
    name = hashlib.sha256(texts).hexdigest()[:16]
    path = ROOT / "build" / "exhaustive" / f"{name}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = f"{folder}/expected.so"
            flags = "-std=c++17 -O2 -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno"
            command = [str(compiler()), *flags.split(), "-shared", "-fPIC", str(source), "-o", made]
            subprocess.run(command, check=True)
            os.replace(made, path)
    lib = ctypes.CDLL(str(path))
    text, size, number, at = ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_void_p
    lib.count.argtypes, lib.count.restype = [number, number, size, at], None
    lib.inputs.argtypes, lib.inputs.restype = [ctypes.c_int, size, at, at, at], None
    lib.expect.argtypes = [text, text, text, size, at, at, at, at]
    lib.expect.restype = ctypes.c_bool
    lib.compare.argtypes, lib.compare.restype = [text, size, at, at, at, at, at], None
    lib.harder.argtypes, lib.harder.restype = [text, size, at, at, at], None
    lib.digest.argtypes, lib.digest.restype = [text, size, at], number
    return lib


class Block:
    """The operands for some inputs of a task, and what should come out."""

    def __init__(self, task: Task, room: int) -> None:
        self.task, self.count = task, 0
        self.index = Buffer.empty(room, BY_NAME["uint32"])
        self.ins = [Buffer.empty(room, task.dtype) for _ in range(task.operands)]
        self.exact = Buffer.empty(room, float64)
        self.expected = Buffer.empty(room, BY_NAME["uint64"])
        self.out = Buffer.empty(room, task.to)

    def take(self, first: int, step: int, count: int) -> None:
        """The inputs first, first + step, ..."""
        self.count = count
        library().count(first, step, count, self.index.address)
        self._expect()

    def take_these(self, index: array[int]) -> None:
        """The inputs of these numbers."""
        self.count = len(index)
        self.index.raw[: 4 * len(index)] = memoryview(index).cast("B")
        self._expect()

    def _expect(self) -> None:
        t, (x, y) = self.task, ([buf.address for buf in self.ins] + [None])[:2]
        library().inputs(t.dtype.itemsize, self.count, self.index.address, x, y)
        names = t.kernel.encode(), t.dtype.name.encode(), t.to.name.encode()
        where = x, y, self.exact.address, self.expected.address
        if not library().expect(*names, self.count, *where):
            raise NotImplementedError(f"{t}: add its definition to tests/exhaustive/expected.cpp")

    def run(self, kernel: Any) -> None:
        """Let the kernel fill `out`."""
        shape = (self.count,)
        kernel(*(Operand(buf, shape, (1,), 0) for buf in (self.out, *self.ins)))

    def compare(self, found: Found) -> None:
        """Add how far `out` is from what it should be."""
        where = self.index.address, self.exact.address, self.expected.address, self.out.address
        name = self.task.to.name.encode()
        library().compare(name, self.count, *where, ctypes.addressof(found))

    def harder(self, hardest: Hardest) -> None:
        """Look for harder inputs among these."""
        where = self.index.address, self.exact.address, ctypes.addressof(hardest)
        library().harder(self.task.to.name.encode(), self.count, *where)

    def digest(self) -> str:
        """A number that changes if one of the results in `out` does."""
        return f"{library().digest(self.task.to.name.encode(), self.count, self.out.address):016x}"


# ---- a sample ------------------------------------------------------------------------------------


class Sample:
    """What every level makes of the sample of a task, and of its hardest inputs."""

    def __init__(self, task: Task, hard: Iterable[int]) -> None:
        index = sample(task.dtype.itemsize, task.operands) + array("I", hard)
        block = Block(task, len(index))
        block.take_these(index)
        self.found, self.digest, self.count = {}, {}, len(index)
        for level in simd_cpp.levels():
            self.found[level] = Found()
            block.run(kernel(level, task))
            block.compare(self.found[level])
            self.digest[level] = block.digest()


@functools.cache
def _table(level: str) -> Any:
    return simd_cpp.table(level)


def kernel(level: str, task: Task) -> Any:
    return _table(level)[task.kernel, task.dtype]


# ---- all of them ---------------------------------------------------------------------------------


def spans(task: Task, every: int) -> Iterator[tuple[int, int]]:
    """(first input, how many) for one thread at a time."""
    total = -(-task.inputs // every)
    for start in range(0, total, SPAN):
        yield start * every, min(SPAN, total - start)


def measure_span(
    task: Task, first: int, count: int, every: int
) -> tuple[dict[str, Found], Hardest]:
    """What every level makes of every `every`th input from `first` on, `count` of them."""
    block, hardest = Block(task, min(BLOCK, count)), Hardest()
    found = {level: Found() for level in simd_cpp.levels()}
    for start in range(0, count, BLOCK):
        block.take(first + start * every, every, min(BLOCK, count - start))
        if task.may_err:
            block.harder(hardest)
        for level in found:
            block.run(kernel(level, task))
            block.compare(found[level])
    return found, hardest


def measure(task: Task, every: int, jobs: int) -> Row:
    """The row of one task."""
    total, hardest = {level: Found() for level in simd_cpp.levels()}, Hardest()
    work = list(spans(task, every))
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        parts = [pool.submit(measure_span, task, *span, every) for span in work]
        for done, part in enumerate(parts, 1):
            found, hard = part.result()
            hardest.add(hard)
            for level in total:
                total[level].add(found[level])
            show(f"{task}: {done} of {len(work)} parts")
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody waits for the rest
    digest = Sample(task, hardest.inputs()).digest
    levels = {
        level: {
            "inputs": sum(count for _, count in work),
            "ulps": None if found.ulps < 0 else found.ulps,  # None: unlike
            "error": None if math.isinf(found.error) else round(found.error, 6),
            "at": f"{found.at:0{2 * task.dtype.itemsize * task.operands}x}",
            "wrong": found.wrong,
            "undecided": found.undecided,
            "sample": digest[level],
        }
        for level, found in total.items()
    }
    return Row(hardest.inputs(), levels)


def is_measured(task: Task, rows: Rows, every: int) -> bool:
    """Whether the row is there, of as many inputs, and of the kernels that there are now."""
    row, wanted = rows.get(str(task), Row([], {})), -(-task.inputs // every)
    names = simd_cpp.levels()
    if any(row.levels.get(name, {"inputs": 0})["inputs"] < wanted for name in names):
        return False
    digest = Sample(task, row.hard).digest
    return all(row.levels[name]["sample"] == digest[name] for name in names)


# ---- the command ---------------------------------------------------------------------------------


def show(line: str) -> None:
    """Overwrites the last line of a terminal."""
    if sys.stdout.isatty():
        print(f"\r{line:<78}", end="\r", flush=True)


def line(task: Task, levels: dict[str, Result], seconds: float) -> str:
    found = "; ".join(
        (f"{level} {r['ulps']} ulp ({r['error']})" if r["error"] is not None else f"{level} unlike")
        + f" at {r['at']}, {r['wrong']} not nearest{'' if holds(task, r) else ' TOO FAR'}"
        for level, r in levels.items()
    )
    return f"{task}: {found}; {seconds:.0f} s"


def run(wanted: Iterable[Task], every: int, jobs: int, again: bool) -> int:
    simd_cpp.set_num_threads(1)  # each thread here has inputs of its own
    failed = 0
    for task in wanted:
        if not again and is_measured(task, load(), every):
            continue
        begun = time.monotonic()
        row = measure(task, every, jobs)
        print(line(task, row.levels, time.monotonic() - begun), flush=True)
        if not all(holds(task, result) for result in row.levels.values()):
            failed += 1
            continue
        rows = load()
        old = rows.get(str(task), row)
        others = old.levels if old.hard == row.hard else {}  # levels of other machines
        rows[str(task)] = Row(row.hard, others | row.levels)
        save(rows)
        PAGE.write_text(page(rows), encoding="utf-8")
    print(f"all else is measured; see {PAGE}")
    return failed


def main() -> int:
    p = argparse.ArgumentParser(description="Measure kernels on every float there is.")
    p.add_argument("kernel", nargs="*", help="these kernels (default: all)")
    p.add_argument("--dtype", action="append", choices=[d.name for d in FLOATS], help="inputs")
    p.add_argument("--operands", type=int, choices=(1, 2), help="kernels of one, or of two")
    p.add_argument("--every", type=int, default=1, help="only each N-th input (default 1)")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="threads (default: all CPUs)")
    p.add_argument("--again", action="store_true", help="also what has been measured")
    args = p.parse_args()
    if compiler() is None:
        p.error("no C++ compiler was found, and what should come out is computed in C++")
    unknown = set(args.kernel) - {task.kernel for task in tasks()}
    if unknown:
        p.error(f"no elementwise kernel of floats: {', '.join(sorted(unknown))}")
    wanted = [
        task
        for task in tasks()
        if (not args.kernel or task.kernel in args.kernel)
        and (not args.dtype or task.dtype.name in args.dtype)
        and args.operands in (None, task.operands)
    ]
    return 1 if run(wanted, args.every, args.jobs, args.again) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped: what was measured so far is kept")
