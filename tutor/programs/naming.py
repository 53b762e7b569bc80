"""Naming: which attributes count of what a walk reaches (captured_state.py).

Code that is reached names attributes, these lead to more code, and that names more attributes, also
of objects that were reached before. Starting over with all names, until there are no more, would
look at everything once for each level of a model. The walk continues instead: it looks again only
at what may have an attribute with a new name.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import Any

from tutor.programs.guards import dict_of
from tutor.programs.kinds import NOT_CALLED, functions_of, slots_of
from tutor.programs.ran import Ran, is_ours

MOST = 10000  # objects in one walk
Reach = tuple[Any, str]  # something that is reached, and how a person would write it


def identity(value: Any) -> Any:
    """What tells a value from all others that are there: a method is a new object each time."""
    if isinstance(value, types.MethodType):
        return id(value.__func__), id(value.__self__)
    return id(value)


def is_from_ours(kind: type) -> bool:
    """Is it a class of tutor's, or derived from one?"""
    return any(is_ours(base.__module__) for base in kind.__mro__)


class Known:
    """The names that `reached`, a Reached, has found so far."""

    def __init__(self, reached: Any) -> None:
        self.reached = reached
        self.libraries, self.anywhere = set(reached.in_libraries), set(reached.anywhere)
        self.of = {i: len(names) for i, names in reached.named.items()}
        self.by_text, self.whole = reached.by_text, set(reached.whole)

    def concerned(self, objects: Iterable[tuple[Any, str, bool]]) -> list[tuple[Any, str, bool]]:
        """Those that may have an attribute of a name that has been found since."""
        now = self.reached
        new = (now.anywhere - self.anywhere) | (now.in_libraries - self.libraries)
        own = {i for i, names in now.named.items() if len(names) != self.of.get(i, 0)}
        own |= now.whole - self.whole
        if now.by_text != self.by_text:
            return [*objects]
        if not (new or own):
            return []
        kinds: dict[type, bool] = {}  # have they or their metaclass a member of such a name?
        found = []
        for each in objects:
            value = each[0]
            kind: type = value if isinstance(value, type) else type(value)
            if kind not in kinds:
                bases = [*type.mro(kind), *type.mro(type(kind))]
                kinds[kind] = any(not new.isdisjoint(vars(base)) for base in bases)
            own_names = (dict_of(value) or {}).keys()
            if kinds[kind] or not own.isdisjoint((id(value), id(kind))) or own_names & new:
                found.append(each)
        return found


class Table:
    """What stands in a class, as a walk needs it."""

    def __init__(self, base: type, ran: Ran) -> None:
        self.slots = [*slots_of(base)]
        self.rows = {name: (member, functions_of(member)) for name, member in vars(base).items()}
        inside = {name: functions for name, (_, functions) in self.rows.items() if functions}
        runs = {name for name, each in inside.items() if any(f.__code__ in ran for f in each)}
        special = {name for name in inside if name.startswith("__")}
        self._always = {True: runs | special, False: runs | (special - NOT_CALLED)}
        self._picked: dict[Any, dict[str, None]] = {}
        self.named: set[str] = set()  # of its objects
        self.every = False  # is an attribute of one of them named by a text?

    def picked(
        self, mine: set[str], names: Collection[set[str]], every: bool, alone: bool
    ) -> list[str]:
        """The names in it that count: of an object whose names are `mine`, or of the class `alone`;
        `names`, which never become fewer, are those that count of each."""
        key = alone, every, *map(len, names)
        if key not in self._picked:
            wanted = self._always[alone].union(*[self.rows.keys() & each for each in names])
            wanted.update(name for name in self.rows if every and not name.startswith("__"))
            self._picked[key] = {name: None for name in self.rows if name in wanted}
        found = self._picked[key]
        return [*found, *sorted((self.rows.keys() & mine) - found.keys())]
