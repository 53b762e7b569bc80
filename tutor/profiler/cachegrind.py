"""Counting in a processor that valgrind imitates, where the real one shows no counters.

    cachegrind(["./walk", "1000"])  # {"instructions": 584_288, "loads": 120_161, ...}

Every instruction is run one by one, so it takes some 50 times as long, and needs no privileges. The
caches are those of CACHES, whatever the machine has: a native program gives the same counts each
time and everywhere. Python does not quite (its start alone is a thousand million instructions, and
differs by a few in a million), so what is to be counted exactly has to be a program of its own.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from tutor._util import checks
from tutor.errors import DataError, DomainError, MissingPackageError

# Bytes, ways and bytes of a line: a first level as of most processors, and a last one of 8 MiB.
CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "8388608,16,64"}
COUNTS = {  # of what cachegrind calls events: the reference is its manual
    "instructions": ("Ir",),
    "loads": ("Dr",),
    "stores": ("Dw",),
    "first-level misses": ("D1mr", "D1mw"),
    "last-level misses": ("DLmr", "DLmw"),
    "branches": ("Bc", "Bi"),
    "branch misses": ("Bcm", "Bim"),
}
LEVELS = ("avx2", "sse4", "scalar")  # those of tutor that valgrind can imitate: no AVX-512
INSTALL = "install it (Debian, Ubuntu: apt install valgrind), or use the cache model of chapter 13"


def cachegrind(command: Sequence[str], level: str = "avx2") -> dict[str, int]:
    """What a program costs from its start to its end: a count for each of COUNTS.

    level: of the kernels, if the program uses tutor.

    MissingPackageError without valgrind; DataError if the program fails.
    """
    if isinstance(command, str) or not command:
        raise DomainError(
            f"cachegrind({command!r})", "that is no list of words", 'write ["./walk", "1000"]'
        )
    checks.one_of("cachegrind(level=...)", level, LEVELS)
    if not which("valgrind"):
        raise MissingPackageError(f"cachegrind({command!r})", "there is no valgrind", INSTALL)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counts")
        asked = ["--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"]
        asked += [f"--cachegrind-out-file={file}"]
        asked += [f"--{cache}={geometry}" for cache, geometry in CACHES.items()]
        run = subprocess.run(
            ["valgrind", *asked, *command],
            env={**os.environ, "TUTOR_SIMD": level, "TUTOR_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode or not file.exists():
            raise DataError(
                f"cachegrind({command!r})",
                f"it has ended with {run.returncode}: {run.stderr.strip()[-300:]}",
                "run the program by itself first",
            )
        return read(file.read_text(encoding="utf-8"))


def read(text: str) -> dict[str, int]:
    """The counts in a file that cachegrind has written."""
    rows = dict(row.split(": ", 1) for row in text.splitlines() if ": " in row)
    counted = dict(zip(rows["events"].split(), map(int, rows["summary"].split()), strict=True))
    return {name: sum(counted[event] for event in events) for name, events in COUNTS.items()}
