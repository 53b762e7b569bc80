"""Random numbers: one counter-based generator, with the same numbers on every backend.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3") maps
(seed, counter) to a block of 128 random bits. The same seed and counter always give the same bits,
on any machine. A process has one stream: two cells in memory, the seed and the counter, passed to
every kernel that draws. The kernel starts at the block numbered by the counter and advances the
counter, so the same call, repeated, draws the next numbers.
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
_PERMUTATIONS = 1 << 63  # permutations count from here, far from the blocks that fill tensors
_DERIVED = 1 << 62  # the seeds of derived streams count from here


class Stream:
    """A sequence of random numbers; the cells `seed` and `counter` are its position."""

    __slots__ = ("buf", "cells")

    def __init__(self, seed: int, counter: int = 0) -> None:
        self.buf = Buffer.empty(2, uint64)
        self.cells = tuple(Operand(self.buf, (), (), i) for i in range(2))
        self.state = seed, counter

    @property
    def state(self) -> tuple[int, int]:
        """(seed, counter), read or written atomically."""
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
        """Fill `out`, advancing by one block for each `per_block` of its numbers."""
        blocks = -(-math.prod(out.shape) // per_block)
        engine.call(kernel, out.buf.dtype, out, *self.cells, blocks=blocks)


class _Process:
    """The stream of the process; None until the first number is drawn."""

    stream: Stream | None = None


_process = _Process()


class Derived:
    """A separate stream for every (seed, *numbers), all of them integers of 0 or more. Its seed is
    derived from their random bits when the first number is drawn."""

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
redirection = _own.variable  # None if nothing redirects; also read by C++ (programs/shortcut.py)


def drawing_from(own: Stream | Derived, function: Callable[..., T], *args: Any) -> T:
    """Run `function(*args)` with this thread drawing from `own`; the stream of the process does not
    advance. So a batch prepared in another thread does not affect the numbers of the step that runs
    meanwhile."""
    result: T = _own.during(own, function, *args)
    return result


def redirected() -> bool:
    """Does this thread currently draw from another stream than the process's?"""
    return _own.variable.get() is not None and _own.get() is not None


def stream() -> Stream:
    """The stream that all numbers are drawn from; seeded by the system unless a seed was set."""
    if _own.variable.get() is not None and (own := _own.get()) is not None:
        return own if isinstance(own, Stream) else own.stream()
    found = _process.stream
    if found is None:
        exchange((_process,), "stream", (None,), (Stream(int.from_bytes(os.urandom(8))),))
        return stream()
    return found


@spelled
def manual_seed(seed: int) -> None:
    """Restart the sequence of random numbers from `seed`, an integer from 0 to 2**64 - 1.

    Without it, every process draws different numbers, as its first seed comes from the system.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise NumberRangeError(
            f"manual_seed({seed!r})", "a seed is a whole number of 64 bits", "use 0 to 2**64 - 1"
        )
    stream().state = seed, 0


def seed() -> int:
    """Restart the sequence from a seed drawn by the system; returns that seed."""
    drawn = int.from_bytes(os.urandom(8))
    manual_seed(drawn)
    return drawn


def initial_seed() -> int:
    """The seed of the current sequence: `manual_seed` with it repeats the same numbers."""
    return stream().state[0]


def get_state() -> tuple[int, int]:
    """(seed, counter): the position in the sequence. `set_state` continues from there."""
    return stream().state


def set_state(state: tuple[int, int]) -> None:
    """Continue from `state`, a result of `get_state`. NumberRangeError for an invalid state."""
    whole = isinstance(state, tuple) and len(state) == 2 and {*map(type, state)} == {int}
    if not whole or not all(0 <= number < 2**64 for number in state):
        raise NumberRangeError(
            f"set_state({state!r:.60})",
            "a state is a pair of whole numbers of 64 bits, a seed and a counter",
            "give what get_state() returned",
        )
    stream().state = state


def say_seed() -> None:
    """With TUTOR_DEBUG, print at exit the seed that reproduces the same numbers."""
    if _process.stream is not None:
        print(f"tutor: random numbers: seed {initial_seed()}", file=sys.stderr)


def bits(count: int, seed: int, counter: int) -> Buffer:
    """`count` random uint32, starting at block `counter` (modulo 2**64)."""
    out = Buffer.empty(count, uint32)
    Stream(seed, counter % 2**64).draw("random_bits", Operand(out, (count,), (1,), 0), 4)
    return out


def permutation(n: int, seed: int, round: int = 0) -> list[int]:
    """0 to n - 1 in a random order that depends only on (seed, round); round may be the epoch."""
    return permuted(n, seed, round).tolist()


def permuted(n: int, seed: int, round: int = 0) -> Buffer:
    """`permutation` as a Buffer of int64, without creating Python numbers."""
    keys, order = bits(n, seed, _PERMUTATIONS + (round << 32)), Buffer.empty(n, int64)
    whole = [Operand(buf, (n,), (1,), 0) for buf in (order, keys)]
    engine.call("argsort", uint32, *whole, axis=0, descending=0)
    return order
