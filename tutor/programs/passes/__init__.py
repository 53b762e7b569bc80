"""Passes: each a function from one Program to another that does the same with less.

`PASSES` names them, `ORDER` is how they are applied, and `improved` applies those that are asked
for. A pass leaves the same bits in every slot that lasts. (NaNs stay where they are; the bits that
no arithmetic looks at, those of their payload, may be others.)

Read elements.py and uses.py first: what a step walks, who else does, and what must stay in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection

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
from tutor.programs.program import Program

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
# Constants, casts, pieces and copies leave steps behind that nobody needs any more.
ORDER = ("dead", "versions", "constants", "common", "casts", "pieces", "copies", "dead", "epilogue",
         "fuse", "products", "updates", "inplace")  # fmt: skip


def known(wanted: Collection[str] | None) -> None:
    """DomainError for a name that is none of PASSES."""
    for name in wanted or ():
        if name not in PASSES:
            raise unknown("the pass", name, PASSES, "tutor.programs.passes.PASSES")


def improved(program: Program, wanted: Collection[str] | None = None) -> Program:
    """`program` after each pass in `wanted` (None: all of them)."""
    return stages(program, wanted)[-1][1]


def stages(program: Program, wanted: Collection[str] | None = None) -> list[tuple[str, Program]]:
    """What there is after each pass in `wanted`: ("recorded", program), ("dead", ...), ..."""
    found = [("recorded", program)]
    for name in ORDER:
        if wanted is None or name in wanted:
            found.append((name, PASSES[name](found[-1][1])))
    for _, each in found:
        each.uses = None
    return found


def possible(wanted: Collection[str] | None, program: Program) -> Program:
    """`improved`, as far as whoever is to run the steps has the kernels for that."""
    return possible_stages(wanted, program)[-1][1]


def possible_stages(wanted: Collection[str] | None, program: Program
                    ) -> list[tuple[str, Program]]:  # fmt: skip
    """`stages`, as far as whoever is to run the steps has the kernels for that."""
    on = {slot.device for slot in program.slots}
    tables = [registry.table(registry.backend_of(device)) for device in on]
    if all(any(name == "fused" for name, _ in table) for table in tables):
        found = stages(program, wanted)
        if all(map(_is_there, found[-1][1])):  # else there is a chain of a dtype it has not
            return found
    known = PASSES if wanted is None else wanted
    return stages(program, [name for name in known if name not in ("fuse", "products")])


def saved(wanted: Collection[str] | None, program: Program) -> list[str]:
    """What each pass has made less of, a line for each that did."""
    found = possible_stages(wanted, program)
    return [
        f"{name}: {len(before)} steps -> {len(after)}, {before.nbytes:,} bytes -> {after.nbytes:,}"
        for (_, before), (name, after) in itertools.pairwise(found)
        if (len(before), before.nbytes) != (len(after), after.nbytes)
    ]


def _is_there(step: Step) -> bool:
    """Does whoever is to run the step have the kernel for chains, if it is one?"""
    return step.kernel != "fused" or (
        ("fused", step.dtype) in registry.table(registry.backend_of(step.device))
    )
