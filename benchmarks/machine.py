"""This machine: what it is called, and what it can do at most, measured.

A fraction of the peak says what a ratio cannot: whether there is anything left to gain. The peaks
come from peak.c, compiled here for this CPU; without a C compiler the column stays empty.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).with_name("peak.c")
LONG_ENOUGH = 0.002  # seconds: one run of a probe; a longer one would be interrupted more often
TRIES = 4
PAGE, HUGE = 4096, 2 << 20
APART = 17 * 64  # bytes
FLAGS = {  # peak.c for a level of tutor's: its CMakeLists.txt; otherwise for this very CPU
    "scalar": ["-DBYTES=4"], "sse4": ["-march=x86-64-v2"], "avx2": ["-march=x86-64-v3"],
    "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}  # fmt: skip
LARGEST = 1 << 27  # bytes; more is as slow, and would only take memory


def cpu() -> str:
    """The CPU's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit that is measured, with a + if files differ from it; None outside a repository."""
    command = ["git", "-C", str(SOURCE.parent), "describe", "--always", "--abbrev=12"]
    command += ["--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None


class Times(NamedTuple):
    """Seconds: on the wall's clock, of all cores at work, and of those at work for this process."""

    wall: float
    all: float
    own: float


def times() -> Times | None:
    """Now; None where the system does not say what all cores do. A core that the host of a virtual
    machine has taken away counts as one that somebody else works with.
    """
    try:
        line = Path("/proc/stat").read_text().splitlines()[0]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, *more = map(int, line.split()[1:])
    ticks = user + nice + system + sum(more[:3])  # interrupts, and what the host took
    own = os.times()
    return Times(time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK"), own.user + own.system)


def others(since: Times | None) -> float | None:
    """How many cores other programs kept busy since then."""
    now = times()
    if now is None or since is None:
        return None
    return max(0.0, ((now.all - since.all) - (now.own - since.own)) / (now.wall - since.wall))


def too_few_cores(threads: int, others: float | None) -> bool:
    """Whether some of `threads` had to wait for a core; a moment now and then does not count."""
    return others is not None and threads + others > (os.cpu_count() or 1) + 0.3


@functools.cache
def _probes(level: str = "") -> Any:
    """peak.c as a library, for a level of instructions or all of this CPU's, or None where it
    cannot be compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "peak.so"
        flags = ["-O3", "-shared", "-fPIC", *FLAGS.get(level, ["-march=native"])]
        done = subprocess.run([compiler, *flags, SOURCE, "-o", built], capture_output=True)
        if done.returncode:
            return None
        probes = ctypes.CDLL(str(built))
    probes.flops_per_round.restype = probes.vector_bytes.restype = ctypes.c_long
    probes.multiply_add.argtypes = (ctypes.c_long, ctypes.c_float, ctypes.c_float)
    probes.read_all.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p)
    probes.add_all.argtypes = (ctypes.c_long, ctypes.c_long, *[ctypes.c_void_p] * 3)
    return probes


def _together(work: list[Callable[[int], object]], rounds: int) -> float:
    """Seconds from the first thread's beginning to the last one's end; ctypes frees the GIL."""
    gate = threading.Barrier(len(work))
    times: list[tuple[float, float]] = []

    def body(run: Callable[[int], object]) -> None:
        gate.wait()
        start = time.perf_counter()
        run(rounds)
        times.append((start, time.perf_counter()))

    threads = [threading.Thread(target=body, args=(run,)) for run in work]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return max(end for _, end in times) - min(start for start, _ in times)


class Probe:
    """The same work for several threads, and the best rate it has ever reached.

    It is tried again whenever its rate is asked for: the machine may have been busy before.
    """

    def __init__(self, work: list[Callable[[int], object]], per_round: float) -> None:
        self.work, self.per_round, self.rate = work, per_round, 0.0
        self.rounds = 1
        while _together(work, self.rounds) < LONG_ENOUGH:
            self.rounds *= 2

    def again(self) -> float:
        for _ in range(TRIES):
            seconds = _together(self.work, self.rounds)
            self.rate = max(self.rate, self.rounds * self.per_round * len(self.work) / seconds)
        return self.rate


def peak_flops(threads: int, level: str = "") -> float | None:
    """float32 operations per second; a multiply-add is two. None without a compiler."""
    return _flops(threads, level).again() if _probes(level) else None


def peak_bytes(threads: int, size: int, streams: int, level: str = "") -> float | None:
    """Bytes per second of a program whose arrays take `size` bytes together: a small one lives in a
    cache, a large one in memory. `streams` is 1 for reading, else 3, for z = x + y.
    """
    if not _probes(level):
        return None
    power = 1 << max(size, 1).bit_length() - 1  # sizes of powers of two will do
    smallest = streams * threads * PAGE
    return _bytes(threads, min(max(power, smallest), LARGEST), streams, level).again()


@functools.cache
def _flops(threads: int, level: str) -> Probe:
    probes = _probes(level)
    work = [lambda rounds: probes.multiply_add(rounds, 0.5, 1.0)] * threads
    return Probe(work, probes.flops_per_round())


@functools.cache
def _bytes(threads: int, size: int, streams: int, level: str) -> Probe:
    part = size // streams // threads // PAGE * PAGE  # of one stream, for one thread
    return Probe([_stream(part, streams, level) for _ in range(threads)], part * streams)


def _stream(size: int, streams: int, level: str) -> Callable[[int], object]:
    """Rounds of reading one array, or of z = x + y, in memory of their own.

    The memory is in huge pages where the system has them. The arrays do not begin at the same place
    of a page: a CPU that compares the lower 12 bits of addresses would take a load to need what was
    stored just before.
    """
    probes = _probes(level)
    memory = mmap.mmap(-1, streams * (size + APART) + HUGE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    memory.write(bytes(len(memory)))  # the first touch is not measured
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    base += -base % HUGE
    places = [base + k * (size + APART) for k in range(streams)]
    function = probes.read_all if streams == 1 else probes.add_all
    vectors = size // probes.vector_bytes()

    def run(rounds: int, memory: object = memory) -> None:  # which must live as long as this
        function(rounds, vectors, *places)

    return run
