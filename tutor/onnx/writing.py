"""Export: a model becomes an ONNX file."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tutor._storage.layout import axis_of
from tutor._util import files
from tutor._util.keyword_aliases import spelled
from tutor.errors import ArgumentError, DTypeError, MissingPackageError, ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.parts import is_module, named_modules, state_of
from tutor.onnx import ops
from tutor.onnx.graph import OPSET, TYPES, Graph
from tutor.onnx.sizes import Batch, Both, Value
from tutor.onnx.trace import ASKED, trace
from tutor.ops.movement import cat

BUFFERS = "tutor.buffers"  # metadata key: names of Tensors that are not parameters


def package() -> Any:
    """The package onnx, which defines the file format."""
    try:
        return importlib.import_module("onnx")
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise MissingPackageError(
            "an ONNX file", "the package onnx is not installed", 'pip install "tutorgrad[onnx]"'
        ) from None


@spelled
def export(
    model: Callable[..., Any], example: Tensor | Sequence[Tensor], path: str | Path, *,
    batch_axis: int | None = 0, input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> None:  # fmt: skip
    """Write the computation of `model(example)`, or `model(*example)`, as an ONNX file (opset 18).

    The model is traced op by op in the mode that `eval()` sets. Its Tensors become initialisers, by
    their names in `state_dict()`. Axis `batch_axis` of every input may have any size in the file;
    with None, only the example's size. ExportError for an op that ONNX lacks, for numbers that are
    read back to Python on the way, and for random numbers; nothing is written then.
    """
    onnx = package()
    inputs = (example,) if isinstance(example, Tensor) else tuple(example)
    if not inputs or not all(isinstance(x, Tensor) for x in inputs):
        kinds = ", ".join(type(x).__name__ for x in inputs) or "nothing"
        raise DTypeError(ASKED, f"an example of {kinds}", "give a Tensor, or a tuple of Tensors")
    state = state_of(model) if hasattr(model, "__dict__") else ()
    named = [(s.name, s.tensor) for s in state if s.saved]
    with evaluated(model):
        both = traced(model, inputs, named, batch_axis)
    names = named_alike("input", len(inputs), input_names)
    results = named_alike("output", len(both.first.outputs), output_names)
    graph = Graph(onnx, names[0], batch_axis or 0)
    graph.taken.update(names, results, (name for name, _ in named))
    proto = onnx.helper.make_graph(
        *body(graph, both, names, results), list(graph.initialisers.values())
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    made = onnx.helper.make_model(proto, producer_name="tutor", opset_imports=[opset], ir_version=8)
    fixed = [name for name, t in named if not t.requires_grad and name in graph.initialisers]
    onnx.helper.set_model_props(made, {BUFFERS: json.dumps(fixed)})
    onnx.checker.check_model(made)
    payload = made.SerializeToString()

    def fill(file: BinaryIO) -> None:
        file.write(payload)

    files.write_whole(path, fill)


def body(
    g: Graph, both: Both, names: Sequence[str], results: Sequence[str]
) -> tuple[list[Any], str, list[Any], list[Any]]:
    """The nodes, the graph's name, its inputs and its outputs, as arguments of make_graph."""
    found: dict[int, str] = dict(zip(both.first.inputs, names, strict=True))

    def operand(number: int, where: tuple[str, int]) -> tuple[str, Value]:
        if number in found:
            return found[number], both.value(number, where)
        if number in both.first.names:
            name = found[number] = both.first.names[number]
            value = both.value(number, where)
            g.initialisers[name] = g.proto(name, value.tensor)
            return name, value
        value = both.constant(number, where)
        name = g.constant(value.tensor)
        if value.shape != value.tensor.shape:
            name = g.add("Expand", name, g.shape(value.shape))
        found[number] = name
        return name, value

    for node in both.nodes:
        pairs = [operand(number, node.where) for number in node.inputs]
        ins, given = tuple(name for name, _ in pairs), tuple(value for _, value in pairs)
        out = both.value(node.out, node.where)
        call = ops.OpCall(node.op, ins, node.params, given, out, node.where)
        found[node.out] = ops.written(g, call)
    outputs = []
    here = ("its result", 0)
    for number, name in zip(both.first.outputs, results, strict=True):
        made, value = operand(number, here)
        g.nodes.append(g.helper.make_node("Identity", [made], [name], name))
        outputs.append(described(g, name, value))
    inputs = [described(g, name, both.value(number, here))
              for number, name in zip(both.first.inputs, names, strict=True)]  # fmt: skip
    return g.nodes, "model", inputs, outputs


def described(g: Graph, name: str, value: Value) -> Any:
    """Name, dtype and shape of an input or output; a variable size has a name."""
    sizes = [n if not isinstance(n, Batch) else "batch" if n.times == 1 else f"{n.times}*batch"
             for n in value.shape]  # fmt: skip
    return g.helper.make_tensor_value_info(name, TYPES[value.tensor.dtype.name], sizes)


def traced(
    model: Callable[..., Any], inputs: Sequence[Tensor], named: list[tuple[str, Tensor]],
    axis: int | None,
) -> Both:  # fmt: skip
    """The model's ops, for any number of rows."""
    if axis is None:
        once = trace(model, inputs, named)
        return Both(once, once, 1, 1)
    if (
        any(x.ndim == 0 for x in inputs)
        or len({x.shape[axis_of(axis, x.ndim)] for x in inputs}) > 1
    ):
        raise ShapeError(
            f"{ASKED}, for batches of any size along axis {axis}",
            f"inputs of shapes {', '.join(str(x.shape) for x in inputs)}",
            "give inputs with as many rows each, or batch_axis=None",
        )
    rows = max(inputs[0].shape[axis], 2)
    first = trace(model, [with_rows(x, rows, axis) for x in inputs], named)
    second = trace(model, [with_rows(x, rows + 1, axis) for x in inputs], named)
    return Both(first, second, rows, rows + 1)


def with_rows(x: Tensor, rows: int, axis: int) -> Tensor:
    """The rows of x, repeated cyclically up to `rows`."""
    if not x.shape[axis]:
        raise ShapeError(ASKED, f"an example of shape {x.shape}", "give at least one row")
    times = -(-rows // x.shape[axis])
    return cat([x.detach()] * times, axis=axis).index_select(axis, Tensor.arange(rows)).copy()


def named_alike(kind: str, count: int, given: Sequence[str] | None) -> list[str]:
    """input, or input_0, input_1, ...; or the given names."""
    names = [kind] if count == 1 else [f"{kind}_{i}" for i in range(count)]
    names = names if given is None else list(given)
    if len(set(names)) != count:
        raise ArgumentError(f"{kind}_names={given}", f"there are {count}", "name each, once")
    return names


@contextmanager
def evaluated(model: object) -> Iterator[None]:
    """Every part of the model in eval mode, and afterwards in its previous mode."""
    named = named_modules(model) if hasattr(model, "__dict__") and is_module(model) else ()
    parts = [(part, part.training) for _, part in named if hasattr(part, "training")]
    for part, _ in parts:
        part.training = False
    try:
        yield
    finally:
        for part, training in parts:
            part.training = training
