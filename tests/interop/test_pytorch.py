"""Weights to and from PyTorch by their names: then both give the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # pip install "tutorgrad[bench]"

from tutor import Tensor, array_api, nn, no_grad  # noqa: E402
from tutor.data import TensorDataset, collate  # noqa: E402
from tutor.errors import DataError, DTypeError, MissingPackageError, TutorError  # noqa: E402
from tutor.interop import from_torch, to_torch  # noqa: E402


def gpt(lib: Any, cat: Any) -> Any:
    """A small GPT, of whichever library's layers."""

    class GPT(lib.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = lib.Embedding(11, 8), lib.Embedding(6, 8)
            how = {"batch_first": True, "norm_first": True}
            blocks = [lib.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", **how) for _ in range(2)]
            self.blocks = lib.ModuleList(blocks)
            self.norm, self.head = lib.LayerNorm(8), lib.Linear(8, 11, bias=False)

        def forward(self, x: Any) -> Any:
            h = self.token(x) + self.place(cat.arange(x.shape[1]))
            later = cat.triu(cat.ones((x.shape[1], x.shape[1])), 1) > 0
            for block in self.blocks:
                h = block(h, later)
            return self.head(self.norm(h))

    return GPT()


def cnn(lib: Any, _: Any) -> Any:
    return lib.Sequential(
        lib.Conv2d(2, 4, 3, padding=1), lib.BatchNorm2d(4), lib.ReLU(), lib.MaxPool2d(2),
        lib.Conv2d(4, 3, 3, stride=2), lib.Flatten(), lib.Linear(3, 2),
    )  # fmt: skip


rng = np.random.default_rng(0)
NUMBERS, WORDS = rng.normal(size=(3, 5, 8)).astype("f4"), rng.integers(0, 11, (3, 6))
PICTURES = rng.normal(size=(4, 2, 8, 8)).astype("f4")
MODELS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "cnn": (cnn, PICTURES),
    "lstm": (lambda lib, _: lib.LSTM(8, 4, num_layers=2, bidirectional=True), NUMBERS),
    "gru": (lambda lib, _: lib.GRU(8, 4, batch_first=True), NUMBERS),
    "encoder": (lambda lib, _: lib.TransformerEncoderLayer(8, 2, 16, 0.0), NUMBERS),
    "attention": (lambda lib, _: lib.MultiheadAttention(8, 4), NUMBERS),
    "gpt": (gpt, WORDS),
}


def flat(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [t for part in result for t in flat(part)]
    return [result.detach().numpy()]


def same(ours: Any, theirs: Any, x: Any) -> None:
    one, other = Tensor(x), torch.tensor(x)
    many = 3 if isinstance(ours, nn.MultiheadAttention) else 1
    found, wanted = flat(ours(*[one] * many)), flat(theirs(*[other] * many))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", MODELS)
def test_the_weights_of_pytorch_give_its_results(name: str) -> None:
    import tutor

    make, x = MODELS[name]
    ours, theirs = make(nn, tutor), make(torch.nn, torch)
    if name == "cnn":
        theirs(torch.tensor(x) * 2 + 1)  # its batch norm has seen something
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    loaded = ours.load_state_dict(theirs.state_dict())
    assert loaded == ([], [])
    same(ours.eval(), theirs.eval(), x)


@pytest.mark.parametrize("name", MODELS)
def test_our_weights_give_our_results_in_pytorch(name: str) -> None:
    import tutor

    make, x = MODELS[name]
    ours, theirs = make(nn, tutor), make(torch.nn, torch)
    if name == "cnn":
        with no_grad():
            ours(Tensor(x) * 2 + 1)
    theirs.load_state_dict(to_torch(ours.state_dict()))
    same(ours.eval(), theirs.eval(), x)


def test_memory_is_shared() -> None:
    theirs = torch.zeros(2, 3)
    ours = from_torch({"w": theirs})["w"]
    theirs[0, 1] = 5
    assert ours.tolist() == [[0, 5, 0], [0, 0, 0]]
    again = to_torch(ours)
    assert again.data_ptr() == theirs.data_ptr()
    assert from_torch(ours) is ours


def test_what_was_loaded_is_a_copy() -> None:
    theirs, ours = torch.nn.Linear(2, 2), nn.Linear(2, 2)
    ours.load_state_dict(theirs.state_dict())
    before = ours.weight.tolist()
    with torch.no_grad():
        theirs.weight.fill_(7)
    assert ours.weight.tolist() == before and ours.weight.requires_grad


def test_a_state_of_tied_weights_has_both_names() -> None:
    both = []
    for lib in (nn, torch.nn):
        model = lib.Sequential(lib.Embedding(5, 3), lib.Sequential(lib.Linear(3, 5)))
        model[1][0].weight = model[0].weight
        both.append(model)
    ours, theirs = both
    assert theirs.state_dict().keys() == ours.state_dict().keys() >= {"0.weight", "1.0.weight"}
    assert ours.load_state_dict(theirs.state_dict()) == ([], [])
    assert ours[1][0].weight.tolist() == theirs[0].weight.tolist()
    assert ours.load_state_dict(theirs.state_dict(), strict=False) == ([], [])
    before = ours[0].weight.tolist()
    for wrong in (torch.ones(5, 3), torch.ones(3, 5)):  # two answers to one question
        with pytest.raises(DataError, match=r"not in the model: \['1\.0\.weight'\]"):
            ours.load_state_dict({**theirs.state_dict(), "1.0.weight": wrong})
    with pytest.raises(DataError, match=r"1\.1\.weight"):
        ours.load_state_dict({**theirs.state_dict(), "1.1.weight": torch.ones(5, 3)})
    assert ours[0].weight.tolist() == before


def test_a_parameter_comes_without_its_graph() -> None:
    theirs = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    ours = from_torch(theirs)
    assert not ours.requires_grad and ours.dtype.name == "float64"
    assert to_torch(nn.Linear(1, 2).weight).requires_grad is False
    for dtype in ("bool", "int64", "uint8", "float16", "bfloat16"):
        there = torch.tensor([[1, 0], [1, 1]]).to(getattr(torch, dtype))[:, 1:]
        assert from_torch(there).dtype.name == dtype
        assert to_torch(from_torch(there)).equal(there)


def loaded(x: Any) -> Any:
    ours = nn.Linear(3, 1)
    ours.load_state_dict({"weight": x.reshape(1, 3), "bias": torch.zeros(1)})
    return ours.weight[0]


LAZY: dict[str, Callable[[Any], Any]] = {  # what PyTorch negates only when it is read
    "imaginary part": lambda x: torch.conj(torch.complex(x, x)).imag,
    "negative": lambda x: torch._neg_view(x),
    "a row": lambda x: torch._neg_view(torch.stack([x, x]))[1],
    "parameter": lambda x: torch._neg_view(x.requires_grad_()),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "from_torch": from_torch,
    "Tensor": lambda x: Tensor(x.detach()),
    "from_dlpack": lambda x: Tensor.from_dlpack(x.detach()),
    "copy": lambda x: Tensor.from_dlpack(x.detach(), copy=True),
    "asarray": lambda x: array_api.asarray(x.detach()),
    "collate": lambda x: collate([x.detach()])[0],
    "data set": lambda x: TensorDataset(x.detach()).tensors[0],
    "state": loaded,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", LAZY)
def test_what_is_negated_only_when_it_is_read_comes_with_its_values(kind: str, way: str) -> None:
    theirs = LAZY[kind](torch.tensor([1.0, -2.0, 3.0]))
    assert theirs.is_neg()
    assert WAYS[way](theirs).tolist() == [-1, 2, -3]
    for share in (Tensor.from_dlpack, array_api.asarray):
        with pytest.raises(BufferError, match="negated"):
            share(theirs.detach(), copy=False)


def test_conjugates_are_refused_as_complex_numbers_are() -> None:
    x = torch.complex(torch.ones(3), torch.ones(3)).conj()
    for way in ("from_torch", "Tensor", "collate", "data set", "state"):
        with pytest.raises(TutorError):
            WAYS[way](x)
    with pytest.raises(BufferError):
        Tensor.from_dlpack(x)
    assert from_torch(x.real).tolist() == [1, 1, 1]


def test_arrays_load_too() -> None:
    ours = nn.Linear(2, 1)
    ours.load_state_dict({"weight": np.array([[1.0, 2.0]]), "bias": np.array([3.0], "f4")})
    assert ours(Tensor([1.0, 1.0])).tolist() == [6.0]


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(DataError, match=r"weight is \(2, 3\) there, \(3, 2\) here"):
        nn.Linear(2, 3).load_state_dict(torch.nn.Linear(3, 2).state_dict(), strict=False)
    with pytest.raises(DataError, match="missing"):
        nn.Linear(2, 2).load_state_dict(torch.nn.Linear(2, 2, bias=False).state_dict())
    with pytest.raises(TutorError, match="a dtype of code 5"):
        from_torch(torch.zeros(2, dtype=torch.complex64))
    for wrong in ([1.0], 3, "w", None):
        with pytest.raises(DTypeError):
            from_torch(wrong)
        with pytest.raises(DTypeError):
            to_torch(wrong)


def test_without_pytorch_an_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match="torch"):
        to_torch(Tensor([1.0]))
