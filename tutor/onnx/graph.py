"""The graph of an ONNX file under construction: names, constants, nodes, and sizes that depend on
the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tutor.errors import ExportError
from tutor.methods.tensor import Tensor
from tutor.onnx.sizes import Batch
from tutor.onnx.trace import ASKED

OPSET = 18
# ONNX numbers its dtypes (TensorProto.DataType).
TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip


class Graph:
    """`add("Mul", a, b)` adds a node and returns the name of its result."""

    def __init__(self, onnx: Any, batch_of: str, batch_axis: int) -> None:
        self.onnx, self.helper = onnx, onnx.helper
        self.batch_of, self.batch_axis = batch_of, batch_axis
        self.nodes: list[Any] = []
        self.initialisers: dict[str, Any] = {}
        self.constants: dict[tuple[Any, ...], str] = {}
        self.counts: dict[str, int] = {}
        self.rows = ""  # name of the number of rows, once a node needs it
        self.taken: set[str] = {batch_of}

    def name(self, kind: str) -> str:
        """`linear_0`, `linear_1`, ...: an unused name."""
        while True:
            number = self.counts[kind] = self.counts.get(kind, -1) + 1
            if (found := f"{kind}_{number}") not in self.taken:
                self.taken.add(found)
                return found

    def add(self, kind: str, *inputs: str, outputs: int = 1, at: int = 0, **attributes: Any) -> str:
        """Add a node; returns the name of its result, or of number `at` if it has several."""
        names = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(self.helper.make_node(kind, inputs, names, names[0], **attributes))
        return names[at]

    def proto(self, name: str, t: Tensor) -> Any:
        """A Tensor in the file's format (TensorProto)."""
        raw = bytes(t.detach().copy().cpu().buf.raw)
        return self.helper.make_tensor(name, TYPES[t.dtype.name], t.shape, raw, raw=True)

    def constant(self, t: Tensor) -> str:
        """A Tensor as a constant: a node, not an initialiser, so that it is not a weight."""
        key = t.dtype.name, t.shape, bytes(t.detach().copy().cpu().buf.raw)
        if key not in self.constants:
            name = self.name("constant")
            value = self.proto(name, t)
            self.nodes.append(self.helper.make_node("Constant", [], [name], name, value=value))
            self.constants[key] = name
        return self.constants[key]

    def number(self, value: float, dtype: str) -> str:
        """A single number as a constant."""
        return self.constant(Tensor(value, dtype=dtype))

    def ints(self, numbers: Sequence[int]) -> str:
        """A vector of int64: axes, sizes, positions."""
        return self.constant(Tensor(list(numbers), dtype="int64"))

    # ---- sizes -----------------------------------------------------------------------------------

    def shape(self, sizes: Sequence[int | Batch]) -> str:
        """A shape whose Batches are only known when the file runs."""
        if not any(isinstance(n, Batch) for n in sizes):
            return self.ints([n for n in sizes if not isinstance(n, Batch)])
        parts = [self.batch(n.times) if isinstance(n, Batch) else self.ints([n]) for n in sizes]
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=0)

    def batch(self, times: int) -> str:
        if not self.rows:
            start, end = self.batch_axis, self.batch_axis + 1
            self.rows = self.add("Shape", self.batch_of, start=start, end=end)
        return self.rows if times == 1 else self.add("Mul", self.rows, self.ints([times]))

    def reshaped(self, x: str, sizes: Sequence[int | Batch]) -> str:
        """x in another shape. A single Batch is inferred as the rest: -1."""
        batches = [n for n in sizes if isinstance(n, Batch)]
        if len(batches) == 1 and 0 not in sizes:
            target = self.ints([-1 if isinstance(n, Batch) else n for n in sizes])
        else:
            target = self.shape(sizes)
        return self.add("Reshape", x, target, allowzero=1 if 0 in sizes else 0)


def cannot(op: str, found: str, where: tuple[str, int]) -> ExportError:
    return ExportError(
        f"{ASKED}: the op {op!r} at {where[0]}:{where[1]}",
        found,
        "compute it in another way, or export the part of the model before it",
    )
