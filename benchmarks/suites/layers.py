"""Layers by themselves: forward as one evaluates, and forward and backward as one trains.

Both libraries build the layer by the same name and arguments, and start from the same weights. The
backward pass makes every gradient that a step in the midst of a network needs: of the input, where
that is one of floats, and of each parameter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tutor
from benchmarks.case import Case
from benchmarks.libraries import Run, modules, operand, views
from benchmarks.measure import Effort
from tutor import Tensor

# A gradient of a parameter is a sum over all rows, and an LSTM's state one over all steps.
LONG_SUMS = 1e-4


Make = Callable[[Any], Callable[..., Any]]


class Row(NamedTuple):
    """`make(nn)` gives the layer of this library's `nn`, `inputs` what it is called with."""

    name: str
    make: Make
    inputs: tuple[Tensor, ...]
    random: bool = False


def layer(kind: str, *arguments: Any, **options: Any) -> Make:
    """Makes the layer that both libraries call by this name."""
    return lambda nn: getattr(nn, kind)(*arguments, **options)


def cases(effort: Effort) -> Iterator[Case]:
    for row in _rows(effort):
        for name, train in ((row.name, False), (f"{row.name}, backward", True)):
            yield _case(name, row, train)


def _case(name: str, row: Row, train: bool) -> Case:
    layers = _layers(row)
    slope = (tutor.ones if row.random else operand)(
        *_evaluating("tutor", layers["tutor"], row.inputs)()[0].shape
    )
    runs = {
        library: _training(library, made, row.inputs, slope)
        if train
        else _evaluating(library, made, row.inputs)
        for library, made in layers.items()
    }
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
    made = {n: row.make(modules[n].nn) for n in ("tutor", "torch") if modules[n] is not None}
    if "torch" in made:
        for theirs, ours in zip(_params(made["torch"]), _params(made["tutor"]), strict=True):
            theirs.data.copy_(modules["torch"].from_dlpack(ours.detach()))
    return made


def _params(layer: Any) -> list[Any]:
    """By name, for the order in which layers name them is their own affair."""
    if not hasattr(layer, "named_parameters"):
        return []
    return [p for _, p in sorted(layer.named_parameters(), key=lambda named: named[0])]


def _evaluating(library: str, layer: Any, inputs: tuple[Tensor, ...]) -> Run:
    seen = [views(x)[library] for x in inputs]
    no_grad = modules[library].no_grad

    def run() -> list[Any]:
        with no_grad():
            return [_first(layer(*seen))]

    return run


def _training(library: str, layer: Any, inputs: tuple[Tensor, ...], slope: Tensor) -> Run:
    seen = [views(x)[library].detach() for x in inputs]
    wanted = [x.requires_grad_() for x in seen if "float" in str(x.dtype)] + _params(layer)
    g = views(slope)[library]

    def run() -> list[Any]:
        for x in wanted:
            x.grad = None
        result = _first(layer(*seen))
        result.backward(g)
        return [result, *[x.grad for x in wanted]]

    return run


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
                  layer("Conv2d", inside, out, 3, padding=1), (x,))  # fmt: skip


def _pointwise(effort: Effort) -> Iterator[Row]:
    x = operand(*effort.pick((1024, 256), (1024, 256), (3, 4)))
    for form in ("none", "tanh"):
        yield Row(f"GELU {form} {x.shape}", layer("GELU", form), (x,))
    ones = tutor.ones(*effort.pick((1024, 256), (1024, 256), (16, 16)))
    yield Row(f"Dropout 0.5 {ones.shape}", layer("Dropout", 0.5), (ones,), random=True)


def _norms(effort: Effort) -> Iterator[Row]:
    for shape in effort.pick(
        ((64, 512), (512, 1024), (1024, 64)), ((64, 512), (1024, 64)), ((3, 4),)
    ):
        x, n = operand(*shape), shape[-1]
        yield Row(f"LayerNorm {x.shape}", layer("LayerNorm", n), (x,))
        yield Row(f"RMSNorm {x.shape}", layer("RMSNorm", n), (x,))
    for shape in effort.pick(((128, 64), (64, 512)), ((64, 512),), ((3, 4),)):
        x, n = operand(*shape), shape[1]
        yield Row(f"BatchNorm1d {x.shape}", layer("BatchNorm1d", n), (x,))
    x = operand(*effort.pick((32, 64, 14, 14), (32, 64, 14, 14), (2, 4, 3, 3)))
    channels = x.shape[1]
    yield Row(f"BatchNorm2d {x.shape}", layer("BatchNorm2d", channels), (x,))
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
