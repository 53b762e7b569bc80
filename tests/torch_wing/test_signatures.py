"""Arguments as PyTorch takes them: by position, by its names, or refused with the right ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import tutor.torch as torch
from tutor.errors import ArgumentError
from tutor.torch import signatures

WING = Path(signatures.__file__).parent
MOST = 4000  # lines that are not blank: the wing's budget


def test_the_wing_keeps_its_budget() -> None:
    lines = [line for path in WING.rglob("*.py") for line in path.read_text().splitlines()]
    assert sum(bool(line.strip()) for line in lines) <= MOST


def test_keywords_of_both_kinds() -> None:
    x = torch.ones(2, 3)
    assert torch.sum(input=x, dim=1).tolist() == x.sum(axis=1).tolist() == [3.0, 3.0]
    assert x.sum(1, keepdims=True).shape == x.sum(dim=1, keepdim=True).shape == (2, 1)
    assert x.permute(dims=(1, 0)).shape == x.permute(1, 0).shape == (3, 2)
    assert torch.nn.functional.softmax(x, dim=-1, _stacklevel=5).shape == (2, 3)


@pytest.mark.parametrize("call", [
    lambda: torch.ones(2).sum(nowhere=1),
    lambda: torch.ones(2).topk(),
    lambda: torch.nn.Linear(2, 3, activation="relu"),
    lambda: torch.nn.Conv2d(1, 1, 1, padding_mode="circular"),
    lambda: torch.nn.functional.mse_loss(torch.ones(1), torch.ones(1), reduce=False),
    lambda: torch.optim.SGD([torch.ones(1, requires_grad=True)], differentiable=True),
    lambda: torch.zeros(2, out=torch.ones(2)),
])  # fmt: skip
def test_other_arguments_are_refused(call: object) -> None:
    with pytest.raises(ArgumentError) as found:
        call()  # type: ignore[operator]
    assert found.value.asked and found.value.found and found.value.do


def test_what_changes_nothing_is_taken() -> None:
    torch.optim.Adam(torch.nn.Linear(2, 2).parameters(), fused=True, foreach=False)
    torch.ones(2, pin_memory=True).to("cpu", non_blocking=True, memory_format=torch.channels_last)
    torch.nn.utils.clip_grad_norm_(torch.nn.Linear(2, 2).parameters(), 1.0, foreach=True)


def test_a_result_in_place_has_the_dtype_of_what_it_overwrites() -> None:
    x = torch.zeros(2)
    x.add_(torch.ones(2, dtype=torch.float64))
    assert x.dtype is torch.float32 and x.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="in place"):
        torch.zeros(2, dtype=torch.long).add_(0.5)
