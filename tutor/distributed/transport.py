"""Transport: how bytes go from one rank to another. Five calls on memoryviews; three classes.

    meet(note)            every rank's note, in the order of ranks: a few bytes, and a barrier
    broadcast(data, root) the bytes of `root`'s data in everybody's data
    gather(mine, places)  places[r] is filled with rank r's `mine`
    deal(parts)           what each rank has as parts[this rank], in the order of ranks
    tell(why), close()    to the others: that this rank gives up, and why; that it is done
    leave()               in the child of a fork, which is no rank: let go of what is the parent's

alone.py is one rank, shared.py are processes of one machine, mpi.py is any MPI. What is asked of
the bytes, sums and maxima, is not their business: collectives.py does it, with tutor's kernels.

No call of a transport waits for ever. Each gets the seconds it may wait for others, and raises
Absent where that was in vain, which says of whom, and why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise

Reasons = Mapping[int, str]  # rank -> what is known of why it does not come
ENDED_WELL = "has ended: its program is over"
SMALL = 1 << 14  # bytes: so few go to everybody at once, as a whole


class Absent(Exception):  # noqa: N818 - who calls turns it into a DistError
    """Ranks that have been waited for in vain, each with the reason."""

    def __init__(self, reasons: Reasons) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class Transport(ABC):
    """What the three have in common."""

    name: str
    rank: int
    size: int
    piece = 1 << 22  # how many bytes of a rank are moved by one call, at most

    @abstractmethod
    def meet(self, note: bytes, timeout: float) -> list[bytes]:
        """The notes of all ranks. Nobody returns before everybody has called it."""

    @abstractmethod
    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        """Fill `data` with that of rank `root`."""

    @abstractmethod
    def gather(self, mine: memoryview, places: Sequence[memoryview], timeout: float) -> None:
        """Fill places[r] with `mine` of rank r; places[this rank] may be `mine` itself."""

    @abstractmethod
    def deal(self, parts: Sequence[memoryview], timeout: float) -> list[memoryview]:
        """Hand parts[r] to rank r; what this rank is handed, by each rank in order. It may be read
        until the next call of the transport, and is nobody's Tensor."""

    @abstractmethod
    def tell(self, reasons: Reasons) -> None:
        """Tell the others that this rank comes to no further call, and why. Any thread may."""

    @abstractmethod
    def close(self, well: bool) -> None:
        """The program of this rank has come to its end; after a failure that is not `well`."""

    @abstractmethod
    def leave(self) -> None:
        """This process is a child that the rank has forked off. Nobody hears of it, and the others
        still notice when the rank itself ends."""


def split(view: memoryview, n: int, itemsize: int) -> list[memoryview]:
    """`view` in n parts, as equal as whole numbers of items allow."""
    count = view.nbytes // itemsize
    cuts = [i * count // n * itemsize for i in range(n + 1)]
    return [view[a:b] for a, b in pairwise(cuts)]
