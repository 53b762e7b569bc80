"""Ctrl-C at any moment: between any two bytecodes of some files."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any


def interrupted(
    k: int, function: Callable[[], object], *where: str, place: list[str] | None = None
) -> bool:
    """Call `function`, with a KeyboardInterrupt before bytecode k, counted from 0, that runs in the
    files whose path begins with one of `where`. Was there one? `place` gets the names of the
    functions that it interrupts. (Python ends a trace when its function raises, so there is one.)
    """
    if not where:
        raise ValueError("no files are named in which to interrupt")
    left = k

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(where):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                if place is not None:
                    place.extend(each.f_code.co_name for each, _ in traceback.walk_stack(frame))
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return left < 0
