"""Each optimizer against PyTorch's over 50 steps, with groups, eager and under tutor.jit."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch

import tutor
from tutor import Tensor, optim

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd, decay": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "momentum, decay": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "dampening": (
        "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}
    ),
    "nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "nesterov, decay": (
        "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}
    ),
    "sgd, maximize": ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True, "weight_decay": 0.1}),
    "adam": ("Adam", {"lr": 0.1}),
    "adam, decay": ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "amsgrad": ("Adam", {"lr": 0.1, "amsgrad": True}),
    "amsgrad, decay": ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    "adam, maximize": ("Adam", {"lr": 0.1, "maximize": True}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "adamw, decay": ("AdamW", {"lr": 0.1, "weight_decay": 0.5}),
    "adamw, amsgrad": ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
    "nadam": ("NAdam", {"lr": 0.1}),
    "nadam, decay": ("NAdam", {"lr": 0.1, "momentum_decay": 0.1, "weight_decay": 0.1}),
    "radam": ("RAdam", {"lr": 0.1}),
    "radam, decay": ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {"lr": 0.1}),
    "rmsprop, decay": ("RMSprop", {"lr": 0.1, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop, centered": ("RMSprop", {"lr": 0.1, "centered": True, "weight_decay": 0.1}),
    "rmsprop, momentum": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1}),
    "rmsprop, all": ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad, decay": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
    ),
    "adadelta": ("Adadelta", {"lr": 1.0}),
    "adadelta, decay": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
}  # fmt: skip
SHAPES = (3, 7), (5,), ()
GROUPS: dict[str, list[dict[str, Any]]] = {  # settings of the second and the third parameter
    "one group": [{}, {}],
    "three groups": [{"lr": 0.03}, {"weight_decay": 0.0, "lr": 0.05}],
}


def numbers(dtype: str) -> tuple[list[Any], list[list[Any]]]:
    """Where parameters begin, and their gradients of 50 steps; none sometimes."""
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]
    return starts, [[rng.standard_normal(s).astype(dtype) for s in SHAPES] for _ in range(50)]


def grouped(params: list[Any], settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"params": [p], **more} for p, more in zip(params, [{}, *settings], strict=True)]


def moved(make: Any, options: dict[str, Any], dtype: str, groups: str, tensor: Any) -> list[Any]:
    """All parameters after each of 50 steps."""
    starts, gradients = numbers(dtype)
    params = [tensor(start) for start in starts]
    optimizer = make(grouped(params, GROUPS[groups]), **options)
    found = []
    for step in gradients:
        for p, g in zip(params, step, strict=True):
            p.grad = tensor(g).detach()
        optimizer.step()
        found.append([p.detach().numpy().copy() for p in params])
    return found


def ours(values: Any) -> Any:
    return Tensor(values, requires_grad=True)


def theirs(values: Any) -> Any:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
@pytest.mark.parametrize("case", CASES)
def test_fifty_steps(
    case: str, dtype: str, tolerance: float, groups: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, options = CASES[case]
    # What PyTorch keeps for NAdam's momenta and for counts is of its default dtype.
    nadam = importlib.import_module("torch.optim.nadam")
    monkeypatch.setattr(nadam, "_get_scalar_dtype", lambda: torch.float64)
    # Each step of float32 rounds a parameter by up to 2^-24 of it: 3e-6 are 50 of that.
    absolute = tolerance if dtype == "float64" else 3e-6
    found = moved(getattr(optim, name), options, dtype, groups, ours)
    wanted = moved(getattr(torch.optim, name), options, dtype, groups, theirs)
    for step, (a, b) in enumerate(zip(found, wanted, strict=True)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, tolerance, absolute, err_msg=f"step {step}")


def lion(p: Any, g: Any, m: Any, lr: float, decay: float) -> tuple[Any, Any]:
    p = (1 - lr * decay) * p - lr * np.sign(0.9 * m + 0.1 * g)
    return p, 0.99 * m + 0.01 * g


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_lion_is_its_formula(decay: float) -> None:
    """PyTorch has none."""
    starts, gradients = numbers("float64")
    found = moved(optim.Lion, {"lr": 0.01, "weight_decay": decay}, "float64", "one group", ours)
    ps, ms = starts, [np.zeros_like(p) for p in starts]
    for step, now in zip(gradients, found, strict=True):
        both = [lion(p, g, m, 0.01, decay) for p, g, m in zip(ps, step, ms, strict=True)]
        ps, ms = [p for p, _ in both], [m for _, m in both]
        for x, y in zip(now, ps, strict=True):
            np.testing.assert_allclose(x, y, 1e-12, 1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"weight_decay": 0.0, "nesterov": False}, {"adjust_lr_fn": "match_rms_adamw", "lr": 0.01}],
)
@pytest.mark.parametrize("shape", [(4, 4), (12, 3), (3, 12)])
def test_muon_moves_matrices_as_pytorch_does(
    shape: tuple[int, int], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which rounds the orthogonal matrix to bfloat16: for the comparison it is told not to."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda t: t.clone())
    rng = np.random.default_rng(1)
    start, gs = rng.standard_normal(shape), rng.standard_normal((50, *shape))
    p, q = ours(start), theirs(start)
    a, b = optim.Muon([p], **options), torch.optim.Muon([q], **options)
    for g in gs:
        p.grad, q.grad = Tensor(g), torch.tensor(g)
        a.step()
        b.step()
    np.testing.assert_allclose(p.numpy(), q.detach().numpy(), 1e-12, 1e-12)


def test_muon_that_maximizes_goes_where_muon_goes_with_the_opposite_gradients() -> None:
    found = []
    for sign in (1, -1):
        params = [ours(s) for s in numbers("float64")[0]]
        muon = optim.Muon(params, lr=0.1, maximize=sign == -1)
        for step in numbers("float64")[1][:5]:
            for p, g in zip(params, step, strict=True):
                p.grad = Tensor(sign * np.asarray(g), dtype="float64")
            muon.step()
        found.append([p.tolist() for p in params])
    assert found[0] == found[1]


def test_muon_moves_what_is_no_matrix_as_adamw_does() -> None:
    starts, _ = numbers("float64")
    both = []
    for make in (optim.Muon, optim.AdamW):
        params = [ours(s) for s in starts[1:]]
        optimizer = make(params, lr=0.1, betas=(0.9, 0.95), weight_decay=0.1)
        for n in range(5):
            for p in params:
                p.grad = p.detach() * (n - 2)
            optimizer.step()
        both.append([p.tolist() for p in params])
    assert both[0] == both[1]


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_orthogonalized(shape: tuple[int, int]) -> None:
    """It turns as U Vᵀ does; the singular values are about 1."""
    g = np.random.default_rng(2).standard_normal(shape)
    x = optim.orthogonalized(Tensor(g)).numpy()
    u, _, v = np.linalg.svd(g, full_matrices=False)
    values = np.diag(u.T @ x @ v.T)
    assert ((values > 0.6) & (values < 1.25)).all()
    np.testing.assert_allclose(u @ np.diag(values) @ v, x, atol=1e-12)


MAKES = {
    **{case: CASES[case] for case in CASES},
    "lion": ("Lion", {"lr": 0.01, "weight_decay": 0.1}),
    "muon": ("Muon", {"lr": 0.01}),
}


@pytest.mark.parametrize("case", MAKES)
def test_a_recorded_step_is_the_step_and_follows_its_settings(case: str) -> None:
    name, options = MAKES[case]
    found = []
    for jitted in (False, True):
        params = [ours(s.astype("float32")) for s in numbers("float32")[0]]
        optimizer = getattr(optim, name)(grouped(params, GROUPS["three groups"]), **options)

        def step(scale: Tensor, params: Any = params, optimizer: Any = optimizer) -> Tensor:
            loss = sum(((p - 1) ** 2 * scale).sum() for p in params)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run: Any = tutor.jit(step) if jitted else step
        for n in range(8):
            optimizer.param_groups[1]["lr"] = 0.1 / (1 + n)
            run(Tensor(1.0 + n))
        state = optimizer.state_dict()
        found.append([p.tolist() for p in params] + [state.pop("steps")])
        found[-1] += [(name, t.tolist()) for name, t in state.items()]
        if jitted:
            assert run.stats()["replayed"] == 6
    assert found[0] == found[1]


@pytest.mark.parametrize("case", MAKES)
def test_it_goes_on_exactly_where_it_was_saved(case: str) -> None:
    name, options = MAKES[case]
    starts, gradients = numbers("float32")

    def go_on(params: Any, optimizer: Any, steps: Any) -> list[Any]:
        for step in steps:
            for p, g in zip(params, step, strict=True):
                p.grad = Tensor(g)
            optimizer.step()
        return [p.tolist() for p in params]

    def fresh(values: Any) -> tuple[Any, Any]:
        params = [ours(v) for v in values]
        return params, getattr(optim, name)(grouped(params, GROUPS["three groups"]), **options)

    params, optimizer = fresh(starts)
    go_on(params, optimizer, gradients[:5])
    optimizer.param_groups[2]["lr"] = 0.07
    saved = {n: t.copy() if isinstance(t, Tensor) else t for n, t in optimizer.state_dict().items()}
    others, other = fresh([p.detach().numpy().copy() for p in params])
    wanted = go_on(params, optimizer, gradients[5:9])
    other.load_state_dict(saved)
    assert other.param_groups[2]["lr"] == 0.07
    assert go_on(others, other, gradients[5:9]) == wanted
