"""Anomaly mode names the first operation that makes a nan or inf, and the line it stands in."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import tutor
from tutor import Tensor, nn
from tutor.errors import AnomalyError


def line(function: Callable[..., object], text: str) -> str:
    """`file:number` of the line of the function in which `text` stands."""
    lines, first = inspect.getsourcelines(function)
    number = next(i for i, code in enumerate(lines) if text in code)
    return f"{__file__}:{first + number}"


def forward() -> None:
    x = Tensor([1.0, 0.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.log()  # here
    z.sum().backward()


def derivative() -> None:
    x = Tensor([1.0, 0.0, 2.0], requires_grad=True)
    y = (x * 2).sqrt()  # here
    y.sum().backward()


@pytest.mark.parametrize(
    ("function", "op"), [(forward, "log"), (derivative, "the derivative of sqrt")]
)
def test_the_first_one_is_named(function: Callable[[], None], op: str, backend: str) -> None:
    function()  # which nobody hears about otherwise
    with pytest.raises(AnomalyError) as caught, tutor.detect_anomaly():
        function()
    assert caught.value.asked.startswith(op)
    assert f"at {line(function, '# here')}" in caught.value.asked
    assert caught.value.found and caught.value.do


def test_what_was_no_number_before_is_no_anomaly(backend: str) -> None:
    x = Tensor([float("nan"), float("inf")])
    with tutor.detect_anomaly():
        assert (x * 2 + 1).sum().isnan().item()
        ints = Tensor([1, 2]) // 1
    assert ints.tolist() == [1, 2]


def test_a_training_step_without_one_runs_through(backend: str) -> None:
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), Tensor.randn(5, 3)

    def gradients() -> list[list[float]]:
        for p in nn.get_parameters(model):
            p.grad = None
        model(x).cross_entropy(Tensor([0, 1, 0, 1, 0])).backward()
        return [p.grad.tolist() for p in nn.get_parameters(model)]

    before = gradients()
    with tutor.detect_anomaly():
        assert gradients() == before
