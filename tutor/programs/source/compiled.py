"""`compiled(program)`: the second road, where TUTOR_CC asks for it and a C compiler is there.

This file stands in the way of everybody who jits a function, so it imports the rest (the compiler,
the trial and the bounds that it needs) when somebody asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from tutor.ground.memory import Holder
from tutor.programs.program import Program, Slot


def wanted() -> bool:
    """Does TUTOR_CC ask for compiled Programs?"""
    return os.environ.get("TUTOR_CC", "") not in ("", "0")


def compiled(
    program: Program, example: Mapping[Slot, Holder] | None = None
) -> Callable[[Sequence[int]], None] | None:
    """The Program as a function of addresses (function.py), compiled, kept and tried; None where
    TUTOR_CC does not ask for it, or where something stands in the way, which one line on stderr
    then says.

    `example`: what the inputs were in some call, to try it on: a copy. Else numbers are drawn.
    """
    if not wanted():
        return None
    from tutor.programs.source import compiler, trial

    try:
        return trial.tried(program, example or {})
    except compiler.CompilerError as error:
        compiler.say(str(error))
        return None
