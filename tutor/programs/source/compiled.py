"""`compiled(program)`: the second road, if TUTOR_CC asks for it and there is a C compiler.

This file is imported on every jit, so it imports the rest (the compiler, the trial and the bounds
that the trial needs) only on request.
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
    """The Program as a function of addresses (function.py), compiled, cached and tested. None if
    TUTOR_CC does not ask for it, or if something prevents it, which a line on stderr reports. One
    such reason is that the Program is faster without it, as `times` measures on copies; with
    TUTOR_CC=always that does not count.

    `example`: the inputs of some call, copied for the test. Without it, random numbers are drawn.
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
