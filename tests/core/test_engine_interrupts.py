"""An interrupt at every bytecode of tutor's own: no mode, no `.grad` and no version is left wrong.

Each scenario is run again and again, with a KeyboardInterrupt before one bytecode after another in
a file of tutor: before every third, beginning with another one for each commit (by_turns.py), or,
with TUTOR_CLAIMS=all, before every one. Afterwards the modes must be what they were, and the next
backward() right. The second half does it with real signals, at random moments. Without the native
part a block may last if the interrupt comes while it is entered or left, and at no other moment.
"""

from __future__ import annotations

import functools
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import interrupts
import pytest
from by_turns import ASKED, turn
from cube import Cube
from plain_blocks import IS_NATIVE, make_plain

import tutor
from tutor import Tensor, optim, registry
from tutor.backends.step import mode, watchers
from tutor.core.engine.casting import autocast_dtype, casting
from tutor.core.engine.grad_mode import recording

PACKAGE = str(Path(tutor.__file__).parent)
COUNTS: dict[str, int] = {}  # interrupts, by scenario
needs_native = pytest.mark.skipif(not IS_NATIVE, reason="a block may last: see the end")

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def modes() -> tuple[Any, ...]:
    return tutor.is_grad_enabled(), registry.current(), watchers(), autocast_dtype()


def run_until(k: int, function: Callable[[], object], place: list[str] | None = None) -> bool:
    """Call `function`, with an interrupt before the k-th bytecode in tutor. Was there one?"""
    return interrupts.interrupted(k, function, PACKAGE, place=place)


class Scene:
    """Two leaves with a gradient from before, and a scenario's function."""

    def __init__(self) -> None:
        self.x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        self.y = Tensor([0.5, -1.0], requires_grad=True)
        self.leaves = (self.x, self.y)
        for leaf in self.leaves:
            leaf.grad = leaf.detach() * 0 + 7
        self.before = [leaf.grad for leaf in self.leaves]
        self.states = [(leaf.buf.version, leaf.tolist()) for leaf in self.leaves]

    @functools.cached_property
    def adam(self) -> optim.Adam:
        return optim.Adam(self.leaves, lr=0.1)

    def loss(self) -> Tensor:
        return (self.x * self.y).relu().sum()

    def check(self) -> None:
        """The gradients are all as before, or all have been added to; and all goes on."""
        same = [leaf.grad is g for leaf, g in zip(self.leaves, self.before, strict=True)]
        assert all(same) or not any(same)
        with tutor.enable_grad():
            for leaf in self.leaves:
                leaf.grad = None
            self.loss().backward()
            right = [leaf.grad.tolist() for leaf in self.leaves]
            assert right == [g.tolist() for g in tutor.grad(self.loss(), self.leaves)]
        if not any(same):
            for g in self.before:
                assert all(n == 7 for n in g.flatten().tolist())

    def unmoved_or_counted(self) -> None:
        for leaf, (version, numbers) in zip(self.leaves, self.states, strict=True):
            assert leaf.tolist() == numbers or leaf.buf.version > version


def block(make: Callable[[], Any]) -> Callable[[Scene], Any]:
    def run(scene: Scene) -> Tensor:
        with make():
            return scene.x * scene.x

    return run


def nested(scene: Scene) -> None:
    """A view, which needs no kernel: an interrupt in one of python_ref leaves several blocks as it
    leaves the one of "use_backend", and has thousands of bytecodes."""
    mode = tutor.no_grad()
    with mode, tutor.enable_grad(), mode, tutor.use_backend("python"):
        assert not scene.y.reshape(1, 2).requires_grad


def decorated(scene: Scene) -> None:
    @tutor.no_grad()
    @tutor.use_backend("python")
    def function() -> Tensor:
        return scene.y.reshape(1, 2)

    function()


def generated(scene: Scene) -> None:
    @tutor.no_grad()
    def steps() -> Iterator[Tensor]:
        yield scene.y * 2
        yield scene.y * 3

    for t in steps():
        assert not t.requires_grad


def sgd(scene: Scene) -> None:
    optim.SGD(scene.leaves, lr=0.1, momentum=0.9).step()


def adam(scene: Scene) -> None:
    """Its first step. It is made before: what makes an optimizer is interrupted in "SGD"."""
    scene.adam.step()


def by_hand(scene: Scene) -> None:
    with tutor.no_grad():
        for p in scene.leaves:
            p -= p.grad
        scene.y[0] += 1.0
        scene.y.grad.zero_()


SCENARIOS: dict[str, Callable[[Scene], Any]] = {
    "no_grad": block(tutor.no_grad),
    "enable_grad": block(tutor.enable_grad),
    "inference_mode": block(tutor.inference_mode),
    "use_backend": block(lambda: tutor.use_backend("python")),
    "autocast": block(lambda: tutor.autocast("bfloat16")),
    "nested blocks": nested,
    "a decorated function": decorated,
    "a decorated generator": generated,
    "backward": lambda scene: scene.loss().backward(),
    "backward with create_graph": lambda scene: scene.loss().backward(create_graph=True),
    "grad": lambda scene: tutor.grad(scene.loss(), scene.leaves),
    "a Function": lambda scene: Cube.apply(scene.x).sum().backward(),
    "watch": block(lambda: tutor.watch(lambda step, go: go())),
    "profile": block(tutor.profile),
    "SGD": sgd,
    "Adam": adam,
    "changes in place": by_hand,
}
WITH = ("no_grad", "autocast", "watch", "profile")
SHORT = ("no_grad", "enable_grad", "a decorated generator")  # within no_grad, too


@needs_native
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "outside"), [*((name, True) for name in SCENARIOS), *((name, False) for name in SHORT)]
)
def test_an_interrupt_at_every_bytecode(name: str, outside: bool) -> None:
    run, interrupted = SCENARIOS[name], True
    step = 1 if ASKED == "all" else 3
    first = k = turn(step)
    with tutor.set_grad_enabled(outside):
        run(Scene())  # so that backends and kernels have been found: that is long, and done once
        run_until(sys.maxsize, lambda: run(Scene()))  # Python 3.12 shows the first nothing
        before = modes()
        while interrupted:
            scene = Scene()
            if run is adam:
                assert scene.adam.steps == 0
            interrupted = run_until(k, lambda scene=scene: run(scene))
            assert modes() == before, f"interrupted at bytecode {k}"
            scene.unmoved_or_counted()
            if "backward" in name:
                scene.check()
            k += step
    COUNTS[f"{name}, {outside}"] = (k - first) // step - 1
    assert k > 50


def test_an_interrupted_step_is_not_counted_and_the_next_one_is() -> None:
    k, interrupted = 0, True
    while interrupted:
        scene = Scene()
        adam = optim.Adam(scene.leaves, lr=0.1)
        adam.step()
        moved = [leaf.tolist() for leaf in scene.leaves]
        interrupted = run_until(k, adam.step)
        scene.unmoved_or_counted()
        now = [leaf.tolist() for leaf in scene.leaves]
        if adam.steps == 2:  # a step that was counted has moved all
            assert all(a != b for a, b in zip(moved, now, strict=True))
        else:
            assert adam.steps == 1
        adam.step()
        k += 1
    COUNTS["Adam, twice"] = k - 1


@pytest.mark.parametrize("backend", ["python_ref", registry.current()])
def test_an_interrupted_draw_has_taken_its_numbers_or_none(backend: str) -> None:
    k, interrupted, stream = 0, True, tutor.random.Stream(5)
    before = set[tuple[int, int]]()
    out = Tensor.zeros(3)
    with tutor.use_backend(backend):
        stream.draw("uniform", out, 2)
        while interrupted:
            stream.state = 5, 9
            interrupted = run_until(k, lambda: stream.draw("uniform", out, 2))
            before.add(stream.state)
            k += 1
    COUNTS[f"a draw, {backend}"] = k - 1
    assert before == {(5, 9), (5, 11)}


def test_an_interrupted_backward_adds_to_all_or_none() -> None:
    k, outcomes, interrupted = 0, set[tuple[float, ...]](), True
    while interrupted:
        leaves = [Tensor([float(i)], requires_grad=True) for i in range(4)]
        a, b, c, d = leaves
        loss = (a * b + c * d).sum()
        interrupted = run_until(k, loss.backward)
        outcomes.add(tuple(-1.0 if x.grad is None else x.grad.item() for x in leaves))
        k += 1
    COUNTS["all or none"] = k - 1
    assert outcomes == {(-1.0,) * 4, (1.0, 0.0, 3.0, 2.0)}


@pytest.mark.parametrize("name", [*WITH, "a decorated generator"])
def test_without_the_native_part_only_entering_and_leaving_can_be_cut(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_plain(monkeypatch)
    run, k, interrupted, lasting = SCENARIOS[name], 0, True, 0
    run(Scene())
    before = modes()
    while interrupted:
        place: list[str] = []
        scene = Scene()
        interrupted = run_until(k, lambda scene=scene: run(scene), place)
        if modes() != before:
            assert {"__enter__", "__exit__"} & {*place}, f"interrupted at bytecode {k}: {place}"
            lasting += 1
            for setting in (recording, casting, mode, registry._setting):
                setting.blocks.clear()
        assert modes() == before
        k += 1
    assert 0 < lasting < k / 2 if name in WITH else not lasting


# ---- real signals --------------------------------------------------------------------------------


def strike(function: Callable[[], object], delay: float) -> bool:
    """Call it over and over, until an alarm interrupts it. False where that came to nothing: in a
    `__del__`, Python drops every exception."""
    try:
        until_alarm(function, delay)
    except KeyboardInterrupt:
        return True
    return False


def until_alarm(function: Callable[[], object], delay: float) -> None:
    """A function of its own: what comes between two rounds of a loop is in Python 3.13 not seen by
    the `try` around it."""
    signal.setitimer(signal.ITIMER_REAL, delay)
    end = perf_counter() + delay + 0.05
    while perf_counter() < end:
        function()


@pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="alarms interrupt the main thread, on Unix",
)
@pytest.mark.parametrize(
    "name", ["backward", "no_grad", "nested blocks", "profile", "SGD", "by decorator"]
)
def test_real_signals_at_random_moments(name: str) -> None:
    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    w, scene, rng = Tensor.randn(3, 3, requires_grad=True), Scene(), random.Random(0)
    run = {**SCENARIOS, "by decorator": decorated}[name]
    work = (lambda: (w @ w).relu().sum().backward()) if name == "backward" else lambda: run(scene)
    before, previous, struck = modes(), signal.signal(signal.SIGALRM, interrupt), 0
    try:
        while struck < 1000:
            struck += strike(work, rng.uniform(2e-6, 3e-4))
            assert modes() == before, f"after alarm {struck}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    COUNTS[f"{name}, by signal"] = 1000
    scene.check()
    w.grad = None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [[3.0] * 3] * 3


@pytest.mark.sweep
def test_they_were_at_least_ten_thousand(capsys: pytest.CaptureFixture[str]) -> None:
    if len(COUNTS) < len(SCENARIOS):
        pytest.skip("not all were run")
    with capsys.disabled():
        print(f"\n{sum(COUNTS.values()):,} interrupts, 0 changed states")
    assert sum(COUNTS.values()) >= 10_000
