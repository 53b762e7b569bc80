"""What each commit runs another part of: chapters that train for minutes, interrupts by the ten
thousand, trees of their own in which something is added and built.

TUTOR_CLAIMS is the commit's id (.ci/run sets it), and TUTOR_CLAIMS=all has everything.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence

import pytest

ASKED = os.environ.get("TUTOR_CLAIMS", "")


def turn(count: int, asked: str = ASKED) -> int:
    """Which one of so many has its turn at this commit."""
    return int(hashlib.sha256(asked.encode()).hexdigest(), 16) % count


def those_in_turn(items: Sequence[pytest.Item], asked: str = ASKED) -> list[pytest.Item]:
    """`items`, but of those that are marked by_turns("a group") one of each group."""
    groups: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("by_turns"):
            groups[mark.args[0]].append(item)
    waiting = {item for group in groups.values() for item in group}
    waiting -= {group[turn(len(group), asked)] for group in groups.values()}
    return [item for item in items if item not in waiting]
