"""The registry is open: a backend that tutor does not bring is checked, and trains a network."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy_backend
import pytest

import tutor
from tutor import Tensor, nn, optim
from tutor.backends import registry
from tutor.dtype import bfloat16, bool_, float16, float32, int32
from tutor.errors import KernelNotFound
from tutor.testing import conformance

TABLE = numpy_backend.table()
SOME = {row: kernel for row, kernel in TABLE.items() if row[1] in (bool_, int32, float16, float32)}


@pytest.fixture
def numpy_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_tables", "_kernels"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    registry.register("numpy", TABLE)
    with tutor.use_backend("numpy"):
        yield


@pytest.mark.parametrize("kernel", numpy_backend.KERNELS)
def test_it_agrees(kernel: str) -> None:
    with warnings.catch_warnings():  # NumPy warns of an empty mean, whose nan is right
        warnings.simplefilter("ignore", RuntimeWarning)
        verdicts = conformance.run(SOME, [kernel])
    assert all(v.ok for v in verdicts), conformance.report(verdicts)
    assert sum(v.cases for v in verdicts) > 100


def losses(backend: str) -> list[float]:
    """What a small network for exclusive or has for losses in its first steps."""
    tutor.manual_seed(3)
    with tutor.use_backend("python_ref"):  # which can draw random numbers
        model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
    found = []
    with tutor.use_backend(backend):
        x = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        target = Tensor([0, 1, 1, 0])
        optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        for _ in range(40):
            loss = model(x).cross_entropy(target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    return found


@pytest.mark.usefixtures("numpy_registered")
def test_it_trains() -> None:
    found = losses("numpy")
    assert found[-1] < found[0] / 10
    assert found == pytest.approx(losses("python_ref"), rel=1e-3, abs=1e-5)


@pytest.mark.usefixtures("numpy_registered")
def test_it_says_what_it_lacks() -> None:
    with pytest.raises(KernelNotFound, match="kernel 'add' for bfloat16 on backend 'numpy'"):
        registry.lookup("add", "numpy", bfloat16)
    with pytest.raises(KernelNotFound, match="kernel 'erf' for float32 on backend 'numpy'"):
        registry.lookup("erf", "numpy", float32)
