"""What a step on several ranks costs: a model of it, for machines that are not at hand.

A message of m bytes takes  latency + m / bandwidth  (Hockney 1994, "The communication challenge for
MPP"). From this follows what an all_reduce takes on n ranks, by the way in which it is done
(Thakur, Rabenseifner & Gropp 2005, "Optimization of collective communication operations in MPICH";
Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"):

    ring       2 (n - 1) messages one after another, each of m / n bytes: the ranks stand in a
               circle, and hand parts of the sum on, once round to add, once round to tell
    tree       2 log2 n messages of m bytes: up a tree to add, and down again to tell
    doubling   log2 n messages of m bytes: with the neighbour, then with the one 2 away, 4 away, ...
    halving    2 log2 n messages, 2 m (n - 1) / n bytes in all: doubling, but each time of the half
               that one is left with, and back (Rabenseifner 2004)
    direct     each with each, twice: 2 (n - 1) messages of m / n bytes. What collectives.py does,
               after a note of each to each, n - 1 more messages

And from that what a step takes: backward fills bucket after bucket, and each travels while the next
is filled; at the end one short message more says how many rows there were. Additions are not
counted: memory is faster than all of these links.

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
    """What ranks are joined by."""

    latency: float  # seconds of a message without content
    bandwidth: float  # bytes in a second, each way
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
    """The seconds of an all_reduce of so many bytes; of the fastest algorithm, or of one that is
    named. DomainError for less than one rank, or less than no byte."""
    if ranks < 1 or nbytes < 0:
        asked = f"an all_reduce of {nbytes} bytes on {ranks} ranks"
        raise DomainError(asked, "there is none", "give 1 rank or more, and 0 bytes or more")
    if algorithm == "best":
        return min(f(nbytes, ranks, link) for f in ALGORITHMS.values())
    if algorithm not in ALGORITHMS:
        raise unknown("the algorithm", algorithm, [*ALGORITHMS, "best"], "tutor.distributed.cost")
    return ALGORITHMS[algorithm](nbytes, ranks, link)


def fastest(nbytes: float, ranks: int, link: Link) -> str:
    """The name of the algorithm that takes the least time."""
    return min(ALGORITHMS, key=lambda name: ALGORITHMS[name](nbytes, ranks, link))


# ---- a step --------------------------------------------------------------------------------------


class Work(NamedTuple):
    """A step of training, on one rank."""

    nbytes: float  # of all gradients
    rows: int  # of a batch: images, or tokens
    row: float  # seconds that each of them takes, forward and backward
    fixed: float = 0.0  # seconds that a step takes besides, however many rows
    forward: float = 1 / 3  # the share of the time before the first gradient is there


def gpt(parameters: float, tokens: int, flops: float) -> Work:
    """A language model: 6 operations for each parameter and token (Kaplan et al. 2020, "Scaling
    laws for neural language models", 2.1), on ranks that do `flops` of them in a second; gradients
    in float32."""
    return Work(4 * parameters, tokens, 6 * parameters / flops)


# train_mnist.py's network, batches of 512: benchmarks/ranks.py with 1 rank and 1 thread.
MLP = Work(4 * 101_770, 512, row=2.06e-6, fixed=0.17e-3)


class Step(NamedTuple):
    """What a step takes, in seconds, on so many ranks, with so many rows on all of them."""

    ranks: int
    rows: int
    compute: float
    messages: float  # all all_reduces, one after another
    waiting: float  # that part of them which nothing hides
    alone: float  # rows in a second that one rank does by itself, with the batch as it is given

    @property
    def rate(self) -> float:
        """Rows in a second, of all ranks."""
        return self.rows / (self.compute + self.waiting)

    @property
    def efficiency(self) -> float:
        """1 where n ranks do n times what one does."""
        return self.rate / (self.ranks * self.alone)

    @property
    def dominates(self) -> str:
        """Where most of the time goes."""
        return "computing" if self.compute >= self.waiting else "waiting"


def step(
    work: Work, ranks: int, link: Link, *, grows: bool = True, bucket: float = BYTES,
    leaves: int = 1, overlap: bool = True, algorithm: str = "best", slower: float = 1.0,
) -> Step:  # fmt: skip
    """A step of training on so many ranks.

    grows    each rank has `work.rows` rows, and the batch grows with the ranks; or, False, it is
             of so many rows, of which each rank has its part
    bucket   bytes of gradients in one message
    leaves   of each rank: only of the last one gradients travel while it is computed
    overlap  whether they do; what is replayed (jit) hands all of them over when it is done
    slower   how many times longer computing takes than on one rank: where 4 ranks share 2 cores, 2
    """
    rows = work.rows * ranks if grows else work.rows
    compute = (work.fixed + work.row * rows / ranks) * slower
    count = max(1, ceil(work.nbytes / bucket))
    one = all_reduce(work.nbytes / count, ranks, link, algorithm)
    last = all_reduce(8, ranks, link, algorithm)
    backward, end = compute * (1 - work.forward) / leaves if overlap else 0.0, 0.0
    for i in range(1, count + 1):  # when it is full, and the one before has gone
        end = max(end, compute - backward * (1 - i / count)) + one
    alone = work.rows / (work.fixed + work.row * work.rows)
    return Step(ranks, rows, compute, count * one + last, end + last - compute, alone)


RANKS = tuple(2**k for k in range(11))  # 1 to 1,024


def scaling(work: Work, link: Link, ranks: tuple[int, ...] = RANKS, **how: Any) -> list[Step]:
    """`step` for each number of ranks."""
    return [step(work, n, link, **how) for n in ranks]
