"""Layers: the first numbers have PyTorch's distribution; `inplace=True` overwrites."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import tutor.torch as wing  # noqa: E402

LAYERS = {
    "Linear": (lambda nn: nn.Linear(40, 300)),
    "Conv2d": (lambda nn: nn.Conv2d(8, 200, 3)),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(8, 200, 3)),
    "Embedding": (lambda nn: nn.Embedding(200, 40, padding_idx=0)),
    "LSTM": (lambda nn: nn.LSTM(20, 50)),
    "GRUCell": (lambda nn: nn.GRUCell(20, 50)),
    "Bilinear": (lambda nn: nn.Bilinear(20, 20, 40)),
    "MultiheadAttention": (lambda nn: nn.MultiheadAttention(64, 4)),
    "TransformerEncoderLayer": (lambda nn: nn.TransformerEncoderLayer(64, 4, 256)),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(50)),
    "LayerNorm": (lambda nn: nn.LayerNorm(50)),
    "PReLU": (lambda nn: nn.PReLU(3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_first_numbers_are_distributed_as_pytorchs(name: str) -> None:
    torch.manual_seed(0)
    wing.manual_seed(0)
    theirs, ours = LAYERS[name](torch.nn), LAYERS[name](wing.nn)
    first, second = theirs.state_dict(), ours.state_dict()
    assert list(first) == list(second)
    for key, t in first.items():
        u = second[key]
        assert tuple(u.shape) == tuple(t.shape)
        if t.numel() > 1 and t.is_floating_point():
            spread, here = t.std().item(), u.std().item()
            assert abs(here - spread) <= 0.25 * spread + 1e-6, (key, spread, here)
            most, ours_most = t.abs().max().item(), u.abs().max().item()
            assert abs(ours_most - most) <= 0.3 * most + 1e-6, (key, most, ours_most)


@pytest.mark.parametrize("name", ["ReLU", "LeakyReLU", "ELU", "SiLU", "Hardtanh", "Dropout"])
@pytest.mark.parametrize("library", [torch, wing], ids=["PyTorch", "tutor"])
def test_inplace_overwrites_the_input(library: Any, name: str) -> None:
    x = library.tensor([-2.0, 3.0])
    kind = getattr(library.nn, name)
    layer = kind(p=0.0, inplace=True) if name == "Dropout" else kind(inplace=True)
    assert layer(x).tolist() == x.tolist() and (name == "Dropout" or x[0].item() > -2.0)


def test_embedding_starts_with_a_row_of_zeros_for_padding() -> None:
    assert wing.nn.Embedding(3, 2, padding_idx=1).weight[1].tolist() == [0.0, 0.0]
