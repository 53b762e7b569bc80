"""Randomness: one counter-based generator, the same numbers on every backend.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") turns
(seed, counter) into 128 random bits. There is no hidden state: whoever draws takes a range of
counters, and the same seed and counters give the same bits whenever and wherever they are asked.
"""

from __future__ import annotations

from tutor.backends import registry
from tutor.core.buffer import Buffer
from tutor.dtype import int64, uint32
from tutor.errors import NumberRangeError
from tutor.spelling import spelled

_seed, _counter = 0, 0
_PERMUTATIONS = 1 << 63  # permutations count from here, far from what tensors are filled with


@spelled
def manual_seed(seed: int) -> None:
    """Start the sequence of random numbers anew; `seed` is a whole number of up to 64 bits."""
    global _seed, _counter
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise NumberRangeError(
            f"manual_seed({seed!r})", "a seed is a whole number of 64 bits", "use 0 to 2**64 - 1"
        )
    _seed, _counter = seed, 0


def get_state() -> tuple[int, int]:
    """(seed, counter): where the sequence stands. `set_state` continues from there."""
    return _seed, _counter


def set_state(state: tuple[int, int]) -> None:
    global _seed, _counter
    _seed, _counter = state


def take(blocks: int) -> tuple[int, int]:
    """(seed, first counter) of the next `blocks` blocks of 128 bits, which are then used up."""
    global _counter
    start, _counter = _counter, _counter + blocks
    return _seed, start


def bits(count: int, seed: int, counter: int) -> Buffer:
    """`count` random uint32, from the block `counter` on."""
    out = Buffer.empty(count, uint32)
    run = registry.kernel("random_bits", uint32)
    run(registry.Operand(out, (count,), (1,), 0), seed=seed, counter=counter)
    return out


def permutation(n: int, seed: int, round: int = 0) -> list[int]:
    """0 to n - 1 in an order that depends on (seed, round) alone: round is the epoch, say."""
    keys, order = bits(n, seed, _PERMUTATIONS + (round << 32)), Buffer.empty(n, int64)
    whole = [registry.Operand(buf, (n,), (1,), 0) for buf in (order, keys)]
    registry.kernel("argsort", uint32)(*whole, axis=0, descending=0)
    return order.tolist()
