"""Changes in place that a graph follows: gradients of the same formula written without them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import tutor
from tutor import Tensor, no_grad
from tutor.errors import GraphError
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("place")

W = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
V = [[1.0, 2.0, -1.0], [0.5, 3.0, 0.25]]


def one_row(x: Tensor, i: int, row: Tensor) -> Tensor:
    return tutor.stack([row if i == k else x[k] for k in range(x.shape[0])])


def changed(change: Callable[[Tensor, Tensor], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    """w * 2, changed in place."""

    def run(w: Tensor, v: Tensor) -> Tensor:
        x = w * 2
        change(x, v)
        return x

    return run


def add_to_row(x: Tensor, v: Tensor) -> None:
    x[1] += v[0]


def add_to_a_part_of_a_row(x: Tensor, v: Tensor) -> None:
    x[1][1:] += v[0, 1:]


def add_itself(x: Tensor, v: Tensor) -> None:
    x += x.T.copy().T
    x *= x


def through_a_view(x: Tensor, v: Tensor) -> None:
    turned = x.T
    turned[0] = v[:, 1]
    turned *= 2


def through_two_views(x: Tensor, v: Tensor) -> None:
    flat, row = x.reshape(-1), x[0]
    flat[0] = v[0, 0]
    row += v[1]  # an older view, of numbers that have changed


def in_a_loop(x: Tensor, v: Tensor) -> None:
    for i in range(1, 2):
        x[i] += x[i - 1] + v[i]


CHANGES: dict[str, tuple[Any, Callable[[Tensor, Tensor], Tensor]]] = {
    "x += y": (lambda x, v: x.__iadd__(v), lambda w, v: w * 2 + v),
    "x -= y, stretched": (lambda x, v: x.__isub__(v[0]), lambda w, v: w * 2 - v[0]),
    "x *= y": (lambda x, v: x.__imul__(v), lambda w, v: w * 2 * v),
    "x *= a number": (lambda x, v: x.__imul__(3), lambda w, v: w * 2 * 3),
    "x /= y": (lambda x, v: x.__itruediv__(v), lambda w, v: w * 2 / v),
    "x **= 2": (lambda x, v: x.__ipow__(2), lambda w, v: (w * 2) ** 2),
    "x @= y": (lambda x, v: x.__imatmul__(v.T @ v), lambda w, v: w * 2 @ (v.T @ v)),
    "x += x, x *= x": (add_itself, lambda w, v: (w * 4) * (w * 4)),
    "add_": (lambda x, v: x.add_(v, alpha=3), lambda w, v: w * 2 + 3 * v),
    "zero_": (lambda x, v: x.zero_(), lambda w, v: w * 0 + v * 0),
    "fill_": (lambda x, v: x.fill_(v.sum()), lambda w, v: w * 0 + v.sum()),
    "copy_": (lambda x, v: x.copy_(v[0]), lambda w, v: w * 0 + v[0]),
    "clamp_": (lambda x, v: x.clamp_(-1.7, 1.3), lambda w, v: (w * 2).clamp(-1.7, 1.3)),
    "relu_": (lambda x, v: x.relu_(), lambda w, v: (w * 2).relu()),
    "sigmoid_, tanh_, exp_": (lambda x, v: x.sigmoid_().tanh_().exp_(),
                              lambda w, v: (w * 2).sigmoid().tanh().exp()),
    "masked_fill_": (lambda x, v: x.masked_fill_(x > 0, 7.0),
                     lambda w, v: (w * 2).masked_fill(w > 0, 7.0)),
    "index_add_": (lambda x, v: x.index_add_(0, Tensor([1, 1], device=v.device), v, alpha=2),
                   lambda w, v: one_row(w * 2, 1, w[1] * 2 + 2 * v.sum(0))),
    "scatter_add_": (
        lambda x, v: x.scatter_add_(1, Tensor([[0, 0, 2]] * 2, device=v.device), v),
        lambda w, v: w * 2 + tutor.stack([v[:, 0] + v[:, 1], v[:, 0] * 0, v[:, 2]], axis=1)),
    "x[0] = y": (lambda x, v: x.__setitem__(0, v[1]), lambda w, v: one_row(w * 2, 0, v[1])),
    "x[0] = a number": (lambda x, v: x.__setitem__(0, 5.0),
                        lambda w, v: one_row(w * 2, 0, v[0] * 0 + 5)),
    "x[:, 1] = y": (lambda x, v: x.__setitem__((slice(None), 1), v[:, 0]),
                    lambda w, v: tutor.stack([w[:, 0] * 2, v[:, 0], w[:, 2] * 2], axis=1)),
    "x[...] = y": (lambda x, v: x.__setitem__(..., v * v), lambda w, v: w * 0 + v * v),
    "x[mask] = y": (lambda x, v: x.__setitem__(x > 0, v.sum()),
                    lambda w, v: tutor.where(w > 0, v.sum(), w * 2)),
    "x[positions] = y": (lambda x, v: x.__setitem__([1, 0], v), lambda w, v: v.flip(0) + w * 0),
    "x[1] += y": (add_to_row, lambda w, v: one_row(w * 2, 1, w[1] * 2 + v[0])),
    "x[1][1:] += y": (
        add_to_a_part_of_a_row,
        lambda w, v: one_row(w * 2, 1, tutor.cat([w[1, :1] * 2, w[1, 1:] * 2 + v[0, 1:]]))),
    "a view is changed": (through_a_view,
                          lambda w, v: tutor.cat([v[:, 1:2], w[:, 1:] * 2], axis=1) * 2),
    "two views": (through_two_views, lambda w, v: one_row(
        w * 2, 0, tutor.cat([v[0, :1], w[0, 1:] * 2]) + v[1])),
    "a loop over rows": (in_a_loop, lambda w, v: one_row(w * 2, 1, w[1] * 2 + w[0] * 2 + v[1])),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_gradients_are_those_of_the_formula(name: str) -> None:
    change, formula = CHANGES[name]
    found = []
    for f in (changed(change), formula):
        w, v = (Tensor(x, requires_grad=True) for x in (W, V))
        y = f(w, v)
        (y * Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
        zeros = [[0.0] * 3] * 2
        grads = [zeros if x.grad is None else x.grad.tolist() for x in (w, v)]
        found.append((y.tolist(), grads))
    (numbers, grads), (numbers_there, grads_there) = found
    for ours, theirs in ((numbers, numbers_there), *zip(grads, grads_there, strict=True)):
        assert Tensor(ours).allclose(Tensor(theirs), rtol=1e-6, atol=1e-6), (ours, theirs)


@pytest.mark.parametrize("name", ["x *= y", "x[0] = y", "x[1] += y", "two views", "clamp_"])
def test_second_derivatives(name: str) -> None:
    change, _ = CHANGES[name]
    w, v = (Tensor(x, dtype="float64", requires_grad=True) for x in (W, V))
    gradcheck(changed(change), w, v)
    (g,) = tutor.grad((changed(change)(w, v) ** 2).sum(), [w], create_graph=True)
    (twice,) = tutor.grad((g * g).sum(), [w])
    step, rows = 1e-5, []
    for i in range(2):
        for j in range(3):
            ends = []
            for sign in (1, -1):
                moved = w.detach().copy()
                moved[i, j] += sign * step
                moved.requires_grad_()
                (h,) = tutor.grad((changed(change)(moved, v) ** 2).sum(), [moved])
                ends.append((h * h).sum().item())
            rows.append((ends[0] - ends[1]) / (2 * step))
    assert Tensor(rows, dtype="float64").reshape(2, 3).allclose(twice, rtol=1e-5, atol=1e-6)


# ---- constants and views -------------------------------------------------------------------------


def test_a_constant_that_takes_a_part_joins_the_graph() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    out = Tensor.zeros(2, 2)
    flat, diagonal = out.reshape(-1), out.diagonal()  # taken before
    for i in range(2):
        out[i] = w * (i + 1)
    assert out.requires_grad
    (flat * Tensor([1.0, 2.0, 3.0, 4.0])).sum().backward(retain_graph=True)
    assert w.grad is not None and w.grad.tolist() == [7.0, 10.0]
    w.grad = None
    diagonal.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1.0, 2.0]


def test_what_is_detached_does_not_join() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    x = w * 3
    apart = x.detach()
    x += w
    assert apart.tolist() == [4.0, 8.0]  # of the same memory
    assert not (apart * 2).requires_grad
    (x * apart).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [16.0, 32.0]


def test_a_view_that_was_taken_of_a_detached_tensor_after_the_change_is_right() -> None:
    w = Tensor([1.0, -2.0, 3.0], requires_grad=True)
    x = w * 1
    x.relu_()
    assert (x.detach()[0] * w).tolist() == [1.0, -2.0, 3.0]  # and nobody has kept x.detach()
    outside = x.detach()
    part = outside[:2]
    outside += w  # later than the view
    (part * 2).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [2.0, 2.0, 0.0]


def test_a_view_that_overlaps_itself_is_taken_again() -> None:
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 1
    pairs, many = x.unfold(0, 2), x.expand(2, 3)
    x *= 10
    assert pairs.requires_grad
    (pairs.sum() + many.sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [30.0, 40.0, 30.0]


def test_without_a_graph_only_the_numbers_change() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    x = w * 3
    made = x.op
    with no_grad():
        x += w
        x[0] = 1.0
    assert x.op is made and x.buf.rewritten == 0
    plain = Tensor([1.0, 2.0])
    plain += 1
    assert not plain.requires_grad


def test_a_kept_gradient_is_that_of_the_latest_value() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    x = (w * 3).retain_grad()
    x *= 5
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [30.0, 60.0]


def test_a_graph_that_was_changed_in_place_is_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        w = Tensor([1.0, 2.0], requires_grad=True)
        before = len([x for x in gc.get_objects() if isinstance(x, Tensor)])
        x = w * 3
        row = x[:1]
        x += w
        x[0] = x[1] * 2
        (row * 2).sum()
        del x, row
        assert len([x for x in gc.get_objects() if isinstance(x, Tensor)]) <= before
    finally:
        gc.enable()


# ---- what is refused -----------------------------------------------------------------------------


def test_a_saved_value_that_was_overwritten_is_named() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    x = w * 3
    y = x * x
    x += 1
    with pytest.raises(GraphError, match=r"(?s)through Mul.*changed in place"):
        y.sum().backward()
    x = w.exp()
    x += 1
    with pytest.raises(GraphError, match=r"(?s)through Exp.*changed in place"):
        x.sum().backward()


def test_a_view_whose_tensor_is_gone_is_refused_after_a_change() -> None:
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 3
    one, other = x[:2], x[1:]
    del x
    one += 1
    assert one.sum().requires_grad
    with pytest.raises(GraphError, match=r"(?s)view of shape \(2,\).*gone.*after the change"):
        other.sum()


def test_a_part_of_what_is_not_laid_out_row_by_row_is_refused() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    turned = Tensor.ones(2, 2).T.detach()
    with pytest.raises(GraphError, match=r"(?s)row by row.*contiguous"):
        turned[0] = w
    assert turned.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    turned *= w  # as a whole it can
    turned.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [2.0, 2.0]
