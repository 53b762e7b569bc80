"""Changing several attributes as if at one instant.

Between any two bytecodes an interrupt (Ctrl-C, an alarm) may end a function, and another thread may
take its turn. Within one call of a function written in C neither can happen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from operator import add, attrgetter, call, is_, mod
from typing import Any


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
    deque(map(call, calls), maxlen=0)
