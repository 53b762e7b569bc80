"""The user's own line, for messages that must name it."""

from __future__ import annotations

import sys


def user_line() -> tuple[str, int]:
    """File and line number of the innermost caller that is not part of tutor.

    Each change of a Tensor asks for it, often from many calls deep: so all is said in one loop.
    """
    frame = sys._getframe(1)
    while (back := frame.f_back) is not None:
        module = frame.f_globals.get("__name__", "")
        if module[:6] != "tutor." and module != "tutor":
            break
        frame = back
    return frame.f_code.co_filename, frame.f_lineno
