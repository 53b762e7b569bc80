"""Guard: the process that ends the ranks when their launcher cannot, because it was killed itself.

The launcher writes "+pid" for each rank that it starts, and "-pid" when that one has ended. Where
it is killed (`kill -9`, or memory that ran out), the system closes the pipe: then what still runs
gets SIGTERM, and a moment later SIGKILL. It is a process of its own because nothing inside a rank
would do on every system: a rank may not have come to tutor.distributed yet, or be stopped. It is
started as a file, without the library, so that it costs ten milliseconds.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable


def running(lines: Iterable[str]) -> set[int]:
    """The ranks that run when there is nothing more to read."""
    there: set[int] = set()
    for line in lines:
        (there.add if line[0] == "+" else there.discard)(int(line[1:]))
    return there


def hears(rank: int, number: int) -> bool:
    """Send a signal to a rank and to what it has started; is anybody left of them?"""
    try:
        os.killpg(rank, number)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def end(ranks: set[int], seconds: float) -> None:
    """End them: those that have not done so after so many seconds by SIGKILL."""
    until = time.monotonic() + seconds
    for rank in ranks:
        hears(rank, signal.SIGTERM)
        hears(rank, signal.SIGCONT)  # one that was stopped hears it, too
    while ranks and time.monotonic() < until:
        time.sleep(0.02)
        ranks = {rank for rank in ranks if hears(rank, 0)}
    for rank in ranks:
        hears(rank, signal.SIGKILL)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        end(running(sys.stdin), float(sys.argv[1]))
