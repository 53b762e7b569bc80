"""An op from elsewhere whose derivative lies is told of, once; and nothing else is said."""

from __future__ import annotations

import random
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Function, Tensor
from tutor.core.op import Op
from tutor.ops.elementwise import Unary

pytestmark = pytest.mark.usefixtures("backend")


def op(forward: Any, backward: Any, **attributes: Any) -> Any:
    """A Function of its own, not looked at yet."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (Function,), {**methods, "__module__": __name__, **attributes})


def saved(f: Any) -> Any:
    def forward(ctx: Any, *xs: Tensor, **params: Any) -> Tensor:
        ctx.save_for_backward(*xs)
        ctx.params_ = params
        return f(*xs, **params)

    return forward


def told(made: Any, *shapes: tuple[int, ...], **params: Any) -> int:
    """How often two steps of training with it warn."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            xs = [Tensor(rng.standard_normal(s), dtype="float32", requires_grad=True)
                  for s in shapes or ((2, 3),)]  # fmt: skip
            made.apply(*xs, **params).sum().backward()
    assert all(w.category is RuntimeWarning for w in found)
    return len(found)


def x_of(ctx: Any) -> Tensor:
    return ctx.saved_tensors[0]


LIES = {
    "a factor is missing": (lambda x: x * x, lambda c, g: g * x_of(c)),
    "a sign": (lambda x: x.tanh(), lambda c, g: -g * (1 - x_of(c).tanh() ** 2)),
    "a derivative of another": (lambda x: x.exp(), lambda c, g: g * x_of(c).sigmoid()),
    "nothing of something": (lambda x: x.sin(), lambda c, g: g * 0),
    "something of nothing": (lambda x: x.round(), lambda c, g: g),
    "a tenth too much": (lambda x: x * 3, lambda c, g: g * 3.3),
    "beside the axis": (lambda x: x.cumsum(0), lambda c, g: g.cumsum(0)),
}
TRUTHS = {
    "a product": (lambda x: x * x, lambda c, g: g * x_of(c) * 2),
    "a kink": (lambda x: x.relu(), lambda c, g: g * (x_of(c) > 0).cast(g.dtype)),
    "a kink that lies at each input": (
        lambda x: (x * 0).relu() + x, lambda c, g: g),
    "float32 in between": (
        lambda x: (x.cast("float32") ** 2).cast(x.dtype), lambda c, g: g * x_of(c) * 2),
    "a step": (lambda x: x.floor(), lambda c, g: g * 0),
    "a sum": (lambda x: x.sum(), lambda c, g: g.expand(x_of(c).shape)),
    "of NumPy": (lambda x: Tensor(np.sin(x.numpy())), lambda c, g: g * x_of(c).cos()),
}  # fmt: skip
UNKNOWN = {  # nothing can be said about these, though their derivative is wrong
    "noise": (lambda x: x + Tensor.randn(*x.shape, dtype=x.dtype), lambda c, g: g * 7),
    "NumPy's noise": (lambda x: x * float(np.random.rand()), lambda c, g: g * 7),
    "float32 alone": (lambda x: x.cast("float32") * 2, lambda c, g: g * 7),
    "nowhere finite": (lambda x: x * 0 / 0, lambda c, g: g * 7),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_told_of_once(name):
    f, backward = LIES[name]
    made = op(saved(f), backward)
    assert told(made) == 1
    assert told(made) == 0


@pytest.mark.parametrize("name", [*TRUTHS, *UNKNOWN])
def test_nothing_else_is_said(name):
    f, backward = (TRUTHS | UNKNOWN)[name]
    assert told(op(saved(f), backward)) == 0


def test_zeros_lie_on_no_kink():
    made = op(saved(lambda x: x.relu()), lambda c, g: g * (x_of(c) > 0).cast(g.dtype))
    x = Tensor.zeros(3, requires_grad=True)
    made.apply(x).sum().backward()  # a warning would be an error here
    made = op(saved(lambda x: x * 3), lambda c, g: g)
    with pytest.warns(RuntimeWarning):
        made.apply(x).sum().backward()


def test_the_warning_says_what_and_where():
    made = op(*(saved(LIES["a factor is missing"][0]), LIES["a factor is missing"][1]))
    z = made.apply(Tensor([3.0], requires_grad=True))
    with pytest.warns(RuntimeWarning, match="first backward of Made") as found:
        z.backward()
    text = str(found[0].message)
    assert all(word in text for word in ("asked", "found", "to do", "gradcheck = False"))
    assert found[0].filename == __file__


def test_as_an_error_it_ends_the_first_backward_alone():
    made = op(saved(lambda x: x * x), lambda c, g: g * x_of(c))
    x = Tensor([3.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            made.apply(x).backward()
        assert x.grad is None
        made.apply(x).backward()
    assert x.grad.item() == 3


def test_it_can_be_switched_off(monkeypatch):
    f, backward = LIES["something of nothing"]
    assert told(op(saved(f), backward, gradcheck=False)) == 0
    monkeypatch.setattr(Op, "gradcheck", False)
    assert told(op(saved(f), backward)) == 0


def test_a_gradient_that_is_none_is_left_out():
    made = op(saved(lambda x, y: x * y), lambda c, g: (g * c.saved_tensors[1], None))
    assert told(made, (2, 3), (3,)) == 0
    made = op(saved(lambda x, y: x * y), lambda c, g: (g * c.saved_tensors[0], None))
    assert told(made, (2, 3), (2, 3)) == 1


def test_sizes_and_parameters():
    """Large inputs are cut; what must have its own sizes, or a position, is not."""
    matmul = lambda wrong: op(  # noqa: E731
        saved(lambda x, w: x @ w),
        lambda c, g: (g @ c.saved_tensors[1].T, c.saved_tensors[0].T @ g * wrong),
    )
    assert told(matmul(1), (300, 70), (70, 50)) == 0
    assert told(matmul(2), (300, 70), (70, 50)) == 1

    def folded(ctx: Any, x: Tensor, *, n: int) -> Tensor:
        ctx.before = x.shape
        return x.reshape(n, 12) * 2

    for wrong in (2, 3):
        made = op(folded, lambda c, g, wrong=wrong: g.reshape(c.before) * wrong)
        assert told(made, (8, 9), n=6) == wrong - 2
    made = op(folded, lambda c, g: g.reshape(c.before) * 3)  # too many numbers to be taken whole
    assert told(made, (600, 12), n=600) == 0


def test_ops_are_looked_at_as_functions_are():
    class Half(Unary):
        name = "half_of_a_test"
        saves, wants_float = ("x",), True

        @tutor.no_grad()
        def forward(self, x):
            return x * x

        def backward(self, g, x):
            return g * x

    class Whole(Half):
        name = "whole_of_a_test"

        def backward(self, g, x):
            return g * x * 2

    try:
        x = Tensor([2.0, 3.0], requires_grad=True)
        Whole(x).apply().sum().backward()
        with pytest.warns(RuntimeWarning, match="Half"):
            Half(x).apply().sum().backward()
    finally:
        for name in ("half_of_a_test", "whole_of_a_test"):
            del tutor.OPS[name]


def test_the_librarys_own_cost_nothing():
    for cls in tutor.OPS.values():
        if cls.__module__.startswith("tutor."):
            assert not hasattr(cls.backward, "formula")
    made = op(saved(lambda x: x * 2), lambda c, g: g * 2)
    assert hasattr(made.backward, "formula")
    assert told(made) == 0
    assert not hasattr(made.backward, "formula")  # and nor do others, after the first


def test_random_numbers_go_on_as_without_it():
    def step(made: Any) -> list[float]:
        tutor.manual_seed(3)
        x = Tensor([1.0, 2.0], requires_grad=True)
        made.apply(x).sum().backward()
        return Tensor.rand(4).tolist()

    f, backward = UNKNOWN["noise"]
    assert step(op(saved(f), backward)) == step(op(saved(f), backward, gradcheck=False))


def test_it_waits_for_a_call_that_is_neither_recorded_nor_put_off_nor_watched():
    f, backward = LIES["a factor is missing"]
    made = op(saved(f), backward)
    x = Tensor([3.0], requires_grad=True)
    y = made.apply(x)
    with tutor.watch(lambda step, go: go()):
        y.backward(retain_graph=True)
    with tutor.lazy():
        y.backward(retain_graph=True)
    assert hasattr(made.backward, "formula")
    with pytest.warns(RuntimeWarning):
        y.backward()
    right = op(saved(lambda x: x * x), lambda c, g: g * x_of(c) * 2)

    def train(x: Tensor) -> Tensor:
        w = x.detach().requires_grad_()
        right.apply(w).sum().backward()
        return w.grad

    recorded = tutor.jit(train)
    assert [recorded(Tensor([float(i)])).item() for i in range(5)] == [0, 2, 4, 6, 8]


def test_second_derivatives_and_other_modes():
    made = op(saved(lambda x: x**3), lambda c, g: g * x_of(c) ** 2 * 3)
    x = Tensor([2.0], requires_grad=True)
    made.apply(x).backward(create_graph=True)
    (x.grad * 1).backward()
    assert x.grad.item() == 12 + 12
    half = op(saved(lambda x: x * x), lambda c, g: g * x_of(c) * 2)
    with tutor.autocast("bfloat16"):
        z = half.apply(Tensor([2.0], requires_grad=True))
    with tutor.no_grad():
        z.backward()


def test_an_interrupt_passes_and_it_is_looked_at_again():
    calls: list[int] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return x * x

    made = op(forward, lambda c, g: g * x_of(c))
    x = Tensor([2.0], requires_grad=True)
    with pytest.raises(KeyboardInterrupt):
        made.apply(x).backward()
    assert x.grad is None
    with pytest.warns(RuntimeWarning):
        made.apply(x).backward()


def test_what_an_op_keeps_of_a_call_is_that_call_s():
    """Each forward has a ctx of its own; a count beside it makes it another op each time."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.factor = x.detach().max().item()
        seen.append(ctx)
        return x * (2 + (len(seen) > 3))

    made = op(forward, lambda c, g: g * c.factor)
    x = Tensor([2.0, 5.0], requires_grad=True)
    made.apply(x).sum().backward()
    assert x.grad.tolist() == [5, 5]
    assert len(set(map(id, seen))) == len(seen)
    calls: list[int] = []

    def counting(ctx: Any, x: Tensor) -> Tensor:
        calls.append(1)
        return x * (2 + (len(calls) > 2))

    op(counting, lambda c, g: g * 2).apply(x).sum().backward()  # a warning would be an error


def test_in_threads():
    made = op(saved(lambda x: x * x), lambda c, g: g * x_of(c) * 2)
    grads: list[Any] = []

    def run() -> None:
        x = Tensor([float(random.randint(1, 9))], requires_grad=True)
        made.apply(x).backward()
        grads.append(x.grad.item() == 2 * x.item())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert grads == [True] * 8


def test_gradcheck_is_the_comparison():
    made = op(saved(lambda x: x * x), lambda c, g: g * x_of(c))
    with pytest.raises(tutor.errors.GraphError, match="gradcheck"):
        tutor.testing.gradcheck(made.apply, [1.0, 2.0])
