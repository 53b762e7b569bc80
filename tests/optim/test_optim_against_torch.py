"""Each optimizer against PyTorch's, or its formula, over 50 steps: groups, missing gradients, eager
and under tutor.jit. An optimizer without a row in optimizer_rows.py fails here."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch
from optimizer_rows import BY_CLOSURE, CASES, missing, optimizers, oracle

import tutor
from tutor import Tensor, optim

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
EACH = [
    (case, *run)
    for case, (name, _) in CASES.items()
    for run in (RUNS if name not in BY_CLOSURE else RUNS[::2][:2])  # both dtypes in one group
]
STEPWISE = [case for case, (name, _) in CASES.items() if name not in BY_CLOSURE]


def numbers(dtype: str) -> tuple[list[Any], list[list[Any]]]:
    """Where parameters begin, and their gradients of 50 steps."""
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]
    return starts, [[rng.standard_normal(s).astype(dtype) for s in SHAPES] for _ in range(50)]


def test_every_optimizer_has_rows_that_change_each_of_its_options() -> None:
    assert missing(optimizers()) == []


def test_an_optimizer_without_numbers_is_named() -> None:
    class Planted(optim.SGD):
        def __init__(self, params: Any, lr: float = 0.1, warmth: float = 0.5) -> None:
            super().__init__(params, lr)

    assert missing({**optimizers(), "Planted": Planted}) == [
        "Planted has no row in tests/optim/optimizer_rows.py"
    ]
    assert missing({**optimizers(), "SGD": Planted}) == ["SGD has no row that changes warmth"]
    others = {name: cls for name, cls in optimizers().items() if name != "Lion"}
    assert missing(others) == ["Lion does not exist"]


def grouped(params: list[Any], settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"params": [p], **more} for p, more in zip(params, [{}, *settings], strict=True)]


def closing(optimizer: Any, params: list[Any], targets: list[Any]) -> Any:
    """A closure for a step: its loss grows with the second and fourth power of the distance."""

    def closure() -> Any:
        optimizer.zero_grad()
        squares = [(p - target) * (p - target) for p, target in zip(params, targets, strict=True)]
        loss = sum((s + s * s * 0.01).sum() for s in squares)
        loss.backward()
        return loss

    return closure


def moved(
    name: str, make: Any, options: dict[str, Any], dtype: str, groups: str, tensor: Any, there: Any
) -> list[Any]:
    """All parameters after each of 50 steps, in which they have these gradients, or are drawn to
    these places."""
    starts, gradients = numbers(dtype)
    params = [tensor(start) for start in starts]
    optimizer = make(params if name in BY_CLOSURE else grouped(params, GROUPS[groups]), **options)
    found = []
    for step, which in zip(gradients, there, strict=True):
        given = [tensor(g).detach() for g in step]
        if name in BY_CLOSURE:
            optimizer.step(closing(optimizer, params, given))
        else:
            for p, g, has in zip(params, given, which, strict=True):
                p.grad = g if has else None
            optimizer.step()
        found.append([p.detach().numpy().copy() for p in params])
    return found


def ours(values: Any) -> Any:
    return Tensor(values, requires_grad=True)


def theirs(values: Any) -> Any:
    return torch.tensor(values, requires_grad=True)


def differing(name: str, found: list[Any], wanted: list[Any], dtype: str) -> list[int]:
    """The steps after which a parameter is not the same, but for rounding."""
    # Each step of float32 rounds a parameter by up to 2^-24 of it: 3e-6 are 50 of that.
    tolerance, absolute = (1e-12, 1e-12) if dtype == "float64" else (1e-6, 3e-6)
    if name in BY_CLOSURE:  # a direction is a difference of gradients: it magnifies the rounding
        tolerance, absolute = (1e-9, 1e-9) if dtype == "float64" else (1e-5, 1e-5)
        found, wanted = (steps[: 50 if dtype == "float64" else 10] for steps in (found, wanted))
    return [
        step
        for step, (a, b) in enumerate(zip(found, wanted, strict=True))
        if not all(np.allclose(x, y, tolerance, absolute) for x, y in zip(a, b, strict=True))
    ]


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyTorch keeps for NAdam's momenta and for counts is of its default dtype, and Muon's
    orthogonal matrix is of bfloat16."""
    nadam = importlib.import_module("torch.optim.nadam")
    monkeypatch.setattr(nadam, "_get_scalar_dtype", lambda: torch.float64)
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda t: t.clone())


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize(("case", "dtype", "groups", "pattern"), EACH)
def test_fifty_steps(case: str, dtype: str, groups: str, pattern: str) -> None:
    name, options = CASES[case]
    there = PATTERNS[pattern]
    found = moved(name, getattr(optim, name), options, dtype, groups, ours, there)
    wanted = moved(name, oracle(name), options, dtype, groups, theirs, there)
    assert not differing(name, found, wanted, dtype)


def off(value: Any) -> Any:
    """A setting that is wrong by a hundredth."""
    return tuple(part * 0.99 for part in value) if isinstance(value, tuple) else value * 0.99


@pytest.mark.usefixtures("in_float64")
@pytest.mark.parametrize("case", STEPWISE)
def test_a_wrong_constant_shows(case: str) -> None:
    """A row whose numbers were the same with another setting would not test that setting."""
    name, options = CASES[case]
    wanted = moved(name, oracle(name), options, "float64", "one group", theirs, PATTERNS["all"])
    for option, value in options.items():
        if isinstance(value, (float, tuple)):
            wrong = {**options, option: off(value)}
            found = moved(name, getattr(optim, name), wrong, "float64", "one group", ours,
                          PATTERNS["all"])  # fmt: skip
            assert differing(name, found, wanted, "float64"), option


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
@pytest.mark.parametrize("case", STEPWISE)
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
@pytest.mark.parametrize("case", STEPWISE)
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
