"""Every layer of nn with small sizes, what it is given, and what it answers.

That is compared with PyTorch's, or with a formula where PyTorch has no such layer
(tests/oracle/test_oracle_layers.py), and in every place with python_ref's
(tests/nn/test_nn_layers_everywhere.py). tests/test_mistakes.py calls each layer with wrong settings
instead of a row's, and tests/test_cycles.py looks for memory that a row's call leaves behind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tutor import Tensor, nn

IDS, MASK = np.array([[0, 2, 1], [4, 1, 1]]), np.triu(np.ones((5, 5)), 1) > 0
PADDED = np.array([[False] * 4 + [True], [False] * 3 + [True] * 2, [False] * 5])
CLASSES, SIGNS = np.array([1, 0, 3]), np.array([1.0, -1.0, -1.0])
ROWS, LINE, PICTURE, SOLID = (3, 4), (2, 3, 6), (2, 3, 5, 6), (1, 2, 4, 3, 5)


class Row(NamedTuple):
    """A layer: its class, settings, inputs (shapes are drawn; arrays are given as they are). Of one
    that PyTorch has not, also a formula over torch's tensors: `formula(*inputs, **parameters)`."""

    name: str
    settings: tuple = ()
    options: Mapping[str, Any] = MappingProxyType({})
    inputs: tuple = (ROWS,)
    call: Mapping[str, Any] = MappingProxyType({})
    formula: Callable[..., Any] | None = None


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


def layers() -> set[str]:
    """The names of all there are."""
    return {n for n, c in vars(nn).items() if isinstance(c, type) and issubclass(c, nn.Module)}


def settings(name: str) -> dict[str, Any]:
    """Right settings of a layer by the names of its parameters; none if no row has that layer."""
    found: dict[str, Any] = {}
    for row in reversed(TABLE):
        if row.name == name:
            parameters = inspect.signature(getattr(nn, name)).parameters
            found |= dict(zip(parameters, row.settings, strict=False))
            found |= {option: x for option, x in row.options.items() if option in parameters}
    return found


def drawn_state(state: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Other numbers than those that layers start with: ones, zeros and equal rows hide much."""
    found = dict(state)
    for name, a in found.items():
        if a.dtype.kind == "f":
            signs = rng.choice([-1, 1], a.shape) if not name.endswith("running_var") else 1
            found[name] = (rng.uniform(0.5, 1.5, a.shape) * signs).astype(a.dtype)
    return found


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
