"""What each commit runs another part of: chapters that train for minutes, interrupts by the ten
thousand.

TUTOR_CLAIMS is the commit's id (.ci/run sets it), and TUTOR_CLAIMS=all has everything.
"""

from __future__ import annotations

import hashlib
import os

ASKED = os.environ.get("TUTOR_CLAIMS", "")


def turn(count: int, asked: str = ASKED) -> int:
    """Which one of so many has its turn at this commit."""
    return int(hashlib.sha256(asked.encode()).hexdigest(), 16) % count
