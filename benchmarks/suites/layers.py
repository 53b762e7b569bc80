"""Layers by themselves: forward as one evaluates, and forward and backward as one trains. Where a
layer does something else while it trains, its forward pass has a row for each mode.

Both libraries build the layer by the same name and arguments, and start from the same weights. The
backward pass makes every gradient that a step in the midst of a network needs: of the input, where
that is one of floats, and of each parameter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tutor
from benchmarks.case import Case
from benchmarks.libraries import WAYS, Run, modules, operand, view
from benchmarks.measure import Effort
from tutor import Tensor

# A gradient of a parameter is a sum over all rows, and an LSTM's state one over all steps.
LONG_SUMS = 1e-4


Make = Callable[[Any], Callable[..., Any]]


class Row(NamedTuple):
    """`make(nn)` gives the layer of this library's `nn`, `inputs` what it is called with. `modes`:
    it does something else while it trains. `images`: PyTorch runs in channels_last as well."""

    name: str
    make: Make
    inputs: tuple[Tensor, ...]
    random: bool = False
    modes: bool = False
    images: bool = False


def layer(kind: str, *arguments: Any, **options: Any) -> Make:
    """Makes the layer that both libraries call by this name."""
    return lambda nn: getattr(nn, kind)(*arguments, **options)


def cases(effort: Effort) -> Iterator[Case]:
    for row in _rows(effort):
        yield _case(f"{row.name}, evaluating" if row.modes else row.name, row, _evaluating)
        if row.modes:
            yield _case(f"{row.name}, training", row, _forward)
        yield _case(f"{row.name}, backward", row, _training)


def _case(name: str, row: Row, way: Callable[..., Run]) -> Case:
    runs = {library: way(library, made, row) for library, made in _layers(row).items()}
    check: dict[str, Run] | None = None
    if row.random:
        check = {library: functools.partial(_ends, run) for library, run in runs.items()}
    return Case(name, runs, tolerance=LONG_SUMS, check=check)


def _ends(run: Run) -> list[Any]:
    """What can be compared of random results: dropout of ones, and its gradient for a slope of
    ones, are 0 and 1 / (1 - p)."""
    return [end for x in run() for end in (x.min(), x.max())]


def _layers(row: Row) -> dict[str, Any]:
    """The layer of each library, from the weights of ours."""
    torch = modules["torch"]
    made: dict[str, Any] = {
        n: row.make(modules[n].nn) for n in ("tutor", "torch") if modules[n] is not None
    }
    if torch and row.images:
        layer: Any = row.make(torch.nn)
        made["channels_last"] = layer.to(memory_format=torch.channels_last)
    for name, layer in made.items():
        if name != "tutor":
            for theirs, ours in zip(_params(layer), _params(made["tutor"]), strict=True):
                theirs.data.copy_(torch.from_dlpack(ours.detach()))
    return made


def _params(layer: Any) -> list[Any]:
    """By name, for the order in which layers name them is their own affair."""
    if not hasattr(layer, "named_parameters"):
        return []
    return [p for _, p in sorted(layer.named_parameters(), key=lambda named: named[0])]


def _evaluating(library: str, layer: Any, row: Row) -> Run:
    """Forward in mode eval(), which a function has not, and without a graph."""
    seen = [view(library, x) for x in row.inputs]
    no_grad = modules[WAYS.get(library, library)].no_grad
    if hasattr(layer, "eval"):
        layer.eval()

    def run() -> list[Any]:
        with no_grad():
            return [_first(layer(*seen))]

    return run


def _forward(library: str, layer: Any, row: Row) -> Run:
    """The forward pass of a step: in mode train(), and with a graph."""
    seen, _ = _leaves(library, layer, row)
    return lambda: [_first(layer(*seen)).detach()]


def _training(library: str, layer: Any, row: Row) -> Run:
    seen, wanted = _leaves(library, layer, row)
    g = _slope(library, row, layer(*seen))

    def run() -> list[Any]:
        for x in wanted:
            x.grad = None
        result = _first(layer(*seen))
        result.backward(g)
        return [result, *[x.grad for x in wanted]]

    return run


def _leaves(library: str, layer: Any, row: Row) -> tuple[list[Any], list[Any]]:
    """What a step calls the layer with, and all that it makes gradients of."""
    seen = [view(library, x).detach() for x in row.inputs]
    return seen, [x.requires_grad_() for x in seen if "float" in str(x.dtype)] + _params(layer)


def _slope(library: str, row: Row, result: Any) -> Any:
    """The gradient of the result: the same numbers for all libraries."""
    shape = tuple(_first(result).shape)
    numbers = tutor.ones(*shape) if row.random else (tutor.arange(math.prod(shape)) % 13) / 13
    return view(library, numbers.cast("float32").reshape(*shape))


def _first(result: Any) -> Any:
    """An LSTM gives its states, too."""
    return result[0] if isinstance(result, tuple) else result


# ---- rows ----------------------------------------------------------------------------------------


def _rows(effort: Effort) -> Iterator[Row]:
    yield from _pointwise(effort)
    yield from _norms(effort)
    yield from _tables(effort)
    yield from _attention(effort)
    batch, steps, width = effort.pick((32, 32, 128), (32, 16, 64), (2, 3, 4))
    x = operand(batch, steps, width)
    yield Row(f"LSTM {x.shape}", layer("LSTM", width, width, batch_first=True), (x,))
    for batch, inside, out, size in effort.pick(
        ((32, 16, 32, 28), (128, 1, 8, 28)), ((32, 16, 32, 14),), ((2, 1, 2, 5),)
    ):
        x = operand(batch, inside, size, size)
        yield Row(f"Conv2d {inside}-{out} of {x.shape}",
                  layer("Conv2d", inside, out, 3, padding=1), (x,), images=True)  # fmt: skip


def _pointwise(effort: Effort) -> Iterator[Row]:
    x = operand(*effort.pick((1024, 256), (1024, 256), (3, 4)))
    for form in ("none", "tanh"):
        yield Row(f"GELU {form} {x.shape}", layer("GELU", form), (x,))
    ones = tutor.ones(*effort.pick((1024, 256), (1024, 256), (16, 16)))
    yield Row(f"Dropout 0.5 {ones.shape}", layer("Dropout", 0.5), (ones,), random=True,
              modes=True)  # fmt: skip


def _norms(effort: Effort) -> Iterator[Row]:
    for shape in effort.pick(
        ((64, 512), (512, 1024), (1024, 64)), ((64, 512), (1024, 64)), ((3, 4),)
    ):
        x, n = operand(*shape), shape[-1]
        yield Row(f"LayerNorm {x.shape}", layer("LayerNorm", n), (x,))
        yield Row(f"RMSNorm {x.shape}", layer("RMSNorm", n), (x,))
    for shape in effort.pick(((128, 64), (64, 512)), ((64, 512),), ((3, 4),)):
        x, n = operand(*shape), shape[1]
        yield Row(f"BatchNorm1d {x.shape}", layer("BatchNorm1d", n), (x,), modes=True)
    x = operand(*effort.pick((32, 64, 14, 14), (32, 64, 14, 14), (2, 4, 3, 3)))
    channels = x.shape[1]
    yield Row(f"BatchNorm2d {x.shape}", layer("BatchNorm2d", channels), (x,), modes=True)
    groups = channels // 4
    yield Row(f"GroupNorm {groups} of {x.shape}", layer("GroupNorm", groups, channels), (x,))


def _tables(effort: Effort) -> Iterator[Row]:
    sizes = effort.pick(
        ((1000, 512, None), (65, 64, None), (5000, 128, None), (5000, 128, 0)),
        ((65, 64, None), (5000, 128, 0)),
        ((5, 4, None), (5, 4, 0)),
    )
    for rows, width, padding in sizes:
        ids = (tutor.rand(*effort.pick((32, 64), (32, 64), (2, 3))) * rows).cast("int64")
        name = f"Embedding {rows}-{width} of {ids.shape}"
        yield Row(name if padding is None else f"{name}, padding_idx",
                  layer("Embedding", rows, width, padding_idx=padding),
                  (ids,))  # fmt: skip


def _attention(effort: Effort) -> Iterator[Row]:
    """scaled_dot_product_attention of queries, keys and values (batch, heads, length, width)"""
    for shape in effort.pick(
        ((16, 4, 64, 16), (4, 8, 256, 64)), ((16, 4, 64, 16),), ((1, 2, 3, 4),)
    ):
        qkv = (operand(*shape), operand(*shape), operand(*shape))
        for causal in (False, True):
            name = f"attention{', causal' if causal else ''} {shape}"
            yield Row(name, functools.partial(_attending, causal), qkv)


def _attending(causal: bool, nn: Any) -> Callable[..., Any]:
    return functools.partial(nn.functional.scaled_dot_product_attention, is_causal=causal)
