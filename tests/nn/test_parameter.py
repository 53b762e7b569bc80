"""Which Tensors of a model are parameters, which are buffers, and which are neither."""

from __future__ import annotations

import abc
import copy
import pickle
from typing import Any

import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.errors import ArgumentError, DTypeError, GraphError


class Model(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(2, 2)
        self.scale = Tensor([1.0], requires_grad=True)
        self.steps = [Tensor([2.0], requires_grad=True), {"last": Tensor([3.0])}]
        self.shift = Tensor([4.0])  # neither: it is not registered
        self.inside = [name for name, _ in self.named_parameters()]

    def forward(self, x: Tensor) -> Tensor:
        self.kept, self.leaf = x * self.scale, Tensor([1.0], requires_grad=True)
        self.kept_plain = self.kept.detach()
        return self.layer(self.kept)


class Plain:
    def __init__(self) -> None:
        self.scale, self.mean = Tensor([1.0], requires_grad=True), Tensor([0.0])


NAMES = ["scale", "layer.weight", "layer.bias", "steps.0"]


def test_leaves_of_init_are_parameters_and_what_forward_keeps_is_not() -> None:
    model = Model()
    model(Tensor([[1.0, 2.0]]))
    assert [name for name, _ in model.named_parameters()] == NAMES == model.inside
    assert list(model.state_dict()) == NAMES and model.buffers() == []
    assert all(isinstance(p, nn.Parameter) for p in model.parameters())
    assert not isinstance(model.leaf, nn.Parameter)
    assert optim.SGD(model.parameters(), lr=0.1).params == model.parameters()


def test_a_plain_class_has_the_rule_of_the_walk() -> None:
    model = Plain()
    (p,) = nn.get_parameters(model)
    assert p is model.scale and isinstance(p, nn.Parameter) and p.requires_grad_(False) is p
    model.kept = p.requires_grad_() * 2  # type: ignore[attr-defined]
    p.requires_grad_(False)
    assert nn.get_parameters(model) == [p] and list(nn.state_dict(model)) == ["scale", "mean"]
    whole = nn.Sequential(nn.Linear(1, 1))
    whole.part = model  # type: ignore[assignment]
    assert len(whole.requires_grad_().parameters()) == 3 and p.requires_grad
    assert [name for name, _ in whole.named_buffers()] == ["part.mean"]


def test_a_parameter_stays_one_in_copies_and_only_there() -> None:
    p = nn.Parameter(Tensor([1.0, 2.0]), requires_grad=False)
    for other in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert isinstance(other, nn.Parameter) and not other.requires_grad
    for t in (p.detach(), p * 1, p[0], p.data):
        assert type(t) is Tensor
    with pytest.raises(DTypeError):
        nn.Parameter(Tensor([1]))


def test_a_class_made_from_tensor_is_a_parameter_while_it_is_trained() -> None:
    class Named(Tensor):
        pass

    layer = nn.Linear(1, 1)
    layer.extra = Named([1.0], requires_grad=True)
    assert len(layer.parameters()) == 3 and type(layer.extra) is Named


def test_an_abstract_module_may_be_one() -> None:
    class Base(nn.Module, abc.ABC):
        @abc.abstractmethod
        def forward(self, x: Tensor) -> Tensor: ...

    with pytest.raises(TypeError, match="abstract"):
        Base()


@pytest.mark.parametrize("value", [Tensor([1.0]), 3, Tensor([1.0], requires_grad=True)])
def test_nothing_but_a_parameter_takes_the_place_of_one(value: Any) -> None:
    model = Model()
    with pytest.raises(TypeError, match=r"nn\.Parameter\(t\)") as caught:
        model.scale = value
    assert isinstance(caught.value, DTypeError) and model.scale.item() == 1.0
    model.scale = nn.Parameter(Tensor([5.0]))
    model.layer.bias = None
    assert [name for name, _ in model.named_parameters()] == ["scale", "layer.weight", "steps.0"]


def test_init_may_replace_what_a_base_class_made() -> None:
    class Ones(nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 1)
            self.weight = Tensor([[1.0, 1.0]], requires_grad=True)

    assert isinstance(Ones().weight, nn.Parameter)

    class Lost(nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 1)
            self.weight = Tensor([[1.0, 1.0]])

    with pytest.raises(DTypeError, match="parameter"):
        Lost()


def test_buffers_are_registered() -> None:
    model = nn.Linear(1, 1)
    model.register_buffer("mean", Tensor([1.0]), persistent=False)
    model.register_buffer("mean", Tensor([2.0]))  # again: now it is saved
    model.mean = model.mean * 2
    assert [n for n, _ in model.named_buffers()] == ["mean"] and "mean" in model.state_dict()
    with pytest.raises(DTypeError, match="buffer"):
        model.mean = 3
    for register in (
        lambda: model.register_buffer("weight", Tensor([1.0])),
        lambda: model.register_parameter("mean", nn.Parameter(Tensor([1.0]))),
        lambda: model.add_module("mean", nn.ReLU()),
    ):
        with pytest.raises(ArgumentError, match="choose another"):
            register()
    with pytest.raises(DTypeError, match="parameter"):
        model.register_parameter("more", Tensor([1.0]))


def test_an_optimizer_accepts_frozen_parameters_and_trains_them_once_they_are_not() -> None:
    model = nn.Linear(1, 1).requires_grad_(False)
    sgd = optim.SGD(model.named_parameters(), lr=0.5)
    sgd.step()
    assert sgd.param_groups[0]["param_names"] == ["weight", "bias"] and sgd.defaults["lr"] == 0.5
    model.requires_grad_()(Tensor([[1.0]])).sum().backward()
    before = model.bias.item()
    sgd.step()
    assert model.bias.item() == before - 0.5
    with pytest.raises(GraphError, match="requires_grad=True"):
        optim.SGD([Tensor([1.0])], lr=0.1)  # it will never have a gradient


def test_a_tied_weight_has_both_names_in_a_state() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    state = model.state_dict()
    assert (
        list(state) == ["0.weight", "0.bias", "1.weight", "1.bias"] and len(model.parameters()) == 3
    )
    for left_out in ("0.weight", "1.weight"):
        part = {n: Tensor.full(t.shape, 7.0) for n, t in state.items() if n != left_out}
        assert model.load_state_dict(part) == ([], []) and model[0].weight[0, 0].item() == 7.0
    odd = {**{n: t.detach() for n, t in state.items()}, "1.weight": Tensor.zeros(2, 2)}
    with pytest.raises(tutor.errors.DataError, match=r"1\.weight|0\.weight"):
        model.load_state_dict(odd)
