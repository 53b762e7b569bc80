"""Changing several attributes as if at one instant.

Between any two bytecodes an interrupt (Ctrl-C, an alarm) may end a function, and another thread may
take its turn. Within one call of a function written in C neither can happen.
"""

from __future__ import annotations

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
    """Give each owner's attribute `name` its `new` value, if all of them still are the `old` ones.

    Either all are set, and it is true, or none. Who gets False reads them again and tries again:
    "compare and swap". The attributes must be plain ones, kept in slots or in `__dict__`.

        >>> from types import SimpleNamespace
        >>> a, b = SimpleNamespace(n=1), SimpleNamespace(n=2)
        >>> exchange((a, b), "n", (1, 2), (10, 20)), a.n, b.n
        (True, 10, 20)
        >>> exchange((a, b), "n", (10, 2), (11, 22)), a.n, b.n
        (False, 10, 20)
    """
    unchanged = map(is_, map(attrgetter(name), owners), old)
    are_set = map(is_, map(setattr, owners, repeat(name), new), repeat(None))  # as setattr returns
    return all(chain(unchanged, are_set))  # `all` stops at the first False, and it is the one call


def advance(numbers: memoryview, index: int, by: int) -> int:
    """Add `by` to one of some uint64 in memory, modulo 2**64, and return what it was.

    Of several threads that do so each gets another number: "fetch and add".

        >>> from array import array
        >>> place = memoryview(array("Q", [7, 2**64 - 1]))
        >>> advance(place, 1, 3), advance(place, 1, 3), place.tolist()
        (18446744073709551615, 2, [7, 5])
    """
    before: list[int] = []
    is_read = map(before.append, map(numbers.__getitem__, (index,)))
    sums = map(mod, map(add, before, (by,)), (2**64,))  # of `before`, as it is when it is asked
    any(chain(is_read, map(numbers.__setitem__, (index,), sums)))  # `any` is the one call
    return before[0]


def at_once(*calls: Callable[[], Any]) -> None:
    """Make the calls, one after another, as one: of functions written in C, no interrupt comes
    between them, and no other thread unless one of them lets it. An error ends it.

        >>> from functools import partial
        >>> done = []
        >>> at_once(partial(done.append, 1), partial(done.append, 2))
        >>> done
        [1, 2]
    """
    deque(map(_call, calls), maxlen=0)


class Turns:
    """One thread at a time: `turns.take(function)` calls it when nobody else is at theirs.

    A lock that no interrupt leaves locked. A Context can be entered by one at a time, and is left,
    in C, however that ends.

        >>> turns, order = Turns(), []
        >>> turns.take(lambda: (order.append(1), turns.take(lambda: order.append(2))))
        >>> order
        [1, 2]
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):  # Windows does not fork
            os.register_at_fork(after_in_child=self._forget)  # whose turn it was is not there

    def _forget(self) -> None:
        self.context, self.holder = Context(), 0

    def take(self, function: Callable[[], object]) -> None:
        """Call the function; at once, if this thread is in its turn already."""
        me, begun = get_ident(), list[None]()
        calls = (
            partial(setattr, self, "holder", me),
            partial(begun.append, None),
            partial(copy_context().run, function),
        )
        while not begun:
            try:
                self.context.run(deque[Any], map(_call, calls), 0)
            except RuntimeError:  # somebody is in it; or it is the function's own
                if begun:
                    raise
            if not begun and self.holder == me:
                begun.append(None)
                function()
            elif not begun:
                sleep(0.0002)
