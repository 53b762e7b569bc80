"""tutor.jit: each call gives what the function gives, and leaves behind what it leaves.

Every function of the table is called five times, as it is and jitted: results, parameters,
gradients, the optimizer's state and the stream of random numbers must be the same bits.
"""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.backends import registry, simd_cpp
from tutor.errors import DomainError, GraphError, OutOfRangeError, RecordError
from tutor.programs import jit

pytestmark = pytest.mark.usefixtures("place")


def bits(value: Any) -> Any:
    """Everything that can be seen of it, in a form that compares."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype.name, value.detach().cpu().copy().buf.raw.tobytes()
    if isinstance(value, (list, tuple)):
        return [bits(v) for v in value]
    return {k: bits(v) for k, v in value.items()} if isinstance(value, dict) else value


class Case:
    """Something that is trained or computed: `step(x)` is what is jitted."""

    def __init__(self) -> None:
        tutor.manual_seed(7)
        self.model: Any = [nn.Linear(6, 8), nn.Linear(8, 3)]
        self.params = nn.get_parameters(self.model)
        self.y = tutor.randint(0, 3, (4,))
        self.setup()

    def setup(self) -> None: ...

    def arguments(self, call: int) -> tuple[Any, ...]:
        return (Tensor.randn(4, 6),)

    def before(self, call: int) -> None:
        """What happens between calls."""

    def step(self, x: Tensor) -> Any:
        raise NotImplementedError

    def left(self) -> Any:
        return [bits(p) for p in self.params], [bits(p.grad) for p in self.params]


class Forward(Case):
    def step(self, x: Tensor) -> Any:
        return self.model[1](self.model[0](x).relu()), {"mean": x.mean(), "more": [x * 2, 3]}


class SGD(Case):
    def setup(self) -> None:
        self.optimizer: Any = optim.SGD(self.params, lr=0.1)

    def loss(self, x: Tensor) -> Tensor:
        loss: Tensor = self.model[1](self.model[0](x).relu()).cross_entropy(self.y)
        return loss

    def step(self, x: Tensor) -> Any:
        loss = self.loss(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def left(self) -> Any:
        return super().left(), bits(self.optimizer.state_dict()), tutor.random.get_state()


class Adam(SGD):
    def setup(self) -> None:
        self.optimizer = optim.Adam(self.params, lr=0.1, weight_decay=0.01)

    def before(self, call: int) -> None:
        self.optimizer.lr = 0.1 / (1 + call)


class Momentum(SGD):
    def setup(self) -> None:
        self.optimizer = optim.SGD(self.params, lr=0.1, momentum=0.9)


class Dropout(Adam):
    def loss(self, x: Tensor) -> Tensor:
        h = self.model[0](x).relu()
        h = h * (Tensor.rand(*h.shape) < 0.75).cast(h.dtype) + 0.01 * Tensor.randn(*h.shape)
        loss: Tensor = self.model[1](h).cross_entropy(self.y)
        return loss


class Accumulating(SGD):
    """Gradients are added up over calls, and forgotten outside of the function."""

    def before(self, call: int) -> None:
        if call == 3:
            self.optimizer.zero_grad()

    def step(self, x: Tensor) -> Any:
        self.loss(x).backward()


class OnlyTheStep(SGD):
    """The gradients are made outside, other Tensors each time."""

    def before(self, call: int) -> None:
        self.optimizer.zero_grad()
        (self.loss(Tensor.full((4, 6), call / 7)) * 2).backward()

    def step(self, x: Tensor) -> Any:
        self.optimizer.step()


class Forgetting(SGD):
    def step(self, x: Tensor) -> Any:
        loss = super().step(x)
        self.optimizer.zero_grad()
        return loss


class Clipped(SGD):
    """Gradients are changed in place, and through a hook."""

    def setup(self) -> None:
        super().setup()
        self.params[0].register_hook(lambda g: g * 0.5)

    def step(self, x: Tensor) -> Any:
        loss = self.loss(x)
        self.optimizer.zero_grad()
        loss.backward()
        with tutor.no_grad():
            for p in self.params:
                p.grad *= 0.5
                p.grad.clip(-0.1, 0.1)
        self.optimizer.step()
        return loss


class ByHand(SGD):
    def step(self, x: Tensor) -> Any:
        grads = tutor.grad(self.loss(x), self.params)
        with tutor.no_grad():
            for p, g in zip(self.params, grads, strict=True):
                p -= 0.1 * g
        return [g.sum() for g in grads]


class SecondDerivative(Case):
    def step(self, x: Tensor) -> Any:
        w = self.params[0]
        (first,) = tutor.grad((x @ w.T).tanh().sum(), [w], create_graph=True)
        (second,) = tutor.grad((first * first).sum(), [w])
        return first.detach(), second


class Hidden(Case):
    """State in an attribute, another Tensor after each call."""

    def setup(self) -> None:
        self.h = Tensor.zeros(4, 6)

    def step(self, x: Tensor) -> Any:
        self.h = (0.9 * self.h + x).tanh()
        return self.h, self.h.sum()

    def left(self) -> Any:
        return bits(self.h)


class InPlace(Case):
    """Writes to parts of state, of arguments, and of numbers that were written down."""

    def setup(self) -> None:
        self.total = Tensor.zeros(2, 6)

    def step(self, x: Tensor) -> Any:
        acc = Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        acc += x.sum(0)
        acc[1:3] = acc[2:4]
        self.total[1] += acc
        self.total[0, ::2] = 0.5
        x[0] = 1.0
        return acc, x, self.total[1]

    def left(self) -> Any:
        return bits(self.total)


class Views(Case):
    """Results that share memory with each other, with an argument, with state."""

    def step(self, x: Tensor) -> Any:
        y = x.exp()
        return y, y.T, y[1:], x.T, self.params[0], self.params[0].T, x[:, ::-1], y[tutor.arange(2)]


class Slices(Case):
    """The argument is a part of something larger, at another place each time."""

    def setup(self) -> None:
        self.all = Tensor.randn(40, 6)

    def arguments(self, call: int) -> tuple[Any, ...]:
        return (self.all[4 * call : 4 * call + 4],)

    def step(self, x: Tensor) -> Any:
        y = self.model[0](x[::2])
        x[1] = 7.0
        return y, x

    def left(self) -> Any:
        return bits(self.all), self.all.buf.version


class Two(Case):
    """Two arguments over one Buffer, in lists and dicts."""

    def arguments(self, call: int) -> tuple[Any, ...]:
        x = Tensor.randn(6, 6)
        return ([x, x.T, {"a": x[0], "b": 2.0}],)

    def step(self, x: Any) -> Any:
        whole, turned, named = x
        whole[0] = 3.0
        return whole @ turned + named["a"] * named["b"]


class Nothing(Case):
    def step(self, x: Tensor) -> Any:
        return None


class Constants(Case):
    def step(self, x: Tensor) -> Any:
        return Tensor([1.0, 2.0]), Tensor(3), 4, "five", (x.shape, None, [True])


class Dead(Case):
    def step(self, x: Tensor) -> Any:
        x.exp().sum()
        return x.cast("float64").cast("float32") + 0


class Empty(Case):
    def step(self, x: Tensor) -> Any:
        none = (x[:0] * 2 + 1).relu()
        joined = tutor.cat([none, x], axis=0).exp().sum(0)
        return none.sum(), none, none.T @ (none * 3), joined, none.reshape(0, 6).sum(0) + 1


class LeafArgument(Case):
    """An argument that wants a gradient."""

    def arguments(self, call: int) -> tuple[Any, ...]:
        self.x = Tensor.randn(4, 6).requires_grad_()
        return (self.x,)

    def step(self, x: Tensor) -> Any:
        (x * x * 3).sum().backward()

    def left(self) -> Any:
        return bits(self.x.grad)


class SameRows(Forward):
    """An argument that is a part of something larger, twice the very same one."""

    def setup(self) -> None:
        self.rows = Tensor.randn(10, 6)

    def arguments(self, call: int) -> tuple[Any, ...]:
        first = [2, 2, 2, 5, 2][call]
        return (self.rows[first : first + 4],)


def kinds(base: type[Case]) -> list[type[Case]]:
    return [kind for c in base.__subclasses__() for kind in (c, *kinds(c))]


CASES = kinds(Case)


def played(case: Case, step: Callable[..., Any], calls: int = 5) -> Iterator[Any]:
    results = []
    for call in range(calls):
        tutor.manual_seed(100 + call)
        arguments = case.arguments(call)
        case.before(call)
        results.append(step(*arguments))
        yield bits(results[-1]), bits(arguments), case.left()
    yield bits(results)  # none has changed since


@pytest.fixture(params=[True, False], ids=["twin", "readable"])
def twin(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the twins in C++ stand in for Trace and Engine."""
    simd_cpp._native.use_twin(request.param)
    yield request.param
    simd_cpp._native.use_twin(True)


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("make", CASES, ids=lambda c: c.__name__)
def test_each_call_is_as_without_jit(make: type[Case]) -> None:
    case, other = make(), make()
    jitted = tutor.jit(other.step)
    plain = played(case, case.step)
    for call, expected in enumerate(played(other, jitted)):
        assert next(plain) == expected, f"call {call + 1}"
    stats = jitted.stats()
    assert (stats["eager"], stats["replayed"] > 0) == (1, True), stats
    assert stats["recorded"] <= (2 if make is Accumulating else 1), stats


# ---- when it is recorded again -------------------------------------------------------------------


def counted(jitted: Any) -> tuple[int, int]:
    return jitted.stats()["recorded"], jitted.stats()["replayed"]


SCALE = 2.0
FLAGS = {"on": True}


class Model:
    factor = 1.0

    def __init__(self) -> None:
        self.training, self.w, self.parts = True, Tensor([1.0, 2.0]), [Tensor([3.0])]

    def __call__(self, x: Tensor) -> Tensor:
        y = self.scaled(x * self.w) + self.parts[-1]
        return y * 2 if self.training and FLAGS["on"] else y

    def scaled(self, x: Tensor) -> Tensor:
        return x * SCALE * self.factor


CHANGES: dict[str, Callable[[Model], Any]] = {
    "train/eval": lambda m: setattr(m, "training", False),
    "a weight replaced": lambda m: setattr(m, "w", Tensor([5.0, 6.0])),
    "its memory replaced": lambda m: setattr(m.w, "buf", Tensor([5.0, 6.0]).buf),
    "frozen": lambda m: m.w.requires_grad_(),
    "a part more": lambda m: m.parts.append(Tensor([4.0])),
    "a part replaced": lambda m: m.parts.__setitem__(0, Tensor([4.0])),
    "a dict's item": lambda m: FLAGS.update(on=False),
    "an attribute of the class": lambda m: setattr(Model, "factor", 5.0),
    "an attribute in place of the class's": lambda m: setattr(m, "factor", 5.0),
    "a method": lambda m: setattr(Model, "scaled", lambda self, x: x * 7.0),
    "a method of its own": lambda m: setattr(m, "scaled", lambda x: x * 7.0),
    "a global": lambda m: globals().update(SCALE=3.0),
}


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_noticed(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    monkeypatch.setitem(FLAGS, "on", True)
    monkeypatch.setattr(Model, "factor", 1.0)
    monkeypatch.setattr(Model, "scaled", Model.scaled)
    model = Model()
    jitted = tutor.jit(model)
    x = Tensor([10.0, 20.0])
    for _ in range(3):
        assert bits(jitted(x)) == bits(model(x).detach())
    assert counted(jitted) == (1, 1)
    CHANGES[change](model)
    for n in range(2):
        assert bits(jitted(x)) == bits(model(x).detach()), change
        assert counted(jitted) == (2, 1 + n)


def test_gradients_that_become_one_memory_are_noticed() -> None:
    """Two slots that were apart when it was recorded: a Program may not be run on them."""
    a, b = (Tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

    def add() -> None:
        with tutor.no_grad():
            for p in (a, b):
                assert p.grad is not None
                p.grad += p

    def fresh() -> None:
        a.grad, b.grad = Tensor([1.0, 1.0]), Tensor([2.0, 2.0])

    jitted = tutor.jit(add)
    for _ in range(3):
        fresh()
        jitted()
    shared = Tensor([1.0, 1.0])
    a.grad, b.grad = shared, shared
    jitted()
    assert shared.tolist() == [3.0, 5.0]
    assert counted(jitted) == (2, 1)
    fresh()
    jitted()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0, 3.0], [3.0, 4.0])


def test_numbers_written_into_the_same_memory_need_no_new_recording() -> None:
    model = Model()
    jitted = tutor.jit(model)
    x = Tensor([10.0, 20.0])
    for _ in range(3):
        jitted(x)
    nn.load_state_dict(model, {"w": Tensor([8.0, 9.0]), "parts.0": Tensor([0.0])})
    assert bits(jitted(x)) == bits(model(x))
    assert counted(jitted) == (1, 2)


@pytest.mark.host
@pytest.mark.parametrize(
    "other",
    [
        Tensor([1.0, 2.0, 3.0]),
        Tensor([1, 2]),
        Tensor([[1.0, 2.0]]),
        Tensor([1.0, 2.0], requires_grad=True),
        Tensor([1.0, 9.0, 2.0])[::2],
        2.0,
        True,
        1,
    ],
    ids=repr,
)
def test_arguments_of_another_kind_are_recorded_apart(other: Any) -> None:
    jitted = tutor.jit(lambda x: x * Tensor([[2.0], [3.0]]))
    for x in (Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), other, other, Tensor([5.0, 6.0])):
        assert bits(jitted(x)) == bits((x * Tensor([[2.0], [3.0]])).detach())
    assert counted(jitted) == (2, 2)


def test_the_mode_of_the_thread_is_noticed() -> None:
    w = Tensor([2.0], requires_grad=True)

    def f(x: Tensor) -> Tensor:
        return (x * w) if (x * w).requires_grad else x * w * 100

    jitted = tutor.jit(f)
    x = Tensor([3.0])
    assert [jitted(x).item() for _ in range(3)] == [6.0] * 3
    with tutor.no_grad():
        assert [jitted(x).item() for _ in range(2)] == [600.0] * 2
    assert jitted(x).item() == 6.0


@pytest.mark.host
def test_another_backend_is_noticed() -> None:
    jitted = tutor.jit(lambda x: x.exp())
    x = Tensor([1.0])
    for name in ("python_ref", "simd_cpp") * 2:
        with tutor.use_backend(name):
            for _ in range(2):
                assert bits(jitted(x)) == bits(x.exp())
    assert jitted.stats()["traces"] == 2


def test_a_backend_without_the_kernel_for_chains_replays_them_apart() -> None:
    table = {k: v for k, v in registry.table("python_ref").items() if k[0] != "fused"}
    registry.register("without chains", table)
    try:
        with tutor.use_backend("without chains"):
            jitted = tutor.jit(lambda x: (x * 2 + 1).relu().sum())
            x = Tensor([1.0, -2.0, 3.0])
            assert [jitted(x).item() for _ in range(4)] == [10.0] * 4
        assert [step.kernel for step in jitted.program] == ["mul", "add", "relu", "sum"]
    finally:
        registry._tables.pop("without chains")


def test_why_it_is_recorded_again_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUTOR_DEBUG", "1")
    model = Model()
    jitted = tutor.jit(model)
    for _ in range(3):
        jitted(Tensor([1.0, 2.0]))
    model.training = False
    jitted(Tensor([1.0, 2.0]))
    assert "again: " in (said := capsys.readouterr().err)
    assert ".training has changed" in said


def test_recording_at_each_call_warns() -> None:
    model = Model()
    jitted = tutor.jit(model)

    def calls() -> None:
        for n in range(12):
            model.training = n  # type: ignore[assignment]
            jitted(Tensor([1.0, 2.0]))

    with pytest.warns(UserWarning, match="training has changed"):
        calls()


@pytest.mark.usefixtures("twin")
def test_many_kinds_of_arguments_are_no_reason_to_warn() -> None:
    """Each is replayed before the next one is recorded. (A warning is an error here.)"""
    jitted = tutor.jit(lambda x: x * 2)
    for n in range(1, 14):
        for _ in range(3):
            jitted(Tensor.ones(n))
    assert counted(jitted) == (13, 25)


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.host
def test_results_are_never_the_same_memory() -> None:
    jitted = tutor.jit(lambda x: x + 1)
    results = [jitted(Tensor([float(n)])) for n in range(6)]
    assert [r.item() for r in results] == [1, 2, 3, 4, 5, 6]
    assert len({r.buf.address for r in results}) == 6


def test_a_result_that_is_an_argument_or_state_is_that_very_tensor() -> None:
    model = Model()
    jitted = tutor.jit(lambda x: (x, model.w))
    for _ in range(4):
        x = Tensor([1.0])
        y, w = jitted(x)
        assert y is x
        assert w is model.w


def test_a_saved_value_that_a_replay_changes_is_known_to_be_stale() -> None:
    w = Tensor([2.0], requires_grad=True)

    def move() -> None:
        with tutor.no_grad():
            w.mul_(2.0) if hasattr(w, "mul_") else w.assign(w * 2)

    jitted = tutor.jit(move)
    for _ in range(3):
        jitted()
    y = w * w
    jitted()
    with pytest.raises(GraphError, match="changed"):
        y.backward()


def test_a_result_whose_graph_backward_has_walked_says_so() -> None:
    w = Tensor([2.0], requires_grad=True)

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        loss = (x * w).sum()
        loss.backward()
        return loss

    for _ in range(4):
        y = step(Tensor([1.0]))
        assert y.requires_grad and not y.is_leaf
        with pytest.raises(GraphError, match=r"(?s)through Sum.*has freed"):
            y.backward()


def test_a_result_whose_graph_is_stale_says_what_was_changed() -> None:
    w = Tensor([2.0], requires_grad=True)

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        y = x * w
        x += 1  # saved for the gradient of w
        return y.sum()

    for _ in range(4):
        y = step(Tensor([1.0]))
        assert y.requires_grad and not y.is_leaf
        with pytest.raises(GraphError, match=r"(?s)through Mul, which saved.*in place.*test_jit"):
            y.backward()
    assert step.stats()["replayed"] == 2


# ---- what cannot be recorded ---------------------------------------------------------------------


class Kept:
    def __init__(self) -> None:
        self.count, self.log, self.w = 0, [Tensor([0.0])], Tensor([1.0])


kept = Kept()


def reads_a_number(x: Tensor) -> Tensor:
    return x * x.sum().item()


def branches(x: Tensor) -> Tensor:
    return x * 2 if x.sum() > 0 else x


def prints(x: Tensor) -> Tensor:
    str(x)
    return x


def lists(x: Tensor) -> Tensor:
    return x * x.tolist()[0]


def masks(x: Tensor) -> Tensor:
    return x[x > 0]


def counts(x: Tensor) -> Tensor:
    kept.count += 1
    return x * 2


def logs(x: Tensor) -> Tensor:
    kept.log.append(x * 2)
    return x


def schedules(x: Tensor) -> Tensor:
    x.buf[0] = 3.0
    return x


moved = Tensor([1.0], requires_grad=True)
sgd = optim.SGD([moved], lr=0.1)


def reads_a_setting(x: Tensor) -> Tensor:
    return x * sgd.lr


def reads_the_count(x: Tensor) -> Tensor:
    return x * sgd.steps


def seeds(x: Tensor) -> Tensor:
    tutor.manual_seed(3)
    return x + Tensor.rand(3)


def rewinds(x: Tensor) -> Tensor:
    tutor.random.set_state((1, 2))
    return x


def returns_an_object(x: Tensor) -> Any:
    return object()


def appends(x: Tensor, results: list[Any]) -> None:
    results.append(x * 2)


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "item": (reads_a_number, "item()"),
    "if": (branches, "yes or no"),
    "print": (prints, "text"),
    "tolist": (lists, "tolist"),
    "mask": (masks, "the shape of t[mask]"),
    "count": (counts, "kept.count"),
    "log": (logs, "kept.log"),
    "set": (schedules, "to write an item"),
    "a setting": (reads_a_setting, "optimizer.cells['lr'][0]"),
    "the count": (reads_the_count, "an item of a Buffer"),
    "seed": (seeds, "where the random numbers stand"),
    "random state": (rewinds, "where the random numbers stand"),
    "object": (returns_an_object, "object"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_is_refused(name: str) -> None:
    function, says = REFUSED[name]
    kept.__init__()  # type: ignore[misc]
    jitted = tutor.jit(function, strict=True)
    x = Tensor([1.0, -2.0, 3.0])
    jitted(x)
    for _ in range(2):
        with pytest.raises(RecordError) as caught:
            jitted(x)
        assert says in str(caught.value)
    if "asked: to record" not in str(caught.value) and name != "object":
        assert "test_jit.py:" in str(caught.value)
    assert function(x) is not None  # nothing is left of the attempt


@pytest.mark.parametrize("name", REFUSED)
def test_where_it_need_not_be_strict_the_function_itself_runs(name: str) -> None:
    """The call in which that is found is made once, and to its end; one warning says why."""
    function, says = REFUSED[name]
    found = []
    for run in (function, tutor.jit(function)):
        kept.__init__()  # type: ignore[misc]
        tutor.manual_seed(1)
        x, results = Tensor([1.0, -2.0, 3.0]), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(8):
                result = run(x)
                results.append(bits(result) if name != "object" else type(result))
        state = tutor.random.get_state()
        found.append((results, bits(x), kept.count, bits(kept.log), state, len(caught)))
    assert found[0][:-1] == found[1][:-1]
    assert (found[0][-1], found[1][-1]) == (0, 1)
    assert says in str(caught[0].message) and "To do: " in str(caught[0].message)
    stats = run.stats()  # type: ignore[attr-defined]
    assert (stats["eager"], stats["recorded"], stats["replayed"]) == (8, 0, 0)
    assert stats["refused"] <= 4  # each attempt waits twice as long as the one before


def test_what_stood_in_the_way_may_be_gone() -> None:
    model = Model()

    def f(x: Tensor) -> Tensor:
        return x * x.sum().item() if model.training else x * 2

    jitted = tutor.jit(f)
    jitted(Tensor([1.0]))
    with pytest.warns(UserWarning, match=r"item\(\) at"):
        jitted(Tensor([1.0]))
    for _ in range(2):
        assert jitted(Tensor([1.0])).item() == 1.0
    model.training = False
    for _ in range(8):
        assert jitted(Tensor([1.0])).item() == 2.0
    assert counted(jitted)[0] == 1 and counted(jitted)[1] >= 2


def test_a_cell_in_place_of_a_setting_is_read_anew() -> None:
    jitted = tutor.jit(lambda x: x * sgd.cells["lr"][0])
    for call in range(1, 5):
        sgd.lr = call / 8
        assert jitted(Tensor([2.0])).tolist() == [call / 4]
    assert counted(jitted) == (1, 2)


def test_a_list_that_is_handed_over_cannot_be_filled() -> None:
    jitted, results = tutor.jit(appends, strict=True), []
    jitted(Tensor([1.0]), results)
    results.clear()
    with pytest.raises(RecordError, match="list or dict among its arguments"):
        jitted(Tensor([1.0]), results)


@pytest.mark.host
def test_state_that_another_library_hands_over_again_is_refused() -> None:
    """In a Program it is another Slot: passes would not know that one changes with the other."""
    w = Tensor([1.0, 2.0, 3.0])

    @tutor.jit(strict=True)
    def f(x: Tensor) -> Tensor:
        w.mul_(2.0)
        before = x + 1
        w.add_(1.0)
        return before + x

    the_same = tutor.from_dlpack(w.numpy())
    f(the_same)
    with pytest.raises(RecordError, match=r"in the same memory(.|\n)*x\.copy\(\)"):
        f(the_same)  # the second call, which is recorded
    for _ in range(3):
        f(the_same.copy())
    for _ in range(2):  # and where it is replayed
        now = w.tolist()
        with pytest.raises(RecordError, match="in the same memory"):
            f(the_same)
        assert w.tolist() == now
    assert f.stats()["replayed"] == 2


def test_a_tensor_that_cannot_be_found_again_is_refused() -> None:
    def hidden() -> Iterator[Tensor]:
        yield from [Tensor([1.0, 2.0])] * 9

    numbers = hidden()
    first = next(numbers)

    def f(x: Tensor) -> Tensor:
        return x * next(numbers)

    jitted = tutor.jit(f, strict=True)
    jitted(Tensor([1.0]))
    with pytest.raises(RecordError, match="hand over"):
        jitted(Tensor([1.0]))
    del first


def test_nothing_is_recorded_yet() -> None:
    jitted = tutor.jit(lambda x: x)
    with pytest.raises(RecordError, match="call it twice"):
        str(jitted.program)


@pytest.mark.parametrize("thing", [3, "f", Tensor([1.0])])
def test_only_a_function_can_be_jitted(thing: Any) -> None:
    with pytest.raises(RecordError, match="cannot be called"):
        tutor.jit(thing)


# ---- exceptions, methods, nesting, threads -------------------------------------------------------


def test_an_exception_of_the_function_comes_out_of_each_call() -> None:
    def f(x: Tensor) -> Tensor:
        raise DomainError("asked", "found", "do")

    jitted = tutor.jit(f)
    for _ in range(3):
        with pytest.raises(DomainError):
            jitted(Tensor([1.0]))


def test_an_exception_of_a_kernel_comes_out_of_a_replay() -> None:
    table = Tensor([1.0, 2.0, 3.0])
    out = Tensor([0.0])

    def f(i: Tensor) -> Tensor:
        y = table[i]
        out.assign(y.sum())
        return y

    jitted = tutor.jit(f)
    for n in (0, 1, 2):
        assert jitted(Tensor([n, n])).tolist() == [n + 1.0, n + 1.0]
    with pytest.raises(OutOfRangeError, match="index 7"):
        jitted(Tensor([7, 0]))
    assert out.item() == 6.0  # what comes after it did not happen
    assert jitted(Tensor([1, 1])).tolist() == [2.0, 2.0]


class Counter:
    def __init__(self, by: float) -> None:
        self.total, self.by = Tensor([0.0]), by

    @tutor.jit
    def add(self, x: Tensor) -> Tensor:
        self.total += x * self.by
        return self.total.sum()


def test_a_method_can_be_jitted() -> None:
    one, two = Counter(1.0), Counter(2.0)
    before = Counter.add.stats()["recorded"]  # type: ignore[attr-defined]
    for n in range(1, 6):
        assert (one.add(Tensor([1.0])).item(), two.add(Tensor([1.0])).item()) == (n, 2 * n)
    assert Counter.add.stats()["recorded"] == before + 2  # type: ignore[attr-defined]


def test_a_jitted_function_within_another_is_part_of_it() -> None:
    w = Tensor([2.0], requires_grad=True)
    inner = tutor.jit(lambda x: x * w)

    @tutor.jit
    def outer(x: Tensor) -> Tensor:
        w.grad = None
        inner(x).sum().backward()
        assert w.grad is not None
        return w.grad * 1

    for n in range(4):
        assert outer(Tensor([float(n), 1.0])).tolist() == [n + 1.0]
    assert inner.stats()["recorded"] == 0
    assert counted(outer) == (1, 2)


def test_what_a_jitted_function_holds_is_let_go_of_with_it() -> None:
    """Its trace knows the object whose method it is, which knows it: a circle."""

    class Trainer:
        def __init__(self) -> None:
            self.w = Tensor([1.0])
            self.step = tutor.jit(self.work)

        def work(self, x: Tensor) -> Tensor:
            return x * self.w

    trainer = Trainer()
    for _ in range(3):
        trainer.step(Tensor([1.0]))
    known = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert known() is None


def test_threads_may_call_it_at_once() -> None:
    w = Tensor.randn(16, 16)
    jitted = tutor.jit(lambda x: (x @ w).relu().sum(0))
    wrong: list[int] = []

    def work(seed: int) -> None:
        for n in range(40):
            x = Tensor([[float(seed * n % 7 - 3)] * 16] * 8, device=w.device)
            if bits(jitted(x)) != bits((x @ w).relu().sum(0)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.host
def test_threads_with_one_new_kind_record_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody records before all eight threads have seen that nothing is recorded: the thread that
    Python happens to run first would otherwise be done before the second one asks."""
    jitted, results = tutor.jit(lambda x: (x * 2 + 1).relu().sum()), []
    jitted(Tensor([1.0]))
    x, asked, all_asked = Tensor.ones(64), itertools.count(1), threading.Event()
    known, record = jit.Jitted._known, jit.record

    def asks(self: jit.Jitted, call: Any) -> Any:
        answer = known(self, call)
        if next(asked) == 8:
            all_asked.set()
        return answer

    def records(*args: Any) -> Any:
        all_asked.wait()
        return record(*args)

    monkeypatch.setattr(jit.Jitted, "_known", asks)
    monkeypatch.setattr(jit, "record", records)
    threads = [threading.Thread(target=lambda: results.append(jitted(x).item())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [192.0] * 8
    assert counted(jitted) == (1, 7)


@pytest.mark.host
def test_a_recording_keeps_neither_its_objects_nor_a_batch_alive() -> None:
    known, buffers = [], []
    before = Counter.add.stats()["traces"]  # type: ignore[attr-defined]
    for n in range(1, 6):
        one, x = Counter(float(n)), Tensor([1.0])
        for _ in range(3):
            one.add(x)
        known.append(weakref.ref(one))
        buffers.append(weakref.ref(x))
    del one, x
    gc.collect()
    assert [ref() for ref in (*known, *buffers)] == [None] * 10
    assert Counter.add.stats()["traces"] == before  # type: ignore[attr-defined]


@pytest.mark.host
def test_a_refusal_that_is_remembered_keeps_no_batch_alive() -> None:
    counts = [0]

    def counting(x: Tensor) -> Tensor:
        counts[0] += 1
        return x * 2

    jitted, batches = tutor.jit(counting), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            x = Tensor([1.0])
            jitted(x)
            batches.append(weakref.ref(x))
            del x
    assert jitted.stats()["refused"] == 1
    assert [batch() for batch in batches] == [None, None]


@pytest.mark.host
def test_the_memory_of_a_batch_is_given_back() -> None:
    jitted = tutor.jit(lambda x: (x * 2).sum())
    jitted(Tensor([1.0]))
    before = tutor.memory.stats().in_use
    for n in range(1, 9):
        jitted(Tensor.ones(n, 1 << 14))
    assert counted(jitted) == (8, 0)
    assert tutor.memory.stats().in_use - before < 1 << 16


@pytest.mark.host
def test_of_kinds_that_which_was_called_least_recently_goes() -> None:
    jitted = tutor.jit(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, jit.MOST_KINDS + 3):
            for _ in range(2):
                jitted(Tensor.ones(n))
            jitted(Tensor.ones(1))
    assert jitted.stats()["traces"] == jit.MOST_KINDS
    recorded = counted(jitted)[0]
    jitted(Tensor.ones(1))
    assert counted(jitted)[0] == recorded
    jitted(Tensor.ones(2))
    assert counted(jitted)[0] == recorded + 1


def test_explain_says_the_gear_the_reasons_and_what_is_compared() -> None:
    model = Model()
    jitted = tutor.jit(model)
    assert jitted.explain() == "Model: first"
    for training in (True, True, False):
        model.training = training
        jitted(Tensor([1.0, 2.0]))
    said = jitted.explain().splitlines()
    assert said[:3] == [
        "Model: replay",
        "recording 1: it is the first",
        "recording 2: Model.training has changed",
    ]
    assert "  Model.training is False" in said
    assert "  Model.factor is 1.0" in said
    assert "  SCALE is 2.0" in said
    number = tutor.jit(lambda x: x.sum().item())
    number(Tensor([1.0]))
    with pytest.warns(UserWarning, match="item"):
        number(Tensor([1.0]))
    said = number.explain().splitlines()
    assert said[0].endswith("<lambda>: eager") and "item() at" in said[1]
    assert "  to do: return the Tensor" in said[2]


def test_other_threads_are_not_recorded() -> None:
    begin, end = threading.Event(), threading.Event()

    def other() -> None:
        while not end.is_set():
            Tensor([1.0]).exp().item()
            begin.set()

    def f(x: Tensor) -> Tensor:
        for _ in range(20000):  # the other one has its turn meanwhile
            pass
        return x + 1

    thread = threading.Thread(target=other)
    thread.start()
    begin.wait()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    jitted = tutor.jit(f)
    try:
        for n in range(3):
            assert jitted(Tensor([float(n)])).item() == n + 1
    finally:
        sys.setswitchinterval(interval)
        end.set()
        thread.join()
    assert [step.kernel for step in jitted.recorded] == ["add"]


# ---- beside tutor.lazy ---------------------------------------------------------------------------


def test_in_a_lazy_block_it_is_the_function_itself() -> None:
    jitted = tutor.jit(lambda x: x * 2 + 1)
    with tutor.lazy():
        results = [jitted(Tensor([float(n)])) for n in range(4)]
    assert [r.item() for r in results] == [1.0, 3.0, 5.0, 7.0]
    assert jitted.stats()["recorded"] == 0


def test_what_is_pending_for_an_argument_or_for_state_is_no_part_of_a_recording() -> None:
    w = Tensor([2.0])
    jitted = tutor.jit(lambda x: x * w)
    for n in range(4):
        with tutor.lazy():
            x = Tensor([float(n)]) + 1
            w += 1
        assert jitted(x).item() == (n + 1.0) * (n + 3.0)
    assert [step.kernel for step in jitted.recorded] == ["mul"]


def test_a_lazy_block_within_is_refused() -> None:
    def f(x: Tensor) -> Tensor:
        with tutor.lazy():
            return x * 2

    jitted = tutor.jit(f, strict=True)
    assert jitted(Tensor([1.0])).item() == 2.0
    with pytest.raises(RecordError, match="leave it out"):
        jitted(Tensor([1.0]))


@pytest.mark.host
def test_a_replay_takes_memory_for_what_it_hands_out_alone() -> None:
    """Temps have their places in an arena; a result and each `.grad` that is left are new."""
    case = SGD()
    jitted = tutor.jit(case.step)
    x = Tensor.randn(4, 6)
    with tutor.use_backend("simd_cpp"):
        for _ in range(4):
            jitted(x)
        before = tutor.memory.stats()
        for _ in range(10):
            jitted(x)
    after = tutor.memory.stats()
    assert after.allocations - before.allocations == 10 * (1 + len(case.params))
    if tutor.memory.config().policy != "plain":  # with sanitizers each block is a new one
        assert after.misses == before.misses


@pytest.mark.host
@pytest.mark.parametrize("start", [0, 4])
def test_the_same_rows_of_something_larger_can_be_given_again_and_again(start: int) -> None:
    table = Tensor.randn(12, 6)
    jitted = tutor.jit(lambda x: (x * 2).sum(0))
    rows = table[start : start + 4]
    for x in (rows, rows, rows, rows, table[1:5], rows.copy(), rows, table[start : start + 4]):
        assert bits(jitted(x)) == bits((x * 2).sum(0))
    assert counted(jitted)[0] <= 2


def test_rows_that_were_given_again_are_changed_in_place() -> None:
    table = Tensor.zeros(6, 2)

    def count(x: Tensor) -> None:
        x += 1

    jitted = tutor.jit(count)
    for _ in range(4):
        jitted(table[2:4])
    assert table.sum(1).tolist() == [0, 0, 8, 8, 0, 0]
