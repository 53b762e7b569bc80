"""The user's own line, for messages that name it."""

from __future__ import annotations

import sys


def user_line() -> tuple[str, int]:
    """File and line number of the innermost caller that is not part of tutor.

    Every in-place change of a Tensor calls this, often many calls deep: hence one plain loop.
    """
    frame = sys._getframe(1)
    while (back := frame.f_back) is not None:
        module = frame.f_globals.get("__name__", "")
        if module[:6] != "tutor." and module != "tutor":
            break
        frame = back
    return frame.f_code.co_filename, frame.f_lineno
