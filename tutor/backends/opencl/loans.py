"""Loans: which object holds a block of memory, and until when.

A `__del__` that returns the block would be Python code, and Python may run a signal handler in the
middle of it: an exception of the handler, as from Ctrl-C, is then lost. So nothing runs when a
holder is freed. Its loan is a weak reference, which C then appends to a list, and the lender reads
the list at its next call.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref


class Loan(ref[Any]):
    """A block on loan for as long as the object of this weak reference lives."""

    __slots__ = ("block", "nbytes", "size")
    block: Any
    size: int
    nbytes: int


class Lender:
    """Lends blocks, and at the next `settle` finds out which of them are back."""

    def __init__(self) -> None:
        self.loans: dict[int, Loan] = {}  # by id; keeps loans alive, as a freed one reports nothing
        self.ended: deque[Loan] = deque()
        self.free: dict[int, list[Any]] = {}

    def lend(self, holder: Any, block: Any, size: int, nbytes: int) -> Any:
        """The block, which returns when the holder is freed."""
        loan = Loan(holder, self.ended.append)
        loan.block, loan.size, loan.nbytes = block, size, nbytes
        self.loans[id(loan)] = loan
        return block

    def settle(self) -> None:
        """Take back the blocks of loans that have ended."""
        while self.ended:
            loan = self.ended.popleft()
            self.loans.pop(id(loan), None)
            self.give_back(loan.block, loan.size, loan.nbytes)

    def give_back(self, block: Any, size: int, nbytes: int) -> None:
        self.free.setdefault(size, []).append(block)
