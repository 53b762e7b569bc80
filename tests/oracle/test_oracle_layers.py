"""Each layer beside PyTorch's, with the same weights, which are copied by state_dict.

Compared are the names and shapes of what is saved; then, in training and in evaluation, in float64
and float32, what the layer gives, the gradients of its inputs and of its parameters, and what it
keeps of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracle import torch

import tutor
from tutor import Tensor, nn

IDS, MASK = np.array([[0, 2, 1], [4, 1, 1]]), np.triu(np.ones((5, 5)), 1) > 0
PADDED = np.array([[False] * 4 + [True], [False] * 3 + [True] * 2, [False] * 5])
CLASSES, SIGNS = np.array([1, 0, 3]), np.array([1.0, -1.0, -1.0])
ROWS, LINE, PICTURE, SOLID = (3, 4), (2, 3, 6), (2, 3, 5, 6), (1, 2, 4, 3, 5)


class Row(NamedTuple):
    """A layer: its class, settings, inputs (shapes are drawn; arrays are given as they are)."""

    name: str
    settings: tuple = ()
    options: Mapping[str, Any] = MappingProxyType({})
    inputs: tuple = (ROWS,)
    call: Mapping[str, Any] = MappingProxyType({})


def several(*names: str, **given: Any) -> list[Row]:
    return [Row(name, **given) for name in names]


POOLS = [
    row for d, x in ((1, LINE), (2, PICTURE), (3, SOLID)) for row in (
        Row(f"MaxPool{d}d", (2,), inputs=(x,)),
        Row(f"MaxPool{d}d", (3, 2, 1), {"ceil_mode": True}, (x,)),
        Row(f"AvgPool{d}d", (2,), inputs=(x,)),
        Row(f"AvgPool{d}d", (3, 2, 1), {"count_include_pad": False}, (x,)),
        Row(f"AdaptiveAvgPool{d}d", (2,), inputs=(x,)),
        Row(f"AdaptiveMaxPool{d}d", (2,), inputs=(x,)),
        Row(f"AdaptiveMaxPool{d}d", (2,), {"return_indices": True}, (x,)),
        Row(f"Conv{d}d", (x[1], 4, 2), {"stride": 2, "padding": 1}, (x,)),
        Row(f"Conv{d}d", (), {"in_channels": x[1], "out_channels": 2 * x[1], "kernel_size": 3,
                              "groups": x[1], "bias": False, "padding": "same"}, (x,)),
        Row(f"ConvTranspose{d}d", (x[1], 2, 3), {"stride": 2, "output_padding": 1}, (x,)),
        Row(f"BatchNorm{d}d", (x[1],), inputs=(x,)),
        Row(f"BatchNorm{d}d", (x[1],), {"momentum": None, "eps": 0.1}, (x,)),
        Row(f"BatchNorm{d}d", (x[1],), {"affine": False, "track_running_stats": False}, (x,)),
    )
]  # fmt: skip
NORMS = [
    Row("BatchNorm1d", (4,)),
    *[Row(f"InstanceNorm{d}d", (3,), o, (x,)) for d, x in ((1, LINE), (2, PICTURE), (1, LINE[1:]))
      for o in ({}, {"affine": True, "track_running_stats": True})],
    Row("LayerNorm", (4,)), Row("LayerNorm", ((3, 6),), {"eps": 0.1}, (LINE,)),
    Row("LayerNorm", (4,), {"bias": False}), Row("LayerNorm", (4,), {"elementwise_affine": False}),
    Row("RMSNorm", (4,)), Row("RMSNorm", ((3, 6),), {"eps": 0.1}, (LINE,)),
    Row("GroupNorm", (3, 6), inputs=((2, 6, 4),)),
    Row("GroupNorm", (1, 3), {"affine": False}, (PICTURE,)),
    *several("Dropout", "Dropout1d", settings=(0.0,), inputs=(LINE,)),
    Row("Dropout2d", (0.0,), inputs=(PICTURE,)), Row("Dropout", (1.0,)),
]  # fmt: skip
ACTIVATIONS = [
    *several("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "LeakyReLU",
             "ELU", "CELU", "Hardtanh", options={"inplace": False}),
    *several("Tanh", "Sigmoid", "LogSigmoid", "Softsign", "Tanhshrink", "GELU", "Softplus",
             "Hardshrink", "Softshrink", "PReLU", "Identity", "GLU"),
    *several("Softmax", "LogSoftmax", "Softmin", options={"dim": 0}),
    Row("GLU", (0,), {}, ((4, 3),)), Row("GELU", (), {"approximate": "tanh"}),
    *several("LeakyReLU", "ELU", "CELU", "Hardshrink", "Softshrink", "Softplus", settings=(0.3,)),
    Row("Threshold", (0.2, 7.0)), Row("Hardtanh", (-0.5, 0.2)),
    Row("PReLU", (3,), {"init": 0.1}, (PICTURE,)),
]  # fmt: skip
SHAPES = [
    Row("Linear", (4, 2)), Row("Linear", (), {"in_features": 6, "out_features": 2, "bias": False},
                               (LINE,)),
    Row("Bilinear", (4, 2, 3), inputs=(ROWS, (3, 2))), Row("Embedding", (5, 3), inputs=(IDS,)),
    Row("Embedding", (5, 3), {"padding_idx": 1}, (IDS,)),
    Row("Flatten", inputs=(PICTURE,)), Row("Flatten", (0, 2), inputs=(PICTURE,)),
    Row("Flatten", (), {"start_dim": 2}, (PICTURE,)), Row("Unflatten", (1, (2, 2))),
    Row("Upsample", (), {"scale_factor": 2}, (PICTURE,)),
    Row("Upsample", ((3, 8),), {"mode": "bilinear", "align_corners": True}, (PICTURE,)),
    Row("Upsample", ((3, 8),), {"mode": "bicubic"}, (PICTURE,)),
    Row("PixelShuffle", (2,), inputs=((2, 4, 3, 2),)),
    Row("PixelUnshuffle", (2,), inputs=((2, 4, 2),)),
]  # fmt: skip
LOSSES = [
    *several("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss",
             inputs=(ROWS, ROWS), options={"reduction": "sum"}),
    *several("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss",
             inputs=(ROWS, ROWS)),
    Row("SoftMarginLoss", inputs=((3,), np.array([1, -1, -1]))),
    Row("PoissonNLLLoss", inputs=(ROWS, ROWS)),
    Row("SmoothL1Loss", (), {"beta": 0.3}, (ROWS, ROWS)), Row("HuberLoss", (), {"delta": 0.3},
                                                              (ROWS, ROWS)),
    Row("BCELoss", inputs=(np.linspace(0.1, 0.9, 12).reshape(3, 4), np.eye(3, 4))),
    Row("CrossEntropyLoss", inputs=(ROWS, CLASSES)),
    Row("CrossEntropyLoss", (), {"label_smoothing": 0.1, "ignore_index": 3}, (ROWS, CLASSES)),
    Row("NLLLoss", (), {"reduction": "none"}, (ROWS, CLASSES)),
    Row("KLDivLoss", (), {"reduction": "batchmean", "log_target": True}, (ROWS, ROWS)),
    Row("PoissonNLLLoss", (), {"full": True}, (ROWS, np.linspace(0.5, 5, 12).reshape(3, 4))),
    Row("GaussianNLLLoss", (), {"full": True}, (ROWS, ROWS, np.full((3, 4), 0.7))),
    Row("HingeEmbeddingLoss", (), {"margin": 0.5}, ((3,), SIGNS)),
    Row("MarginRankingLoss", (), {"margin": 0.5}, ((3,), (3,), SIGNS)),
    Row("CosineEmbeddingLoss", (), {"margin": 0.1}, (ROWS, ROWS, SIGNS)),
    Row("TripletMarginLoss", (), {"margin": 2.0, "swap": True}, (ROWS, ROWS, ROWS)),
    Row("CosineSimilarity", inputs=(ROWS, ROWS)), Row("PairwiseDistance", inputs=(ROWS, ROWS)),
]  # fmt: skip
SEQUENCE = (5, 2, 3)
RECURRENT = [
    row for name in ("RNN", "LSTM", "GRU") for row in (
        Row(name, (3, 4), inputs=(SEQUENCE,)), Row(name, (3, 4), inputs=((5, 3),)),
        Row(name, (3, 4, 2), {"bidirectional": True, "batch_first": True}, (SEQUENCE,)),
        Row(name, (3, 4, 2), {"bias": False}, (SEQUENCE, ((2, 2, 4),) * (1 + (name == "LSTM")))),
        Row(name, (3, 4), {"bidirectional": True},
            ((5, 3), ((2, 4),) * (1 + (name == "LSTM")))),
        Row(f"{name}Cell", (3, 4), inputs=((2, 3),)),
        Row(f"{name}Cell", (3, 4), {"bias": False}, ((2, 3), ((2, 4),) * (1 + (name == "LSTM")))),
    )
] + [Row("RNN", (3, 4), {"nonlinearity": "relu"}, (SEQUENCE,)),
     Row("RNNCell", (3, 4), {"nonlinearity": "relu"}, ((2, 3),))]  # fmt: skip
X = (5, 3, 8)
ATTENTION = [
    Row("MultiheadAttention", (8, 2), inputs=(X, X, X)),
    Row("MultiheadAttention", (8, 2), {"batch_first": True}, (X, X, X), {"need_weights": False}),
    Row("MultiheadAttention", (8, 4), {"bias": False}, (X, (4, 3, 8), (4, 3, 8)),
        {"average_attn_weights": False}),
    Row("MultiheadAttention", (8, 2), {}, ((5, 8),) * 3, {"attn_mask": MASK}),
    *[Row("MultiheadAttention", (8, 2), {}, (X, X, X), {"attn_mask": MASK, "need_weights": needed})
      for needed in (True, False)],
    *[Row("MultiheadAttention", (8, 2), {}, (X, X, X),
          {"key_padding_mask": PADDED, "need_weights": needed}) for needed in (True, False)],
    Row("MultiheadAttention", (8, 2), {}, (X, X, X),
        {"attn_mask": np.linspace(-1, 1, 25).reshape(5, 5)}),
    *[Row("TransformerEncoderLayer", (8, 2, 6), {"dropout": 0.0, **o}, (X,))
      for o in ({}, {"norm_first": True}, {"activation": "gelu", "batch_first": True},
                {"bias": False})],
    *[Row("TransformerDecoderLayer", (8, 2, 6), {"dropout": 0.0, **o}, (X, (4, 3, 8)), call)
      for o, call in (
          ({}, {}), ({"norm_first": True}, {"tgt_mask": MASK}), ({"bias": False}, {}),
          ({"norm_first": True, "activation": "gelu"}, {"tgt_key_padding_mask": PADDED}),
          ({}, {"memory_mask": MASK[:, :4], "memory_key_padding_mask": PADDED[:, 1:]}))],
    Row("TransformerDecoderLayer", (8, 2, 6), {"dropout": 0.0, "batch_first": True},
        ((3, 5, 8), (3, 4, 8)), {"tgt_mask": MASK, "tgt_is_causal": True}),
]  # fmt: skip
TABLE = [*POOLS, *NORMS, *ACTIVATIONS, *SHAPES, *LOSSES, *RECURRENT, *ATTENTION]
WITHOUT = {  # tested in tests/nn, as PyTorch's differ, or need more than a row
    "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Module", "ModuleDict", "ModuleList",
    "MultiHeadAttention", "ParameterList", "Sequential", "Transformer", "TransformerBlock",
    "TransformerDecoder", "TransformerEncoder",
}  # fmt: skip
COARSE = ("CELU", "Hardsigmoid")  # PyTorch rounds 1 / alpha and 1 / 6 to float32, in any dtype


def draw(given: Any, rng: np.random.Generator) -> Any:
    if isinstance(given, np.ndarray):
        return given
    if given and isinstance(given[0], tuple):  # a state
        found = tuple(draw(shape, rng) for shape in given)
        return found if len(found) > 1 else found[0]
    return rng.standard_normal(given)


def flat(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [x for part in found for x in flat(part)]
    return [] if found is None else [found]


def as_tutor(x: Any, dtype: str) -> Any:
    if isinstance(x, tuple):
        return tuple(as_tutor(part, dtype) for part in x)
    if isinstance(x, np.ndarray):
        return Tensor(x, dtype=dtype, requires_grad=True) if x.dtype.kind == "f" else Tensor(x)
    return x


def as_torch(x: Any, dtype: str) -> Any:
    if isinstance(x, tuple):
        return tuple(as_torch(part, dtype) for part in x)
    if isinstance(x, np.ndarray):
        t = torch.tensor(x)
        return t.to(getattr(torch, dtype)).requires_grad_() if x.dtype.kind == "f" else t
    return x


def answer(layer: Any, inputs: list[Any], call: dict[str, Any]) -> list[np.ndarray | None]:
    """What it gives, the gradients of inputs and parameters by name, and its state afterwards."""
    found = [z for z in flat(layer(*inputs, **call)) if z is not None]
    total: Any = 0.0
    for i, z in enumerate(found):
        total = total + (z * z * (0.5 + i) + z).sum()
    leaves = [x for x in flat(inputs) if x.requires_grad]
    if total.requires_grad:
        total.backward()
    slopes = [x.grad for x in leaves] + [p.grad for _, p in sorted(layer.named_parameters())]
    state = [t for _, t in sorted(layer.state_dict().items())]
    return [None if t is None else np.array(t.detach().numpy())
            for t in (*found, *slopes, *state)]  # fmt: skip


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.name}-{i}") for i, r in enumerate(TABLE)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:Using padding='same'", "ignore:Initializing zero-element")
def test_a_layer_is_pytorchs(row: Row, training: bool, dtype: str) -> None:
    theirs = getattr(torch.nn, row.name)(*row.settings, **row.options).to(getattr(torch, dtype))
    ours = getattr(nn, row.name)(*row.settings, **row.options).to(dtype)
    saved = {name: t.numpy() for name, t in theirs.state_dict().items()}
    assert {n: t.shape for n, t in ours.state_dict().items()} == {
        n: a.shape for n, a in saved.items()
    }
    rng = np.random.default_rng(3)
    for name, a in saved.items():  # not what they start with: ones, zeros and equal rows hide much
        if a.dtype.kind == "f":
            saved[name] = (rng.uniform(0.5, 1.5, a.shape) * rng.choice([-1, 1], a.shape)).astype(
                dtype
            )
            if name.endswith("running_var"):
                saved[name] = np.abs(saved[name])
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
    layers = {n for n, c in vars(nn).items() if isinstance(c, type) and issubclass(c, nn.Module)}
    assert layers - {row.name for row in TABLE} == WITHOUT


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
    layers = [lib.TransformerDecoderLayer(8, 2, 6, 0.0) for lib in (torch.nn, nn)]
    decoders = (
        torch.nn.TransformerDecoder(layers[0], 2, torch.nn.LayerNorm(8)),
        nn.TransformerDecoder(layers[1], 2, nn.LayerNorm(8)),
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
        layers = [[getattr(lib, f"{name}{dims}d") for name in ("MaxPool", "MaxUnpool")]
                  for lib in (nn, torch.nn)]  # fmt: skip
        ours, at = layers[0][0](*settings, return_indices=True)(Tensor(x))
        theirs, places = layers[1][0](*settings, return_indices=True)(torch.tensor(x))
        assert at.tolist() == places.tolist() and ours.tolist() == theirs.tolist()
        back = layers[0][1](*settings)(ours, at, output_size=sizes)
        size = layers[1][1](*settings)(theirs, places, output_size=sizes)
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
