"""Gradients through a jitted function: each function eager and jitted, in a training loop of its
caller's. Results, gradients and all that is left behind are the same, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from random_programs import bits

import tutor
from tutor import Tensor, nn, no_grad
from tutor.errors import GraphError
from tutor.programs.passes import PASSES
from tutor.programs.results import mapped

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


FUNCTIONS: list[F] = [
    linear, chain, layers, loss, normed, normed_at_rest, layer_norm, conv, recurrent, attention,
    embedded, dropped, twice, three_times, tied, argument_in_two_places, view_of_the_argument,
    part_of_the_argument, the_argument_itself, a_parameter_itself, view_of_a_parameter,
    logits_and_loss, only_the_second, two_heads, two_heads_that_meet_often, two_apart, two_in_turn,
    one_twice, with_numbers, detached, cut_within, no_graph_within, no_parameters, fixed_alone,
    of_numbers, a_constant_too, a_leaf_within, counted, chosen, joined, wide, lower, slope_within,
    learns_within, walked, prod_and_cumsum, solved, nothing_wanted, hooked_within, kept_within,
    own_function, checkpointed, freed_half,
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
    others = repr(mapped(result, lambda t: None))
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
@pytest.mark.filterwarnings("ignore:tutor.jit does not replay")
def test_a_caller_gets_the_gradients_of_the_function(function: F, kind: str, backend: str) -> None:
    with tutor.use_backend(backend):
        stats = compare(function, kind)
    assert (stats["replayed"] == 0) == (function.__name__ in EAGER), stats


@pytest.mark.parametrize("passes", [(), *[(name,) for name in PASSES]])
def test_each_pass_leaves_the_gradients(passes: tuple[str, ...]) -> None:
    for function in (chain, layers, twice, two_heads):
        compare(function, "made", passes)
