"""Planted answers that are written as an edit of the solution."""

from __future__ import annotations

import pytest
from wrong import edit, text

SOLUTION = "def back(x):\n    return x[::-1]\n"


def test_an_edit_is_applied_to_the_solution() -> None:
    assert text(edit("-1", "-2", "back", "front"), SOLUTION) == (
        "def front(x):\n    return x[::-2]\n"
    )
    assert text("x = 1", SOLUTION) == "x = 1"


@pytest.mark.parametrize(("old", "count"), [("y", 0), ("x", 2)])
def test_an_edit_that_does_not_fit_is_no_answer(old: str, count: int) -> None:
    with pytest.raises(AssertionError, match=f"found {count} times"):
        text(edit(old, "z"), SOLUTION)


def test_texts_come_in_pairs() -> None:
    with pytest.raises(AssertionError, match="in pairs"):
        edit("a")
