"""The batch axis: which sizes of a trace depend on the number of rows.

A model is traced twice, with n rows and with n + 1. Both traces must have the same Ops. A size that
is 5 n the first time and 5 (n + 1) the second is `Batch(5)`: five times the number of rows. Any
other difference is refused; everything that is equal is a constant of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tutor.errors import ExportError
from tutor.methods.tensor import Tensor
from tutor.onnx.trace import ASKED, Node, OpTrace


class Batch(NamedTuple):
    """`times` the number of rows."""

    times: int


class Value(NamedTuple):
    """A value in a trace: its Tensor, and its shape, whose sizes are ints or Batches."""

    tensor: Tensor  # of the first trace
    shape: tuple[Any, ...]


class Both:
    """Two traces of one model, with `rows` and with `more` rows; the same trace twice if no size
    may vary."""

    def __init__(self, first: OpTrace, second: OpTrace, rows: int, more: int) -> None:
        self.first, self.second, self.rows, self.more = first, second, rows, more
        ours, theirs = first.needed(), second.needed()
        if [(n.op, n.inputs, n.out) for n in ours] != [(n.op, n.inputs, n.out) for n in theirs]:
            raise ExportError(
                f"{ASKED}, for batches of any size",
                f"it does other things with {rows} rows than with {more}",
                "export it for the example's size alone: batch_axis=None",
            )
        self.nodes = [
            node._replace(params=self.params(node, other))
            for node, other in zip(ours, theirs, strict=True)
        ]

    def params(self, node: Node, other: Node) -> Mapping[str, Any]:
        return {name: self.meet(value, other.params.get(name), node.where)
                for name, value in node.params.items()}  # fmt: skip

    def meet(self, a: Any, b: Any, where: tuple[str, int]) -> Any:
        """A parameter's value for any number of rows."""
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple([self.meet(x, y, where) for x, y in zip(a, b, strict=True)])
        if isinstance(a, slice) and isinstance(b, slice):
            ends = ((a.start, b.start), (a.stop, b.stop), (a.step, b.step))
            return slice(*[self.meet(x, y, where) for x, y in ends])
        if a is b or (type(a) is type(b) and a == b):
            return a
        if type(a) is int and type(b) is int and a * self.more == b * self.rows:
            return Batch(a // self.rows)
        raise self.differs(f"{a} with {self.rows} rows, {b} with {self.more}", where)

    def value(self, number: int, where: tuple[str, int]) -> Value:
        one, two = self.first.values[number], self.second.values[number]
        return Value(one, self.meet(one.shape, two.shape, where))

    def constant(self, number: int, where: tuple[str, int]) -> Value:
        """A value that depends on no input: its numbers must not depend on the rows. If its shape
        does, all its numbers are equal, and `tensor` is one of them."""
        one, two = self.first.values[number], self.second.values[number]
        if one.shape == two.shape and _bytes(one) == _bytes(two):
            return Value(one, one.shape)
        shape = self.meet(one.shape, two.shape, where)
        numbers = [_bytes(t) for t in (one, two)]
        size = one.dtype.itemsize
        single = bytes(numbers[0][:size])
        if shape == one.shape or any(bytes(raw) != single * (len(raw) // size) for raw in numbers):
            raise self.differs("numbers that no input leads to", where)
        return Value(one.flatten()[0], shape)

    def differs(self, found: str, where: tuple[str, int]) -> ExportError:
        return ExportError(
            f"{ASKED}, for batches of any size: {where[0]}:{where[1]}",
            f"{found}: neither the same for any number of rows, nor so many for each row",
            "export it for the example's size alone: batch_axis=None",
        )


def _bytes(t: Tensor) -> bytes:
    return bytes(t.detach().copy().cpu().buf.raw)
