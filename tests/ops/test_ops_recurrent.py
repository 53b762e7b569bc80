"""Recurrent layers as one op: as the composed form, place by place, recorded, and in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tutor
from tutor import OPS, Tensor, apply

rng = np.random.default_rng(0)
SHAPES = {
    "rnn": lambda l, n, h: ((l, n, h), (h, h), (n, h)),  # noqa: E741 - as in the formulas
    "lstm": lambda l, n, h: ((l, n, 4, h), (4, h, h), (2, n, h)),  # noqa: E741
    "gru": lambda l, n, h: ((l, n, 3, h), (3, h, h), (3, h), (n, h)),  # noqa: E741
}
LAYERS = [("rnn", {"relu": False}), ("rnn", {"relu": True}), ("lstm", {}), ("gru", {})]
layers = pytest.mark.parametrize(("kind", "params"), LAYERS, ids=["rnn", "relu", "lstm", "gru"])


def drawn(kind: str, *sizes: int, dtype: str = "float64") -> list[Tensor]:
    shapes = SHAPES[kind](*sizes)
    return [Tensor(rng.standard_normal(s) * 0.5, dtype=dtype, requires_grad=True) for s in shapes]


def composed(kind: str, *inputs: Tensor, **params: Any) -> Tensor:
    return OPS[kind](*inputs, **params).composed(*inputs)


def agree(ours: Any, theirs: Any, within: float = 1e-10) -> None:
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(x.detach()), np.asarray(y.detach()), within, within)


@layers
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 3, 5), (3, 17, 33), (2, 1, 40)])
def test_as_the_composed_form_with_first_and_second_derivatives(kind, params, sizes):
    inputs, found = drawn(kind, *sizes), []
    seed = rng.standard_normal(apply(kind, *inputs, **params).shape)
    for form in (apply, composed):
        g = Tensor(seed, dtype="float64", requires_grad=True)
        z = form(kind, *inputs, **params)
        first = tutor.grad(z, inputs, g.detach(), retain_graph=True)
        linked = tutor.grad(z, inputs, g, create_graph=True)
        length = sum((x * x).sum() for x in linked)
        found.append([z, *first, *linked, *tutor.grad(length, [*inputs, g])])
    agree(*found)


@layers
def test_gradients_that_are_not_wanted_are_left_out(kind, params):
    inputs = drawn(kind, 3, 2, 4)
    every = tutor.grad(apply(kind, *inputs, **params).sum(), inputs)
    for i, x in enumerate(inputs):
        alone = [y if y is x else y.detach() for y in inputs]
        agree(tutor.grad(apply(kind, *alone, **params).sum(), [x]), [every[i]], 0)
        linked = tutor.grad(apply(kind, *alone, **params).sum(), [x], create_graph=True)
        agree(linked, [every[i]])


def test_a_second_derivative_is_that_of_this_layer_alone():
    """The state before may have made wx as well: of that the graph says enough."""
    start = Tensor(rng.standard_normal((2, 4)), dtype="float64", requires_grad=True)
    u = Tensor(rng.standard_normal((4, 4)) / 2, dtype="float64", requires_grad=True)
    found = []
    for form in (apply, composed):
        z = form("rnn", (start * start).unsqueeze(0), u, start, relu=False)
        (first,) = tutor.grad((z * z).sum(), [start], create_graph=True)
        found.append([first, *tutor.grad((first * first).sum(), [start, u])])
    agree(*found)


@layers
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_places_one_by_one_have_the_same_bits(kind, params, dtype):
    wx, *rest, start = [x.detach() for x in drawn(kind, 5, 3, 33, dtype=dtype)]
    whole, states = apply(kind, wx, *rest, start, **params), []
    for place in range(5):
        z = apply(kind, wx[place : place + 1], *rest, start, **params)
        start = z[:, 0] if kind == "lstm" else z[0]
        states.append(start)
    assert tutor.stack(states, axis=1 if kind == "lstm" else 0).tolist() == whole.tolist()


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gates_are_kept_only_for_a_gradient(kind):
    inputs = drawn(kind, 6, 2, 3)
    made: list[tuple[int, ...]] = []

    def noted(step, go):
        if step.kernel == kind:
            made.append(step.ins[-1].shape)
        go()

    with tutor.backends.step.watch(noted):
        apply(kind, *inputs)
        with tutor.no_grad():
            apply(kind, *inputs)
        apply(kind, *[x.detach() for x in inputs])
    assert made == [(6, 2, 4, 3), (1, 2, 4, 3), (1, 2, 4, 3)]


@layers
def test_recorded_it_has_the_same_bits(kind, params):
    inputs = drawn(kind, 4, 2, 9, dtype="float32")

    def step(wx):
        z = apply(kind, wx, *inputs[1:], **params)
        return (z, *tutor.grad((z * z).sum(), inputs[1:]))

    recorded, wx = tutor.jit(step), inputs[0].detach()
    for _ in range(3):
        assert [x.tolist() for x in recorded(wx)] == [x.tolist() for x in step(wx)]


def test_a_gate_too_few_is_refused():
    wx, u, start = (x.detach() for x in drawn("lstm", 2, 3, 4))
    with pytest.raises(tutor.errors.ShapeError, match="4 in the rule and 3 in wx"):
        apply("lstm", wx[:, :, :3], u, start)
