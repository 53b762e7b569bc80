"""Running a Program: in one call of C++ or step by step, with the same bits and the same errors."""

from __future__ import annotations

import gc
import operator
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from at_once import at_once
from backend_names import LEVELS
from recorded import Recorded

import tutor
from tutor import Buffer, Tensor, memory, nn, optim, registry, watch
from tutor.backends import simd_cpp
from tutor.backends.step import Step
from tutor.dtype import float32, float64, int64, uint32, uint64
from tutor.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    OutOfRangeError,
    RecordError,
    ShapeError,
)
from tutor.programs.program import Program, Slot, Walk
from tutor.programs.replay import Replay

needs_native = pytest.mark.skipif(not LEVELS, reason="the extension was not built")


def whole(slot: Slot) -> Walk:
    return Walk(slot, (slot.count,), (1,))


def step(kernel: str, out: Slot, *ins: Slot, **params: Any) -> Step:
    return Step(kernel, out.dtype, whole(out), tuple(map(whole, ins)), params)


def floats(*numbers: float) -> Buffer:
    return Buffer(list(numbers), dtype=float32)


def watched(replay: Replay, buffers: list[Buffer]) -> list[str]:
    """Run it while somebody watches: the kernels it consists of."""
    seen: list[str] = []

    def observer(step: Step, go: Callable[[], None]) -> None:
        seen.append(step.kernel)
        go()

    with watch(observer):
        replay.run(buffers)
    return seen


# (x + 1) * x, by way of a temp: the Program that most tests run
X, ONE, T, Y = Slot("input", 3, float32), Slot("constant", 3, float32), Slot("temp", 3, float32), \
    Slot("output", 3, float32)  # fmt: skip
ONE.value = floats(1, 1, 1)
SMALL = Program([step("add", T, X, ONE), step("mul", Y, T, X)])


def test_a_program_is_run(backend: str) -> None:
    replay = Replay(SMALL)
    assert replay.slots == (X, Y)
    x, y = floats(1, 2, 3), floats(0, 0, 0)
    for numbers in ([1, 2, 3], [0, -1, 5], [2, 2, 2]):
        x[0], x[1], x[2] = numbers
        replay.run([x, y])
        assert y.tolist() == [n * (n + 1) for n in numbers]
        assert watched(replay, [x, y]) == ["add", "mul"]
        assert y.tolist() == [n * (n + 1) for n in numbers]
    other = floats(0, 0, 0)
    replay.run((x, other))  # another Buffer each time
    assert other.tolist() == [6, 6, 6]
    assert repr(replay) == "Replay(2 steps; 1 temps of 12 bytes in an arena of 64)"
    assert y.version == 0  # to touch what changes is the caller's business


def test_a_program_of_no_steps_does_nothing(backend: str) -> None:
    replay = Replay(Program([], [X]))
    x = floats(1, 2, 3)
    replay.run([x])
    assert x.tolist() == [1, 2, 3]


# ---- A training step -----------------------------------------------------------------------------


class Training:
    """An MLP with dropout, trained by Adam: the same from the same seed on."""

    def __init__(self) -> None:
        tutor.manual_seed(3)
        self.first, self.second = nn.Linear(20, 16), nn.Linear(16, 5)
        self.parameters = [*nn.get_parameters(self.first), *nn.get_parameters(self.second)]
        self.adam = optim.Adam(self.parameters, lr=0.05)
        self.x, self.y = Tensor.randn(8, 20), Tensor([i % 5 for i in range(8)])
        self.step()  # after it Adam has its state

    def step(self) -> list[Tensor]:
        self.adam.zero_grad()
        hidden = self.first(self.x).relu()
        kept = Tensor.rand(*hidden.shape) > 0.25
        loss = self.second(hidden * kept / 0.75).cross_entropy(self.y)
        loss.backward()
        self.adam.step()
        return [loss]

    def bits(self) -> list[bytes]:
        tensors = [*self.parameters, *self.states()]
        return [bytes(t.buf.raw) for t in tensors]

    def states(self) -> list[Tensor]:
        found: list[Tensor] = []
        waiting: list[Any] = [self.adam.state_dict()]
        while waiting:
            thing = waiting.pop()
            waiting += thing.values() if isinstance(thing, dict) else ()
            waiting += thing if isinstance(thing, (list, tuple)) else ()
            found += [thing] if isinstance(thing, Tensor) else []
        return found


@pytest.mark.parametrize("how", ["run", "watched"])
def test_a_training_step_has_the_bits_of_the_eager_one(backend: str, how: str) -> None:
    eager, replayed = Training(), Training()
    tutor.manual_seed(11)
    expected = []
    for _ in range(6):
        (loss,) = eager.step()
        expected.append(loss.item())
    tutor.manual_seed(11)
    recorded = Recorded(replayed.step, [replayed.x, replayed.y])
    found = [recorded.results[0].item()]
    replay = Replay(recorded.program)
    buffers = [recorded.buffers[slot] for slot in replay.slots]
    for _ in range(5):
        replay.run(buffers) if how == "run" else watched(replay, buffers)
        found.append(recorded.results[0].item())
    assert found == expected
    assert len(set(found)) == 6
    assert replayed.bits() == eager.bits()
    assert len(replayed.states()) >= 8


@needs_native
def test_a_run_allocates_nothing() -> None:
    with registry.use_backend("simd_cpp"):
        training = Training()
        recorded = Recorded(training.step, [training.x, training.y])
        replay = Replay(recorded.program)
        buffers = [recorded.buffers[slot] for slot in replay.slots]
        replay.run(buffers)
        before = memory.stats()
        for _ in range(10):
            replay.run(buffers)
        assert memory.stats() == before


FAULTS = """
import resource, sys
sys.path[:0] = {paths!r}
from test_replay import Training
from recorded import Recorded
from tutor import Tensor, nn, optim
from tutor.programs.replay import Replay
training = Training()
training.x = Tensor.randn(2048, 20)
training.y = Tensor([i % 5 for i in range(2048)])
def work():
    return [(training.x @ training.x.T).relu().sum() + training.step()[0]]
recorded = Recorded(work)
replay = Replay(recorded.program)
buffers = [recorded.buffers[slot] for slot in replay.slots]
for _ in range(5):
    replay.run(buffers)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
counts = []
for _ in range(20):
    before = faults()
    replay.run(buffers)
    counts.append(faults() - before)
print(replay.nbytes > 2**24, sorted(counts)[10])
"""


@needs_native
def test_a_run_meets_no_page_fault() -> None:
    code = FAULTS.format(paths=[path for path in sys.path if "tests" in path])
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          check=True).stdout  # fmt: skip
    assert said == "True 0\n"


# ---- What is given -------------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, type[Exception]]] = {
    "too few": ([floats(1, 2, 3)], ArgumentError),
    "too many": ([floats(1, 2, 3)] * 3, ArgumentError),
    "none": ([], ArgumentError),
    "not a list": (floats(1, 2, 3), ArgumentError),
    "a dict": ({0: floats(1, 2, 3), 1: floats(1, 2, 3)}, ArgumentError),
    "no Buffer": ([floats(1, 2, 3), None], DTypeError),
    "a number": ([3, floats(1, 2, 3)], DTypeError),
    "too short": ([floats(1, 2), floats(1, 2, 3)], ShapeError),
    "too long": ([floats(1, 2, 3), floats(1, 2, 3, 4)], ShapeError),
    "empty": ([floats(1, 2, 3), floats()], ShapeError),
    "another dtype": ([floats(1, 2, 3), Buffer([1, 2, 3])], DTypeError),
    "wider": ([Buffer([1.0, 2, 3], dtype=float64), floats(1, 2, 3)], DTypeError),
}


@pytest.mark.parametrize(("given", "error"), WRONG.values(), ids=WRONG)
def test_wrong_buffers_are_refused(backend: str, given: Any, error: type[Exception]) -> None:
    replay = Replay(SMALL)
    said = set()
    for run in (replay.run, lambda buffers: watched(replay, buffers)):
        with pytest.raises(error) as caught:
            run(given)
        assert type(caught.value) is error
        said.add((caught.value.asked, caught.value.do))
    assert len(said) == 1
    good = [floats(1, 2, 3), floats(0, 0, 0)]
    replay.run(good)
    assert good[1].tolist() == [2, 6, 12]


def test_memory_that_a_step_writes_is_in_one_slot(backend: str) -> None:
    replay = Replay(SMALL)
    numbers = bytearray(20)
    x, y, z = (
        Buffer.from_memory(memoryview(numbers)[start : start + 12], dtype=float32, copy=False)
        for start in (0, 8, 0)
    )
    said = set()
    for given in ([x, y], [x, z], [y, x]):
        for run in (replay.run, lambda buffers: watched(replay, buffers)):
            with pytest.raises(RecordError) as caught:
                run(given)
            said.add(str(caught.value))
    assert len(said) == 1
    assert not any(numbers)  # nothing was run
    x = Buffer.from_memory(memoryview(numbers)[:8], dtype=float32, copy=False)
    y = Buffer.from_memory(memoryview(numbers)[8:16], dtype=float32, copy=False)
    a, b, out = Slot("input", 2, float32), Slot("input", 2, float32), Slot("output", 2, float32)
    result = floats(1, 1)
    replay = Replay(Program([step("add", out, a, b)], [out]))
    beside = Buffer.from_memory(memoryview(numbers)[:8], dtype=float32, copy=False)
    assert replay.slots == (out, a, b)
    replay.run([result, x, beside])  # two that are only read
    replay.run([y, x, beside])  # and one that begins where they end
    assert result.tolist() == y.tolist() == [0, 0]


def test_what_is_read_only_is_read_and_not_written(backend: str) -> None:
    replay = Replay(SMALL)
    frozen = Buffer.from_memory(bytes(12), dtype=float32, copy=False)
    y = floats(1, 1, 1)
    replay.run([frozen, y])
    assert y.tolist() == [0, 0, 0]
    for run in (replay.run, lambda buffers: watched(replay, buffers)):
        with pytest.raises((DTypeError, TypeError), match=r"read-?only") as caught:
            run([y, frozen])
        assert caught.value.step == 1


class Promise:
    """Memory that is not there yet."""

    count, format, device = 3, "f", "cpu"

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.then = then

    def keep(self) -> Any:
        self.then()
        return floats(4, 5, 6).memory


def test_a_promise_is_kept(backend: str) -> None:
    y = floats(0, 0, 0)
    Replay(SMALL).run([Buffer.over(Promise(), float32), y])
    assert y.tolist() == [20, 30, 42]


@needs_native
def test_keeping_a_promise_may_change_what_is_given_and_run_it_again() -> None:
    with registry.use_backend("simd_cpp"):
        replay, y, z = Replay(SMALL), floats(0, 0, 0), floats(0, 0, 0)
        given: list[Buffer] = [Buffer.over(Promise(lambda: given.clear()), float32), y]
        with pytest.raises(ArgumentError, match="0 Buffers"):
            replay.run(given)
        again = Promise(lambda: replay.run([floats(1, 2, 3), z]))
        replay.run([Buffer.over(again, float32), y])
        assert (y.tolist(), z.tolist()) == ([20, 30, 42], [2, 6, 12])


def test_memory_may_change_between_runs(backend: str) -> None:
    """A Buffer is where its memory is now, not where it was in the run before."""
    replay, x, y = Replay(SMALL), floats(1, 2, 3), floats(0, 0, 0)
    replay.run([x, y])
    x.memory = floats(7, 8, 9).memory
    replay.run([x, y])
    assert y.tolist() == [56, 72, 90]


# ---- Errors in the middle ------------------------------------------------------------------------


def said_by(run: Callable[[], object]) -> tuple[type[Exception], str]:
    with pytest.raises((IndexError, ValueError)) as caught:
        run()
    return type(caught.value), str(caught.value)


def failing(kernel: str) -> tuple[Callable[[Tensor, Tensor], Tensor], Tensor, Tensor, Tensor]:
    """An op, operands on which it works, and a second one on which it does not."""
    x, i = Tensor([5, 6, 7]), Tensor([0, 1, 2])
    gather = lambda x, i: x.gather(0, i)  # noqa: E731
    return {
        "gather": (gather, x, i, Tensor([0, 3, 0])),
        "index_select": (lambda x, i: x[i], x, i, Tensor([0, 1, -9])),
        "floor_divide": (lambda x, i: x // i, x, i + 1, i),
        "remainder": (lambda x, i: x % i, x, i + 1, i),
        "pow": (lambda x, i: x**i, x, i, -i),
        "bitwise_left_shift": (lambda x, i: x << i, x, i, -i),
        "cross_entropy": (lambda x, i: x.cast(float32).expand(3, 3).cross_entropy(i), x, i, i + 1),
    }[kernel]


@pytest.mark.parametrize("kernel", ["gather", "index_select", "floor_divide", "remainder", "pow",
                                    "bitwise_left_shift", "cross_entropy"])  # fmt: skip
def test_an_error_in_the_middle_is_that_of_a_single_call(backend: str, kernel: str) -> None:
    op, x, fine, wrong = failing(kernel)
    counter = Tensor([0])

    def program() -> list[Tensor]:
        operator.iadd(counter, 1)
        out = op(x, fine)
        operator.iadd(counter, 10)
        return [out]

    recorded = Recorded(program, [x, fine])
    at = next(i for i, step in enumerate(recorded.program) if step.kernel == kernel)
    replay = Replay(recorded.program)
    expected = said_by(lambda: op(x, wrong))
    given = {**recorded.buffers, recorded.slot(fine): wrong.buf}
    before = counter.item()
    for run in (replay.run, lambda buffers: watched(replay, buffers)):
        assert said_by(lambda run=run: run([given[slot] for slot in replay.slots])) == expected
    with pytest.raises((IndexError, ValueError)) as caught:
        replay.run([given[slot] for slot in replay.slots])
    assert caught.value.step == at
    assert caught.value.__notes__[0].startswith(f"in step {at} of a Program: {kernel}")
    assert counter.item() == before + 3  # the steps before it have been run, those after it not
    replay.run([recorded.buffers[slot] for slot in replay.slots])
    assert counter.item() == before + 3 + 11
    assert recorded.results[0].tolist() == op(x, fine).tolist()


def test_a_note_says_where_the_step_comes_from(backend: str) -> None:
    x, i, y = [Slot(role, 3, int64) for role in ("input", "input", "output")]
    steps = [Step("gather", int64, whole(y), (whole(x), whole(i)), {"axis": 0}, ("train.py", 12))]
    with pytest.raises(OutOfRangeError) as caught:
        Replay(Program(steps)).run([Buffer([0, 0, 0]), Buffer([1, 2, 3]), Buffer([0, 1, 7])])
    assert caught.value.__notes__ == [
        "in step 0 of a Program: gather int64 (3,) (3,) axis=0 -> (3,), train.py:12"
    ]


@needs_native
def test_what_no_kernel_can_run_is_refused_when_it_is_made_ready() -> None:
    """Passes are checked, too: a Program that reaches outside of its memory is not run."""
    far = Step("add", float32, whole(Y), (Walk(X, (3,), (1,), 1), whole(X)))
    with registry.use_backend("simd_cpp"), pytest.raises(OutOfRangeError) as caught:
        Replay(Program([step("add", T, X, X), far])).run([floats(1, 2, 3), floats(1, 2, 3)])
    assert caught.value.step == 1
    assert "in step 1 of a Program: add" in caught.value.__notes__[0]
    with pytest.raises(DomainError, match="read before"):
        Replay(Program([step("mul", Y, T, X)]))


# ---- Backends, watching, threads -----------------------------------------------------------------


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Plans were asked for, and whether they were made."""
    made: list[Any] = []
    plan = simd_cpp.plan

    def counted(*args: Any) -> Any:
        made.append(plan(*args))
        return made[-1]

    monkeypatch.setattr(simd_cpp, "plan", counted)
    return made


@needs_native
def test_a_plan_is_made_once_and_for_each_backend(planned: list[Any]) -> None:
    replay, x, y = Replay(SMALL), floats(1, 2, 3), floats(0, 0, 0)
    table = dict(registry.table("simd_cpp"))
    for _ in range(3):
        for backend, native in (("simd_cpp", True), ("python_ref", False)):
            with registry.use_backend(backend):
                y[0] = 0
                replay.run([x, y])
                assert y.tolist() == [2, 6, 12]
                assert (planned[len(planned) - 1 if backend == "python_ref" else 0]
                        is not None) == native  # fmt: skip
    assert [plan is not None for plan in planned] == [True, False]
    registry.register("simd_cpp", {**table, ("add", float32): table["sub", float32]})
    try:
        with registry.use_backend("simd_cpp"):
            replay.run([x, y])
        assert y.tolist() == [0, 2, 6]  # (x - 1) * x: another kernel has been registered
    finally:
        registry.register("simd_cpp", table)


@needs_native
def test_without_the_native_way_it_runs_in_python(
    planned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUTOR_NATIVE", "0")
    y = floats(0, 0, 0)
    with registry.use_backend("simd_cpp"):
        Replay(SMALL).run([floats(1, 2, 3), y])
    assert planned == [None]
    assert y.tolist() == [2, 6, 12]


def test_threads_run_a_replay_at_once(backend: str) -> None:
    """Each with inputs and outputs of its own; the arena is not shared."""
    n = 4_000 if backend == "python_ref" else 40_000  # so many that others run meanwhile
    x, t, u, y = [Slot(role, n, float32) for role in ("input", "temp", "temp", "output")]
    steps = [step("add", t, x, x), step("mul", u, t, x), step("add", t, u, u), step("add", y, t, u)]
    replay = Replay(Program(steps))
    given = [(Buffer([float(k)] * n, dtype=float32), Buffer.empty(n, float32)) for k in range(4)]
    wrong: list[float] = []

    def work(k: int) -> None:
        for _ in range(2 if backend == "python_ref" else 100):
            replay.run(given[k])
            if {given[k][1][0], given[k][1][n // 2], given[k][1][n - 1]} != {6.0 * k * k}:
                wrong.append(k)

    at_once([lambda k=k: work(k) for k in range(4)])
    assert not wrong
    assert [set(y.tolist()) for _, y in given] == [{6.0 * k * k} for k in range(4)]


def test_no_two_runs_draw_the_same_numbers(backend: str) -> None:
    """Threads that draw from one stream at once, without Python's lock: each takes blocks of its
    own, as the draws do that are asked for one by one."""
    draws, runs = (30, 5) if backend == "python_ref" else (3000, 80)
    seed, counter = Slot("state", 1, uint64), Slot("state", 1, uint64)
    y = [Slot("output", 4, uint32) for _ in range(5)]
    cell = Walk(seed, (), ()), Walk(counter, (), ())
    steps = [Step("random_bits", uint32, whole(y[i % 5]), cell, {"blocks": 1})
             for i in range(draws)]  # fmt: skip
    replay = Replay(Program(steps))
    cells = {seed: Buffer([7], dtype=uint64), counter: Buffer([0], dtype=uint64)}
    found: list[tuple[int, ...]] = []

    def run() -> None:
        for _ in range(runs):
            mine = cells | {slot: Buffer([0] * 4, dtype=uint32) for slot in y}
            replay.run([mine[slot] for slot in replay.slots])
            found.extend(tuple(mine[slot].tolist()) for slot in y)

    at_once([run] * 3)
    assert cells[counter].tolist() == [3 * runs * draws]
    assert len(set(found)) == len(found) == 3 * runs * 5


@needs_native
def test_an_interrupt_leaves_no_run_half_done() -> None:
    """A signal comes while the kernels run: it is noticed when all steps are done."""
    n = 50_000
    cells, one = [Slot("state", n, float32) for _ in range(20)], Slot("constant", n, float32)
    one.value = Buffer([1.0] * n, dtype=float32)
    replay = Replay(Program([step("add", cell, cell, one) for cell in cells]))
    buffers = [Buffer([0.0] * n, dtype=float32) for _ in cells]
    noticed = 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with registry.use_backend("simd_cpp"):
            for delay in range(1, 60):
                try:
                    signal.setitimer(signal.ITIMER_REAL, delay * 1e-5)
                    for _ in range(100):
                        replay.run(buffers)
                except KeyboardInterrupt:
                    noticed += 1
                assert len({buf[k] for buf in buffers for k in (0, n - 1)}) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert noticed > 30


@needs_native
def test_a_child_of_fork_replays_too() -> None:
    """Also if a thread of its parent is amid a run."""
    n = 1 << 16
    x, t, y = [Slot(role, n, float32) for role in ("input", "temp", "output")]
    replay = Replay(Program([step("exp", t, x), *[step("exp", t, t)] * 50, step("relu", y, t)]))
    over = threading.Event()

    def work() -> None:
        mine = [Buffer([-9.0] * n, dtype=float32) for _ in replay.slots]
        with registry.use_backend("simd_cpp"):
            while not over.is_set():
                replay.run(mine)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    buffers = [Buffer([-1.0] * n, dtype=float32) for _ in replay.slots]
    for _ in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, from Python 3.12 on
            child = os.fork()
        if child == 0:
            status = 1
            try:
                with registry.use_backend("simd_cpp"):
                    replay.run(buffers)
                status = 0 if buffers[replay.slots.index(y)][0] > 0 else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    over.set()
    for thread in threads:
        thread.join()


def in_use() -> int:
    gc.collect()
    return memory.stats().in_use


@needs_native
def test_all_programs_share_their_arenas_and_the_largest_says_how_large() -> None:
    sizes, rng = [64, 320, 128, 256, 192], random.Random(0)
    with registry.use_backend("simd_cpp"):
        weights = {n: tutor.randn(n, n) for n in sizes}
        functions = [tutor.jit(lambda x: ((x @ x).tanh() @ x).tanh().sum()) for _ in range(3)]
        wanted = {n: functions[0].function(weights[n]).item() for n in sizes}
        before = in_use()
        for f in functions:
            for n in sizes * 3:
                assert f(weights[n]).item() == wanted[n]
        arenas = [
            trace.replay.nbytes for f in functions for ts in f._traces.values() for trace in ts
        ]
        assert len(arenas) == 3 * len(sizes) and max(arenas) >= 2 * 320 * 320 * 4
        assert max(arenas) <= in_use() - before < 1.5 * max(arenas) < sum(arenas) / 4

        def work() -> None:  # each run has one of its own
            for n in rng.choices(sizes, k=40):
                assert rng.choice(functions)(weights[n]).item() == wanted[n]

        at_once([work] * 4)
        del f, functions[1:], arenas
        assert in_use() - before < 5 * 320 * 320 * 4 * 3
        del functions[:]
        assert in_use() - before < 64 * 1024


@needs_native
def test_arenas_are_used_again() -> None:
    n = 1 << 16
    x, t, y = (Slot(role, n, float32) for role in ("input", "temp", "output"))
    steps = [step("exp", t, x), *[step("exp", t, t)] * 20, step("exp", y, t)]
    with registry.use_backend("simd_cpp"):
        run = simd_cpp.plan([(n, "f", -1), (n, "f", 0), (n, "f", -1)], [
            (registry.kernel("exp", float32), ((to, (n,), (1,), 0), (at, (n,), (1,), 0)), {})
            for to, at in [(1, 0), *[(1, 1)] * 20, (2, 1)]
        ], 4 * n)  # fmt: skip
    assert run.arenas == 1
    buffers = [Buffer.empty(n, float32) for _ in range(2)]
    for _ in range(3):
        run.run(buffers)
    assert run.arenas == 1
    start = threading.Barrier(3)

    def work() -> None:
        mine = [Buffer.empty(n, float32) for _ in range(2)]
        start.wait()
        for _ in range(20):
            run.run(mine)

    at_once([work] * 3)
    assert 1 < run.arenas <= 3
    assert Replay(Program(steps)).nbytes == run.arena_bytes == 4 * n
