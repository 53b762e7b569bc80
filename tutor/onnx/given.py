"""What a node of an ONNX file gives, read for those who compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tutor._storage.layout import axis_of
from tutor.errors import ExportError
from tutor.methods.tensor import Tensor


class Given:
    """A node's attributes, the version of the standard that it speaks, how many results it has.

    Each attribute is used or refused: `get` notes which ones a function has read, and `finish`
    refuses a node with one that was not, unless it says no more than the standard's `defaults`.
    """

    def __init__(
        self, kind: str, attributes: Mapping[str, Any], defaults: Mapping[str, Any], opset: int,
        results: int,
    ) -> None:  # fmt: skip
        self.kind, self.attributes, self.defaults = kind, attributes, defaults
        self.opset, self.results = opset, results
        # Of old versions: a hint about memory, and leave to broadcast, which is as NumPy does it,
        # unless `axis` says otherwise: that one is refused.
        self.read = {"consumed_inputs", "broadcast"}

    def get(self, name: str, default: Any = None) -> Any:
        """What the node says, or else the standard, or else `default`."""
        self.read.add(name)
        return self.attributes.get(name, self.defaults.get(name, default))

    def flag(self, name: str) -> bool:
        """A yes or no, which is no if nobody says a word; what other numbers mean nobody knows."""
        if (found := self.get(name, 0)) not in (0, 1):
            raise cannot(self.kind, f"{name}={found!r}, neither 0 nor 1")
        return bool(found)

    def axis(self, x: Tensor, name: str = "axis") -> int:
        """One of x's axes, counted from the first."""
        return axis_of(self.get(name), x.ndim)

    def idle(self, *names: str) -> None:
        """These change no result that is given."""
        self.read.update(names)

    def only(self, name: str, wanted: Any, why: str) -> None:
        """Refuse the node unless the attribute, if it is there, says just that."""
        if (found := self.get(name, wanted)) != wanted:
            raise cannot(self.kind, f"{name}={found!r}: {why}")

    def finish(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results, of a node of which nothing was passed over."""
        for name, value in self.attributes.items():
            if name not in self.read and value != self.defaults.get(name):
                raise cannot(self.kind, f"{name}={value!r}, which is not computed here")
        if len(results) < self.results:
            raise cannot(self.kind, f"{self.results} results; here it has {len(results)}")
        return results


Function = Callable[..., Any]


def as_tensor(x: Any) -> Any:
    """A small array as a Tensor, of numbers as if they were written here, so that a recorder of
    tutor.jit takes them for constants; a Tensor, or None, as it is."""
    if isinstance(x, Tensor) or x is None:
        return x
    return Tensor(x.tolist(), dtype=x.dtype.name).reshape(x.shape)  # lists of nothing have no shape


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
