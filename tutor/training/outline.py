"""A model's summary, layer by layer, in one call: shapes, parameters, operations, memory."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, NamedTuple

from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor.backends.step import Step, watch
from tutor.core.engine.grad_mode import no_grad
from tutor.methods.tensor import Tensor
from tutor.nn.module import Module, get_parameters
from tutor.nn.parts import named_modules


class OutlineRow(NamedTuple):
    """One layer, by its path: its result, its number of trainable parameters, the operations of its
    kernels (only those that count them), and the bytes of its result."""

    path: str
    kind: str
    shape: tuple[int, ...]
    parameters: int
    flops: int
    nbytes: int


class Outline(list[OutlineRow]):
    """The rows in call order; prints as a table. `parameters`, `flops` and `nbytes` are totals of
    the whole model: a parameter that is used in two places is counted once."""

    parameters, flops, nbytes = 0, 0, 0

    def rows(self) -> list[tuple[str, ...]]:
        """The printed table as texts: the titles, a row for each layer, and the totals."""
        lines = [(r.path, r.kind, "x".join(map(str, r.shape)), f"{r.parameters:,}", f"{r.flops:,}",
                  f"{r.nbytes:,}") for r in self]  # fmt: skip
        total = (f"{n:,}" for n in (self.parameters, self.flops, self.nbytes))
        return [HEAD, *lines, ("all", "", "", *total)]

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
        return "\n".join(
            "  ".join(cell.ljust(w) if i < 3 else cell.rjust(w)
                      for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows
        )  # fmt: skip

    def _repr_html_(self) -> str:
        head, *body = [
            "".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.rows()
        ]
        lines = "".join(f"<tr>{row}</tr>" for row in body)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


HEAD = ("layer", "kind", "result", "parameters", "operations", "bytes")


@spelled
def summary(model: Callable[..., Any], *inputs: Any) -> Outline:
    """Call `model(*inputs)` once, without a graph, and return a row for each of its layers.

    Modules have rows of their own; operations between them count for the enclosing Module. A layer
    that is called twice has two rows. The model is in eval mode meanwhile, if it has one, so that
    its state does not change.
    """
    checks.function("summary(model, ...)", model)
    found = Outline()
    calls: list[Any] = []  # calls in progress: the path, and its operations so far

    def count(step: Step, go: Callable[[], None]) -> None:
        go()
        if calls:
            calls[-1][1] += step.flops or 0

    def enters(path: str) -> Callable[..., None]:
        return lambda module, inputs: calls.append([path, 0])

    def leaves(module: Any, inputs: Any, result: Any) -> None:
        path, flops = calls.pop()
        found.flops += flops
        own = sum(p.numel() for p in get_parameters(module))
        results = [t for t in _listed(result) if isinstance(t, Tensor)]
        nbytes = sum(t.numel() * t.dtype.itemsize for t in results)
        found.nbytes += nbytes
        shape = results[0].shape if results else ()
        found.append(OutlineRow(path, type(module).__name__, shape, own, flops, nbytes))

    modules = [(p, m) for p, m in named_modules(model) if isinstance(m, Module)]
    handles = [
        h
        for p, m in modules
        for h in (
            m.register_forward_pre_hook(enters(p or "(itself)")),
            m.register_forward_hook(leaves),
        )
    ]
    training = [(m, m.training) for _, m in modules]
    try:
        for module in (m for _, m in modules):
            module.training = False
        with no_grad(), watch(count):
            model(*inputs)
    finally:
        for module, before in training:
            module.training = before
        for handle in handles:
            handle.remove()
    found.parameters = sum(p.numel() for p in get_parameters(model)) if modules else 0
    return found


def _listed(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in _listed(item)]
    return [*result.values()] if isinstance(result, dict) else [result]
