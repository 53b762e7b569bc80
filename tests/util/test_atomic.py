"""Several changes as if at one instant: what could come in between does not."""

from __future__ import annotations

import gc
from array import array
from typing import Any

import pytest

from tutor._util.atomic import advance


class Numbers:
    """Numbers that are read by making so many objects that garbage would be collected."""

    def __init__(self) -> None:
        self.own, self.is_read = array("Q", [7]), False

    def __getitem__(self, index: int) -> int:
        self.is_read = True
        made: list[list[int]] = [[] for _ in range(5000)]
        return self.own[index] + len(made) - 5000

    def __setitem__(self, index: int, number: int) -> None:
        self.is_read, self.own[index] = False, number


@pytest.mark.parametrize("is_on", [True, False])
def test_no_garbage_is_collected_between_the_read_and_the_write(is_on: bool) -> None:
    """Finalizers run then, and may let a thread run that takes the same number."""
    numbers: Any = Numbers()
    between: list[str] = []

    def collected(phase: str, info: object) -> None:
        if numbers.is_read:
            between.append(phase)

    was_on, threshold = gc.isenabled(), gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(100)
    (gc.enable if is_on else gc.disable)()
    try:
        assert advance(numbers, 0, 3) == 7
        assert gc.isenabled() is is_on
    finally:
        gc.callbacks.remove(collected)
        gc.set_threshold(*threshold)
        (gc.enable if was_on else gc.disable)()
    assert between == [] and numbers.own[0] == 10
