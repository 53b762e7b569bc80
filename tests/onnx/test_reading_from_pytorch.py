"""Files that PyTorch has exported are read, and compute what PyTorch computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx.checker")  # pip install "tutorgrad[onnx]"; a folder "onnx" is none
torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import tutor  # noqa: E402
from tutor.interop import from_torch, to_torch  # noqa: E402
from tutor.onnx.trace import tensors_in  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # its exporter of files without torch.export
nn = torch.nn
MODELS: dict[str, Any] = {
    "cnn": lambda: (
        nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(-1)),
        torch.randn(2, 1, 8, 8),
    ),
    "mlp": lambda: (
        nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 2), nn.ELU()),
        torch.randn(2, 3),
    ),
    "transformer": lambda: (
        nn.Sequential(nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)),
        torch.randint(0, 11, (2, 6)),
    ),
    "decoder": lambda: (
        nn.Sequential(nn.ConvTranspose2d(1, 2, 3, stride=2), nn.LeakyReLU(0.1), nn.AvgPool2d(2)),
        torch.randn(2, 1, 5, 5),
    ),
    "lstm": lambda: (nn.LSTM(3, 5, 2, batch_first=True), torch.randn(2, 4, 3)),
    "gru": lambda: (nn.GRU(3, 5, bidirectional=True, batch_first=True), torch.randn(2, 4, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_file_of_pytorchs_is_read(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name]()
    path = str(tmp_path / "model.onnx")
    torch.onnx.export(model.eval(), (x,), path, dynamo=False, opset_version=17, input_names=["x"],
                      dynamic_axes={"x": {0: "batch"}})  # fmt: skip
    loaded = tutor.onnx.load(path)
    more = torch.cat([x, x[:1]])
    found, wanted = tensors_in(loaded(from_torch(more))), model(more)
    wanted = wanted[0] if isinstance(wanted, tuple) else wanted
    assert torch.allclose(to_torch(found[0]), wanted.detach(), atol=1e-5)
    found[0].sum().backward()
    assert all(p.grad is not None for p in loaded.parameters())
