"""`compiled(program)`: the second road, where TUTOR_CC asks for it and a C compiler is there."""

from __future__ import annotations

from collections.abc import Mapping

from tutor.ground.memory import Holder
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
