"""How promises are kept: who is asked runs, once, in order; nothing is lost, nothing runs twice."""

from __future__ import annotations

import asyncio
import gc
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupts import interrupted

import tutor
from tutor import Buffer, Tensor, memory, optim
from tutor._storage.memory import Memory
from tutor.backends.registry import Operand
from tutor.backends.step import WATCHES, Step, emit, mode, watch
from tutor.core.engine import engine
from tutor.dtype import float32
from tutor.errors import DomainError, DTypeError, GraphError, OutOfRangeError
from tutor.programs.capture import is_alone
from tutor.programs.lazy_buffers import Promise

pytestmark = pytest.mark.usefixtures("backend")
PROGRAMS = str(Path(tutor.__file__).parent / "programs")


def ran(function: Callable[[], object]) -> list[str]:
    """The kernels that run while the function does."""
    seen: list[str] = []
    with watch(lambda step, go: (seen.append(step.kernel), go())):
        function()
    return seen


def is_pending(t: Tensor) -> bool:
    return isinstance(t.buf.memory, Promise) and t.buf.memory.value.maker is not None


# ---- what runs, and when -------------------------------------------------------------------------


def test_nothing_runs_before_it_is_asked_for_and_then_once() -> None:
    x = Tensor([1.0, 2.0])

    def block() -> Tensor:
        with tutor.lazy():
            return (x * 2).exp()

    found: list[Tensor] = []
    assert ran(lambda: found.append(block())) == []
    (y,) = found
    assert ran(lambda: y.realize() is y) == ["mul", "exp"]
    assert ran(lambda: (y.tolist(), y.numpy(), y.realize(), repr(y))) == []


def test_what_nobody_asks_for_never_runs() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x + 1
        lives = y * 2
        y.exp()
        z = y.neg()
    assert ran(z.tolist) == ["add", "neg"]
    assert ran(y.tolist) == []
    assert ran(lambda: y.numpy()) == ["mul"]  # who gets it may change what `lives` is to read
    assert lives.tolist() == [4.0, 6.0]


ASKING: dict[str, Callable[[Tensor], object]] = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "item": lambda t: t[0].item(),
    "tolist": lambda t: t.tolist(),
    "print": str,
    "float": lambda t: float(t[0]),
    "bool": lambda t: bool(t[0] > 0),
    "in": lambda t: 3.0 in t,
    "dlpack": lambda t: np.from_dlpack(t),
    "pickle": pickle.dumps,
    "raw": lambda t: t.buf.raw,
    "address": lambda t: t.buf.address,
    "Buffer[i]": lambda t: t.buf[0],
    "Buffer[i] = n": lambda t: t.buf.__setitem__(0, 5.0),
    "list(Buffer)": lambda t: list(t.buf),
    "realize": lambda t: t.realize(),
    "tutor.realize": tutor.realize,
    "a kernel outside of the block": lambda t: t.exp(),
    "Buffer arithmetic": lambda t: t.buf.data + 1,
    "written to": lambda t: t.assign(0.0),
    "equal": lambda t: t.equal(t) if hasattr(t, "equal") else (t == t).all().item(),
}


@pytest.mark.parametrize("how", ASKING)
def test_whoever_asks_for_bytes_gets_them(how: str) -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x.exp() + 1
    assert is_pending(y)
    assert ran(lambda: ASKING[how](y))[:2] == ["exp", "add"]


def test_what_is_known_without_bytes_asks_for_none() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    with tutor.lazy():
        y = x.exp()
        known = ran(
            lambda: (
                len(y), y.shape, y.dtype, y.device, y.T.strides, y[0].offset, y.numel(), len(y.buf),
                y.buf.nbytes, y.is_contiguous(), y.detach(), y.requires_grad, y.size,
                y.buf.overlaps(x.buf), list(y), y.flatten(), tutor.schedule(y),
            )
        )  # fmt: skip
        y[0] = 1.0
        y += 1
    assert known == []
    assert is_pending(y)


def test_the_same_in_the_block() -> None:
    with tutor.lazy():
        y = Tensor([1.0, 4.0]).sqrt()
        assert is_pending(y)
        assert y.tolist() == [1.0, 2.0]
        assert (y + 1).sum().item() == 5.0
        assert str(y) == "Tensor([1., 2.])"


def test_as_a_decorator_and_nested() -> None:
    @tutor.lazy()
    def double(x: Tensor) -> Tensor:
        with tutor.lazy():
            y = x * 2
        return y + 0

    @tutor.lazy
    def triple(x: Tensor) -> Tensor:
        return x * 3

    x = Tensor([1.0])
    both = double(x), triple(x)
    assert all(map(is_pending, both))
    assert [t.tolist() for t in both] == [[2.0], [3.0]]
    assert not is_pending(x * 2)
    assert mode.get() is None
    for wrong in (lambda: (yield), asyncio.sleep):
        with pytest.raises(DomainError, match="lazy as the decorator"):
            tutor.lazy(wrong)


def test_realize_takes_several_and_says_what_is_no_tensor() -> None:
    with tutor.lazy():
        x = Tensor([1.0]).exp()
        y, z = x + 1, x * 2
    assert ran(lambda: tutor.realize(y, z, Tensor([1.0]))) == ["exp", "add", "mul"]
    assert not is_pending(y)
    for wrong in (1, [y], None):
        with pytest.raises(DTypeError, match="argument 2 is of type"):
            tutor.realize(y, wrong)
        with pytest.raises(DTypeError, match="argument 1 is of type"):
            tutor.schedule(wrong)


# ---- writes --------------------------------------------------------------------------------------


def test_who_was_to_read_it_does_so_before_it_is_written_over() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        before = x * 10
        x += 1
        between = x * 100
        x[0] = 7.0
    assert x.tolist() == [7.0, 3.0]
    assert before.tolist() == [10.0, 20.0]
    assert between.tolist() == [200.0, 300.0]


def test_who_reads_and_is_gone_does_not_run() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        x.exp()
        x += 1
        x.exp()
    assert ran(x.tolist) == ["add"]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.buf.__setitem__(0, 5.0),
        lambda x: x.numpy().__setitem__(0, 5.0),
        lambda x: np.from_dlpack(x).__setitem__(0, 5.0),
        lambda x: x.buf.raw.cast("f").__setitem__(0, 5.0),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x.buf.data.__iadd__(4.0),
        lambda x: engine.write(x, 5.0),
    ],
)
def test_whoever_may_write_has_run_first_who_was_to_read(write: Callable[[Tensor], object]) -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x * 2
        x += 0
        z = x * 3
    write(x)
    assert x.tolist()[0] == 5.0
    assert y.tolist() == [2.0, 4.0]
    assert z.tolist() == [3.0, 6.0]


def test_a_setting_of_an_optimizer_is_that_of_its_step() -> None:
    p = Tensor([1.0], requires_grad=True)
    sgd = optim.SGD([p], lr=0.5)
    with tutor.lazy():
        p.grad = Tensor([1.0])
        sgd.step()
        assert ran(lambda: sgd.lr) == []  # it is only looked at
        sgd.lr = 0.25
        sgd.step()
    assert p.tolist() == [0.25]
    assert sgd.steps == 2


def test_what_is_overwritten_as_a_whole_is_not_computed() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x.exp()
        y.assign(x)
    assert ran(y.tolist) == ["copy"]
    assert y.tolist() == [1.0, 2.0]


def test_random_numbers_are_drawn_in_the_order_of_the_program() -> None:
    tutor.manual_seed(5)
    expected = [Tensor.rand(3).tolist() for _ in range(3)]
    tutor.manual_seed(5)
    with tutor.lazy():
        first, second = Tensor.rand(3), Tensor.rand(3)
        state = tutor.random.get_state()
    third = Tensor.rand(3)
    assert [t.tolist() for t in (first, second, third)] == expected
    tutor.random.set_state(state)
    assert Tensor.rand(3).tolist() == expected[2]
    with tutor.lazy():
        lost = Tensor.rand(3)
        tutor.manual_seed(5)
        again = Tensor.rand(3)
    assert again.tolist() == expected[0]
    assert lost.tolist() != expected[0]


def test_what_others_can_see_is_written_and_read_at_once() -> None:
    x = Tensor([1.0, 2.0, 3.0])
    array = x.numpy()
    theirs = np.ones(3, "float32")
    mine = Tensor(Buffer.from_memory(theirs, copy=False))
    with tutor.lazy():
        y = x * 2
        x += 1
        assert array.tolist() == [2, 3, 4]
        array[0] = 50
        w = mine * 2
        mine += 1
        assert theirs.tolist() == [2, 2, 2]
        theirs[:] = 9
        z = x + mine
    assert [t.tolist() for t in (y, z, w)] == [[2, 4, 6], [59, 12, 13], [2, 2, 2]]
    del array
    gc.collect()
    with tutor.lazy():
        later = x * 2
    assert is_pending(later)


def test_memory_is_alone_unless_somebody_has_it() -> None:
    buf = Buffer([1.0, 2.0])
    assert is_alone(buf)
    holders: list[Callable[[], Any]] = [
        lambda: buf.memory, lambda: Tensor(buf).numpy(), lambda: buf.raw,
        lambda: np.from_dlpack(Tensor(buf)), lambda: Buffer.over(buf.memory, float32),
    ]  # fmt: skip
    for hold in holders:
        held = hold()
        assert not is_alone(buf)
        del held
        gc.collect()
        assert is_alone(buf)
    assert not is_alone(Buffer.from_memory(bytearray(8), copy=False))


def test_two_results_are_never_one_memory() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        results = [x * 2, x * 2, x + 0, x.copy(), x.copy()]
    buffers = [t.realize().buf for t in results] + [x.buf]
    assert not any(a.overlaps(b) for a in buffers for b in buffers if a is not b)
    results[0] += 1
    assert results[1].tolist() == [2.0, 4.0]


# ---- memory --------------------------------------------------------------------------------------


def test_a_result_that_never_runs_has_no_memory() -> None:
    x = Tensor([1.0])
    before = memory.stats().in_use
    with tutor.lazy():
        wide = x.expand(1 << 20) + 1
        wider = wide * 2
    assert memory.stats().in_use - before < 1 << 16
    assert wider[:2].tolist() == [4.0, 4.0]
    assert memory.stats().in_use - before >= 2 << 20
    del wide, wider
    assert memory.stats().in_use - before < 1 << 16


def test_what_is_needed_between_is_given_back_on_the_way() -> None:
    x = Tensor.ones(1 << 16).realize()
    with tutor.lazy():
        y = x
        for _ in range(50):
            y = y + 1
    memory.reset_peak()
    before = memory.stats().in_use
    y.realize()
    assert memory.stats().peak - before <= 4 * x.buf.nbytes


def test_no_circle_holds_what_is_pending() -> None:
    x = Tensor.ones(1 << 16).realize()
    p = Tensor.ones(1 << 16, requires_grad=True).realize()
    before = memory.stats().in_use
    gc.collect()
    gc.disable()
    try:
        with tutor.lazy():
            y = (x * 2 + 1).exp()
            y[3] = 1.0
            z = (p * y).sum()
            z.backward()
            Tensor.rand(1 << 16)
        q = y * 2
        q.realize()
        del y, q, z
        p.grad = None
        assert memory.stats().in_use - before < 1 << 12
    finally:
        gc.enable()


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_names_the_line_that_built_the_step() -> None:
    x = Tensor([1, 2, 3])
    with tutor.lazy():
        good = x + 1
        bad = good // Tensor([1, 0, 1])  # here
        worse = bad * 2
        other = good * 5
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# here" in text
    )
    for t in (bad, worse, bad):
        with pytest.raises(DomainError) as caught:
            t.tolist()
        assert f"{Path(__file__).name}, line {line}" in caught.value.asked
        assert caught.value.asked.count("line") == 1
    assert good.tolist() == [2, 3, 4]
    assert other.tolist() == [10, 15, 20]


def test_an_error_in_a_reader_does_not_keep_the_write_from_running() -> None:
    x = Tensor([1, 0])
    with tutor.lazy():
        bad = Tensor([1, 1]) // x
        fine = x * 2
        x += 1
    assert x.tolist() == [2, 1]
    assert fine.tolist() == [2, 0]
    for _ in range(2):  # what it was to divide by is gone; it is not 1 / 1 now
        with pytest.raises(DomainError):
            bad.tolist()


def test_realize_raises_when_the_others_have_run() -> None:
    with tutor.lazy():
        bad = Tensor([1, 1]) // Tensor([0, 1])
        fine = Tensor([1.0]).exp()
    with pytest.raises(DomainError):
        tutor.realize(bad, fine)
    assert ran(fine.tolist) == []


def test_what_can_be_refused_before_it_runs_is() -> None:
    with tutor.lazy():
        with pytest.raises(ValueError, match="shape"):
            Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])
        x = Tensor([1.0], requires_grad=True)
        with pytest.raises(GraphError):
            x += 1
        with pytest.raises(DTypeError, match="integers"):
            Tensor([1.0]) & Tensor([2.0])
        bad = Tensor([1.0, 2.0])[Tensor([0, 5])]
    with pytest.raises(OutOfRangeError):
        bad.tolist()


def test_operands_that_were_tampered_with_are_refused() -> None:
    with tutor.lazy():
        x = Tensor([1.0, 2.0]) * 1
        y = x + 1
        y.shape = (4096,)
        with pytest.raises((OutOfRangeError, DTypeError)):
            (y * 2).tolist()
        z = x * 2
        z.buf.memory = bytes(8)
        with pytest.raises(DTypeError):
            z + 1
    with pytest.raises(DTypeError):
        z.tolist()


def test_an_error_leaves_no_circle() -> None:
    before = memory.stats().in_use
    gc.collect()
    gc.disable()
    try:
        with tutor.lazy():
            x = Tensor.ones(1 << 16)
            bad = (x.cast("int64")) // 0
        try:
            bad.tolist()
        except DomainError:
            pass
        else:
            raise AssertionError("nothing was divided by 0")
        del x, bad
        assert memory.stats().in_use - before < 1 << 12
    finally:
        gc.enable()


# ---- interrupts ----------------------------------------------------------------------------------


# What comes as Python closes a generator is reported and dropped by Python itself, from 3.14 on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_an_interrupt_asking_again_works() -> None:
    def pending() -> list[Tensor]:
        x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], requires_grad=True)
        sgd = optim.SGD([y], lr=0.5, momentum=0.5)
        tutor.manual_seed(1)
        with tutor.lazy():
            z = x * 2
            x += 1
            x *= 3
            (y * x).sum().backward()
            sgd.step()
            sgd.step()
            drawn = Tensor.rand(2)
        return [x, y, z, drawn, sgd.count]

    expected = [t.tolist() for t in pending()]
    k = 0
    while True:
        tensors = pending()
        last = tensors[::-1]
        if not interrupted(k, lambda last=last: [t.tolist() for t in last], PROGRAMS):
            break
        assert [t.tolist() for t in tensors] == expected, f"interrupted before bytecode {k}"
        k += 1 + k // 40
    assert k > 100


def test_an_interrupt_while_a_step_is_noted_leaves_it_noted_or_not() -> None:
    k = 0
    while True:
        x = Tensor([1.0, 2.0])
        with tutor.lazy():
            before = x * 2
            there = interrupted(k, lambda x=x: x.add_(1), PROGRAMS)
            after = x * 5
        assert before.tolist() == [2.0, 4.0]
        found = x.tolist()
        assert found in ([1.0, 2.0], [2.0, 3.0])
        assert after.tolist() == [5 * n for n in found]
        if not there:
            break
        k += 1
    assert k > 100
    assert found == [2.0, 3.0]


def test_an_interrupt_within_a_kernel_reaches_who_asks() -> None:
    x, y = Buffer([1.0, 2.0]), Buffer([0.0, 0.0])
    calls = []

    def mine(out: Any, *ins: Any) -> None:
        calls.append(None)
        if len(calls) < 3:
            raise KeyboardInterrupt
        out.buf.raw[:] = ins[0].buf.raw

    whole = [Operand(b, (2,), (1,), 0) for b in (y, x)]
    with tutor.lazy():
        emit(Step("copy", float32, whole[0], (whole[1],)), mine)
    t = Tensor(y)
    for ask in (lambda: t + 1, t.tolist):
        with pytest.raises(KeyboardInterrupt):
            ask()
    assert (t + 1).tolist() == [2.0, 3.0]
    assert len(calls) == 3


def test_an_interrupt_as_the_block_is_entered_leaves_no_mode() -> None:
    def enter() -> None:
        with tutor.lazy():
            pass

    for k in range(200):
        if not interrupted(k, enter, PROGRAMS):
            break
    assert mode.get() is None and not WATCHES
    assert 10 < k < 199
    x = Tensor([1.0]) * 2
    assert not is_pending(x)


# ---- contexts, threads, watching -----------------------------------------------------------------


def test_each_thread_and_task_is_lazy_for_itself() -> None:
    x = Tensor([1.0])
    found: list[bool] = []

    def other() -> None:
        found.append(is_pending(x * 2))

    async def eager() -> bool:
        await asyncio.sleep(0)
        return is_pending(x * 2)

    async def lazy() -> tuple[bool, bool]:
        with tutor.lazy():
            await asyncio.sleep(0)
            y = x * 3
            await asyncio.sleep(0)
        return is_pending(y), is_pending(x * 2)

    async def main() -> list[Any]:
        return await asyncio.gather(eager(), lazy(), eager())

    with tutor.lazy():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == [False]
    assert asyncio.run(main()) == [False, (True, False), False]


def test_outside_of_every_block_nobody_is_asked() -> None:
    with tutor.lazy():
        assert WATCHES
        y = Tensor([1.0]) * 2
    Tensor([1.0]) * 2
    assert not WATCHES
    assert y.tolist() == [2.0]


def test_threads_that_ask_at_once_run_it_once() -> None:
    x = Tensor.ones(1000)
    total = 0

    def observe(step: Step, go: Callable[[], None]) -> None:
        nonlocal total
        go()
        total += step.kernel == "exp"

    for _ in range(20):
        with tutor.lazy():
            y = x
            for _ in range(5):
                y = y.exp() * 0
            ends = [y + i for i in range(4)]
        start = threading.Barrier(4)
        sums: list[float] = []

        def ask(t: Tensor, start: threading.Barrier = start, sums: list[float] = sums) -> None:
            start.wait()
            sums.append(t.sum().item())

        threads = [threading.Thread(target=ask, args=(t,)) for t in ends]
        with watch(observe):
            [t.start() for t in threads]
            [t.join() for t in threads]
        assert sorted(sums) == [0, 1000, 2000, 3000]
    assert total == 20 * 5


def test_threads_that_draw_lazily_and_eagerly_get_other_numbers() -> None:
    drawn: list[float] = []

    def draw(lazily: bool) -> None:
        for _ in range(50):
            if lazily:
                with tutor.lazy():
                    t = Tensor.rand(4)
            else:
                t = Tensor.rand(4)
            drawn.extend(t.tolist())

    threads = [threading.Thread(target=draw, args=(lazily,)) for lazily in (True, False) * 2]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(drawn) == 800
    assert len(set(drawn)) > 790  # of 2**24 numbers two may be equal, four in a row never
    rows = [tuple(drawn[i : i + 4]) for i in range(0, 800, 4)]
    assert len(set(rows)) == 200


def test_what_is_watched_is_what_runs_when_it_runs() -> None:
    seen: list[tuple[str, list[float]]] = []

    def observe(step: Step, go: Callable[[], None]) -> None:
        go()
        out = Tensor(step.out.buf, step.out.shape, step.out.strides, step.out.offset)
        seen.append((str(step), out.tolist()))

    with watch(observe), tutor.lazy():
        y = Tensor([1.0, 2.0]) * 2
        y += 1
        assert seen == []
        y.tolist()
        assert seen == [
            ("mul float32 (2,) (2,) -> (2,)", [2.0, 4.0]),
            ("add float32 (2,) (2,) -> (2,)", [3.0, 5.0]),
        ]


def test_an_observer_may_ask_for_what_is_pending() -> None:
    with tutor.lazy():
        x = Tensor([1.0, 2.0]).exp()
        y = x * 2
    found = []
    with watch(lambda step, go: (found.append(y.sum().item()) if not found else None, go())):
        (Tensor([1.0]) + 1).realize()
    assert found == [y.sum().item()]


def test_each_step_runs_on_the_backend_of_its_line() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    kernels = []
    with tutor.lazy(), tutor.use_backend("python"):
        y = x @ x
    z = y.exp()

    def observe(step: Step, go: Any) -> None:
        kernels.append(go)
        go()

    with watch(observe):
        y.realize()
    assert z.shape == (2, 2)


def test_a_step_with_a_kernel_of_ones_own_runs_with_that() -> None:
    x, y = Buffer([1.0, 2.0]), Buffer([0.0, 0.0])
    calls = []

    def mine(out: Any, *ins: Any, **params: Any) -> None:
        calls.append(params)
        out.buf.raw[:] = ins[0].buf.raw

    whole = [Operand(b, (2,), (1,), 0) for b in (y, x)]
    with tutor.lazy():
        emit(Step("copy", float32, whole[0], (whole[1],)), mine)
        assert not calls
    assert y.tolist() == [1.0, 2.0]
    assert len(calls) == 1


# ---- the schedule --------------------------------------------------------------------------------


def test_the_schedule_shows_what_will_run_and_why() -> None:
    x = Tensor([1.0, 2.0])
    with tutor.lazy():
        y = x * 2
        x += 1
        z = x.exp()
        x.neg()
    plan = tutor.schedule(z)
    assert [step.kernel for step in plan] == ["mul", "add", "exp"]
    assert plan.why == ("reads what is overwritten by 1", "read by 2", "asked for")
    assert plan.text() == (
        "y0: output 2 x float32\ns0: state 2 x float32\nc0: constant 1 x float32\n"
        "c1: constant 1 x float32\ny1: output 2 x float32\n"
        "y0[2] = mul.float32(s0[2], c0[2]@0/0)\ns0[2] = add.float32(s0[2], c1[2]@0/0)\n"
        "y1[2] = exp.float32(s0[2])"
    )
    lines = str(plan).splitlines()
    assert lines[0].split()[-2:] == ["line", "why"]
    assert [line.endswith(why) for line, why in zip(lines[1:4], plan.why, strict=True)] == [
        True
    ] * 3
    assert all(Path(__file__).name in line for line in lines[1:4])
    assert lines[4].split()[:2] == ["3", "steps"]
    assert ran(z.tolist) == ["mul", "add", "exp"]
    assert len(tutor.schedule(x, y, z)) == 0
    assert str(tutor.schedule()).splitlines()[-1].split() == ["0", "steps", "0", "0"]


def test_a_schedule_is_what_runs() -> None:
    def build() -> Tensor:
        with tutor.lazy():
            x = Tensor.ones(3, 4, requires_grad=True)
            ((x @ x.T).softmax() * 2).sum().backward()
        assert x.grad is not None
        return x.grad

    a, b = build(), build()
    plan = tutor.schedule(a)
    assert plan == tutor.schedule(b)
    assert ran(a.tolist) == [step.kernel for step in plan]
    assert isinstance(a.buf.memory, (Memory, Promise))
