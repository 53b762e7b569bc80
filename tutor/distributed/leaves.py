"""Leaves: the parts of a batch whose gradients are computed one by one, and added as a tree adds.

Floating-point addition is not associative, so a sum over a batch depends on how it is bracketed. A
matrix product brackets it as its blocks have it, and its blocks depend on how many rows there are:
the gradient of 64 rows, and the sum of the gradients of two times 32, differ in their last bits.
So a batch is cut into as many leaves whatever the number of ranks, each leaf is computed by itself,
and what is added up is bracketed like this, of 8 leaves:

    ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))

    1 rank:   all of it
    2 ranks:  each one half, ((0 + 1) + (2 + 3)); the + in the middle is their all_reduce
    4 ranks:  each a pair, (0 + 1); the rest is the tree in which all_reduce adds four of them
    8 ranks:  each a leaf; all of it is the tree in which all_reduce adds
"""

from __future__ import annotations

from typing import Any

from tutor.errors import DomainError

LEAVES = 8  # of a batch, where nobody says otherwise: the same bits on 1, 2, 4 and 8 ranks
Sums = list[Any]  # Tensors or numbers; None where there is nothing to add


def own_leaves(leaves: int | None, ranks: int) -> int:
    """How many leaves each rank has; None: one. DomainError where they cannot be dealt out so that
    the bits are those of one rank."""
    if leaves is None:
        return 1
    other = "or leaves=None: one for each rank, and other bits on another number of ranks"
    if type(leaves) is not int or leaves < 1 or leaves & (leaves - 1):
        raise DomainError(f"a batch of {leaves!r:.40} leaves", "that is no power of two",
                          f"give 1, 2, 4, 8, ...; {other}")  # fmt: skip
    if leaves % ranks:
        raise DomainError(
            f"a batch of {leaves} leaves on {ranks} ranks",
            "each rank must have as many leaves as the others",
            f"start 1, 2, 4, ... ranks, and give as many leaves at least; {other}",
        )
    return leaves // ranks


class Tree:
    """Adds lists, one leaf after another, and keeps no more of them than it must: of 7 leaves three
    lists, the sums of 4, of 2 and of 1."""

    def __init__(self) -> None:
        self.branches: list[tuple[int, Sums]] = []  # (leaves, their sums), the larger ones first

    def add(self, leaf: Sums) -> None:
        count = 1
        while self.branches and self.branches[-1][0] == count:
            before = self.branches.pop()[1]
            leaf = [both(x, y) for x, y in zip(before, leaf, strict=True)]
            count *= 2
        self.branches.append((count, leaf))

    def with_last(self, i: int, last: Any) -> Any:
        """The i-th sum, when `last` is what the last leaf has there."""
        for _, sums in reversed(self.branches):
            last = both(sums[i], last)
        return last


def both(x: Any, y: Any) -> Any:
    """x + y, where both are there."""
    return y if x is None else x if y is None else x + y
