"""Eager = jit = lazy, to the bit: random programs, calls 1 to 5, passes, levels and threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import ALL, COLUMNS, ROWS, Line, Machine, bits, lines

import tutor
from tutor import Tensor
from tutor.backends import simd_cpp
from tutor.errors import TutorError
from tutor.programs import together
from tutor.programs.passes import PASSES

CALLS = 5


def calls(adam: bool, program: tuple[Line, ...], step: Any = None) -> Iterator[Any]:
    """What each call gives and leaves; at the end all results again, which nobody may have changed.

    `step(machine)` is what runs the program: a jitted method, for example."""
    machine = Machine(adam)
    run = machine.run if step is None else step(machine)
    results = []
    for n in range(CALLS):
        tutor.manual_seed(n)
        x = Tensor.randn(ROWS, COLUMNS)
        try:
            results.append(run(program, x))
        except TutorError as error:
            yield type(error), str(error)
            return
        yield bits(results[-1]), bits(x), bits(machine.seen())
    yield bits(results)


def compare(adam: bool, program: list[Line], passes: tuple[str, ...] | None) -> None:
    def jitted(machine: Machine) -> Any:
        return tutor.jit(machine.run, passes=passes)

    both = zip(calls(adam, tuple(program)), calls(adam, tuple(program), jitted), strict=True)
    for n, (eager, replayed) in enumerate(both):
        assert eager == replayed, f"call {n + 1} of {program}"


some = st.one_of(st.none(), st.lists(st.sampled_from([*PASSES, ""]), unique=True))


@pytest.mark.usefixtures("backend")
@settings(max_examples=60, deadline=None)
@given(st.booleans(), lines, some)
def test_jit_gives_the_bits_of_the_function(
    adam: bool, program: list[Line], passes: list[str] | None
) -> None:
    compare(adam, program, None if passes is None else tuple(filter(None, passes)))


@pytest.fixture(params=["one by one", "together"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small they are, pending steps run together."""
    if request.param == "together":
        monkeypatch.setattr(together, "LEAST", 0)


@pytest.mark.usefixtures("backend", "steps")
@settings(max_examples=40, deadline=None)
@given(st.booleans(), lines)
def test_lazy_gives_the_bits_of_the_function(adam: bool, program: list[Line]) -> None:
    both = zip(calls(adam, tuple(program)), calls(adam, tuple(program), lazily), strict=True)
    for n, (eager, lazy) in enumerate(both):
        assert eager == lazy, f"call {n + 1} of {program}"


def lazily(machine: Machine) -> Any:
    def run(program: tuple[Line, ...], x: Tensor) -> list[Tensor]:
        with tutor.lazy():
            return machine.run(program, x)

    return run


@pytest.mark.parametrize("what", ALL)
@pytest.mark.usefixtures("backend")
def test_each_line_alone(what: str) -> None:
    compare(True, [Line(what, 0, 0, 0.5), Line(what, 1, 0, 2.0)], None)


@settings(max_examples=20, deadline=None)
@given(lines, st.integers(1, 2))
def test_the_number_of_threads_changes_nothing(program: list[Line], threads: int) -> None:
    before = simd_cpp.num_threads()
    simd_cpp.set_num_threads(threads)
    try:
        with tutor.use_backend("simd_cpp"):
            compare(False, program, None)
    finally:
        simd_cpp.set_num_threads(before)
