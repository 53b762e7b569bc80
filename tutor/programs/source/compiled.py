"""`compiled(program)`: the second road, where TUTOR_CC asks for it and a C compiler is there.

This file stands in the way of everybody who jits a function, so it imports the rest (the compiler,
the trial and the bounds that it needs) when somebody asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tutor._storage.memory import Holder
from tutor.programs.program import Program, Slot

Run = Callable[[Sequence[int]], None]
Times = Callable[[Run, Mapping[Slot, Any]], tuple[float, float]]


def compiled(
    program: Program, example: Mapping[Slot, Holder] | None = None, times: Times | None = None
) -> Run | None:
    """The Program as a function of addresses (function.py), compiled, kept and tried; None where
    TUTOR_CC does not ask for it, or where something stands in the way, which one line on stderr
    then says: it may be that the Program is faster without, as `times` measures on copies. With
    TUTOR_CC=always that is no matter.

    `example`: what the inputs were in some call, to try it on: a copy. Else numbers are drawn.
    """
    wanted = os.environ.get("TUTOR_CC", "")
    if wanted in ("", "0"):
        return None
    from tutor.programs.source import compiler, verify

    try:
        return verify.tried(program, example or {}, None if wanted == "always" else times)
    except compiler.CompilerError as error:
        compiler.say(str(error))
        return None
