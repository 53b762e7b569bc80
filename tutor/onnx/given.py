"""Attributes and operands of an ONNX node, read for the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tutor._storage.layout import axis_of
from tutor.errors import ExportError
from tutor.methods.tensor import Tensor


class Given:
    """A node's attributes, its version of the standard, and its number of results.

    Each attribute is used or refused: `get` records which ones a function has read, and `finish`
    refuses a node with an unread one, unless its value is the standard's, in `defaults`.
    """

    def __init__(
        self, kind: str, attributes: Mapping[str, Any], defaults: Mapping[str, Any], opset: int,
        results: int,
    ) -> None:  # fmt: skip
        self.kind, self.attributes, self.defaults = kind, attributes, defaults
        self.opset, self.results = opset, results
        # From old versions: a hint about memory, and permission to broadcast, which is NumPy's
        # broadcasting unless `axis` says otherwise: that attribute is refused.
        self.read = {"consumed_inputs", "broadcast"}

    def get(self, name: str, default: Any = None) -> Any:
        """The node's value, else the standard's, else `default`."""
        self.read.add(name)
        return self.attributes.get(name, self.defaults.get(name, default))

    def flag(self, name: str) -> bool:
        """A boolean attribute, False by default; numbers other than 0 and 1 are refused."""
        if (found := self.get(name, 0)) not in (0, 1):
            raise cannot(self.kind, f"{name}={found!r}, neither 0 nor 1")
        return bool(found)

    def axis(self, x: Tensor, name: str = "axis") -> int:
        """One of x's axes, counted from the first."""
        return axis_of(self.get(name), x.ndim)

    def idle(self, *names: str) -> None:
        """Mark attributes that do not affect the results here as read."""
        self.read.update(names)

    def only(self, name: str, wanted: Any, why: str) -> None:
        """Refuse the node unless the attribute is absent or has exactly this value."""
        if (found := self.get(name, wanted)) != wanted:
            raise cannot(self.kind, f"{name}={found!r}: {why}")

    def finish(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results, after a check that every attribute of the node was read."""
        for name, value in self.attributes.items():
            if name not in self.read and value != self.defaults.get(name):
                raise cannot(self.kind, f"{name}={value!r}, which is not computed here")
        if len(results) < self.results:
            raise cannot(self.kind, f"{self.results} results; here it has {len(results)}")
        return results


Function = Callable[..., Any]


def as_tensor(x: Any) -> Any:
    """A small array as a Tensor built from Python numbers, so that tutor.jit records it as a
    constant; a Tensor, or None, unchanged."""
    if isinstance(x, Tensor) or x is None:
        return x
    return Tensor(x.tolist(), dtype=x.dtype.name).reshape(x.shape)  # empty lists have no shape


def ints(x: Any) -> list[int] | None:
    """Sizes or positions as Python integers."""
    if x is None or isinstance(x, (list, tuple)):
        return x if x is None else list(x)
    found = x.tolist()
    return [int(n) for n in found] if isinstance(found, list) else [int(found)]


def either(given: Given, name: str, operand: Any) -> list[int] | None:
    """A value that is an attribute in older versions, and an operand in newer ones."""
    return ints(given.get(name) if operand is None else operand)


def cannot(node: str, found: str) -> ExportError:
    return ExportError(
        f"to run the node {node!r} of an ONNX file", found, "export the model without it"
    )
