"""A short run of the fuzzer of state: `make jit-fuzz` runs a long one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from state_fuzz import drawn, failure, report, shortest

PROGRAMS = 150


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_jit_leaves_what_python_leaves(seed: int) -> None:
    if failure(drawn(seed)):
        pytest.fail(report(seed))


def test_most_programs_run_and_are_the_same_each_time() -> None:
    found = [failure(drawn(seed), lambda function: function) for seed in range(PROGRAMS)]
    assert set(found) <= {None, ""} and found.count("") < PROGRAMS / 10


def frozen(function: Callable[..., Any]) -> Callable[..., Any]:
    """A jit that gives for ever what the second call gave."""
    results: list[Any] = []

    def jitted(*args: Any) -> Any:
        if len(results) < 2:
            results.append(function(*args))
        return results[-1]

    return jitted


def test_a_jit_that_lies_is_found_and_the_program_made_short() -> None:
    assert sum(bool(failure(drawn(seed), frozen)) for seed in range(20)) >= 18
    program = shortest(drawn(0), frozen)
    assert str(failure(program, frozen)).startswith("lies: call 3")
    assert len(program.calls) == 3 and len(program.functions[0].body) <= 1
    assert not any(failure(program, jit) for jit in (lambda function: function,))
