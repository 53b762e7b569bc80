"""PyTorch's spellings give PyTorch's answers: keywords, pairs, conversions, sizes, closeness."""

from __future__ import annotations

import numpy as np
import pytest

import tutor
from tutor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("backend")

SAME = {  # written once, for both
    "sum": lambda x: x.sum(dim=1, keepdim=True),
    "mean": lambda x: x.mean(dim=(0, 1)),
    "prod": lambda x: x.prod(dim=0),
    "softmax": lambda x: x.softmax(dim=1),
    "logsumexp": lambda x: x.logsumexp(dim=0, keepdim=True),
    "argmax": lambda x: x.argmax(dim=1, keepdim=True),
    "unsqueeze": lambda x: x.unsqueeze(dim=1),
    "cumsum": lambda x: x.cumsum(dim=1),
    "flatten": lambda x: x.unsqueeze(0).flatten(start_dim=1, end_dim=2),
    "max values": lambda x: x.max(dim=1).values,
    "max indices": lambda x: x.max(dim=1).indices,
    "max, keepdim": lambda x: x.max(1, keepdim=True)[0],
    "min": lambda x: x.min(dim=0)[1],
    "sort values": lambda x: x.sort(dim=1, descending=True).values,
    "sort indices": lambda x: x.sort(dim=0, descending=True)[1],
    "cummax": lambda x: x.cummax(dim=1).indices,
    "cummin values": lambda x: x.cummin(dim=1).values,
    "cummin": lambda x: x.cummin(dim=1).indices,
    "topk": lambda x: x.topk(2, dim=1)[1],
    "gather": lambda x: x.gather(1, x.argsort(dim=1)),
    "tril": lambda x: x.tril(diagonal=1),
    "triu": lambda x: x.triu(diagonal=-1),
    "diagonal": lambda x: x.diagonal(offset=1),
    "t": lambda x: x.t(),
    "half": lambda x: x.half(),
    "double": lambda x: x.double(),
    "float": lambda x: x.double().float(),
    "int": lambda x: x.int(),
    "long": lambda x: x.long(),
    "bool": lambda x: x.bool(),
    "type_as": lambda x: x.type_as(x.long()),
    "expand_as": lambda x: x[:1].expand_as(x),
    "reshape_as": lambda x: x.t().reshape_as(x),
    "view_as": lambda x: x.view_as(x.t()),
    "eq": lambda x: x.eq(x.t().reshape_as(x)),
    "ge": lambda x: x.ge(0.0),
    "isclose": lambda x: x.isclose(x + 2e-5),
    "isclose, nan": lambda x: (x / x).isclose(x / x, equal_nan=True),
}
NUMBERS = {
    "size": lambda x: (x.size(0), x.size(-1), tuple(x.size())),
    "dim": lambda x: (x.dim(), x.ndimension(), x.numel(), x.is_floating_point()),
    "allclose": lambda x: (x.allclose(x * (1 + 1e-6)), x.allclose(x * 1.001)),
}
ARRAYS = [
    np.array([[3.0, -1.0, 4.0], [1.0, 5.0, -9.0]], dtype="float32"),
    np.array([[2.0, 2.0, 0.0], [0.5, np.nan, 0.5]], dtype="float32"),
    np.array([[np.inf, 1.5, 2.5]], dtype="float32"),
]


@pytest.mark.parametrize(
    ("name", "array"),
    [pytest.param(name, array, id=f"{name}-{kind}") for name in SAME
     for kind, array in zip(("numbers", "ties", "inf"), ARRAYS, strict=True)
     # C leaves open what an int of nan or inf is
     if name not in ("int", "long", "type_as") or np.isfinite(array).all()],
)  # fmt: skip
def test_the_same_words_the_same_answer(name, array):
    ours, theirs = SAME[name](Tensor(array)), SAME[name](torch.tensor(array))
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_same_numbers(name):
    assert NUMBERS[name](Tensor(ARRAYS[0])) == NUMBERS[name](torch.tensor(ARRAYS[0]))


def test_the_same_functions():
    x = ARRAYS[0]
    for f in ("exp", "sin", "sigmoid", "relu", "square", "sum", "mean", "flatten", "t", "isnan"):
        ours, theirs = getattr(tutor, f)(Tensor(x)), getattr(torch, f)(torch.tensor(x))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
