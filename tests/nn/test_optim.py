"""Optimizers against their published formulas, step by step."""

import numpy as np
import pytest

from tutor import Tensor, optim
from tutor.errors import DomainError, GraphError

pytestmark = pytest.mark.usefixtures("backend")


def sgd(p, gs, lr, momentum, weight_decay):
    v = np.zeros_like(p)
    for g in gs:
        v = momentum * v + g + weight_decay * p
        p = p - lr * v
    return p


def adam(p, gs, lr, betas, eps, weight_decay):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gs, 1):
        g = g + weight_decay * p
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


@pytest.mark.parametrize(
    ("make", "formula", "settings"),
    [
        (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.0, "weight_decay": 0.0}),
        (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
        (optim.Adam, adam, {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}),
        (optim.Adam, adam, {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ],
)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("transposed", [False, True])
def test_fifty_steps_equal_the_formula(make, formula, settings, dtype, tolerance, transposed):
    rng = np.random.default_rng(0)
    start, gs = rng.standard_normal((3, 7)), rng.standard_normal((50, 3, 7))
    p = Tensor(start, dtype=dtype, requires_grad=True)
    opt = make([p], **settings)
    for g in gs:
        opt.zero_grad()
        g = Tensor(g.T.copy(), dtype=dtype).T if transposed else Tensor(g, dtype=dtype)
        (p * g).sum().backward()
        opt.step()
    expected = formula(start, gs, **settings)
    assert np.allclose(p.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_parameters_without_a_gradient_stay():
    p, q = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    opt = optim.SGD([p, q], lr=1.0)
    (p * 2).backward()
    opt.step()
    assert (p.item(), q.item()) == (-1, 1)
    opt.zero_grad()
    assert p.grad is None


def test_without_momentum_nothing_is_kept():
    p = Tensor([1.0], requires_grad=True)
    opt = optim.SGD([p], lr=0.5)
    assert opt.state_dict() == {"steps": 0}
    (p * 2).backward()
    opt.momentum = 0.9
    with pytest.raises(DomainError, match="velocity"):
        opt.step()


def test_a_saved_state_continues_exactly():
    def steps(p, opt, count):
        for _ in range(count):
            opt.zero_grad()
            ((p - 3) ** 2).sum().backward()
            opt.step()

    p = Tensor([0.0, 1.0], requires_grad=True)
    opt = optim.Adam([p], lr=0.1)
    steps(p, opt, 5)
    q = Tensor(p.detach().copy(), requires_grad=True)
    other = optim.Adam([q], lr=0.1)
    other.load_state_dict(opt.state_dict())
    steps(p, opt, 5)
    steps(q, other, 5)
    assert p.tolist() == q.tolist()


def test_a_step_is_noticed_by_a_graph_that_saved_the_parameter():
    p = Tensor([2.0], requires_grad=True)
    y = p * p
    opt = optim.SGD([p], lr=0.1)
    y.backward(retain_graph=True)
    opt.step()
    with pytest.raises(GraphError, match="changed in place"):
        y.backward()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: optim.SGD([], lr=0.1), GraphError),
        (lambda: optim.SGD([Tensor([1.0])], lr=0.1), GraphError),
        (lambda: optim.SGD([Tensor([1.0], requires_grad=True) * 2], lr=0.1), GraphError),
        (lambda: optim.SGD([3.0], lr=0.1), GraphError),
        (lambda: optim.Adam([Tensor([1.0], requires_grad=True)], lr=-1), DomainError),
        (lambda: optim.Adam([Tensor([1.0], requires_grad=True)], lr=float("nan")), DomainError),
        (lambda: optim.Adam([Tensor([1.0], requires_grad=True)], lr="fast"), DomainError),
    ],
)
def test_mistakes_are_explained(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).count("\n") >= 2
