"""Memory statistics and policy: how much memory Buffers use, and where it comes from.

    >>> from tutor import Buffer, memory
    >>> before = memory.stats().in_use
    >>> numbers = Buffer([0.0] * 1000)
    >>> memory.stats().in_use - before
    4000

A policy determines where a Buffer's bytes come from. It may be changed at any time:

- "plain": each block comes from the system, and returns to it when its Buffer is freed.
- "pool", the default: a freed block waits for the next Buffer of its size class. Training repeats
  the same sizes, so after a few steps no block comes from the system, and no page is touched for
  the first time. Up to 256 bytes are in the Memory object itself, which is from Python's own pool.
- "arena": blocks are cut one after another from a chunk of 16 MiB, which is free again when the
  last of them is freed. One block that stays keeps a whole chunk, so say where a step begins and
  ends: what is made between mark() and reset(), in every step the same memory, is apart from all
  that lasts.

`limit` is the maximum number of unused bytes to pool; any more return to the system at once. No
result depends on any of this. Without the C++ extension, memory in plain Python counts the same and
supports only "plain".
"""

from __future__ import annotations

from typing import NamedTuple

from tutor._storage.memory import Memory, PythonMemory
from tutor.errors import DomainError

POLICIES = ("plain", "pool", "arena")


class Stats(NamedTuple):
    """Counts over all Buffers. Borrowed memory (`copy=False`) is not counted."""

    allocations: int  # so far
    hits: int  # allocations that needed nothing from the system
    misses: int  # all other allocations
    in_use: int  # bytes in Buffers now
    held: int  # pooled bytes, waiting for the next Buffer
    peak: int  # the maximum of in_use since the last reset_peak()

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
    """The current counts."""
    allocations, misses, in_use, held, peak = Memory.counts()
    return Stats(allocations, allocations - misses, misses, in_use, held, peak)


def reset_peak() -> None:
    """Measure the peak from here on."""
    Memory.reset_peak()


def trim() -> int:
    """Return all pooled memory to the system; returns the number of bytes."""
    given_back: int = Memory.trim()
    return given_back


def config() -> Config:
    """The policy and the limit in force."""
    return Config(*Memory.config())


def configure(*, policy: str | None = None, limit: int | None = None) -> None:
    """Set the policy for Buffers made from here on, and the limit of unused bytes.

    Blocks already in use are freed by the policy they came from. DomainError for an invalid policy
    or limit.
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


def mark() -> int:
    """Begin a step on the arena: what is made until reset(mark) gets memory of its own.

    >>> from tutor import Buffer, memory
    >>> settings = memory.config()
    >>> memory.configure(policy="arena")
    >>> start = memory.mark()
    >>> numbers = Buffer([0.0] * 1000)
    >>> del numbers  # no Buffer of the step is in use any more
    >>> memory.reset(start)  # the next step has the same memory, and no page of it is new
    >>> memory.configure(**settings._asdict())

    Marks may be inside each other, up to 63. DomainError under another policy.
    """
    number = int(Memory.mark()) if config().policy == "arena" else -1
    if number < 1:
        raise DomainError(
            "a mark in the arena",
            f"the policy is {config().policy!r}" if number else "63 marks are open",
            "call memory.configure(policy='arena') first" if number else "reset one of them",
        )
    return number


def reset(mark: int) -> None:
    """End the step that began with this mark, and those that began since.

    DomainError if something that was made since is still in use, as its memory would be given to
    the next step; then nothing has changed.
    """
    known = isinstance(mark, int) and not isinstance(mark, bool) and 0 < mark < 64
    blocks = int(Memory.reset(mark)) if known and Memory is not PythonMemory else -1
    if blocks < 0:
        raise DomainError(
            f"memory.reset({mark!r})",
            "no such mark is open",
            "give what memory.mark() returned, once",
        )
    if blocks:
        raise DomainError(
            f"memory.reset({mark})",
            f"{blocks} blocks that were made since the mark are in use",
            "drop them first: take loss.item(), call zero_grad(); make what lasts before the mark",
        )
