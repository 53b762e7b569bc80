"""What every test shares: the fixture `backend`, how hypothesis runs, what is left out, and that
nothing is left out in silence."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import missing
import pytest
from backend_names import BACKENDS, DEVICES, LEVELS, PLACES

import tutor
from tutor.backends import simd_cpp

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported: it then works on Tensors
try:
    from hypothesis import settings
except ModuleNotFoundError:  # the files that need it are left out
    pass
else:
    settings.register_profile("local", deadline=None)
    settings.register_profile("ci", deadline=None, derandomize=True)
    settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "a package that is missing fails the tests that need it, which else are left out"
    parser.addoption("--nothing-missing", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--nothing-missing"):

        def must_import(name: str, *args: Any, **kwargs: Any) -> Any:
            return importlib.import_module(name)

        pytest.importorskip = must_import  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files that begin by importing a package that is not installed."""
    wanted = collection_path.suffix == ".py" and not config.getoption("--nothing-missing")
    if wanted and missing.lacks(collection_path):
        return True
    return None  # as pytest decides


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What is left out, and how to have it run."""
    files = sorted(missing.HERE.rglob("test_*.py"))
    lacking = {path: missing.lacks(path) for path in files if missing.lacks(path)}
    lines = []
    if len(BACKENDS) == 1:
        lines.append(f"python_ref alone: {simd_cpp.FOUND}; to do: {simd_cpp.REMEDY}")
    if lacking and not config.getoption("--nothing-missing"):
        packages = ", ".join(sorted(frozenset().union(*lacking.values())))
        lines.append(f"{len(lacking)} of {len(files)} files are left out, for want of {packages}: "
                      'pip install "tutorgrad[dev,bench,onnx]"')  # fmt: skip
    return lines


# They begin first, lest the processes that share the tests wait for one of them at the end.
LONG = {"test_worked_through.py", "test_add_a_kernel.py", "test_chapters.py", "test_prose.py"}


def _place(item: pytest.Item) -> object:
    """Where it runs: what its fixture `place` is."""
    call = getattr(item, "callspec", None)
    return call and call.params.get("place")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A table without rows is a mistake: pytest would skip its test, and nobody would notice.
    (Without the extension there are no levels to test.)"""
    items.sort(key=lambda item: item.path.name not in LONG)
    host = [item for item in items if item.get_closest_marker("host")]
    items[:] = [i for i in items if i not in host or _place(i) not in DEVICES]
    for item in items if LEVELS else ():
        for mark in item.iter_markers("skip"):
            if "empty parameter set" in str(mark.kwargs.get("reason", "")):
                raise pytest.UsageError(f"{item.nodeid}: {mark.kwargs['reason']}")


def pytest_collection_finish() -> None:
    """What stands in memory for 60,000 tests stays there to the end: the collector need not look
    through it again for each of the many tests that call it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor through what a file leaves behind, in caches: it would take seconds for each call."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def _the_same_numbers_each_time() -> None:
    """A process that sets no seed draws its own; a test is to fail again where it failed."""
    tutor.manual_seed(0)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a backend, which is in use while the test runs; the test runs once for each."""
    with tutor.use_backend(request.param):
        yield request.param


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """As `backend`, and once more on each device: what the test makes from nothing is there."""
    if request.param in DEVICES:
        with tutor.device(request.param):
            yield request.param
    else:
        with tutor.use_backend(request.param):
            yield request.param


@pytest.fixture(params=DEVICES or [None])
def device(request: pytest.FixtureRequest) -> str:
    """The name of a device; the test runs once for each that is here."""
    if request.param is None:
        pytest.skip("no device but the CPU is here: tutor.devices.names()")
    name: str = request.param
    return name
