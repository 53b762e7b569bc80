"""What is asked for of a lazy block runs as one improved Program, where that is worth it."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from backend_names import BACKENDS
from interrupts import interrupted
from test_lazy_buffers import PROGRAMS, ran

import tutor
from tutor import Tensor, memory, registry
from tutor.backends.step import Step, watch
from tutor.errors import DomainError
from tutor.programs import together
from tutor.programs.passes import improved

pytestmark = pytest.mark.usefixtures("backend")
LARGE = 1 << 20  # float32: the three steps before the sum write 12 MiB


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the steps are, they go together."""
    monkeypatch.setattr(together, "LEAST", 0)


def lazily(function: Callable[[], Any]) -> Any:
    with tutor.lazy():
        return function()


def chain(x: Tensor) -> Tensor:
    return (x * 2 + 1).relu().sum()


@contextmanager
def registered(table: dict[Any, Any]) -> Iterator[None]:
    """A backend of one's own is there, and in use."""
    registry.register("our own", table)
    try:
        with tutor.use_backend("our own"):
            yield
    finally:
        registry._tables.pop("our own")


# ---- how many kernels ----------------------------------------------------------------------------


def test_a_chain_of_large_steps_is_one_kernel() -> None:
    with tutor.use_backend(BACKENDS[-1]):
        x = Tensor.rand(LARGE).realize()
        y = lazily(lambda: chain(x))
        noted = tutor.schedule(y)
        assert [step.kernel for step in noted] == ["mul", "add", "relu", "sum"]
        assert [step.kernel for step in improved(noted)] == ["fused"]
        assert ran(y.realize) == ["fused"]
        assert y.item() == chain(x).item()
        three = lazily(lambda: (x * 2 + 1).relu())
        assert ran(three.realize) == ["fused"]
        assert (three == (x * 2 + 1).relu()).all().item()


def test_a_chain_of_small_steps_goes_step_by_step() -> None:
    y = lazily(lambda: chain(Tensor([1.0, -2.0])))
    assert ran(y.realize) == ["mul", "add", "relu", "sum"]


@pytest.mark.usefixtures("small")
def test_what_runs_together() -> None:
    x = Tensor([1.0, -2.0, 3.0])
    assert ran(lazily(lambda: chain(x)).tolist) == ["fused"]
    assert ran(lazily(lambda: x + 1).tolist) == ["add"]  # one step is what it is
    y = lazily(lambda: x.exp() + 1)
    assert ran(y.tolist) == ["fused"]
    assert ran(y.tolist) == []
    with tutor.lazy():
        between = x * 2
        end = (between + 1).relu()
        between.exp()
    assert ran(end.tolist) == ["fused"]
    assert ran(between.tolist) == []  # somebody has it: so it was one more result
    assert between.tolist() == [2.0, -4.0, 6.0]
    assert end.tolist() == [3.0, 0.0, 7.0]
    with tutor.lazy():
        shared = x * 2
        first, second = shared + 1, shared + 2
        del shared
    assert ran(first.tolist)[0] == "fused"
    assert ran(second.tolist) == ["add"]  # what it needs was kept for it, and is there
    assert second.tolist() == [4.0, -2.0, 8.0]


@pytest.mark.usefixtures("small")
def test_what_changes_memory_that_is_there_goes_alone_and_in_order() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        before = (x * 10 + 1).relu()
        x += 1
        after = (x * 10 + 1).relu()
        after += 1  # in memory that is not there yet
        after *= 2
    assert ran(lambda: tutor.realize(before, after)) == ["fused", "add", "fused"]
    assert before.tolist() == [11.0, 21.0]
    assert after.tolist() == [44.0, 64.0]
    assert x.tolist() == [2.0, 3.0]


@pytest.mark.usefixtures("small")
def test_steps_of_another_backend_go_alone() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.use_backend("python"):
        y = lazily(lambda: (x * 3 + 1).relu())
        z = lazily(lambda: (x * 3 + 1).relu())
        assert ran(y.tolist) == ["fused"]
    table = dict(registry.table("python_ref"))
    with registered({k: partial(run) for k, run in table.items()}):
        assert ran(z.tolist) == ["mul", "add", "relu"]
    assert y.tolist() == z.tolist() == [4.0, 7.0]


@pytest.mark.usefixtures("small")
def test_a_backend_without_the_kernel_goes_step_by_step() -> None:
    table = dict(registry.table("python_ref"))
    with registered({k: v for k, v in table.items() if k[0] != "fused"}):
        x = Tensor([1.0, -2.0])
        y = lazily(lambda: (x * 3 + 1).relu())
        assert ran(y.tolist) == ["mul", "add", "relu"]
        assert y.tolist() == [4.0, 0.0]


@pytest.mark.usefixtures("small")
def test_the_same_lines_are_improved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(program: Any) -> Any:
        calls.append(program)
        return improved(program)

    monkeypatch.setattr(together, "improved", counted)
    monkeypatch.setattr(together, "_latest", {})
    for n in range(5):  # the numbers may be others
        x = Tensor([float(n), 1.0])
        with tutor.lazy():
            y = (x * (n + 2) + 1).relu()
        assert y.tolist() == [n * (n + 2) + 1, n + 3]
    assert len(calls) == 1
    for n in range(2 * together.KEPT):
        assert lazily(lambda n=n: (Tensor.ones(n) + 1) * 2).tolist() == [4.0] * n
    assert len(together._latest) <= together.KEPT


@pytest.mark.usefixtures("small")
def test_zeros_of_both_signs_are_told_apart() -> None:
    def divided() -> Tensor:
        return 1 / (Tensor.full((2,), zero) * Tensor([1.0, 2.0]))

    for zero in (0.0, -0.0, 0.0):
        with np.errstate(all="ignore"):
            assert lazily(divided).tolist() == [math.copysign(math.inf, zero)] * 2


@pytest.mark.usefixtures("small")
def test_a_step_has_the_line_of_its_own_chain() -> None:
    x, seen = Tensor([1.0, 2.0]), list[Any]()
    with tutor.lazy():
        chains = [
            (x * 2).exp(),
            (x * 2).exp(),
        ]
    with watch(lambda step, go: (seen.append(step.where), go())):
        for y in chains:
            y.realize()
    (_, first), (_, second) = seen
    assert second == first + 1


# ---- memory --------------------------------------------------------------------------------------


def test_what_is_only_needed_between_has_no_memory() -> None:
    with tutor.use_backend(BACKENDS[-1]):
        x = Tensor.ones(LARGE).realize()
        y = lazily(lambda: chain(x))
        memory.reset_peak()
        before = memory.stats().in_use
        y.realize()
        assert memory.stats().peak - before < x.buf.nbytes // 4


@pytest.mark.usefixtures("small")
def test_no_memory_is_held_by_what_has_run() -> None:
    x = Tensor.ones(1 << 14).realize()
    lazily(lambda: chain(x)).realize()  # the Program is remembered
    before = memory.stats().in_use
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            y = lazily(lambda: (x * 2 + 1).relu()).realize()
            del y
        assert memory.stats().in_use - before < 1 << 12
    finally:
        gc.enable()


# ---- long chains ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_a_long_chain_is_cut_into_pieces() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x
        for _ in range(3 * together.MOST):
            y = y + 1
    kernels = ran(y.realize)
    assert set(kernels) == {"fused"}
    assert 3 <= len(kernels) < 3 * together.MOST // 4
    assert y.tolist() == [1 + 3 * together.MOST, 2 + 3 * together.MOST]


# ---- what goes wrong on the way ------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_an_error_is_that_of_its_step_and_the_others_run() -> None:
    a = Tensor([6, 8])
    with tutor.lazy():
        fine = (a * 2 + 1) * 3
        bad = ((a * 3) // Tensor([2, 0])) + 1
        later = (fine + 1) * 2
        hopeless = (bad + 1) * 2
    for t in (hopeless, bad):
        with pytest.raises(DomainError, match=r"floor_divide.*, line "):
            ran(lambda t=t: tutor.realize(t, later))
    assert ran(later.tolist) == []
    assert later.tolist() == [80, 104]


@pytest.mark.usefixtures("small")
def test_whatever_goes_wrong_it_goes_step_by_step_then(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: Any) -> Any:
        raise DomainError("to improve a Program", "it cannot be done", "leave it")

    monkeypatch.setattr(together, "improved", broken)
    monkeypatch.setattr(together, "_latest", {})
    x = Tensor([1.0, -2.0])
    assert lazily(lambda: chain(x)).item() == 3.0


@pytest.mark.usefixtures("small")
def test_what_an_observer_raises_reaches_who_asks() -> None:
    x = Tensor([1.0, -2.0])
    y = lazily(lambda: (x * 2 + 1).relu())
    seen: list[str] = []

    def refuse(step: Step, go: Callable[[], None]) -> None:
        seen.append(step.kernel)
        if len(seen) == 1:
            raise DomainError("to watch", "it is the first one", "ask again")
        go()

    with watch(refuse):
        with pytest.raises(DomainError, match="first one"):
            y.tolist()
        assert y.tolist() == [3.0, 0.0]
    assert seen == ["fused", "fused"]


@pytest.mark.usefixtures("small")
def test_an_observer_may_ask_for_what_is_being_run() -> None:
    x = Tensor([1.0, -2.0])
    with tutor.lazy():
        between = x * 2
        y = (between + 1).relu()
        between += 100
        end = between * 1
    found: list[Any] = []

    def ask(step: Step, go: Callable[[], None]) -> None:
        if not found:
            found.append(end.tolist())  # runs some of what runs now, and writes over it
        go()

    with watch(ask):
        assert y.tolist() == [3.0, 0.0]
    assert between.tolist() == found[0] == [102.0, 96.0]


@pytest.mark.usefixtures("small")
# What comes as Python closes a generator is reported and dropped by Python itself, from 3.14 on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_all_of_it_as_it_was_or_done() -> None:
    def pending() -> list[Tensor]:
        x = Tensor([1.0, 2.0])
        with tutor.lazy():
            between = x * 2 + 1
            y = between.relu() * 3
            x += 1
            z = (x * 2 + 1).relu()
            z += 5
        return [x, between, y, z]

    expected = [t.tolist() for t in pending()]
    for remembered in (True, False):
        k = 0
        while True:
            tensors = pending()
            if not remembered:
                together._latest.clear()
            if not interrupted(k, lambda last=tensors[::-1]: [t.tolist() for t in last], PROGRAMS):
                break
            assert [t.tolist() for t in tensors] == expected, f"interrupted before bytecode {k}"
            k += 1 + k // 40
        assert k > 300


@pytest.mark.usefixtures("small")
# What comes as Python closes a generator is reported and dropped by Python itself, from 3.14 on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_they_are_done_at_one_instant() -> None:
    """At each bytecode either none of the steps is done or all are."""
    x = Tensor([1.0, 2.0])
    k, seen = 0, set()
    while True:
        with tutor.lazy():
            first = x * 2
            second = first + 1
        pending = [t.buf.memory.value for t in (first, second)]
        there = interrupted(k, second.realize, PROGRAMS)
        seen.add(done := tuple((v.maker.work is None, v.place.value is None) for v in pending))
        assert done in {((True, False),) * 2, ((False, True),) * 2}
        if not there:
            break
        k += 1 + k // 40
    assert len(seen) == 2
