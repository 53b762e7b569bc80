"""The collector sees less of a long graph, and finds the cycles in it as ever: engine/edges.cpp."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tutor
from tutor import Tensor, memory
from tutor.backends import registry

LONG = 100  # ops: more than are hidden behind one


def chain(x: Tensor, count: int = LONG, begin: Tensor | None = None) -> Tensor:
    y = x if begin is None else begin
    for _ in range(count):
        y = y + x
    return y


def leaf() -> Tensor:
    return Tensor.ones(64, requires_grad=True)


class Holder:
    """Whatever a user has that holds a part of a graph."""


class Remembering(tutor.Function):
    """An op of a user's whose context refers to what the graph ends in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *, holder: Holder) -> Tensor:
        ctx.holder = holder
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * 2


def by_a_hook() -> Any:
    x = leaf()
    y = chain(x)
    x.register_hook(lambda g: g if y is None else None)
    return y


def by_a_gradient() -> Any:
    x = leaf()
    (chain(x * x) * x).sum().backward(create_graph=True)
    return x


def by_a_hook_inside() -> Any:
    x = leaf()
    middle = chain(x)
    y = chain(x, begin=middle)
    middle.register_hook(lambda g: g if y is None else None)
    del middle
    return y


def by_an_operand_inside() -> Any:
    """Got out of the graph by `inputs`, and held by what the graph itself refers to."""
    x, holder = leaf(), Holder()
    y = chain(x)
    holder.inside = y.op.inputs[0].op.inputs[0]
    x.register_hook(lambda g: g if holder is None else None)
    return y


def by_a_tuple_of_operands() -> Any:
    x, holder = leaf(), Holder()
    holder.inputs = chain(x).op.inputs
    x.register_hook(lambda g: g if holder is None else None)
    return holder


def by_an_op_inside() -> Any:
    x, holder = leaf(), Holder()
    holder.op = chain(x).op.inputs[0].op.inputs[0].op
    x.register_hook(lambda g: g if holder is None else None)
    return holder


def by_a_weak_reference() -> Any:
    """What a weak reference names, another Tensor behind it was computed from."""
    x, holder = leaf(), Holder()
    y = middle = chain(x, 3)
    name = weakref.ref(middle)
    for _ in range(LONG):
        y = y + x
    holder.middle = name()
    x.register_hook(lambda g: g if holder is None else None)
    return y


def by_a_context() -> Any:
    holder = Holder()
    holder.end = chain(Remembering.apply(chain(leaf()), holder=holder))
    return holder


def by_two_ways() -> Any:
    """Each op has both operands of the same one: x + x, whose two are one object, and more."""
    x = y = leaf()
    for _ in range(LONG):
        y = (y * 2) + (y * y)
    x.register_hook(lambda g: g if y is None else None)
    return y


def through_views() -> Any:
    x = y = leaf()
    for _ in range(LONG):
        y = y.reshape(8, 8).T[:, :].reshape(64).softmax() + x
    x.register_hook(lambda g: g if y is None else None)
    return y


CYCLES: list[Callable[[], Any]] = [
    by_a_hook, by_a_gradient, by_a_hook_inside, by_an_operand_inside, by_a_tuple_of_operands,
    by_an_op_inside, by_a_weak_reference, by_a_context, by_two_ways, through_views,
]  # fmt: skip


@pytest.fixture(autouse=True)
def asked_by_hand() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("made", CYCLES)
@pytest.mark.parametrize("collected", [0, 1, 2])
def test_a_cycle_through_a_graph_is_found(made: Callable[[], Any], collected: int) -> None:
    """Also where parts of it have grown old: the collector has walked it before."""
    before = memory.stats().in_use
    held = made()
    for generation in range(collected):
        gc.collect(generation)
    assert memory.stats().in_use > before
    del held
    assert memory.stats().in_use > before, "it is a cycle: counting references does not free it"
    gc.collect()
    assert memory.stats().in_use == before


@pytest.mark.parametrize("made", CYCLES)
def test_what_is_in_use_is_not_collected(made: Callable[[], Any]) -> None:
    held = made()
    before = memory.stats().in_use
    for _ in range(3):
        gc.collect()
    assert memory.stats().in_use == before
    del held
    gc.collect()


def test_a_graph_is_walked_right_after_it_was_collected_in_between() -> None:
    x = leaf()
    y = x
    for i in range(LONG):
        y = (y + x) * 1.0 if i % 3 else y + x
        gc.collect(i % 3)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [LONG + 1.0] * 64


def test_nothing_waits_for_the_collector_where_there_is_no_cycle() -> None:
    before = memory.stats().in_use
    x = leaf()
    y = chain(x)
    assert len(y.op.inputs) == 2
    del x, y
    assert memory.stats().in_use == before


needs_twin = pytest.mark.skipif(
    "simd_cpp" not in registry.backends() or os.environ.get("TUTOR_NATIVE") == "0",
    reason="without the twin",
)


@needs_twin
def test_the_collector_sees_one_object_of_many_ops() -> None:
    x = leaf()
    before = len(gc.get_objects())
    y = chain(x, 1000)
    assert len(gc.get_objects()) - before < 1000 / 10
    assert y.op.inputs[0] is not None


@needs_twin
def test_what_python_gets_at_is_seen_by_the_collector() -> None:
    op = chain(leaf()).op
    for _ in range(LONG - 1):
        inputs = op.inputs
        assert gc.is_tracked(inputs)
        assert all(map(gc.is_tracked, inputs))
        op = inputs[0].op
        assert gc.is_tracked(op)
    x = leaf()
    assert all(map(gc.is_tracked, tutor.engine.order(chain(x).op)))


WITHOUT = """
import sys; {blocked}
import gc
from tests.core.test_op_edges import CYCLES, memory
for made in CYCLES:
    gc.collect()
    before = memory.stats().in_use
    held = made()
    gc.collect()
    there = memory.stats().in_use > before
    del held
    gc.collect()
    print(made.__name__, there, memory.stats().in_use - before)
"""


@pytest.mark.parametrize("blocked", ["", "sys.modules['tutor.backends.simd_cpp._simd'] = None"])
def test_the_same_without_the_twin(blocked: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(blocked=blocked)],
        cwd=Path(tutor.__file__).parents[1],
        env={**os.environ, "TUTOR_NATIVE": "0", "TUTOR_BACKEND": ""},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert found.stdout.splitlines() == [f"{made.__name__} True 0" for made in CYCLES], found.stderr
