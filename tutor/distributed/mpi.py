"""Ranks that an MPI has started, on one machine or many: `mpiexec -n 4 python train.py`.

Any MPI will do that mpi4py can load (`pip install "tutorgrad[dist]"` brings mpi4py, `pip install
mpich` an MPI, where the system has none). Of MPI we use messages between two ranks, Isend and
Irecv, and its sums not at all: additions are tutor's, in the order that sums.py states.

MPI itself waits for ever. So nothing here blocks: all requests are started, then asked in turns
whether they are done, until the time is over; between two turns the CPU is left to others, longer
and longer. Requests know their rank: so it is known who has not come. What a rank has to say of
failures comes as a message of another tag, which is looked for in each turn.

Two things that MPI does for ever are kept away from: MPI_Init, which waits for all ranks, runs in a
thread that can be given up; and after a failure there is no MPI_Finalize, but, as soon as all ranks
have printed what they have to say, MPI_Abort, so that a rank that hangs is ended, too.

A rank that is killed says nothing. Open MPI's mpiexec then sends SIGTERM to the others, and SIGKILL
a second later: in between, those that wait say for whom. (MPICH's mpiexec gives no time.)
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

DATA, WORD = 7301, 7302  # tags; those of a program's own messages should be others
GRACE = 2.0  # seconds that others may need to say, and print, why they end
TOLD = "had not come when this rank was told to end (SIGTERM)"  # by its launcher, most likely
EAGER = 0.0005  # seconds in which a rank that waits asks again at once
let_others: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))
Views = Mapping[int, memoryview]  # by rank


class Mpi(Transport):
    """A rank of MPI_COMM_WORLD."""

    name = "mpi"

    def __init__(self, timeout: float) -> None:
        self.mpi, self.is_ours = _started(timeout)
        self.comm = self.mpi.COMM_WORLD
        self.comm.Set_errhandler(self.mpi.ERRORS_RETURN)  # as exceptions
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.others = [r for r in range(self.size) if r != self.rank]
        self.exchanges = 0  # those that this rank has done: all ranks do the same ones
        self.reasons: dict[int, Reasons] = {}  # rank -> what it said of its end
        self.did: dict[int, int] = {}  # rank -> how many exchanges it had done by then
        self.ended: set[int] = set()  # those that have nothing more to say
        self.lost: set[int] = set()  # those that have been waited for in vain
        self.kept: list[Any] = []  # what MPI may still read, or write
        self.rows = bytearray()
        self.lock = threading.Lock()  # MPI is called by one thread at a time
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
        """Of much data, the root sends each rank a part, which that one sends to all others: so no
        rank sends more than twice what there is."""
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
        """parts[r] to rank r."""
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
        few = dict([*reasons.items()][:4])  # as many as the room for a word takes
        self._say(json.dumps([self.exchanges, few]).encode())

    def close(self, well: bool) -> None:
        """Wait until the others are done, too, as MPI_Finalize does; after a failure not for long,
        and end them all."""
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
            if not (well and all_well):  # what they have sent may be unread for ever
                time.sleep(GRACE / 4)  # until mpiexec has read what was printed: it drops the rest
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
        """Send these views, and fill those, each to and from its rank."""
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
            self.kept += [left, sent, received]  # MPI may still write into what it was given
            with self.lock, contextlib.suppress(mpi.Exception):
                for request in left.values():
                    request.Cancel()
            raise

    def _finish(self, left: dict[Any, Any], timeout: float) -> None:
        """Ask the requests until all are done; Absent where a rank does not do its part."""
        self.waits = True
        try:
            self._until_done(left, timeout)
        finally:
            self.waits = False
        if self.is_told:  # all came in time: so it ends as it would have
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
                if self.did[r] <= self.exchanges:  # else its word came faster than its bytes
                    raise Absent(self.reasons[r])
            if self.is_told and absent:
                self.lost |= absent
                raise Absent(dict.fromkeys(absent, TOLD))
            waited = time.monotonic() - begin
            if waited > timeout + GRACE / 4:  # a little more: one of them may know of whom it waits
                self.lost |= absent
                raise Absent(dict.fromkeys(absent, f"has not come within {timeout:g} s"))
            if not done:
                let_others() if waited < EAGER else time.sleep(min(waited / 10, 0.001))

    def _told(self, *_: object) -> None:
        """SIGTERM: a rank that waits raises, and says for whom; else it ends as it would have."""
        if self.waits:
            self.is_told = True
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)

    def _say(self, word: bytes) -> None:
        """A word to all others, for which nobody waits."""
        with self.lock, contextlib.suppress(self.mpi.Exception):
            view = bytearray(word)
            requests = [self.comm.Isend([view, self.mpi.BYTE], r, WORD) for r in self.others]
            self.kept += [view, requests]

    def _hear(self) -> None:
        """Read the words that have come: why a rank ends, and that it has nothing more to say."""
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
    """May this thread say what a signal does?"""
    return threading.current_thread() is threading.main_thread()


def _started(timeout: float) -> tuple[Any, bool]:
    """mpi4py's MPI, with MPI started; was it we who did?"""
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
    """MPI_Init_thread, by way of ctypes, which lets other threads run meanwhile."""
    for library in (mpi.__file__, None):  # linked to MPI, or found by who loaded MPI before
        start = getattr(ctypes.CDLL(library), "MPI_Init_thread", None)
        if start is not None:
            start(None, None, ctypes.c_int(mpi.THREAD_MULTIPLE), ctypes.byref(ctypes.c_int()))
            return
    mpi.Init_thread()
