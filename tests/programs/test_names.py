"""One Tensor, or one memory, under several names: a replay does what the function would do."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import tutor
from tutor import Tensor, optim
from tutor.backends import simd_cpp
from tutor.errors import RecordError

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
