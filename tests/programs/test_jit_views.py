"""Jitted functions and changes in place that a graph follows: within, of arguments, of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tutor
from tutor import Tensor, optim

pytestmark = pytest.mark.usefixtures("place")

W = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]


def changed_within(w: Tensor, v: Tensor) -> Tensor:
    x = w * 2
    x += v
    x[0] = v[1]
    x[1] += v[0] * w[0]
    y = x.relu()
    return (y * y).sum()


def a_step(jit: Callable[..., Any]) -> tuple[Any, list[Any]]:
    w = Tensor(W, requires_grad=True)
    sgd = optim.SGD([w], lr=0.05)

    def step(v: Tensor) -> Tensor:
        sgd.zero_grad()
        loss = changed_within(w, v)
        loss.backward()
        sgd.step()
        return loss

    f = jit(step)
    return f, [f(Tensor([[1.0, 2.0, n], [3.0, n, 1.0]])).item() for n in range(5)] + w.tolist()


def a_graph(jit: Callable[..., Any]) -> tuple[Any, list[Any]]:
    w, found = Tensor(W, requires_grad=True), []
    f = jit(lambda v: changed_within(w, v))
    for n in range(5):
        w.grad = None
        f(Tensor([[1.0, 2.0, n], [3.0, n, 1.0]])).backward()
        assert w.grad is not None
        found.append(w.grad.tolist())
    return f, found


def a_view_among_the_results(jit: Callable[..., Any]) -> tuple[Any, list[Any]]:
    w, found = Tensor(W, requires_grad=True), []

    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        y = w * x
        return y, y[0]

    f = jit(both)
    for _ in range(5):
        w.grad = None
        y, row = f(Tensor.ones(2, 3))
        row += w[1]
        (y * y.detach()).sum().backward()
        assert w.grad is not None
        found.append(w.grad.tolist())
    return f, found


def views_of_an_argument(jit: Callable[..., Any]) -> tuple[Any, list[Any]]:
    w, found = Tensor(W, requires_grad=True), []
    f = jit(lambda x: (x[0], x.T))
    for _ in range(5):
        w.grad, x = None, Tensor.ones(2, 3)
        row, turned = f(x)
        row += w[1]
        turned[0] = w[:, 0]
        (x * x.detach() + turned.T * 2).sum().backward()
        assert w.grad is not None
        found.append(w.grad.tolist())
    return f, found


@pytest.mark.parametrize("run", [a_step, a_graph, a_view_among_the_results, views_of_an_argument])
def test_a_replay_follows_as_the_call_does(run: Callable[..., Any]) -> None:
    _, expected = run(lambda f: f)
    jitted, found = run(tutor.jit)
    assert found == expected
    assert jitted.stats()["replayed"] >= 2


def test_an_argument_that_joins_a_graph_is_not_replayed() -> None:
    w = Tensor(W, requires_grad=True)

    def add(x: Tensor) -> Tensor:
        x += w * 2
        return x.sum()

    jitted = tutor.jit(add)
    jitted(Tensor.ones(2, 3))
    with pytest.warns(UserWarning, match="requires_grad of a Tensor"):
        jitted(Tensor.ones(2, 3))
    for _ in range(3):
        w.grad, x = None, Tensor.ones(2, 3)
        jitted(x)
        (x * x.detach()).sum().backward()
        assert w.grad is not None and w.grad.tolist() == (2 * x.detach()).tolist()
    assert jitted.stats()["replayed"] == 0
