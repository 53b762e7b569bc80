"""What a graph keeps in memory: what backward needs, as PyTorch does, and nothing else."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, memory, nn
from tutor.errors import GraphError

ROWS, WIDTH = 50, 100
ONE = ROWS * WIDTH * 4  # bytes of one result


def leaf() -> Tensor:
    return Tensor.ones(ROWS, WIDTH, requires_grad=True)


def often(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def chain(x: Any) -> Any:
        for _ in range(10):
            x = step(x)
        return x

    return chain


def layers(x: Any) -> Any:
    for _ in range(10):
        x = (x @ WEIGHT).relu()
    return x


WEIGHT = Tensor.ones(WIDTH, WIDTH)
OTHER = Tensor.ones(ROWS, WIDTH)
SCALE = Tensor.ones(ROWS, WIDTH, requires_grad=True)

# What is computed, and how many results the graph behind the last one keeps, itself included.
KEPT: dict[str, tuple[Callable[[Any], Any], int]] = {
    "+ 1": (often(lambda x: x + 1), 1),
    "- a constant": (often(lambda x: x - OTHER), 1),
    "* 2": (often(lambda x: x * 2), 1),
    "/ 2": (often(lambda x: x / 2), 1),
    "* a constant": (often(lambda x: x * OTHER), 1),
    "* what needs a gradient": (often(lambda x: x * SCALE), 10),
    "* itself": (often(lambda x: x * x), 10),
    "@ a constant": (often(lambda x: x @ WEIGHT), 1),
    "relu": (often(lambda x: x.relu()), 10),
    "exp and + 1": (often(lambda x: x.exp() * 0.01 + 1), 11),
    "log": (often(lambda x: (x + 1).log()), 11),
    "layers": (layers, 10),
    "reshape": (often(lambda x: x.reshape(WIDTH, ROWS) + 1), 1),
    "sum and expand": (often(lambda x: x.sum(0, keepdims=True).expand(ROWS, WIDTH) + 1), 1),
    "where": (often(lambda x: tutor.where(MASK, x, 0.0)), 1),
    "cat": (lambda x: tutor.cat([x + 1, x * 2]), 2),
}
MASK = OTHER > 0


@pytest.mark.parametrize("name", KEPT)
def test_a_graph_keeps_what_backward_needs(name: str) -> None:
    function, results = KEPT[name]
    x = leaf()
    function(x)  # whatever is cached is there now
    gc.collect()
    before = memory.stats().in_use
    y = function(x)
    assert memory.stats().in_use - before == pytest.approx(results * ONE, abs=ONE / 2)
    y.sum().backward(retain_graph=True)
    del y
    x.grad = SCALE.grad = None
    assert memory.stats().in_use - before == pytest.approx(0, abs=ONE / 4)


def test_a_walk_frees_the_saved_values_one_by_one() -> None:
    """At the end of a backward only the gradient is there, and never all of both."""
    x = leaf()
    y = often(lambda x: x * x)(x).sum()
    before = memory.stats().in_use
    memory.reset_peak()
    y.backward()
    assert memory.stats().peak - before < 4 * ONE
    assert memory.stats().in_use - before < -7 * ONE


def test_a_model_is_freed_with_its_result() -> None:
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))
    x = Tensor.ones(ROWS, WIDTH)
    model(x)
    before = memory.stats().in_use
    y = model(x)
    assert memory.stats().in_use > before
    del y
    assert memory.stats().in_use == before


# ---- the operands again --------------------------------------------------------------------------


def test_an_input_is_found_while_somebody_has_it() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x + 1
    y = h * 2
    assert y.op.inputs[0] is h and h.op.inputs[0] is x
    kept = h.op
    del h
    found = y.op.inputs[0]
    assert (found.shape, found.dtype, found.device) == ((2,), tutor.float32, "cpu")
    assert found.op is kept and found.requires_grad and not found.is_leaf
    assert found.op.inputs[0] is x
    assert repr(found) == "Tensor(numbers that nobody has kept, shape=(2,), op=Add)"
    for read in (found.tolist, found.numpy, lambda: found + 1, found.sum, lambda: found[0].item()):
        with pytest.raises(GraphError, match=r"keep_graph"):
            read()


def test_what_an_op_has_saved_is_found() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    square = (x + 1) * (x + 1)
    assert [t.tolist() for t in square.op.inputs] == [[2.0, 3.0], [2.0, 3.0]]
    z = x.exp() + 1  # exp has saved its result
    assert z.op.inputs[0].tolist() == x.exp().tolist()
    assert z.op.inputs[0].op is z.op.edges[0]


def test_a_constant_is_found_while_somebody_has_it() -> None:
    x, c = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
    y = x + c
    assert y.op.inputs[1] is c
    del c
    found = y.op.inputs[1]
    assert (found.shape, found.op, found.requires_grad) == ((2,), None, False)
    with pytest.raises(GraphError, match="nobody has kept them"):
        found.tolist()
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]


def test_keep_graph_keeps_all() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    with tutor.keep_graph():
        y = (x + 1) * 2 + Tensor([1.0, 1.0])
    assert y.op.inputs[1].tolist() == [1.0, 1.0]
    assert y.op.inputs[0].op.inputs[0].tolist() == [2.0, 3.0]
    later = (x + 1) * 2
    with pytest.raises(GraphError, match="keep_graph"):
        later.op.inputs[0].tolist()

    @tutor.keep_graph()
    def inside() -> Tensor:
        return (x + 1) * 2

    assert inside().op.inputs[0].tolist() == [2.0, 3.0]
    op = y.op
    y.sum().backward()
    assert op.inputs == () and op.held == ()


def test_second_derivatives_link_saved_values_to_their_ops() -> None:
    torch = pytest.importorskip("torch")
    numbers = [0.5, 1.5, -0.7]

    def slope(library: Any, grad: Any) -> tuple[Any, Any]:
        x = library.tensor(numbers, requires_grad=True)
        y = ((x + 1) * x.exp()).tanh() * x / (x * x + 2)
        first = grad(y.sum(), x)
        second = grad((first * first).sum(), x)
        return first, second

    ours = slope(tutor, lambda y, x: tutor.grad(y, x, create_graph=True))
    theirs = slope(torch, lambda y, x: torch.autograd.grad(y, x, create_graph=True)[0])
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
