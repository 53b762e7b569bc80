"""Monitor and summary: what is seen inside of a network is what is there."""

from __future__ import annotations

from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import DataError, GraphError
from tutor.training import Monitor, summary


class Twice(nn.Module):
    """A layer that is called twice, and something between."""

    def __init__(self) -> None:
        self.inner, self.last = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.inner(self.inner(x) + 1).relu())


def test_what_a_monitor_notes_is_what_happened() -> None:
    tutor.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    sgd, x, y = optim.SGD(model.parameters(), lr=0.5), Tensor.randn(16, 4), Tensor([0, 1] * 8)
    before = model[0].weight.detach().copy()
    with Monitor(model) as monitor:
        for _ in range(3):
            loss = model(x).cross_entropy(y)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            monitor.note()
            if monitor.curves["updates"]["0.weight"][1:]:
                continue
            grad = model[0].weight.grad
            hidden = (x @ before.T + 0 * model[0].bias.detach()).relu()
            assert monitor.curves["gradients"]["0.weight"] == [
                pytest.approx((grad**2).mean().sqrt().item())
            ]
            moved = 0.5 * (grad**2).mean().sqrt() / (before**2).mean().sqrt()
            assert monitor.curves["updates"]["0.weight"] == [pytest.approx(moved.item(), rel=1e-5)]
            assert monitor.curves["activations"]["1"] == [pytest.approx(hidden.std().item(), 1e-5)]
            assert monitor.curves["zeros"]["1"] == [
                pytest.approx((hidden == 0).cast("float32").mean().item())
            ]
    assert {k: {*v} for k, v in monitor.curves.items()} == {
        "gradients": {"0.weight", "0.bias", "2.weight", "2.bias"},
        "updates": {"0.weight", "0.bias", "2.weight", "2.bias"},
        "activations": {"0", "1", "2"}, "zeros": {"0", "1", "2"},
    }  # fmt: skip
    assert "<svg" in monitor.picture().svg
    model(x)
    monitor.note()
    assert len(monitor.curves["activations"]["0"]) == 3  # the hooks are gone


def test_under_jit_parameters_and_gradients_are_seen() -> None:
    model, x = nn.Linear(3, 2), Tensor.randn(5, 3)
    sgd = optim.SGD(model.parameters(), lr=0.1)

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        loss = (model(x) ** 2).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    monitor = Monitor(model)
    for _ in range(5):
        step(x)
        monitor.note()
    assert [len(monitor.curves[k]["weight"]) for k in ("gradients", "updates")] == [5, 5]
    assert all(u > 0 for u in monitor.curves["updates"]["weight"])
    monitor.close()


def test_a_monitor_of_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="requires a gradient"):
        Monitor(nn.ReLU())
    monitor = Monitor(model := nn.Linear(2, 2))
    with pytest.raises(DataError, match="nothing was noted"):
        monitor.picture()
    model.requires_grad_(False)
    with pytest.raises(GraphError, match="frozen"):
        monitor.note()


def test_a_summary_has_a_row_for_each_call() -> None:
    model = Twice()
    found = summary(model, Tensor.zeros(8, 4))
    assert [(r.path, r.kind, r.shape, r.parameters) for r in found] == [
        ("inner", "Linear", (8, 4), 20), ("inner", "Linear", (8, 4), 20),
        ("last", "Linear", (8, 3), 15), ("(itself)", "Twice", (8, 3), 35),
    ]  # fmt: skip
    assert found.parameters == 35 and found.flops == sum(r.flops for r in found)
    assert found[0].flops >= 2 * 8 * 4 * 4 and found[3].flops == 2 * 8 * 4  # the + 1, and the relu
    assert [r.nbytes for r in found] == [128, 128, 96, 96]
    assert "35" in repr(found).splitlines()[-1] and "<table>" in found._repr_html_()


def test_a_summary_leaves_the_model_as_it_was() -> None:
    model: Any = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[2].eval()
    before = {n: t.tolist() for n, t in model.state_dict().items()}
    state = tutor.random.get_state()
    summary(model, Tensor.ones(8, 4))
    assert {n: t.tolist() for n, t in model.state_dict().items()} == before
    assert [m.training for m in model.modules()] == [True, True, True, False]
    assert tutor.random.get_state() == state
    with pytest.raises(ValueError, match=r"\(8, 3\)"):
        summary(model, Tensor.ones(8, 3))
    assert all(m.hooks is None or not m.hooks.after for m in model.modules())
    assert [m.training for m in model.modules()] == [True, True, True, False]
