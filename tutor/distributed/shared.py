"""Ranks that are processes of one machine: bytes move through memory that all of them map, messages
through a socket between each two.

`python -m tutor ranks 4 train.py` creates both before it starts the ranks (launcher.py), which find
them through the environment. The memory is a file without a name: however and in whatever order the
ranks end, the system frees it, and nothing is left in /dev/shm.

Each rank has a window in that memory, which it alone writes and all ranks read:

    rank 0: | half 0 | half 1 |   rank 1: | half 0 | half 1 |   ...

Each rank copies its outgoing data into its own window. Then the ranks meet. Then each reads its
data from the windows of the others; sums are computed straight from there. Calls alternate between
the halves: before a rank writes half 0 again it has met all others since, so they have read it.

A meeting is a few bytes through each socket. Sockets are better than flags in the memory: a waiting
rank sleeps and leaves the CPU to those it waits for; and the system closes the sockets of a process
that ends, however it ends, so that the others notice within a millisecond.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import accumulate, pairwise

from tutor.distributed.transport import ENDED_WELL, Absent, Reasons, Transport
from tutor.errors import DomainError

# "12345 rank size launcher memory socket ...": the launcher's process, this rank, and open files
VARIABLE = "TUTOR_DIST_SHARED"
NOTE, FAILED, ENDED = b"n", b"f", b"e"  # kinds of messages
WORD = 0.5  # seconds for the launcher to report how a rank ended
LAUNCHER = -1


class Shared(Transport):
    """One of several ranks that the launcher started."""

    name = "shared"

    def __init__(self, timeout: float) -> None:
        self.rank, self.size, *files = _given()
        self.sockets = {
            rank: socket.socket(fileno=file)
            for rank, file in zip([LAUNCHER, *range(self.size)], files[:1] + files[2:], strict=True)
            if file >= 0
        }
        for file in files:
            if file >= 0:
                os.set_inheritable(file, False)
        memory = memoryview(mmap.mmap(files[1], self.size * 2 * self.piece))
        os.close(files[1])
        cuts = [(i * self.piece, (i + 1) * self.piece) for i in range(self.size * 2)]
        windows = [memory[start:end] for start, end in cuts]
        self.halves = windows[::2], windows[1::2]  # each has one window for every rank
        self.turn = 0
        self.others = [r for r in range(self.size) if r != self.rank]
        self.notes: dict[int, deque[bytes]] = {r: deque() for r in self.sockets}
        self.unread: dict[int, bytearray] = {r: bytearray() for r in self.sockets}
        self.closed: dict[int, float] = {}  # rank -> when its socket closed
        self.reasons: dict[int, Reasons] = {}  # rank -> reasons from it or from the launcher
        self.sending = threading.Lock()
        self.waiting = select.poll()
        self.ranks = {s.fileno(): r for r, s in self.sockets.items()}
        for file in self.ranks:
            self.waiting.register(file, select.POLLIN)

    # ---- the five calls --------------------------------------------------------------------------

    def meet(self, note: bytes, timeout: float) -> list[bytes]:
        for rank in self.others:
            self._send(rank, NOTE, note)
        end = time.monotonic() + timeout
        while absent := [r for r in self.others if not self.notes[r]]:
            self._raise_if_in_vain(absent, end, timeout)
            self._receive(0.05 if self.closed else end - time.monotonic())
        return [note if r == self.rank else self.notes[r].popleft() for r in range(self.size)]

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        windows = self._next()
        if self.rank == root:
            windows[root][: data.nbytes] = data
        self.meet(b"", timeout)
        if self.rank != root:
            data[:] = windows[root][: data.nbytes]

    def gather(self, mine: memoryview, places: Sequence[memoryview], timeout: float) -> None:
        windows = self._next()
        windows[self.rank][: mine.nbytes] = mine
        self.meet(b"", timeout)
        for place, window in zip(places, windows, strict=True):
            if place is not mine:
                place[:] = window[: place.nbytes]

    def deal(self, parts: Sequence[memoryview], timeout: float) -> list[memoryview]:
        windows = self._next()
        starts = [0, *accumulate(part.nbytes for part in parts)]
        cuts = [slice(*cut) for cut in pairwise(starts)]
        for part, cut in zip(parts, cuts, strict=True):
            windows[self.rank][cut] = part
        self.meet(b"", timeout)
        return [window[cuts[self.rank]] for window in windows]

    def tell(self, reasons: Reasons) -> None:
        for rank in self.others:
            self._send(rank, FAILED, json.dumps(reasons).encode())

    def close(self, well: bool) -> None:
        for rank in self.others if well else []:
            self._send(rank, ENDED, b"")

    def leave(self) -> None:
        for own in self.sockets.values():
            own.close()

    # ---- windows and sockets ---------------------------------------------------------------------

    def _next(self) -> list[memoryview]:
        """The halves to write next: all ranks have read them."""
        self.turn ^= 1
        return self.halves[self.turn]

    def _send(self, rank: int, kind: bytes, body: bytes) -> None:
        """Send a message. Messages are short and few, so the socket always has room."""
        # An OSError means that the rank has ended; the next read will find out.
        with self.sending, contextlib.suppress(OSError):
            self.sockets[rank].sendall(framed(kind, body))

    def _receive(self, seconds: float) -> None:
        """Sleep until a message arrives or the time is over, then read all messages."""
        for file, _ in self.waiting.poll(max(0, 1000 * seconds)):
            rank = self.ranks[file]
            try:
                data = self.sockets[rank].recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                self.waiting.unregister(file)
                self.closed[rank] = time.monotonic()
            self.unread[rank] += data
            self._read(rank)

    def _read(self, rank: int) -> None:
        """Take the complete messages out of the bytes received from a rank."""
        data = self.unread[rank]
        while len(data) > 4 and len(data) >= (end := 5 + int.from_bytes(data[:4], "big")):
            kind, body = bytes(data[4:5]), bytes(data[5:end])
            del data[:end]
            if kind == NOTE:
                self.notes[rank].append(body)
                continue
            said = {rank: ENDED_WELL} if kind == ENDED else json.loads(body)
            reasons = {int(r): why for r, why in said.items()}
            about = [rank] if rank != LAUNCHER else reasons
            self.reasons.update(dict.fromkeys(about, reasons))

    def _raise_if_in_vain(self, absent: list[int], end: float, timeout: float) -> None:
        """Raise Absent if one of these ranks will not come, or not in time."""
        now = time.monotonic()
        for rank in absent:
            if rank in self.reasons:
                raise Absent(self.reasons[rank])
        gone = {r: when for r, when in self.closed.items() if r in absent}
        if gone and now > min(gone.values()) + WORD:
            raise Absent(dict.fromkeys(gone, "has ended without a word"))
        if LAUNCHER in self.closed:
            why = "may be there, but what launched all of us has ended"
            raise Absent(dict.fromkeys(absent, why))
        if now > end:
            raise Absent(dict.fromkeys(absent, f"has not come within {timeout:g} s"))


def framed(kind: bytes, body: bytes) -> bytes:
    """A message in the format of the sockets."""
    return len(body).to_bytes(4, "big") + kind + body


def is_launched() -> bool:
    """Has the launcher started this very process? The processes it starts in turn are no ranks."""
    return os.environ.get(VARIABLE, "").partition(" ")[0] == str(os.getppid())


def _given() -> list[int]:
    """The numbers that the launcher put into the environment, removed from it."""
    if not is_launched():
        raise DomainError(
            "a rank over shared memory",
            "this program was not started as one",
            "start it by: python -m tutor ranks 4 program.py",
        )
    return [int(word) for word in os.environ.pop(VARIABLE).split()[1:]]
