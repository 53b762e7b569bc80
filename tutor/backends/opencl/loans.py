"""Loans: who has a block of memory, until when.

A `__del__` that gives it back would be Python, and Python may run a signal's handler in the midst
of it: what the handler raises there, as Ctrl-C does, is lost. So nothing is run as a holder goes.
Its loan is a weak reference, which C puts on a list at that moment, and whoever lends looks at the
list when next asked for anything.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref


class Loan(ref[Any]):
    """A block, and how long somebody has it: as long as this weak reference to them holds."""

    __slots__ = ("block", "nbytes", "size")
    block: Any
    size: int
    nbytes: int


class Lender:
    """Who lends blocks, and learns at the next `settle` which of them are back."""

    def __init__(self) -> None:
        self.loans: dict[int, Loan] = {}  # by id; kept here, for one that is gone tells nobody
        self.ended: deque[Loan] = deque()
        self.free: dict[int, list[Any]] = {}

    def lend(self, holder: Any, block: Any, size: int, nbytes: int) -> Any:
        """The block, which comes back as the holder goes."""
        loan = Loan(holder, self.ended.append)
        loan.block, loan.size, loan.nbytes = block, size, nbytes
        self.loans[id(loan)] = loan
        return block

    def settle(self) -> None:
        """Take back what has ended."""
        while self.ended:
            loan = self.ended.popleft()
            self.loans.pop(id(loan), None)
            self.give_back(loan.block, loan.size, loan.nbytes)

    def give_back(self, block: Any, size: int, nbytes: int) -> None:
        self.free.setdefault(size, []).append(block)
