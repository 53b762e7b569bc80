"""Import: an ONNX file becomes a model that can be called, and trained, like any other.

Anything computed from shapes and constants alone (sizes, positions) is a NumPy array, evaluated by
onnx's own reference; everything else is a Tensor, computed by the rows of nodes.py.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tutor._util import files
from tutor._util.keyword_aliases import spelled
from tutor.errors import ArgumentError, DataError, ExportError, TutorError
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.onnx.given import Given, as_tensor, cannot
from tutor.onnx.nodes import FUNCTIONS
from tutor.onnx.writing import BUFFERS, package

# STATE: inputs that are not parameters: running mean and variance; the off and on values.
OWN = ("", "ai.onnx")  # the names of the standard's own operators
DAMAGED = "export the file once more: it is damaged, or was made for other inputs"
STATE = {"BatchNormalization": (3, 4), "OneHot": (2,)}


class FileNode(NamedTuple):
    """A node of the file as plain data, which tutor.jit can compare: protobuf objects hide their
    contents."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    usual: dict[str, Any]  # the standard's defaults of attributes
    payload: bytes  # the whole node, serialized


class OnnxModel(Module):
    """The result of `load`. `model(*inputs)` runs the nodes of the file in their order and returns
    one Tensor, or a tuple. `state_dict()` has the initialisers by their names in the file."""

    def __init__(self, proto: Any) -> None:
        onnx = package()
        graph = proto.graph
        self.input_names = [
            i.name for i in graph.input if i.name not in {t.name for t in graph.initializer}
        ]
        self.output_names = [o.name for o in graph.output]
        if graph.sparse_initializer:
            raise cannot("Constant", "an initialiser that is sparse")
        self.opset = next((o.version for o in proto.opset_import if o.domain in OWN), 0)
        notes = {prop.key: prop.value for prop in proto.metadata_props}
        fixed = set(json.loads(notes.get(BUFFERS, "[]")))
        for node in graph.node:
            fixed.update(node.input[i] for i in STATE.get(node.op_type, ()))
        self.tensors: dict[str, Tensor] = {}
        self.arrays: dict[str, Any] = {}  # integers, and constants that are not initialisers
        for initialiser in graph.initializer:
            name, array = initialiser.name, onnx.numpy_helper.to_array(initialiser)
            if (array.dtype.kind == "f" and array.ndim) or name in fixed:
                learns = array.dtype.kind == "f" and name not in fixed
                self.tensors[name] = Tensor(array).requires_grad_(learns)
            else:
                self.arrays[name] = array
        self.buffers_named = tuple(n for n, t in self.tensors.items() if not t.requires_grad)
        self.steps = [self.step(onnx, node) for node in graph.node]
        for node in self.steps:
            if node.kind == "Constant":
                if "sparse_value" in node.attributes:
                    raise cannot("Constant", "one that is sparse")
                (array,) = self.folded(node, [])
                many = array.dtype.kind == "f" and array.ndim
                self.arrays[node.outputs[0]] = Tensor(array) if many else array
        self.steps = [node for node in self.steps if node.kind != "Constant"]

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """The Tensors for state_dict, by their names in the file."""
        yield from self.tensors.items()

    def step(self, onnx: Any, node: Any) -> FileNode:
        """A node with its attributes read; ExportError if the table does not have it."""
        known = node.op_type in FUNCTIONS or node.op_type in ("Shape", "Constant", "Size")
        if not known or node.domain not in OWN:
            raise ExportError(
                f"to load an ONNX file with the node {node.op_type!r}, {named(node.output)}",
                f"tutor.onnx reads {', '.join(sorted(FUNCTIONS))}",
                "export the model without it",
            )
        schema = onnx.defs.get_schema(node.op_type, self.opset, "")
        usual = [a.default_value for a in schema.attributes.values() if a.default_value.name]
        return FileNode(node.op_type, tuple(node.input), tuple(node.output),
                    values_of(onnx, node.attribute), values_of(onnx, usual),
                    node.SerializeToString())  # fmt: skip

    def forward(self, *inputs: Any) -> Any:
        if len(inputs) != len(self.input_names):
            raise ArgumentError(
                f"a model from an ONNX file, with {len(inputs)} inputs",
                f"it takes {named(self.input_names)}", "give each",
            )  # fmt: skip
        values: dict[str, Any] = {"": None, **self.arrays, **self.tensors}
        values.update(zip(self.input_names, inputs, strict=True))
        for node in self.steps:
            count = max((i + 1 for i, name in enumerate(node.outputs) if name), default=0)
            given = Given(node.kind, node.attributes, node.usual, self.opset, count)
            with told(f"to run {node.kind!r}, {named(node.outputs)}, of an ONNX file"):
                results = self.run(node, given, [values[name] for name in node.inputs])
            values.update(zip(node.outputs, results, strict=False))
        found = [as_tensor(values[name]) for name in self.output_names]
        return found[0] if len(found) == 1 else tuple(found)

    def run(self, node: FileNode, given: Given, operands: list[Any]) -> tuple[Any, ...]:
        """The results of one node."""
        kind = node.kind
        if not any(isinstance(x, Tensor) for x in operands):
            return self.folded(node, operands)
        if kind in ("Shape", "Size"):
            np = importlib.import_module("numpy")
            shape = operands[0].shape[given.get("start", 0) : given.get("end")]
            found = np.array(shape if kind == "Shape" else operands[0].numel(), "int64")
        else:
            found = FUNCTIONS[kind](given, *operands)
        return given.finish(found if isinstance(found, tuple) else (found,))

    def folded(self, node: FileNode, given: list[Any]) -> tuple[Any, ...]:
        """A node of arrays alone, computed by the standard's own reference."""
        feed = {name: x for name, x in zip(node.inputs, given, strict=True) if name}
        known = _evaluator.__wrapped__ if node.kind == "Constant" else _evaluator  # once only
        return tuple(known(node.payload, tuple(feed), node.outputs, self.opset).run(None, feed))


@functools.lru_cache(maxsize=1024)
def _evaluator(payload: bytes, names: tuple[str, ...], outputs: tuple[str, ...], opset: int) -> Any:
    """The evaluator of one node. (Not an attribute: jit could not tell whether it has changed.)"""
    onnx, reference = package(), importlib.import_module("onnx.reference")
    helper = onnx.helper
    ins, outs = (list(map(helper.make_empty_tensor_value_info, some)) for some in (names, outputs))
    graph = helper.make_graph([onnx.NodeProto.FromString(payload)], "one", ins, outs)
    opsets = [helper.make_opsetid("", opset)]
    return reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))


def named(names: Any) -> str:
    """Names in a file; names that are not text are bytes."""
    return ", ".join(map(str, names))


def values_of(onnx: Any, attributes: Any) -> dict[str, Any]:
    """Attributes by name, as Python values."""
    return {a.name: plain(onnx.helper.get_attribute_value(a)) for a in attributes}


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def told(asked: str, do: str = DAMAGED) -> Iterator[None]:
    """Turns any error inside into a DataError: a file may contain anything, and only NumPy, onnx
    and Python find out how they fail on it."""
    try:
        yield
    except TutorError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or ["it says no more"]
        raise DataError(asked, f"{type(error).__name__}: {lines[0]}", do) from error


@spelled
def load(path: str | Path) -> OnnxModel:
    """The model in an ONNX file: a function of Tensors, whose float initialisers are its parameters

    `model(x)`, `model.parameters()`, `model.state_dict()` are those of any Module. Not parameters:
    constants, integers, single numbers, the running mean and variance of a batch norm. DataError
    for a file that is not ONNX, ExportError for a node that is not in the table.
    """
    onnx = package()
    with told(f"to load the ONNX file {path}", "give a file that an export has written"):
        with files.opened(str(path)):
            proto = onnx.load(str(path))
        onnx.checker.check_model(proto)
        return OnnxModel(proto)
