"""Import: an ONNX file becomes a model that is called, and trained, like any other.

Sizes and positions, whatever is computed of shapes and constants alone, are NumPy arrays on the
way, and onnx's own reference computes them; everything else is a Tensor, by the rows of nodes.py.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tutor.errors import ArgumentError, DataError, ExportError
from tutor.ground import files
from tutor.ground.spelling import spelled
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module
from tutor.onnx.given import Given, as_tensor
from tutor.onnx.nodes import FUNCTIONS
from tutor.onnx.writing import BUFFERS, package

# Inputs that are no parameters: running mean and variance; what stands for yes and no.
STATE = {"BatchNormalization": (3, 4), "OneHot": (2,)}


class OnnxModel(Module):
    """What `load` gives. `model(*inputs)` runs the nodes of the file in their order; its results
    are one Tensor, or a tuple. `state_dict()` has the initialisers by their names in the file."""

    def __init__(self, proto: Any) -> None:
        onnx = package()
        graph = proto.graph
        self.input_names = [
            i.name for i in graph.input if i.name not in {t.name for t in graph.initializer}
        ]
        self.output_names = [o.name for o in graph.output]
        self.opset = next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))
        notes = {prop.key: prop.value for prop in proto.metadata_props}
        fixed = set(json.loads(notes.get(BUFFERS, "[]")))
        for node in graph.node:
            fixed.update(node.input[i] for i in STATE.get(node.op_type, ()))
        self.tensors: dict[str, Tensor] = {}
        self.arrays: dict[str, Any] = {}  # integers, and constants that no initialiser holds
        for initialiser in graph.initializer:
            name, array = initialiser.name, onnx.numpy_helper.to_array(initialiser)
            if (array.dtype.kind == "f" and array.ndim) or name in fixed:
                learns = array.dtype.kind == "f" and name not in fixed
                self.tensors[name] = Tensor(array).requires_grad_(learns)
            else:
                self.arrays[name] = array
        self.evaluators: dict[int, Any] = {}  # by the id of the node
        self.steps = [self.step(onnx, node) for node in graph.node]
        for node, _ in self.steps:
            if node.op_type == "Constant":
                (array,) = self.folded(node, [])
                many = array.dtype.kind == "f" and array.ndim
                self.arrays[node.output[0]] = Tensor(array) if many else array
        self.steps = [pair for pair in self.steps if pair[0].op_type != "Constant"]

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """What is in it, for state_dict: its Tensors, by their names in the file."""
        yield from self.tensors.items()

    def step(self, onnx: Any, node: Any) -> Any:
        """A node, with its attributes read; ExportError for one that is not in the table."""
        known = node.op_type in FUNCTIONS or node.op_type in ("Shape", "Constant", "Size")
        if not known or node.domain not in ("", "ai.onnx"):
            raise ExportError(
                f"to load an ONNX file with the node {node.op_type!r}, {node.output[0]}",
                f"tutor.onnx reads {', '.join(sorted(FUNCTIONS))}",
                "export the model without it",
            )
        read = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return node, {name: plain(value) for name, value in read.items()}

    def forward(self, *inputs: Any) -> Any:
        if len(inputs) != len(self.input_names):
            raise ArgumentError(
                f"a model from an ONNX file, with {len(inputs)} inputs",
                f"it takes {', '.join(self.input_names)}", "give each",
            )  # fmt: skip
        values: dict[str, Any] = {"": None, **self.arrays, **self.tensors}
        values.update(zip(self.input_names, inputs, strict=True))
        for node, attributes in self.steps:
            given = [values[name] for name in node.input]
            results = self.run(node, attributes, given)
            values.update(zip(node.output, results, strict=False))
        found = [as_tensor(values[name]) for name in self.output_names]
        return found[0] if len(found) == 1 else tuple(found)

    def run(self, node: Any, attributes: dict[str, Any], given: list[Any]) -> tuple[Any, ...]:
        """The results of one node."""
        kind = node.op_type
        if kind in ("Shape", "Size") and isinstance(given[0], Tensor):
            np = importlib.import_module("numpy")
            shape = given[0].shape[attributes.get("start", 0) : attributes.get("end")]
            return (np.array(shape if kind == "Shape" else given[0].numel(), "int64"),)
        if not any(isinstance(x, Tensor) for x in given):
            return self.folded(node, given)
        found = FUNCTIONS[kind](Given(attributes, self.opset, len(node.output)), *given)
        return found if isinstance(found, tuple) else (found,)

    def folded(self, node: Any, given: list[Any]) -> tuple[Any, ...]:
        """A node of arrays alone, as the standard's own reference computes it."""
        feed = {name: x for name, x in zip(node.input, given, strict=True) if name}
        if id(node) not in self.evaluators:
            helper, reference = package().helper, importlib.import_module("onnx.reference")
            inputs = [helper.make_empty_tensor_value_info(name) for name in feed]
            outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
            graph = helper.make_graph([node], "one", inputs, outputs)
            opset = helper.make_opsetid("", self.opset)
            model = helper.make_model(graph, opset_imports=[opset])
            self.evaluators[id(node)] = reference.ReferenceEvaluator(model)
        return tuple(self.evaluators[id(node)].run(None, feed))


def plain(value: Any) -> Any:
    """An attribute as Python has it."""
    return value.decode() if isinstance(value, bytes) else value


@spelled
def load(path: str | Path) -> OnnxModel:
    """The model in an ONNX file: a function of Tensors, whose float initialisers are its parameters

    `model(x)`, `model.parameters()`, `model.state_dict()` are as of any Module. What is no
    parameter: constants, integers, single numbers, the running mean and variance of a batch norm.
    DataError for what is no ONNX file, ExportError for a node that is not in the table.
    """
    onnx = package()
    try:
        with files.opened(str(path)):
            proto = onnx.load(str(path))
        onnx.checker.check_model(proto)
    except (OSError, ValueError, onnx.checker.ValidationError, undecoded()) as error:
        raise DataError(
            f"to load the ONNX file {path}", str(error).strip().splitlines()[0],
            "give the name of a file that an export has written",
        ) from error  # fmt: skip
    return OnnxModel(proto)


def undecoded() -> type[Exception]:
    """What the package that onnx reads its files by raises of one that is none."""
    found: type[Exception] = importlib.import_module("google.protobuf.message").DecodeError
    return found
