"""nn.Module by PyTorch's rules, with PyTorch beside it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import tutor.torch as wing  # noqa: E402
from tutor.errors import DataError, DTypeError  # noqa: E402

BOTH = pytest.mark.parametrize("library", [torch, wing], ids=["PyTorch", "tutor"])


def model(library: Any) -> Any:
    nn = library.nn

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.plain = library.ones(2, requires_grad=True)
            self.in_a_list = [nn.Linear(2, 2)]
            self.body = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
            self.scale = nn.Parameter(library.ones(3))
            self.register_buffer("mask", library.zeros(3))
            self.register_buffer("scratch", library.zeros(1), persistent=False)
            self.tied = self.body[0]
            self.nothing = None

        def forward(self, x: Any) -> Any:
            return self.body(x) * self.scale + self.mask

    return Net()


def described(library: Any) -> dict[str, Any]:
    net = model(library)
    net.eval()
    return {
        "parameters": [name for name, _ in net.named_parameters()],
        "direct ones": [name for name, _ in net.named_parameters(recurse=False)],
        "buffers": [name for name, _ in net.named_buffers()],
        "state": list(net.state_dict()),
        "modules": [(name, type(m).__name__) for name, m in net.named_modules()],
        "children": [name for name, _ in net.named_children()],
        "training": [m.training for m in net.modules()],
        "iterators": [type(net.parameters()).__name__, type(net.modules()).__name__],
        "by path": tuple(net.get_parameter("body.0.weight").shape),
        "dicts": [list(net._parameters), list(net._buffers), list(net._modules)],
    }


def test_a_model_has_the_parts_that_pytorch_finds() -> None:
    theirs, ours = described(torch), described(wing)
    theirs["iterators"] = ["generator"] * 2
    assert ours == theirs


@BOTH
def test_hooks_see_tensors_of_the_library(library: Any) -> None:
    seen: list[Any] = []
    layer = library.nn.Linear(2, 2)
    handle = layer.register_forward_hook(lambda m, i, o: seen.extend((m, *i, o)))
    layer.register_full_backward_hook(lambda m, gi, go: seen.extend(go))
    layer(library.ones(1, 2, requires_grad=True)).sum().backward()
    handle.remove()
    layer(library.ones(1, 2))
    assert seen[0] is layer and len(seen) == 4
    assert all(isinstance(t, library.Tensor) for t in seen[1:])


@BOTH
def test_a_tensor_over_a_parameter_is_refused(library: Any) -> None:
    layer = library.nn.Linear(2, 2)
    with pytest.raises(TypeError):
        layer.weight = library.ones(2, 2)
    layer.bias = None
    assert len(list(layer.parameters())) == 1


def test_states_that_do_not_fit_are_explained() -> None:
    layer = wing.nn.Linear(2, 2)
    for state in ({}, {"weight": wing.ones(3, 2), "bias": wing.ones(2)}):
        with pytest.raises(DataError, match="missing"):
            layer.load_state_dict(state)
    found = layer.load_state_dict({"bias": wing.ones(2), "more": wing.ones(1)}, strict=False)
    assert found.missing_keys == ["weight"] and found.unexpected_keys == ["more"]
    assert layer.bias.tolist() == [1.0, 1.0]
    with pytest.raises(DTypeError):
        layer.to(wing.long)


@BOTH
def test_inner_layers_are_layers_of_the_library(library: Any) -> None:
    """An init function that asks isinstance(m, nn.Linear) reaches all of them."""
    layer = library.nn.TransformerEncoderLayer(4, 2)
    found = [n for n, m in layer.named_modules() if isinstance(m, library.nn.Linear)]
    assert found == ["self_attn.out_proj", "linear1", "linear2"]


def test_a_layer_of_tutor_keeps_its_numbers_in_a_model() -> None:
    import tutor

    trained = tutor.nn.Linear(2, 2)
    before = trained.weight.tolist()

    class Net(wing.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = trained

    net = Net()
    assert isinstance(net.layer, wing.nn.Linear) and net.layer.weight.tolist() == before
    assert [name for name, _ in net.named_parameters()] == ["layer.weight", "layer.bias"]
