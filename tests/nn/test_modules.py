"""Modules, the walk over a model's parameters, and checkpoints."""

import numpy as np
import pytest

from tutor import DTYPES, Tensor, nn
from tutor.errors import DataError
from tutor.nn import checkpoint


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


def test_checkpoints_round_trip(tmp_path):
    tensors = {f"t.{d.name}": Tensor([[0, 1], [1, 0]], dtype=d).T for d in DTYPES}
    tensors |= {"empty": Tensor.zeros(0, 3), "single": Tensor(2.5), "part": Tensor.arange(9)[2::3]}
    path = tmp_path / "deep" / "file.safetensors"
    checkpoint.save(path, tensors, {"note": "ä"})
    loaded, notes = checkpoint.load(path)
    assert notes == {"note": "ä"}
    assert loaded.keys() == tensors.keys()
    for name, t in tensors.items():
        assert loaded[name].dtype is t.dtype
        assert loaded[name].shape == t.shape
        assert loaded[name].tolist() == t.tolist()
    assert [p.name for p in path.parent.iterdir()] == ["file.safetensors"]


def test_other_programs_can_read_them(tmp_path):
    from safetensors.numpy import load_file

    path = tmp_path / "x.safetensors"
    checkpoint.save(path, {"w": Tensor([[1.0, 2.0]])}, {})
    assert load_file(path)["w"].tolist() == [[1, 2]]


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"\xff" * 100, None])
def test_damaged_files_are_refused(tmp_path, content):
    path = tmp_path / "x.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="checkpoint"):
        checkpoint.load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    checkpoint.save(path, {"w": Tensor.zeros(100)}, {})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError):
        checkpoint.load(path)
