"""tutor.jit never gives a number that the function would not have given, and never raises where it
would not have raised: in the situations of people's code (tests/programs/situations)."""

from __future__ import annotations

from collections import Counter

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


def test_there_are_enough_of_every_kind() -> None:
    kinds = Counter(kind for found in SITUATIONS.values() for kind in found.kinds)
    assert len(SITUATIONS) >= LEAST
    assert {kind: n for kind, n in kinds.items() if n < LEAST_OF_A_KIND} == {}
