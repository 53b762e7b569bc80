"""Weights to and from PyTorch, by their names in `state_dict()`.

    model.load_state_dict(torch_model.state_dict())
    torch_model.load_state_dict(tutor.interop.to_torch(model.state_dict()))

Layers of one name have parameters of one name and shape, here and there. Memory is shared, by
DLPack: nothing is copied but by load_state_dict, which writes the numbers where the weights stand.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.errors import DTypeError, MissingPackageError
from tutor.methods.tensor import Tensor


def is_foreign(value: object) -> bool:
    """Is it an array of another library: something that is no Tensor, but has DLPack?"""
    return not isinstance(value, Tensor) and hasattr(value, "__dlpack__")


def shared(value: Any) -> Tensor:
    """A Tensor over the memory of another library's array; out of its graph, and on the CPU."""
    for way in ("detach", "cpu", "resolve_conj"):
        value = getattr(value, way, lambda value=value: value)()
    found: Tensor = Tensor.from_dlpack(value)
    return found


@spelled
def from_torch(state: Any) -> Any:
    """Tensors over the memory of PyTorch's: of one, or of a dict of them, as `state_dict()` gives

    A change on either side is seen on the other. Any array with DLPack will do. DTypeError for what
    is none; BufferError for dtypes that are not here.
    """
    if isinstance(state, Mapping):
        return {name: from_torch(value) for name, value in state.items()}
    if isinstance(state, Tensor):
        return state
    if not is_foreign(state):
        raise DTypeError(
            "from_torch", checks.said(state), "give a tensor of PyTorch's, or a dict of them"
        )
    return shared(state)


@spelled
def to_torch(state: Any) -> Any:
    """PyTorch's tensors over the memory of ours: of one, or of a dict of them. MissingPackageError
    where PyTorch is not installed; DTypeError for what is no Tensor."""
    if isinstance(state, Mapping):
        return {name: to_torch(value) for name, value in state.items()}
    t = checks.tensor("to_torch", state)
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingPackageError(
            "to_torch", "the package torch is not installed", "install it: pytorch.org"
        ) from None
    return torch.from_dlpack(t.detach())
