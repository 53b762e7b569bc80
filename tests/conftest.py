"""What every test shares: the fixture `backend`, how hypothesis runs, and that nothing is left out
in silence."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

import pytest
from backend_names import BACKENDS, LEVELS
from hypothesis import settings

import tutor

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported: it then works on Tensors
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "a package that is missing fails the tests that need it, which else are skipped"
    parser.addoption("--nothing-missing", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--nothing-missing"):

        def must_import(name: str, *args: Any, **kwargs: Any) -> Any:
            return importlib.import_module(name)

        pytest.importorskip = must_import  # type: ignore[assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A table without rows is a mistake: pytest would skip its test, and nobody would notice.
    (Without the extension there are no levels to test.)"""
    for item in items if LEVELS else ():
        for mark in item.iter_markers("skip"):
            if "empty parameter set" in str(mark.kwargs.get("reason", "")):
                raise pytest.UsageError(f"{item.nodeid}: {mark.kwargs['reason']}")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend, which is in use while the test runs; the test runs once for each."""
    with tutor.use_backend(request.param):
        yield request.param
