"""OpenCL devices are opened by many at once, or say why not; and forks and signals find them so."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("pyopencl")

import tutor
from tutor import Tensor
from tutor.backends.opencl import DEVICE
from tutor.backends.opencl import device_context as driver
from tutor.backends.opencl.faults import UNKNOWN
from tutor.dtype import float32
from tutor.errors import DeviceError

if not driver.found():
    pytest.skip("no OpenCL driver with a device is here", allow_module_level=True)

PROCESSES, AT_ONCE = 25, 3
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def ran(program: str, env: dict[str, str] | None = None, stack: int = 8192) -> str:
    """What a process of its own prints, which has that environment beside, and KiB of stack."""
    command = ["sh", "-c", f'ulimit -S -s {stack} 2>/dev/null; exec "$0" "$@"', sys.executable]
    done = subprocess.run(
        [*command, "-c", program], env={**os.environ, **(env or {})}, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- opening -------------------------------------------------------------------------------------

THREADS = """
import threading
from tutor import Tensor
from tutor.backends.opencl import DEVICE, device_context
opened, places, sums = device_context.Place.__init__, [], []
def counted(self, *args):
    places.append(self)
    opened(self, *args)
device_context.Place.__init__ = counted
barrier = threading.Barrier(8)
def use(n):
    barrier.wait()
    sums.append((Tensor([1.0, float(n)], device="opencl") + 1).sum().item() - n)
threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(sums == [3.0] * 8, len(places), len(DEVICE.pools), len(DEVICE.tables))
"""


def test_every_process_opens_it_however_its_memory_lies_and_whoever_of_8_threads_is_first() -> None:
    def start(n: int) -> str:
        return ran(THREADS, {"FILLS_THE_STACK": "x" * (n * 4999)}, stack=1024 << n % 6)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert list(pool.map(start, range(PROCESSES))) == ["True 1 1 1"] * PROCESSES


def test_a_driver_that_does_not_know_the_processor_is_left_out_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Device:
        name, version = "a CPU ", "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic "

        class platform:  # noqa: N801 - as pyopencl has it
            name, version = "Portable Computing Language", "OpenCL 3.0 PoCL 3.0-rc2  LLVM 14.0.6"

    known = driver.listed()
    for before in ([], known):
        monkeypatch.setattr(driver, "listed", lambda before=before: [Device, *before])
        assert driver.found.__wrapped__() == driver.found()[: len(before)]
    monkeypatch.setattr(driver, "listed", lambda: [Device])
    monkeypatch.setattr(driver, "found", list)
    monkeypatch.setattr(DEVICE, "counted", lambda: 0)
    monkeypatch.setattr(DEVICE, "opened", driver.place.__wrapped__)
    tutor.backends.devices._forget()
    assert "opencl:0" not in tutor.devices.names()
    with pytest.raises(DeviceError, match="does not know this processor") as raised:
        Tensor([1.0], device="opencl")
    assert "pocl-opencl-icd" in raised.value.do and "PoCL 3.0-rc2" in raised.value.found


@pytest.mark.parametrize(
    ("version", "unknown"),
    [("OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic", True),
     ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512", False),
     ("OpenCL 3.0 PoCL HSTR: cpu-aarch64-unknown-linux-gnu-generic", False),
     ("OpenCL 3.0 generic", False)],
)  # fmt: skip
def test_which_driver_does_not_know_its_processor(version: str, unknown: bool) -> None:
    assert bool(UNKNOWN.search(version)) == unknown


@pytest.mark.parametrize(
    ("lanes", "words"),
    [("kernel void lanes(global uchar *n) { n[0] = nothing; }", "nothing"),
     ("kernel void other(global uchar *n) { n[0] = 8; }", "runs no program"),
     ("kernel void lanes(global uchar *n) { n[0] = 7; }", "answers 7")],
)  # fmt: skip
def test_a_driver_that_runs_no_program_says_so_as_it_is_opened(
    monkeypatch: pytest.MonkeyPatch, lanes: str, words: str
) -> None:
    monkeypatch.setattr(driver, "LANES", lanes)
    with pytest.raises(DeviceError, match=words) as raised:
        driver.Place(0, driver.found()[0])
    assert "pocl-opencl-icd" in raised.value.do


# ---- forks ---------------------------------------------------------------------------------------

FORK = """
import os, sys, tutor
from tutor import Tensor
from tutor.errors import DeviceError
{before}
def refused(call):
    try:
        call()
    except DeviceError as error:
        return "forked" in error.asked and "spawn" in error.do
child = os.fork()
if child:
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, (Tensor([1.0, 2.0], device="opencl") * 2).tolist())
else:
    {child}
"""
OPEN = """
x = Tensor([1.0, 2.0], device="opencl")
step = tutor.jit(lambda x: (x * 2).sum())
for _ in range(4): step(x)
"""
CALLS = """
    calls = [lambda: x + x, lambda: x.exp(), x.tolist, lambda: step(x), tutor.synchronize,
             lambda: Tensor([3.0], device="opencl"), lambda: Tensor.zeros(9, device="opencl")]
    said = [refused(call) for call in calls]
    del x, step
    sys.exit(0 if all(said) else 1)
"""


@forks
@pytest.mark.parametrize(
    ("before", "child"),
    [(OPEN, CALLS), ("tutor.devices.names()", "\n    sys.exit(not refused(lambda: Tensor([1.0],"
      " device='opencl')))"), ("", "\n    sys.exit(Tensor([1.0], device='opencl').item() != 1)")],
    ids=["open", "listed", "not loaded"],
)  # fmt: skip
def test_a_forked_process_is_refused_and_ends(before: str, child: str) -> None:
    assert ran(FORK.format(before=before, child=child)) == "0 [2.0, 4.0]"


# ---- signals -------------------------------------------------------------------------------------


class Struck(Exception):  # noqa: N818 - raised by a handler
    pass


@pytest.fixture
def struck() -> Iterator[list[int]]:
    """A handler of SIGALRM that raises, and notes that it has."""
    times: list[int] = []

    def handler(number: int, frame: Any) -> None:
        times.append(number)
        raise Struck

    before = signal.signal(signal.SIGALRM, handler)
    yield times
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_no_signal_is_lost_while_memory_comes_and_goes(struck: list[int]) -> None:
    draw, before, caught = random.Random(5), DEVICE.stats().in_use, 0
    held: list[Any] = []
    while len(struck) < 400:
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 4e-4))
            for n in range(5000):  # longer than the timer
                held[n % 3 :] = [DEVICE.empty(100 + n % 7 * 64, float32)]
        except Struck:
            caught += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    held.clear()
    after = DEVICE.stats()
    assert caught == len(struck) and after.in_use == before
    assert after.held == sum(size * len(blocks) for size, blocks in DEVICE.pool(0).free.items())


def test_a_signal_between_two_counts_leaves_them_right(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, before = DEVICE.pool(0), DEVICE.stats().in_use
    lend = pool.lend

    def strikes(*args: Any) -> None:
        lend(*args)
        raise Struck

    with monkeypatch.context() as patch:
        patch.setattr(pool, "lend", strikes)
        with pytest.raises(Struck):
            DEVICE.empty(1000, float32)
    after = DEVICE.stats()
    assert after.in_use == before
    assert after.held == sum(size * len(blocks) for size, blocks in pool.free.items())


@pytest.mark.parametrize("where", ["launch", "kernel", "allocate", "copy_in", "synchronize"])
def test_what_a_handler_raises_in_the_midst_of_it_is_raised_as_it_is(
    monkeypatch: pytest.MonkeyPatch, struck: list[int], where: str
) -> None:
    def strikes(*args: Any, **options: Any) -> None:
        signal.raise_signal(signal.SIGALRM)

    x = Tensor([1.0, 2.0, 3.0], device="opencl")
    DEVICE.trim()
    monkeypatch.setattr(driver.Place, where, strikes)
    monkeypatch.setattr(driver.place(0), "programs", {})

    def use() -> None:
        _ = (Tensor([[1.0] * 7], device="opencl") * 3 + x[0]).exp()
        tutor.synchronize()

    with pytest.raises(Struck):
        use()


def test_what_a_driver_raises_is_still_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise Struck("by the driver")

    x = Tensor([1.0], device="opencl")
    monkeypatch.setattr(driver.Place, "launch", fails)
    with pytest.raises(DeviceError, match="by the driver"):
        x + x
