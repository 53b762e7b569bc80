"""tutor.jit never gives a number that the function would not have given, and never raises where it
would not have raised: in the situations of people's code (tests/programs/situations)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from situations.table import SITUATIONS, load, outcome

LEAST, LEAST_OF_A_KIND = 400, 5

load()


@pytest.mark.parametrize("name", SITUATIONS)
def test_jit_does_what_python_does(name: str) -> None:
    found = SITUATIONS[name]
    if found.needs:
        pytest.importorskip(found.needs)
    result = outcome(found)
    assert result.verdict == "right", result.detail


def test_a_situation_is_the_same_each_time() -> None:
    """Else it would say nothing about jit. That is so for those that need no package."""
    found = [s for s in SITUATIONS.values() if not s.needs]
    wrong = {
        s.name: result for s in found if (result := outcome(s, lambda f: f)).verdict != "right"
    }
    assert wrong == {}


def test_a_jit_that_does_nothing_right_is_noticed() -> None:
    """A jit that gives its first result for ever lies in nearly every situation."""

    def first(function: Any) -> Any:
        results: list[Any] = []

        def jitted(*args: Any, **kwargs: Any) -> Any:
            if not results:
                results.append(function(*args, **kwargs))
            return results[0]

        return jitted

    found = [s for s in SITUATIONS.values() if not s.needs]
    passed = {s.name for s in found if outcome(s, first).verdict == "right"}
    assert len(passed) < len(found) / 20, sorted(passed)


def test_there_are_enough_of_every_kind() -> None:
    kinds = Counter(kind for found in SITUATIONS.values() for kind in found.kinds)
    assert len(SITUATIONS) >= LEAST
    assert {kind: n for kind, n in kinds.items() if n < LEAST_OF_A_KIND} == {}
