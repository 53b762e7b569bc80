"""`python -m tutor ranks 4 train.py --epochs 2`: the same program as four processes.

The launcher creates the memory and sockets that connect the ranks (shared.py), starts them, and
prints their output line by line, each with its rank in front. It waits for all. If one ends with an
error, it tells the others, gives them a few seconds to report what they were waiting for, and ends
them. It restarts nothing: any training since the last checkpoint is lost either way. If the
launcher itself is killed, another process ends the ranks (guard.py).

Each rank may use its share of the CPUs (TUTOR_NUM_THREADS, unless it is set) and reads nothing from
the terminal. Ctrl-C reaches only the launcher, which sends it once to each rank.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from types import FrameType
from typing import IO, Any

from tutor.distributed import guard
from tutor.distributed import ranks as environment
from tutor.distributed.shared import FAILED, VARIABLE, Shared, framed
from tutor.errors import DomainError

GRACE = 2.0  # seconds for the other ranks to end by themselves after a failure
MOST = 32  # ranks: each pair has a socket


class Rank:
    """A running process, and the incomplete lines of its output."""

    def __init__(self, rank: int, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.rank, self.process, self.control = rank, process, control
        assert process.stdout and process.stderr
        self.pipes = {process.stdout: sys.stdout, process.stderr: sys.stderr}
        self.begun = dict.fromkeys(self.pipes, b"")
        self.is_known = False  # do the others know that it has failed?
        self.is_guarded = False  # does the guard know it as running?

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def how(self) -> str:
        """How it failed, in words; "" if it has not."""
        code = self.process.poll() or 0
        if code >= 0:
            return f"has ended with exit code {code}" if code else ""
        names = {s.value: s.name for s in signal.Signals}
        return f"was ended by {names.get(-code, f'signal {-code}')}"

    def print(self, pipe: IO[bytes], data: bytes) -> None:
        """Print its output in whole lines; at its end (no data) also the incomplete line."""
        *lines, self.begun[pipe] = (self.begun[pipe] + data).split(b"\n")
        if not data and self.begun[pipe]:
            lines, self.begun[pipe] = [self.begun[pipe]], b""
        for line in lines:
            text = line.decode(errors="replace")
            print(f"[rank {self.rank}] {text}", file=self.pipes[pipe], flush=True)

    def signal(self, number: int) -> None:
        """Send a signal to it and its child processes."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
                os.killpg(self.process.pid, signal.SIGCONT)  # wakes a stopped one to get the signal


class Launcher:
    """Starts `count` ranks of a program and supervises them."""

    def __init__(self, count: int, program: list[str], timeout: float | None = None) -> None:
        if not 1 <= count <= MOST:
            raise DomainError(
                f"{count} ranks on this machine",
                f"1 to {MOST} can be launched here",
                "start as many as there are CPUs; on several machines, use mpiexec",
            )
        if not hasattr(select, "poll"):
            raise DomainError(
                "ranks over shared memory",
                f"{sys.platform} has not what they are made of: poll, and sockets to inherit",
                "use MPI: mpiexec -n 4 python train.py",
            )
        self.count, self.program, self.timeout = count, program, timeout
        self.ranks: list[Rank] = []
        self.failed: list[Rank] = []  # in the order of their failures
        self.guard: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Start all ranks and wait for them; the exit code: 0, or that of the first one to fail."""
        with _raising(signal.SIGTERM, signal.SIGHUP):
            try:
                self.start()
                self.look_after(None)
            except KeyboardInterrupt:
                self.end(signal.SIGINT)
                return 128 + signal.SIGINT
            finally:
                self.end(signal.SIGTERM)
                if self.guard:
                    self.guard.kill()
                    self.guard.wait()
        code = int(self.failed[0].process.returncode) if self.failed else 0
        return code if code >= 0 else 128 - code

    # ---- the start -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the ranks in order. Each pair's socket is created with the first of the two, and an
        end is closed here once its rank has it: when the rank ends, no other process holds it."""
        self.guard = _guard()
        memory = _memory(self.count * 2 * Shared.piece)
        ends: dict[tuple[int, int], socket.socket] = {}  # (owner, peer)
        for rank in range(self.count):
            for other in range(rank + 1, self.count):
                ends[rank, other], ends[other, rank] = socket.socketpair()
            control, its = socket.socketpair()
            own = [ends.pop((rank, other), None) for other in range(self.count)]
            files = [its.fileno(), memory, *(-1 if end is None else end.fileno() for end in own)]
            self.ranks.append(Rank(rank, self._process(rank, files), control))
            self._tell_guard()
            for end in (its, *own):
                if end is not None:
                    end.close()
        os.close(memory)

    def _process(self, rank: int, files: list[int]) -> subprocess.Popen[bytes]:
        share = max(1, _cpus() // self.count)
        variables = {"TUTOR_NUM_THREADS": str(share), **os.environ, "PYTHONUNBUFFERED": "1"}
        variables[VARIABLE] = " ".join(map(str, [os.getpid(), rank, self.count, *files]))
        variables.pop(environment.VARIABLE, None)  # VARIABLE of shared.py identifies the launcher
        if self.timeout is not None:
            variables["TUTOR_DIST_TIMEOUT"] = str(self.timeout)
        return subprocess.Popen(
            [sys.executable, *self.program],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, env=variables, pass_fds=[file for file in files if file >= 0],
            process_group=0,
        )  # fmt: skip

    # ---- while they run --------------------------------------------------------------------------

    def look_after(self, seconds: float | None) -> None:
        """Print the ranks' output until all have ended, or for `seconds`; after a failure at most
        GRACE seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        poll, pipes = select.poll(), {p.fileno(): (r, p) for r in self.ranks for p in r.pipes}
        for file in pipes:
            poll.register(file, select.POLLIN)
        while any([rank.is_running for rank in self.ranks]):
            self._read(poll, pipes, 0.1)
            self._tell_guard()
            if self._tell_of_failures() and end is None:
                end = time.monotonic() + GRACE
            if end is not None and time.monotonic() > end:
                return
        while self._read(poll, pipes, 0):  # the last output
            pass
        self._tell_of_failures()

    def _read(self, poll: Any, pipes: dict[int, tuple[Rank, IO[bytes]]], seconds: float) -> bool:
        """Print the output so far, waiting at most `seconds` for it; was there any?"""
        found = poll.poll(1000 * seconds)
        for file, _ in found:
            rank, pipe = pipes[file]
            data = os.read(file, 1 << 16)
            rank.print(pipe, data)
            if not data:
                poll.unregister(file)
        return bool(found)

    def _tell_guard(self) -> None:
        """Tell the guard which ranks have started or ended since last time."""
        assert self.guard and self.guard.stdin
        for rank in self.ranks:
            if rank.is_guarded is not rank.is_running:
                rank.is_guarded = not rank.is_guarded
                word = f"{'+' if rank.is_guarded else '-'}{rank.process.pid}\n"
                with contextlib.suppress(BrokenPipeError):  # the guard was killed
                    self.guard.stdin.write(word.encode())

    def _tell_of_failures(self) -> bool:
        """Tell the ranks which of them have failed; has any?"""
        for rank in sorted(self.ranks, key=lambda rank: rank.process.poll() or 0):
            if rank.how and not rank.is_known:
                rank.is_known = True
                self.failed.append(rank)
                word = framed(FAILED, json.dumps({rank.rank: rank.how}).encode())
                for other in self.ranks:
                    with contextlib.suppress(OSError):
                        other.control.sendall(word)
                if len(self.failed) == 1:
                    said = f"rank {rank.rank} {rank.how}: all ranks end"
                    print(said, file=sys.stderr, flush=True)
        return bool(self.failed)

    def end(self, number: int) -> None:
        """End the running ranks with this signal, and if necessary with SIGKILL."""
        for last in (number, signal.SIGKILL):
            for rank in self.ranks:
                rank.is_known = rank.is_known or rank.is_running  # ended by us: no failure
                rank.signal(last)
            self.look_after(GRACE)


def _cpus() -> int:
    """The CPUs that this process may use; all of them if the system does not tell."""
    told = getattr(os, "sched_getaffinity", None)
    return len(told(0)) if told else os.cpu_count() or 1


def _guard() -> subprocess.Popen[bytes]:
    """Start the process that ends the ranks if this one is killed. It gets no signals from the
    terminal and does not hold the output open."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(GRACE)], start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
    )  # fmt: skip


def _memory(nbytes: int) -> int:
    """A file for the memory of all ranks, without a name."""
    if hasattr(os, "memfd_create"):  # Linux; not limited by /dev/shm, often 64 MB
        file = os.memfd_create("tutor.distributed")
    else:
        with tempfile.TemporaryFile() as made:
            file = os.dup(made.fileno())
    os.ftruncate(file, nbytes)
    return file


@contextlib.contextmanager
def _raising(*numbers: int) -> Iterator[None]:
    """Turn these signals into an exception in the launcher, so that it ends the ranks first."""

    def ended(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, ended) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- the command line ----------------------------------------------------------------------------


def add_command(commands: Any) -> None:
    text = "Start a program as several ranks on this machine, over shared memory."
    command = commands.add_parser("ranks", help=text, description=text)
    command.add_argument("count", type=int, help="how many")
    command.add_argument("program", nargs=argparse.REMAINDER, help="program.py, or -m module, and "
                         "its arguments")  # fmt: skip
    command.add_argument("--timeout", type=float, help="seconds that a rank waits for others "
                         "(default: TUTOR_DIST_TIMEOUT, else 30)")  # fmt: skip
    command.set_defaults(run=launch)


def launch(args: argparse.Namespace) -> int:
    if not args.program:
        do = "write python -m tutor ranks 4 train.py"
        raise DomainError(f"{args.count} ranks", "no program is named", do)
    return Launcher(args.count, args.program, args.timeout).run()
