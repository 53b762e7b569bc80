"""`with tutor.lazy():` gives the bits of eager execution, and runs what is asked for alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_names import BACKENDS, LEVELS
from hypothesis import given, settings
from hypothesis import strategies as st

import tutor
from tutor import Tensor, memory, nn, optim, registry
from tutor.errors import TutorError
from tutor.programs import together

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
from test_ops import CASES, draw


@pytest.fixture(params=["twin", "engine"])
def twin(request: pytest.FixtureRequest) -> Iterator[str]:
    """With the Engine's twin in C++, where there is one, and without it."""
    _simd = pytest.importorskip("tutor.backends.simd_cpp._simd") if LEVELS else None
    if _simd and request.param == "engine":
        _simd.use_twin(False)
    yield request.param
    if _simd:
        _simd.use_twin(True)


def bits(value: Any) -> Any:
    """A result as plain data: all of a Tensor that can be seen, bit for bit."""
    if isinstance(value, (tuple, list)):
        return [bits(v) for v in value]
    if not isinstance(value, Tensor):
        return value
    row = value.detach().copy().buf.raw.tobytes()
    grad = None if value.grad is None else bits(value.grad)
    return value.shape, value.dtype, row, value.requires_grad, grad, value.buf.version


def both(program: Callable[[], Any]) -> tuple[Any, Any]:
    """What a program gives, and the random numbers after it: eager, and in the block; which is the
    same whether small steps go one by one or together."""
    found, least = [], together.LEAST
    for lazily in (None, least, 0):
        tutor.manual_seed(7)
        if lazily is None:
            found.append((bits(program()), tutor.random.get_state()))
        else:
            together.LEAST = lazily
            try:
                with tutor.lazy():
                    result = program()
                found.append((bits(result), tutor.random.get_state()))
            finally:
                together.LEAST = least
    assert str(found[1]) == str(found[2])  # a nan is itself, too
    return found[0], found[1]


# ---- programs ------------------------------------------------------------------------------------


def numbers(*shape: int, seed: int = 0, grad: bool = False) -> Tensor:
    drawn = np.random.default_rng(seed).normal(size=shape)
    return Tensor(drawn, dtype="float32", requires_grad=grad)


def chain() -> Any:
    x = numbers(3, 4)
    return (x * 2 + 1).relu().sum(), x


def views() -> Any:
    x = numbers(4, 6)
    y = x.T[1:5:2].exp()
    return y, y.reshape(2, 4).flip(0), (x[:, 0] + y[0]), y[::-1].copy()


def written_through_views() -> Any:
    x = numbers(4, 6) * 1
    row, column = x[1], x[:, 2]
    before = x.sum()
    row += 1
    x[2:, ::2] = -7
    column *= 3
    between = x * 1
    x.T[0].assign(5.0)
    return x, before, between, row, column


def slices_of_itself() -> Any:
    x = numbers(10) * 1
    x[1:] = x[:-1]
    x[:5] += x[5:]
    x.assign(x.flip(0))
    return x, x.sum()


def overwritten_as_a_whole() -> Any:
    x = numbers(5) * 1
    y = x + 1
    x.assign(y * 2)
    z = x.exp()
    x.zero_()
    return x, y, z


def saved_and_changed_since() -> Any:
    x = numbers(3, grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.detach().add_(1)
    try:
        z.backward()
    except TutorError as error:
        return type(error), x.grad
    raise AssertionError("a value that was saved has changed")


def twice_differentiated() -> Any:
    x = numbers(3, 3, grad=True)
    z = (x.tanh() @ x).sum()
    z.backward(create_graph=True)
    g = x.grad
    assert g is not None
    (g * g).sum().backward()
    return x, g


def with_hooks() -> Any:
    x, seen = numbers(4, grad=True), []
    y = x * 3

    def double(g: Tensor) -> Tensor:
        seen.append(g)
        return g * 2

    y.register_hook(double)
    (y.exp() * y).mean().backward()
    return x, seen


def under_no_grad() -> Any:
    w = numbers(3, grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        with tutor.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return w


def by_hand() -> Any:
    w = numbers(3, grad=True)
    (w.exp()).sum().backward()
    w.buf.data -= 0.5 * w.grad.buf.data
    return w


def drawn() -> Any:
    first = Tensor.rand(4)
    lost = Tensor.randn(100)  # nobody asks for it, but the next ones come after it
    del lost
    return first, tutor.randint(0, 10, (5,)), tutor.randperm(6), Tensor.randn(3)


def dropped_out() -> Any:
    x = numbers(20, grad=True)
    y = x * (Tensor.rand(20) > 0.5) * 2
    y.sum().backward()
    return x, y


def shapes_that_depend() -> Any:
    x = numbers(4, 5)
    y = x * 2
    found = y[y > 0]
    return found, (y > 0).nonzero(), (y * 2).round().flatten().unique()


def by_position() -> Any:
    x = numbers(4, 5) * 1
    at = Tensor([3, 0, 0])
    rows = x[at]
    x[at] = 1.0
    x[x < 0] = 0.0
    return rows, x, x.gather(1, at.reshape(3, 1))


def trained(make: Callable[[Any], optim.Optimizer]) -> Callable[[], Any]:
    def run() -> Any:
        tutor.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = make(nn.get_parameters(model))
        x, target, losses = numbers(6, 4), Tensor([0, 1, 2, 2, 1, 0]), []
        for step in range(4):
            loss = model(x * (Tensor.rand(6, 4) < 0.7)).cross_entropy(target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            optimizer.lr = optimizer.lr * 0.9
            losses.append(loss.detach())
            if step == 2:
                losses.append(loss.item())
        state = [t for name, t in optimizer.state_dict().items() if name != "steps"]
        return losses, nn.get_parameters(model), state, optimizer.steps, optimizer.lr

    return run


def other_backends() -> Any:
    x = numbers(3, 3)
    with tutor.use_backend("python"):
        y = x @ x
    with tutor.use_backend(registry.current()):
        z = y.exp()
    return y, z


def of_integers() -> Any:
    x = Tensor([7, -8, 9], dtype="int16")
    y = x // 2
    y += 3
    return y, x % 3, x.cast("uint8"), (x > 0).sum(), y / x


def summed_in_place() -> Any:
    total = Tensor.zeros(3)
    for i in range(5):
        total += numbers(3, seed=i)
    return total


PROGRAMS = [
    chain, views, written_through_views, slices_of_itself, overwritten_as_a_whole,
    saved_and_changed_since, twice_differentiated, with_hooks, under_no_grad, by_hand, drawn,
    dropped_out, shapes_that_depend, by_position, other_backends, of_integers, summed_in_place,
    trained(lambda ps: optim.SGD(ps, lr=0.1)),
    trained(lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9)),
    trained(lambda ps: optim.Adam(ps, lr=0.05, weight_decay=0.01)),
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__qualname__)
def test_lazy_is_eager_to_the_bit(program: Callable[[], Any], backend: str, twin: str) -> None:
    eager, lazy = both(program)
    assert eager == lazy


def test_every_op_forward_and_backward(backend: str, twin: str) -> None:
    for case in CASES:
        arrays = draw(case)

        def program(arrays: Any = arrays, case: Any = case) -> Any:
            xs = [Tensor(a, requires_grad=a.dtype.kind == "f" and case.orders > 0) for a in arrays]
            z = case.f(*xs)
            outs = list(z) if isinstance(z, (tuple, list)) else [z]
            for out in outs:
                if isinstance(out, Tensor) and out.requires_grad:
                    out.sum().backward(retain_graph=True)
            return outs, xs

        eager, lazy = both(program)
        assert eager == lazy, case


# ---- random programs -----------------------------------------------------------------------------


def matching(x: Tensor, y: Tensor) -> Tensor:
    """y, or as much of it as fits beside x."""
    return y if y.shape == x.shape else y.sum()


def pick(x: Tensor, n: int) -> Tensor:
    """One of the views of x."""
    if x.ndim == 0 or 0 in x.shape:
        return x.reshape(1) if x.numel() else x
    views: list[Callable[[Tensor], Tensor]] = [
        lambda t: t.T, lambda t: t[::2], lambda t: t[1:], lambda t: t.flip(0), lambda t: t[0],
        lambda t: t.reshape(-1), lambda t: t.unsqueeze(0), lambda t: t[..., -1],
    ]  # fmt: skip
    return views[n % len(views)](x)


def in_place(x: Tensor, y: Tensor) -> Tensor:
    with tutor.no_grad():
        x += matching(x, y)
    return x


def part_of_itself(x: Tensor) -> Tensor:
    if x.ndim and x.shape[0] > 1:
        with tutor.no_grad():
            x[1:] = x[:-1] * 1 if x.numel() % 2 else x[:-1]
    return x


def backward(x: Tensor, twice: bool) -> Tensor:
    if not x.requires_grad:
        return x
    (x * x).sum().backward(create_graph=twice)
    return x


def hooked(x: Tensor) -> Tensor:
    if x.requires_grad:
        x.register_hook(lambda g: g * 2)
    return x


def overwritten(x: Tensor, n: int) -> Tensor:
    with tutor.no_grad():
        x.assign(float(n))
    return x


INSTRUCTIONS: list[Callable[[Tensor, Tensor, int], Any]] = [
    lambda x, y, n: x + matching(x, y),
    lambda x, y, n: x * matching(x, y) * 0.25,
    lambda x, y, n: x.tanh(),
    lambda x, y, n: (x - n).relu(),
    lambda x, y, n: x.softmax() if x.ndim else x,
    lambda x, y, n: tutor.where(x > matching(x, y), x, 0.5),
    lambda x, y, n: x @ x.T if x.ndim == 2 else x,
    lambda x, y, n: x.sum(axis=0) if x.ndim else x,
    lambda x, y, n: pick(x, n),
    lambda x, y, n: pick(x, n),
    lambda x, y, n: in_place(x, y),
    lambda x, y, n: in_place(pick(x, n), y),
    lambda x, y, n: overwritten(pick(x, n), n),
    lambda x, y, n: overwritten(x, n),
    lambda x, y, n: part_of_itself(x),
    lambda x, y, n: backward(x, twice=False),
    lambda x, y, n: backward(x, twice=True),
    lambda x, y, n: hooked(x),
    lambda x, y, n: x * (Tensor.rand(*x.shape) > 0.5),
    lambda x, y, n: x.detach().copy(),
    lambda x, y, n: None if n % 3 else x.sum().item(),
    lambda x, y, n: x.cast("float64").cast("float32"),
    lambda x, y, n: x.grad * 1 if x.grad is not None and x.grad.numel() == x.numel() else x,
]
ROWS = st.tuples(
    st.integers(0, len(INSTRUCTIONS) - 1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)
)


def interpreted(rows: list[tuple[int, int, int, int]]) -> Any:
    pool: list[Any] = [numbers(3, 4, grad=True), numbers(4, seed=1), numbers(3, 4, seed=2)]
    leaf, said = pool[0], []
    for number, i, j, n in rows:
        x, y = pool[i % len(pool)], pool[j % len(pool)]
        try:
            found = INSTRUCTIONS[number](x, y, n)
        except TutorError as error:
            said.append(type(error))
            continue
        if not isinstance(found, Tensor):
            said.append(found)
        elif len(pool) < 8:
            pool.append(found)
        else:
            pool[n % 8] = found  # nobody asks for what was there
    return pool, leaf, said


@pytest.mark.parametrize("name", BACKENDS)
@settings(max_examples=60)
@given(rows=st.lists(ROWS, min_size=1, max_size=25))
def test_random_programs_give_the_same_bits(name: str, rows: Any) -> None:
    with tutor.use_backend(name), np.errstate(all="ignore"):
        eager, lazy = both(lambda: interpreted(rows))
    assert str(eager) == str(lazy)  # a nan is itself, too


# ---- beside tutor.jit ----------------------------------------------------------------------------


def test_a_jitted_function_in_the_block_and_the_block_in_one(backend: str) -> None:
    w = Tensor([2.0, 3.0], requires_grad=True)

    @tutor.jit
    def step(x: Tensor) -> Tensor:
        with tutor.lazy():
            loss = (x * w).sum()
            loss.backward()
        with tutor.no_grad():
            w.assign(w - 0.5 * w.grad)
        w.grad = None
        return loss.detach()

    losses = []
    for _ in range(4):
        with tutor.lazy():
            x = Tensor([1.0, 1.0]) * 1
            losses.append(step(x))
    assert [loss.item() for loss in losses] == [5.0, 4.0, 3.0, 2.0]
    assert w.tolist() == [0.0, 1.0]
    assert step.stats()["recorded"] == 0  # within the block it is the function itself


DEPTH = 100_000


def test_a_long_chain_is_noted_let_go_and_kept_without_recursion() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        with tutor.lazy():
            y = Tensor([1.0, 2.0]) * 1
            for n in range(DEPTH):
                y = y + 1
                if n == DEPTH // 2:
                    middle = y
            assert len(tutor.schedule(y).steps) == DEPTH + 1
            before = memory.stats().in_use
            del y  # half of the chain goes, one after another
            assert memory.stats().in_use == before
        assert middle.tolist() == [DEPTH // 2 + 2, DEPTH // 2 + 3]
    finally:
        sys.setrecursionlimit(limit)
