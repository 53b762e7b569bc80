"""What every test shares: the fixture `backend`, how hypothesis runs, what is left out, and that
nothing is left out in silence."""

from __future__ import annotations

import gc
import importlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import by_turns
import missing
import pytest
import sample
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


LEFT_OUT = pytest.StashKey[int]()  # how many tests the sample does not have


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "what is skipped, for want of a package or of anything else that can be had, fails"
    parser.addoption("--nothing-missing", action="store_true", help=text)
    text = "each case, but not each of them on every backend (see tests/sample.py)"
    parser.addoption("--sample", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
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


# ---- what is left out is said, first and last ----------------------------------------------------


def pytest_report_header(config: pytest.Config) -> list[str]:
    """How long it will take, what is left out, and how to have it run."""
    lines = []
    if len(BACKENDS) == 1:
        lines.append(f"python_ref alone: {simd_cpp.FOUND}; to do: {simd_cpp.REMEDY}")
    lines += missing.told(config.getoption("--nothing-missing"))
    if _all_of_it(config):
        sampled = config.getoption("--sample")
        lines.append(sample.told(sampled, config.getoption("numprocesses", None) or 1))
    return lines


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What was left out, and how to have it run."""
    lines = missing.told(config.getoption("--nothing-missing"))
    if count := config.stash[LEFT_OUT]:
        lines.append(f"{count:,} tests are not in the sample: {sample.ALL}")
    if lines:
        terminalreporter.section("left out")
        for line in lines:
            terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of the processes that share the tests (pytest-xdist), each tells what it has left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """They have all collected the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def _all_of_it(config: pytest.Config) -> bool:
    """Is the whole suite asked for, and no part of it by name?"""
    chosen = config.getoption("keyword") or config.getoption("markexpr")
    return not chosen and config.args == config.getini("testpaths")


def _must_run(report: Any, config: pytest.Config) -> None:
    """--nothing-missing: a skip fails, but for what cannot be had there (missing.CANNOT_BE_HAD)."""
    if not config.getoption("--nothing-missing") or not report.skipped:
        return
    if hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not missing.excused(reason):
        report.outcome = "failed"
        report.longrepr = (
            f"asked: to run all tests (--nothing-missing)\nfound: {report.nodeid} is skipped:"
            f" {reason}\nto do: install what it names, or add the reason to CANNOT_BE_HAD in"
            " tests/missing.py, where it cannot be had on any such machine"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    _must_run(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    _must_run(report, collector.config)
    return report


# ---- what is collected ---------------------------------------------------------------------------

# They begin first, lest the processes that share the tests wait for one of them at the end, or each
# run what a file has in common: all suites of benchmarks, the examples.
LONG = {
    "test_worked_through.py", "test_add_a_kernel.py", "test_add_a_layer.py", "test_chapters.py",
    "test_prose.py", "test_examples.py", "test_benchmarks.py",
}  # fmt: skip


def _place(item: pytest.Item) -> object:
    """Where it runs: what its fixture `place` is."""
    call = getattr(item, "callspec", None)
    return call and call.params.get("place")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A table without rows is a mistake: pytest would skip its test, and nobody would notice.
    (Without the extension there are no levels to test.)"""
    items.sort(key=lambda item: item.path.name not in LONG)
    items[:] = [i for i in items if not i.get_closest_marker("host") or _place(i) not in DEVICES]
    config.stash[missing.COUNTED] = Counter(
        {
            path.relative_to(missing.HERE).as_posix(): count
            for path, count in Counter(item.path for item in items).items()
            if missing.HERE in path.parents
        }
    )
    if by_turns.ASKED not in ("", "all") and _all_of_it(config):
        items[:] = by_turns.those_in_turn(items)
    if config.getoption("--sample"):
        kept = sample.sampled(items)
        config.stash[LEFT_OUT] = len(items) - len(kept)
        items[:] = kept
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
