"""Randomness: one counter-based generator, the same numbers on every backend.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") turns
(seed, counter) into 128 random bits. The same seed and counters give the same bits whenever and
wherever they are asked. The process has one stream of them: two cells in memory, the seed and the
counter, which every kernel that draws is handed. It begins at the block that the counter names, and
moves the counter on: so the same call, made again, gives the next numbers.
"""

from __future__ import annotations

import math
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tutor._storage import bounds_checks
from tutor._util.atomic import exchange
from tutor._util.context_settings import Setting
from tutor._util.keyword_aliases import spelled
from tutor._util.typing import Walked
from tutor.backends.registry import Operand
from tutor.core.buffer import Buffer
from tutor.core.engine import engine
from tutor.dtype import int64, uint32, uint64
from tutor.errors import NumberRangeError

T = TypeVar("T")
WHERE = "where the random numbers stand"
_PERMUTATIONS = 1 << 63  # permutations count from here, far from what tensors are filled with
_DERIVED = 1 << 62  # and the seeds of other streams from here


class Stream:
    """Random numbers, one after another: the cells `seed` and `counter` say where it stands."""

    __slots__ = ("buf", "cells")

    def __init__(self, seed: int, counter: int = 0) -> None:
        self.buf = Buffer.empty(2, uint64)
        self.cells = tuple(Operand(self.buf, (), (), i) for i in range(2))
        self.state = seed, counter

    @property
    def state(self) -> tuple[int, int]:
        """(seed, counter), both read, or written, as if at one instant."""
        payload = bounds_checks.numbers(self.buf, WHERE).tobytes()
        seed, counter = struct.unpack("QQ", payload)
        return seed, counter

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        bounds_checks.opened(WHERE)
        try:
            self.buf.raw[:] = struct.pack("QQ", *state)
        except (struct.error, TypeError):
            raise NumberRangeError(
                f"a Stream at {state!r:.60}",
                "a state is a pair of whole numbers of 64 bits, a seed and a counter",
                "use numbers from 0 to 2**64 - 1",
            ) from None

    def draw(self, kernel: str, out: Walked, per_block: int) -> None:
        """Fill `out`, moving on by a block for each `per_block` of its numbers."""
        blocks = -(-math.prod(out.shape) // per_block)
        engine.call(kernel, out.buf.dtype, out, *self.cells, blocks=blocks)


class _Process:
    """The stream of the process; None until the first number is asked for."""

    stream: Stream | None = None


_process = _Process()


class Derived:
    """A stream of its own for every (seed, *numbers), each of them a whole number from 0 on: its
    seed is made of random bits of theirs, when the first number is asked for."""

    __slots__ = ("made", "numbers", "seed")

    def __init__(self, seed: int, *numbers: int) -> None:
        self.seed, self.numbers = seed, numbers
        self.made: Stream | None = None

    def stream(self) -> Stream:
        """The Stream itself; the same one each time."""
        if self.made is None:
            seed = self.seed
            for number in self.numbers:
                seed = int.from_bytes(bits(2, seed, _DERIVED + number).raw, "little")
            self.made = Stream(seed)
        return self.made


_own: Setting[Stream | Derived | None] = Setting("tutor.random.own", None)
redirection = _own.variable  # None where nothing redirects; C++ asks it (programs/shortcut.py)


def drawing_from(own: Stream | Derived, function: Callable[..., T], *args: Any) -> T:
    """`function(*args)`, in which what this thread draws comes from `own`, and the stream of the
    process stands still: a batch that is made ahead, in another thread, changes no number of the
    step that runs meanwhile."""
    result: T = _own.during(own, function, *args)
    return result


def redirected() -> bool:
    """Whether this thread draws from another stream than the process's just now."""
    return _own.variable.get() is not None and _own.get() is not None


def stream() -> Stream:
    """The stream that everything is drawn from; its seed is the system's, unless one was given."""
    if _own.variable.get() is not None and (own := _own.get()) is not None:
        return own if isinstance(own, Stream) else own.stream()
    found = _process.stream
    if found is None:
        exchange((_process,), "stream", (None,), (Stream(int.from_bytes(os.urandom(8))),))
        return stream()
    return found


@spelled
def manual_seed(seed: int) -> None:
    """Start the sequence of random numbers anew; `seed` is a whole number of up to 64 bits.

    Without it, every process draws other numbers: its first seed comes from the system.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise NumberRangeError(
            f"manual_seed({seed!r})", "a seed is a whole number of 64 bits", "use 0 to 2**64 - 1"
        )
    stream().state = seed, 0


def seed() -> int:
    """Start the sequence anew, from a seed that the system draws; returns that seed."""
    drawn = int.from_bytes(os.urandom(8))
    manual_seed(drawn)
    return drawn


def initial_seed() -> int:
    """The seed that the sequence began with: give it to `manual_seed` to see the same numbers."""
    return stream().state[0]


def get_state() -> tuple[int, int]:
    """(seed, counter): where the sequence stands. `set_state` continues from there."""
    return stream().state


def set_state(state: tuple[int, int]) -> None:
    """Go on from `state`, which `get_state` gave. NumberRangeError for what is no such thing."""
    whole = isinstance(state, tuple) and len(state) == 2 and {*map(type, state)} == {int}
    if not whole or not all(0 <= number < 2**64 for number in state):
        raise NumberRangeError(
            f"set_state({state!r:.60})",
            "a state is a pair of whole numbers of 64 bits, a seed and a counter",
            "give what get_state() returned",
        )
    stream().state = state


def say_seed() -> None:
    """With TUTOR_DEBUG, at the end: what has to be given to see the same numbers again."""
    if _process.stream is not None:
        print(f"tutor: random numbers: seed {initial_seed()}", file=sys.stderr)


def bits(count: int, seed: int, counter: int) -> Buffer:
    """`count` random uint32, from the block `counter` (modulo 2**64) on."""
    out = Buffer.empty(count, uint32)
    Stream(seed, counter % 2**64).draw("random_bits", Operand(out, (count,), (1,), 0), 4)
    return out


def permutation(n: int, seed: int, round: int = 0) -> list[int]:
    """0 to n - 1 in an order that depends on (seed, round) alone: round is the epoch, say."""
    return permuted(n, seed, round).tolist()


def permuted(n: int, seed: int, round: int = 0) -> Buffer:
    """`permutation` as a Buffer of int64: the numbers become no Python objects."""
    keys, order = bits(n, seed, _PERMUTATIONS + (round << 32)), Buffer.empty(n, int64)
    whole = [Operand(buf, (n,), (1,), 0) for buf in (order, keys)]
    engine.call("argsort", uint32, *whole, axis=0, descending=0)
    return order
