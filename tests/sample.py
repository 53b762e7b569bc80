"""The part of the suite that `make test` runs: each case, but not each of them everywhere.

Most tests run a case on every level of the SIMD backend, on python_ref and on devices. All of that
takes half an hour of two processors, and is for what must pass before a change goes in: `.ci/run`.
A sample (`pytest --sample`) has each case where it matters most, on the best level, and once more
on one of the other places, which its name alone decides: every run has the same tests.

Two marks say more. `crossed("dtype", ...)`: these parameters are only crossed with the rest as
well, so that one of their values is enough for each of the rest, and one more on another place.
`sweep`: it repeats at full size what other tests try in small, and is in no sample.

What is chosen by a name, a path or -k is never sampled: `pytest tests/ops` runs all of tests/ops.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Hashable, Sequence

import pytest
from backend_names import LEVELS, PLACES

AXES = {"backend", "place", "level"}  # what tests call the parameter that is one of PLACES
WHERE = {*PLACES, *(name.removeprefix("simd_cpp.") for name in LEVELS)}
BEST = {LEVELS[-1], LEVELS[-1].removeprefix("simd_cpp.")} if LEVELS else {"python_ref"}


ALL = "make test FULL=1 runs all"

# Minutes of one processor (November 2026, on a machine that did other work beside). All tests, as
# `.ci/run` runs them, took 3,326 s of CPU time: two processes shared them for 35 minutes. As a
# whole the sample has not been timed: the CPU times of its tests, nine tenths of them measured, the
# rest estimated from tests like them, add up to 1,540 s, and what was measured again on quiet cores
# took a seventh less.
MINUTES = {False: 55, True: 24}


def told(sample: bool, processes: int) -> str:
    """What is going to run, and for how long."""
    what = f"a sample of the tests ({ALL})" if sample else "all tests"
    minutes = MINUTES[sample] / processes
    return f"{what}: about {minutes:.0f} minutes with {processes} processes on as many quiet cores"


def sampled(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Those of `items` that a sample has, in their order."""
    cases: defaultdict[Hashable, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sweep") is None:
            cases[_case(item)].append(item)
    kept = {item.nodeid for case in cases.values() for item in _some(case)}
    return [item for item in items if item.nodeid in kept]


def _crossed(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("crossed") for name in mark.args}


def _place(item: pytest.Item) -> str:
    """Where it runs, by the parameter that says so; "" where none does."""
    call = getattr(item, "callspec", None)
    found = [call.params[axis] for axis in sorted(AXES & set(call.params))] if call else []
    return next((name for name in found if isinstance(name, str) and name in WHERE), "")


def _case(item: pytest.Item) -> Hashable:
    """The test and its parameters, but for those that are crossed with the others."""
    call = getattr(item, "callspec", None)
    if call is None:
        return item.nodeid
    crossed = _crossed(item) | (AXES if _place(item) else set())
    rest = tuple(
        (name, id(x))
        for name, x in sorted(call.params.items(), key=lambda named: named[0])
        if name not in crossed
    )
    return item.nodeid.partition("[")[0], rest


def _some(case: list[pytest.Item]) -> list[pytest.Item]:
    """One of a case's tests on the best level (or where no place is named), one elsewhere."""

    def lot(item: pytest.Item) -> int:
        return zlib.crc32(item.nodeid.encode())

    home = [item for item in case if _place(item) in {"", *BEST}]
    elsewhere = [item for item in case if _place(item) not in {"", *BEST}]
    return [min(tests, key=lot) for tests in (home, elsewhere) if tests]
