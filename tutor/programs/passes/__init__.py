"""Passes: each is a function from a Program to an equivalent Program that does less work.

`PASSES` names them, `ORDER` is the order of application, and `improved` applies the chosen ones. A
pass leaves the same bits in every slot that lasts. (NaNs stay where they are, but their payload
bits, which no arithmetic looks at, may differ.)

Read elements.py and uses.py first: what a step visits, what else visits it, which order must hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable

from tutor.backends import registry
from tutor.backends.step import Step
from tutor.errors import unknown
from tutor.programs.passes.casts import casts
from tutor.programs.passes.constants import constants
from tutor.programs.passes.copies import copies
from tutor.programs.passes.cse import common
from tutor.programs.passes.dce import dead
from tutor.programs.passes.epilogue import epilogue
from tutor.programs.passes.fuse import fuse
from tutor.programs.passes.inplace import inplace
from tutor.programs.passes.products import products
from tutor.programs.passes.ssa import versions
from tutor.programs.passes.sum_of_slices import pieces
from tutor.programs.passes.updates import updates
from tutor.programs.program import Program, walks

Pass = Callable[[Program], Program]
PASSES: dict[str, Pass] = {
    "dead": dead,
    "versions": versions,
    "constants": constants,
    "common": common,
    "casts": casts,
    "pieces": pieces,
    "copies": copies,
    "epilogue": epilogue,
    "fuse": fuse,
    "products": products,
    "updates": updates,
    "inplace": inplace,
}
# Constants, casts, pieces and copies leave unneeded steps behind.
ORDER = ("dead", "versions", "constants", "common", "casts", "pieces", "copies", "dead", "epilogue",
         "fuse", "products", "updates", "inplace")  # fmt: skip


def known(wanted: Collection[str] | None) -> None:
    """DomainError for a name that is not in PASSES."""
    for name in wanted or ():
        if name not in PASSES:
            raise unknown("the pass", name, PASSES, "tutor.programs.passes.PASSES")


def improved(program: Program, wanted: Collection[str] | None = None) -> Program:
    """`program` after each pass in `wanted` (None: all of them)."""
    return stages(program, wanted)[-1][1]


def stages(program: Program, wanted: Collection[str] | None = None) -> list[tuple[str, Program]]:
    """The Program after each pass in `wanted`: ("recorded", program), ("dead", ...), ... Without
    chains if a backend that runs its steps has no kernel for one of them."""
    names = [name for name in ORDER if wanted is None or name in wanted]
    found = _after_each(program, names)
    if all(map(_is_there, found[-1][1])):
        return found
    return _after_each(program, [name for name in names if name not in ("fuse", "products")])


def _after_each(program: Program, names: Iterable[str]) -> list[tuple[str, Program]]:
    found = [("recorded", program)]
    for name in names:
        found.append((name, PASSES[name](found[-1][1])))
    for _, each in found:
        each.uses = None
    return found


def saved(program: Program, wanted: Collection[str] | None) -> list[str]:
    """A line for each pass that reduced something, with the steps and bytes saved."""
    found = stages(program, wanted)
    return [
        f"{name}: {len(before)} steps -> {len(after)}, {before.nbytes:,} bytes -> {after.nbytes:,}"
        for (_, before), (name, after) in itertools.pairwise(found)
        if (len(before), before.nbytes) != (len(after), after.nbytes)
    ]


def _is_there(step: Step) -> bool:
    """Do the backends of its operands have a kernel for it, if it is a chain?"""
    return step.kernel != "fused" or all(
        ("fused", step.dtype) in registry.table(registry.backend_of(walk.buf.device))
        for walk in walks(step)
    )
