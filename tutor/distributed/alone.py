"""One rank: a program started without a launcher. All collectives work and send nothing, so the
same program runs with one rank and with many."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.distributed.transport import Reasons, Transport


class Alone(Transport):
    """Rank 0 of 1."""

    name, rank, size = "alone", 0, 1

    def __init__(self, timeout: float) -> None:
        pass

    def meet(self, note: bytes, timeout: float) -> list[bytes]:
        return [note]

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        pass

    def gather(self, mine: memoryview, places: Sequence[memoryview], timeout: float) -> None:
        if places[0] is not mine:
            places[0][:] = mine

    def deal(self, parts: Sequence[memoryview], timeout: float) -> list[memoryview]:
        return [memoryview(bytearray(parts[0]))]

    def tell(self, reasons: Reasons) -> None:
        pass

    def close(self, well: bool) -> None:
        pass

    def leave(self) -> None:
        pass
