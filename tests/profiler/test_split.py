"""split(): samples that are planted by hand, each where it is known what the program does. The
timer itself is set so far away that it never rings here."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tutor
from tutor import Tensor, registry
from tutor.backends.step import watchers
from tutor.errors import DomainError
from tutor.profiler import split as module
from tutor.profiler.profile import KernelCall
from tutor.profiler.split import PACKAGE, doing, split


@pytest.fixture(autouse=True)
def _nothing_stays_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "EVERY", 10_000.0)
    before = signal.getsignal(signal.SIGPROF), watchers()
    yield
    assert (signal.getsignal(signal.SIGPROF), watchers()) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def ring() -> None:
    """What the timer does. The handler sees the function that calls this one."""
    signal.raise_signal(signal.SIGPROF)


def within(place: str) -> Callable[[], None]:
    """A function that rings, in a file of tutor's."""
    names: dict[str, Any] = {"signal": signal}
    code = "def planted():\n    signal.raise_signal(signal.SIGPROF)\n"
    exec(compile(code, os.path.join(PACKAGE, place), "exec"), names)
    planted: Callable[[], None] = names["planted"]
    return planted


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("core/engine/forward.py", "dispatch"),
        ("methods/operators.py", "dispatch"),
        ("backends/registry.py", "dispatch"),
        ("_storage/layout.py", "dispatch"),
        ("nn/linear.py", "python"),
        ("optim/sgd.py", "python"),
        ("memory.py", "python"),
        ("../elsewhere/core/mine.py", "python"),
    ],
)
def test_the_room_of_the_innermost_function_decides(place: str, what: str) -> None:
    with split() as p:
        for _ in range(3):
            within(os.path.normpath(place) if place[0] != "." else place.replace("..", "/", 1))()
    assert p.samples == {what: 3}


def test_samples_in_each_place_are_counted(backend: str) -> None:
    """Two in the program, three in the dispatch of an op, four where an observer is shown a step,
    and five in its kernel, which do not count."""
    rows = dict(registry.table(backend))

    def kernel(*operands: Any, **params: Any) -> None:
        for _ in range(5):
            ring()
        add(*operands, **params)

    x = Tensor([1.0, 2.0])
    add, key = rows["add", x.dtype], ("add", x.dtype)
    registry.register("ringing", {**rows, key: kernel})
    planted = within("ops/elementwise.py")
    seen = tutor.watch(lambda step, go: ([ring() for _ in range(4)], go()))
    try:
        with registry.use_backend("ringing"), seen, split() as p:
            ring()
            for _ in range(3):
                planted()
            y = x + x
            ring()
    finally:
        del registry._tables["ringing"]
    assert y.tolist() == [2.0, 4.0]
    assert p.samples == {"python": 2, "dispatch": 3, "profile": 4}
    assert [call.kernel for call in p.calls] == ["add"]


def test_the_time_between_is_divided_by_the_samples() -> None:
    """10 s, 4 of them in a kernel and 1 to record it: 5 between, of ten samples 2, 5 and 3."""
    p = split()
    layouts = (((2,), (1,), tutor.float32),) * 3
    p.calls.append(KernelCall("add", tutor.float32, 0, 4 * 10**9, 10**9, 0, layouts))
    p.elapsed = 10 * 10**9
    assert p.seconds == {"kernels": 4.0, "between": 5.0, "profile": 1.0}, "no sample yet"
    p.samples.update(python=2, dispatch=5, profile=3)
    assert p.seconds == {"kernels": 4.0, "dispatch": 2.5, "python": 1.0, "profile": 2.5}
    assert str(p).endswith("kernels 40.0%, dispatch 25.0%, python 10.0%, profile 25.0%")


def test_a_timer_that_was_there_goes_on() -> None:
    rings: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda *_: rings.append(1))
    signal.setitimer(signal.ITIMER_PROF, 5000.0, 7000.0)
    try:
        with split() as outer:
            ring()
            with split() as inner:
                ring()
            ring()
        ring()
        left, interval = signal.getitimer(signal.ITIMER_PROF)
        assert 4000 < left < 5001 and interval == 7000 and rings == [1]
        assert (outer.samples.total(), inner.samples.total()) == (2, 1)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_the_timer_is_set_and_an_error_ends_it() -> None:
    with split():
        left, interval = signal.getitimer(signal.ITIMER_PROF)
        assert 9000 < left < 10_001 and interval == 10_000
    with pytest.raises(ZeroDivisionError), split():
        1 / 0  # noqa: B018
    p = split()
    with p, pytest.raises(DomainError, match="a profile at work"), p:
        pass
    assert doing(None) == "python"


def test_elsewhere_there_is_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[BaseException] = []

    def other() -> None:
        try:
            with split():
                pass
        except DomainError as error:
            found.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    monkeypatch.delattr(signal, "setitimer")
    other()
    monkeypatch.undo()
    assert len(found) == 2 and all("the main thread" in str(error) for error in found)
