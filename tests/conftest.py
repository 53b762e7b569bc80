"""What every test shares: the backends, each instruction-set level being one of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

import tutor
from tutor.backends import registry, simd_cpp

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def levels() -> list[str]:
    """The levels of simd_cpp to test: TUTOR_SIMD's, else all that this CPU has.

    Without the extension this raises KernelNotFound, and the suite fails: a machine that cannot
    build it says so with TUTOR_PURE=1, as when installing.
    """
    if os.environ.get("TUTOR_PURE"):
        return []
    return [simd_cpp.level()] if os.environ.get("TUTOR_SIMD") else simd_cpp.levels()


LEVELS = {f"simd_cpp.{level}": level for level in levels()}
for name, level in LEVELS.items():
    registry.register(name, simd_cpp.table(level))
BACKENDS = ["python_ref", *LEVELS]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test runs once on every backend."""
    with tutor.use_backend(request.param):
        yield request.param
