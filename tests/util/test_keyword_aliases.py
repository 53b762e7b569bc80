"""Other spellings of keywords, and what is said to unknown ones."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor._util.keyword_aliases import SPELLINGS, Pair, spelled
from tutor.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("backend")

X = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], dtype="float32")


def takes(f, name):
    return name in inspect.signature(f).parameters


METHODS = {n: getattr(Tensor, n) for n in dir(Tensor) if not n.startswith("_")}
WITH_AN_AXIS = [n for n, f in METHODS.items() if callable(f) and takes(f, "axis")]
REST = {
    "gather": ([[0], [1]],), "take_along_axis": ([[0, 0, 0]],), "index_select": ([0],),
    "scatter": ([[0]], 1.0), "scatter_add": ([[0]], 1.0), "scatter_": ([[0]], 1.0),
    "scatter_add_": ([[0]], 1.0), "index_add": ([0], [[1.0, 1.0, 1.0]]),
    "index_add_": ([0], [[1.0, 1.0, 1.0]]), "unfold": (2,), "roll": (1,),
    "split": (1,), "chunk": (2,), "topk": (2,), "repeat": (2,), "repeat_interleave": (2,),
    "cross": ([[0.0], [1.0], [0.0]],), "vecdot": ([[1.0], [2.0]],), "quantile": (0.5,),
    "scatter_reduce": ([[0]], 1.0), "unflatten": ((2, 1),),
}  # fmt: skip
PAIRS = {"max", "min", "sort", "cummax", "cummin"}


def listed(value):
    if isinstance(value, int):  # a stride, a size
        return value
    return [t.tolist() for t in value] if isinstance(value, tuple) else value.tolist()


def called(name, spelling):
    """The method with its axis by that name; what else it takes has names of its own."""
    x = {"squeeze": Tensor(X[:1]), "cross": Tensor(X).T}.get(name, Tensor(X))
    method = getattr(x, name)
    others = [p for p in inspect.signature(method).parameters if p != "axis"]
    given = dict(zip(others, REST.get(name, ()), strict=False))
    return method(**{spelling: 0}, **given)


def test_there_are_methods_with_an_axis():
    assert len(WITH_AN_AXIS) > 30


@pytest.mark.parametrize("name", WITH_AN_AXIS)
def test_dim_is_axis(name):
    ours, theirs = called(name, "axis"), called(name, "dim")
    assert isinstance(theirs, Pair) == (name in PAIRS or name in ("topk", "mode"))  # always pairs
    assert listed(ours) == listed(theirs.values if name in PAIRS else theirs)


@pytest.mark.parametrize("name", [n for n in WITH_AN_AXIS if takes(METHODS[n], "keepdims")])
def test_keepdim_is_keepdims(name):
    x, rest = Tensor(X), REST.get(name, ())
    ours = getattr(x, name)(*rest, axis=1, keepdims=True)
    theirs = getattr(x, name)(*rest, dim=1, keepdim=True)
    assert listed(theirs.values if name in PAIRS else theirs) == listed(ours)
    assert all(t.shape == (2, 1) for t in (ours if isinstance(ours, tuple) else (ours,)))


def test_functions_and_layers_understand_it_too():
    x = Tensor(X)
    assert tutor.sum(x, dim=0).tolist() == x.sum(0).tolist()
    assert tutor.cat([x, x], dim=1).shape == (2, 6)
    assert tutor.stack([x, x], dim=1).shape == (2, 2, 3)
    assert nn.functional.softmax(x, dim=0).tolist() == x.softmax(0).tolist()
    assert x.flatten(start_dim=0, end_dim=1).shape == (6,)
    assert x.size(dim=1) == 3


def test_a_pair_where_pytorch_gives_one():
    x = Tensor(X)
    values, indices = x.max(dim=1)
    assert values.tolist() == [5.0, 6.0] and indices.tolist() == [1, 2]
    assert indices.dtype is tutor.int64
    assert x.min(dim=0).indices.tolist() == [0, 1, 0]
    assert x.max(1, keepdim=True)[1].tolist() == [[1], [2]]  # who writes keepdim means PyTorch
    assert x.sort(dim=1, descending=True).values.tolist() == [[5.0, 2.0, 1.0], [6.0, 4.0, 3.0]]
    assert x.sort(dim=1, descending=True).indices.tolist() == [[1, 2, 0], [2, 0, 1]]
    line = Tensor([3.0, 1.0, 3.0, float("nan"), 9.0])
    assert line.cummax(dim=0).indices.tolist() == [0, 0, 2, 3, 3]
    assert Tensor([3.0, 1.0, 1.0, 2.0]).cummin(dim=0).indices.tolist() == [0, 1, 2, 2]


def test_with_an_axis_the_values_alone():
    """NumPy's users, who never write dim, see nothing of it."""
    x = Tensor(X)
    assert x.max(axis=1).tolist() == x.max(1).tolist() == [5.0, 6.0]
    assert x.sort(axis=1).tolist() == np.sort(X, 1).tolist()
    assert x.max(keepdim=True).shape == (1, 1)  # no axis, no position along it


def test_a_pair_has_gradients():
    x = Tensor(X, requires_grad=True)
    x.max(dim=1).values.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: Tensor(X).sum(dims=0), "write axis="),
        (lambda: Tensor(X).sum(axes=0), "write axis="),
        (lambda: Tensor(X).mean(keep_dims=True), "write keepdims="),
        (lambda: Tensor(X).transpose(dim0=1), "write a="),
        (lambda: Tensor(X).norm(p=1), "write ord="),
        (lambda: Tensor(X).std(ddof=1), "write correction="),
        (lambda: Tensor(X).relu(inplace=True), "leave it out"),
        (lambda: Tensor(X).add(Tensor(X), alpha=2), "leave it out"),
        (lambda: tutor.sqrt(X, out=None), "leave it out"),
        (lambda: Tensor.zeros(2, dtyp="int8"), "write dtype="),
        (lambda: Tensor.rand(2, require_grad=True), "write requires_grad="),
        (lambda: Tensor([1.0], required_grad=True), "write requires_grad="),
        (lambda: nn.Linear(in_feature=3, out_features=2), "write in_features="),
        (lambda: nn.Conv2d(3, out_feature=2, kernel_size=1), "write out_channels="),
        (lambda: nn.Conv2d(1, 2, kernel=3), "write kernel_size="),
        (lambda: nn.functional.conv2d(Tensor(X), Tensor(X), strides=2), "write stride="),
        (lambda: nn.functional.mse_loss(Tensor(X), targets=X), "write target="),
        (lambda: optim.Adam([Tensor([1.0], requires_grad=True)], learning_rate=1), "write lr="),
        (lambda: optim.SGD(parameters=[]), "write params="),
        (lambda: Tensor([1.0], requires_grad=True).backward(grad=1), "write gradient="),
    ],
)
def test_a_wrong_keyword_names_the_right_one(call, advice):
    with pytest.raises(ArgumentError, match=advice) as caught:
        call()
    assert isinstance(caught.value, TypeError)  # what others catch


def test_twice_the_same_is_refused():
    for call in (lambda: Tensor(X).sum(0, dim=0), lambda: Tensor(X).sum(axis=0, dim=0)):
        with pytest.raises(ArgumentError):
            call()


def test_signatures_and_help_are_those_of_the_function():
    assert str(inspect.signature(Tensor.softmax)).startswith("(self, axis: 'int' = -1)")
    assert "largest; nan if any is nan" in pydoc.render_doc(Tensor.max)
    assert Tensor.exp.__name__ == "exp" and Tensor.clamp is Tensor.clip


def test_errors_from_inside_pass_unchanged():
    @spelled
    def f(x, axis=0):
        raise TypeError("from inside")

    for call in (lambda: f(1), lambda: f(1, axis=2), lambda: f(1, dim=2)):
        with pytest.raises(TypeError, match="from inside") as caught:
            call()
        assert not isinstance(caught.value, ArgumentError)


def test_a_parameter_of_that_name_stays_what_it_is():
    @spelled
    def f(dim, axis=0):
        return dim, axis

    assert f(dim=1) == (1, 0)
    pytorchs = {"dim", "keepdim", "start_dim", "end_dim"}
    pytorchs |= {"diagonal", "offset", "steps", "num_classes"}
    assert set(SPELLINGS) == {*pytorchs, "inputs", "outputs"}


def test_the_short_names_of_what_layers_take_and_give():
    assert nn.Linear(inputs=3, outputs=2).weight.shape == (2, 3)
    assert nn.Linear(in_features=3, out_features=2).weight.shape == (2, 3)
    assert nn.Conv2d(inputs=3, out_channels=2, kernel_size=1).weight.shape == (2, 3, 1, 1)
    with pytest.raises(ArgumentError, match="multiple values"):
        nn.Linear(3, 2, inputs=3)
