"""What every test shares: the fixture `backend`, and how hypothesis runs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from backend_names import BACKENDS
from hypothesis import settings

import tutor

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _the_same_numbers_each_time() -> None:
    """A process that sets no seed draws its own; a test is to fail again where it failed."""
    tutor.manual_seed(0)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend, which is in use while the test runs; the test runs once for each."""
    with tutor.use_backend(request.param):
        yield request.param
