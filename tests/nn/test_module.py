"""Modules, and the walk over a model's parameters."""

import copy
import pickle

import numpy as np
import pytest

from tutor import Tensor, nn
from tutor.errors import ArgumentError, DataError, DTypeError, OutOfRangeError, TutorError


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


class Block(nn.Module):
    def __init__(self):
        self.first = nn.Linear(2, 3)
        self.rest = nn.ModuleList([nn.Linear(3, 3), nn.Dropout(0.5)])
        self.register_buffer("scale", Tensor([2.0]))
        self.register_buffer("place", Tensor([1, 2]), persistent=False)

    def forward(self, x, shift=0.0):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x * self.scale + shift


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module has no forward") as caught:
        nn.Module()(1)
    assert isinstance(caught.value, TutorError) and "write one" in caught.value.do


def test_names_of_parameters_buffers_and_modules():
    model = Block()
    names = ["first.weight", "first.bias", "rest.0.weight", "rest.0.bias"]
    assert [n for n, _ in model.named_parameters()] == names
    assert [n for n, _ in model.named_parameters("a")] == [f"a.{n}" for n in names]
    assert [n for n, _ in model.named_buffers()] == ["scale", "place"]
    assert [t.tolist() for t in model.buffers()] == [[2.0], [1, 2]]
    assert sorted(model.state_dict()) == sorted([*names, "scale"])  # `place` is not saved
    paths = ["", "first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in model.named_modules()] == paths and len(model.modules()) == 5
    assert [n for n, _ in model.named_children()] == ["first", "rest"]
    assert model.children() == [model.first, model.rest]
    assert model.get_submodule("rest.1") is model.rest[1]
    with pytest.raises(OutOfRangeError, match="rest, rest"):
        model.get_submodule("rest.7")
    many = nn.Sequential(*[Block() for _ in range(11)])
    assert [n for n, _ in many.named_children()] == [str(n) for n in range(11)]  # 10 is not in 1
    assert [n for n in many.state_dict() if "place" in n] == []
    many[7].first.weight = many[2].first.weight  # tied: a parameter once, saved by both names
    assert len(many.parameters()) == 43 and len(many.state_dict()) == 55


def test_a_base_class_init_is_optional_and_harmless():
    class With(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

    assert With().training and len(With().parameters()) == 2


def test_training_reaches_plain_parts_too():
    class Plain:
        def __init__(self):
            self.inner = [nn.Dropout(1.0), {"norm": nn.BatchNorm1d(2)}]

    class Told(Plain):
        training = True

    model = Plain()
    model.told = Told()
    nn.train(model, False)
    assert not hasattr(model, "training") and not model.told.training and Told.training
    assert not model.told.inner[0].training
    assert not model.inner[0].training and not model.inner[1]["norm"].training
    assert model.inner[0](Tensor([1.0])).tolist() == [1.0]
    whole = nn.Sequential(nn.Dropout(1.0), Block())
    assert whole.eval() is whole and not whole[1].rest[1].training
    assert whole.train()[1].rest[1].training and whole[0](Tensor([1.0])).tolist() == [0.0]


def test_loading_is_all_or_nothing_and_may_be_partial():
    model, other = Block(), Block()
    assert model.load_state_dict(other.state_dict()) == ([], [])
    assert all((a == b).all() for a, b in zip(model.parameters(), other.parameters(), strict=True))
    before = [t.tolist() for t in model.parameters()]
    part = {"first.bias": Tensor([1.0, 2.0, 3.0]), "extra": Tensor([0.0])}
    for wrong in (part, {**other.state_dict(), "extra": Tensor([0.0])}):
        with pytest.raises(DataError, match=r"not in the model: \['extra'\]"):
            model.load_state_dict(wrong)
    assert [t.tolist() for t in model.parameters()] == before
    found = model.load_state_dict(part, strict=False)
    assert found.unexpected_keys == ["extra"] and "first.weight" in found.missing_keys
    assert model.first.bias.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DataError, match="is \\(2,\\) there, \\(3,\\) here"):
        model.load_state_dict({"first.bias": Tensor([1.0, 2.0])}, strict=False)
    wide = {n: t.detach().cast("float64") for n, t in other.state_dict().items()}
    model.load_state_dict(wide)
    wide["scale"][0] = 7.0  # which stays the state's alone
    assert model.scale.tolist() == [2.0] and model.scale.dtype.name == "float32"


def test_freezing_leaves_state_alone():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert model.requires_grad_(False) is model and len(model.parameters()) == 4
    assert not any(p.requires_grad for p in model.parameters())
    model.requires_grad_()
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_apply_goes_from_the_inside_out():
    model, seen = Block(), []
    assert model.apply(lambda part: seen.append(type(part).__name__)) is model
    assert seen == ["Linear", "Linear", "Dropout", "ModuleList", "Block"]
    with pytest.raises(DTypeError, match="function"):
        model.apply(3)


def test_gradients_are_forgotten():
    model = nn.Linear(2, 1)
    model(Tensor([[1.0, 2.0]])).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.weight.grad.tolist() == [[0.0, 0.0]]
    model.zero_grad()
    assert model.weight.grad is None


def test_a_model_in_another_dtype():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    weight = model[0].weight
    weight.grad = Tensor.ones(3, 2)
    assert model.to("float32")[0].weight.grad is not None
    assert model.double() is model and model[0].weight is weight and weight.grad is None
    assert weight.dtype.name == "float64" and model[1].num_batches_tracked.dtype.name == "int64"
    assert model(Tensor.ones(2, 2, dtype="float64")).dtype.name == "float64"
    assert {p.dtype.name for p in model.half().parameters()} == {"float16"}
    assert model.float().to("cpu")[0].weight.dtype.name == "float32"
    with pytest.raises(DTypeError, match="float dtype"):
        model.to("int8")


def test_registering_wants_names():
    model = nn.Module()
    model.add_module("a", nn.Linear(1, 1))
    model.register_parameter("p", nn.Parameter(Tensor([1.0])))
    assert [n for n, _ in model.named_parameters()] == ["p", "a.weight", "a.bias"]
    for call in (
        lambda: model.add_module("a.b", nn.ReLU()),
        lambda: model.register_buffer("", Tensor([1.0])),
        lambda: model.register_parameter(3, None),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="without a dot"):
            call()


def test_a_parameter_is_a_leaf_over_the_same_numbers():
    x = Tensor([1.0, 2.0])
    p = nn.Parameter(x * 2)
    assert p.requires_grad and p.op is None and p.tolist() == [2.0, 4.0]
    assert not nn.Parameter(x, requires_grad=False).requires_grad and not x.requires_grad


# ---- hooks ---------------------------------------------------------------------------------------


def test_hooks_see_a_call_and_may_change_it():
    layer, seen = nn.Linear(2, 1, dtype="float64"), []
    x = Tensor([[1.0, 2.0]], dtype="float64")
    plain = layer(x).item()
    before = layer.register_forward_pre_hook(lambda m, inputs: seen.append(inputs) or inputs[0] * 2)
    after = layer.register_forward_hook(lambda m, inputs, z: z + 1)
    assert layer(x).item() == pytest.approx(2 * plain + 1)
    assert seen[0][0] is x
    before.remove()
    before.remove()  # once is enough
    with after:
        assert layer(x).item() == pytest.approx(plain + 1)
    assert layer(x).item() == plain
    assert list(layer.state_dict()) == ["weight", "bias"]  # hooks are no part of the model
    for factor, extra in ((1, 1), (10, 0)):  # in the order in which they were registered
        layer.register_forward_pre_hook(lambda m, inputs, f=factor, e=extra: inputs[0] * f + e)
        layer.register_forward_hook(lambda m, inputs, z, f=factor, e=extra: z * f + e)
    assert layer(x).item() == pytest.approx(10 * (layer.forward((x + 1) * 10).item() + 1))
    with pytest.raises(DTypeError):
        layer.register_forward_hook(3)


@pytest.mark.parametrize("of", ["forward_pre", "forward", "full_backward"])
def test_a_hook_that_is_registered_twice_is_removed_once_by_each_of_its_handles(of):
    layer, calls, counts = nn.Linear(1, 1), [], []
    register = getattr(layer, f"register_{of}_hook")

    def hook(*_):
        calls.append(1)

    for handle in (register(hook), register(hook)):
        handle.remove()
        handle.remove()  # which does not touch the other one
        layer(Tensor([[1.0]])).sum().backward()
        counts.append(len(calls))
    assert counts == [1, 1]


def test_backward_hooks_see_the_gradients_and_may_change_them():
    class Product(nn.Module):
        def forward(self, a, b):
            return a * b

    layer, seen = Product(), []
    layer.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs, outputs)))
    a, b = Tensor([2.0], requires_grad=True), Tensor([3.0], requires_grad=True)
    (layer(a, b) * 5).sum().backward()
    ((ga, gb), (g,)) = seen[0]
    assert (ga.tolist(), gb.tolist(), g.tolist()) == ([15.0], [10.0], [5.0]) and len(seen) == 1
    assert a.grad.tolist() == [15.0]
    z = layer(a, b).sum()
    for factor in (1.0, 3.0):  # two walks through one call
        z.backward(Tensor(factor), retain_graph=True)
    told = [[t.item() for t in (*inputs, *outputs)] for inputs, outputs in seen[1:]]
    assert told == [[3.0, 2.0, 1.0], [9.0, 6.0, 3.0]]
    del seen[1:]
    a.grad = Tensor([15.0])
    first = nn.Linear(1, 1)
    first.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs, outputs)))
    first(Tensor([[1.0]])).sum().backward()  # no input wants a gradient: it is told nevertheless
    assert seen[1][0] == (None,) and seen[1][1][0].tolist() == [[1.0]]
    other = Product()
    other.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 10,))
    a.grad = None
    other(a, Tensor([3.0])).sum().backward()
    assert a.grad.tolist() == [30.0]


def test_a_copy_of_a_model_keeps_its_hooks_and_shares_nothing():
    model, calls = nn.Linear(1, 1), []
    model.register_forward_hook(lambda m, inputs, z: calls.append(m))
    other = copy.deepcopy(model)
    other(Tensor([[1.0]]))
    assert calls == [other] and other.weight is not model.weight


# ---- containers ----------------------------------------------------------------------------------


def test_a_sequential_is_a_list_of_layers():
    a, b, c = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    model = nn.Sequential(a, b)
    assert model.append(c) is model and len(model) == 3 and list(model) == [a, b, c]
    assert model[0] is a and model[-1] is c and list(model[1:]) == [b, c]
    assert isinstance(model[:2], nn.Sequential) and sorted(model[:2].state_dict()) == [
        "0.bias", "0.weight",
    ]  # fmt: skip
    model[1] = nn.Tanh()
    assert isinstance(model[1], nn.Tanh)
    del model[1]
    assert list(model.insert(1, b)) == [a, b, c] and list(model.extend([b]))[3] is b
    with pytest.raises(OutOfRangeError, match="4 layers"):
        model[4]
    for wrong in ([a, b], 3, None):
        with pytest.raises(DTypeError):
            nn.Sequential(wrong)


def test_layers_by_name():
    model = nn.Sequential({"first": nn.Linear(2, 3), "act": nn.ReLU()})
    assert model.first is model[0] and list(model.state_dict()) == ["first.weight", "first.bias"]
    assert model(Tensor([[1.0, 2.0]])).shape == (1, 3) and model[:1].first is model.first
    with pytest.raises(AttributeError, match="no attribute 'second'"):
        _ = model.second
    for _ in range(2):  # of two layers of one name, one alone would be saved
        del model[0]
        model.append(nn.Linear(1, 1))
    assert len(set(model.names)) == 2 and len(model.state_dict()) == 4
    model = nn.Sequential({"1": nn.ReLU(), "2": nn.ReLU()}).insert(0, nn.Tanh())
    assert model.names == ["3", "1", "2"]
    with pytest.raises(ArgumentError):
        nn.Sequential({"a.b": nn.ReLU()})


def test_a_sequential_may_have_other_attributes():
    class Scaled(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(2, 2))
            self.scale = nn.Parameter(Tensor([3.0]))

        def forward(self, x):
            return super().forward(x) * self.scale

    assert sorted(Scaled().state_dict()) == ["0.bias", "0.weight", "scale"]
    assert len(Scaled()[:1].parameters()) == 3


def test_lists_and_dicts_of_modules_and_parameters():
    class Model(nn.Module):
        def __init__(self):
            self.blocks = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
            self.heads = nn.ModuleDict({"left": nn.Linear(1, 2)})
            self.scales = nn.ParameterList([nn.Parameter(Tensor([1.0])), Tensor([2.0])])

    model = Model()
    assert sorted(model.state_dict()) == [
        "blocks.0.bias", "blocks.0.weight", "heads.left.bias", "heads.left.weight", "scales.0",
        "scales.1",
    ]  # fmt: skip
    assert len(model.parameters()) == 6
    heads = model.heads
    heads["right"] = nn.ReLU()
    assert heads.keys() == ["left", "right"] and "right" in heads and len(heads) == 2
    assert list(heads) == ["left", "right"] and heads.items()[0][1] is heads.values()[0]
    del heads["right"]
    with pytest.raises(ArgumentError, match="left"):
        heads["right"]
    with pytest.raises(ArgumentError, match="left"):
        del heads["right"]
    with pytest.raises(DTypeError):
        nn.ParameterList([nn.ReLU()])


def test_models_are_saved_by_pickle():
    model = nn.Sequential({"a": nn.Linear(2, 3), "b": nn.LSTM(3, 2)})
    other = pickle.loads(pickle.dumps(model))
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in model.named_parameters()]
    assert other.a.weight.tolist() == model.a.weight.tolist()
