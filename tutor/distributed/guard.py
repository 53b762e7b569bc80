"""Guard: the process that ends the ranks when their launcher cannot, because it was killed itself.

The launcher writes "+pid" for each rank that it starts, and "-pid" when that rank has ended. If the
launcher is killed (`kill -9`, or out of memory), the system closes the pipe: then all running ranks
get SIGTERM, and a moment later SIGKILL. The guard is a separate process because nothing inside a
rank would work on every system: the rank may not have imported tutor.distributed yet, or may be
stopped. It starts as a file, without the library, and so costs ten milliseconds.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable


def running(lines: Iterable[str]) -> set[int]:
    """The ranks still running at the end of the input."""
    there: set[int] = set()
    for line in lines:
        (there.add if line[0] == "+" else there.discard)(int(line[1:]))
    return there


def hears(rank: int, number: int) -> bool:
    """Send a signal to a rank and its child processes; is any of them left?"""
    try:
        os.killpg(rank, number)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def end(ranks: set[int], seconds: float) -> None:
    """Send SIGTERM, and SIGKILL to those still running after `seconds` seconds."""
    until = time.monotonic() + seconds
    for rank in ranks:
        hears(rank, signal.SIGTERM)
        hears(rank, signal.SIGCONT)  # wakes a stopped one, so that it gets SIGTERM
    while ranks and time.monotonic() < until:
        time.sleep(0.02)
        ranks = {rank for rank in ranks if hears(rank, 0)}
    for rank in ranks:
        hears(rank, signal.SIGKILL)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        end(running(sys.stdin), float(sys.argv[1]))
