"""Passes: each a function from one Program to another that does the same with less.

`PASSES` lists them in the order in which they are applied; `improved` applies those that are asked
for. A pass leaves the same bits in every slot that lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tutor.errors import unknown
from tutor.programs.program import Program

Pass = Callable[[Program], Program]
PASSES: dict[str, Pass] = {}


def known(wanted: Collection[str] | None) -> None:
    """DomainError for a name that is none of PASSES."""
    for name in wanted or ():
        if name not in PASSES:
            raise unknown("the pass", name, PASSES, "tutor.programs.passes.PASSES")


def improved(program: Program, wanted: Collection[str] | None = None) -> Program:
    """`program` after each pass in `wanted` (None: all of them)."""
    for name, run in PASSES.items():
        if wanted is None or name in wanted:
            program = run(program)
    return program
