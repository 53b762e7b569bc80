"""Methods as functions: the list is complete, and each is its method."""

from __future__ import annotations

import inspect
import pickle
import pydoc

import numpy as np
import pytest
from named_methods import METHODS

import tutor
from tutor import Tensor, functions
from tutor.errors import DTypeError

# What is about the Tensor itself, and so is a method only.
METHODS_ONLY = {
    # its memory and dtype
    "astype", "bfloat16", "bool", "cast", "contiguous", "cpu", "double", "expand", "expand_as",
    "float", "half", "int", "is_floating_point", "long", "realize", "reshape_as", "shrink", "to",
    "type_as", "unfold", "view", "view_as",
    # how large it is
    "T", "dim", "mT", "ndimension", "size",
    # in nn.functional, by PyTorch's signatures
    "avg_pool2d", "conv1d", "conv2d", "conv_transpose2d", "cross_entropy", "max_pool2d",
    "sparse_categorical_crossentropy",
    # it changes
    "add_", "assign", "clamp_", "clip_", "copy_", "data", "div_", "exp_", "fill_", "index_add_",
    "masked_fill_", "mul_", "relu_", "scatter_", "scatter_add_", "sigmoid_", "sub_", "tanh_",
    "zero_",
}  # fmt: skip


def test_every_method_is_a_function_or_says_why_not():
    methods = set(METHODS)
    made = [name for name, f in vars(functions).items() if hasattr(f, "__wrapped__")]
    assert sorted(functions.__all__) == sorted(made)
    assert methods == set(functions.__all__) | METHODS_ONLY
    assert not set(functions.__all__) & METHODS_ONLY
    assert set(functions.__all__) <= set(dir(tutor))


@pytest.mark.parametrize("name", functions.__all__)
def test_each_is_its_method(name):
    f, method = getattr(tutor, name), getattr(Tensor, name)
    assert f.__wrapped__ is method
    assert f.__doc__ == method.__doc__ and f.__doc__
    assert inspect.signature(f) == inspect.signature(method)
    assert f.__name__ == method.__name__  # of an alias, the name of what it stands for
    assert pickle.loads(pickle.dumps(f)) is getattr(tutor, f.__name__)
    assert f.__doc__.split()[0] in pydoc.render_doc(f)


def test_numbers_lists_and_arrays(backend):
    assert tutor.sqrt(4.0).item() == 2.0
    assert tutor.exp([0, 0]).tolist() == [1.0, 1.0]
    assert tutor.sum(np.arange(4).reshape(2, 2), axis=0).tolist() == [2, 4]
    assert tutor.matmul([[1.0, 2.0]], [[3.0], [4.0]]).item() == 11.0
    assert tutor.where([True, False], 1.0, [2.0, 3.0]).tolist() == [1.0, 3.0]
    assert tutor.topk([3.0, 1.0, 2.0], 2)[1].tolist() == [0, 2]
    assert tutor.softmax([0.0, 0.0]).tolist() == [0.5, 0.5]
    assert tutor.reshape([1, 2, 3, 4], 2, 2).shape == (2, 2)


def test_a_number_beside_a_tensor_is_weak_on_either_side(backend):
    small = Tensor([1, 2], dtype="int8")
    for name in ("add", "maximum", "pow", "remainder", "sub", "bitwise_and", "lt"):
        f, op = getattr(tutor, name), getattr(Tensor, name)
        assert f(small, 3).dtype is op(small, 3).dtype
        assert f(3, small).dtype is op(small, 3).dtype, name
    assert tutor.sub(10, small).tolist() == [9, 8]
    assert tutor.sub(10, other=small).dtype is tutor.int8
    assert tutor.add(1, 2).item() == 3


def test_gradients_flow(backend):
    x = Tensor([1.0, 4.0], requires_grad=True)
    tutor.sum(tutor.sqrt(x)).backward()
    assert x.grad.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("wrong", [None, "word", object(), [[1], [1, 2]]])
def test_what_is_no_tensor(wrong):
    with pytest.raises(tutor.errors.TutorError) as caught:
        tutor.sqrt(wrong)
    assert caught.value.do
    with pytest.raises(DTypeError):
        tutor.maximum(None, Tensor([1.0]))


def test_dir_holds_public_names_only():
    names = dir(tutor)
    assert "sqrt" in names and "viz" in names and "Tensor" in names
    assert not {"importlib", "Any", "layout", "create", "methods", "literals"} & set(names)
    assert all(hasattr(tutor, name) for name in names)
    assert set(tutor.__all__) <= set(names)
    assert len(set(tutor.__all__)) == len(tutor.__all__)
