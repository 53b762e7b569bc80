"""Starts programs as ranks, over both transports: what they print, and how they end.

Everything is under a limit of time: what hangs fails. The programs stand beside this file, and are
named by what they are for."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TRANSPORTS = ("shared", "mpi")
LIMIT = 45  # seconds for a program, on a machine that is busy


class Run(NamedTuple):
    code: int
    lines: dict[int, str]  # what each rank printed, on both streams
    text: str  # and everything
    seconds: float


def home() -> Path:
    """The environment that mpi4py is installed in. It need not be the one that runs the tests: that
    one may take over its packages, as where bugs are planted."""
    found = importlib.util.find_spec("mpi4py")
    return Path(found.origin).parents[4] if found and found.origin else Path(sys.prefix)


def mpiexec() -> str:
    """Where it is: in TUTOR_MPIEXEC, beside Python, or in PATH. Without it, or mpi4py, the test is
    left out."""
    pytest.importorskip("mpi4py")
    if "TUTOR_MPIEXEC" in os.environ:
        return os.environ["TUTOR_MPIEXEC"]
    places = [str(prefix / "bin") for prefix in (Path(sys.prefix), home())]
    found = shutil.which("mpiexec", path=os.pathsep.join([*places, os.environ["PATH"]]))
    if found is None:
        pytest.skip("there is no mpiexec: pip install mpich")
    if trouble := mpi_fails(found):
        pytest.skip(f"two ranks of this machine's MPI do not meet, without tutor: {trouble}")
    return found


@functools.cache
def mpi_fails(mpiexec: str) -> str:
    """What its mpiexec says where ranks cannot even meet, as where no network is allowed."""
    meet = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
    command = [mpiexec, "-n", "2", sys.executable, "-c", meet]
    try:
        done = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it hangs for {LIMIT} s"
    return (done.stdout + done.stderr).strip()[-300:] or "it fails" if done.returncode else ""


@functools.cache
def is_open_mpi() -> bool:
    """Is it the mpiexec of Open MPI?"""
    found = subprocess.run([mpiexec(), "--version"], capture_output=True, text=True)
    return "Open" in found.stdout


# What ranks of MPI print goes into files: its own way to put the rank in front cuts lines.
INTO_FILES = """\
rank="${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"; folder="$1"; shift
exec "$@" >"$folder/$rank.out" 2>"$folder/$rank.err"
"""


def command(transport: str, ranks: int, folder: Path, launcher: Sequence[str] = ()) -> list[str]:
    """What stands before the program and its arguments. `launcher`: an mpiexec and its options."""
    if transport == "mpi":
        launcher = launcher or [mpiexec(), *(["--oversubscribe"] if is_open_mpi() else [])]
        into = ["sh", "-c", INTO_FILES, "sh", str(folder)]
        return [*launcher, "-n", str(ranks), *into, sys.executable]
    return [sys.executable, "-m", "tutor", "ranks", str(ranks)]


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TUTOR_DIST")}
    own = {"PYTHONPATH": str(ROOT), "TUTOR_NUM_THREADS": "1"}
    if home() != Path(sys.prefix) and "MPI4PY_LIBMPI" not in os.environ:
        own["MPI4PY_LIBMPI"] = str(home() / "lib")  # where it looks for an MPI
    return {**kept, **own, **variables}


def begin(
    transport: str, ranks: int, folder: Path, *program: object, launcher: Sequence[str] = (),
    **variables: str,
) -> subprocess.Popen[str]:  # fmt: skip
    """The launcher, with so many ranks of `program`."""
    words = [str(HERE / word) if str(word).endswith(".py") else str(word) for word in program]
    return subprocess.Popen(
        [*command(transport, ranks, folder, launcher), *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(**variables),
    )  # fmt: skip


def finish(process: subprocess.Popen[str], since: float, folder: Path) -> Run:
    try:
        text, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()
        text, _ = process.communicate(timeout=LIMIT)
        pytest.fail(f"it hangs:\n{text}")
    lines: dict[int, str] = {}
    for file in sorted(folder.iterdir()):
        text += "".join(f"[rank {file.stem}] {line}\n" for line in file.read_text().splitlines())
    for rank, line in re.findall(r"^\[rank (\d+)\] ?(.*)$", text, re.MULTILINE):
        lines[int(rank)] = lines.get(int(rank), "") + line + "\n"
    return Run(process.returncode, lines, text, time.monotonic() - since)


def run(
    transport: str, ranks: int, *program: object, launcher: Sequence[str] = (), **variables: str
) -> Run:
    since = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        begun = begin(transport, ranks, folder, *program, launcher=launcher, **variables)
        return finish(begun, since, folder)
