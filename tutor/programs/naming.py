"""Naming: which names count, before it is noted what is reached (captured_state.py).

Code that is reached names attributes, these lead to more code, and that names more attributes, also
of objects that were reached before. Starting over with all names, until there are no more, would
look at everything once for each level of a model. This walk continues: it looks again only at what
may have an attribute with a new name.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from tutor.methods.tensor import Tensor
from tutor.programs.guards import MISSING, dict_of
from tutor.programs.kinds import CONTAINERS, FIXED

MOST = 10000  # objects in one walk
Reach = tuple[Any, str]  # something that is reached, and how a person would write it


def identity(value: Any) -> Any:
    """What tells a value from all others that are there: a method is a new object each time."""
    if isinstance(value, types.MethodType):
        return id(value.__func__), id(value.__self__)
    return id(value)


def how_many(reached: Any) -> int:
    """How many names count, each of an object by itself; what is named by a text is one more."""
    known = len(reached.whole) + len(reached.anywhere) + len(reached.in_libraries) + reached.by_text
    return int(known + sum(map(len, reached.named.values())))


class Known:
    """The names that a walk has found so far."""

    def __init__(self, reached: Any) -> None:
        self.libraries = set(reached.in_libraries)
        self.anywhere = set(reached.anywhere)
        self.of = {i: len(names) for i, names in reached.named.items()}
        self.by_text, self.whole = reached.by_text, set(reached.whole)


def find_names(reached: Any, roots: Iterable[Reach]) -> dict[Any, Any]:
    """Let `reached`, a Reached, know all names that count. Returns all that was looked at."""
    seen: dict[Any, Any] = {}
    named: list[Reach] = []  # those of which attributes count by their names
    members: dict[type, frozenset[str]] = {}
    unseen = list(roots)
    while True:
        before = Known(reached)
        while unseen:
            value, path = unseen.pop()
            kind = type(value)
            if kind in FIXED or value is MISSING or (key := identity(value)) in seen:
                continue
            if len(seen) > MOST:
                return seen
            seen[key] = value
            if not (kind is Tensor or kind in CONTAINERS or kind is types.MethodType):
                named.append((value, path))
            unseen.extend(reached.step_from(value, path))
        now = Known(reached)
        new = (now.anywhere - before.anywhere) | (now.libraries - before.libraries)
        own = {i for i, count in now.of.items() if count != before.of.get(i, 0)}
        own |= now.whole - before.whole
        every = now.by_text != before.by_text
        if not (new or own or every):
            return seen
        for value, path in named.copy():
            if every or is_concerned(value, new, own, members):
                unseen.extend(reached.step_from(value, path))


def is_concerned(
    value: Any, new: set[str], own: set[int], members: dict[type, frozenset[str]]
) -> bool:
    """May a value have an attribute of one of the `new` names? `own`: the ids of those that were
    named themselves. `members` keeps what is in classes."""
    kind: type = value if isinstance(value, type) else type(value)
    if id(value) in own or id(kind) in own:
        return True
    attributes = dict_of(value)
    if attributes is not None and not attributes.keys().isdisjoint(new):
        return True
    if kind not in members:
        bases = [*type.mro(kind), *type.mro(type(kind))]
        members[kind] = frozenset([name for base in bases for name in vars(base)])
    return not members[kind].isdisjoint(new)
