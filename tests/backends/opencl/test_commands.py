"""Kernel calls that a device has noted: made again, they leave the bits of the steps one by one."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

pytest.importorskip("pyopencl")

import pyopencl as cl

import tutor
from tutor import Tensor, nn, optim
from tutor.backends.opencl import table
from tutor.backends.opencl.commands import Commands, Launch, Question
from tutor.backends.opencl.device import pool
from tutor.backends.opencl.device_context import found
from tutor.core.buffer import Buffer
from tutor.errors import DeviceError, OutOfRangeError

if not found():
    pytest.skip("no OpenCL driver with a device is here", allow_module_level=True)

ON = "opencl:0"
TABLE: Any = table(0)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Commands]:
    """The lists that were run, one for each time."""
    seen: list[Commands] = []
    run = Commands.run

    def noted(self: Commands, buffers: Any) -> None:
        seen.append(self)
        run(self, buffers)

    monkeypatch.setattr(Commands, "run", noted)
    return seen


@pytest.fixture(autouse=True)
def on_the_device() -> Iterator[None]:
    with tutor.device(ON):
        yield


def parts(commands: Commands) -> list[str]:
    """What it does, in order: the name of each kernel, "ask" for a question, "answered" where it
    is waited for."""
    names = []
    for part in commands.all:
        if isinstance(part, Launch):
            names.append(part.kernel.function_name)
        elif isinstance(part, Question):
            names.append("ask")
        elif isinstance(part, partial) and isinstance(part.args[0], list):
            names += [kernel.function_name for kernel, _ in part.args[0]]
        else:
            names.append(getattr(part, "__name__", "a step of the host"))
    return names


def bits(t: Any) -> bytes:
    return bytes(t.detach().cpu().contiguous().buf.raw)


def network() -> tuple[nn.Module, optim.Optimizer]:
    tutor.manual_seed(3)
    model = nn.Sequential(nn.Linear(20, 33), nn.ReLU(), nn.Dropout(0.3), nn.Linear(33, 5))
    return model, optim.Adam(nn.get_parameters(model), lr=0.01)


def batch(seed: int, rows: int = 16) -> tuple[Tensor, Tensor]:
    tutor.manual_seed(seed)
    return tutor.randn((rows, 20)), tutor.randint(0, 5, (rows,))


def step_of(model: nn.Module, optimizer: optim.Optimizer, twice: bool = False) -> Any:
    """A jitted step of training."""

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        if twice:  # the number of steps has changed in between, and what follows from it
            optimizer.step()
        return loss

    return step


def trained(steps: int = 6, twice: bool = False) -> list[bytes]:
    """The bits of all losses, and of the parameters at the end."""
    model, optimizer = network()
    step = step_of(model, optimizer, twice)
    losses = [bits(step(*batch(i))) for i in range(steps)]
    assert step.stats()["replayed"] == steps - 2
    return losses + [bits(p) for p in nn.get_parameters(model)]


@pytest.mark.parametrize("twice", [False, True])
def test_training_has_the_bits_of_the_steps_one_by_one(
    twice: bool, runs: list[Commands], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, moments, the numbers that dropout draws, and the counter of steps."""
    noted = trained(twice=twice)
    assert len(runs) == 3  # the first replay is noted, the others are run from the list
    monkeypatch.setenv("TUTOR_NATIVE", "0")
    assert trained(twice=twice) == noted
    assert len(runs) == 3
    assert len({*noted[:6]}) == 6


def test_what_is_the_same_for_all_elements_is_computed_once(runs: list[Commands]) -> None:
    trained()
    kernels = parts(runs[0])
    assert len([k for k in kernels if k.startswith("adam_float32")]) == 4
    assert len([k for k in kernels if k.startswith("adam_cells")]) == 4


def test_a_number_of_the_host_is_asked_for_each_time(runs: list[Commands]) -> None:
    scale = Tensor(2.0, device="cpu")
    step = tutor.jit(lambda x: (x * scale).exp())
    x = Tensor([0.5, -1.0])
    for value in (2.0, 3.0, -1.5, 0.25, 7.0):
        scale.fill_(value)
        assert bits(step(x)) == bits((x * value).exp())
    assert len(runs) == 2
    other = tutor.jit(lambda x, y: x * y)
    for value in (2.0, 3.0, -1.5, 0.25):
        assert bits(other(x, Tensor(value, device="cpu"))) == bits(x * value)
    assert len(runs) == 3


def test_other_memory_goes_in_and_out_each_time(runs: list[Commands]) -> None:
    step = tutor.jit(lambda x, y: ((x @ y).relu() + 1.0, x.sum()))
    kept = []
    for i in range(6):
        tutor.manual_seed(i)
        x, y = tutor.randn((7, 9)), tutor.randn((9, 40))
        kept.append((step(x, y), bits((x @ y).relu() + 1.0), bits(x.sum())))
    assert [(bits(a), bits(b)) for (a, b), _, _ in kept] == [(a, b) for _, a, b in kept]
    assert len(runs) == 3


def test_two_arguments_in_one_memory_are_not_taken_for_each_other(runs: list[Commands]) -> None:
    """Noted with both in one memory, a list could not say which of them a launch was given."""
    step = tutor.jit(lambda x, y: x - 2.0 * y)
    x, other = tutor.randn((5,)), tutor.randn((5,))
    y = Tensor.over(Buffer.over(x.buf.memory, x.dtype), (5,), (1,), 0)
    for a, b in [(x, y), (x, y), (x, y), (x, y), (x, other), (other, x)]:
        assert bits(step(a, b)) == bits(a - 2.0 * b)
    assert not runs


# ---- what is refused -----------------------------------------------------------------------------


def test_an_index_that_is_none_is_refused_before_anything_is_written() -> None:
    model, optimizer = network()
    step = step_of(model, optimizer)
    for i in range(5):
        step(*batch(i))
    before = [bits(p) for p in nn.get_parameters(model)]
    x, _ = batch(9)
    bad = Tensor([0, 1, 2, 3, 4, 0, 1, 5, 3, 4, 0, 1, 2, 3, 4, 0])
    for _ in range(2):
        with pytest.raises(OutOfRangeError, match="index 5 in axis 1") as caught:
            step(x, bad)
        assert any("in step" in note for note in caught.value.__notes__)
        assert [bits(p) for p in nn.get_parameters(model)] == before
    step(*batch(10))
    assert [bits(p) for p in nn.get_parameters(model)] != before


def test_an_unchanged_index_is_asked_about_once_and_first(runs: list[Commands]) -> None:
    step = tutor.jit(lambda x, i: x.gather(0, i) + x.exp().gather(0, i))
    x = tutor.randn((6,))
    for seed in range(5):
        tutor.manual_seed(seed)
        i = tutor.randint(0, 6, (4,))
        assert bits(step(x, i)) == bits(x.gather(0, i) + x.exp().gather(0, i))
    names = parts(runs[0])
    assert names[:5] == ["outside", "ask", "exp_float32", "answered", "take_float32"]
    assert names.count("answered") == 2  # for the take that comes first, too
    assert names.count("outside") == 1


def test_what_depends_on_nothing_that_is_written_comes_first(runs: list[Commands]) -> None:
    """So labels of another dtype are cast, and asked about, while the device has work to do."""
    w = tutor.randn((6, 4))

    @tutor.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = (x @ w).exp().cross_entropy(y)
        w.add_(x[:6, :4] * loss)
        return loss

    for seed in range(6):
        tutor.manual_seed(seed)
        x, y, before = tutor.randn((8, 6)), tutor.randint(0, 4, (8,)).cast("uint8"), w.copy()
        wanted = (x @ before).exp().cross_entropy(y)
        assert bits(step(x, y)) == bits(wanted)
        assert bits(w) == bits(before + x[:6, :4] * wanted)
    names = parts(runs[0])
    assert names[:3] == ["cast_int64_uint8", "outside", "ask"] and names.count("outside") == 1
    assert names[3].startswith("matmul")
    before = bits(w)
    with pytest.raises(OutOfRangeError, match="index 4 in axis 1"):
        step(x, tutor.full((8,), 4).cast("uint8"))
    assert bits(w) == before


def test_memory_of_what_came_first_may_be_taken_later(runs: list[Commands]) -> None:
    """An index that stands where an early one stood is asked about when it is there."""
    w = Tensor([0, 1, 2])

    @tutor.jit(passes=())
    def step(x: Tensor, y: Tensor) -> Tensor:
        first = x.gather(0, y.cast("int64"))
        w.add_(1)
        other = w - 1
        w.sub_(1)
        return first + x.gather(0, other)

    x = Tensor([1.0, 10.0, 100.0])
    for values in ([2, 1, 0], [0, 0, 1], [1, 1, 2], [2, 2, 2]):
        found = step(x, Tensor(values).cast("uint8")).tolist()
        assert found == [10.0**v + 10.0**k for k, v in enumerate(values)]
    assert parts(runs[0]).count("outside") == 2
    w.fill_(3)
    with pytest.raises(OutOfRangeError, match="index 3 in axis 0"):
        step(x, Tensor([0, 1, 2]).cast("uint8"))


def test_a_copy_of_an_index_is_no_early_one(runs: list[Commands]) -> None:
    """A kernel copies an index that is not side by side to where an early one stood."""
    w = Tensor([0, 9, 1, 9, 2, 9] * 40)  # so many that no other temp has a block of that size

    @tutor.jit(passes=())
    def step(x: Tensor, y: Tensor) -> Tensor:
        first = x.index_select(0, y.cast("int64")) + 1.0
        w.add_(1)
        w.sub_(1)
        return first + x.index_select(0, w[::2])

    x = Tensor([1.0, 10.0, 100.0])
    for values in ([2, 1, 0], [0, 0, 1], [1, 1, 2], [2, 2, 2]):
        found = step(x, Tensor(values * 40).cast("uint8")).tolist()
        assert found == [10.0**v + 10.0**k + 1.0 for k, v in enumerate(values)] * 40
    names = parts(runs[0])
    assert names[:3] == ["cast_int64_uint8", "outside", "ask"] and names.count("outside") == 2
    assert names.index("outside", 3) > names.index("copy_int64")
    w[2] = 7
    with pytest.raises(OutOfRangeError, match="index 7 in axis 0"):
        step(x, Tensor([0, 1, 2] * 40).cast("uint8"))


def test_memory_that_was_used_before_is_not_written_ahead(runs: list[Commands]) -> None:
    """The second product's memory was that of the first one, which is read in between."""
    step = tutor.jit(lambda x, y: ((x @ x) * y.sum()).sum() + (y @ y).sum(), passes=())
    for seed in range(6):
        tutor.manual_seed(seed)
        x, y = tutor.randn((40, 40)), tutor.randn((40, 40))
        assert bits(step(x, y)) == bits(((x @ x) * y.sum()).sum() + (y @ y).sum())
    assert runs


def test_an_index_that_a_step_makes_is_asked_about_after_it(runs: list[Commands]) -> None:
    step = tutor.jit(lambda x, i: x.gather(0, i * 2))
    x = tutor.randn((6,))
    for values in ([0, 1], [2, 0], [1, 2], [2, 2]):
        i = Tensor(values)
        assert bits(step(x, i)) == bits(x.gather(0, i * 2))
    names = parts(runs[0])
    assert names.index("outside") == 1 and names[2:4] == ["ask", "answered"]
    with pytest.raises(OutOfRangeError, match="index 6 in axis 0"):
        step(x, Tensor([0, 3]))
    i = Tensor([1, 0])
    assert bits(step(x, i)) == bits(x.gather(0, i * 2))


@pytest.mark.parametrize("here", [True, False], ids=["on the device", "on the host"])
def test_a_divisor_may_become_zero(here: bool) -> None:
    y = Tensor(3, device=None if here else "cpu")
    step = tutor.jit(lambda x: x // y)
    x = Tensor([7, 8, 9])
    for value in (3, 2, 4, 1):
        y.fill_(value)
        assert step(x).tolist() == [n // value for n in (7, 8, 9)]
    y.fill_(0)
    with pytest.raises(tutor.errors.DomainError, match="divided by 0"):
        step(x)
    y.fill_(5)
    assert step(x).tolist() == [1, 1, 1]


def test_what_moves_numbers_to_the_host_and_back_is_a_part_of_it(runs: list[Commands]) -> None:
    step = tutor.jit(lambda x: ((x.exp().cpu() * 2.0).to(ON) + 1.0, x.cpu()))
    for i in range(5):
        x = Tensor([float(i), 1.0])
        there, here = step(x)
        assert bits(there) == bits(x.exp() * 2.0 + 1.0) and here.tolist() == [i, 1.0]
    assert len(runs) == 2


def test_what_depends_on_a_step_of_the_host_does_not_come_before_it(runs: list[Commands]) -> None:
    """Though it depends on nothing that is written but by that step."""
    step = tutor.jit(lambda x: ((x.exp().cpu() * 2.0).to(ON) @ x).sum(), passes=())
    for i in range(6):
        x = Tensor([[float(i), 1.0], [0.5, 2.0]])
        assert bits(step(x)) == bits(((x.exp() * 2.0) @ x).sum())
    assert runs


def test_a_kernel_that_reads_is_called_step_by_step(
    runs: list[Commands], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it then does may depend on the answer, which only `ask` tells the list of."""
    kernel: Any = TABLE["exp", tutor.float32]
    call = type(kernel).__call__

    def reading(self: Any, *operands: Any) -> None:
        call(self, *operands)
        if self is kernel:
            operands[0].buf.memory.keep().read()

    monkeypatch.setattr(type(kernel), "__call__", reading)
    step = tutor.jit(lambda x: x.exp() @ x, passes=())
    for i in range(5):
        x = Tensor([[float(i), 1.0], [0.5, 2.0]])
        assert bits(step(x)) == bits(x.exp() @ x)
    assert not runs


def test_a_device_that_fails_says_so(runs: list[Commands], monkeypatch: Any) -> None:
    step = tutor.jit(lambda x: x.exp() + 1.0)
    x = tutor.randn((5,))
    for _ in range(4):
        step(x)

    class OutOfResources(cl.Error):  # type: ignore[misc,name-defined]
        code = -5

    def gone(*_: Any) -> None:
        raise OutOfResources("out of resources")

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", gone)
    with pytest.raises(DeviceError, match="gone or has given up"):
        step(x)


# ---- what it holds -------------------------------------------------------------------------------


def test_its_memory_goes_back_with_the_function() -> None:
    def use() -> Callable[..., Any]:
        step = tutor.jit(lambda x: ((x @ x).exp() @ x).sum())
        for _ in range(4):
            step(tutor.ones((64, 64)))
        return step

    gc.collect()
    before = pool(0).stats().in_use
    step = use()
    gc.collect()
    assert pool(0).stats().in_use >= before + 64 * 64 * 4
    del step
    gc.collect()
    assert pool(0).stats().in_use == before


def test_threads_replay_one_function() -> None:
    step = tutor.jit(lambda x: ((x * 3.0) @ x).relu().sum(axis=0))
    wrong: list[int] = []

    def go(seed: int) -> None:
        with tutor.device(ON):
            for k in range(20):
                x = Tensor([[float(seed + k), 1.0], [2.0, -1.0]])
                if step(x).tolist() != ((x * 3.0) @ x).relu().sum(axis=0).tolist():
                    wrong.append(seed)

    for _ in range(3):
        step(Tensor([[1.0, 1.0], [2.0, -1.0]]))
    threads = [threading.Thread(target=go, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_watch_sees_each_step(runs: list[Commands]) -> None:
    step = tutor.jit(lambda x: (x @ x).sum(axis=0))
    x = tutor.ones((8, 8))
    for _ in range(4):
        step(x)
    seen = []

    def observer(one: Any, go: Callable[[], None]) -> None:
        go()
        seen.append(one.kernel)

    count = len(runs)
    with tutor.backends.step.watch(observer):
        step(x)
    assert seen == ["matmul", "sum"] and len(runs) == count
