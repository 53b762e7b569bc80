"""Every layer computes in every place what it computes by python_ref: forward and backward, on
each level of SIMD and on each device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from backend_names import DEVICES
from layer_rows import MASK, TABLE, answer, as_tutor, draw, drawn_state, flat, layers

import tutor
from tutor import Tensor, nn

SEQUENCE, PICTURE = (5, 3, 4), (2, 3, 5, 6)


def encoder() -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(4, 2, 6)


def decoder() -> nn.TransformerDecoderLayer:
    return nn.TransformerDecoderLayer(4, 2, 6)


class Each(nn.Module):
    """All that it holds, in a row."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def forward(self, x: Tensor) -> Tensor:
        for part in self.held.values() if isinstance(self.held, nn.ModuleDict) else self.held:
            x = part(x) if callable(part) else x * part
        return x


class Packed(nn.Module):
    """A recurrent layer over sequences of different lengths."""

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, [3, 5, 2], enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0])[0]


class Unpooled(nn.Module):
    """A pool, and back."""

    def __init__(self, dims: int) -> None:
        names = (f"MaxPool{dims}d", f"MaxUnpool{dims}d")
        pool, unpool = (getattr(nn, name) for name in names)
        self.pool, self.unpool = pool(2, return_indices=True), unpool(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.unpool(*self.pool(x))


# Those that are no single row of the table: what draws numbers, and what holds other layers.
MADE: dict[str, tuple[Callable[[], nn.Module], Any, dict[str, Any]]] = {
    "MaxUnpool1d": (lambda: Unpooled(1), (2, 3, 6), {}),
    "MaxUnpool2d": (lambda: Unpooled(2), PICTURE, {}),
    "MaxUnpool3d": (lambda: Unpooled(3), (1, 2, 4, 2, 6), {}),
    "Dropout": (lambda: nn.Dropout(0.4), SEQUENCE, {}),
    "Dropout1d": (lambda: nn.Dropout1d(0.4), SEQUENCE, {}),
    "Dropout2d": (lambda: nn.Dropout2d(0.4), PICTURE, {}),
    "Sequential": (lambda: nn.Sequential(nn.Conv2d(3, 2, 3), nn.ReLU(), nn.MaxPool2d(2),
                                         nn.Flatten()), PICTURE, {}),
    "ModuleList": (lambda: Each(nn.ModuleList([nn.Linear(4, 3), nn.Tanh()])), SEQUENCE, {}),
    "ModuleDict": (lambda: Each(nn.ModuleDict({"a": nn.Linear(4, 3)})), SEQUENCE, {}),
    "ParameterList": (lambda: Each(nn.ParameterList([nn.Parameter(Tensor.ones(4))])), SEQUENCE, {}),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, 2, dropout=0.3), (SEQUENCE,) * 3,
                           {"is_causal": True, "need_weights": False, "attn_mask": MASK}),
    "TransformerBlock": (lambda: nn.TransformerBlock(4, 2, dropout=0.2), (3, 5, 4), {}),
    "TransformerEncoder": (lambda: nn.TransformerEncoder(encoder(), 2), SEQUENCE, {"mask": MASK}),
    "TransformerDecoder": (lambda: nn.TransformerDecoder(decoder(), 2), (SEQUENCE,) * 2, {}),
    "Transformer": (lambda: nn.Transformer(4, 2, 1, 1, 6), (SEQUENCE,) * 2, {}),
    "RNN": (lambda: Packed(nn.RNN(4, 3)), SEQUENCE, {}),
    "LSTM": (lambda: Packed(nn.LSTM(4, 3, bidirectional=True)), SEQUENCE, {}),
    "GRU": (lambda: nn.GRU(4, 3, 2, dropout=0.4), SEQUENCE, {}),
}  # fmt: skip
NAMES = {f"{row.name}-{i}": row for i, row in enumerate(TABLE)}


def given(name: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """The layer of that name, what it is given, and how it is called."""
    if name in MADE:
        make, inputs, call = MADE[name]
        return make(), inputs if isinstance(inputs[0], tuple) else (inputs,), call
    row = NAMES[name]
    return getattr(nn, row.name)(*row.settings, **row.options), row.inputs, {**row.call}


def answers(name: str, place: str = "cpu") -> list[Any]:
    """What the layer gives while it learns, all gradients, its state afterwards, and what it gives
    then. All of it is where the layer was made."""
    (layer, inputs, call), rng = given(name), np.random.default_rng(3)
    state = drawn_state({n: t.numpy() for n, t in layer.state_dict().items()}, rng)
    layer.load_state_dict({n: Tensor(a) for n, a in state.items()})
    xs = [as_tutor(draw(x, rng), "float32") for x in inputs]
    options = {n: as_tutor(x, "float32") for n, x in call.items()}
    tutor.manual_seed(1)
    learnt = answer(layer, xs, options)
    read = flat(layer.eval()(*xs, **options))
    tensors = [*read, *flat(xs), *layer.parameters(), *layer.state_dict().values()]
    slopes = [t.grad for t in tensors if t.is_leaf and t.grad is not None]
    assert {t.device for t in (*tensors, *slopes)} <= {place}
    return [*learnt, *[z.detach().numpy() for z in read]]


@cache
def expected(name: str) -> list[Any]:
    with tutor.use_backend("python_ref"), tutor.device("cpu"):
        return answers(name)


@pytest.mark.parametrize("name", [*NAMES, *MADE])
def test_a_layer_computes_everywhere_what_python_ref_says(name: str, place: str) -> None:
    wanted, found = expected(name), answers(name, place if place in DEVICES else "cpu")
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            assert a.dtype == b.dtype and a.shape == b.shape
            largest = np.abs(b).max(initial=1)  # of which the smaller ones are differences
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * largest)


def test_no_layer_is_left_out() -> None:
    assert layers() == {row.name for row in TABLE} | {*MADE, "Module"}
