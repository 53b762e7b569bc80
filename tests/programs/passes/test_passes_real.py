"""The passes on steps of real code: the same bits after each, and how much shorter they are."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from small import given, run

import tutor
from tutor import Tensor, nn, no_grad, optim
from tutor.programs.passes import improved, stages
from tutor.programs.program import Program

Function = Callable[..., object]


def parameters(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [(Tensor.randn(*shape) * 0.3).detach().requires_grad_() for shape in shapes]


def trained(
    *layers: nn.Module, optimizer: type[optim.Optimizer], shape: tuple[int, ...]
) -> Program:
    """One step of training by the cross entropy."""
    model = nn.Sequential(*layers)
    moves = optimizer(nn.get_parameters(model))

    def step(x: Tensor, t: Tensor) -> Tensor:
        moves.zero_grad()
        loss = model(x).cross_entropy(t)
        loss.backward()
        moves.step()
        return loss

    return recorded(step, Tensor.randn(*shape), Tensor([0, 1] * (shape[0] // 2)))


def recorded(function: Function, *args: Tensor) -> Program:
    """What the function does, as the second call sees it; no pass has been there yet."""
    jitted = tutor.jit(function, passes=())
    for _ in range(2):
        jitted(*args)
    return jitted.recorded


def mlp(optimizer: type[optim.Optimizer]) -> Program:
    return trained(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4),
                   optimizer=optimizer, shape=(6, 12))  # fmt: skip


def cnn() -> Program:
    return trained(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 4),
                   optimizer=optim.SGD, shape=(4, 1, 8, 8))  # fmt: skip


def by_hand() -> Program:
    """SGD without an optimizer: the parameter is written to."""
    (w,) = parameters((6, 4))

    def step(x: Tensor) -> Tensor:
        loss = ((x @ w).relu() ** 2).mean()
        w.grad = None
        loss.backward()
        with no_grad():
            w.assign(w - 0.1 * w.grad)
        return loss

    return recorded(step, Tensor.randn(5, 6))


def normalisation() -> Program:
    g, b = parameters((8,), (8,))

    def step(x: Tensor) -> tuple[Tensor, ...]:
        x = x.detach().requires_grad_()
        d = x - x.mean(axis=-1, keepdims=True)
        y = d / ((d * d).mean(axis=-1, keepdims=True) + 1e-5).sqrt() * g + b
        y.gelu().sum().backward()
        found = y, x.grad, g.grad, b.grad
        g.grad = b.grad = None
        return found

    return recorded(step, Tensor.randn(6, 8))


def attention() -> Program:
    """Queries, keys and values out of one product; a mask; softmax by hand; heads side by side."""
    w, o = parameters((24, 8), (8, 8))
    mask = Tensor.ones(5, 5).tril() == 0

    def step(x: Tensor) -> tuple[Tensor, ...]:
        qkv = (x.reshape(10, 8) @ w.T).reshape(2, 5, 24)
        q, k, v = (qkv[:, :, i : i + 8].reshape(2, 5, 2, 4).transpose(1, 2) for i in (0, 8, 16))
        s = tutor.where(mask, -1e9, (q @ k.transpose(-2, -1)) / 2.0)
        e = (s - s.max(axis=-1, keepdims=True)).exp()
        y = (e / e.sum(axis=-1, keepdims=True)) @ v
        y = y.transpose(1, 2).reshape(10, 8) @ o
        (y * y).mean().backward()
        found = y, w.grad, o.grad
        w.grad = o.grad = None
        return found

    return recorded(step, Tensor.randn(2, 5, 8))


def views() -> Program:
    """Writes into parts, in place, by code that reads before and after them."""
    kept = Tensor.zeros(4, 6)

    def step(x: Tensor) -> tuple[Tensor, ...]:
        y = x.copy()
        y[1] = x[0] * 2
        y[:, ::2] += x[:, 1::2]
        before = kept + 1
        kept.assign(kept * 0.9 + y)
        kept[::-1, 0] = before[:, 1]
        y *= y
        return y, before, (y.T @ kept).cast("float16").cast("float32")

    return recorded(step, Tensor.randn(4, 6))


def dropout() -> Program:
    (w,) = parameters((6, 6))

    def step(x: Tensor) -> tuple[Tensor, ...]:
        h = (x @ w).relu() * (Tensor.rand(4, 6) < 0.5)
        h = h @ w * (Tensor.rand(4, 6) < 0.5)
        h.sum().backward()
        found = h, w.grad
        w.grad = None
        return found

    return recorded(step, Tensor.randn(4, 6))


# Each with the number of its steps, and how many of them are left.
REAL: dict[str, tuple[Callable[[], Program], int, int]] = {
    "mlp, sgd": (lambda: mlp(optim.SGD), 24, 20),
    "mlp, adam": (lambda: mlp(optim.Adam), 24, 20),
    "cnn": (cnn, 19, 18),
    "by hand": (by_hand, 16, 5),
    "normalisation": (normalisation, 32, 10),
    "attention": (attention, 53, 22),
    "views": (views, 13, 8),
    "dropout": (dropout, 19, 7),
}


@pytest.mark.parametrize(("make", "before", "after"), REAL.values(), ids=REAL)
def test_the_same_bits_after_each_pass(
    make: Callable[[], Program], before: int, after: int, backend: str
) -> None:
    what = make()
    numbers = given(what)
    wanted = run(what, numbers)
    for name, made in stages(what)[1:]:
        assert run(made, numbers) == wanted, name


@pytest.mark.parametrize(("make", "before", "after"), REAL.values(), ids=REAL)
def test_how_many_steps_are_left(make: Callable[[], Program], before: int, after: int) -> None:
    what = make()
    assert (len(what), len(improved(what))) == (before, after)


def test_the_work_of_all_passes_grows_with_the_number_of_steps() -> None:
    """And not with its square: counted in calls of functions."""

    def step(x: Tensor, layers: int) -> Tensor:
        for _ in range(layers):
            h = (x @ x).relu() + x
            x = (h - h.mean(axis=-1, keepdims=True)) * 0.5
        return x

    calls = []
    for layers in (50, 100):
        what = recorded(lambda x, n=layers: step(x, n), Tensor.randn(2, 2))
        assert len(what) == 6 * layers
        calls.append(_calls(what))
    assert calls[1] < 2.5 * calls[0]


def _calls(what: Program) -> int:
    count = 0

    def seen(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        improved(what)
    finally:
        sys.setprofile(None)
    return count


def test_all_passes_once_more_find_nothing_left() -> None:
    for make, _, _ in REAL.values():
        once = improved(make())
        assert improved(once).text() == once.text()
