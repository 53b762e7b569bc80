"""What every test shares: the fixture `backend`, how hypothesis runs, what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import missing
import pytest
from backend_names import BACKENDS

import tutor

try:
    from hypothesis import settings
except ModuleNotFoundError:  # the files that need it are left out
    pass
else:
    settings.register_profile("local", deadline=None)
    settings.register_profile("ci", deadline=None, derandomize=True)
    settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the files that begin by importing a package that is not installed."""
    if collection_path.suffix == ".py" and missing.lacks(collection_path):
        return True
    return None  # as pytest decides


def pytest_report_header() -> list[str]:
    """What is left out, and how to have it run."""
    files = sorted(missing.HERE.rglob("test_*.py"))
    lacking = {path: missing.lacks(path) for path in files if missing.lacks(path)}
    lines = []
    if len(BACKENDS) == 1:
        lines.append("python_ref alone: the extension was not built")
    if lacking:
        packages = ", ".join(sorted(frozenset().union(*lacking.values())))
        lines.append(f"{len(lacking)} of {len(files)} files are left out, for want of {packages}: "
                     'pip install "tutorgrad[dev]"')  # fmt: skip
    return lines


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend, which is in use while the test runs; the test runs once for each."""
    with tutor.use_backend(request.param):
        yield request.param
