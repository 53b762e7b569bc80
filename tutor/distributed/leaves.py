"""Leaves: the parts of a batch whose gradients are computed separately and added as a binary tree.

Floating-point addition is not associative, so a sum over a batch depends on its bracketing. A
matrix product brackets by its blocks, and its blocks depend on the number of rows: the gradient of
64 rows and the sum of the gradients of two times 32 rows differ in their last bits. So a batch is
cut into the same leaves whatever the number of ranks, each leaf is computed separately, and the
results are added with this bracketing, here for 8 leaves:

    ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))

    1 rank:   all of it
    2 ranks:  each adds one half, ((0 + 1) + (2 + 3)); the middle + is their all_reduce
    4 ranks:  each adds a pair, (0 + 1); the rest is the tree of an all_reduce over four ranks
    8 ranks:  each has a leaf; all additions are the tree of the all_reduce
"""

from __future__ import annotations

from typing import Any

from tutor.errors import DomainError

LEAVES = 8  # per batch, by default: the same bits on 1, 2, 4 and 8 ranks
Sums = list[Any]  # Tensors or numbers; None: nothing to add


def own_leaves(leaves: int | None, ranks: int) -> int:
    """The number of leaves on each rank; 1 for None. DomainError if `leaves` is no power of two or
    no multiple of `ranks`: the bits would not be those of one rank."""
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
    """Adds lists, one leaf after another, and stores as few of them as possible: for 7 leaves three
    lists, the sums of 4, of 2 and of 1."""

    def __init__(self) -> None:
        self.branches: list[tuple[int, Sums]] = []  # (leaves, their sums), larger ones first

    def add(self, leaf: Sums) -> None:
        count = 1
        while self.branches and self.branches[-1][0] == count:
            before = self.branches.pop()[1]
            leaf = [both(x, y) for x, y in zip(before, leaf, strict=True)]
            count *= 2
        self.branches.append((count, leaf))

    def with_last(self, i: int, last: Any) -> Any:
        """The i-th sum, including `last`, the i-th entry of the last leaf."""
        for _, sums in reversed(self.branches):
            last = both(sums[i], last)
        return last


def both(x: Any, y: Any) -> Any:
    """x + y; if one is None, the other."""
    return y if x is None else x if y is None else x + y
