"""The command `python -m tutor lab NAME`: a C file, compiled here in several ways, and their costs.

Counts are the same on each run. Times are shown as ratios: all candidates take turns in one
process, the best of TRIES counts, and a probe runs before and after. If its two times differ by
more than 15 %, there are no ratios: the machine is busy. Where there is no C compiler, the table is
printed that was measured once, with the processor it comes from.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from course import labs
from tutor.errors import DataError

FOLDER = Path(labs.__file__).parent
MEASURED = FOLDER / "measured.json"
TRIES = 15  # rounds of all candidates
ATTEMPTS = 3  # how often it is tried while the machine is busy
BUSY = "no verdict, the machine is busy"


class Build:
    """Compiles one C file, as often and with the flags that a lab asks for."""

    def __init__(self, compiler: list[str], source: Path, folder: str) -> None:
        self.compiler, self.source, self.folder, self.count = compiler, source, folder, 0

    def __call__(self, *flags: str) -> tuple[ctypes.CDLL, int]:
        """The library, and the bytes of its object file.

        Linking has no flags: GCC's -Ofast would link what changes the whole process's arithmetic.
        """
        self.count += 1
        base = Path(self.folder, f"{self.source.stem}{self.count}")
        code, library = str(base.with_suffix(".o")), str(base.with_suffix(".so"))
        self._run([*flags, "-w", "-fPIC", "-c", str(self.source), "-o", code])
        self._run(["-shared", code, "-o", library])
        return ctypes.CDLL(library), os.path.getsize(code)

    def _run(self, words: list[str]) -> None:
        command = [*self.compiler, *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = f"the compiler has ended with {done.returncode}: {done.stderr.strip()[-300:]}"
        except OSError as error:
            done, found = None, str(error)
        if done is None or done.returncode:
            remedy = "name another compiler: CC=gcc python -m tutor lab ..."
            raise DataError(shlex.join(command), found, remedy)


class Row(NamedTuple):
    """A candidate: what is exact about it, and its time as a ratio, or None."""

    name: str
    exact: str
    ratio: float | None


class Table(NamedTuple):
    """Candidates that are compared. The ratio is to the row `base`."""

    title: str
    base: str
    faster: bool  # the ratio says how many times as fast; otherwise, as long
    rows: list[Row]

    def __str__(self) -> str:
        names = max(len(row.name) for row in self.rows)
        exact = max(len(row.exact) for row in self.rows)
        lines = [f"{self.title} (times as {'fast' if self.faster else 'long'} as: {self.base})"]
        for row in self.rows:
            ratio = "" if row.ratio is None else f"{row.ratio:8.2f}"
            lines.append(f"  {row.name:<{names}}  {row.exact:<{exact}}  {ratio}".rstrip())
        return "\n".join(lines)


class Group(NamedTuple):
    """Before it is timed: of each candidate its name, what is exact about it, and its work."""

    title: str
    base: str
    faster: bool
    cases: list[tuple[str, str, Callable[[], object]]]


# ---- times ---------------------------------------------------------------------------------------


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def probe() -> float:
    """The time of what is always the same."""
    return min(seconds(lambda: sum(range(50_000))) for _ in range(5))


def fairly(works: Sequence[Callable[[], object]]) -> list[float] | None:
    """The best time of each; None if the machine is busy."""
    for _ in range(ATTEMPTS):
        before, best = probe(), [math.inf] * len(works)
        for _ in range(TRIES):
            best = [min(known, seconds(work)) for known, work in zip(best, works, strict=True)]
        after = probe()
        if max(before, after) <= 1.15 * min(before, after):
            return best
    return None


def timed(groups: list[Group]) -> list[Table]:
    """The tables; without ratios if the machine is busy."""
    best = fairly([work for group in groups for _, _, work in group.cases])
    times = iter(best or ())
    tables = []
    for title, base, faster, cases in groups:
        took = {name: next(times, None) for name, _, _ in cases}
        rows = [
            Row(name, exact, _ratio(took[name], took[base], faster)) for name, exact, _ in cases
        ]
        tables.append(Table(title, base, faster, rows))
    return tables


def _ratio(took: float | None, base: float | None, faster: bool) -> float | None:
    if took is None or base is None:
        return None
    return base / took if faster else took / base


# ---- the labs ------------------------------------------------------------------------------------

N = 4096  # numbers, 16 KiB: they stay in the first level of the cache
BYTES = 65_536  # more branches than a processor can learn by heart
PROMISES = ("nan != nan", "infinity", "order of sums", "signed zeros", "division rounded once")
GIVEN = (math.nan, math.inf, 1e20, 1.0, -0.0, 3.0)


def flags(build: Build) -> list[Group]:
    """The same sum from -O0 to -Ofast, and what IEEE 754 promises and then does not hold."""
    numbers, given = (ctypes.c_float * N)(*[1.0] * N), (ctypes.c_float * 6)(*GIVEN)
    cases = []
    for flag, function in (
        *((flag, "sum") for flag in ("-O0", "-O1", "-O2", "-O3", "-Ofast")),
        ("-O3", "sum_many"),
    ):
        library, _ = build(flag)
        kept = library.promises(given)
        broken = [name for bit, name in enumerate(PROMISES) if not kept >> bit & 1]
        work = _calls(getattr(library, function), numbers, ctypes.c_long(N), 20)
        name = flag if function == "sum" else f"{flag}, 32 sums"
        cases.append((name, "broken: " + ", ".join(broken) if broken else "IEEE 754 holds", work))
    return [Group("the sum of 4,096 floats", "-O3", True, cases)]


def unroll(build: Build) -> list[Group]:
    """1 to 256 copies of a loop's body: fewer branches, and then too much code for its cache."""
    x, y = (ctypes.c_int * N)(), (ctypes.c_int * N)()
    short, long, alone = [], [], 0
    for copies in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        library, size = build("-O1", f"-DK={copies}")
        alone = alone or size
        each = (size - alone) / (copies - 1) if copies > 1 else 0
        work = _calls(library.shorter, x, y, ctypes.c_long(N))
        short.append((str(copies), f"{1 / copies:.4f} branches a number", work))
        code = f"{each * copies / 1024:5.1f} KiB of code" if copies > 1 else ""
        long.append((str(copies), code, _calls(library.longer, ctypes.c_long(N))))
    return [
        Group("a short body: y = x + 1", "1", True, short),
        Group("a long body: 48 instructions", "1", True, long),
    ]


def denormals(build: Build) -> list[Group]:
    """A product of ordinary numbers, and of numbers so small that the processor takes a detour."""
    library, _ = build("-O2")
    y = (ctypes.c_float * N)()
    plain = (ctypes.c_float * N)(*[1.5] * N)
    small = (ctypes.c_float * N)(*[1e-39] * N)
    tiny = (ctypes.c_float * N)(*[1.5e-38] * N)
    half, count = ctypes.c_float(0.5), ctypes.c_long(N)

    def product(x: Any, flush: int = 0) -> Callable[[], object]:
        return _calls(library.multiply, x, y, count, half, 4, flush)

    products = [
        ("1.5 * 0.5", "operand and result are normal", product(plain)),
        ("1.5e-38 * 0.5", "the result is denormal", product(tiny)),
        ("1e-39 * 0.5", "operand and result are denormal", product(small)),
    ]
    if library.multiply(small, y, count, half, 1, 1):
        products.append(("1e-39 * 0.5, flushed", f"gives {y[0]:g}", product(small, 1)))
    sums = [
        (f"{name} + 0.5e-38", "", _calls(library.add, x, y, count, ctypes.c_float(0.5e-38), 4))
        for name, x in (("1.5", plain), ("1e-39", small))
    ]
    return [
        Group("4,096 products", "1.5 * 0.5", False, products),
        Group("4,096 sums", sums[0][0], False, sums),
    ]


def branches(build: Build) -> list[Group]:
    """The same sum over the same numbers, sorted and not: what a wrong guess costs."""
    library, _ = build("-O2", "-fno-tree-vectorize")
    numbers = drawn(BYTES)
    cases = []
    for name, values in (("sorted", sorted(numbers)), ("in any order", numbers)):
        x = (ctypes.c_ubyte * BYTES)(*values)
        wrong = f"{guessed_wrong([value >= 128 for value in values]):6,} wrong guesses"
        works = (library.with_branch, library.without_branch)
        with_it, without = (_calls(work, x, ctypes.c_long(BYTES)) for work in works)
        cases += [(f"{name}, a branch", wrong, with_it), (f"{name}, a mask", "no guess", without)]
    title = "the sum of those of 65,536 bytes that are 128 or more"
    return [Group(title, "sorted, a branch", False, cases)]


LABS = {lab.__name__: lab for lab in (flags, unroll, denormals, branches)}


def _calls(function: Any, *arguments: object) -> Callable[[], object]:
    return lambda: function(*arguments)


def drawn(count: int) -> list[int]:
    """Bytes in no order that any predictor could learn; the same each time."""
    state, found = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(state >> 56)
    return found


def guessed_wrong(taken: Sequence[bool]) -> int:
    """How often a two-bit counter guesses wrong: it changes its mind after two mistakes."""
    state, wrong = 0, 0
    for way in taken:
        wrong += (state >= 2) != way
        state = min(3, state + 1) if way else max(0, state - 1)
    return wrong


# ---- the command ---------------------------------------------------------------------------------


def compiler() -> list[str]:
    """The C compiler of this machine, as words; empty if there is none."""
    named = os.environ.get("CC")
    if named:
        return shlex.split(named)
    found = which("cc") or which("gcc") or which("clang")
    return [found] if found else []


def lab_command(args: argparse.Namespace) -> int:
    """Compile a lab's C file here, and show what each way of it costs, as `lab flags`."""
    if not args.name:
        for name, lab in LABS.items():
            print(f"{name:<10} {(lab.__doc__ or '').strip()}")
        return 0
    words = compiler()
    if not words:
        print("there is no C compiler here (none in CC, and no cc)")
        return shown_as_measured(args.name)
    with tempfile.TemporaryDirectory() as folder:
        groups = LABS[args.name](Build(words, FOLDER / f"{args.name}.c", folder))
        tables = timed(groups)
    print(*tables, sep="\n")
    if tables[0].rows[0].ratio is None:
        print(BUSY)
        return shown_as_measured(args.name)
    if args.save:
        about = {"cpu": args.cpu(), "compiler": version(words)}
        known = json.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}
        known[args.name] = about | {"tables": tables}
        MEASURED.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    return 0


def shown_as_measured(name: str) -> int:
    """Print the table that comes with the library."""
    known = json.loads(MEASURED.read_text("utf-8"))[name]
    print(f"measured on {known['cpu']}, compiled by {known['compiler']}:")
    for title, base, faster, rows in known["tables"]:
        print(Table(title, base, faster, [Row(*row) for row in rows]))
    return 0


def version(words: list[str]) -> str:
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], cpu: Callable[[], str]
) -> None:
    """Enter it into the parser of `python -m tutor`, which knows the name of the processor."""
    command = commands.add_parser("lab", help=(lab_command.__doc__ or "").partition("\n")[0])
    command.add_argument("name", nargs="?", choices=LABS, help="(default: list them)")
    said = "write the table into the source tree, for authors (default: only print it)"
    command.add_argument("--save", action="store_true", help=said)
    command.set_defaults(run=lab_command, cpu=cpu)
