"""This rank's number and the number of ranks: `init`, `rank`, `size`.

    python train.py                           # rank 0 of 1
    python -m tutor ranks 4 train.py          # processes of this machine, over shared memory
    mpiexec -n 4 python train.py              # any MPI, any number of machines

Environment variables show which launcher was used; TUTOR_DIST or `init` overrides them.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module

from tutor.distributed.group import CHILD, Group, seconds
from tutor.distributed.transport import Transport
from tutor.errors import DistError, DomainError, unknown

VARIABLE = "TUTOR_DIST"
TRANSPORTS = ("alone", "shared", "mpi")  # each is a module, with a class of the same name
# Set by mpiexec or srun for each process: the number of processes.
LAUNCHED = (
    "PMI_SIZE", "PMIX_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS",
)  # fmt: skip

_group: Group | None = None
_lock = threading.Lock()
_before, _is_child = "alone", False  # the parent's transport before a fork; is this the child?


def init(transport: str | None = None, *, timeout: float | None = None) -> None:
    """Find the other ranks. Otherwise the first call of `tutor.distributed` does so.

    `transport`: "alone", "shared" or "mpi"; None: TUTOR_DIST, else the one of the launcher.
    `timeout`: the seconds that a rank waits for others before it raises DistError (default:
    TUTOR_DIST_TIMEOUT, else 30). Raises DomainError if the program was not launched for this
    transport or has already started with other settings, MissingPackageError if mpi4py is needed
    and missing, DistError in a forked child of a rank.
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
    """The transport of the launcher that started this program."""
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
    """A forked child is no rank, whatever the environment says."""
    global _lock, _is_child
    _lock, _is_child = threading.Lock(), True
    if _group is not None:
        _group.forked()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def group() -> Group:
    """The group of all ranks."""
    if _group is None:
        init()
    assert _group is not None
    return _group


def rank() -> int:
    """The number of this rank: 0 to size() - 1."""
    return group().rank


def size() -> int:
    """The number of ranks."""
    return group().size
