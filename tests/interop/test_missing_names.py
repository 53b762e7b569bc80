"""A name that PyTorch has and tutor writes otherwise is an AttributeError that says how."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import tutor
from tutor import nn
from tutor.errors import TutorError
from tutor.interop.missing_names import TABLES, MissingNameError, of_object

ROWS = [(kind, name) for kind, table in TABLES.items() for name in table]
OBJECTS: dict[str, Any] = {
    "Tensor": tutor.ones(1), "Module": nn.ReLU(),
    "Sequential": nn.Sequential(), "ModuleList": nn.ModuleList(), "ModuleDict": nn.ModuleDict(),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_a_row_names_what_tutor_lacks_and_says_what_to_write(kind: str, name: str) -> None:
    owner = OBJECTS[kind] if kind in OBJECTS else importlib.import_module(kind)
    assert not hasattr(owner, name) and name not in dir(owner)
    error: Any = of_object(owner, name)  # a Tensor does not look in the table: see the page
    if kind != "Tensor":
        with pytest.raises(AttributeError) as caught:
            getattr(owner, name)
        error = caught.value
    assert isinstance(error, MissingNameError) and isinstance(error, TutorError)
    assert TABLES[kind][name] in error.do and name in error.asked


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_a_row_names_what_pytorch_has(kind: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    path = kind.replace("tutor", "torch", 1) if kind.startswith("tutor") else "torch"
    owner: Any = importlib.import_module(path)
    if not kind.startswith("tutor"):
        owner = torch.Tensor if kind == "Tensor" else getattr(torch.nn, kind)
    assert hasattr(owner, name)


def test_what_someone_calls_so_is_theirs() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cuda = True

        def share_memory(self) -> str:
            return "theirs"

    assert Net().cuda is True and Net().share_memory() == "theirs"
    assert getattr(nn.ReLU(), "cuda", None) is None
    with pytest.raises(MissingNameError, match=r"asked: Net\.get_parameter"):
        Net().get_parameter("weight")


@pytest.mark.parametrize("owner", [tutor, tutor.nn, tutor.optim, *OBJECTS.values()])
def test_any_other_name_is_pythons_own_error(owner: Any) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing_like_it'") as caught:
        _ = owner.nothing_like_it
    assert type(caught.value) is AttributeError
