"""RNN, LSTM and GRU of an ONNX file, step by step.

x (T, N, in); for each direction W (gates H, in), R (gates H, H), and B, the two biases
concatenated. Results: all h (T, directions, N, H), the last h, and for an LSTM the last c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutor.methods.tensor import Tensor
from tutor.nn import functional as F  # noqa: N812 - as everybody writes it
from tutor.onnx.given import Given, as_tensor, cannot
from tutor.ops.movement import stack

DIRECTIONS = {"forward": 1, "foward": 1, "reverse": 1, "bidirectional": 2}  # (sic: version 1)
GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}
State = tuple[Tensor, ...]
Step = Callable[[Tensor, State, Tensor, Tensor], State]


def rnn_step(n: Given) -> Step:
    """h = tanh(x Wᵀ + h Rᵀ + b)"""
    kinds = [name.lower() for name in n.get("activations")]
    wanted = len(kinds) >= DIRECTIONS.get(n.get("direction"), 0)  # one per direction
    if not set(kinds) <= {"tanh", "relu"} or len(set(kinds)) != 1 or not wanted:
        raise cannot("RNN", f"the activations {kinds}")

    def step(x: Tensor, state: State, r: Tensor, b: Tensor) -> State:
        z = x + F.linear(state[0], r, b)
        return (z.tanh() if kinds[0] == "tanh" else z.relu(),)

    return step


def lstm_step(n: Given) -> Step:
    """The gates are i, o, f and g: c = f c + i g, h = o tanh(c)"""
    plain(n, "LSTM", ["Sigmoid", "Tanh", "Tanh"])

    def step(x: Tensor, state: State, r: Tensor, b: Tensor) -> State:
        i, o, f, g = (x + F.linear(state[0], r, b)).chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    return step


def gru_step(n: Given) -> Step:
    """The gates are z, r and g: h = z h + (1 - z) g. The reset r scales R h if linear_before_reset
    is set, as in PyTorch; otherwise it scales h, as in the paper."""
    plain(n, "GRU", ["Sigmoid", "Tanh"])
    before = n.flag("linear_before_reset")

    def step(x: Tensor, state: State, r: Tensor, b: Tensor) -> State:
        (h,), size = state, r.shape[1]
        zx, rx, gx = x.chunk(3, -1)
        zh, rh = F.linear(h, r[: 2 * size], b[: 2 * size]).chunk(2, -1)
        z, reset = (zx + zh).sigmoid(), (rx + rh).sigmoid()
        last, bias = r[2 * size :], b[2 * size :]
        told = reset * F.linear(h, last, bias) if before else F.linear(reset * h, last, bias)
        return (z * h + (1 - z) * (gx + told).tanh(),)

    return step


STEPS = {"RNN": rnn_step, "LSTM": lstm_step, "GRU": gru_step}


def plain(n: Given, kind: str, usual: list[str]) -> None:
    found = n.get("activations", usual)
    if not found or found != usual * (len(found) // len(usual)):
        raise cannot(kind, f"the activations {found}")


def recurrent(kind: str) -> Callable[..., tuple[Tensor, ...]]:
    """The function that computes this operator."""

    def run(n: Given, x: Tensor, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None,
            c: Any = None, peepholes: Any = None) -> tuple[Tensor, ...]:  # fmt: skip
        if lengths is not None or peepholes is not None:
            raise cannot(kind, "sequences of several lengths, or peepholes")
        w, r, step = as_tensor(w), as_tensor(r), STEPS[kind](n)
        n.only("hidden_size", r.shape[2], f"its weights are for {r.shape[2]}")
        n.idle("output_sequence")  # all results are returned anyway
        way = n.get("direction")
        if way not in DIRECTIONS or w.shape[0] != DIRECTIONS[way]:
            raise cannot(kind, f"direction={way!r}, with weights for {w.shape[0]}")
        directions, rows = w.shape[0], GATES[kind] * r.shape[2]
        b = w.like(0, (directions, 2 * rows)) if b is None else as_tensor(b)
        empty = w.like(0, (directions, x.shape[1], r.shape[2]))
        starts = [empty if t is None else as_tensor(t) for t in (h, c)[: 1 + (kind == "LSTM")]]
        outs, ends = [], []
        for d in range(directions):
            backwards = way == "reverse" or d == 1
            projected = F.linear(x.flip(0) if backwards else x, w[d], b[d, :rows])
            state, seen = tuple(t[d] for t in starts), []
            for place in projected:
                state = step(place, state, r[d], b[d, rows:])
                seen.append(state[0])
            outs.append(stack(seen[::-1] if backwards else seen))
            ends.append(state)
        return stack(outs, axis=1), *(stack(part) for part in zip(*ends, strict=True))

    return run
