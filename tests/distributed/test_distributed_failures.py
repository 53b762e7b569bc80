"""A rank that ends, does not come, or calls something else: every other rank is told, in time,
which rank, which call, and in which line. Nothing hangs, and nothing is left over."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import started

LINES = (started.HERE / "rank_1_fails.py").read_text().splitlines()
CALL = 1 + next(i for i, line in enumerate(LINES) if "# the call" in line)
SLOW = 600  # seconds, longer than any program may run: what is noticed is not noticed by the clock
QUICK = 1.5
SHARED, MPI, BOTH = ("shared",), ("mpi",), started.TRANSPORTS

# how it fails: over which transports, the timeout, what is said of rank 1
FAILURES = {
    "kill": (SHARED, SLOW, "rank 1 was ended by SIGKILL"),
    "middle": (SHARED, SLOW, "rank 1 was ended by SIGKILL"),
    "beside": (SHARED, SLOW, "rank 1 was ended by SIGKILL"),
    "exit": (SHARED, SLOW, "rank 1 has ended with exit code 3"),
    "exit well": (SHARED, SLOW, "rank 1 has ended without a word"),
    "return": (BOTH, SLOW, "rank 1 has ended: its program is over"),
    "raise": (BOTH, SLOW, "rank 1 has ended by ValueError: no such file, at FILE:LINE"),
    "never": (BOTH, QUICK, "rank 1 has not come within 1.5 s"),
    "stop": (BOTH, QUICK, "rank 1 has not come within 1.5 s"),
    "told": (MPI, SLOW, "rank 1 had not come when this rank was told to end (SIGTERM)"),
    "other call": (BOTH, SLOW, "rank 1 calls broadcast #3 (root 0) of shape (4,), float32, at"),
    "other shape": (BOTH, SLOW, "rank 1 calls all_reduce #3 (sum, tree) of shape (2, 2), float32"),
    "other dtype": (SHARED, SLOW, "rank 1 calls all_reduce #3 (sum, tree) of shape (4,), int64"),
    "other op": (SHARED, SLOW, "rank 1 calls all_reduce #3 (max, tree) of shape (4,), float32"),
}
ROWS = [(how, transport) for how, row in FAILURES.items() for transport in row[0]]


def names() -> set[str]:
    """What stands in /dev/shm; MPI has files of its own there, which are its business."""
    folder = Path("/dev/shm")
    found = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in found if not re.search("mpich|ucx|vader|ompi", name)}


def left_over(before: set[str]) -> set[str]:
    """What is new there, and stays: tests beside this one may have files there for a moment."""
    new, end = names() - before, time.monotonic() + started.LIMIT
    while new and time.monotonic() < end:
        time.sleep(0.05)
        new &= names()
    return new


def is_there(pid: int) -> bool:
    """Is there such a process, and has it not ended?"""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(text: str, wanted: int) -> bool:
    """Have all ranks ended that said their number?"""
    pids = {int(pid) for pid in re.findall(r"pid (\d+)", text)}
    end = time.monotonic() + started.LIMIT
    while any(is_there(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return len(pids) == wanted and not any(is_there(pid) for pid in pids)


@pytest.mark.parametrize(("how", "transport"), ROWS, ids=["-".join(row) for row in ROWS])
def test_every_other_rank_is_told(how: str, transport: str, record_property: object) -> None:
    _, timeout, reason = FAILURES[how]
    before = names()
    run = started.run(transport, 3, "rank_1_fails.py", how, timeout, TUTOR_DIST_TIMEOUT="30")
    assert run.code not in (0, None), run.text
    told = {rank for rank, text in run.lines.items() if "found:" in text}
    if how == "stop" and transport == "mpi" and started.is_open_mpi():  # it sends SIGCONT first
        told.discard(1)
    assert told == ({0, 1, 2} if how.startswith("other") else {0, 2}), run.text
    for rank in (0, 2):
        said = run.lines[rank]
        found = re.search(r"after ([\d.]+) s: asked: (.*)\nfound: (.*)\nto do: (.*)\n", said)
        assert found, run.text
        seconds, asked, what, _ = found.groups()
        assert timeout == SLOW or float(seconds) >= QUICK, run.text
        call = r"#\d+" if how == "middle" else "#3"
        line = r"\d+" if how == "middle" else str(CALL)
        place = rf"at .*/rank_1_fails\.py:{line}, on rank {rank} of 3"
        assert re.fullmatch(rf"all_reduce {call} \(sum, tree\) of shape .*, {place}", asked), asked
        pattern = re.escape(reason).replace("FILE:LINE", r".*/rank_1_fails\.py:\d+")
        assert re.match(pattern, what), what
        assert re.search(r"rank_1_fails\.py:\d+", what), "where rank 1 was last"
        assert re.search(r"^again the ranks are apart since all_reduce", said, re.MULTILINE), said
    assert gone(run.text, 3)
    assert not left_over(before)


@pytest.mark.parametrize("how", ["kill", "exit", "beside"])
def test_an_mpi_that_asks_before_it_kills(how: str) -> None:
    """Open MPI's mpiexec tells those that are left to end: then they say whom they waited for."""
    if not started.is_open_mpi():
        pytest.skip("needs Open MPI's mpiexec in TUTOR_MPIEXEC, its library in MPI4PY_LIBMPI")
    run = started.run("mpi", 3, "rank_1_fails.py", how, SLOW)
    for rank in (0, 2):
        assert re.search(r"after [\d.]+ s: asked: all_reduce #3 .*\n"
                         r"found: rank 1 had not come when .* \(SIGTERM\); the latest it came to is"
                         r" all_gather #2", run.lines[rank]), run.text  # fmt: skip
    assert run.code != 0 and gone(run.text, 3)


@pytest.mark.parametrize("transport", started.TRANSPORTS)
def test_a_rank_that_never_looks_for_the_others(transport: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, time\n"
        "mpi = os.environ.get('PMI_RANK') or os.environ.get('OMPI_COMM_WORLD_RANK')\n"
        "rank = mpi or os.environ['TUTOR_DIST_SHARED'].split()[1]\n"
        "print('pid', os.getpid(), flush=True)\n"
        "if rank == '1': sys.exit()\n"
        "from tutor import dist\n"
        "dist.barrier()\n"
    )
    run = started.run(transport, 2, program, TUTOR_DIST_TIMEOUT="2")
    assert run.code == 1, run.text
    assert "DistError: asked: " in run.lines[0], run.text
    who = "rank 1 has ended without a word; it has come to none so far"
    assert (who if transport == "shared" else "not all of them have come within 2 s") in run.text
    assert gone(run.text, 2)


# What rank 0 sends comes to rank 1 after its word that its program is over.
LATE = """\
from tutor import dist
from tutor.distributed.mpi import DATA
from tutor.distributed.ranks import group
dist.barrier()
transport = group().transport

class Late:
    def __init__(self, request):
        self.request = request
    def Test(self):
        return 0 in transport.reasons and self.request.Test()
    def __getattr__(self, name):
        return getattr(self.request, name)

class Comm:
    def __init__(self, comm):
        self.comm = comm
    def Irecv(self, view, rank, tag):
        request = self.comm.Irecv(view, rank, tag)
        return Late(request) if tag == DATA else request
    def __getattr__(self, name):
        return getattr(self.comm, name)

if dist.rank() == 1:
    transport.comm = Comm(transport.comm)
dist.barrier()
if dist.rank() == 1:
    print(transport.reasons, flush=True)
"""


def test_a_word_that_is_faster_than_the_bytes_before_it(tmp_path: Path) -> None:
    """MPI keeps the order of messages of one tag alone. (On a busy machine a rank that had done its
    part was taken for one that would not come.)"""
    program = tmp_path / "program.py"
    program.write_text(LATE)
    run = started.run("mpi", 2, program)
    assert run.code == 0, run.text
    assert run.lines[1] == "{0: {0: 'has ended: its program is over'}}\n", run.text


# Ranks that wait say their number from another thread, which looks whether they wait already.
WAITING = """\
import os, sys, threading, time, traceback
from tutor import dist
dist.barrier()
def say():
    print("pid", os.getpid(), flush=True)
def called():
    frame = sys._current_frames()[threading.main_thread().ident]
    return [f.f_code.co_name for f, _ in traceback.walk_stack(frame)]
def say_when_it_waits():
    while "meet" not in called():
        time.sleep(0.01)
    say()
if dist.rank() == 1:
    say()
    time.sleep(60)
threading.Thread(target=say_when_it_waits, daemon=True).start()
dist.barrier()  # the call
"""


@pytest.mark.parametrize("transport", started.TRANSPORTS)
def test_ctrl_c_ends_all(transport: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WAITING)
    with tempfile.TemporaryDirectory() as made:
        since, folder = time.monotonic(), Path(made)
        process = started.begin(transport, 3, folder, program, TUTOR_DIST_TIMEOUT="60")
        wait_for_pids(process, folder, transport)
        process.send_signal(signal.SIGINT)
        run = started.finish(process, since, folder)
    text = run.text + READ.pop(process.pid, "")
    assert run.code != 0
    assert gone(text, 3), text
    if transport == "shared":
        assert run.code == 128 + signal.SIGINT
        assert text.count("KeyboardInterrupt") >= 3, text
        line = 1 + WAITING[: WAITING.index("# the call")].count("\n")
        assert re.search(rf"in barrier #2, at .*program\.py:{line}, on rank 0 of 3", text), text


READ: dict[int, str] = {}  # what has been read of a launcher's output already


def wait_for_pids(
    process: subprocess.Popen[str], folder: Path, transport: str, wanted: int = 3
) -> None:
    """Until so many processes have said their number."""
    assert process.stdout
    end, text = time.monotonic() + started.LIMIT, ""
    while time.monotonic() < end:
        if transport == "shared":
            text += process.stdout.readline()
        else:
            time.sleep(0.05)
            text = "".join(file.read_text() for file in folder.iterdir())
        if text.count("pid ") == wanted:
            READ[process.pid] = text if transport == "shared" else ""
            return
    process.kill()
    pytest.fail(text)


# In place of rank 1's sleep: what it has started also says its number.
TRAINING_ON = """\
    import signal, subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("pid", subprocess.Popen(["sleep", "60"]).pid, flush=True)
    while True:
        pass"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_launcher_is_ended(number: int, tmp_path: Path) -> None:
    """Those that wait, that train on and do not hear SIGTERM, and that have started something."""
    program = tmp_path / "program.py"
    program.write_text(WAITING.replace("    time.sleep(60)", TRAINING_ON))
    before = names()
    with tempfile.TemporaryDirectory() as made:
        process = started.begin("shared", 3, Path(made), program, TUTOR_DIST_TIMEOUT="60")
        wait_for_pids(process, Path(made), "shared", 4)
        process.send_signal(number)
        process.wait(timeout=started.LIMIT)
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
        assert gone(READ.pop(process.pid), 4)
        assert process.stdout
        process.stdout.close()
    assert not left_over(before)


def test_the_memory_has_no_name(tmp_path: Path) -> None:
    """So nothing can be left over of it, whatever ends the ranks."""
    program = tmp_path / "program.py"
    program.write_text(
        "import tutor\nfrom tutor import dist\n"
        "dist.all_reduce(tutor.ones(9))\n"
        "maps = open('/proc/self/maps')\n"
        "print([l.split(None, 5)[5] for l in maps if 'tutor.distributed' in l])\n"
    )
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not list what a process has mapped")
    run = started.run("shared", 2, program)
    assert run.lines[0] == "['/memfd:tutor.distributed (deleted)\\n']\n", run.text


def test_without_mpi4py_it_is_said_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "from tutor import dist\nfrom tutor.errors import MissingPackageError\n"
        "try: dist.init('mpi')\nexcept MissingPackageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=started.environment(), capture_output=True, text=True,
        timeout=started.LIMIT, check=True,
    )  # fmt: skip
    assert 'pip install "tutorgrad[dist]"' in done.stdout, done.stdout + done.stderr


def test_an_mpi_that_is_not_there_is_named() -> None:
    pytest.importorskip("mpi4py")
    code = "from tutor import dist\ndist.init('mpi')\n"
    done = subprocess.run(
        [sys.executable, "-c", code], env=started.environment(MPI4PY_LIBMPI="/no/such/libmpi.so"),
        capture_output=True, text=True, timeout=started.LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "MissingPackageError" in done.stderr and "MPI4PY_LIBMPI" in done.stderr, done.stderr
