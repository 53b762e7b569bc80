"""Recurrent cells: one step of an RNN, LSTM or GRU, whose formulas are in tutor/nn/recurrent.py."""

from __future__ import annotations

import math

from tutor._storage import layout
from tutor._util import checks
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import DTypeLike
from tutor.errors import ShapeError
from tutor.methods.tensor import Tensor
from tutor.nn.dense import linear, started
from tutor.nn.module import Module
from tutor.nn.recurrent import KINDS, State, pair


class RecurrentCell(Module):
    """One step of a recurrent layer: x (N, input_size) or (input_size), and a state
    (N, hidden_size), by default zeros -> the new state."""

    cell: str  # one of KINDS

    @spelled  # only this: a wrapper would slow down every call
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *,
        dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        kind = type(self).__name__
        self.input_size = layout.positive(input_size, f"{kind}(input_size=...)")
        self.hidden_size = layout.positive(hidden_size, f"{kind}(hidden_size=...)")
        h, bound = self.hidden_size, 1 / math.sqrt(self.hidden_size)
        gates = KINDS[self.cell].gates * h
        self.weight_ih = started(bound, (gates, self.input_size), dtype)
        self.weight_hh = started(bound, (gates, h), dtype)
        self.bias_ih = started(bound, (gates,), dtype) if bias else None
        self.bias_hh = started(bound, (gates,), dtype) if bias else None

    def run(self, x: Tensor, state: State | None) -> State:
        kind = type(self).__name__
        if checks.tensor(kind, x).ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{kind}({self.input_size}, {self.hidden_size}) of shape {x.shape}",
                "that is no row, and no rows, of its inputs", f"give (N, {self.input_size})",
            )  # fmt: skip
        wanted = (*x.shape[:-1], self.hidden_size)
        state = (x.detach().like(0, wanted),) * KINDS[self.cell].states if state is None else state
        for s in state:
            if checks.tensor(f"the state of {kind}", s).shape != wanted:
                raise ShapeError(f"{kind} with a state {s.shape}", "it does not fit the input",
                                 f"give {wanted}")  # fmt: skip
        cell = KINDS[self.cell]
        b, c = cell.biases(self.bias_ih, self.bias_hh)
        rows = x.unsqueeze(0) if x.ndim == 1 else x
        before = tuple(s.reshape((rows.shape[0], self.hidden_size)) for s in state)
        wx = linear(rows, self.weight_ih, b).unsqueeze(0)
        _, after = cell.run(wx, self.weight_hh, c, before)  # of a sequence of one place
        return tuple(s.reshape(wanted) for s in after)


class OneStateCell(RecurrentCell):
    """A cell whose state is h alone."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        (h,) = self.run(input, None if hx is None else (hx,))
        return h


@spelled
class RNNCell(OneStateCell):
    """h' = tanh(W x + U h), or relu(...): see RecurrentCell."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        *, dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        self.cell = checks.one_of("RNNCell(nonlinearity=...)", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, bias, dtype=dtype)


@spelled
class GRUCell(OneStateCell):
    """h' = (1 - z) n + z h: see RecurrentCell."""

    cell = "gru"


@spelled
class LSTMCell(RecurrentCell):
    """c' = f c + i g, h' = o tanh(c'): see RecurrentCell. The state is the pair (h, c)."""

    cell = "lstm"

    def __call__(  # type: ignore[override]
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        return super().__call__(input, hx)  # type: ignore[return-value]

    def forward(  # type: ignore[override]
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """(h, c)"""
        h, c = self.run(input, None if hx is None else pair("LSTMCell", hx))
        return h, c
