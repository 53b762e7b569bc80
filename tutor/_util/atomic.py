"""Atomic operations: several changes as if at one instant.

Between any two bytecodes an interrupt (Ctrl-C, an alarm) may end a function, and another thread may
run. Within one call of a C function neither can happen.
"""

from __future__ import annotations

import gc
import os
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from itertools import chain, repeat
from operator import add, attrgetter, call, is_, mod
from time import sleep
from typing import Any

_call: Callable[[Any], Any] = call


def exchange(owners: Sequence[Any], name: str, old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Compare and swap: set each owner's attribute `name` to `new`, if all are still `old`.

    Returns True if all were set. If none was, False: the caller reads them again and retries. The
    attributes must be plain ones, stored in slots or in `__dict__`.

        >>> from types import SimpleNamespace
        >>> a, b = SimpleNamespace(n=1), SimpleNamespace(n=2)
        >>> exchange((a, b), "n", (1, 2), (10, 20)), a.n, b.n
        (True, 10, 20)
        >>> exchange((a, b), "n", (10, 2), (11, 22)), a.n, b.n
        (False, 10, 20)
    """
    unchanged = map(is_, map(attrgetter(name), owners), old)
    are_set = map(is_, map(setattr, owners, repeat(name), new), repeat(None))  # setattr's result
    return all(chain(unchanged, are_set))  # one C call, which stops at the first False


def advance(numbers: memoryview, index: int, by: int) -> int:
    """Fetch and add: add `by` to the uint64 at `index`, modulo 2**64, and return its old value.

    Several threads that do so each get a different number.

        >>> from array import array
        >>> place = memoryview(array("Q", [7, 2**64 - 1]))
        >>> advance(place, 1, 3), advance(place, 1, 3), place.tolist()
        (18446744073709551615, 2, [7, 5])
    """
    before: list[int] = []
    is_read = map(before.append, map(numbers.__getitem__, (index,)))
    sums = map(mod, map(add, before, (by,)), (2**64,))  # lazily, after the read
    is_written = map(numbers.__setitem__, (index,), sums)
    # Not in between, either: a garbage collection, whose finalizers may let another thread run.
    pause, resume = (gc.disable, gc.enable) if gc.isenabled() else (int, int)
    any(chain(map(_call, (pause,)), is_read, is_written, map(_call, (resume,))))  # one C call
    return before[0]


def at_once(*calls: Callable[[], Any]) -> None:
    """Make the calls in order, as one. If they are C functions, no interrupt comes between them,
    nor another thread unless one of them releases the GIL. An error ends the sequence.

        >>> from functools import partial
        >>> done = []
        >>> at_once(partial(done.append, 1), partial(done.append, 2))
        >>> done
        [1, 2]
    """
    deque(map(_call, calls), maxlen=0)


class Turns:
    """Mutual exclusion: `turns.take(function)` calls it when no other thread is in its turn.

    A reentrant lock that no interrupt leaves locked: only one thread at a time can enter a Context,
    and C code leaves it however the call ends.

        >>> turns, order = Turns(), []
        >>> turns.take(lambda: (order.append(1), turns.take(lambda: order.append(2))))
        >>> order
        [1, 2]
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):  # Windows does not fork
            os.register_at_fork(after_in_child=self._forget)  # the owner is not in the child

    def _forget(self) -> None:
        self.context, self.holder = Context(), 0

    def take(self, function: Callable[[], object]) -> None:
        """Call the function; without waiting if this thread already has the turn."""
        me, begun = get_ident(), list[None]()
        calls = (
            partial(setattr, self, "holder", me),
            partial(begun.append, None),
            partial(copy_context().run, function),
        )
        while not begun:
            try:
                self.context.run(deque[Any], map(_call, calls), 0)
            except RuntimeError:  # another thread is in it; or the function raised it
                if begun:
                    raise
            if not begun and self.holder == me:
                begun.append(None)
                function()
            elif not begun:
                sleep(0.0002)
