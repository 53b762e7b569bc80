"""Seeds, generators and draws in place: repeatable, and with the right moments."""

from __future__ import annotations

from typing import Any

import pytest

import tutor.torch as torch


def test_a_seed_repeats_the_numbers() -> None:
    torch.manual_seed(3)
    a, state = torch.rand(4), torch.get_rng_state()
    b = torch.randn(4)
    torch.manual_seed(3)
    assert torch.rand(4).tolist() == a.tolist()
    torch.set_rng_state(state)
    assert torch.randn(4).tolist() == b.tolist()


def test_a_generator_has_numbers_of_its_own() -> None:
    g, h = (torch.Generator().manual_seed(1) for _ in range(2))
    torch.manual_seed(0)
    first = torch.rand(3, generator=g)
    common = torch.rand(3)
    assert torch.rand(3, generator=h).tolist() == first.tolist()
    torch.manual_seed(0)
    assert torch.rand(3).tolist() == common.tolist()


DRAWS: dict[str, tuple[Any, float, float]] = {  # the mean and the standard deviation
    "normal_": (lambda x: x.normal_(2.0, 3.0), 2.0, 3.0),
    "uniform_": (lambda x: x.uniform_(-1.0, 3.0), 1.0, 4 / 12**0.5),
    "bernoulli_": (lambda x: x.bernoulli_(0.25), 0.25, 0.1875**0.5),
    "exponential_": (lambda x: x.exponential_(2.0), 0.5, 0.5),
    "random_": (lambda x: x.random_(0, 3), 1.0, (2 / 3) ** 0.5),
    "log_normal_": (lambda x: x.log_normal_(0.0, 0.25).log(), 0.0, 0.25),
    "normal": (lambda x: torch.normal(x + 1, 2.0), 1.0, 2.0),
    "randint": (lambda x: torch.randint(0, 3, x.shape).float(), 1.0, (2 / 3) ** 0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_moments(name: str) -> None:
    torch.manual_seed(0)
    draw, mean, spread = DRAWS[name]
    x = draw(torch.zeros(20_000))
    assert abs(x.mean().item() - mean) < 0.05 * spread
    assert abs(x.std().item() - spread) < 0.05 * spread
