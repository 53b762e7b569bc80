"""Packed and padded sequences: PyTorch's numbers, and recurrent layers over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn
from tutor.errors import ShapeError, TutorError
from tutor.nn.utils import rnn

torch = pytest.importorskip("torch")
theirs = torch.nn.utils.rnn
RNG = np.random.default_rng(5)
LENGTHS = {"sorted": [5, 3, 3, 1], "mixed": [2, 5, 1, 5], "equal": [4, 4], "one": [3]}


def numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def same(ours: Any, wanted: Any) -> None:
    if wanted is None or isinstance(ours, int):
        assert ours == wanted
    elif isinstance(wanted, (tuple, list)):
        assert len(ours) == len(wanted)
        for a, b in zip(ours, wanted, strict=True):
            same(a, b)
    else:
        assert ours.shape == tuple(wanted.shape)
        assert str(ours.dtype.name) == str(wanted.dtype).removeprefix("torch.")
        np.testing.assert_allclose(
            ours.detach().numpy(), wanted.detach().numpy(), 1e-10, 1e-12
        )  # fmt: skip


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("case", LENGTHS)
def test_packing_and_back(case: str, batch_first: bool) -> None:
    ends = LENGTHS[case]
    for tail in ((), (3,), (3, 2)):
        lead = (len(ends), 6) if batch_first else (6, len(ends))
        x = numbers(*lead, *tail)
        options = {"batch_first": batch_first, "enforce_sorted": case == "sorted"}
        ours = rnn.pack_padded_sequence(Tensor(x), ends, **options)
        wanted = theirs.pack_padded_sequence(torch.tensor(x), torch.tensor(ends), **options)
        same(ours, wanted)
        for more in ({}, {"padding_value": -2.0, "total_length": 7}, {"total_length": 5}):
            same(
                rnn.pad_packed_sequence(ours, batch_first, **more),
                theirs.pad_packed_sequence(wanted, batch_first, **more),
            )


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_padding(batch_first: bool, side: str) -> None:
    given = [numbers(n, 2) for n in (3, 5, 1)]
    ours, wanted = [Tensor(a) for a in given], [torch.tensor(a) for a in given]
    same(
        rnn.pad_sequence(ours, batch_first, 7.0, side),
        theirs.pad_sequence(wanted, batch_first, 7.0, side),
    )
    same(rnn.pack_sequence(ours, False), theirs.pack_sequence(wanted, False))
    packed = rnn.pack_sequence(ours, enforce_sorted=False)
    same(rnn.unpack_sequence(packed), wanted)
    padded = rnn.pad_sequence(ours, batch_first)
    same(rnn.unpad_sequence(padded, Tensor([3, 5, 1]), batch_first), wanted)


LAYERS = [
    ("RNN", {}), ("LSTM", {}), ("GRU", {}), ("LSTM", {"bidirectional": True, "num_layers": 2}),
    ("GRU", {"bidirectional": True}), ("RNN", {"num_layers": 2, "bias": False}),
]  # fmt: skip


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("case", LENGTHS)
@pytest.mark.parametrize(("name", "options"), LAYERS, ids=str)
def test_a_layer_over_packed_sequences(
    name: str, options: dict[str, Any], case: str, with_state: bool
) -> None:
    """Results, the state after each sequence's own end, and all gradients."""
    ends = LENGTHS[case]
    layers = [getattr(lib, name)(3, 4, **options) for lib in (nn, torch.nn)]
    layers[1].double()
    layers[0].to("float64").load_state_dict(
        {n: Tensor(t.numpy()) for n, t in layers[1].state_dict().items()}
    )
    x = numbers(6, len(ends), 3)
    count = layers[0].num_layers * (1 + layers[0].bidirectional)
    h = [numbers(count, len(ends), 4) for _ in range(1 + (name == "LSTM"))]
    found = []
    for lib, layer, make in ((rnn, layers[0], Tensor), (theirs, layers[1], torch.tensor)):
        leaf = make(x)
        leaf.requires_grad = True
        state = [make(part) for part in h]
        hx = (tuple(state) if name == "LSTM" else state[0]) if with_state else None
        lengths = make(ends)
        packed = lib.pack_padded_sequence(leaf, lengths, enforce_sorted=False)
        told, last = layer(packed, hx)
        padded, _ = lib.pad_packed_sequence(told)
        total = (padded**2).sum() + sum((s * s * s).sum() for s in
                                        (last if isinstance(last, tuple) else (last,)))  # fmt: skip
        total.backward()
        slopes = [p.grad for _, p in sorted(layer.named_parameters())]
        found.append([tuple(told), last, leaf.grad, *slopes])
    same(*found)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_dropout_is_between_the_layers_and_of_training(name: str, training: bool) -> None:
    """All is dropped, so that nothing is left to chance."""
    layers = [getattr(lib, name)(3, 4, 2, dropout=1.0) for lib in (nn, torch.nn)]
    layers[1].double().train(training)
    layers[0].to("float64").train(training).load_state_dict(layers[1].state_dict())
    x = numbers(5, 2, 3)
    told, wanted = layers[0](Tensor(x))[0], layers[1](torch.tensor(x))[0]
    same(told, wanted)
    assert (told != 0).all()  # of the last layer nothing


def test_a_packed_batch_is_each_sequence_alone() -> None:
    tutor.manual_seed(0)
    gru = nn.GRU(3, 4, bidirectional=True)
    given = [Tensor(numbers(n, 3), dtype="float32") for n in (2, 5, 1)]
    told, last = gru(rnn.pack_sequence(given, enforce_sorted=False))
    for i, (x, z) in enumerate(zip(given, rnn.unpack_sequence(told), strict=True)):
        alone, end = gru(x)
        np.testing.assert_allclose(z.detach().numpy(), alone.detach().numpy(), 1e-5, 1e-6)
        np.testing.assert_allclose(last[:, i].detach().numpy(), end.detach().numpy(), 1e-5, 1e-6)


X = Tensor.zeros(4, 2, 3)
PACKED = rnn.pack_padded_sequence(X, [4, 2])
REFUSED = {
    "rising lengths": lambda: rnn.pack_padded_sequence(X, [2, 4]),
    "a length of 0": lambda: rnn.pack_padded_sequence(X, [4, 0]),
    "a length beyond": lambda: rnn.pack_padded_sequence(X, [5, 1]),
    "too few lengths": lambda: rnn.pack_padded_sequence(X, [4]),
    "one axis": lambda: rnn.pack_padded_sequence(Tensor([1.0]), [1]),
    "no packed sequence": lambda: rnn.pad_packed_sequence(X),  # type: ignore[arg-type]
    "too short": lambda: rnn.pad_packed_sequence(PACKED, total_length=3),
    "rising sizes": lambda: rnn.pad_packed_sequence(
        PACKED._replace(batch_sizes=Tensor([1, 1, 2, 2]))
    ),
    "other sizes": lambda: nn.GRU(3, 2)(PACKED._replace(batch_sizes=Tensor([2, 2]))),
    "no sequences": lambda: rnn.pad_sequence([]),
    "different tails": lambda: rnn.pad_sequence([X, X[:, :1]]),
    "numbers": lambda: rnn.pad_sequence([Tensor(1.0)]),
    "a third side": lambda: rnn.pad_sequence([X], padding_side="both"),
    "another width": lambda: nn.LSTM(4, 2)(PACKED),
    "another state": lambda: nn.GRU(3, 2)(PACKED, Tensor.zeros(1, 3, 2)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    with pytest.raises(TutorError) as caught:
        REFUSED[case]()
    assert caught.value.asked and caught.value.found and caught.value.do
    assert isinstance(caught.value, ShapeError) or case == "a third side"
