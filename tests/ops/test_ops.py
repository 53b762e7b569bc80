"""Every op: its values against NumPy, its derivatives against difference quotients.

One row per case. An op without a row, or a differentiable op without a gradient case, fails.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import tutor
from tutor import OPS, Tensor, apply
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("backend")


class Case(NamedTuple):
    op: str
    f: Callable
    shapes: tuple
    oracle: Callable | None = None  # the same with NumPy; without, the derivative must do
    values: str = "normal"  # normal, positive, apart (no two equal, none 0)
    orders: int = 2


def index(*positions):
    return Tensor(list(positions))


KEY = (slice(None, None, -1), None, 1, ..., slice(0, 3, 2))
T23 = index([2, 0, 1], [1, 1, 0])
t23 = np.array([[2, 0, 1], [1, 1, 0]])


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def nll(x, t):
    return -np.log(softmax(x, -1))[np.arange(len(t)), t]


CASES = [
    Case("add", lambda x, y: x + y, ((3, 4), (3, 4)), np.add),
    Case("add", lambda x, y: x + y, ((3, 1), (2, 1, 4)), np.add),
    Case("add", lambda x: x + x.T, ((3, 3),), lambda x: x + x.T),
    Case("add", lambda x: x + 2 + x, ((),), lambda x: x + 2 + x),
    Case("sub", lambda x, y: x - y, ((3,), (2, 3)), np.subtract),
    Case("sub", lambda x: 1 - x, ((3,),), lambda x: 1 - x),
    Case("mul", lambda x, y: x * y, ((2, 3), (3,)), np.multiply),
    Case("mul", lambda x: x * x, ((4,),), np.square),
    Case(
        "mul", lambda x, y: x[::-1] * y[:, 2:5], ((4, 3), (4, 6)),
        lambda x, y: x[::-1] * y[:, 2:5],
    ),
    Case("div", lambda x, y: x / y, ((2, 3), (2, 1)), np.divide, "apart"),
    Case("div", lambda x: 3 / x, ((5,),), lambda x: 3 / x, "apart"),
    Case("pow", lambda x, y: x**y, ((2, 3), (3,)), np.power, "positive"),
    Case("pow", lambda x: x**3, ((5,),), lambda x: x**3),
    Case("pow", lambda x: x**0.5, ((5,),), np.sqrt, "positive"),
    Case("pow", lambda x: x**0, ((5,),), lambda x: x**0),
    Case("pow", lambda x: 2**x, ((5,),), np.exp2),
    Case("neg", lambda x: -x, ((2, 3),), np.negative),
    Case("abs", abs, ((7,),), np.abs, "apart"),
    Case("exp", lambda x: x.exp(), ((2, 3),), np.exp),
    Case("log", lambda x: x.log(), ((5,),), np.log, "positive"),
    Case("sqrt", lambda x: x.sqrt(), ((5,),), np.sqrt, "positive"),
    Case("sin", lambda x: x.sin(), ((5,),), np.sin),
    Case("cos", lambda x: x.cos(), ((5,),), np.cos),
    Case("tanh", lambda x: x.tanh(), ((5,),), np.tanh),
    Case("sigmoid", lambda x: x.sigmoid(), ((5,),), lambda x: 1 / (1 + np.exp(-x))),
    Case("relu", lambda x: x.relu(), ((3, 4),), lambda x: np.maximum(x, 0), "apart"),
    Case("maximum", lambda x, y: x.maximum(y), ((3, 4), (4,)), np.maximum, "apart"),
    Case("minimum", lambda x, y: x.minimum(y), ((3, 4), (4,)), np.minimum, "apart"),
    Case(
        "where", lambda x, y: tutor.where(x > y, x * x, y), ((3, 4), (4,)),
        lambda x, y: np.where(x > y, x * x, y), "apart",
    ),
    Case("eq", lambda x, y: x == y, ((3, 4), (4,)), np.equal),
    Case("ne", lambda x: x != x.T, ((3, 3),), lambda x: x != x.T),
    Case("lt", lambda x, y: x < y, ((3, 4), (4,)), np.less),
    Case("le", lambda x: x <= x.T, ((3, 3),), lambda x: x <= x.T),
    Case("gt", lambda x: x > 0, ((3, 3),), lambda x: x > 0),
    Case("ge", lambda x: x <= 0, ((3, 3),), lambda x: x <= 0),
    Case("copy", lambda x: x.T.copy(), ((2, 3),), lambda x: x.T),
    Case("cast", lambda x: x.cast("float64") * 2, ((2, 3),), lambda x: x * 2),
    Case("sum", lambda x: x.sum(), ((2, 3, 4),), np.sum),
    Case("sum", lambda x: x.sum(axis=(0, -1)), ((2, 3, 4),), lambda x: x.sum(axis=(0, 2))),
    Case(
        "sum", lambda x: x.T.sum(axis=1, keepdims=True), ((2, 3, 4),),
        lambda x: x.T.sum(axis=1, keepdims=True),
    ),
    Case("sum", lambda x: x.sum(axis=()), ((2, 3),), lambda x: x),
    Case("sum", lambda x: x.sum(axis=0), ((0, 3),), lambda x: x.sum(axis=0)),
    Case("mean", lambda x: x.mean(), ((2, 3),), np.mean),
    Case("mean", lambda x: x.mean(axis=-2), ((2, 3, 4),), lambda x: x.mean(axis=1)),
    Case("max", lambda x: x.max(), ((2, 3),), np.max, "apart"),
    Case("max", lambda x: x.max(axis=(1, 2)), ((2, 3, 4),), lambda x: x.max(axis=(1, 2)), "apart"),
    Case(
        "min", lambda x: x.min(axis=0, keepdims=True), ((3, 4),),
        lambda x: x.min(axis=0, keepdims=True), "apart",
    ),
    Case("argmax", lambda x: x.argmax(), ((3, 4),), np.argmax, "apart"),
    Case("argmax", lambda x: x.argmax(axis=1), ((3, 4),), lambda x: x.argmax(axis=1), "apart"),
    Case("matmul", lambda x, y: x @ y, ((3, 4), (4, 2)), np.matmul),
    Case("matmul", lambda x, y: x.T @ y.T, ((4, 3), (2, 4)), lambda x, y: x.T @ y.T),
    Case("matmul", lambda x, y: x @ y, ((4,), (4,)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((4,), (4, 3)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((2, 3, 4), (4,)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((5, 1, 2, 3), (4, 3, 2)), np.matmul),
    Case("matmul", lambda x, y: x @ y, ((2, 0), (0, 3)), np.matmul),
    Case("reshape", lambda x: x.reshape(3, -1), ((2, 3),), lambda x: x.reshape(3, 2)),
    Case("reshape", lambda x: x.T.reshape(6), ((2, 3),), lambda x: x.T.reshape(6)),
    Case(
        "reshape", lambda x: x.unsqueeze(1).squeeze(), ((2, 3),), lambda x: x
    ),
    Case("permute", lambda x: x.permute(2, 0, 1), ((2, 3, 4),), lambda x: x.transpose(2, 0, 1)),
    Case("permute", lambda x: x.transpose(0, -1), ((2, 3, 4),), lambda x: x.swapaxes(0, 2)),
    Case(
        "expand", lambda x: x.expand(4, 2, 3), ((2, 1),), lambda x: np.broadcast_to(x, (4, 2, 3))
    ),
    Case("index", lambda x: x[KEY], ((3, 4, 2, 5),), lambda x: x[KEY]),
    Case("index", lambda x: x[-1, 0], ((3, 4),), lambda x: x[-1, 0]),
    Case(
        "index", lambda x: x.flip(0).shrink(((1, 3), (0, 2))), ((3, 4),),
        lambda x: x[::-1][1:, :2],
    ),
    Case("place", lambda x: apply("place", x, shape=(4, 5), key=(1, slice(4, None, -2))), ((3,),)),
    Case(
        "pad", lambda x: x.pad(((1, 0), (0, 2)), value=3), ((2, 3),),
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=3),
    ),
    Case(
        "cat", lambda x, y: tutor.cat([x, y.T, x], axis=1), ((2, 3), (1, 2)),
        lambda x, y: np.concatenate([x, y.T, x], axis=1),
    ),
    Case("cat", lambda x, y: tutor.stack([x, y], axis=-1), ((2, 3), (2, 3)),
         lambda x, y: np.stack([x, y], axis=-1)),
    Case("gather", lambda x: x.gather(1, T23), ((2, 4),), lambda x: np.take_along_axis(x, t23, 1)),
    Case("scatter_add", lambda x, s: x.scatter_add(1, T23, s), ((2, 4), (2, 3))),
    Case("index_select", lambda x: x.index_select(0, [2, 0, 2]), ((3, 4),), lambda x: x[[2, 0, 2]]),
    Case("index_select", lambda x: x.T.index_select(1, [0]), ((3, 4),), lambda x: x.T[:, [0]]),
    Case("softmax", lambda x: x.softmax(), ((2, 3),), lambda x: softmax(x, -1)),
    Case("softmax", lambda x: x.softmax(axis=0), ((3, 2),), lambda x: softmax(x, 0)),
    Case("log_softmax", lambda x: x.log_softmax(), ((2, 3),), lambda x: np.log(softmax(x, -1))),
    Case(
        "cross_entropy", lambda x: x.cross_entropy([1, 0, 3]), ((3, 4),),
        lambda x: nll(x, [1, 0, 3]).mean(),
    ),
    Case(
        "cross_entropy", lambda x: x.T.cross_entropy([1, 0], reduction="sum"), ((3, 2),),
        lambda x: nll(x.T, [1, 0]).sum(),
    ),
    Case(
        "cross_entropy", lambda x: x.cross_entropy([1, 0, 3], reduction="none"), ((3, 4),),
        lambda x: nll(x, [1, 0, 3]),
    ),
    Case(
        "cross_entropy_grad",
        lambda x, g: apply("cross_entropy_grad", x, index(1, 0, 3), g, scale=0.5),
        ((3, 4), (3,)),
    ),
]  # fmt: skip


def draw(case, dtype="float64"):
    rng = np.random.default_rng(sum(map(len, case.shapes)))
    arrays = []
    for shape in case.shapes:
        count = int(np.prod(shape))
        if case.values == "apart":  # steps of 0.1, shuffled: far from ties and from 0
            a = rng.permutation(count) * 0.1 - count * 0.05 + 0.03
            a = a.reshape(shape) + 0.02 * len(arrays)
        else:
            a = rng.standard_normal(shape)
            a = np.abs(a) + 0.5 if case.values == "positive" else a
        arrays.append(np.asarray(a, dtype=dtype))
    return arrays


def test_every_op_has_a_row():
    ours = {name for name, op in OPS.items() if op.__module__.startswith("tutor.ops")}
    assert ours == {case.op for case in CASES}


@pytest.mark.parametrize("case", [c for c in CASES if c.oracle], ids=lambda c: c.op)
@pytest.mark.parametrize(
    ("dtype", "rtol"), [("float64", 1e-12), ("float32", 2e-6), ("float16", 4e-3)]
)
def test_values(case, dtype, rtol):
    arrays = draw(case, dtype)
    expected = np.asarray(case.oracle(*[a.astype("float64") for a in arrays]))
    result = case.f(*[Tensor(a) for a in arrays])
    assert result.shape == expected.shape
    assert np.allclose(result.numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("case", [c for c in CASES if OPS[c.op].differentiable], ids=lambda c: c.op)
def test_derivatives_of_first_and_second_order(case):
    gradcheck(case.f, *draw(case), orders=case.orders)


def test_ties_share_the_gradient_evenly():
    x = Tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], requires_grad=True)
    x.max(axis=1).sum().backward()
    assert x.grad.tolist() == [[0, 0.5, 0.5], pytest.approx([1 / 3] * 3)]
    a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    a.maximum(b).backward()
    assert (a.grad.item(), b.grad.item()) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("f", "at", "slope"),
    [
        (lambda x: x.relu(), 0.0, 0.0),
        (abs, 0.0, 0.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x ** Tensor([0.0], requires_grad=True), 0.0, 0.0),
        (lambda x: Tensor([0.0]) ** x, 2.0, 0.0),
        (lambda x: x.sigmoid(), 200.0, 0.0),
        (lambda x: x.tanh(), -200.0, 0.0),
        (lambda x: x.sqrt(), 0.0, float("inf")),
    ],
)
def test_slopes_at_the_edges(f, at, slope):
    x = Tensor([at], requires_grad=True)
    f(x).backward()
    assert x.grad.item() == slope


def test_cross_entropy_is_stable_for_huge_logits():
    x = Tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], requires_grad=True)
    loss = x.cross_entropy([0, 0], reduction="none")
    assert loss.tolist() == pytest.approx([0.0, 20000.6931], rel=1e-6)
    loss.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], pytest.approx([-1, 0.5, 0.5])]


def test_fused_ops_equal_their_composed_forms():
    x = Tensor(np.random.default_rng(0).standard_normal((5, 7)), requires_grad=True)
    e = (x - x.max(axis=1, keepdims=True)).exp()
    composed = e / e.sum(axis=1, keepdims=True)
    t = Tensor([0, 6, 3, 3, 1])
    picked = composed.log().gather(1, t.unsqueeze(1))
    for fused, parts in [
        (x.softmax(axis=1), composed),
        (x.log_softmax(axis=1), composed.log()),
        (x.cross_entropy(t), -picked.mean()),
    ]:
        assert np.allclose(fused.numpy(), parts.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tensor([[1, 2]]) @ Tensor([[1, 2]]), "2 columns against 1 rows"),
        (lambda: Tensor(1.0) @ Tensor([1.0]), "use \\*"),
        (lambda: Tensor([[1.0, 2.0]]) @ Tensor([1.0]), "inner sizes"),
        (lambda: tutor.cat([Tensor([[1]]), Tensor([[1, 2]])]), "differ"),
        (lambda: tutor.cat([Tensor(1), Tensor(2)]), "stack"),
        (lambda: tutor.where(Tensor([1.0]), 1.0, 2.0), "condition comes first"),
        (lambda: Tensor([1.0]).gather(0, [5]), "5"),
        (lambda: Tensor([1.0]).gather(0, [0.5]), "whole numbers"),
        (lambda: Tensor([1.0]).index_select(0, [[0]]), "1-D"),
        (lambda: Tensor([1.0]).index_select(0, [-2]), "-2"),
        (lambda: Tensor([[1.0]]).gather(0, [0]), "axes"),
        (lambda: Tensor([]).max(), "no element"),
        (lambda: Tensor.zeros(2, 0).argmax(axis=1), "no element"),
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([2]), "2"),
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([-1]), "-1"),
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([0.0]), "class"),
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([[0]]), "one target"),
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([0], reduction="avg"), "'mean'"),
        (lambda: Tensor([2]) ** Tensor([-1]), "negative"),
        (lambda: Tensor([1], dtype="uint8") + 300, "uint8"),
        (lambda: Tensor([1]) + "a", "str"),
        (lambda: Tensor([1]) + None, "NoneType"),
        (lambda: bool(Tensor([1, 2])), "yes or no"),
        (lambda: len(Tensor(1)), "single number"),
        (lambda: Tensor([1, 2]).item(), "2 numbers"),
        (lambda: Tensor([1.0]).cast("float99"), "float99"),
    ],
)
def test_mistakes_are_explained(make, words):
    with pytest.raises(tutor.errors.TutorError, match=words) as caught:
        make()
    assert str(caught.value).count("\n") >= 2


def test_lists_and_arrays_may_stand_for_operands():
    x = Tensor([1.0, 2.0])
    assert tutor.where([True, False], x, [5.0, 6.0]).tolist() == [1, 6]
    assert tutor.where(np.array([True, False]), x, 0).tolist() == [1, 0]
    assert tutor.where(x > 1, 1, 2).dtype is tutor.int64
    assert tutor.cat([x, Tensor([3])]).tolist() == [1, 2, 3]
    assert (x @ [1.0, 1.0]).item() == 3
    assert ([[1.0, 0.0]] @ x).tolist() == [1]
    assert x.index_select(0, np.array([1], dtype=np.uint8)).tolist() == [2]
    with pytest.raises(tutor.errors.DTypeError, match="none is a Tensor"):
        apply("add", 1, 2)


def test_numbers_keep_their_sign_and_cannot_be_overwritten():
    one = Tensor([1.0])
    assert [(one / z).item() for z in (0.0, -0.0, 0, -0.0, 0.0)] == [
        float(sign + "inf") for sign in "+-+-+"
    ]
    y = Tensor([1.0], requires_grad=True) * 3.0
    with pytest.raises((TypeError, tutor.errors.DTypeError)):
        y.op.inputs[1].buf[0] = 5.0
    assert (one * 3.0).item() == 3
