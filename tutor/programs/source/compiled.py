"""`compiled(program)`: the second road, where TUTOR_CC asks for it and a C compiler is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor.ground.memory import Holder, Memory
from tutor.programs.plan import Layout
from tutor.programs.program import Program, Slot
from tutor.programs.source.compiler import CompilerError, load, say, wanted
from tutor.programs.source.function import Compiled
from tutor.programs.source.text import source
from tutor.programs.source.trial import trial


def compiled(program: Program, example: Mapping[Slot, Holder] | None = None) -> Compiled | None:
    """The Program as a function of addresses, compiled, kept and tried; None where TUTOR_CC does
    not ask for it, or where something stands in the way, which one line on stderr then says.

    `example`: what the inputs were in some call, to try it on: a copy. Else numbers are drawn.
    """
    if not wanted():
        return None
    try:
        found = Compiled(program, load(source(program)))
        if (why := trial(found, example or {})) is not None:
            raise CompilerError(why)
    except CompilerError as error:
        say(str(error))
        return None
    return found


def runner(
    program: Program, layout: Layout, check: Callable[[Sequence[Any]], object]
) -> Callable[[Sequence[Any]], None] | None:
    """`run(buffers)`, a Buffer for each slot that lasts; None as above. `check` raises where they
    are not what the slots say. Temps stand in an arena, of which each thread has its own."""
    found = compiled(program)
    if found is None:
        return None
    fixed, temps = [0] * len(program.slots), list[tuple[int, int]]()
    lasting: list[int] = []
    for number, slot in enumerate(program.slots):
        if slot.role == "constant":
            fixed[number] = slot.value.address
        elif slot.lasts:
            lasting.append(number)
        elif slot in layout.offsets:
            temps.append((number, layout.offsets[slot]))
    arenas = threading.local()

    def run(buffers: Sequence[Any]) -> None:
        check(buffers)
        arena = arenas.__dict__.get("arena")
        if arena is None:
            arena = arenas.arena = Memory(layout.nbytes, 1, "B")
        base, addresses = arena.address, fixed.copy()
        for number, offset in temps:
            addresses[number] = base + offset
        for number, buf in zip(lasting, buffers, strict=True):
            addresses[number] = buf.address
        found(addresses)

    return run
