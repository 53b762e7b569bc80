"""Transport: how bytes get from one rank to another. Five calls on memoryviews; three classes.

    meet(note)            every rank's note, in the order of ranks: a few bytes, and a barrier
    broadcast(data, root) fills everybody's data with the bytes of `root`'s
    gather(mine, places)  places[r] is filled with rank r's `mine`
    deal(parts)           each rank's parts[this rank], in the order of ranks
    tell(why), close()    tells the others that this rank gives up, and why; that it is done
    leave()               in a forked child, which is no rank: releases the parent's connections

alone.py is one rank, shared.py processes of one machine, mpi.py any MPI. Sums and maxima are not
their business: collectives.py computes them, with tutor's kernels.

No call of a transport waits forever. Each gets a timeout in seconds and raises Absent after it,
naming the missing ranks and the reasons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise

Reasons = Mapping[int, str]  # rank -> the known reason why it does not come
ENDED_WELL = "has ended: its program is over"
SMALL = 1 << 14  # bytes: up to this size, data goes to everybody whole


class Absent(Exception):  # noqa: N818 - callers turn it into a DistError
    """Missing ranks, each with the reason."""

    def __init__(self, reasons: Reasons) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Transport(ABC):
    """The interface of the three transports."""

    name: str
    rank: int
    size: int
    piece = 1 << 22  # the most bytes of a rank that one call moves

    @abstractmethod
    def meet(self, note: bytes, timeout: float) -> list[bytes]:
        """The notes of all ranks. Returns only after all ranks have called it."""

    @abstractmethod
    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        """Fill `data` with the bytes of rank `root`."""

    @abstractmethod
    def gather(self, mine: memoryview, places: Sequence[memoryview], timeout: float) -> None:
        """Fill places[r] with `mine` of rank r; places[this rank] may be `mine` itself."""

    @abstractmethod
    def deal(self, parts: Sequence[memoryview], timeout: float) -> list[memoryview]:
        """Send parts[r] to rank r; returns the parts received, in the order of ranks. They are
        valid until the next call of the transport, and must not become Tensors."""

    @abstractmethod
    def tell(self, reasons: Reasons) -> None:
        """Tell the others that this rank takes part in no further call, and why. Thread-safe."""

    @abstractmethod
    def close(self, well: bool) -> None:
        """The program of this rank has ended; `well` is false after a failure."""

    @abstractmethod
    def leave(self) -> None:
        """This process is a forked child of the rank. The others are not told, and still notice
        when the rank itself ends."""


def split(view: memoryview, n: int, itemsize: int) -> list[memoryview]:
    """`view` in n parts, as equal as whole items allow."""
    count = view.nbytes // itemsize
    cuts = [i * count // n * itemsize for i in range(n + 1)]
    return [view[a:b] for a, b in pairwise(cuts)]
