"""One-liners: the same as PyTorch's, refused with help, or a row of DIFFERENT; none in silence."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

from idiom_lines import DIFFERENT, LINES
from torch_idioms import OTHER, REFUSED, SAME, outcome

ROWS = [line for line in LINES.split("\n") if line]
FOUND: Counter[str] = Counter()


@pytest.mark.parametrize("line", ROWS)
def test_a_line_is_the_same_or_says_that_it_is_not(line: str) -> None:
    kind, theirs, ours = outcome(line)
    FOUND[kind] += 1
    if line in DIFFERENT:
        assert kind == OTHER, "strike out the row"
    else:
        assert kind in (SAME, REFUSED), (theirs, ours)
    if kind == REFUSED and not isinstance(ours, AttributeError):
        assert ours.asked and ours.found and ours.do, ours


def test_most_are_the_same() -> None:
    assert len(ROWS) == len(set(ROWS)) and set(DIFFERENT) <= set(ROWS)
    if sum(FOUND.values()) == len(ROWS):
        assert FOUND[SAME] >= 0.92 * len(ROWS), FOUND
