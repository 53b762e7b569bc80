"""What every test of the course shares: none leaves a limit of memory behind for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from course import limits


@pytest.fixture(autouse=True)
def _nothing_is_held_at_the_end() -> Iterator[None]:
    yield
    assert limits.Held.count == 0
