"""`python -m tutor ranks 4 train.py --epochs 2`: the same program as four processes.

The launcher makes what they need to find each other (shared.py says what), starts them, and hands
on what they print, line by line, each with its rank in front. It waits for all. Where one ends with
an error, it tells the others, gives them a few seconds to say what they were waiting for, and ends
them. It restarts nothing: what has been trained since the last checkpoint is gone either way. Where
it is killed itself, another process ends them (guard.py).

Each rank may use its share of the CPUs (TUTOR_NUM_THREADS, unless it is set), and reads nothing
from the terminal. Ctrl-C reaches the launcher alone, which hands it on to each of them, once.
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

GRACE = 2.0  # seconds that the other ranks have, to end by themselves, when one has failed
MOST = 32  # ranks: each two of them have a socket


class Rank:
    """A process that has been started, and what it has printed of a line that is not whole."""

    def __init__(self, rank: int, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.rank, self.process, self.control = rank, process, control
        assert process.stdout and process.stderr
        self.pipes = {process.stdout: sys.stdout, process.stderr: sys.stderr}
        self.begun = dict.fromkeys(self.pipes, b"")
        self.is_known = False  # do the others know that it has failed?
        self.is_guarded = False  # would it be ended if the launcher were killed?

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def how(self) -> str:
        """How it failed, in words; "" where it has not."""
        code = self.process.poll() or 0
        if code >= 0:
            return f"has ended with exit code {code}" if code else ""
        names = {s.value: s.name for s in signal.Signals}
        return f"was ended by {names.get(-code, f'signal {-code}')}"

    def print(self, pipe: IO[bytes], data: bytes) -> None:
        """Hand on what it has printed, in whole lines; at the end of it (no data) what is left."""
        *lines, self.begun[pipe] = (self.begun[pipe] + data).split(b"\n")
        if not data and self.begun[pipe]:
            lines, self.begun[pipe] = [self.begun[pipe]], b""
        for line in lines:
            text = line.decode(errors="replace")
            print(f"[rank {self.rank}] {text}", file=self.pipes[pipe], flush=True)

    def signal(self, number: int) -> None:
        """Send a signal to it, and to what it has started itself."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
                os.killpg(self.process.pid, signal.SIGCONT)  # one that was stopped hears it, too


class Launcher:
    """Starts `count` ranks of a program, and looks after them."""

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
        self.failed: list[Rank] = []  # the first one first
        self.guard: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Start all, wait for all; the exit code: 0, or that of the first that failed."""
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
        """One after the other. Each pair's socket is made with the first of the two, and each end
        is closed here as soon as its rank has it: so a rank that ends is the last to have it."""
        self.guard = _guard()
        memory = _memory(self.count * 2 * Shared.piece)
        ends: dict[tuple[int, int], socket.socket] = {}  # (whose, to whom)
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
        variables.pop(environment.VARIABLE, None)  # it is known by the one above
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
        """Hand on what the ranks print until all have ended, or for so long; where one fails, not
        longer than GRACE."""
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
        while self._read(poll, pipes, 0):  # what the last of them printed at the end
            pass
        self._tell_of_failures()

    def _read(self, poll: Any, pipes: dict[int, tuple[Rank, IO[bytes]]], seconds: float) -> bool:
        """Hand on what has been printed, waiting so long for it; was there anything?"""
        found = poll.poll(1000 * seconds)
        for file, _ in found:
            rank, pipe = pipes[file]
            data = os.read(file, 1 << 16)
            rank.print(pipe, data)
            if not data:
                poll.unregister(file)
        return bool(found)

    def _tell_guard(self) -> None:
        """Say which ranks run, where that is no longer what was said last."""
        assert self.guard and self.guard.stdin
        for rank in self.ranks:
            if rank.is_guarded is not rank.is_running:
                rank.is_guarded = not rank.is_guarded
                word = f"{'+' if rank.is_guarded else '-'}{rank.process.pid}\n"
                with contextlib.suppress(BrokenPipeError):  # it was killed
                    self.guard.stdin.write(word.encode())

    def _tell_of_failures(self) -> bool:
        """Tell the ranks of those among them that have failed; is there one?"""
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
        """End those that still run: by this signal, and if need be by SIGKILL."""
        for last in (number, signal.SIGKILL):
            for rank in self.ranks:
                rank.is_known = rank.is_known or rank.is_running  # it does not fail: it is ended
                rank.signal(last)
            self.look_after(GRACE)


def _cpus() -> int:
    """Those that this process may run on; where the system does not say it, all."""
    told = getattr(os, "sched_getaffinity", None)
    return len(told(0)) if told else os.cpu_count() or 1


def _guard() -> subprocess.Popen[bytes]:
    """The process that ends the ranks where this one is killed; no signal of a terminal comes to
    it, and nobody who reads what the ranks print waits for it."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(GRACE)], start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
    )  # fmt: skip


def _memory(nbytes: int) -> int:
    """The file of a memory for all ranks, which has no name."""
    if hasattr(os, "memfd_create"):  # in Linux, and not of the size of /dev/shm, often 64 MB
        file = os.memfd_create("tutor.distributed")
    else:
        with tempfile.TemporaryFile() as made:
            file = os.dup(made.fileno())
    os.ftruncate(file, nbytes)
    return file


@contextlib.contextmanager
def _raising(*numbers: int) -> Iterator[None]:
    """Let these signals end the launcher by an exception, so that it ends the ranks first."""

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
