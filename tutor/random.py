"""Randomness: one counter-based generator, the same numbers on every backend.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") turns
(seed, counter) into 128 random bits. There is no hidden state: whoever draws takes a range of
counters, and the same seed and counters give the same bits whenever and wherever they are asked.
"""

from __future__ import annotations

import operator
import os
import sys

from tutor.backends import registry
from tutor.backends.step import Step, emit
from tutor.core.buffer import Buffer
from tutor.dtype import int64, uint32
from tutor.errors import NumberRangeError
from tutor.ground.atomic import exchange
from tutor.ground.spelling import spelled

_PERMUTATIONS = 1 << 63  # permutations count from here, far from what tensors are filled with


class _Stream:
    """Where the sequence stands: (seed, counter); None until the first number is asked for."""

    state: tuple[int, int] | None = None


_stream = _Stream()


@spelled
def manual_seed(seed: int) -> None:
    """Start the sequence of random numbers anew; `seed` is a whole number of up to 64 bits.

    Without it, every process draws other numbers: its first seed comes from the system.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise NumberRangeError(
            f"manual_seed({seed!r})", "a seed is a whole number of 64 bits", "use 0 to 2**64 - 1"
        )
    _stream.state = seed, 0


def seed() -> int:
    """Start the sequence anew, from a seed that the system draws; returns that seed."""
    drawn = int.from_bytes(os.urandom(8))
    manual_seed(drawn)
    return drawn


def initial_seed() -> int:
    """The seed that the sequence began with: give it to `manual_seed` to see the same numbers."""
    return get_state()[0]


def get_state() -> tuple[int, int]:
    """(seed, counter): where the sequence stands. `set_state` continues from there."""
    if _stream.state is None:
        exchange((_stream,), "state", (None,), ((int.from_bytes(os.urandom(8)), 0),))
    return _stream.state or get_state()


def set_state(state: tuple[int, int]) -> None:
    """Go on from `state`, which `get_state` gave. NumberRangeError for what is no such thing."""
    whole = isinstance(state, tuple) and len(state) == 2 and {*map(type, state)} == {int}
    if not whole or not 0 <= state[0] < 2**64 or state[1] < 0:
        raise NumberRangeError(
            f"set_state({state!r:.60})",
            "a state is a pair of whole numbers, a seed of 64 bits and a counter",
            "give what get_state() returned",
        )
    _stream.state = state


def take(blocks: int) -> tuple[int, int]:
    """(seed, first counter) of the next `blocks` blocks of 128 bits, which are then used up."""
    blocks = operator.index(blocks)  # a Tensor would turn the counter into one
    while True:  # no two threads may take the same ones
        state = get_state()
        if exchange((_stream,), "state", (state,), ((state[0], state[1] + blocks),)):
            return state


def say_seed() -> None:
    """With TUTOR_DEBUG, at the end: what has to be given to see the same numbers again."""
    if _stream.state is not None:
        print(f"tutor: random numbers: seed {initial_seed()}", file=sys.stderr)


def bits(count: int, seed: int, counter: int) -> Buffer:
    """`count` random uint32, from the block `counter` on."""
    out = Buffer.empty(count, uint32)
    whole = registry.Operand(out, (count,), (1,), 0)
    emit(Step("random_bits", uint32, whole, (), {"seed": seed, "counter": counter}))
    return out


def permutation(n: int, seed: int, round: int = 0) -> list[int]:
    """0 to n - 1 in an order that depends on (seed, round) alone: round is the epoch, say."""
    keys, order = bits(n, seed, _PERMUTATIONS + (round << 32)), Buffer.empty(n, int64)
    whole = [registry.Operand(buf, (n,), (1,), 0) for buf in (order, keys)]
    emit(Step("argsort", uint32, whole[0], (whole[1],), {"axis": 0, "descending": 0}))
    return order.tolist()
