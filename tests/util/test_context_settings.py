"""Settings of a context: blocks nested, reused, decorated, in threads and in tasks; as they are
with the native part and without it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import random
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from plain_blocks import IS_NATIVE, make_plain

import tutor
from tutor import Tensor, registry
from tutor._util.atomic import exchange
from tutor._util.context_settings import Block, Setting, Within
from tutor.core.engine.casting import CASTING, autocast_dtype
from tutor.errors import DomainError

on = tutor.is_grad_enabled


@pytest.fixture(autouse=True, params=["native", "plain"] if IS_NATIVE else ["plain"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        make_plain(monkeypatch)
    return str(request.param)


def number() -> tuple[Setting[int], Callable[[int], Within[int]]]:
    setting = Setting("number", 0)
    return setting, lambda value: Within(setting, value)


def in_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


# ---- with ----------------------------------------------------------------------------------------


def test_blocks_nest_and_end_in_any_order() -> None:
    setting, within = number()
    one, two = within(1), within(2)
    with one, two, one:
        assert setting.get() == 1
        with two:
            assert setting.get() == 2
        assert setting.get() == 1
    assert setting.get() == 0

    def steps(block: Within[int]) -> Iterator[None]:
        with block:
            yield

    first, second = steps(one), steps(two)
    next(first), next(second)
    first.close()  # the outer one ends first
    assert setting.get() == 2
    second.close()
    assert setting.get() == 0


def test_an_exception_ends_a_block_and_goes_on() -> None:
    with pytest.raises(ZeroDivisionError), tutor.no_grad():
        raise ZeroDivisionError
    assert on()


def test_a_block_may_be_entered_by_hand_and_by_contextlib() -> None:
    block = tutor.no_grad()
    block.__enter__()
    with block:
        assert not on()
    assert not on()
    block.__exit__(None, None, None)
    assert on()
    with contextlib.ExitStack() as stack:
        stack.enter_context(tutor.no_grad())
        stack.enter_context(tutor.use_backend("python"))
        assert (on(), registry.current()) == (False, "python_ref")
    assert on()
    with pytest.raises(DomainError, match="was not entered"):
        tutor.no_grad().__exit__(None, None, None)
    with block, pytest.raises(DomainError, match="was not entered"):
        tutor.no_grad().__exit__(None, None, None)
    assert on()


def test_a_block_is_left_in_another_context_than_it_was_entered_in() -> None:
    """As an asynchronous generator is that the event loop closes."""
    setting, within = number()
    one, two = within(1), within(2)
    inside = contextvars.copy_context()
    inside.run(one.__enter__)
    assert (setting.get(), inside.run(setting.get)) == (0, 1)
    with two:
        contextvars.Context().run(one.__exit__, None, None, None)
        assert (setting.get(), inside.run(setting.get)) == (2, 0)
    with pytest.raises(DomainError, match="was not entered"):
        one.__exit__(None, None, None)


def test_a_statement_within_a_block_ends_with_it() -> None:
    setting, within = number()
    with within(1):
        setting.set(5)
        with within(2):
            assert setting.get() == 2
        assert setting.get() == 5
    assert setting.get() == 0
    setting.set(7)
    with within(1):
        pass
    assert setting.get() == 7


def test_the_other_order_of_looking_up() -> None:
    """As a `with` statement of Python 3.14 has it: __exit__ is looked up first."""
    setting, within = number()
    one = within(1)
    assert hasattr(one, "__enter__")  # which prepares a block that is never entered
    leave, enter = one.__exit__, one.__enter__
    assert setting.get() == 0
    enter()
    assert setting.get() == 1
    again, inner = one.__exit__, one.__enter__
    inner()
    again(None, None, None)
    assert setting.get() == 1
    leave(None, None, None)
    assert setting.get() == 0


def test_a_block_that_nobody_can_leave_is_over_with_the_native_part(twin: str) -> None:
    """A `with` statement of Python 3.14 that is interrupted when it has entered lets go of the
    `__exit__` that it has looked up, and calls nothing."""
    lasts = twin == "plain"
    setting, within = number()
    one = within(1)
    leave, enter = one.__exit__, one.__enter__
    enter()
    setting.set(5)
    assert setting.get() == 5
    del leave
    assert setting.get() == (5 if lasts else 0)
    cast = tutor.autocast("float16")
    leave, enter = cast.__exit__, cast.__enter__
    enter()
    assert autocast_dtype() is tutor.float16
    del leave
    assert autocast_dtype() is (tutor.float16 if lasts else None)
    assert bool(CASTING) == lasts
    if lasts:
        cast.__exit__(None, None, None)


def test_a_setting_that_was_tampered_with_is_an_error_and_no_crash() -> None:
    setting, within = number()
    one = within(1)
    setting.blocks = 5  # type: ignore[assignment]
    with pytest.raises(TypeError), one:
        pass
    with pytest.raises(TypeError):
        one.__exit__(None, None, None)
    with pytest.raises((AttributeError, TypeError)):
        Within.__enter__(5)  # type: ignore[type-var]
    with pytest.raises((AttributeError, TypeError)):
        Within.__exit__()  # type: ignore[call-arg]


@pytest.mark.parametrize("twin", ["native"], indirect=True)
def test_both_twins_do_the_same_with_whatever_is_done() -> None:
    """Blocks entered, left and set in any order, by hand, in several contexts."""
    rng, refused = random.Random(0), 0
    for _ in range(200):
        work = [(rng.randrange(6), rng.randrange(3), rng.randrange(3)) for _ in range(30)]
        native = done(work)
        with pytest.MonkeyPatch.context() as patch:
            make_plain(patch)
            assert done(work) == native
        refused += native.count(-1)
    assert refused > 100


def done(work: list[tuple[int, int, int]]) -> list[int]:
    """What each context sees after each step; -1 where a block was left that was not entered."""
    setting, within = number()
    blocks = [within(1), within(2), within(3)]
    contexts = [contextvars.copy_context() for _ in range(3)]
    seen: list[int] = []
    for what, which, where in work:
        context, block = contexts[where], blocks[which]
        if what < 3:
            context.run(block.__enter__)
        elif what == 3:
            context.run(setting.set, 10 + which)
        elif what == 4:
            contexts[which] = context.copy()
        else:
            try:
                context.run(block.__exit__, None, None, None)
            except DomainError:
                seen.append(-1)
        seen += [each.run(setting.get) for each in contexts]
    return seen


def test_nothing_piles_up() -> None:
    block = tutor.no_grad()
    for _ in range(10):
        with block, tutor.enable_grad():
            pass
    tracemalloc.start()
    for _ in range(500):
        with block, tutor.enable_grad():
            on()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 20_000
    assert not isinstance(blocks_left(), Block)


def blocks_left() -> Any:
    from tutor.core.engine.grad_mode import recording

    assert on()
    return recording.variable.get()


# ---- modes ---------------------------------------------------------------------------------------


def test_the_modes() -> None:
    x = Tensor([2.0], requires_grad=True)
    with tutor.no_grad():
        assert not (x * x).requires_grad
        with tutor.enable_grad():
            assert (x * x).requires_grad
        with tutor.inference_mode(), tutor.inference_mode(False):
            assert (x * x).requires_grad
        assert not on()
    with tutor.inference_mode():
        y = x * 2
    assert not y.requires_grad
    (y.requires_grad_() * 3).sum().backward()  # it may be a leaf
    assert y.grad.item() == 3


def test_set_grad_enabled_is_a_statement_and_a_block() -> None:
    tutor.set_grad_enabled(False)
    assert not on()
    with tutor.set_grad_enabled(True):
        assert on()
    assert not on()
    tutor.set_grad_enabled(True)
    assert on()
    with tutor.no_grad():
        tutor.set_grad_enabled(True)
        assert on()
    assert on()
    with tutor.no_grad():
        with tutor.set_grad_enabled(True):
            assert on()
        assert not on()

    @tutor.set_grad_enabled(False)
    def f() -> bool:
        return on()

    assert on()
    assert not f()
    assert on()


# ---- decorators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("decorator", [tutor.no_grad, tutor.no_grad(), tutor.inference_mode])
def test_functions(decorator: Any) -> None:
    @decorator
    def f(n: int) -> Any:
        """Doc."""
        return (on(), f(n - 1)) if n else on()

    assert f(2) == (False, (False, False))
    assert on()
    assert (f.__name__, f.__doc__) == ("f", "Doc.")


def test_generators_hold_it_in_their_steps_only() -> None:
    @tutor.no_grad()
    def steps() -> Any:
        try:
            got = yield on()
            with tutor.enable_grad():
                yield on(), got
            try:
                yield on()
            except ValueError as error:
                yield str(error), on()
            return "done"
        finally:
            closed.append(on())

    closed: list[bool] = []
    g = steps()
    assert next(g) is False
    assert on()
    assert g.send("sent") == (True, "sent")
    assert on()
    assert next(g) is False
    assert g.throw(ValueError("thrown")) == ("thrown", False)
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "done"
    other = steps()
    next(other)
    other.close()
    assert closed == [False, False]
    assert on()


def test_coroutines_hold_it_though_others_run_between() -> None:
    @tutor.no_grad()
    async def work() -> list[bool]:
        seen = [on()]
        for _ in range(3):
            await asyncio.sleep(0)
            seen.append(on())
        return seen

    async def other() -> list[bool]:
        seen = []
        for _ in range(4):
            seen.append(on())
            await asyncio.sleep(0)
        return seen

    async def both() -> list[list[bool]]:
        return [*await asyncio.gather(work(), other()), await work(), [on()]]

    assert asyncio.run(both()) == [[False] * 4, [True] * 4, [False] * 4, [True]]


def test_asynchronous_generators_are_refused() -> None:
    async def steps() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(DomainError, match="inside of it"):
        tutor.no_grad()(steps)


# ---- threads and tasks ---------------------------------------------------------------------------


def test_a_thread_has_its_own_mode_and_backend() -> None:
    default = in_thread(registry.current)
    with tutor.no_grad(), tutor.use_backend("python"):
        assert in_thread(on)
        assert in_thread(registry.current) == default


def test_overlapping_threads_leave_each_other_alone() -> None:
    """A enters, B enters, A leaves, B leaves: with one value for all, it would stay at A's."""
    default = registry.current()
    other = next(n for n in ("python_ref", "simd_cpp") if n != default)
    a_in, b_in, a_out = threading.Event(), threading.Event(), threading.Event()
    seen: dict[str, list[str]] = {"a": [], "b": []}

    def a() -> None:
        with tutor.use_backend(other), tutor.no_grad():
            a_in.set()
            b_in.wait(60)
            seen["a"].append(registry.current())
        a_out.set()
        seen["a"].append(registry.current())

    def b() -> None:
        a_in.wait(60)
        with tutor.use_backend(default):
            b_in.set()
            a_out.wait(60)
            seen["b"] += [registry.current(), str(on())]
        seen["b"].append(registry.current())

    threads = [threading.Thread(target=f) for f in (a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"a": [other, default], "b": [default, "True", default]}
    assert (registry.current(), on()) == (default, True)


def test_one_object_in_many_threads() -> None:
    block, wrong = tutor.no_grad(), list[str]()

    def work() -> None:
        for _ in range(300):
            with block:
                if on():
                    wrong.append("on within")
            if not on():
                wrong.append("off outside")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_choice_elsewhere_does_not_forget_what_was_looked_up_here() -> None:
    x = Tensor([1.0, 2.0])
    x + x, x + x
    mine = registry._setting.get()
    kernels = dict(mine.kernels)
    assert kernels

    def elsewhere() -> None:
        with tutor.use_backend("python"):
            x + x

    in_thread(elsewhere)
    assert kernels.items() <= mine.kernels.items()


def test_tasks_are_in_the_block_they_were_made_in_until_it_ends() -> None:
    async def child(go: asyncio.Event) -> list[Any]:
        seen: list[Any] = [on(), registry.current()]
        await go.wait()
        seen += [on(), registry.current()]
        with tutor.enable_grad():
            seen.append(on())
        return [*seen, on()]

    async def parent() -> Any:
        go, default = asyncio.Event(), registry.current()
        with tutor.no_grad(), tutor.use_backend("python"):
            task = asyncio.create_task(child(go))
            await asyncio.sleep(0)
        assert (on(), registry.current()) == (True, default)
        go.set()
        seen = await task
        assert (on(), registry.current()) == (True, default)
        return seen

    default = registry.current()
    assert asyncio.run(parent()) == [False, "python_ref", True, default, True, True]


def test_a_context_copied_after_the_end_of_a_block_is_not_in_it() -> None:
    """As notebooks do: each cell runs in a task of its own, and in a copy of the context."""
    with tutor.no_grad(), tutor.use_backend("python"):
        pass
    context, default = contextvars.copy_context(), in_thread(registry.current)
    assert in_thread(lambda: context.run(on))
    assert context.run(registry.current) == default

    async def cell() -> bool:
        return on()

    with tutor.no_grad():
        pass
    assert asyncio.run(cell())


def test_exchange_is_all_or_none() -> None:
    class Place:
        def __init__(self, n: Any) -> None:
            self.n = n

    old = [object() for _ in range(3)]
    places = [Place(o) for o in old]
    assert not exchange(places, "n", [*old[:2], object()], [1, 2, 3])
    assert [p.n for p in places] == old
    assert exchange(places, "n", old, [1, 2, 3])
    assert [p.n for p in places] == [1, 2, 3]
    assert exchange([], "n", [], [])
