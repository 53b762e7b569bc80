"""One Tensor, or one memory, under several names: a replay does what the function would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import tutor
from tutor import Tensor
from tutor.backends import simd_cpp

pytestmark = pytest.mark.usefixtures("twin")


@pytest.fixture(params=[True, False], ids=["twin", "readable"])
def twin(request: pytest.FixtureRequest) -> Iterator[None]:
    simd_cpp._native.use_twin(request.param)
    yield
    simd_cpp._native.use_twin(True)


def vec(*numbers: float, grad: bool = False) -> Tensor:
    return Tensor([float(n) for n in numbers or (1, 2, 3)], requires_grad=grad)


def seen(value: Any, known: list[int]) -> Any:
    """All that can be seen of a value, also which of its Tensors and Buffers are one."""
    if isinstance(value, Tensor):
        for thing in (value, value.buf):
            if not any(thing is other for other in known):
                known.append(thing)
        which = [next(i for i, k in enumerate(known) if k is x) for x in (value, value.buf)]
        return which, value.shape, value.tolist(), value.requires_grad, seen(value.grad, known)
    if isinstance(value, (list, tuple)):
        return [seen(v, known) for v in value]
    if isinstance(value, dict):
        return {k: seen(v, known) for k, v in value.items()}
    return value


def played(function: Any, make: Callable[[], Any], between: Any, jit: bool, calls: int = 8
           ) -> tuple[list[Any], Any]:  # fmt: skip
    """What each call gives and leaves."""
    state = make()
    run = lambda *given: function(state, *given)  # noqa: E731
    run = tutor.jit(run) if jit else run
    found, kept = [], []
    for call in range(calls):
        given = between(state, call) or ()
        kept.append(run(*given))
        found.append(seen([kept[-1], vars(state), given], []))
    found.append([seen(result, []) for result in kept])  # none has changed since
    return found, run


# ---- attributes ----------------------------------------------------------------------------------


def grows(s: Any) -> Tensor:
    s.w = s.w * 2
    return (s.w + s.best).sum()


def swaps(s: Any) -> None:
    s.a, s.b = s.b, s.a


def swaps_and_uses(s: Any) -> Tensor:
    s.a, s.b = s.b, s.a
    return s.a - s.b


def keeps_the_tail(s: Any) -> None:
    s.tail = s.buf[-1:]


def keeps_and_reads_the_tail(s: Any) -> Tensor:
    before = s.tail * 2
    s.tail = s.buf[-1:]
    s.buf += 1
    return before


def rotates(s: Any) -> None:
    s.ring.append(s.ring.pop(0))


def rotates_and_uses(s: Any) -> Tensor:
    s.ring[:] = s.ring[1:] + s.ring[:1]
    return s.ring[0] * 2


def carries(s: Any, x: Tensor) -> Tensor:
    s.h = (s.h * 0.5 + x).tanh()
    return s.h.sum()


def compares(s: Any) -> Tensor:
    s.last = s.w * 1 if s.last is s.w else s.w * 3
    return s.last + 1


def asks_for_none(s: Any) -> Tensor:
    y = s.w if s.last is None else s.w * 5
    s.last = s.w * 2
    return y * 1


def forgets(s: Any) -> Tensor:
    s.last = None if s.last is not None else s.w
    return s.w + 1


def hands_on(s: Any) -> None:
    s.a, s.b, s.c = s.b, s.c, s.a * 1


def two_at_once(s: Any) -> tuple[Tensor, Tensor]:
    s.a = s.b = s.a + s.b
    return s.a, s.b


def writes_into_the_other(s: Any) -> Tensor:
    s.view = s.w[1:]
    s.view += 1
    return s.w * 2


def svrg(s: Any, x: Tensor) -> Tensor:
    s.w = s.w - 0.25 * (s.w * x - s.snapshot * x)
    return s.w * s.snapshot


def shape_alone(s: Any) -> Tensor:
    y = s.w * len(s.last.shape) + s.last.shape[0]
    s.last = s.w * 1
    return y


def a_row_of_state(s: Any, x: Tensor) -> Tensor:
    return x * 2 + s.w.sum()


def is_w(s: Any, x: Tensor) -> Tensor:
    return x * 2 if x is s.w else x * 3


def always(**given: Any) -> Callable[[], Any]:
    return lambda: SimpleNamespace(**{k: v() if callable(v) else v for k, v in given.items()})


def shared() -> Any:
    w = vec()
    return SimpleNamespace(w=w, best=w, last=w, h=w, snapshot=w, a=w, b=w, view=w)


def at(*calls: int, **changes: Callable[[Any], Any]) -> Callable[[Any, int], None]:
    """Before these calls, some attributes become others."""

    def change(s: Any, call: int) -> None:
        if call in calls:
            for name, make in changes.items():
                setattr(s, name, make(s))

    return change


def with_x(between: Any) -> Any:
    def given(s: Any, call: int) -> Any:
        between(s, call)
        return (vec(call, 1, 2),)

    return given


NOTHING = at()
ROWS: dict[str, tuple[Any, Any, Any, int]] = {  # function, state, changes, replays at least
    "best is the weight": (grows, shared, at(1, w=lambda s: s.best), 5),
    "best becomes the weight": (grows, shared, at(1, 4, 6, w=lambda s: s.best), 2),
    "best is a view of it": (grows, shared, at(2, 5, w=lambda s: s.best[:]), 2),
    "best is taken from time to time": (grows, shared, at(3, 5, best=lambda s: s.w), 2),
    "swapped": (swaps, always(a=vec, b=lambda: vec(4, 5, 6)), NOTHING, 6),
    "swapped and used": (swaps_and_uses, always(a=vec, b=lambda: vec(4, 5, 6)), NOTHING, 6),
    "swapped, one memory": (swaps_and_uses, always(a=vec, b=vec), at(4, a=lambda s: s.b), 3),
    "swapped, views": (swaps_and_uses, always(a=vec, b=vec), at(3, a=lambda s: s.b[:]), 3),
    "swapped, one Tensor": (swaps_and_uses, shared, at(4, a=lambda s: vec(7, 8, 9)), 3),
    "handed on": (hands_on, always(a=vec, b=lambda: vec(4, 5, 6), c=lambda: vec(7, 8, 9)),
                  NOTHING, 5),
    "a tail": (keeps_the_tail, always(buf=vec, tail=None), NOTHING, 5),
    "a tail that is read": (keeps_and_reads_the_tail, always(buf=vec, tail=lambda: vec(1)),
                            NOTHING, 5),
    "a tail of other memory": (keeps_and_reads_the_tail, always(buf=vec, tail=lambda: vec(1)),
                               at(4, tail=lambda s: vec(9)), 3),
    "a ring": (rotates, always(ring=lambda: [vec(1), vec(2), vec(3)]), NOTHING, 6),
    "a ring that is used": (rotates_and_uses, always(ring=lambda: [vec(1), vec(2), vec(3)]),
                            NOTHING, 6),
    "a ring of one": (rotates_and_uses, always(ring=lambda: [vec(1)] * 3), NOTHING, 0),
    "a recurrent net from h0": (carries, shared, with_x(at(3, 6, h=lambda s: s.best)), 4),
    "a recurrent net from x": (carries, shared, lambda s, call: (s.h if call % 3 == 2 else vec(),),
                               2),
    "a recurrent net from None": (asks_for_none, always(w=vec, last=None),
                                  at(3, 6, last=lambda s: None), 2),
    "compared": (compares, shared, at(2, 4, 5, last=lambda s: s.w), 2),
    "compared with a view": (compares, shared, at(2, 4, 5, last=lambda s: s.w[:]), 2),
    "there and gone": (forgets, always(w=vec, last=vec), NOTHING, 0),
    "two at once": (two_at_once, always(a=vec, b=vec), NOTHING, 5),
    "two at once, parted": (two_at_once, shared, at(3, 5, b=lambda s: vec(1, 1, 1)), 2),
    "a view that is written": (writes_into_the_other, shared, NOTHING, 5),
    "a view of what was before": (writes_into_the_other, shared, at(3, w=lambda s: vec()), 2),
    "a snapshot": (svrg, shared, with_x(at(0, 3, 5, snapshot=lambda s: s.w)), 2),
    "nothing but a shape": (shape_alone, shared, at(3, 5, last=lambda s: vec(1, 2)), 3),
    "nothing but axes": (shape_alone, shared, at(3, 5, last=lambda s: vec().reshape(3, 1)), 3),
    "rows of state": (a_row_of_state, shared, lambda s, call: (s.w[call % 3 : call % 3 + 1],), 0),
    "state itself": (a_row_of_state, shared, lambda s, call: (s.w,), 5),
    "state, then not": (a_row_of_state, shared, lambda s, call: (s.w if call < 4 else vec(),), 3),
    "is it the state": (is_w, shared, lambda s, call: (s.w if call > 3 else vec(),), 3),
    "is it still the state": (is_w, shared, lambda s, call: (s.w if call < 4 else vec(),), 3),
    "is it not a view": (is_w, shared, lambda s, call: (s.w if call < 4 else s.w[:],), 3),
    "not state, then it is": (a_row_of_state, shared,
                              lambda s, call: (s.w if call > 3 else vec(),), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_attributes_that_are_one(name: str) -> None:
    function, make, between, replays = ROWS[name]
    wanted, _ = played(function, make, between, jit=False)
    found, jitted = played(function, make, between, jit=True)
    for call, (ours, right) in enumerate(zip(found, wanted, strict=True)):
        assert ours == right, f"call {call + 1}"
    assert jitted.stats()["replayed"] >= replays, jitted.stats()


# ---- gradients and hooks -------------------------------------------------------------------------

FACTOR = 2.0


def doubled(g: Tensor) -> Tensor:
    return g * 2


def times_factor(g: Tensor) -> Tensor:
    return g * FACTOR


def backward(s: Any, *given: Any) -> Tensor:
    for p in s.params:
        p.grad = None
    loss = sum(((p * (i + 1)) ** 2).sum() for i, p in enumerate(s.params))
    loss.backward()
    return loss.detach()


def trains(s: Any) -> None:
    """As an optimizer does: what has a gradient is moved, whether or not one is wanted now."""
    wanted = [p for p in s.params if p.requires_grad]
    for p in wanted:
        p.grad = None
    if wanted:
        sum((p * p).sum() for p in wanted).backward()
    with tutor.no_grad():
        for p in s.params:
            if p.grad is not None:
                p -= p.grad * 0.25


def by_its_gradient(s: Any, x: Tensor) -> Tensor:
    return x.detach() * (2 if x.grad is None else 3)


def by_a_parameters_gradient(s: Any) -> Tensor:
    return s.params[0].detach() * (2 if s.params[0].grad is None else 3)


def by_shape_of_gradient(s: Any) -> Tensor:
    return s.params[0].detach() * (1 if s.params[0].grad is None else len(s.params[0].grad.shape))


def of_an_argument(s: Any, x: Tensor) -> Tensor:
    x.grad = None
    (x * x).sum().backward()
    assert x.grad is not None
    return x.grad * 1


def both(s: Any, a: Tensor, b: Tensor) -> Tensor:
    a += 1
    return b * 2 if a is b else b * 3


def is_the_state(s: Any, x: Tensor) -> Tensor:
    return x.detach() * (2 if x is s.params[0] else 3)


def is_one_of(s: Any, x: Tensor) -> Tensor:
    return x.detach() * [p is x for p in s.params].index(True)


def accumulates(s: Any) -> None:
    for p in s.params:
        (p * 2).sum().backward()


def gives_gradients(s: Any) -> list[Any]:
    before = [p.grad for p in s.params]
    backward(s)
    return [*before, *(p.grad for p in s.params)]


def swaps_gradients(s: Any) -> None:
    a, b = s.params
    a.grad, b.grad = b.grad, a.grad


def adds_to_gradients(s: Any) -> Tensor:
    """Between these two lines a write through one is seen through the other."""
    a, b = (p.grad for p in s.params)
    before = b * 2
    a.add_(1)
    return before + b * 3


def params(*grads: Any) -> Callable[[], Any]:
    def make() -> Any:
        made = [vec(i + 1, 2, 3, grad=True) for i in range(2)]
        for p, g in zip(made, grads, strict=False):
            p.grad = vec(*g)
        return SimpleNamespace(params=made, handles=[])

    return make


def of_params(changes: dict[int, Callable[[Any], Any]], given: Any = None) -> Any:
    """Before these calls these changes; the arguments are what `given(state, call)` is."""

    def between(s: Any, call: int) -> Any:
        if call in changes:
            changes[call](s)
        return given(s, call) if given else ()

    return between


def hook(which: int, function: Any) -> Callable[[Any], None]:
    return lambda s: s.handles.append(s.params[which].register_hook(function))


def unhook(s: Any) -> None:
    s.handles.pop()()


def frozen(*which: bool) -> Callable[[Any], None]:
    def change(s: Any) -> None:
        for p, on in zip(s.params, which, strict=True):
            p.requires_grad_(not on)

    return change


def gradient(which: int, *numbers: float) -> Callable[[Any], None]:
    return lambda s: setattr(s.params[which], "grad", vec(*numbers) if numbers else None)


def one_gradient(s: Any) -> None:
    s.params[0].grad = s.params[1].grad = vec(1, 1, 1)


def leaf(s: Any, call: int) -> Any:
    x = vec(call, 1, 2, grad=True)
    if call in (3, 6):
        x.grad = vec(1, 1, 1)
    if call in (4, 6):
        x.register_hook(doubled)
    return (x,)


def pair(same: Callable[[int], str]) -> Any:
    def given(s: Any, call: int) -> Any:
        w = vec(call, 1, 2)
        return {"same": (w, w), "view": (w, w[:]), "apart": (w, vec(9, 9, 9))}[same(call)]

    return given


GRADIENTS: dict[str, tuple[Any, Any, Any, int]] = {  # as ROWS
    "a hook is added": (backward, params(), of_params({3: hook(0, doubled)}), 3),
    "a hook is removed": (backward, params(), of_params({0: hook(0, doubled), 4: unhook}), 3),
    "a hook comes and goes": (backward, params(), of_params(
        {2: hook(1, doubled), 4: unhook, 6: hook(1, doubled)}), 1),
    "a second hook": (backward, params(), of_params({0: hook(0, doubled), 4: hook(0, doubled)}), 3),
    "another hook": (backward, params(), of_params(
        {0: hook(0, doubled), 4: lambda s: (unhook(s), hook(0, times_factor)(s))}), 3),
    "a hook of the other one": (backward, params(), of_params(
        {0: hook(0, doubled), 4: lambda s: (unhook(s), hook(1, doubled)(s))}), 3),
    "what a hook names": (backward, params(), of_params(
        {0: hook(0, times_factor), 4: lambda s: globals().update(FACTOR=5.0)}), 3),
    "a hook of an argument": (of_an_argument, params(), leaf, 2),
    "frozen": (trains, params(), of_params({3: frozen(True, False)}), 3),
    "frozen, trained, frozen": (trains, params(), of_params(
        {0: frozen(True, False), 3: frozen(False, False), 5: frozen(True, False)}), 2),
    "all frozen": (trains, params(), of_params(
        {0: frozen(True, True), 3: frozen(False, True), 5: frozen(True, True)}), 2),
    "frozen with a gradient": (trains, params(), of_params(
        {0: frozen(True, False), 3: gradient(0, 1, 1, 1), 6: gradient(0)}), 2),
    "trained in turns": (trains, params(), of_params(
        {n: frozen(n % 2 == 0, n % 2 == 1) for n in range(8)}), 2),
    "an argument's gradient": (by_its_gradient, params(), leaf, 2),
    "a gradient that is looked at": (by_a_parameters_gradient, params(), of_params(
        {3: gradient(0, 1, 1, 1), 6: gradient(0)}), 3),
    "a gradient that is let go of": (by_a_parameters_gradient, params((1, 1, 1)), of_params(
        {3: gradient(0)}), 3),
    "the shape of a gradient": (by_shape_of_gradient, params((1, 1, 1)), of_params(
        {3: gradient(0), 5: gradient(0, 1, 2, 3)}), 3),
    "gradients added up": (accumulates, params(), of_params(
        {3: gradient(0), 5: one_gradient}), 1),
    "gradients given": (gives_gradients, params((1, 1, 1)), of_params({}), 3),
    "gradients swapped": (swaps_gradients, params((1, 1, 1), (2, 2, 2)), of_params({}), 5),
    "gradients swapped, one": (swaps_gradients, params((1, 1, 1), (2, 2, 2)), of_params(
        {4: one_gradient}), 3),
    "gradients over one memory": (adds_to_gradients, params((1, 1, 1), (2, 2, 2)), of_params(
        {4: lambda s: (one_gradient(s), setattr(s.params[1], "grad", s.params[1].grad[:]))}), 3),
    "gradients swapped, none": (swaps_gradients, params((1, 1, 1)), of_params({}), 4),
    "w, w and w, v": (both, params(), pair(lambda n: "same" if n < 4 else "view"), 3),
    "w, v and w, w": (both, params(), pair(lambda n: "view" if n < 4 else "same"), 3),
    "w, v, apart": (both, params(), pair(lambda n: ("same", "view", "apart")[n % 3]), 2),
    "an argument is the state": (is_the_state, params(), of_params(
        {}, lambda s, n: (s.params[n % 2].detach() if n < 4 else s.params[n % 2],)), 1),
    "an argument is a view of it": (is_the_state, params(), of_params(
        {}, lambda s, n: (s.params[0] if n < 4 else s.params[0].detach().requires_grad_(),)), 2),
    "an argument is nobody": (is_the_state, params(), of_params(
        {}, lambda s, n: (s.params[0] if n > 4 else vec(grad=True),)), 2),
    "an argument is one of them": (is_one_of, params(), of_params(
        {}, lambda s, n: (s.params[n % 2],)), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_and_hooks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, make, between, replays = GRADIENTS[name]

    def play(jit: bool) -> Any:
        monkeypatch.setitem(globals(), "FACTOR", 2.0)
        found, run = played(function, make, between, jit)
        for one in found[:-1]:
            one[1].pop("handles")
        return found, run

    wanted, _ = play(jit=False)
    found, jitted = play(jit=True)
    for call, (ours, right) in enumerate(zip(found, wanted, strict=True)):
        assert ours == right, f"call {call + 1}"
    assert jitted.stats()["replayed"] >= replays, jitted.stats()
