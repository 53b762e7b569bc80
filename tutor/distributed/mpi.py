"""Ranks started by an MPI, on one machine or many: `mpiexec -n 4 python train.py`.

Any MPI that mpi4py can load will do (`pip install "tutorgrad[dist]"` installs mpi4py, `pip install
mpich` an MPI, if the system has none). We use only MPI's messages between two ranks, Isend and
Irecv, and none of its reductions: tutor does the additions, in the order that sums.py defines.

MPI itself waits forever. So nothing here blocks: all requests are started, then polled in turn
until the timeout; between two rounds this rank yields the CPU, for longer and longer. Each request
knows its rank, so an error can name the missing ranks. Reports of failures are messages with
another tag, which every round also looks for.

Two calls of MPI that may never return are avoided: MPI_Init, which waits for all ranks, runs in a
thread that can be abandoned; and after a failure we do not call MPI_Finalize but, as soon as all
ranks have printed their errors, MPI_Abort, which also ends a rank that hangs.

A rank that is killed sends nothing. Open MPI's mpiexec then sends SIGTERM to the others, and
SIGKILL a second later: in between, waiting ranks report the missing one. (MPICH's gives no time.)
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor.distributed.note import LONGEST
from tutor.distributed.transport import ENDED_WELL, SMALL, Absent, Reasons, Transport, split
from tutor.errors import DistError, MissingPackageError

DATA, WORD = 7301, 7302  # tags, which a program's own messages should not use
GRACE = 2.0  # seconds for other ranks to report and print their errors
TOLD = "had not come when this rank was told to end (SIGTERM)"  # most likely by its launcher
EAGER = 0.0005  # seconds during which a waiting rank polls again at once
let_others: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))
Views = Mapping[int, memoryview]  # by rank


class Mpi(Transport):
    """A rank of MPI_COMM_WORLD."""

    name = "mpi"

    def __init__(self, timeout: float) -> None:
        self.mpi, self.is_ours = _started(timeout)
        self.comm = self.mpi.COMM_WORLD
        self.comm.Set_errhandler(self.mpi.ERRORS_RETURN)  # raises exceptions
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.others = [r for r in range(self.size) if r != self.rank]
        self.exchanges = 0  # done by this rank: all ranks do the same ones
        self.reasons: dict[int, Reasons] = {}  # rank -> why it ends, in its own words
        self.did: dict[int, int] = {}  # rank -> the number of exchanges it had done by then
        self.ended: set[int] = set()  # ranks that will send nothing more
        self.lost: set[int] = set()  # ranks that did not come in time
        self.kept: list[Any] = []  # memory that MPI may still read or write
        self.rows = bytearray()
        self.lock = threading.Lock()  # one thread at a time calls MPI
        self.word = bytearray(4 * LONGEST)
        self.listening = self._listen()
        self.waits = self.is_told = False  # SIGTERM came while this rank waited for others
        self.hears = _is_main() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if self.hears:
            signal.signal(signal.SIGTERM, self._told)

    # ---- the five calls --------------------------------------------------------------------------

    def meet(self, note: bytes, timeout: float) -> list[bytes]:
        notes = {r: bytearray(LONGEST) for r in self.others}
        sent = memoryview(bytearray(note))
        self._exchange(
            dict.fromkeys(self.others, sent),
            {r: memoryview(room) for r, room in notes.items()},
            timeout,
        )
        notes[self.rank] = bytearray(note)
        return [bytes(notes[r]).rstrip(b"\0") for r in range(self.size)]

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        """For large data the root sends each rank a part, which that rank sends to all others: so
        no rank sends more than twice the data."""
        if data.nbytes <= SMALL or self.size == 2:
            self._from_root(dict.fromkeys(range(self.size), data), root, timeout)
            return
        parts = dict(enumerate(split(data, self.size, 1)))
        self._from_root(parts, root, timeout)
        them = [r for r in self.others if r != root]
        if self.rank == root:
            self._exchange(dict.fromkeys(them, parts[root]), {}, timeout)
        else:
            received = {r: parts[r] for r in self.others}
            self._exchange(dict.fromkeys(them, parts[self.rank]), received, timeout)

    def _from_root(self, parts: Views, root: int, timeout: float) -> None:
        """Send parts[r] from the root to rank r."""
        if self.rank == root:
            self._exchange({r: parts[r] for r in self.others}, {}, timeout)
        else:
            self._exchange({}, {root: parts[self.rank]}, timeout)

    def gather(self, mine: memoryview, places: Sequence[memoryview], timeout: float) -> None:
        received = {r: places[r] for r in self.others}
        self._exchange(dict.fromkeys(self.others, mine), received, timeout)
        if places[self.rank] is not mine:
            places[self.rank][:] = mine

    def deal(self, parts: Sequence[memoryview], timeout: float) -> list[memoryview]:
        each = parts[self.rank].nbytes
        if len(self.rows) < each * self.size:
            self.rows = bytearray(each * self.size)
        room = memoryview(self.rows)
        rows = [room[i * each : (i + 1) * each] for i in range(self.size)]
        sent = {r: parts[r] for r in self.others}
        self._exchange(sent, {r: rows[r] for r in self.others}, timeout)
        rows[self.rank][:] = parts[self.rank]
        return rows

    def tell(self, reasons: Reasons) -> None:
        few = dict([*reasons.items()][:4])  # as many as fit into a word
        self._say(json.dumps([self.exchanges, few]).encode())

    def close(self, well: bool) -> None:
        """Wait until the others are done, as MPI_Finalize does; after a failure wait only briefly,
        then end all ranks."""
        if well:
            self.tell({self.rank: ENDED_WELL})
        self._say(b"")
        if self.hears and _is_main():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end = time.monotonic() + GRACE
        while {*self.others} - self.lost - self.ended and (well or time.monotonic() < end):
            self._hear()
            time.sleep(0.001)
        all_well = all(said == {r: ENDED_WELL} for r, said in self.reasons.items())
        with self.lock, contextlib.suppress(self.mpi.Exception):
            if not (well and all_well):  # messages may remain unread forever
                time.sleep(GRACE / 4)  # mpiexec needs time to read the output: it drops the rest
                self.comm.Abort(1)
            self.listening.Cancel()
            self.listening.Wait()
            if self.is_ours:
                self.mpi.Finalize()

    def leave(self) -> None:
        if self.hears:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    # ---- messages --------------------------------------------------------------------------------

    def _exchange(self, sent: Views, received: Views, timeout: float) -> None:
        """Send these views and fill those; the keys are the ranks to send to and receive from."""
        mpi, left = self.mpi, {}
        try:
            with self.lock:
                for r, view in received.items():
                    left[r, "to"] = self.comm.Irecv([view, mpi.BYTE], r, DATA)
                for r, view in sent.items():
                    left[r, "from"] = self.comm.Isend([view, mpi.BYTE], r, DATA)
            self._finish(left, timeout)
            self.exchanges += 1
        except (Exception, KeyboardInterrupt):
            self.kept += [left, sent, received]  # MPI may still write into these
            with self.lock, contextlib.suppress(mpi.Exception):
                for request in left.values():
                    request.Cancel()
            raise

    def _finish(self, left: dict[Any, Any], timeout: float) -> None:
        """Poll the requests until all are done; Absent if a rank does not do its part."""
        self.waits = True
        try:
            self._until_done(left, timeout)
        finally:
            self.waits = False
        if self.is_told:  # all came in time: end as the signal would have
            os.kill(os.getpid(), signal.SIGTERM)

    def _until_done(self, left: dict[Any, Any], timeout: float) -> None:
        begin = time.monotonic()
        while left:
            with self.lock:
                try:
                    done = [key for key, request in left.items() if request.Test()]
                except self.mpi.Exception as error:
                    why = f"cannot be reached: {str(error)[:200]}"
                    raise Absent({r: why for r, _ in left}) from None
            for key in done:
                del left[key]
            self._hear()
            absent = {r for r, _ in left}
            for r in absent & {*self.reasons}:
                if self.did[r] <= self.exchanges:  # else its word overtook its bytes
                    raise Absent(self.reasons[r])
            if self.is_told and absent:
                self.lost |= absent
                raise Absent(dict.fromkeys(absent, TOLD))
            waited = time.monotonic() - begin
            if waited > timeout + GRACE / 4:  # a bit longer: one of them may report why
                self.lost |= absent
                raise Absent(dict.fromkeys(absent, f"has not come within {timeout:g} s"))
            if not done:
                let_others() if waited < EAGER else time.sleep(min(waited / 10, 0.001))

    def _told(self, *_: object) -> None:
        """On SIGTERM: raise and name the missing ranks if waiting; else end as by default."""
        if self.waits:
            self.is_told = True
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def _say(self, word: bytes) -> None:
        """Send a word to all others, without waiting."""
        with self.lock, contextlib.suppress(self.mpi.Exception):
            view = bytearray(word)
            requests = [self.comm.Isend([view, self.mpi.BYTE], r, WORD) for r in self.others]
            self.kept += [view, requests]

    def _hear(self) -> None:
        """Read the words that have arrived: why a rank ends, or that it will send nothing more."""
        with self.lock, contextlib.suppress(self.mpi.Exception):
            status = self.mpi.Status()
            while self.listening.Test(status):
                rank = status.Get_source()
                said = self.word[: status.Get_count(self.mpi.BYTE)]
                if said:
                    self.did[rank], reasons = json.loads(said)
                    self.reasons[rank] = {int(r): why for r, why in reasons.items()}
                else:
                    self.ended.add(rank)
                self.listening = self._listen()

    def _listen(self) -> Any:
        return self.comm.Irecv([self.word, self.mpi.BYTE], self.mpi.ANY_SOURCE, WORD)


def _is_main() -> bool:
    """Is this the main thread, the only one that may set signal handlers?"""
    return threading.current_thread() is threading.main_thread()


def _started(timeout: float) -> tuple[Any, bool]:
    """mpi4py's MPI, initialized, and whether we initialized it."""
    is_ours = "mpi4py.MPI" not in sys.modules
    try:
        import mpi4py

        if is_ours:
            mpi4py.rc.initialize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(
            "ranks over MPI",
            str(error).strip().partition("\n")[0],
            'pip install "tutorgrad[dist]" for mpi4py; for an MPI, where there is none: pip install'
            " mpich, or name its library in MPI4PY_LIBMPI",
        ) from None
    if MPI.Is_initialized():
        return MPI, False
    starting = threading.Thread(target=_initialize, args=[MPI], daemon=True)
    starting.start()
    starting.join(timeout)
    if not MPI.Is_initialized():
        raise DistError(
            "to find the other ranks over MPI",
            f"not all of them have come within {timeout:g} s: one may have ended before",
            "look at what the others have printed; where one only takes long to start, wait longer:"
            " TUTOR_DIST_TIMEOUT=600",
        )
    return MPI, True


def _initialize(mpi: Any) -> None:
    """Call MPI_Init_thread through ctypes, which lets other threads run meanwhile."""
    for library in (mpi.__file__, None):  # linked to MPI, or MPI was loaded before
        start = getattr(ctypes.CDLL(library), "MPI_Init_thread", None)
        if start is not None:
            start(None, None, ctypes.c_int(mpi.THREAD_MULTIPLE), ctypes.byref(ctypes.c_int()))
            return
    mpi.Init_thread()
