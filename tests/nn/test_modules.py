"""Modules, and the walk over a model's parameters."""

import numpy as np
import pytest

from tutor import Tensor, nn


class Plain:
    def __init__(self):
        self.first = nn.Linear(2, 3)
        self.parts = [nn.Linear(3, 3), {"last": nn.Linear(3, 1, bias=False)}]
        self.again = self.first  # reachable twice, a parameter once
        self.scale = Tensor([1.0], requires_grad=True)
        self.mean = Tensor([0.0])  # state, but no parameter
        self.act = nn.ReLU()
        self.loop = self  # a model may refer to itself
        self.function = np.tanh


def test_names_and_parameters_of_a_plain_class():
    model = Plain()
    names = [name for name, _ in nn.named_tensors(model)]
    assert names == [
        "first.weight", "first.bias", "parts.0.weight", "parts.0.bias", "parts.1.last.weight",
        "scale", "mean",
    ]  # fmt: skip
    assert len(nn.get_parameters(model)) == 6
    assert nn.get_parameters([model, Tensor([1.0])]) == nn.get_parameters(model)


def test_linear():
    layer = nn.Linear(3, 2)
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    expected = x @ layer.weight.numpy().T + layer.bias.numpy()
    assert np.allclose(layer(Tensor(x)).numpy(), expected, rtol=1e-5)
    assert np.abs(layer.weight.numpy()).max() <= (6 / 5) ** 0.5
    assert nn.Linear(3, 2, dtype="float64").weight.dtype.name == "float64"


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        nn.Module()(1)
