"""What a node of an ONNX file gives, read for those who compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tutor.errors import ExportError
from tutor.methods.tensor import Tensor


class Given(NamedTuple):
    """A node's attributes, the version of the standard that it speaks, how many results it has."""

    attributes: Mapping[str, Any]
    opset: int
    results: int

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)


Function = Callable[..., Any]


def as_tensor(x: Any) -> Any:
    """A small array as a Tensor, of numbers as if they were written here, so that a recorder of
    tutor.jit takes them for constants; a Tensor, or None, as it is."""
    if isinstance(x, Tensor) or x is None:
        return x
    return Tensor(x.tolist(), dtype=x.dtype.name)


def ints(x: Any) -> list[int] | None:
    """Sizes or positions, as Python has them."""
    if x is None or isinstance(x, (list, tuple)):
        return x if x is None else list(x)
    found = x.tolist()
    return [int(n) for n in found] if isinstance(found, list) else [int(found)]


def either(given: Given, name: str, operand: Any) -> list[int] | None:
    """What older versions give as an attribute, newer ones as an operand."""
    return ints(given.get(name) if operand is None else operand)


def cannot(node: str, found: str) -> ExportError:
    return ExportError(
        f"to run the node {node!r} of an ONNX file", found, "export the model without it"
    )
