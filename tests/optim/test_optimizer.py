"""Optimizers against their published formulas, step by step."""

import numpy as np
import pytest

import tutor
from tutor import Tensor, amp, optim
from tutor.errors import DataError, DomainError, DTypeError, GraphError

pytestmark = pytest.mark.usefixtures("place")


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
    settings = {f"groups.0.{name}.0" for name in ("lr", "momentum", "weight_decay")}
    assert opt.state_dict().keys() == {"steps", *settings}
    with pytest.raises(DomainError, match="velocity"):
        opt.momentum = 0.9
    opt.momentum = 0
    assert opt.momentum == 0.0


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


def leaf():
    return Tensor([1.0, 2.0], requires_grad=True)


TWICE = leaf()
PARAMS = [  # what is no list of parameters
    [],
    None,
    3,
    "params",
    TWICE,  # a Tensor is not a list of its rows
    [3.0],
    [None],
    {"w": TWICE},  # its names
    [Tensor([1.0])],
    [Tensor([1.0], requires_grad=True) * 2],
    [TWICE, leaf(), TWICE],
]


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
@pytest.mark.parametrize("params", PARAMS, ids=range(len(PARAMS)))
def test_params_that_cannot_be_moved(make, params):
    with pytest.raises(GraphError) as caught:
        make(params, lr=0.1)
    assert in_three_parts(caught.value)


def in_three_parts(error):
    return [line.partition(":")[0] for line in str(error).splitlines()] == [
        "asked", "found", "to do",
    ]  # fmt: skip


NO_NUMBER = [True, False, None, "0.5", b"1", [0.5], (0.5,), {}, 0.5j, Tensor(0.5), np.array(0.5),
             np.True_, float("nan"), float("inf"), -float("inf"), 10**400, -(10**400)]  # fmt: skip
NEGATIVE = [-1, -0.1, -1e-300]
SETTINGS = [  # of which optimizer, values that are refused, values that are taken
    (optim.SGD, "lr", NO_NUMBER + NEGATIVE, [0, 0.0, 1, 1e-300, 5.5]),
    (optim.SGD, "momentum", NO_NUMBER + NEGATIVE + [1.0001, 5], [0, 0.5, 1, 1.0]),
    (optim.SGD, "weight_decay", NO_NUMBER + NEGATIVE, [0, 0.5, 2]),
    (optim.Adam, "lr", NO_NUMBER + NEGATIVE, [0, 1, np.float32(0.5), np.float64(0.1), np.int8(1)]),
    (optim.Adam, "eps", NO_NUMBER + NEGATIVE + [0, 0.0, -0.0], [1e-300, 1]),
    (optim.Adam, "weight_decay", NO_NUMBER + NEGATIVE, [0, 0.5, 2]),
    (
        optim.Adam,
        "betas",
        [*NO_NUMBER, 0.9, (0.9,), (0.9, 0.9, 0.9), (), "99", (2, 3), (1, 0.9), (0.9, 1),
         (-0.1, 0.9), (0.9, "x"), (float("nan"), 0.9), (True, 0.9), ((0.9, 0.9),), {0.8, 0.9}],
        [(0, 0), [0.9, 0.99], (0.0, np.float32(0.5))],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "refused", "taken"), SETTINGS)
def test_settings_out_of_range_are_refused_when_made_and_when_changed(make, name, refused, taken):
    for value in refused:
        with pytest.raises(DomainError) as caught:
            make([leaf()], **{name: value})
        assert in_three_parts(caught.value)
        assert f"{name}=" in caught.value.asked
        opt = make([leaf()])
        before = getattr(opt, name)
        with pytest.raises(DomainError):
            setattr(opt, name, value)
        assert getattr(opt, name) == before
    for value in taken:
        kept = getattr(make([leaf()], **{name: value}), name)
        assert kept == (tuple(value) if name == "betas" else value)
        assert {type(v) for v in (kept if name == "betas" else [kept])} == {float}


def test_a_learning_rate_of_0_moves_nothing():
    for make in (optim.SGD, optim.Adam):
        p = leaf()
        opt = make([p], lr=0)
        (p * 2).sum().backward()
        opt.step()
        assert p.tolist() == [1, 2]


def test_a_subclass_has_limits_of_its_own():
    class Signs(optim.Optimizer):
        limits = {**optim.Optimizer.limits, "width": optim.EPS}  # noqa: RUF012

        def __init__(self, params, lr=0.1, width=1.0):
            super().__init__(params, lr)
            self.width = width

    assert Signs([leaf()]).width == 1
    with pytest.raises(DomainError, match="Signs with width=0"):
        Signs([leaf()], width=0)
    with pytest.raises(DomainError, match="Signs with lr=-1"):
        Signs([leaf()], lr=-1)


def test_a_state_of_another_optimizer_is_refused_and_changes_nothing():
    opt = optim.Adam([leaf(), leaf()])
    for p in opt.params:
        p.grad = Tensor([1.0, 1.0])
    opt.step()
    good = {name: t.copy() if isinstance(t, Tensor) else t for name, t in opt.state_dict().items()}
    wrong = [
        {},
        {"steps": 1},
        {name: t for name, t in good.items() if name != "v.1"},
        {name: t for name, t in good.items() if name != "steps"},
        {**good, "m.2": good["m.1"]},
        {**good, "m.0": Tensor([1.0])},
        {**good, "m.0": Tensor([1.0, 2.0], dtype="float64")},
        {**good, "m.0": [1.0, 2.0]},
        {**good, "steps": -1},
        {**good, "steps": "1"},
        {**good, "steps": True},
        {**good, "steps": 1.5},
        optim.SGD([leaf(), leaf()], momentum=0.5).state_dict(),
    ]
    for state in wrong:
        with pytest.raises(DataError) as caught:
            opt.load_state_dict({**state, **({"m.0": Tensor([9.0, 9.0])} if "m.0" in state and
                                             state["m.0"] is good["m.0"] else {})})  # fmt: skip
        assert in_three_parts(caught.value)
        assert opt.steps == 1
        assert opt.state["m"][0].tolist() == good["m.0"].tolist()
    opt.load_state_dict(good)


LOADED = {  # whatever has a state of optim's, made over an optimizer
    "SGD": lambda sgd: sgd,
    "LBFGS": lambda sgd: optim.LBFGS(sgd.params),
    "EMA": lambda sgd: optim.EMA(sgd.params),
    "StepLR": lambda sgd: optim.lr_scheduler.StepLR(sgd, 1),
    "ReduceLROnPlateau": optim.lr_scheduler.ReduceLROnPlateau,
    "GradScaler": lambda sgd: amp.GradScaler(),
}


@pytest.mark.parametrize("state", [None, 3, [1], "steps", {1: 2}, {}], ids=repr)
@pytest.mark.parametrize("name", LOADED)
def test_what_is_no_state_is_refused(name, state):
    with pytest.raises(DataError) as caught:
        LOADED[name](optim.SGD([leaf()], lr=0.1)).load_state_dict(state)
    assert in_three_parts(caught.value) and "load a state into" in caught.value.asked


def test_a_closure_is_a_function():
    with pytest.raises(DTypeError, match=r"SGD\.step"):
        optim.SGD([leaf()], lr=0.1).step(3)


def test_gradients_are_forgotten_or_zeroed():
    p = Tensor([1.0, 2.0], requires_grad=True)
    sgd = optim.SGD([p], lr=0.1)
    sgd.zero_grad(set_to_none=False)
    assert p.grad is None
    (p * p).sum().backward()
    sgd.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0, 0.0]
    sgd.zero_grad(set_to_none=True)
    assert p.grad is None


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_moves_a_half_float_by_the_velocity_that_it_keeps(nesterov: bool) -> None:
    """Not by the one before that is rounded: a checkpoint goes on with the same bits."""
    tutor.manual_seed(0)
    p = tutor.randn(2048).to("float16").requires_grad_()
    optimizer = optim.SGD([p], lr=0.25, momentum=0.5, nesterov=nesterov)
    for _ in range(3):
        p.grad = tutor.randn(2048).to("float16")
        before = np.float64(p.detach().numpy())
        optimizer.step()
    velocity = np.float64(optimizer.state_dict()["velocity.0"].numpy())
    step = np.float64(p.grad.numpy()) + 0.5 * velocity if nesterov else velocity
    assert (p.detach().numpy() == np.float16(before - 0.25 * step)).all()
