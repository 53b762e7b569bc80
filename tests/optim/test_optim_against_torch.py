"""Each optimizer against PyTorch's over 50 steps: groups, missing gradients, eager and under
tutor.jit."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tutor
from tutor import Tensor, dist, optim

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
    "lion": ("Lion", {"lr": 0.01}),
    "lion, decay": ("Lion", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    "lion, maximize": ("Lion", {"lr": 0.01, "maximize": True}),
    "muon": ("Muon", {"lr": 0.01}),
    "muon, decay": (
        "Muon", {"lr": 0.01, "weight_decay": 0.3, "momentum": 0.8, "nesterov": False,
                 "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw", "betas": (0.7, 0.8), "eps": 0.1},
    ),
}  # fmt: skip
# What is large beside sqrt(v), so that it shows where it is added; and upwards.
CASES |= {
    f"{name.lower()}, eps": (name, {"lr": 0.1, "eps": 0.1, "maximize": True})
    for name in ("Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta")
}
CASES |= {f"{name}, betas": (name, {"lr": 0.1, "betas": (0.7, 0.8)}) for name in ("AdamW", "NAdam")}
# test_lbfgs.py, against PyTorch; distributed/test_sharded.py
ELSEWHERE = {optim.LBFGS.__name__, dist.Sharded.__name__}
SHAPES = (3, 7), (5,), ()
GROUPS: dict[str, list[dict[str, Any]]] = {  # settings of the second and the third parameter
    "one group": [{}, {}],
    "three groups": [{"lr": 0.03}, {"weight_decay": 0.0, "lr": 0.05}],
}
# Of three parameters, in each of 50 steps: which have a gradient?
PATTERNS: dict[str, Any] = {
    "all": np.ones((50, 3), bool),
    "from step 5, 20 and 0 on": np.arange(50)[:, None] >= [5, 20, 0],
    "now and then": np.random.default_rng(1).random((50, 3)) < 0.5,
    "in turn": np.arange(50)[:, None] % 4 == [0, 1, 2],
}


RUNS = [  # a dtype, groups, and a pattern
    *((dtype, groups, "all") for dtype in ("float64", "float32") for groups in GROUPS),
    *(("float64", "three groups", pattern) for pattern in PATTERNS if pattern != "all"),
]


def numbers(dtype: str) -> tuple[list[Any], list[list[Any]]]:
    """Where parameters begin, and their gradients of 50 steps."""
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]
    return starts, [[rng.standard_normal(s).astype(dtype) for s in SHAPES] for _ in range(50)]


class Lion(torch.optim.Optimizer):
    """Its formula: PyTorch has none."""

    def __init__(
        self, params: Any, lr: float, betas: Any = (0.9, 0.99), weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        settings = {"lr": lr, "betas": betas, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "sign": -1 if maximize else 1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            lr, (b1, b2) = group["lr"], group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g, m = group["sign"] * p.grad, self.state[p].get("m", 0 * p)
                p.mul_(1 - lr * group["weight_decay"]).sub_(lr * torch.sign(b1 * m + (1 - b1) * g))
                self.state[p]["m"] = b2 * m + (1 - b2) * g


class Muon:
    """PyTorch's for matrices, and its AdamW for all else."""

    def __init__(
        self, groups: Any, weight_decay: float = 0.1, betas: Any = (0.9, 0.95), eps: float = 1e-8,
        **options: Any,
    ) -> None:  # fmt: skip
        rest = {"lr": options["lr"], "betas": betas, "eps": eps}
        self.parts = [
            torch.optim.Muon([g], weight_decay=weight_decay, **options)
            if g["params"][0].ndim == 2
            else torch.optim.AdamW([g], weight_decay=weight_decay, **rest)
            for g in groups
        ]

    def step(self) -> None:
        for part in self.parts:
            part.step()


def of_theirs(name: str) -> Any:
    return {"Lion": Lion, "Muon": Muon}.get(name) or getattr(torch.optim, name)


def subclasses(cls: Any) -> Iterator[Any]:
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("tutor."):
            yield sub
            yield from subclasses(sub)


def test_every_optimizer_has_rows_that_change_each_of_its_options() -> None:
    found = {cls.__name__: cls for cls in subclasses(optim.Optimizer)}
    assert {name for name, _ in CASES.values()} | ELSEWHERE == found.keys()
    for name in found.keys() - ELSEWHERE:
        options = inspect.signature(found[name]).parameters.items()
        rows = [row for of, row in CASES.values() if of == name]
        left = {o for o, p in options if all(row.get(o, p.default) == p.default for row in rows)}
        # PyTorch's Muon has no maximize: ours is below.
        assert left - {"params"} == ({"maximize"} if name == "Muon" else set())


def grouped(params: list[Any], settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"params": [p], **more} for p, more in zip(params, [{}, *settings], strict=True)]


def moved(
    make: Any, options: dict[str, Any], dtype: str, groups: str, tensor: Any, there: Any
) -> list[Any]:
    """All parameters after each of 50 steps."""
    starts, gradients = numbers(dtype)
    params = [tensor(start) for start in starts]
    optimizer = make(grouped(params, GROUPS[groups]), **options)
    found = []
    for step, which in zip(gradients, there, strict=True):
        for p, g, has in zip(params, step, which, strict=True):
            p.grad = tensor(g).detach() if has else None
        optimizer.step()
        found.append([p.detach().numpy().copy() for p in params])
    return found


def ours(values: Any) -> Any:
    return Tensor(values, requires_grad=True)


def theirs(values: Any) -> Any:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize(("dtype", "groups", "pattern"), RUNS)
@pytest.mark.parametrize("case", CASES)
def test_fifty_steps(
    case: str, dtype: str, groups: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, options = CASES[case]
    # What PyTorch keeps for NAdam's momenta and for counts is of its default dtype, and Muon's
    # orthogonal matrix is of bfloat16.
    nadam = importlib.import_module("torch.optim.nadam")
    monkeypatch.setattr(nadam, "_get_scalar_dtype", lambda: torch.float64)
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda t: t.clone())
    # Each step of float32 rounds a parameter by up to 2^-24 of it: 3e-6 are 50 of that.
    tolerance, absolute = (1e-12, 1e-12) if dtype == "float64" else (1e-6, 3e-6)
    there = PATTERNS[pattern]
    found = moved(getattr(optim, name), options, dtype, groups, ours, there)
    wanted = moved(of_theirs(name), options, dtype, groups, theirs, there)
    for step, (a, b) in enumerate(zip(found, wanted, strict=True)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, tolerance, absolute, err_msg=f"step {step}")


def test_whose_first_gradient_comes_late_moves_as_in_a_first_step() -> None:
    found = []
    for first in (0, 1000):
        p, q = ours([1.0]), ours([1.0])
        adam = optim.Adam([p, q], lr=0.1)
        for n in range(first + 1):
            p.grad, q.grad = Tensor([1.0]), Tensor([1.0]) if n == first else None
            adam.step()
        found.append(q.tolist())
    assert found[0] == found[1] == pytest.approx([0.9], rel=1e-6)


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


@pytest.mark.parametrize("pattern", ["all", "in turn"])
@pytest.mark.parametrize("case", CASES)
def test_a_recorded_step_is_the_step_and_follows_its_settings(case: str, pattern: str) -> None:
    name, options = CASES[case]
    found, there = [], PATTERNS[pattern][: 8 if pattern == "all" else 24]
    for jitted in (False, True):
        params = [ours(s.astype("float32")) for s in numbers("float32")[0]]
        optimizer = getattr(optim, name)(grouped(params, GROUPS["three groups"]), **options)

        def step(
            scale: Tensor, which: Any, params: Any = params, optimizer: Any = optimizer
        ) -> Any:
            used = [p for p, has in zip(params, which, strict=True) if has]
            loss = sum((((p - 1) ** 2 * scale).sum() for p in used), scale * 0)
            optimizer.zero_grad()
            if used:
                loss.backward()
            optimizer.step()
            return loss

        run: Any = tutor.jit(step) if jitted else step
        for n, which in enumerate(there):
            optimizer.param_groups[1]["lr"] = 0.1 / (1 + n)
            run(Tensor(1.0 + n), tuple(which.tolist()))
        state = optimizer.state_dict()
        found.append([p.tolist() for p in params] + [state.pop("steps")])
        found[-1] += [(name, t.tolist()) for name, t in state.items()]
        if jitted:  # "in turn": each of four patterns comes six times
            assert run.stats()["replayed"] == (6 if pattern == "all" else 19)
    assert found[0] == found[1]


@pytest.mark.parametrize("pattern", ["all", "now and then"])
@pytest.mark.parametrize("case", CASES)
def test_it_goes_on_exactly_where_it_was_saved(case: str, pattern: str) -> None:
    name, options = CASES[case]
    starts, gradients = numbers("float32")

    def go_on(params: Any, optimizer: Any, begin: int, end: int) -> list[Any]:
        for step, which in zip(gradients[begin:end], PATTERNS[pattern][begin:end], strict=True):
            for p, g, has in zip(params, step, which, strict=True):
                p.grad = Tensor(g) if has else None
            optimizer.step()
        return [p.tolist() for p in params]

    def fresh(values: Any) -> tuple[Any, Any]:
        params = [ours(v) for v in values]
        return params, getattr(optim, name)(grouped(params, GROUPS["three groups"]), **options)

    params, optimizer = fresh(starts)
    go_on(params, optimizer, 0, 5)
    optimizer.param_groups[2]["lr"] = 0.07
    saved = {n: t.copy() if isinstance(t, Tensor) else t for n, t in optimizer.state_dict().items()}
    others, other = fresh([p.detach().numpy().copy() for p in params])
    wanted = go_on(params, optimizer, 5, 9)
    other.load_state_dict(saved)
    assert other.param_groups[2]["lr"] == 0.07
    assert {n for n in saved if n.startswith("count.")} == (
        set() if pattern == "all" else {"count.0", "count.1", "count.2"}
    )
    assert go_on(others, other, 5, 9) == wanted
