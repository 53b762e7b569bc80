"""What every test of the course shares: none leaves a limit of memory behind for the next."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from course import limits

BEFORE = resource.getrlimit(resource.RLIMIT_AS)  # of any test, so that the first one is seen too


@pytest.fixture(autouse=True)
def _nothing_is_held_at_the_end() -> Iterator[None]:
    yield
    assert limits.Held.count == 0 and limits.Held.limit is None
    assert resource.getrlimit(resource.RLIMIT_AS) == BEFORE
