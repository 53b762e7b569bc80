"""What the wing has beside tutor: bags of embeddings, CTC, fold, computed weights, SparseAdam."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

import tutor.torch as wing  # noqa: E402

RNG = np.random.default_rng(0)
BAGS, TEXTS = RNG.integers(0, 10, (4, 5)), RNG.integers(1, 6, (4, 5))
CALLS: dict[str, tuple[tuple[int, ...], Any]] = {  # by name: the shape of x, and a function of it
    "fold": ((2, 12, 18), lambda t, x: t.nn.Fold((5, 6), (2, 3), padding=1, stride=(2, 1))(x)),
    "fold of one": ((8, 9), lambda t, x: t.nn.functional.fold(x, 4, 2)),
    "bags of weights": ((10, 3), lambda t, x: t.nn.functional.embedding_bag(
        t.tensor(BAGS.ravel()), x, t.tensor([0, 3, 3, 20]), mode="sum", include_last_offset=True,
        per_sample_weights=t.arange(20.0))),
    "ctc": ((12, 4, 6), lambda t, x: t.nn.functional.ctc_loss(
        x.log_softmax(2), t.tensor(TEXTS), t.tensor([12, 10, 8, 3]), t.tensor([5, 3, 0, 4]),
        reduction="none", zero_infinity=True)),
    "ctc of a row": ((12, 4, 6), lambda t, x: t.nn.CTCLoss(blank=5)(
        x.log_softmax(2), t.tensor(TEXTS.ravel()[:12] - 1), (12, 10, 8, 8), (5, 3, 0, 4))),
}  # fmt: skip
CALLS |= {
    f"bags, {mode}, {kind}": ((10, 3), lambda t, x, mode=mode, offsets=offsets, pad=pad: (
        t.nn.functional.embedding_bag(
            t.tensor(BAGS.ravel() if offsets else BAGS), x,
            t.tensor(offsets) if offsets else None, mode=mode, padding_idx=pad)))
    for mode in ("sum", "mean", "max")
    for kind, offsets, pad in (("rows", None, None), ("offsets", [0, 3, 3, 10], None),
                               ("padding", None, 3))
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_those_of_pytorch(name: str) -> None:
    shape, call = CALLS[name]
    numbers = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    found = []
    for library in (torch, wing):
        x = library.tensor(numbers, requires_grad=True)
        out = call(library, x)
        (out * library.arange(float(out.numel())).reshape(out.shape)).sum().backward()
        found.append((out.detach().numpy(), x.grad.numpy()))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)


def test_a_text_that_is_too_long_has_no_alignment() -> None:
    for library in (torch, wing):
        loss = library.nn.functional.ctc_loss(
            library.zeros(2, 1, 3), library.tensor([[1, 1]]), (2,), (2,)
        )
        assert loss.item() == float("inf")


def trained(library: Any, model: Any, optimizer: Any, loss: Any, state: Any) -> Any:
    own = model.state_dict()
    assert state is None or list(own) == list(state)
    for name, t in (state or {}).items():
        own[name].copy_(wing.from_numpy(t.numpy()))
    start = {name: t.detach().clone() for name, t in own.items()}
    found = []
    for i in range(6):
        optimizer.zero_grad()
        value = loss(model, i)
        value.backward()
        optimizer.step()
        found.append(value.item())
    return start, [*found, *(t.sum().item() for t in model.state_dict().values())]


NORMS = {
    "weight_norm": lambda t: t.nn.utils.parametrizations.weight_norm,
    "spectral_norm": lambda t: t.nn.utils.parametrizations.spectral_norm,
    "older weight_norm": lambda t: t.nn.utils.weight_norm,
    "older spectral_norm": lambda t: t.nn.utils.spectral_norm,
}


@pytest.mark.filterwarnings("ignore")  # PyTorch's older forms are deprecated
@pytest.mark.parametrize("kind", ["Linear", "Conv2d"])
@pytest.mark.parametrize("name", NORMS)
def test_a_layer_with_a_computed_weight_trains_as_in_pytorch(name: str, kind: str) -> None:
    numbers = np.random.default_rng(2).normal(size=(6, 4)).astype(np.float32)
    state, results = None, []
    for library in (torch, wing):
        make = {"Linear": lambda nn: nn.Linear(4, 3), "Conv2d": lambda nn: nn.Conv2d(4, 3, 1)}[kind]
        model = NORMS[name](library)(make(library.nn))
        x = library.tensor(numbers if kind == "Linear" else numbers[:, :, None, None])
        optimizer = library.optim.SGD(model.parameters(), lr=0.1)
        loss = lambda model, i, x=x: model(x).tanh().pow(2).mean()  # noqa: E731
        state, found = trained(library, model, optimizer, loss, state)
        results.append(found)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-5)


def test_sparse_adam_moves_rows_that_were_looked_up() -> None:
    state, results = None, []
    for library in (torch, wing):
        model = library.nn.Embedding(8, 3, sparse=True)
        optimizer = library.optim.SparseAdam(list(model.parameters()), lr=0.1)
        loss = lambda m, i, t=library: m(t.tensor([i, 1, 1, i * 3 % 8])).pow(3).sum()  # noqa: E731
        state, found = trained(library, model, optimizer, loss, state)
        results.append([*found, *model.weight.detach().flatten().tolist()])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)


def parametrized(library: Any) -> list[Any]:
    nn = library.nn

    class Symmetric(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, w: Any) -> Any:
            return w.triu() + w.triu(1).transpose(-1, -2)

    layer, tools = nn.Linear(3, 3), nn.utils.parametrize
    tools.register_parametrization(layer, "weight", Symmetric())
    found = [list(layer.state_dict()), bool((layer.weight == layer.weight.T).all())]
    found += [type(layer).__name__, isinstance(layer, nn.Linear), tools.is_parametrized(layer)]
    tools.remove_parametrizations(layer, "weight")
    return [*found, type(layer).__name__, list(layer.state_dict()), tools.is_parametrized(layer)]


def test_a_parametrization_names_its_parts_as_in_pytorch() -> None:
    assert parametrized(wing) == parametrized(torch)
