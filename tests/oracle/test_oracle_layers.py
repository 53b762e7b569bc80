"""Each layer beside PyTorch's, or a formula, with the same weights, copied by state_dict.

Compared are the names and shapes of what is saved; then, in training and in evaluation, in float64
and float32, what the layer gives, the gradients of its inputs and of its parameters, and what it
keeps of the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layer_rows import MASK, TABLE, Row, answer, as_tutor, draw, drawn_state, layers
from oracle import torch

import tutor
from tutor import Tensor, nn

WITHOUT = {  # tested in tests/nn, as PyTorch's differ, or need more than a row
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Module", "ModuleDict", "ModuleList",
    "MultiHeadAttention", "ParameterList", "Sequential", "Transformer", "TransformerBlock",
    "TransformerDecoder", "TransformerEncoder",
}  # fmt: skip
COARSE = ("CELU", "Hardsigmoid")  # PyTorch rounds 1 / alpha and 1 / 6 to float32, in any dtype


def as_torch(x: Any, dtype: str) -> Any:
    if isinstance(x, tuple):
        return tuple(as_torch(part, dtype) for part in x)
    if isinstance(x, np.ndarray):
        t = torch.tensor(x)
        return t.to(getattr(torch, dtype)).requires_grad_() if x.dtype.kind == "f" else t
    return x


class Stated(torch.nn.Module):
    """A layer that computes what a row's formula says, with parameters like ours."""

    def __init__(self, formula: Any, ours: nn.Module) -> None:
        super().__init__()
        self.formula = formula
        for name, p in ours.named_parameters():
            self.register_parameter(name, torch.nn.Parameter(torch.tensor(p.detach().numpy())))

    def forward(self, *xs: Any) -> Any:
        return self.formula(*xs, **dict(self.named_parameters()))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{i}") for i, r in enumerate(TABLE)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:Using padding='same'", "ignore:Initializing zero-element")
def test_a_layer_is_pytorchs(row: Row, training: bool, dtype: str) -> None:
    ours = getattr(nn, row.name)(*row.settings, **row.options).to(dtype)
    theirs = Stated(row.formula, ours) if row.formula else getattr(torch.nn, row.name)(
        *row.settings, **row.options).to(getattr(torch, dtype))  # fmt: skip
    saved = {name: t.numpy() for name, t in theirs.state_dict().items()}
    assert {n: t.shape for n, t in ours.state_dict().items()} == {
        n: a.shape for n, a in saved.items()
    }
    rng = np.random.default_rng(3)
    saved = drawn_state(saved, rng)
    theirs.load_state_dict({n: torch.tensor(a) for n, a in saved.items()})
    assert ours.load_state_dict({n: Tensor(a) for n, a in saved.items()}) == ([], [])
    inputs = [draw(given, rng) for given in row.inputs]
    answers = []
    for layer, convert in ((ours, as_tutor), (theirs, as_torch)):
        layer.train(training)
        call = {name: convert(value, dtype) for name, value in row.call.items()}
        answers.append(answer(layer, [convert(x, dtype) for x in inputs], call))
    assert len(answers[0]) == len(answers[1])
    tolerance = 1e-10 if dtype == "float64" and row.name not in COARSE else 3e-4
    for a, b in zip(*answers, strict=True):
        if a is None or b is None:
            assert a is None and (b is None or not b.any())
            continue
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, tolerance, tolerance * 10)
    for name, t in theirs.state_dict().items():  # and back
        assert ours.state_dict()[name].dtype.name == str(t.dtype).removeprefix("torch.")


def test_every_layer_has_a_row() -> None:
    assert layers() - {row.name for row in TABLE} == WITHOUT


def test_an_encoder_of_several_layers_is_pytorchs() -> None:
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 6, 0.0, batch_first=True), 2,
        torch.nn.LayerNorm(8), enable_nested_tensor=False,
    )  # fmt: skip
    layer = nn.TransformerEncoderLayer(8, 2, 6, 0.0, batch_first=True)
    ours = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    ours.load_state_dict({n: Tensor(t.numpy()) for n, t in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((3, 5, 8)).astype("float32")
    z = ours(Tensor(x), mask=Tensor(MASK))
    np.testing.assert_allclose(
        z.detach().numpy(), theirs(torch.tensor(x), torch.tensor(MASK)).detach().numpy(), 1e-4, 1e-5
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_decoder_of_several_layers_and_a_transformer_are_pytorchs() -> None:
    single = [lib.TransformerDecoderLayer(8, 2, 6, 0.0) for lib in (torch.nn, nn)]
    decoders = (
        torch.nn.TransformerDecoder(single[0], 2, torch.nn.LayerNorm(8)),
        nn.TransformerDecoder(single[1], 2, nn.LayerNorm(8)),
    )
    settings = {"num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 6}
    whole = [lib.Transformer(8, 2, **settings, dropout=0.0) for lib in (torch.nn, nn)]
    rng = np.random.default_rng(0)
    tgt, seen = (rng.standard_normal((n, 3, 8)).astype("float32") for n in (5, 4))
    for (theirs, ours), (first, second) in ((decoders, (tgt, seen)), (whole, (seen, tgt))):
        saved = {n: Tensor(t.numpy()) for n, t in theirs.state_dict().items()}
        assert ours.load_state_dict(saved) == ([], [])
        z = ours(Tensor(first), Tensor(second), tgt_mask=Tensor(MASK))
        wanted = theirs(torch.tensor(first), torch.tensor(second), tgt_mask=torch.tensor(MASK))
        np.testing.assert_allclose(z.detach().numpy(), wanted.detach().numpy(), 1e-4, 1e-5)
        hidden = ours(Tensor(first), Tensor(second), tgt_is_causal=True)
        np.testing.assert_allclose(z.detach().numpy(), hidden.detach().numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_pool_and_back_is_pytorchs(dims: int) -> None:
    sizes = (6, 8, 4)[:dims]
    x = np.random.default_rng(0).permutation(6 * int(np.prod(sizes))).reshape(2, 3, *sizes) * 1.0
    for settings in ((2,), (3, 2, 1), ((2, 3, 2)[:dims], 2)):
        pairs = [[getattr(lib, f"{name}{dims}d") for name in ("MaxPool", "MaxUnpool")]
                  for lib in (nn, torch.nn)]  # fmt: skip
        ours, at = pairs[0][0](*settings, return_indices=True)(Tensor(x))
        theirs, places = pairs[1][0](*settings, return_indices=True)(torch.tensor(x))
        assert at.tolist() == places.tolist() and ours.tolist() == theirs.tolist()
        back = pairs[0][1](*settings)(ours, at, output_size=sizes)
        size = pairs[1][1](*settings)(theirs, places, output_size=sizes)
        assert back.tolist() == size.tolist()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_of_several_that_are_largest_an_adaptive_pool_finds_the_first(dims: int) -> None:
    x = np.random.default_rng(0).integers(0, 3, (2, 3, *(7, 5, 6)[:dims])) * 1.0
    for size in (1, 2, 3, 5):
        pools = [getattr(lib, f"AdaptiveMaxPool{dims}d")(size, return_indices=True)
                 for lib in (nn, torch.nn)]  # fmt: skip
        found, wanted = pools[0](Tensor(x)), pools[1](torch.tensor(x))
        assert [t.tolist() for t in found] == [t.tolist() for t in wanted]


def test_a_seed_starts_a_model_the_same_way_each_time() -> None:
    drawn = []
    for _ in range(2):
        tutor.manual_seed(3)
        drawn.append([t.tolist() for t in nn.LSTM(2, 3, 2).parameters()])
    assert drawn[0] == drawn[1]
