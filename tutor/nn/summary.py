"""A model's summary: its layers, their Tensors, and how many numbers are trained.

>>> from tutor import nn
>>> nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
Sequential: 65 parameters
  0  Linear  weight (16, 2), bias (16)  48
  1  ReLU
  2  Linear  weight (1, 16), bias (1)   17
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tutor.methods.tensor import Tensor
from tutor.nn.parameter import is_parameter
from tutor.nn.parts import parts_of, state_of


class SummaryRow(NamedTuple):
    """A row of the table: a part of a model that holds Tensors itself, or can be called."""

    path: str
    kind: str
    tensors: dict[str, Tensor]

    @property
    def parameters(self) -> int:
        """The number of numbers in its parameters, frozen ones too."""
        return sum(t.numel() for t in self.tensors.values() if is_parameter(t))

    def holds(self) -> str:
        """`weight (16, 2), bias (16)`; untrained Tensors are marked as fixed."""
        shapes = ((n, ", ".join(map(str, t.shape)), t) for n, t in self.tensors.items())
        return ", ".join(
            f"{n} ({shape})" + ("" if t.requires_grad else " fixed") for n, shape, t in shapes
        )


class Summary:
    """`Summary(model)`: prints as lines, and is a table in a notebook. `layers` has the rows."""

    def __init__(self, model: object) -> None:
        self.kind = type(model).__name__
        self.layers = list(layers_of(model))
        self.count = sum(layer.parameters for layer in self.layers)

    def title(self) -> str:
        """`Sequential: 65 parameters`"""
        return f"{self.kind}: {self.count:,} parameter" + "s" * (self.count != 1)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Path, kind, Tensors and number of parameters; the model itself has no path."""
        return [(x.path, x.kind, x.holds(), f"{x.parameters:,}" if x.tensors else "")
                for x in self.layers]  # fmt: skip

    def __repr__(self) -> str:
        rows = self.rows()
        if not any(path for path, *_ in rows):  # a single layer
            held = "".join(f"  {what}" for _, _, what, _ in rows if what)
            return self.title() + held
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = (
            f"  {path:{widths[0]}}  {kind:{widths[1]}}  {what:{widths[2]}}  {n:>{widths[3]}}"
            for path, kind, what, n in rows
        )
        return "\n".join([self.title(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        import html  # notebooks have already loaded it

        head = "".join(f"<th>{name}</th>" for name in ("part", "layer", "holds", "parameters"))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return (
            f"<table><caption>{html.escape(self.title())}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def layers_of(model: object) -> Iterator[SummaryRow]:
    """The parts of a model in order: each that holds Tensors, and each layer without any. Lists and
    dicts of Tensors are rows. A Tensor in two places is counted in the first."""
    held: dict[str, dict[str, Tensor]] = {}
    values: dict[str, Any] = {}
    list(state_of(model))  # so that a Parameter is one
    for path, value, holder, _ in parts_of(model):
        if isinstance(value, Tensor) and path:
            held[holder][path[len(holder) :].lstrip(".")] = value
        else:
            held[path], values[path] = {}, value
            if isinstance(value, Tensor):
                held[path][""] = value
    for path, tensors in held.items():
        value = values[path]
        inside = any(
            other.startswith(f"{path}." if path else "") for other in held if other != path
        )
        if tensors or (callable(value) and not inside):
            yield SummaryRow(path, getattr(value, "__name__", type(value).__name__), tensors)
