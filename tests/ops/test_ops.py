"""Every op: its values against NumPy, its derivatives against difference quotients.

One row per case. An op without a row, or a differentiable op without a gradient case, fails.
"""

import ast
import math
from pathlib import Path

import numpy as np
import pytest
import rows_activations
import rows_elementwise
import rows_indexing
import rows_movement
import rows_network
import rows_reduce
import rows_statistics
import rows_window
from named_methods import IN_PLACE, METHODS

import tutor
from tutor import OPS, Tensor, apply
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("place")


TABLES = (
    rows_elementwise, rows_activations, rows_reduce, rows_movement, rows_indexing, rows_statistics,
    rows_window, rows_network,
)  # fmt: skip
CASES = [case for table in TABLES for case in table.CASES]
DIFFERENTIABLE = [
    c for c in CASES if c.orders and (c.op not in OPS or OPS[c.op].differentiable)
]  # fmt: skip


DRAWN = {
    "normal": lambda a: a,
    "positive": lambda a: np.abs(a) + 0.5,
    "unit": lambda a: np.tanh(a) * 0.9,
    "above": lambda a: np.abs(a) + 1.1,
    "ints": lambda a: np.rint(a * 3).astype("int64"),
    "bools": lambda a: a > 0.3,
}


def draw(case, dtype="float64"):
    rng = np.random.default_rng(sum(map(len, case.shapes)))
    arrays = []
    for shape in case.shapes:
        count = int(np.prod(shape))
        if case.values == "apart":  # steps of 0.1, shuffled: far from ties and from 0
            a = rng.permutation(count) * 0.1 - count * 0.05 + 0.03
            a = a.reshape(shape) + 0.02 * len(arrays)
        else:
            a = DRAWN[case.values](rng.standard_normal(shape))
        whole = case.values in ("ints", "bools")
        arrays.append(np.asarray(a, dtype=None if whole else dtype))
    return arrays


def test_every_op_has_a_row():
    ours = {name for name, op in OPS.items() if op.__module__.startswith("tutor.ops")}
    ours -= {"dropout"}  # which draws: tests/nn/test_norm.py
    assert not ours - {case.op for case in CASES}
    differentiable = {name for name in ours if OPS[name].differentiable}
    assert not differentiable - {case.op for case in DIFFERENTIABLE}


def test_a_name_is_stated_only_where_it_is_another():
    """By default an op goes by the name of its kernel."""
    for path in sorted(Path(tutor.ops.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            stated = {}
            for line in node.body:
                if isinstance(line, ast.Assign):
                    to, value = line.targets[0], line.value
                    pairs = (
                        zip(to.elts, value.elts, strict=True)
                        if isinstance(to, ast.Tuple)
                        else ([(to, value)])
                    )
                    stated |= {ast.unparse(a): ast.unparse(b) for a, b in pairs}
            assert stated.get("name", "") != stated.get("kernel"), node.name


ALIASES = {
    "astype": "cast", "clamp": "clip", "clone": "copy", "dot": "matmul",
    "moveaxis": "movedim", "ravel": "flatten", "repeat_interleave": "repeat",
    "sparse_categorical_crossentropy": "cross_entropy", "swapaxes": "transpose",
}  # fmt: skip
BY_OTHER_NAMES = {  # in the rows of the ops that they apply
    "T": "permute", "mT": "permute", "transpose": "permute", "squeeze": "reshape",
    "unsqueeze": "reshape", "view": "reshape", "flip": "index", "shrink": "index",
    "unfold": "windows", "contiguous": "copy", "broadcast_to": "expand",
}  # fmt: skip
ELSEWHERE = {
    "conv1d", "conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d",  # tests/nn
    # tests/methods/test_conversions.py
    "allclose", "bfloat16", "bool", "cpu", "dim", "double", "expand_as", "float", "half", "int",
    "is_floating_point", "isclose", "long", "ndimension", "realize", "reshape_as", "size", "t",
    "to", "type_as", "view_as",
    # tests/methods/test_inplace.py
    "add_", "assign", "clamp_", "clip_", "copy_", "data", "div_", "exp_", "fill_", "index_add_",
    "masked_fill_", "mul_", "relu_", "scatter_", "scatter_add_", "sigmoid_", "sub_", "tanh_",
    "zero_",
}  # fmt: skip


def test_every_method_has_a_row():
    done = {case.op for case in CASES}
    methods = set(METHODS)
    methods -= IN_PLACE  # tests/methods/test_inplace.py
    assert not methods - done - set(ALIASES) - set(BY_OTHER_NAMES) - ELSEWHERE
    assert set(BY_OTHER_NAMES.values()) <= done


def test_a_formula_that_is_python_makes_a_row():
    x, y = np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, 2.0])
    for name, theirs in (("lt", np.less), ("ne", np.not_equal)):
        row = rows_elementwise.stated(name)
        assert (row.oracle(x, y) == theirs(x, y)).all() and row.oracle(x, y).dtype == bool
        assert row.f(Tensor(x), Tensor(y)).tolist() == theirs(x, y).tolist() and not row.orders
    with pytest.raises(SyntaxError):  # it needs a row of its own
        rows_elementwise.stated("copysign")


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias, name):
    assert getattr(Tensor, alias) is getattr(Tensor, name)


@pytest.mark.crossed("dtype", "rtol")
@pytest.mark.parametrize("case", [c for c in CASES if c.oracle], ids=lambda c: c.op)
@pytest.mark.parametrize(
    ("dtype", "rtol"), [("float64", 1e-12), ("float32", 2e-6), ("float16", 4e-3)]
)
def test_values(case, dtype, rtol):
    arrays = draw(case, dtype)
    wide = [a.astype("float64") if a.dtype.kind == "f" else a for a in arrays]
    with np.errstate(all="ignore"):
        expected = np.asarray(case.oracle(*wide))
    result = case.f(*[Tensor(a) for a in arrays])
    assert result.shape == expected.shape
    if expected.dtype.kind in "iub":
        assert result.dtype.kind == expected.dtype.name.rstrip("0123456789")
    elif case.values not in ("ints", "bools") and case.op != "cast":
        assert result.dtype.name == dtype  # a float result is as wide as its operands
    assert np.allclose(result.numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda c: c.op)
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
        (lambda x: Tensor([0.0]) ** x, -1.0, float("-inf")),
        (lambda x: tutor.stack([x, x, x]).std(), 2.0, 0.0),
        (lambda x: x.norm(), 0.0, 0.0),
        (lambda x: x.softplus(), 0.0, 0.5),
        (lambda x: x.clip(0, 1), 1.0, 1.0),
        (lambda x: x.hardtanh(), 1.0, 0.0),
        (lambda x: x.atan2(x * 0), 0.0, 0.0),
        (lambda x: x.floor(), 1.5, 0.0),
        (lambda x: tutor.stack([x, x * 0 + 2, x * 0 + 5]).prod(), 0.0, 10.0),
    ],
)
def test_slopes_at_the_edges(f, at, slope):
    x = Tensor([at], requires_grad=True)
    f(x).backward()
    assert x.grad.item() == slope


def test_zeros_in_a_product_leave_the_derivatives_of_the_others():
    for zeros, slopes in (((), [6, 3, 2]), ((0,), [6, 0, 0]), ((0, 1), [0, 0, 0])):
        x = Tensor([0.0 if i in zeros else i + 1.0 for i in range(3)], requires_grad=True)
        x.prod().backward()
        assert x.grad.tolist() == slopes
        x.grad = None
        x.cumprod(0)[2].backward()
        assert x.grad.tolist() == slopes


def test_nothing_and_infinities_have_their_limits():
    inf = float("inf")
    assert Tensor([]).logsumexp().item() == -inf
    assert Tensor([-inf, -inf]).logsumexp().item() == -inf
    assert Tensor([inf, 1.0]).logsumexp().item() == inf
    assert (Tensor([]).prod().item(), Tensor([]).sum().item()) == (1, 0)
    assert Tensor([1e20]).lerp(1.0, 1).item() == 1.0
    assert Tensor([0.0]).clip(float("nan"), 1).isnan().item()
    x = Tensor([1.0, float("nan"), 3.0], requires_grad=True)
    x.cummax(0).sum().backward()
    assert x.grad.tolist() == [1, 2, 0]


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


GELUS = {
    "none": lambda x: x * (1 + (x * 0.5**0.5).erf()) / 2,
    "tanh": lambda x: x * (1 + ((x + x * x * x * 0.044715) * (2 / math.pi) ** 0.5).tanh()) / 2,
}


SMOOTH = {
    "softplus": lambda x: x.logaddexp(0.0),
    "silu": lambda x: x * x.sigmoid(),
    "mish": lambda x: x * x.logaddexp(0.0).tanh(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_relu_equals_its_composed_form(name):
    """Its kernel, that of its derivative, and the derivative of that."""
    grid = np.concatenate([np.linspace(-30, 30, 241), np.random.default_rng(0).normal(size=50)])
    g, found = Tensor(np.linspace(-2, 2, grid.size)), []
    for f in (lambda x: getattr(x, name)(), SMOOTH[name]):
        x = Tensor(grid, requires_grad=True)
        z = f(x)
        (slope,) = tutor.grad((z * g).sum(), (x,), create_graph=True)
        (bend,) = tutor.grad((slope * g).sum(), (x,))
        found.append([t.detach().numpy() for t in (z, slope, bend)])
    for ours, composed in zip(*found, strict=True):
        np.testing.assert_allclose(ours, composed, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("form", GELUS)
def test_gelu_equals_its_composed_form(form):
    """Its kernel, that of its derivative, and the derivative of that; 1 + tanh keeps an absolute
    error of an eps where both nearly cancel, times what stands before it."""
    grid = np.concatenate([np.linspace(-6, 6, 241), np.random.default_rng(0).normal(size=50)])
    g, found = Tensor(np.linspace(-2, 2, grid.size)), []
    for f in (lambda x: x.gelu(form), GELUS[form]):
        x = Tensor(grid, requires_grad=True)
        z = f(x)
        (slope,) = tutor.grad((z * g).sum(), (x,), create_graph=True)
        (bend,) = tutor.grad((slope * g).sum(), (x,))
        found.append([t.detach().numpy() for t in (z, slope, bend)])
    for ours, composed in zip(*found, strict=True):
        np.testing.assert_allclose(ours, composed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tensor([[1, 2]]) @ Tensor([[1, 2]]), "k is 2 in x and 1 in y"),
        (lambda: Tensor(1.0) @ Tensor([1.0]), "x is a number"),
        (lambda: Tensor([[1.0, 2.0]]) @ Tensor([1.0]), "k is 2 in x and 1 in y"),
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
        (lambda: Tensor([[1.0, 2.0]]).cross_entropy([[0]]), "target \\(...\\)"),
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
