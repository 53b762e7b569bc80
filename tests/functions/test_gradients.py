"""grad(y, xs): the same numbers as backward(), returned, with no `.grad` touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, grad
from tutor.errors import ArgumentError, GraphError, ShapeError, TutorError

pytestmark = pytest.mark.usefixtures("place")


def leaf(*values: float) -> Tensor:
    return Tensor(list(values), requires_grad=True)


def test_it_is_what_backward_adds() -> None:
    x, w, b = leaf(1.0, 2.0), Tensor([[1.0, 2.0], [3.0, -4.0]], requires_grad=True), leaf(0.5, 1.0)

    def loss() -> Tensor:
        return ((x @ w + b).relu() * x).sum()

    found = grad(loss(), (x, w, b))
    assert isinstance(found, tuple)
    assert [t.grad for t in (x, w, b)] == [None] * 3
    loss().backward()
    for t, g in zip((x, w, b), found, strict=True):
        assert t.grad.tolist() == g.tolist()
        assert not g.requires_grad
    one = grad(loss(), w)
    assert one.tolist() == w.grad.tolist()
    assert isinstance(grad(loss(), [w]), tuple)


def test_by_tensors_in_the_middle() -> None:
    x = leaf(3.0)
    h = x * x
    y = h * h * x
    gh, gx = grad(y.sum(), (h, x), retain_graph=True)
    assert (gh.item(), gx.item()) == (2 * 9 * 3, 5 * 81)
    assert grad(y.sum(), y, retain_graph=True).item() == 1
    assert grad(y.sum(), y.sum(), retain_graph=True, allow_unused=True) is None
    assert h.grad is None


def test_only_what_lies_between_is_walked() -> None:
    seen: list[str] = []
    x, z = leaf(2.0), leaf(3.0)
    h, other = x * 2, z * 5
    h.register_hook(lambda g: seen.append("h"))
    other.register_hook(lambda g: seen.append("other"))
    x.register_hook(lambda g: seen.append("x"))
    z.register_hook(lambda g: seen.append("z"))
    y = (h * other).sum()
    assert grad(y, h, retain_graph=True).item() == 15
    assert seen == ["h"]
    assert grad(y, x).item() == 30
    assert seen == ["h", "h", "x"]


def test_higher_orders() -> None:
    x = leaf(2.0)
    y = (x**4).sum()
    expected = [32.0, 48.0, 48.0, 24.0]
    for order in expected:
        y = grad(y, x, create_graph=True).sum()
        assert y.item() == pytest.approx(order)
    # a penalty on the slope, as some losses have it
    w = leaf(3.0)
    slope = grad((w * x * x).sum(), x, create_graph=True)
    (slope * slope).sum().backward()
    assert w.grad.item() == 2 * (2 * 3.0 * 2.0) * (2 * 2.0)


def test_a_gradient_to_begin_with() -> None:
    x = leaf(1.0, 2.0)
    assert grad(x * x, x, Tensor([10.0, 100.0])).tolist() == [20.0, 400.0]
    assert grad(x * x, x, [1.0, 1.0]).tolist() == [2.0, 4.0]
    with pytest.raises(GraphError, match="one number"):
        grad(x * x, x)
    with pytest.raises(ShapeError, match="same shape"):
        grad(x * x, x, [1.0])


def test_the_graph_is_freed_unless_kept() -> None:
    x = leaf(1.0)
    y = (x * x).sum()
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(GraphError, match="freed"):
        grad(y, x)


def test_what_is_unused() -> None:
    x, z = leaf(1.0), leaf(2.0)
    y = (x * x).sum()
    with pytest.raises(GraphError, match=r"(?s)xs\[1\].*allow_unused"):
        grad(y, (x, z))
    gx, gz = grad(y, (x, z), allow_unused=True)  # the refused call has left the graph as it was
    assert (gx.item(), gz) == (2, None)


@pytest.mark.parametrize("wrong", [Tensor([1.0]), 3, None])
def test_what_needs_no_gradient_is_refused(wrong: Any) -> None:
    x = leaf(1.0)
    with pytest.raises(GraphError, match="requires_grad_"):
        grad((x * x).sum(), wrong)
    with pytest.raises(GraphError, match="requires_grad"):
        grad(Tensor([1.0]), x)


def test_results_share_no_memory() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = Tensor([1.0, 1.0])
    gx, gy, again = grad(x + y, (x, y, x), seed)
    assert len({id(t.buf) for t in (gx, gy, seed)}) == 3
    gx.zero_()
    assert gy.tolist() == seed.tolist() == [1.0, 1.0]
    assert again is gx or again.tolist() == [1.0, 1.0]
    z = leaf(1.0, 2.0)
    g = grad(z.sum(), z)
    g[0] = 5.0
    assert g.tolist() == [5.0, 1.0]


def test_a_kept_gradient_is_not_touched() -> None:
    x = leaf(1.0)
    h = (x * 2).retain_grad()
    grad((h * h).sum(), x)
    assert h.grad is None


def test_the_picture_of_the_walk_takes_the_same_one() -> None:
    from tutor.viz.gradients import visits

    x, seen = leaf(1.0, 2.0), list[int]()
    y = (x * x + 3) * 2
    y.register_hook(lambda g: seen.append(1))
    found = visits(y)
    assert [type(v.op).__name__ for v in found] == ["Mul", "Add", "Mul"]
    total = [sum(parts) for parts in zip(*(g.tolist() for _, g in found[-1].shares), strict=True)]
    assert not seen  # the hooks are the user's: a picture does not call them
    assert total == grad(y.sum(), x).tolist() == [4.0, 8.0]
    assert x.grad is None


def test_under_no_grad_and_with_inference() -> None:
    x = leaf(2.0)
    y = (x * x * x).sum()
    with tutor.no_grad():
        g = grad(y, x, create_graph=True)
    assert g.requires_grad
    assert grad(g.sum(), x).item() == 12


def test_grad_by_pytorchs_names_is_a_tuple() -> None:
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor(3.0, requires_grad=True)
    grad = tutor.autograd.grad
    assert [g.tolist() for g in grad((x * y).sum(), x)] == [[3.0, 3.0]]
    z, one = x * y, Tensor([1.0, 10.0])
    found = grad(outputs=z, inputs=[x, y], grad_outputs=one, create_graph=True)
    assert [g.tolist() for g in found] == [[3.0, 30.0], 21.0]
    assert grad(found[1], x)[0].tolist() == [1.0, 10.0]  # d(sum of x one)/dx
    several = grad([(x * x).sum(), x * y], [x], grad_outputs=[None, one])
    assert several[0].tolist() == [2.0 + 3.0, 4.0 + 30.0]
    assert grad((x * x).sum(), [x, y], allow_unused=True)[1] is None
    for wrong in ((), [x * y, y]):
        with pytest.raises(ArgumentError):
            grad(wrong, x, grad_outputs=one)


def test_tensors_are_made_by_pytorchs_names() -> None:
    x = tutor.tensor([1, 2], dtype=tutor.float, requires_grad=True)
    assert x.requires_grad and x.dtype is tutor.float32 and x.tolist() == [1.0, 2.0]
    assert tutor.tensor([1]).dtype is tutor.long is tutor.int64
    assert (tutor.double, tutor.half, tutor.int) == (tutor.float64, tutor.float16, tutor.int32)
    array = np.zeros(3)
    shared = tutor.from_numpy(array)
    array[1] = 4.0
    assert shared.tolist() == [0.0, 4.0, 0.0] and shared.dtype is tutor.float64
    array.flags.writeable = False
    with pytest.raises(TutorError):
        tutor.from_numpy(array).zero_()
    with pytest.raises(TutorError):
        tutor.from_numpy([1.0])
