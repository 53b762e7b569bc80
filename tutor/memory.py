"""Memory as a whole: how much of it Buffers have, where it comes from, how to change that.

    >>> from tutor import Buffer, memory
    >>> before = memory.stats().in_use
    >>> numbers = Buffer([0.0] * 1000)
    >>> memory.stats().in_use - before
    4000

Where a Buffer's bytes come from is one of three policies, which may be changed at any time:

- "plain": each block from the system, and back to it as soon as its Buffer goes.
- "pool", the default: a block that was given back waits for the next Buffer of its size class.
  Training asks for the same sizes in every step, so after the first few steps no block comes from
  the system any more, and no page is touched for the first time. Numbers of up to 256 bytes stand
  in the Memory object itself, which Python takes from a pool of its own.
- "arena": blocks are cut one after another from a chunk of 16 MiB, which is free again when the
  last of them has gone. Nothing is simpler, and nothing wastes more if one of them stays.

`limit` is how many bytes may wait while nobody uses them; what is beyond goes back to the system at
once. No result depends on any of this. Memory in plain Python, where the extension was not built,
counts the same, and knows "plain" only.
"""

from __future__ import annotations

from typing import NamedTuple

from tutor._storage.memory import Memory
from tutor.errors import DomainError

POLICIES = ("plain", "pool", "arena")


class Stats(NamedTuple):
    """What all Buffers together have asked for. Borrowed memory (`copy=False`) is not counted."""

    allocations: int  # so far
    hits: int  # of them, those that needed nothing from the system
    misses: int  # the others
    in_use: int  # bytes in Buffers now
    held: int  # bytes that wait for the next Buffer
    peak: int  # the most bytes in Buffers at one time, since the last reset_peak()

    def __str__(self) -> str:
        share = self.hits / self.allocations if self.allocations else 0.0
        return (
            f"{self.allocations:,} allocations, {self.hits:,} of them ({share:.1%}) without the"
            f" system\n{readable(self.in_use)} in use, {readable(self.held)} held,"
            f" peak {readable(self.peak)}"
        )


class Config(NamedTuple):
    """`configure(**config()._asdict())` changes nothing."""

    policy: str
    limit: int


def readable(nbytes: int) -> str:
    """1536 -> '1.5 KiB'"""
    size, unit = float(nbytes), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{nbytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


def stats() -> Stats:
    """The counts as they are now."""
    allocations, misses, in_use, held, peak = Memory.counts()
    return Stats(allocations, allocations - misses, misses, in_use, held, peak)


def reset_peak() -> None:
    """Count the peak from here on."""
    Memory.reset_peak()


def trim() -> int:
    """Give back to the system all that waits unused, and return how many bytes that was."""
    given_back: int = Memory.trim()
    return given_back


def config() -> Config:
    """The policy and the limit in force."""
    return Config(*Memory.config())


def configure(*, policy: str | None = None, limit: int | None = None) -> None:
    """Choose the policy for Buffers from here on, and how many bytes may wait unused.

    What has been handed out goes back the way it came. DomainError for what is no policy or limit.
    """
    policy = config().policy if policy is None else policy
    limit = config().limit if limit is None else limit
    if policy not in POLICIES:
        raise DomainError(
            f"the memory policy {policy!r}", "there is no such", f"use one of {', '.join(POLICIES)}"
        )
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit < 2**63:
        raise DomainError(
            f"memory with limit={limit!r}",
            "that is no number of bytes",
            "give a whole number from 0, which holds nothing back, to 2**63 - 1",
        )
    Memory.configure(policy, limit)
