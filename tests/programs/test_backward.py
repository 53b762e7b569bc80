"""Gradients through a jitted function: each function eager and jitted, in a training loop of its
caller's. Results, gradients and all that is left behind are the same, to the bit."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import COLUMNS, NUMBERS, ONE, ROWS, SHAPED, TWO, Line, Machine, bits

import tutor
from tutor import Tensor, nn, no_grad
from tutor.core.op import OPS, Op
from tutor.errors import GraphError
from tutor.programs.passes import PASSES
from tutor.programs.results import taken_apart

CALLS = 6
F = Callable[..., Any]


class State:
    """What the functions read beside their argument."""

    def __init__(self) -> None:
        tutor.manual_seed(5)
        self.w = Tensor.randn(6, 6).requires_grad_()
        self.c = Tensor.randn(6).requires_grad_()
        self.unused = Tensor.randn(3).requires_grad_()
        self.fixed = Tensor.randn(6)
        self.norm = nn.BatchNorm1d(6)
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 6))
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.rnn = nn.GRU(6, 4)
        self.attention = nn.MultiheadAttention(6, 2)
        self.words = nn.Embedding(9, 6)
        self.count = Tensor([0.0])
        self.double = Tensor.randn(6).cast("float64").requires_grad_()

    def seen(self) -> list[Any]:
        tensors = dict(nn.parts.named_tensors(self))
        return [(name, bits(t), t.grad is None, bits(t.grad)) for name, t in tensors.items()] + [
            tutor.random.get_state()
        ]


def linear(s: State, x: Tensor) -> Any:
    return x @ s.w + s.c


def chain(s: State, x: Tensor) -> Any:
    return ((x @ s.w + s.c).tanh() * x).exp().sum()


def layers(s: State, x: Tensor) -> Any:
    return s.layers(x)


def loss(s: State, x: Tensor) -> Any:
    return s.layers(x).cross_entropy(tutor.arange(4))


def normed(s: State, x: Tensor) -> Any:
    return s.norm(x @ s.w).relu()


def normed_at_rest(s: State, x: Tensor) -> Any:
    s.norm.training = False
    return s.norm(x * s.c)


def layer_norm(s: State, x: Tensor) -> Any:
    return nn.functional.layer_norm(x @ s.w, (6,), s.c, s.c)


def conv(s: State, x: Tensor) -> Any:
    return s.conv(x.reshape(4, 1, 2, 3)).relu().max(axis=(2, 3))


def recurrent(s: State, x: Tensor) -> Any:
    return s.rnn(x.reshape(4, 1, 6))


def attention(s: State, x: Tensor) -> Any:
    return s.attention(x, x, x)


def embedded(s: State, x: Tensor) -> Any:
    return s.words(Tensor([1, 3, 3, 8])) * x


def dropped(s: State, x: Tensor) -> Any:
    return nn.functional.dropout(x * s.c, 0.5) @ s.w


def twice(s: State, x: Tensor) -> Any:
    return (x @ s.w + s.c).relu() @ s.w + s.c


def three_times(s: State, x: Tensor) -> Any:
    return x * s.c + x.sigmoid() * s.c - (x * 0.3) * s.c


def tied(s: State, x: Tensor) -> Any:
    return ((x @ s.w).tanh() @ s.w.T) * s.w[0]


def argument_in_two_places(s: State, x: Tensor) -> Any:
    return x * x.exp() + x


def view_of_the_argument(s: State, x: Tensor) -> Any:
    return x.T


def part_of_the_argument(s: State, x: Tensor) -> Any:
    return x[1:3, ::2]


def the_argument_itself(s: State, x: Tensor) -> Any:
    return x, x * s.c


def a_parameter_itself(s: State, x: Tensor) -> Any:
    return s.w, x @ s.w


def view_of_a_parameter(s: State, x: Tensor) -> Any:
    return s.w.T, s.c[1:4]


def logits_and_loss(s: State, x: Tensor) -> Any:
    logits = s.layers(x)
    return logits, logits.cross_entropy(tutor.arange(4))


def only_the_second(s: State, x: Tensor) -> Any:
    return {"aside": (x @ s.w).tanh().sum(), "used": [x * s.c]}


def two_heads(s: State, x: Tensor) -> Any:
    h = (x @ s.w).tanh()
    return (h * s.c).exp(), (h - s.c).sigmoid()


def two_heads_that_meet_often(s: State, x: Tensor) -> Any:
    a, b = (x @ s.w).tanh(), (x * s.c).exp()
    return a * b + a, b / 2 - a


def two_apart(s: State, x: Tensor) -> Any:
    return (x @ s.w).exp().sum(), (x * s.c).tanh().sum()


def two_in_turn(s: State, x: Tensor) -> Any:
    a, b = x * s.c, x + s.c
    a, b = a * s.c, b * s.c
    return (a * s.c).sum(), (b * s.c).sum()


def one_twice(s: State, x: Tensor) -> Any:
    y = (x * s.c).exp()
    return y, [y], {"again": y * 2}


def with_numbers(s: State, x: Tensor) -> Any:
    y = x @ s.w
    return y.argmax(-1), (y > 0), y.sum(0), 3, None, "text"


def detached(s: State, x: Tensor) -> Any:
    y = x @ s.w
    return y.detach(), y.tanh()


def cut_within(s: State, x: Tensor) -> Any:
    y = (x @ s.w).tanh()
    return y.detach() * s.c + y.exp() * 2


def no_graph_within(s: State, x: Tensor) -> Any:
    with no_grad():
        scale = (x @ s.w).abs().max()
    return x * s.c / scale


def no_parameters(s: State, x: Tensor) -> Any:
    return (x * 2 + 1).relu().sum()


def fixed_alone(s: State, x: Tensor) -> Any:
    return (x * s.fixed).exp()


def of_numbers(s: State, x: Tensor) -> Any:
    return x * Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * s.c


def a_constant_too(s: State, x: Tensor) -> Any:
    k = Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return x * k * s.c, k


def a_leaf_within(s: State, x: Tensor) -> Any:
    k = Tensor([0.5] * 6, requires_grad=True)
    return x * k * s.c


def counted(s: State, x: Tensor) -> Any:
    s.count += 1
    return x * s.c * s.count


def chosen(s: State, x: Tensor) -> Any:
    return tutor.where(x > 0, x * s.c, x.exp())[tutor.arange(3)].softmax(-1)


def joined(s: State, x: Tensor) -> Any:
    return tutor.cat([x[:2], x[1:] * s.c], axis=0).pad(((1, 1), (0, 0))).max(axis=1)


def wide(s: State, x: Tensor) -> Any:
    return (x.cast("float64") * s.double).cast("float32") @ s.w


def lower(s: State, x: Tensor) -> Any:
    with tutor.autocast("bfloat16"):
        return (x @ s.w).cast("float32") * s.c


def slope_within(s: State, x: Tensor) -> Any:
    y = (x.detach() * s.c).tanh().sum()
    (g,) = tutor.grad(y, [s.c], create_graph=True)
    return y + (g * g).sum()


def learns_within(s: State, x: Tensor) -> Any:
    (x.detach() @ s.w).sum().backward()
    return x * s.c


def walked(s: State, x: Tensor) -> Any:
    y = (x.detach() * s.c).sum()
    y.backward()
    assert s.c.grad is not None
    return y.detach(), x * s.c.grad


def prod_and_cumsum(s: State, x: Tensor) -> Any:
    return x.prod(0) * s.c.cumsum(0) / (x * x + 1).std(0)


def solved(s: State, x: Tensor) -> Any:
    return tutor.linalg.solve(s.w + tutor.eye(6) * 9, x.T).T


def nothing_wanted(s: State, x: Tensor) -> Any:
    return s.fixed * 2


def hooked_within(s: State, x: Tensor) -> Any:
    y = x @ s.w
    y.register_hook(lambda g: g * 0.5)
    return y.tanh()


def kept_within(s: State, x: Tensor) -> Any:
    y = x @ s.w
    y.retain_grad()
    return y.tanh(), y


class Cube(tutor.Function):
    gradcheck = False

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.times = 3
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * x * x * ctx.times


def own_function(s: State, x: Tensor) -> Any:
    return Cube.apply(x @ s.w).tanh() * s.c


def checkpointed(s: State, x: Tensor) -> Any:
    return tutor.checkpoint(lambda x: (x @ s.w).tanh(), x) * s.c


def freed_half(s: State, x: Tensor) -> Any:
    a = (x * s.c).sum()
    return a, a * 2


def of_a_view(s: State, x: Tensor) -> Any:
    return (x.T * x.T).T * s.c


FUNCTIONS: list[F] = [
    linear, of_a_view, chain, layers, loss, normed, normed_at_rest, layer_norm, conv, recurrent,
    attention, embedded, dropped, twice, three_times, tied, argument_in_two_places,
    view_of_the_argument, part_of_the_argument, the_argument_itself, a_parameter_itself,
    view_of_a_parameter, logits_and_loss, only_the_second, two_heads, two_heads_that_meet_often,
    two_apart, two_in_turn, one_twice, with_numbers, detached, cut_within, no_graph_within,
    no_parameters, fixed_alone, of_numbers, a_constant_too, a_leaf_within, counted, chosen, joined,
    wide, lower, slope_within, learns_within, walked, prod_and_cumsum, solved, nothing_wanted,
    hooked_within, kept_within, own_function, checkpointed, freed_half,
]  # fmt: skip
EAGER = {"hooked_within", "kept_within", "checkpointed"}


def tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return (
        [t for v in inner for t in tensors_in(v)] if isinstance(value, (list, tuple, dict)) else []
    )


def used(function: F, result: Any) -> list[Tensor]:
    found = result["used"] if isinstance(result, dict) and "used" in result else result
    return [t for t in tensors_in(found) if t.requires_grad]


def shown(result: Any) -> Any:
    """Values, which of them are one Tensor, and which want a gradient."""
    found = tensors_in(result)
    first = [next(j for j, u in enumerate(found) if u is t) for t in found]
    others = repr(taken_apart(result, [])([None] * len(found)))
    return bits(found), first, [t.requires_grad for t in found], others


KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda z: z,
    "leaf": lambda z: z.requires_grad_(),
    "made": lambda z: z.requires_grad_() * 1.5,
    "rows": lambda z: tutor.cat([z, z, z])[4:8],
}


def calls(function: F, kind: str, jit: bool, passes: Any = None) -> Iterator[Any]:
    """What each call gives and leaves in a loop that uses its results, its argument and the
    parameters outside, too."""
    state = State()
    run: Any = lambda x: function(state, x)  # noqa: E731
    run = tutor.jit(run, passes=passes) if jit else run
    for n in range(CALLS):
        tutor.manual_seed(n)
        z = Tensor.randn(4, 6)
        x = KINDS[kind](z)
        if n != 4:  # there they add up
            for t in nn.get_parameters(state):
                t.grad = None
        before = (x * state.c).exp().sum() if x.requires_grad else state.c.sum()
        result = run(x)
        yield shown(result)
        total = before + (x * state.w[0] * state.c).sum()
        for i, t in enumerate(used(function, result)):
            total = total + (t * t * (i + 1)).sum()
        try:
            total.backward()
        except GraphError as error:
            yield str(error).splitlines()[0]
        yield bits(z.grad), state.seen()
    if jit:
        yield run.stats()


def compare(function: F, kind: str, passes: Any = None) -> dict[str, int]:
    *jitted, stats = calls(function, kind, True, passes)
    for n, (eager, ours) in enumerate(zip(calls(function, kind, False), jitted, strict=True)):
        assert eager == ours, f"{n}"
    return dict(stats)


@pytest.mark.parametrize(
    ("kind", "backend"), [*[(k, "simd_cpp") for k in KINDS], ("made", "python_ref")]
)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*runs as without jit")
def test_a_caller_gets_the_gradients_of_the_function(function: F, kind: str, backend: str) -> None:
    with tutor.use_backend(backend):
        stats = compare(function, kind)
    assert (stats["replayed"] == 0) == (function.__name__ in EAGER), stats


@pytest.mark.parametrize("passes", [(), *[(name,) for name in PASSES]])
def test_each_pass_leaves_the_gradients(passes: tuple[str, ...]) -> None:
    for function in (chain, layers, twice, two_heads):
        compare(function, "made", passes)


# ---- what a caller can ask of a graph ------------------------------------------------------------


def both(use: F, function: F = twice) -> None:
    """`use(f, state, n)` gives and leaves the same, with the function and with its replays."""
    states = State(), State()
    eager, ours = (lambda x: function(states[0], x)), tutor.jit(lambda x: function(states[1], x))
    for n in range(CALLS):
        found = []
        for f, state in ((eager, states[0]), (ours, states[1])):
            tutor.manual_seed(n)
            for t in nn.get_parameters(state):
                t.grad = None
            try:
                result = use(f, state, n)
            except GraphError as error:
                result = type(error), str(error).splitlines()[1][:60]
            found.append((bits(result), state.seen()))
        assert found[0] == found[1], n
    assert ours.stats()["replayed"] > 1


def leaf() -> Tensor:
    return Tensor.randn(4, 6).requires_grad_()


def second_derivative(f: F, s: State, n: int) -> Any:
    x = leaf()
    y = f(x * 2)
    (g,) = tutor.grad((y * y).sum(), [s.w], create_graph=True)
    (g * g).sum().backward()
    return x.grad


def second_derivative_of_a_part(f: F, s: State, n: int) -> Any:
    x = leaf()
    f(x).sum().backward(create_graph=True)
    assert x.grad is not None and s.c.grad is not None
    total = x.grad.exp().sum() + s.c.grad.sum() if s.c.grad.requires_grad else x.grad.sum()
    x.grad = s.c.grad = s.w.grad = None
    if total.requires_grad:
        total.backward()
    return x.grad


def gradients_that_are_asked_for(f: F, s: State, n: int) -> Any:
    x = leaf()
    return tutor.grad(f(x).sum(), [x, s.unused, s.c], allow_unused=True)


def gradients_of_one_that_is_not_used(f: F, s: State, n: int) -> Any:
    return tutor.grad(f(leaf()).sum(), [s.unused])


def hooks_outside(f: F, s: State, n: int) -> Any:
    x, seen = leaf(), list[Any]()
    made = x * 1
    y = f(made)
    stop = [s.w.register_hook(lambda g: g * 0.5), x.register_hook(lambda g: seen.append(g))]
    made.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    made.retain_grad()
    y.sum().backward()
    for remove in stop:
        remove()
    return seen, y.grad, made.grad, x.grad


def one_graph_twice(f: F, s: State, n: int) -> Any:
    x = leaf()
    y = f(x).sum()
    y.backward(retain_graph=True)
    (y * 3).backward()
    return x.grad


def one_graph_too_often(f: F, s: State, n: int) -> Any:
    y = f(leaf()).sum()
    y.backward()
    y.backward()


def twice_in_one_graph(f: F, s: State, n: int) -> Any:
    x = leaf()
    (f(f(x)) * f(x * 2)).sum().backward()
    return x.grad


def gradients_of_other_kinds(f: F, s: State, n: int) -> Any:
    x = leaf()
    for part in (lambda y: y.T[1:].sum(), lambda y: y.exp().sum(), lambda y: y[0, 0]):
        part(f(x)).backward()
    f(x).backward(x)  # in the same memory as what is saved
    f(x).backward(Tensor.rand(6, 4).T)
    return x.grad


def second_derivative_after_a_change(f: F, s: State, n: int) -> Any:
    y = f(leaf()).sum()
    with no_grad():
        s.w.mul_(2.0)
    y.backward(create_graph=True)


def second_derivative_with_hooks(f: F, s: State, n: int) -> Any:
    x = leaf()
    y = f(x)
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert x.grad is not None
    total = x.grad.exp().sum()
    x.grad = None
    total.backward()
    return x.grad, y.grad


def rows_of_a_table(f: F, s: State, n: int) -> Any:
    table = Tensor.randn(20, 6)
    for at in (0, 4, 8, 12):
        f(table[at : at + 4]).sum().backward()


def a_parameter_changed(f: F, s: State, n: int) -> Any:
    y = f(leaf()).sum()
    with no_grad():
        s.w.mul_(2.0)
    y.backward()


def an_argument_changed(f: F, s: State, n: int) -> Any:
    table = Tensor.randn(8, 6)
    y = f(table[2:6]).sum()
    table[3] = 0.0
    y.backward()


def a_parameter_of_other_memory(f: F, s: State, n: int) -> Any:
    y, own = f(leaf()).sum(), s.w.buf
    s.w.buf = s.w.copy().buf
    try:
        y.backward()
    finally:
        s.w.buf = own


def what_is_not_saved_changed(f: F, s: State, n: int) -> Any:
    y = f(leaf()).sum()
    with no_grad():
        s.c.mul_(0.5)
    y.backward()


def frozen_for_once(f: F, s: State, n: int) -> Any:
    s.w.requires_grad_(n % 2 == 0)
    x = leaf()
    y = f(x)
    s.w.requires_grad_()
    y.sum().backward()
    return x.grad


def without_gradients_for_once(f: F, s: State, n: int) -> Any:
    with no_grad() if n % 2 else nullcontext():
        y = f(leaf())
    if y.requires_grad:
        y.sum().backward()
    return y, y.requires_grad


def in_lazy(f: F, s: State, n: int) -> Any:
    x = leaf()
    y = f(x)
    with tutor.lazy():
        y.sum().backward()
    return x.grad


def within_another(f: F, s: State, n: int) -> Any:
    """A graph of a replay, walked within a function that is recorded."""
    x = leaf()
    y = f(x).sum()
    (g,) = tutor.jit(lambda: tutor.grad(y, [x], retain_graph=True))()
    return g


def watched(f: F, s: State, n: int) -> Any:
    x = leaf()
    with tutor.watch(lambda step, go: go()):
        f(x).sum().backward()
    return x.grad


def with_autocast(f: F, s: State, n: int) -> Any:
    x = leaf()
    with tutor.autocast("bfloat16", enabled=n % 3 == 0):
        y = f(x)
        y.sum().backward()
    return y, x.grad


USES: list[F] = [
    second_derivative, second_derivative_of_a_part, second_derivative_after_a_change,
    second_derivative_with_hooks, gradients_that_are_asked_for,
    gradients_of_one_that_is_not_used, hooks_outside, one_graph_twice, one_graph_too_often,
    twice_in_one_graph, gradients_of_other_kinds, rows_of_a_table, a_parameter_changed,
    an_argument_changed, a_parameter_of_other_memory, what_is_not_saved_changed, frozen_for_once,
    without_gradients_for_once, in_lazy, within_another, watched, with_autocast,
]  # fmt: skip


@pytest.mark.parametrize(
    "function",
    [twice, of_a_view, linear, chain, layer_norm, own_function, dropped],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_a_graph_behaves_as_that_of_the_function(use: F, function: F) -> None:
    same_shape = function is not chain

    def whole(s: State, x: Tensor) -> Any:
        found = function(s, x)
        return found if same_shape else found * x * s.w[0]

    both(use, whole)


def each_alone(f: F, s: State, n: int) -> Any:
    for t in tensors_in(f(leaf())):
        t.sum().backward()


def all_at_once(f: F, s: State, n: int) -> Any:
    first, second = tensors_in(f(leaf()))
    ((first * 2).sum() + second.sum()).backward()


def hooks_on_both(f: F, s: State, n: int) -> Any:
    found = tensors_in(f(leaf()))
    for i, t in enumerate(found):
        t.register_hook(lambda g, i=i: g * (i + 2))
        t.retain_grad()
    found[-1].sum().backward()
    return [t.grad for t in found]


def first_changed(f: F, s: State, n: int) -> Any:
    first, second = tensors_in(f(leaf()))
    with no_grad():
        first.detach().mul_(2.0)
    second.sum().backward()


@pytest.mark.parametrize("use", [each_alone, all_at_once, hooks_on_both, first_changed],
                         ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize(
    "function",
    [logits_and_loss, two_heads, two_heads_that_meet_often, two_apart, two_in_turn, freed_half],
    ids=lambda f: f.__name__,
)
def test_several_results_behave_as_those_of_the_function(use: F, function: F) -> None:
    both(use, function)


def a_constant_changed(f: F, s: State, n: int) -> Any:
    y, k = f(leaf())
    k[0] = 5.0
    y.sum().backward()


def a_view_of_a_constant(s: State, x: Tensor) -> Any:
    k = Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return x * k * s.c, k[:3]


@pytest.mark.parametrize("function", [a_constant_too, a_view_of_a_constant])
def test_a_constant_that_is_handed_out_may_be_changed(function: F) -> None:
    both(a_constant_changed, function)


# ---- that it is replayed, and what is not --------------------------------------------------------


def test_the_backward_is_a_program_of_its_own() -> None:
    """One, for all calls; also for other rows of a table each time."""
    state = State()
    f, table = tutor.jit(lambda x: twice(state, x)), Tensor.randn(40, 6)
    for n in range(8):
        steps: list[str] = []
        y = f(table[4 * n : 4 * n + 4])
        with tutor.watch(lambda step, go: (steps.append(step.kernel), go())):  # noqa: B023
            y.sum().backward()
        if n > 2:
            replayed = [step.kernel for step in f.backwards[0]]
            assert steps[1 : 1 + len(replayed)] == replayed
            assert "fused" in replayed
    assert len(f.backwards) == 1
    counts = {"eager": 1, "recorded": 1, "replayed": 6, "refused": 0, "traces": 1, "steps": 2}
    assert f.stats() == counts


PARTS = {twice: 1, logits_and_loss: 1, two_heads: 3, two_heads_that_meet_often: 2,
         two_apart: 2, two_in_turn: 0, one_twice: 1, freed_half: 1}  # fmt: skip


@pytest.mark.parametrize("function", PARTS, ids=lambda f: f.__name__)
def test_what_lies_behind_the_same_results_is_one_program(function: F) -> None:
    state = State()
    f = tutor.jit(lambda x: function(state, x))
    for _ in range(4):
        sum(t.sum() for t in tensors_in(f(leaf()))).backward()
    assert len(f.backwards) == PARTS[function]


def test_a_result_that_backward_has_walked_keeps_nothing() -> None:
    state = State()

    def f(x: Tensor) -> Tensor:
        y = twice(state, x).sum()
        y.backward()
        state.w.grad = state.c.grad = None
        return y

    jitted = tutor.jit(f)
    for _ in range(4):
        op = jitted(Tensor.randn(4, 6)).op
        assert op is not None and op.saved is None and op.inputs == ()
    assert jitted.backwards == []
    assert [slot.role for slot in jitted.program.slots].count("output") == 1


def test_a_backward_within_that_goes_behind_an_argument_is_not_replayed() -> None:
    w = Tensor([2.0], requires_grad=True)

    def f(x: Tensor) -> Tensor:
        y = (x * w).sum()
        y.backward()
        return y.detach()

    jitted, grads = tutor.jit(f), []

    def call(n: int) -> None:
        z = Tensor([float(n)], requires_grad=True)
        w.grad = None
        jitted(z * 3)
        assert z.grad is not None and w.grad is not None
        grads.append((z.grad.item(), w.grad.item()))

    call(0)
    with pytest.warns(UserWarning, match="goes on behind what it was given"):
        call(1)
    call(2)
    call(3)
    assert grads == [(6.0, 3.0 * n) for n in range(4)]
    assert jitted.stats()["eager"] == 4


def test_an_argument_that_is_a_leaf_is_of_another_kind() -> None:
    """A backward within sets the `.grad` of a leaf, and goes on behind what an op made."""
    w = Tensor([2.0], requires_grad=True)

    @tutor.jit
    def f(x: Tensor) -> Tensor:
        y = (x * w).sum()
        y.backward()
        return y.detach()

    for _ in range(4):
        x = Tensor([3.0], requires_grad=True)
        w.grad = None
        f(x)
        assert x.grad is not None and x.grad.item() == 2.0
    assert f.stats()["replayed"] == 2
    w.grad, made = None, (z := Tensor([3.0], requires_grad=True)) * 1
    with pytest.warns(UserWarning, match="goes on behind"):
        f(made)
    assert made.grad is None and z.grad is not None and z.grad.item() == 2.0


times = [2.0]


class Scaled(tutor.Function):
    gradcheck = False

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * times[0]


# As if it were the library's: its backward reads a number, or writes where it must not.
TUTORS: dict[str, Any] = {"__name__": "tutor.nowhere", "Op": Op}
exec(
    """class Reading(Op):
    name, saves, writes = "reading", ("x",), False

    def forward(self, x):
        return x.detach() * 1

    def backward(self, g, x):
        if self.writes:
            x.detach().mul_(1.0)
            return g * 2
        return g * x.sum().item()
""",
    TUTORS,
)
Reading = TUTORS["Reading"]
del OPS["reading"]  # what counts the library's own ops does not find it there


@pytest.mark.parametrize("writes", [False, True])
def test_a_backward_that_no_program_can_be_is_one_of_ops(
    monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    monkeypatch.setattr(Reading, "writes", writes)
    state = State()
    f = tutor.jit(lambda x: Reading(x * state.c).apply().tanh())
    for _ in range(5):
        x, twin = leaf(), leaf()
        twin.assign(x)
        f(x).sum().backward()
        Reading(twin * state.c).apply().tanh().sum().backward()
        assert bits(x.grad) == bits(twin.grad)
    assert f.stats()["replayed"] == 3
    assert f.backwards == []


def test_the_backward_of_an_own_function_runs_each_time() -> None:
    state = State()
    f = tutor.jit(lambda x: Scaled.apply(x * state.c) * state.w[0])
    for n in range(5):
        times[0], x = float(n), leaf()
        f(x).sum().backward()
        assert bits(x.grad) == bits((state.w[0] * n * state.c).expand((4, 6)))
    assert f.stats()["replayed"] == 3


@pytest.mark.parametrize("function", [hooked_within, kept_within, checkpointed],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_what_cannot_be_had_again_is_run_each_time_and_said_once(function: F) -> None:
    state = State()
    jitted = tutor.jit(lambda x: function(state, x))
    jitted(leaf())
    with pytest.warns(UserWarning, match="runs as without jit"):
        jitted(leaf())
    jitted(leaf())  # a warning would be an error
    jitted(leaf())
    assert jitted.stats()["eager"] == 4


def test_a_parameter_in_a_place_that_changes_has_its_gradient() -> None:
    here = State()

    def f(x: Tensor) -> Tensor:
        y = x * here.c
        here.c = (here.c.detach() * 2).requires_grad_()
        return y

    jitted = tutor.jit(f)
    for _ in range(5):
        c, x = here.c, leaf()
        jitted(x).sum().backward()
        assert c.grad is not None and bits(c.grad) == bits(x.sum(0))
        assert here.c is not c and here.c.grad is None
    assert jitted.stats()["replayed"] == 3


def test_a_graph_is_let_go_of_with_its_result() -> None:
    state = State()
    jitted = tutor.jit(lambda x: twice(state, x))
    for _ in range(4):
        y = jitted(x := leaf())
        known = weakref.ref(x)
        del x, y
        gc.collect()
        assert known() is None


def test_the_graph_of_a_replay_can_be_looked_at() -> None:
    state = State()
    jitted = tutor.jit(lambda x: twice(state, x))
    for _ in range(3):
        y = jitted(leaf())
    assert "Replayed" in repr(y.op)
    assert tutor.viz.graph(y)


# ---- modules -------------------------------------------------------------------------------------


def trained(jit: Callable[[Any], Any]) -> Any:
    tutor.manual_seed(3)
    inner = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3))
    model = nn.Sequential(jit(inner), nn.Linear(8, 3))
    adam, losses = tutor.optim.Adam(model.parameters(), lr=0.01), []
    for n in range(8):
        model.train(n != 5)
        adam.zero_grad()
        loss = model(Tensor.randn(4, 6)).cross_entropy(Tensor([0, 1, 2, 0]))
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses, [(n, bits(t)) for n, t in model.state_dict().items()]


def test_a_jitted_module_is_trained_as_part_of_another() -> None:
    assert trained(tutor.jit) == trained(lambda module: module)


def test_a_jitted_module_is_the_module() -> None:
    model = nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.5))
    model.register_buffer("seen", Tensor([1.0]), persistent=False)
    jitted = tutor.jit(model)
    assert isinstance(jitted, nn.Module)
    for of in (nn.Module.state_dict, lambda m: dict(m.named_parameters()),
               lambda m: dict(m.named_buffers())):  # fmt: skip
        assert [(n, id(t)) for n, t in of(jitted).items()] == [
            (n, id(t)) for n, t in of(model).items()
        ]
    assert [n for n, _ in jitted.named_modules()] == [n for n, _ in model.named_modules()]
    assert jitted.eval() is jitted and not model.training and not model[1].training
    assert jitted.train().training and model[1].training
    assert jitted.layers is model.layers and jitted[0] is model[0]
    jitted.note = "here"
    assert model.note == "here"
    seen: list[Any] = []
    with jitted.register_forward_hook(lambda m, x, y: seen.append(m)):
        model(Tensor.rand(2, 6))
    assert seen == [model]
    with pytest.raises(AttributeError, match="'Sequential'"):
        _ = jitted.nothing
    jitted.load_state_dict({n: t * 0 for n, t in model.state_dict().items()})
    assert jitted(Tensor.ones(2, 6)).tolist() == [[0.0] * 3] * 2
    assert repr(jitted) == f"jit({model!r})"


# ---- random programs -----------------------------------------------------------------------------

straight = st.lists(
    st.builds(Line, st.sampled_from([*ONE, *TWO, *NUMBERS, *SHAPED, "dropout", "noise"]),
              st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.5, -1.0, 2.0])),
    min_size=1, max_size=8,
)  # fmt: skip


def outside(lines: list[Line], wanted: list[int], jit: bool) -> Iterator[Any]:
    """Some results of random lines, in a loop that goes backward outside."""
    machine = Machine(adam=False)

    def run(x: Tensor) -> list[Tensor]:
        made = machine.run(tuple(lines), x @ machine.w + machine.c)
        return [made[i % len(made)] for i in wanted]

    function: Any = tutor.jit(run) if jit else run
    for n in range(4):
        tutor.manual_seed(n)
        z = Tensor.randn(ROWS, COLUMNS).requires_grad_()
        x = z * 0.5
        machine.w.grad = machine.c.grad = None
        results = function(x)
        yield bits(results)
        total = (x * machine.c).sum()
        for i, t in enumerate(results):
            if t.requires_grad and (n + i) % 3:
                total = total + (t * (i + 1)).exp().sum()
        (g,) = tutor.grad(total, [z], retain_graph=True, create_graph=n == 2)
        total.backward()
        yield bits(g), bits(z.grad), bits(machine.seen())


@settings(max_examples=60, deadline=None)
@given(straight, st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_random_lines_have_the_gradients_of_the_function(
    lines: list[Line], wanted: list[int]
) -> None:
    for n, (eager, ours) in enumerate(
        zip(outside(lines, wanted, False), outside(lines, wanted, True), strict=True)
    ):
        assert eager == ours, n


@pytest.mark.parametrize("function", [layers, normed, conv, attention, two_heads, dropped],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_on_a_device(function: F, device: str) -> None:
    with tutor.device(device):
        compare(function, "made")
        compare(function, "rows")
