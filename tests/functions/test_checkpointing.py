"""Checkpoints: the same numbers, the same gradients, less memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import tutor
from tutor import Tensor, memory, nn, optim
from tutor.errors import GraphError


def blocks(count: int, width: int = 8) -> list[Any]:
    tutor.manual_seed(0)
    return [nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), tutor.exp,
                          tutor.tanh) for _ in range(count)]  # fmt: skip


def run(parts: list[Any], x: Tensor, kept: bool) -> Tensor:
    for part in parts:
        x = part(x) if kept else tutor.checkpoint(part, x)
    return (x * x).sum()


def gradients(kept: bool, jitted: bool = False) -> Any:
    parts = blocks(3)
    params = nn.get_parameters(parts)
    sgd, found = optim.SGD(params, lr=0.01), []

    def step(x: Tensor) -> Tensor:
        sgd.zero_grad()
        loss = run(parts, x, kept)
        loss.backward()
        sgd.step()
        return loss

    do: Any = tutor.jit(step) if jitted else step
    for n in range(4):
        found.append(do(Tensor.ones(4, 8) * (n + 1)).item())
    return found, [p.tolist() for p in params]


def test_the_same_bits_eager_and_recorded() -> None:
    assert gradients(True) == gradients(False) == gradients(False, jitted=True)


def test_gradients_of_inputs_of_parameters_by_grad_and_of_gradients() -> None:
    (part,) = blocks(1)
    params = nn.get_parameters(part)
    found = []
    for kept in (True, False):
        x = Tensor.ones(2, 8) * 0.5
        x.requires_grad = True
        loss = run([part], x * 1.0, kept)
        first = tutor.grad(loss, [x, *params], create_graph=True)
        second = tutor.grad(sum((g * g).sum() for g in first), [x, *params], allow_unused=True)
        found.append([*first, *second])
    for a, b in zip(*found, strict=True):  # sums are formed in another order
        assert tutor.allclose(a, b, 1e-5)


def test_tensors_that_it_reads_and_other_inputs() -> None:
    found = []
    for kept in (True, False):
        a = Tensor([1.0, 2.0], requires_grad=True)
        h = a * 3  # a part of the graph outside

        def part(x: Tensor, n: int, which: Tensor, *, more: float, h: Tensor = h) -> Tensor:
            return (x * h * n)[which] + more

        args: tuple[Any, ...] = (a * a, 2, Tensor([1, 0, 1]))
        call: Any = part if kept else partial(tutor.checkpoint, part)
        y = call(*args, more=1.0)
        y.sum().backward()
        found.append((y.tolist(), a.grad.tolist()))
    assert found[0] == found[1]


def test_random_numbers_are_the_same_again_and_others_go_on() -> None:
    found = []
    for kept in (True, False):
        tutor.manual_seed(3)
        x = Tensor.ones(50)
        x.requires_grad = True

        def dropped(x: Tensor) -> Tensor:
            return x * x * (Tensor.rand(50) > 0.5)

        y = dropped(x) if kept else tutor.checkpoint(dropped, x)
        between = Tensor.rand(3).tolist()
        y.sum().backward()
        found.append((y.tolist(), x.grad.tolist(), between, Tensor.rand(3).tolist()))
    assert found[0] == found[1]
    assert (tutor.Tensor(found[1][1]) == 2 * Tensor(found[1][0])).all().item()


def test_autocast_is_the_same_again() -> None:
    found = []
    w = Tensor([[0.3, 0.7], [0.11, 0.13]], requires_grad=True)
    for kept in (True, False):
        w.grad = None
        x = Tensor([[1.01, 2.03]])
        with tutor.autocast("bfloat16"):
            part: Any = lambda x: (x @ w).exp()  # noqa: E731
            y = part(x) if kept else tutor.checkpoint(part, x)
        y.sum().backward()
        found.append(w.grad.tolist())
    assert found[0] == found[1]


def kept_bytes(kept: bool) -> int:
    """What is in use after the forward of eight blocks, beyond what was before."""
    parts, x = blocks(8, 64), Tensor.ones(256, 64)
    before = memory.stats().in_use
    loss = run(parts, x, kept)
    held = memory.stats().in_use - before
    loss.backward()
    return held


def test_only_inputs_are_kept() -> None:
    """A block keeps three results, of which a checkpoint keeps its input alone."""
    block = 256 * 64 * 4
    assert kept_bytes(True) >= 8 * 3 * block
    assert kept_bytes(False) < (8 + 2) * block


def test_nothing_to_compute_again() -> None:
    x = Tensor([1.0], requires_grad=True)
    assert tutor.checkpoint(lambda x: x, x) is x
    assert tutor.checkpoint(lambda x: x * 2, Tensor([1.0])).op is None
    with tutor.no_grad():
        assert tutor.checkpoint(lambda x: x * 2, x).op is None
    with pytest.raises(GraphError, match="one Tensor"):
        tutor.checkpoint(lambda x: (x, x), x)
    with pytest.raises(GraphError, match="cannot be called"):
        tutor.checkpoint(x, x)  # type: ignore[arg-type]


def test_an_input_that_was_changed_is_noticed() -> None:
    x = Tensor([1.0], requires_grad=True)
    h = x * 1.0
    y = tutor.checkpoint(lambda h: h * h, h)
    with tutor.no_grad():
        h += 1.0
    with pytest.raises(GraphError, match="changed in place"):
        y.backward()
