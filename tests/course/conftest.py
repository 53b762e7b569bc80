"""What every test of the course shares: none leaves a limit behind for the next."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator

import pytest
from running import Runs, shared_folder

from course import limits

BEFORE = resource.getrlimit(resource.RLIMIT_AS)  # of any test, so that the first one is seen too


@pytest.fixture(autouse=True)
def _nothing_is_held_at_the_end() -> Iterator[None]:
    depth = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(depth)  # an answer may have raised it, as is its right
    assert limits.Held.count == 0 and limits.Held.limit is None
    assert resource.getrlimit(resource.RLIMIT_AS) == BEFORE


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Runs:
    """What running the chapters gives."""
    return Runs(shared_folder(tmp_path_factory, pytestconfig))
