"""The cost of a training step on several ranks: a model, for machines that are not at hand.

A message of m bytes takes  latency + m / bandwidth  (Hockney 1994, "The communication challenge for
MPP"). This gives the time of an all_reduce on n ranks for each algorithm (Thakur, Rabenseifner &
Gropp 2005, "Optimization of collective communication operations in MPICH"; Patarasuk & Yuan 2009,
"Bandwidth optimal all-reduce algorithms for clusters of workstations"):

    ring       2 (n - 1) messages one after another, each of m / n bytes: the ranks form a circle
               and pass parts of the sum along it, one round to add, one to share the sums
    tree       2 log2 n messages of m bytes: up a tree to add, down again to share the sum
    doubling   log2 n messages of m bytes: with the neighbour, then with the one 2 away, 4 away, ...
    halving    2 log2 n messages, 2 m (n - 1) / n bytes in all: as doubling, but each exchange
               sends half of the remaining part, and then back again (Rabenseifner 2004)
    direct     each with each, twice: 2 (n - 1) messages of m / n bytes. tutor.distributed does
               this, after a note from each to each: n - 1 more messages

The time of a step follows: backward fills one bucket after another, and each is sent while the next
is filled; at the end one more short message counts the rows. Additions are not counted: memory is
faster than all of these links.

    >>> work = gpt(parameters=124e6, tokens=8192, flops=100e12)
    >>> print(f"{step(work, 64, LINKS['InfiniBand HDR']).efficiency:.0%}")
    97%
    >>> print(f"{step(work, 64, LINKS['Ethernet 10G']).efficiency:.0%}")
    7%
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import Any, NamedTuple

from tutor.distributed.buckets import BYTES
from tutor.errors import DomainError, unknown


class Link(NamedTuple):
    """The connection between ranks."""

    latency: float  # seconds for an empty message
    bandwidth: float  # bytes per second, in each direction
    source: str


LINKS = {
    "Ethernet 10G": Link(20e-6, 1.25e9, "latency between programs over TCP: Hurwitz & Feng 2003, "
                         "'Initial end-to-end performance evaluation of 10-Gigabit Ethernet'; "
                         "bandwidth: the line's"),
    "Ethernet 100G": Link(0.6e-6, 12.5e9, "ConnectX-5 EN, product brief: 'sub-600ns', with RoCE; "
                          "what programs add is not in it"),
    "InfiniBand HDR": Link(0.6e-6, 25e9, "ConnectX-6, introduction to the user manual: 200 Gb/s, "
                           "'sub-600ns latency'; what programs add is not in it"),
    "InfiniBand NDR": Link(0.6e-6, 50e9, "ConnectX-7, introduction to the user manual: 400 Gb/s; "
                           "it states no latency: that of ConnectX-6"),
    "shared memory": Link(60e-6, 6.5e9, "measured: benchmarks/ranks.py, 2 ranks on the two "
                          "cores of a busy virtual machine (AMD EPYC); best of many"),
}  # fmt: skip


def ring(nbytes: float, ranks: int, link: Link) -> float:
    """2 (n - 1) (latency + m / n / bandwidth)"""
    return 2 * (ranks - 1) * (link.latency + nbytes / ranks / link.bandwidth)


def tree(nbytes: float, ranks: int, link: Link) -> float:
    """2 log2 n (latency + m / bandwidth)"""
    return 2 * ceil(log2(ranks)) * (link.latency + nbytes / link.bandwidth)


def doubling(nbytes: float, ranks: int, link: Link) -> float:
    """log2 n (latency + m / bandwidth)"""
    return ceil(log2(ranks)) * (link.latency + nbytes / link.bandwidth)


def halving(nbytes: float, ranks: int, link: Link) -> float:
    """2 log2 n latency + 2 m (n - 1) / n / bandwidth"""
    share = (ranks - 1) / ranks
    return 2 * (ceil(log2(ranks)) * link.latency + share * nbytes / link.bandwidth)


def direct(nbytes: float, ranks: int, link: Link) -> float:
    """(n - 1) (3 latency + 2 m / n / bandwidth)"""
    return (ranks - 1) * (3 * link.latency + 2 * nbytes / ranks / link.bandwidth)


ALGORITHMS: dict[str, Callable[[float, int, Link], float]] = {
    "ring": ring, "tree": tree, "doubling": doubling, "halving": halving, "direct": direct,
}  # fmt: skip


def all_reduce(nbytes: float, ranks: int, link: Link, algorithm: str = "best") -> float:
    """The seconds of an all_reduce of `nbytes` bytes by the named algorithm, or by the fastest.
    DomainError for fewer than one rank or a negative number of bytes."""
    if ranks < 1 or nbytes < 0:
        asked = f"an all_reduce of {nbytes} bytes on {ranks} ranks"
        raise DomainError(asked, "there is none", "give 1 rank or more, and 0 bytes or more")
    if algorithm == "best":
        return min(f(nbytes, ranks, link) for f in ALGORITHMS.values())
    if algorithm not in ALGORITHMS:
        raise unknown("the algorithm", algorithm, [*ALGORITHMS, "best"], "benchmarks/cost.py")
    return ALGORITHMS[algorithm](nbytes, ranks, link)


def fastest(nbytes: float, ranks: int, link: Link) -> str:
    """The name of the algorithm that takes the least time."""
    return min(ALGORITHMS, key=lambda name: ALGORITHMS[name](nbytes, ranks, link))


# ---- a step --------------------------------------------------------------------------------------


class Work(NamedTuple):
    """A training step on one rank."""

    nbytes: float  # of all gradients
    rows: int  # in a batch: images or tokens
    row: float  # seconds for each of them, forward and backward
    fixed: float = 0.0  # more seconds for each step, independent of the rows
    forward: float = 1 / 3  # the share of the time before the first gradient is ready


def gpt(parameters: float, tokens: int, flops: float) -> Work:
    """A language model: 6 operations for each parameter and token (Kaplan et al. 2020, "Scaling
    laws for neural language models", 2.1), on ranks that do `flops` operations per second;
    gradients in float32."""
    return Work(4 * parameters, tokens, 6 * parameters / flops)


# train_mnist.py's network, batches of 512: benchmarks/ranks.py with 1 rank and 1 thread.
MLP = Work(4 * 101_770, 512, row=2.06e-6, fixed=0.17e-3)


class Step(NamedTuple):
    """The time of a step, in seconds, for a number of ranks and the rows of all of them."""

    ranks: int
    rows: int
    compute: float
    messages: float  # all all_reduces, one after another
    waiting: float  # the part of `messages` that no computation hides
    alone: float  # rows per second of a single rank, with the batch as given

    @property
    def rate(self) -> float:
        """Rows per second, of all ranks together."""
        return self.rows / (self.compute + self.waiting)

    @property
    def efficiency(self) -> float:
        """1 where n ranks are n times as fast as one."""
        return self.rate / (self.ranks * self.alone)

    @property
    def dominates(self) -> str:
        """The part that takes most of the time."""
        return "computing" if self.compute >= self.waiting else "waiting"


def step(
    work: Work, ranks: int, link: Link, *, grows: bool = True, bucket: float = BYTES,
    leaves: int = 1, overlap: bool = True, algorithm: str = "best", slower: float = 1.0,
) -> Step:  # fmt: skip
    """A training step on `ranks` ranks.

    grows    True: each rank has `work.rows` rows, so the batch grows with the ranks; False: the
             batch has that many rows, and each rank computes its share
    bucket   bytes of gradients in one message
    leaves   per rank: only the gradients of the last one are sent while it is computed
    overlap  whether they are; a replayed step (jit) sends all gradients at its end
    slower   factor by which computing is slower than on one rank: 2 if 4 ranks share 2 cores
    """
    rows = work.rows * ranks if grows else work.rows
    compute = (work.fixed + work.row * rows / ranks) * slower
    count = max(1, ceil(work.nbytes / bucket))
    one = all_reduce(work.nbytes / count, ranks, link, algorithm)
    last = all_reduce(8, ranks, link, algorithm)
    backward, end = compute * (1 - work.forward) / leaves if overlap else 0.0, 0.0
    for i in range(1, count + 1):  # when it is full and the one before is sent
        end = max(end, compute - backward * (1 - i / count)) + one
    alone = work.rows / (work.fixed + work.row * work.rows)
    return Step(ranks, rows, compute, count * one + last, end + last - compute, alone)


RANKS = tuple(2**k for k in range(11))  # 1 to 1,024


def scaling(work: Work, link: Link, ranks: tuple[int, ...] = RANKS, **how: Any) -> list[Step]:
    """`step` for each number of ranks."""
    return [step(work, n, link, **how) for n in ranks]
