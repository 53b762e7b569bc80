"""Which rank this is, and of how many: `init`, `rank`, `size`.

    python train.py                           # rank 0 of 1
    python -m tutor ranks 4 train.py          # processes of this machine, over shared memory
    mpiexec -n 4 python train.py              # any MPI, any number of machines

The launcher is known by what it puts into the environment; TUTOR_DIST, or `init`, says otherwise.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module

from tutor.distributed.group import CHILD, Group, seconds
from tutor.distributed.transport import Transport
from tutor.errors import DistError, DomainError, unknown

VARIABLE = "TUTOR_DIST"
TRANSPORTS = ("alone", "shared", "mpi")  # the module of each has a class of its name
# What mpiexec, or srun, tells the processes that it starts: how many there are.
LAUNCHED = (
    "PMI_SIZE", "PMIX_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS",
)  # fmt: skip

_group: Group | None = None
_lock = threading.Lock()
_before, _is_child = "alone", False  # of a fork: how the parent would find the others; after it


def init(transport: str | None = None, *, timeout: float | None = None) -> None:
    """Find the other ranks. Without it, the first call of `tutor.distributed` does that.

    `transport`: "alone", "shared" or "mpi"; None: TUTOR_DIST's, else what launched this program.
    `timeout`: the seconds that a rank waits for others before it raises DistError (default:
    TUTOR_DIST_TIMEOUT's, else 30). Raises DomainError where the program was not launched so, and
    where it has begun otherwise, MissingPackageError where mpi4py is wanted and not there,
    DistError in a child that a rank has forked off.
    """
    global _group
    with _lock:
        if _group is None:
            if _is_child and _before != "alone":
                do = "call dist.init() before the fork, and collectives in the rank itself"
                raise DistError("to find the other ranks", CHILD, do)
            name = transport or os.environ.get(VARIABLE) or launched()
            wait = seconds(timeout)
            _group = Group(_made(name, wait), wait)
            return
    found = _group.transport.name
    if transport not in (None, found) or timeout not in (None, _group.timeout):
        raise DomainError(
            f"dist.init({transport!r}, timeout={timeout})",
            f"the ranks have found each other: {found!r}, timeout={_group.timeout:g}",
            "call it once, before all else of tutor.distributed",
        )


def launched() -> str:
    """The transport of what started this program."""
    from tutor.distributed import shared

    if shared.is_launched():
        return "shared"
    several = any(os.environ.get(name, "1") != "1" for name in LAUNCHED)
    return "mpi" if several else "alone"


def _made(name: str, timeout: float) -> Transport:
    if name not in TRANSPORTS:
        raise unknown("transport", name, TRANSPORTS, "docs/ranks.md")
    made: Transport = getattr(import_module(f"tutor.distributed.{name}"), name.capitalize())(
        timeout
    )
    return made


def _before_fork() -> None:
    global _before
    if not _is_child:
        _before = os.environ.get(VARIABLE) or launched()


def _in_child() -> None:
    """What was forked off is no rank, whatever the environment says."""
    global _lock, _is_child
    _lock, _is_child = threading.Lock(), True
    if _group is not None:
        _group.forked()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def group() -> Group:
    """All ranks, as this one sees them."""
    if _group is None:
        init()
    assert _group is not None
    return _group


def rank() -> int:
    """Which of the ranks this is: 0 to size() - 1."""
    return group().rank


def size() -> int:
    """How many ranks there are."""
    return group().size
