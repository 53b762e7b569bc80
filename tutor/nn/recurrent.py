"""Recurrent layers: the state h so far and the next input x make the new state h'.

    RNN    h' = tanh(W x + U h)                                  (Elman 1990)
    LSTM   i, f, o = sigmoid(...), g = tanh(...), each of W x + U h
           c' = f c + i g,  h' = o tanh(c')                      (Hochreiter & Schmidhuber 1997)
    GRU    r, z = sigmoid(...),  n = tanh(W x + r (U h))
           h' = (1 - z) n + z h                                  (Cho et al. 2014)

Each gate has its own weights and biases, stacked in one matrix, one gate below the other: W in
`weight_ih` (gates * hidden, inputs), U in `weight_hh` (gates * hidden, hidden), in PyTorch's order
(i, f, g, o; r, z, n). All start uniform in +-1/sqrt(hidden_size).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, overload

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.core.engine import apply
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.dense import linear, stacked, started
from tutor.nn.dropout import dropout
from tutor.nn.module import Module
from tutor.nn.utils.rnn import PackedSequence, whole_sizes
from tutor.ops.movement import cat, stack

State = tuple[Tensor, ...]  # (h,), or (h, c) of an LSTM
Sequences = Tensor | PackedSequence  # of one length, or of several
Bias = Tensor | None
Run = Callable[[Tensor, Tensor, Bias, State], tuple[Tensor, State]]


# ---- all places: from W x, U, its bias and the state to h of each place and the last state -------


def run_rnn(wx: Tensor, u: Tensor, bias: Bias, state: State, relu: bool) -> tuple[Tensor, State]:
    h = apply("rnn", wx, u, state[0], relu=relu)
    return h, (h[-1],)


def run_lstm(wx: Tensor, u: Tensor, bias: Bias, state: State) -> tuple[Tensor, State]:
    states = apply("lstm", gates_of(wx, 4), square(u, 4), stack(state))
    return states[0], (states[0, -1], states[1, -1])


def run_gru(wx: Tensor, u: Tensor, bias: Bias, state: State) -> tuple[Tensor, State]:
    b = u.detach().like(0, u.shape[:1]) if bias is None else bias
    h = apply("gru", gates_of(wx, 3), square(u, 3), b.reshape((3, -1)), state[0])
    return h, (h[-1],)


def gates_of(wx: Tensor, gates: int) -> Tensor:
    return wx.reshape((*wx.shape[:-1], gates, wx.shape[-1] // gates))


def square(u: Tensor, gates: int) -> Tensor:
    return u.reshape((gates, u.shape[1], u.shape[1]))


class RecurrentKind(NamedTuple):
    """The number of gates, the number of Tensors in a state, how all places run, and whether U h
    has a bias of its own; otherwise both biases can be added to W x."""

    gates: int
    states: int
    run: Run
    apart: bool = False

    def biases(self, b: Bias, c: Bias) -> tuple[Bias, Bias]:
        """What is added to W x, and what to U h."""
        if b is None or c is None or self.apart:
            return b, c
        return b + c, None


KINDS = {
    "tanh": RecurrentKind(1, 1, partial(run_rnn, relu=False)),
    "relu": RecurrentKind(1, 1, partial(run_rnn, relu=True)),
    "lstm": RecurrentKind(4, 2, run_lstm), "gru": RecurrentKind(3, 1, run_gru, apart=True),
}  # fmt: skip


# ---- layers --------------------------------------------------------------------------------------


class Recurrent(Module):
    """A recurrent layer over a sequence: x (L, N, input_size), with batch_first (N, L, input_size),
    or (L, input_size) -> the last layer's h at each place, and the state after the last place,
    (layers * directions, N, hidden_size)

    `num_layers` of them are stacked; `bidirectional` ones read from both ends and concatenate the
    results. In training, `dropout` applies to the output of every layer except the last. W x of all
    places is one product; the walk along the places is one op (tutor/ops/recurrent.py). For packed
    sequences (nn.utils.rnn) both x and the result are a PackedSequence.
    """

    cell: str  # one of KINDS

    @spelled  # only this: a wrapper would slow down every call
    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        kind = type(self).__name__
        self.input_size = layout.positive(input_size, f"{kind}(input_size=...)")
        self.hidden_size = layout.positive(hidden_size, f"{kind}(hidden_size=...)")
        self.num_layers = stacked(num_layers, f"{kind}(num_layers=...)")
        self.bias, self.batch_first = bool(bias), bool(batch_first)
        self.bidirectional = bool(bidirectional)
        self.dropout = float(checks.number(f"{kind}(dropout=...)", dropout, 0, 1, nan=False))
        h, bound = self.hidden_size, 1 / math.sqrt(self.hidden_size)
        gates = KINDS[self.cell].gates * h
        for layer in range(self.num_layers):
            width = h * (1 + self.bidirectional) if layer else self.input_size
            for end in self.ends(layer):
                setattr(self, f"weight_ih_{end}", started(bound, (gates, width), dtype))
                setattr(self, f"weight_hh_{end}", started(bound, (gates, h), dtype))
                if self.bias:
                    setattr(self, f"bias_ih_{end}", started(bound, (gates,), dtype))
                    setattr(self, f"bias_hh_{end}", started(bound, (gates,), dtype))

    def ends(self, layer: int) -> tuple[str, ...]:
        """The name suffixes of a layer's directions: `l0`, `l0_reverse`."""
        return (f"l{layer}", f"l{layer}_reverse")[: 1 + self.bidirectional]

    def run(self, x: Sequences, state: State | None) -> tuple[Sequences, State]:
        """The last layer's h at each place, and the state after the last place."""
        kind = type(self).__name__
        if isinstance(x, PackedSequence):
            return self.packed(x, state)
        if checks.tensor(kind, x).ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "(N, L, {0})" if self.batch_first else "(L, N, {0})"
            raise ShapeError(
                f"{kind}({self.input_size}, {self.hidden_size}) of shape {x.shape}",
                f"{x.ndim} axes, the last of {x.shape[-1] if x.ndim else 'no'} numbers",
                f"give {order}, or (L, {{0}})".format(self.input_size),
            )
        single = x.ndim == 2
        x = x.unsqueeze(1) if single else x.transpose(0, 1) if self.batch_first else x
        if not x.shape[0]:
            raise ShapeError(f"{kind} of a sequence of no places", "no step", "give one or more")
        state = self.begun(x, x.shape[1], state, single)
        told, final = self.through(x, None, state)
        if single:
            return told.squeeze(1), tuple(s.squeeze(1) for s in final)
        return told.transpose(0, 1) if self.batch_first else told, final

    def packed(self, x: PackedSequence, state: State | None) -> tuple[PackedSequence, State]:
        """`run` over sequences of different lengths: the state after the last place of each."""
        kind = type(self).__name__
        sizes = whole_sizes(kind, x)
        if x.data.shape[1:] != (self.input_size,):
            raise ShapeError(f"{kind}({self.input_size}, {self.hidden_size}) of packed places of "
                             f"shape {x.data.shape[1:]}", "they do not fit",
                             f"pack sequences (L, {self.input_size})")  # fmt: skip
        state = self.begun(x.data, sizes[0], state, False)
        if x.sorted_indices is not None:
            order = x.sorted_indices
            state = tuple(s.index_select(1, order) for s in state)
        told, final = self.through(x.data, sizes, state)
        if x.unsorted_indices is not None:
            back = x.unsorted_indices
            final = tuple(s.index_select(1, back) for s in final)
        return x._replace(data=told), final

    def through(self, x: Tensor, sizes: list[int] | None, state: State) -> tuple[Tensor, State]:
        """All layers over x (L, N, width); or, with sizes, over packed x (all places, width): first
        the first places of sizes[0] sequences, then the second places of sizes[1] of them, and so
        on, as in tutor/nn/utils/rnn.py."""
        ended: list[State] = []
        for layer in range(self.num_layers):
            told = []
            for end in self.ends(layer):
                here = tuple(s[len(ended)] for s in state)
                result, last = self.along(x, sizes, here, end)
                told.append(result)
                ended.append(last)
            x = cat(told, axis=-1) if len(told) > 1 else told[0]
            if self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout, self.training)
        return x, tuple(stack(parts) for parts in zip(*ended, strict=True))

    def begun(self, x: Tensor, n: int, state: State | None, single: bool) -> State:
        """The state of n sequences before the first place: `state`, by default zeros."""
        shape = (self.num_layers * (1 + self.bidirectional), n, self.hidden_size)
        if state is None:
            return (x.detach().like(0, shape),) * KINDS[self.cell].states
        wanted = (shape[0], shape[2]) if single else shape
        for s in state:
            if checks.tensor(f"the state of {type(self).__name__}", s).shape != wanted:
                raise ShapeError(
                    f"{type(self).__name__} with a state {s.shape}", f"there are {shape[0]} of "
                    f"{shape[2]} numbers for each of {shape[1]} sequences", f"give {wanted}"
                )  # fmt: skip
        return tuple(s.unsqueeze(1) for s in state) if single else state

    def along(
        self, x: Tensor, sizes: list[int] | None, state: State, end: str
    ) -> tuple[Tensor, State]:
        """One layer in one direction. Packed sequences end, the shortest first, and keep their last
        state; in reverse they join, the longest first, with their initial state. Between that all
        places have as many sequences, and are one run."""
        w, u = getattr(self, f"weight_ih_{end}"), getattr(self, f"weight_hh_{end}")
        b, c = (getattr(self, f"bias_{x}_{end}") if self.bias else None for x in ("ih", "hh"))
        kind, backward = KINDS[self.cell], end.endswith("_reverse")
        b, c = kind.biases(b, c)

        def run(wx: Tensor, state: State) -> tuple[Tensor, State]:
            told, state = kind.run(wx.flip(0) if backward else wx, u, c, state)
            return told.flip(0) if backward else told, state

        z = linear(x, w, b)
        if sizes is None:
            return run(z, state)
        told: list[Any] = []
        runs, begin, ended = runs_of(sizes), state, []
        if backward:
            state = tuple(s[: sizes[-1]] for s in begin)
        for first, places, now in reversed(runs) if backward else runs:
            before = state[0].shape[0]
            if now > before:
                state = tuple(cat([s, b[before:now]]) for s, b in zip(state, begin, strict=True))
            elif now < before:
                ended.append(tuple(s[now:] for s in state))
                state = tuple(s[:now] for s in state)
            wx = z[first : first + places * now].reshape((places, now, z.shape[-1]))
            h, state = run(wx, state)
            told.append(h.reshape((places * now, h.shape[-1])))
        if ended:
            state = tuple(cat(parts) for parts in zip(state, *reversed(ended), strict=True))
        return cat(told[::-1] if backward else told), state


def runs_of(sizes: list[int]) -> list[tuple[int, int, int]]:
    """Places of the same size that follow each other: their first row, how many, and the size."""
    runs, row = [], 0
    for size, group in groupby(sizes):
        places = len(list(group))
        runs.append((row, places, size))
        row += places * size
    return runs


class OneState(Recurrent):
    """A layer whose state is h alone."""

    @overload  # type: ignore[override]  # what a call gives is a pair here
    def __call__(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, input: PackedSequence, hx: Tensor | None = None
    ) -> tuple[PackedSequence, Tensor]: ...
    def __call__(self, input: Sequences, hx: Tensor | None = None) -> tuple[Sequences, Tensor]:
        return super().__call__(input, hx)  # type: ignore[return-value]

    def forward(  # type: ignore[override]
        self, input: Sequences, hx: Tensor | None = None
    ) -> tuple[Sequences, Tensor]:
        """(h at each place, h after the last place)"""
        told, (h,) = self.run(input, None if hx is None else (hx,))
        return told, h


@spelled
class RNN(OneState):
    """h' = tanh(W x + U h), or relu(...) with nonlinearity="relu": see Recurrent."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.cell = checks.one_of("RNN(nonlinearity=...)", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, dtype=dtype)  # fmt: skip


@spelled
class GRU(OneState):
    """h' = (1 - z) n + z h: see the formulas above, and Recurrent."""

    cell = "gru"


@spelled
class LSTM(Recurrent):
    """c' = f c + i g, h' = o tanh(c'): see the formulas above, and Recurrent. The state is the pair
    (h, c)."""

    cell = "lstm"

    @overload  # type: ignore[override]
    def __call__(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...
    @overload
    def __call__(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]: ...
    def __call__(
        self, input: Sequences, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Sequences, tuple[Tensor, Tensor]]:
        return super().__call__(input, hx)  # type: ignore[return-value]

    def forward(  # type: ignore[override]
        self, input: Sequences, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Sequences, tuple[Tensor, Tensor]]:
        """(h at each place, (h, c) after the last place)"""
        told, (h, c) = self.run(input, None if hx is None else pair("LSTM", hx))
        return told, (h, c)


def pair(kind: str, hx: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise ShapeError(f"the state of {kind}", checks.said(hx), "give the pair (h, c)")
    return hx[0], hx[1]
