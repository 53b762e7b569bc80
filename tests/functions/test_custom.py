"""Ops of one's own in PyTorch's spelling, and hooks on gradients."""

import numpy as np
import pytest

import tutor
from tutor import Function, Tensor
from tutor.errors import GraphError, TutorError
from tutor.testing import gradcheck

pytestmark = pytest.mark.usefixtures("backend")


class Power(Function):
    """z = x**n, with NumPy inside: nobody sees what forward does"""

    @staticmethod
    def forward(ctx, x, *, n=3):
        ctx.save_for_backward(x)
        ctx.n = n
        return Tensor(x.numpy() ** n)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x ** (ctx.n - 1) * ctx.n


class Exp(Function):
    """Saves its own result."""

    @staticmethod
    def forward(ctx, x):
        z = x.exp()
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]  # and where is the 2?


class Product(Function):
    """Two inputs, one of which may need no gradient."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        y = ctx.saved_tensors[1]
        return g * y, None


def test_derivatives_of_both_orders():
    gradcheck(lambda x: Power.apply(x, n=4), np.array([0.5, -1.5]))
    gradcheck(Exp.apply, np.array([0.5, -1.5]))
    with pytest.raises(GraphError, match="gradcheck"):
        gradcheck(Wrong.apply, np.array([1.0, 2.0]))


def test_it_is_an_op_like_others():
    x, y = Tensor([2.0], requires_grad=True), Tensor([5.0], requires_grad=True)
    z = Product.apply(x, y)
    assert type(z.op) is Product
    assert z.op.inputs == (x, y)
    z.backward()
    assert x.grad.item() == 5
    assert y.grad is None
    with pytest.raises(GraphError, match="freed"):
        z.backward()
    with tutor.no_grad():
        assert Product.apply(x, y).op is None


def test_what_is_saved_is_watched():
    x = Tensor([2.0], requires_grad=True)
    z = Power.apply(x)
    x.assign([3.0])
    with pytest.raises(GraphError, match="through Power") as caught:
        z.backward()
    assert all(w in str(caught.value) for w in ("saved_tensors[0]", "in place", "test_custom.py"))
    assert x.grad is None


def test_the_two_formulas_must_be_there():
    with pytest.raises(GraphError, match="staticmethod"):

        class Half(Function):
            @staticmethod
            def forward(ctx, x):
                return x

    class Number(Function):
        @staticmethod
        def forward(ctx, x):
            return 3.0

        @staticmethod
        def backward(ctx, g):
            return g

    for wrong in ((Tensor([1.0]), 3), ()):
        with pytest.raises(GraphError, match="by keyword"):
            Power.apply(*wrong)
    with pytest.raises(GraphError, match="returned float"):
        Number.apply(Tensor([1.0]))


@pytest.mark.parametrize("as_it_is", ["dtype", "shape"])
def test_a_gradient_that_is_not_like_its_input_is_refused(as_it_is):
    class Odd(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return (g * 2).to("float64") if as_it_is == "dtype" else tutor.ones(3)

    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TutorError, match="the gradient of Odd for an input of"):
        Odd.apply(x).sum().backward()
    assert x.grad is None


# ---- hooks ---------------------------------------------------------------------------------------


def test_a_hook_sees_the_whole_gradient_once_and_may_change_it():
    x, seen = Tensor([1.0, 2.0], requires_grad=True), []
    remove = x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    (x * 3 + x).sum().backward()
    assert seen == [[4, 4]]
    assert x.grad.tolist() == [40, 40]
    remove()
    remove()  # twice does no harm
    x.grad = None
    (x * 2).sum().backward()
    assert (len(seen), x.grad.tolist()) == (1, [20, 20])


def test_a_hook_in_the_middle_changes_what_flows_on():
    x, seen = Tensor([1.0, 2.0], requires_grad=True), []
    y = (x * 3).retain_grad()
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g.clip(-1, 1))
    (y * y).sum().backward()
    assert seen == [[6, 12]]
    assert y.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [3, 3]


def test_hooks_outlive_the_name_of_the_tensor_in_the_middle():
    x, seen = Tensor([1.0], requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    z = y * 5
    del y
    z.backward()
    assert seen == [5]


def test_mistakes_with_hooks():
    with pytest.raises(GraphError, match="does not require grad"):
        Tensor([1.0]).register_hook(print)
    x = Tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g.sum())
    with pytest.raises(GraphError, match="same shape"):
        (x * 2).sum().backward()
    assert x.grad is None
