"""Initialisers against the variances and shapes that their papers ask for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn
from tutor.errors import DomainError, DTypeError, ShapeError

pytestmark = pytest.mark.usefixtures("backend")
init = nn.init


def filled(f, *shape, dtype="float64", **settings):
    tutor.manual_seed(5)
    x = Tensor.zeros(*shape, dtype=dtype, requires_grad=True)
    assert f(x, **settings) is x and x.op is None
    return x.detach().numpy()


@pytest.mark.parametrize(
    ("f", "settings", "variance", "bound"),
    [
        (init.uniform_, {"a": -1.0, "b": 3.0}, 16 / 12, 3.0),
        (init.normal_, {"std": 2.0}, 4.0, None),
        (init.xavier_uniform_, {"gain": 2.0}, 4 * 2 / (20 * 6 + 30 * 6), math.sqrt(4 * 6 / 300)),
        (init.xavier_normal_, {}, 2 / 300, None),
        (init.kaiming_uniform_, {"nonlinearity": "relu"}, 2 / 120, math.sqrt(6 / 120)),
        (init.kaiming_uniform_, {"a": math.sqrt(5)}, 1 / 360, 1 / math.sqrt(120)),
        (init.kaiming_normal_, {"mode": "fan_out", "nonlinearity": "tanh"}, 25 / 9 / 180, None),
    ],
)
def test_variances_and_bounds(f, settings, variance, bound):
    x = filled(f, 30, 20, 2, 3, **settings)
    assert x.var() == pytest.approx(variance, rel=0.08)
    assert bound is None or np.abs(x).max() <= bound
    assert bound is None or np.abs(x).max() > 0.97 * bound


def test_a_truncated_normal_distribution():
    x = filled(init.trunc_normal_, 200, 100, mean=1.0, std=2.0, a=-1.0, b=4.0)
    assert x.min() >= -1 and x.max() <= 4
    # of the normal distribution between a and b: P(x < 1) = (F(0) - F(-1)) / (F(1.5) - F(-1))
    below = [0.5 * (1 + math.erf(z / math.sqrt(2))) for z in (-1.0, 0.0, 1.5)]
    assert (x < 1).mean() == pytest.approx((below[1] - below[0]) / (below[2] - below[0]), abs=0.01)
    y = Tensor(np.linspace(-0.99, 0.99, 45))
    found = init.inverse_erf(y).erf().numpy()
    np.testing.assert_allclose(found, y.numpy(), 1e-12, 1e-15)


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    x = filled(init.orthogonal_, *shape, gain=2.0).reshape(shape[0], -1)
    small = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_numbers_that_are_not_drawn():
    assert filled(init.constant_, 2, 2, val=0.5).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert filled(init.zeros_, 2).tolist() == [0, 0] and filled(init.ones_, 2).tolist() == [1, 1]
    assert filled(init.eye_, 2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    weight = filled(init.dirac_, 4, 2, 3, 3, groups=2)
    x = Tensor(np.arange(64.0).reshape(1, 4, 4, 4))
    same = nn.functional.conv2d(x, Tensor(weight), padding=1, groups=2)
    assert same.tolist() == x.tolist()
    thin = filled(init.sparse_, 10, 4, sparsity=0.35)
    assert (thin == 0).sum(0).tolist() == [4, 4, 4, 4]  # of ten rows ceil(3.5)


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2) and init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 1) == 1 and init.calculate_gain("linear") == 1


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: init.xavier_uniform_(Tensor.zeros(3)), ShapeError, "fewer than 2"),
        (lambda: init.uniform_(Tensor([1, 2])), DTypeError, "whole numbers"),
        (lambda: init.uniform_(Tensor([1.0]), 2, 1), DomainError, "a below b"),
        (lambda: init.normal_(Tensor([1.0]), std=-1), DomainError, "0 or more"),
        (lambda: init.trunc_normal_(Tensor([1.0]), a=2, b=2), DomainError, "a below b"),
        (lambda: init.kaiming_normal_(Tensor.zeros(2, 2), mode="fan"), DomainError, "fan_in"),
        (lambda: init.calculate_gain("softmax"), DomainError, "relu"),
        (lambda: init.eye_(Tensor.zeros(2)), ShapeError, "2 axes"),
        (lambda: init.dirac_(Tensor.zeros(3, 2, 3), groups=2), ShapeError, "multiple of groups"),
        (lambda: init.sparse_(Tensor.zeros(2, 2), 1.5), DomainError, "0 to 1"),
    ],
)
def test_mistakes_are_explained(call, error, words):
    with pytest.raises(error, match=words):
        call()
