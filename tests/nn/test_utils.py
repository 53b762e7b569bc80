"""Clipping, and parameters as one row."""

from __future__ import annotations

import math

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import DomainError, DTypeError, ShapeError

utils = nn.utils


def two():
    a, b, c = (Tensor(n, requires_grad=True) for n in ([1.0, 2.0], [[3.0]], [9.0]))
    a.grad, b.grad = Tensor([3.0, -4.0]), Tensor([[12.0]])
    return [a, b, c]  # c has no gradient


def test_clipping_by_the_norm_of_all():
    params = two()
    assert utils.clip_grad_norm_(params, 1.3).item() == 13.0
    assert params[0].grad.tolist() == pytest.approx([0.3, -0.4], rel=1e-6)
    assert params[1].grad.tolist()[0] == pytest.approx([1.2], rel=1e-6)
    params = two()
    assert utils.clip_grad_norm_(iter(params), 100).item() == 13.0
    assert params[0].grad.tolist() == [3.0, -4.0]  # small enough
    assert utils.clip_grad_norm_(two(), 1, norm_type=math.inf).item() == 12.0
    assert utils.clip_grad_norm_(two(), 1, norm_type=1).item() == 19.0
    assert utils.clip_grad_norm_(two()[2], 1).item() == 0.0


def test_clipping_by_value():
    params = two()
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [3.0, -3.5] and params[1].grad.tolist() == [[3.5]]


def test_a_norm_that_is_not_finite():
    params = two()
    params[0].grad = Tensor([math.inf, 0.0])
    with pytest.raises(DomainError, match="the norm of their gradients is inf"):
        utils.clip_grad_norm_(params, 1, error_if_nonfinite=True)
    assert params[1].grad.tolist() == [[12.0]]  # nothing was changed


@pytest.mark.parametrize("wrong", [0, -1, math.nan, "1", None, True])
def test_what_clips_everywhere_refuses_the_same(wrong):
    assert utils.clip_grad_norm_ is optim.clip_grad_norm_
    assert utils.clip_grad_value_ is optim.clip_grad_value_
    for clip in (utils.clip_grad_norm_, utils.clip_grad_value_):
        params = two()
        with pytest.raises(DomainError, match="above 0"):
            clip(params, wrong)
        assert params[0].grad.tolist() == [3.0, -4.0]
        for none in ([3.0], "params", None, 3):
            with pytest.raises(DTypeError):
                clip(none, 1.0)


def test_clipping_is_recorded():
    def run(record):
        tutor.manual_seed(0)
        model = nn.Linear(3, 2)
        sgd = optim.SGD(model.parameters(), lr=0.5)
        x, found = Tensor([[1.0, -2.0, 3.0]] * 4), []

        def step(x):
            sgd.zero_grad()
            (model(x) ** 2).sum().backward()
            norm = utils.clip_grad_norm_(model.parameters(), 0.1)
            sgd.step()
            return norm

        step = tutor.jit(step) if record else step
        found += [step(x).item() for _ in range(5)]
        return found, model.weight.tolist()

    assert run(False) == run(True)


def test_parameters_as_one_row():
    model = nn.Linear(2, 2)
    row = utils.parameters_to_vector(model.parameters())
    assert row.tolist() == [*model.weight.flatten().tolist(), *model.bias.tolist()]
    utils.vector_to_parameters(row * 0 + 1, model.parameters())
    assert model.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ShapeError, match="6 numbers"):
        utils.vector_to_parameters(Tensor([1.0]), model.parameters())
    with pytest.raises(ShapeError, match="no Tensors"):
        utils.parameters_to_vector([])
    with pytest.raises(DomainError):
        utils.clip_grad_norm_(two(), -1)
