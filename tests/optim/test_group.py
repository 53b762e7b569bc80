"""Groups, clipping, averages, and an optimizer of one's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import tutor
from tutor import Tensor, optim
from tutor.errors import DataError, DomainError, GraphError, RecordError

pytestmark = pytest.mark.usefixtures("backend")


def leaf(*numbers: float) -> Tensor:
    return Tensor(numbers or [1.0, 2.0], requires_grad=True)


def in_three_parts(error: BaseException) -> bool:
    return [line.partition(":")[0] for line in str(error).splitlines()] == [
        "asked", "found", "to do",
    ]  # fmt: skip


# ---- groups --------------------------------------------------------------------------------------


def test_groups_are_read_and_written_as_dicts() -> None:
    w, b = leaf(), leaf()
    sgd = optim.SGD([{"params": w, "lr": 0.5}, {"params": [b], "weight_decay": 0.1}], momentum=0.9)
    first, second = sgd.param_groups
    assert dict(first) == {"params": [w], "lr": 0.5, "momentum": 0.9, "weight_decay": 0.0}
    assert (second["lr"], second["weight_decay"], len(second)) == (0.01, 0.1, 4)
    assert sgd.params == [w, b]
    second["lr"] *= 2
    assert (sgd.lr, first["lr"], second["lr"]) == (0.5, 0.5, 0.02)
    sgd.lr = 0.25
    assert (first["lr"], second["lr"]) == (0.25, 0.25)
    assert "lr" in repr(first) and "params: 1" in repr(first)
    for group in sgd.param_groups:
        group["lr"] = 0.0
        group["name"] = "mine"
    assert first["name"] == "mine" and sgd.lr == 0


def test_groups_that_leave_a_setting_out_have_cells_of_their_own() -> None:
    adam = optim.Adam([{"params": leaf()}, {"params": leaf()}], lr=0.5)
    adam.add_param_group({"params": leaf()})
    for i, group in enumerate(adam.param_groups):
        group["lr"], group["betas"] = 0.1 * (1 + i), (0.5, 0.1 * i)
    assert [group["lr"] for group in adam.param_groups] == [0.1, 0.2, pytest.approx(0.3)]
    assert [group["betas"][1] for group in adam.param_groups] == [0.0, 0.1, 0.2]
    adam.add_param_group({"params": leaf()})
    assert adam.param_groups[3]["lr"] == 0.5  # as it was last set for all


def test_a_group_can_be_added() -> None:
    w, b = leaf(), leaf()
    adam = optim.Adam([w], lr=0.5)
    w.grad = Tensor([1.0, 1.0])
    adam.step()
    adam.add_param_group({"params": [b], "lr": 0.1})
    b.grad = Tensor([1.0, 1.0])
    adam.step()
    assert b.tolist() == pytest.approx([0.9, 1.9]) and len(adam.state["m"]) == 2  # its first step
    assert w.tolist() == pytest.approx([0.0, 1.0], abs=1e-6) and adam.steps == 2
    assert "count.1" in adam.state_dict() and "count.0" not in adam.state_dict()
    with pytest.raises(GraphError, match="twice"):
        adam.add_param_group({"params": [w]})
    assert len(adam.param_groups) == 2


WRONG: dict[str, tuple[type[Exception], Any]] = {
    "no params": (GraphError, lambda: optim.SGD([{"lr": 0.1}])),
    "no group": (GraphError, lambda: optim.SGD([{"params": [leaf()]}, leaf()])),
    "no tensors": (GraphError, lambda: optim.SGD([{"params": []}])),
    "another name": (DomainError, lambda: optim.SGD([{"params": [leaf()], "betas": 0.1}])),
    "out of range": (DomainError, lambda: optim.SGD([{"params": [leaf()], "lr": -0.1}])),
    "set out of range": (
        DomainError, lambda: optim.SGD([leaf()]).param_groups[0].__setitem__("lr", math.nan)
    ),
    "other params": (
        DomainError, lambda: optim.SGD([leaf()]).param_groups[0].__setitem__("params", [])
    ),
    "taken away": (DomainError, lambda: optim.SGD([leaf()]).param_groups[0].pop("lr")),
    "momentum later": (
        DomainError, lambda: optim.SGD([leaf()]).param_groups[0].__setitem__("momentum", 0.9)
    ),
    "nesterov without": (DomainError, lambda: optim.SGD([leaf()], nesterov=True)),
    "nesterov dampened": (
        DomainError,
        lambda: optim.SGD([leaf()], momentum=0.9, dampening=0.5, nesterov=True),
    ),
    "no flag": (DomainError, lambda: optim.Adam([leaf()], amsgrad=1)),  # type: ignore[arg-type]
    "ns_steps": (DomainError, lambda: optim.Muon([leaf()], ns_steps=0)),
    "adjust_lr_fn": (DomainError, lambda: optim.Muon([leaf()], adjust_lr_fn="mine")),
    "no matrix": (DomainError, lambda: optim.orthogonalized(leaf())),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    error, make = WRONG[name]
    with pytest.raises(error) as caught:
        make()
    assert in_three_parts(caught.value)


def test_a_state_of_one_group_without_settings_is_still_read() -> None:
    one, other = optim.Adam([leaf()], lr=0.5), optim.Adam([leaf()], lr=0.25)
    one.params[0].grad = Tensor([1.0, 2.0])
    one.step()
    state = {n: t for n, t in one.state_dict().items() if not n.startswith("groups.")}
    other.load_state_dict(state)
    assert (other.lr, other.steps) == (0.25, 1)
    assert other.state["v"][0].tolist() == one.state["v"][0].tolist()
    other.load_state_dict(one.state_dict())
    assert other.lr == 0.5
    state = {**one.state_dict(), "groups.0.lr.0": Tensor(-1.0, dtype="float64")}
    with pytest.raises(DataError, match=r"groups\.0\.lr\.0"):
        other.load_state_dict(state)
    for wrong in (Tensor(1.0), Tensor([1], dtype="uint64"), 1):
        with pytest.raises(DataError, match=r"count\.0"):
            other.load_state_dict({**one.state_dict(), "count.0": wrong})
    with pytest.raises(DataError, match=r"count\.1"):
        other.load_state_dict({**one.state_dict(), "count.1": Tensor(0, dtype="uint64")})
    two = optim.Adam([{"params": leaf()}, {"params": leaf()}])
    with pytest.raises(DataError):
        other.load_state_dict(two.state_dict())


def test_a_state_without_counts_is_that_of_parameters_that_always_moved() -> None:
    """So it was written, before they were counted one by one."""
    w, b = leaf(), leaf()
    adam = optim.Adam([w, b])
    for b.grad in (None, Tensor([1.0, 1.0])):
        w.grad = Tensor([1.0, 1.0])
        adam.step()
    state = {n: t.copy() if n != "steps" else t for n, t in adam.state_dict().items()}
    found = []
    for given in (state, {n: t for n, t in state.items() if n != "count.1"}, state):
        adam.load_state_dict(given)
        found.append((adam.steps, adam.counts.tolist()))
    assert found == [(2, [2, 2, 1]), (2, [2, 2, 2]), (2, [2, 2, 1])]


def test_an_optimizer_of_ones_own() -> None:
    class Heavy(optim.Optimizer):
        """v <- momentum * v + g;  p <- p - lr * v"""

        slots = ("v",)
        limits = {**optim.Optimizer.limits, "momentum": optim.MOMENTUM}  # noqa: RUF012

        def __init__(self, params: Any, lr: float = 0.1, momentum: float = 0.9) -> None:
            self.momentum = momentum
            super().__init__(params, lr)

        def update(self, p: Tensor, g: Tensor, *state: Tensor) -> None:
            (v,), (momentum,), (lr,) = state, self.numbers("momentum", p), self.numbers("lr", p)
            v.copy_(momentum * v + g)
            p -= lr * v

    found = []
    for make in (Heavy, optim.SGD):
        for jitted in (False, True):
            p, q = leaf(), leaf(3.0)
            mine = make([{"params": p}, {"params": q, "lr": 0.02}], 0.1, 0.9)  # type: ignore

            def step(x: Tensor, p: Any = p, q: Any = q, mine: Any = mine) -> Tensor:
                mine.zero_grad()
                loss = (((p - x) ** 2).sum() + q**2).sum()
                loss.backward()
                mine.step()
                return loss

            run: Any = tutor.jit(step) if jitted else step
            for n in range(6):
                run(Tensor([float(n), 1.0]))
            kept = next(iter(mine.state.values()))
            found.append([x for t in (p, q, *kept) for x in t.tolist()])
    assert found[0] == found[1] and found[2] == found[3]
    assert found[0] == pytest.approx(found[2], rel=1e-6)


def test_step_calls_a_closure() -> None:
    p = leaf()
    sgd = optim.SGD([p], lr=0.5)

    def closure() -> Tensor:
        sgd.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with tutor.no_grad():
        assert sgd.step(closure).item() == 5
    assert p.tolist() == [0, 0]


# ---- clipping ------------------------------------------------------------------------------------

GIVEN = [np.array([[3.0, -4.0], [0.5, 12.0]]), np.array([1.0, -2.0, 0.25]), np.array([-6.0])]


def grown(tensor: Any, params: Any) -> list[Any]:
    for p, g in zip(params, GIVEN, strict=True):
        p.grad = tensor(g)
    return list(params)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, math.inf])
@pytest.mark.parametrize("max_norm", [0.5, 5.0, 1000.0])
def test_clipping_by_norm(norm_type: float, max_norm: float) -> None:
    mine = grown(Tensor, [Tensor(g, requires_grad=True) for g in GIVEN])
    other = grown(torch.tensor, [torch.tensor(g, requires_grad=True) for g in GIVEN])
    total = optim.clip_grad_norm_(mine, max_norm, norm_type)
    wanted = torch.nn.utils.clip_grad_norm_(other, max_norm, norm_type)
    assert total.item() == pytest.approx(wanted.item(), rel=1e-14)
    for p, q in zip(mine, other, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-13)


def test_parameters_to_clip_may_come_one_by_one() -> None:
    """They are gone through twice: for the norm, and to be scaled."""
    mine = grown(Tensor, [Tensor(g, requires_grad=True) for g in GIVEN])
    optim.clip_grad_norm_(iter(mine), 1.0)
    assert optim.get_total_norm(p.grad for p in mine).item() == pytest.approx(1.0, rel=1e-6)


def test_clipping_by_value() -> None:
    mine = grown(Tensor, [Tensor(g, requires_grad=True) for g in GIVEN])
    optim.clip_grad_value_(mine, 2.5)
    assert mine[0].grad.tolist() == [[2.5, -2.5], [0.5, 2.5]]
    for wrong in (0, -1.0, math.nan, "1"):
        with pytest.raises(DomainError):
            optim.clip_grad_value_(mine, wrong)  # type: ignore[arg-type]
        with pytest.raises(DomainError):
            optim.clip_grad_norm_(mine, wrong)  # type: ignore[arg-type]
        with pytest.raises(DomainError):
            optim.get_total_norm([], wrong)  # type: ignore[arg-type]


def test_a_norm_that_is_not_finite() -> None:
    p = leaf()
    p.grad = Tensor([math.inf, 1.0])
    with pytest.raises(DomainError, match="norm"):
        optim.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad.tolist() == [math.inf, 1.0]
    assert optim.clip_grad_norm_(p, 1.0).item() == math.inf
    assert str(p.grad.tolist()) == "[nan, 0.0]"
    for norm_type in (1.0, 2.0, 3.0, math.inf):
        q, p.grad = leaf(), Tensor([5.0, math.nan])
        q.grad = Tensor([7.0, 8.0])
        assert math.isnan(optim.clip_grad_norm_([q, p], 1.0, norm_type).item())
        assert str([*q.grad.tolist(), *p.grad.tolist()]) == "[nan, nan, nan, nan]"
    none = Tensor.zeros(0)  # has no largest number, and adds nothing
    assert optim.get_total_norm([none, Tensor([3.0]), Tensor([-4.0])], math.inf).item() == 4
    assert optim.get_total_norm([none], math.inf).item() == 0
    q = leaf()
    q.grad = Tensor([300.0, 400.0])
    assert optim.clip_grad_norm_([q, leaf()], 5.0).item() == 500
    assert optim.clip_grad_norm_([leaf()], 5.0).item() == 0


def test_16_bits_are_added_in_32() -> None:
    p = Tensor([1.0, 1.0], dtype="float16", requires_grad=True)
    p.grad = Tensor([300.0, 400.0], dtype="float16")
    assert optim.clip_grad_norm_([p], 5.0).item() == 500
    assert p.grad.tolist() == [3, 4]


def test_clipping_is_recorded() -> None:
    found = []
    for jitted in (False, True):
        p = leaf()
        sgd = optim.SGD([p], lr=0.1)

        def step(x: Tensor, p: Tensor = p, sgd: Any = sgd) -> Tensor:
            sgd.zero_grad()
            (p * x).sum().backward()
            norm = optim.clip_grad_norm_([p], 1.0)
            optim.clip_grad_value_([p], 0.7)
            sgd.step()
            return norm

        run: Any = tutor.jit(step) if jitted else step
        found.append([(run(Tensor([n, 0.5])).item(), p.tolist()) for n in (0.1, 1.0, 9.0, 0.2)])
    assert found[0] == found[1]
    strict = tutor.jit(
        lambda x: optim.clip_grad_norm_([p], 1.0, error_if_nonfinite=True) + x, strict=True
    )
    strict(Tensor(1.0))
    with pytest.raises(RecordError):
        strict(Tensor(1.0))


# ---- averages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "rel"), [("float32", 1e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("jitted", [False, True])
def test_an_average(jitted: bool, dtype: str, rel: float) -> None:
    p = Tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    mean, ema = optim.Average([p]), optim.EMA([p], decay=0.9)
    warm = optim.EMA([p], decay=0.9, warm_up=True)

    def update(x: Tensor) -> None:
        p.assign(x)
        for average in (mean, ema, warm):
            average.update()

    run: Any = tutor.jit(update) if jitted else update
    values = [[float(n), 2.0 - n] for n in range(6)]
    for value in values:
        run(Tensor(value, dtype=dtype))
    assert mean.averages[0].tolist() == pytest.approx(np.mean(values, 0).tolist(), rel=rel)
    wanted, warmed = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    for t, value in enumerate(values, 1):
        wanted = 0.9 * wanted + 0.1 * np.array(value)
        d = min(0.9, (1 + t) / (10 + t))
        warmed = d * warmed + (1 - d) * np.array(value)
    assert ema.averages[0].tolist() == pytest.approx(wanted.tolist(), rel=rel)
    assert warm.averages[0].tolist() == pytest.approx(warmed.tolist(), rel=rel)


def test_averages_are_swapped_in_and_out_and_saved() -> None:
    p = leaf()
    ema = optim.EMA([p], 0.5)
    p.assign([3.0, 4.0])
    ema.update()
    view = p.detach()  # as what was recorded, or a Sharded optimizer, has it
    with ema.swapped():
        assert p.tolist() == view.tolist() == [2, 3]
    with pytest.raises(DomainError), ema.swapped():
        optim.SGD([p], lr=-1)
    assert p.tolist() == [3, 4] and ema.averages[0].tolist() == [2, 3]
    other = optim.EMA([leaf()], 0.5)
    other.load_state_dict(ema.state_dict())
    assert other.averages[0].tolist() == [2, 3] and other.count.item() == 1
    other.update()  # of its own: the state's are copied
    assert ema.averages[0].tolist() == [2, 3] and ema.count.item() == 1
    for average in (Tensor([1.0]), Tensor([1.0, 2.0], dtype="float64"), [1.0, 2.0]):
        bad = {**ema.state_dict(), "average.0": average}
        with pytest.raises(DataError):
            other.load_state_dict(bad)
    for wrong in (1.0, -0.1, "1"):
        with pytest.raises(DomainError):
            optim.EMA([p], wrong)  # type: ignore[arg-type]
    with pytest.raises(GraphError):
        optim.Average(p)
