"""The user's own line, for messages that must name it."""

from __future__ import annotations

import sys


def user_line() -> tuple[str, int]:
    """File and line number of the innermost caller that is not part of tutor."""
    frame = sys._getframe(1)
    while f"{frame.f_globals.get('__name__')}.".startswith("tutor.") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
