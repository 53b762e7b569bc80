"""Exchange of weights with PyTorch, by their names in `state_dict()`.

    model.load_state_dict(torch_model.state_dict())
    torch_model.load_state_dict(tutor.interop.to_torch(model.state_dict()))

Layers of the same name have parameters of the same names and shapes in both libraries. Memory is
shared by DLPack; the only copy is load_state_dict's, into the memory of the existing weights.
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
    """Whether it is another library's array: not a Tensor, but with DLPack."""
    return not isinstance(value, Tensor) and hasattr(value, "__dlpack__")


def shared(value: Any) -> Tensor:
    """A Tensor over the memory of another library's array, detached and on the CPU."""
    for way in ("detach", "cpu", "resolve_conj"):
        value = getattr(value, way, lambda value=value: value)()
    found: Tensor = Tensor.from_dlpack(value)
    return found


@spelled
def from_torch(state: Any) -> Any:
    """Tensors over the memory of PyTorch's: for one tensor, or a dict as `state_dict()` gives

    A change on either side is seen on the other. Any array with DLPack will do. DTypeError for
    anything else; BufferError for dtypes that tutor does not have.
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
    """PyTorch tensors over the memory of ours: for one, or a dict of them. MissingPackageError if
    PyTorch is not installed; DTypeError for anything but Tensors."""
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
