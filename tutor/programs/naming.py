"""Naming: which attributes count on the objects that a walk reaches (captured_state.py).

Code that is reached names attributes, these lead to more code, and that code names more attributes,
also of objects reached earlier. Restarting with all names until no new ones appear would visit
everything once for each level of a model. Instead the walk continues, and revisits only objects
that may have an attribute with a new name.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import Any

from tutor.methods.tensor import Tensor
from tutor.programs.guards import dict_of
from tutor.programs.kinds import CONTAINERS, NAMELESS, NOT_CALLED, functions_of, slots_of
from tutor.programs.ran import Ran, is_ours

MOST = 10000  # objects in one walk, their methods not counted
Reach = tuple[Any, str]  # a reached value, and its path as a person would write it


def identity(value: Any) -> Any:
    """A key for a live value: its id; for a method (a new object each time) its parts' ids."""
    if isinstance(value, types.MethodType):
        return id(value.__func__), id(value.__self__)
    return id(value)


def is_from_ours(kind: type) -> bool:
    """Is it a tutor class, or derived from one?"""
    return any(is_ours(base.__module__) for base in kind.__mro__)


def nameless(value: Any) -> bool:
    """Does no code read attributes of it that matter? A Tensor of a class of tutor's has only those
    that Guards compares."""
    is_walk = isinstance(value, Tensor) and is_ours(type(value).__module__)
    return is_walk or type(value) in CONTAINERS or isinstance(value, NAMELESS)


class Known:
    """The names that `reached`, a Reached, has found so far."""

    def __init__(self, reached: Any) -> None:
        self.reached = reached
        self.libraries, self.anywhere = set(reached.in_libraries), set(reached.anywhere)
        self.of = {i: len(names) for i, names in reached.named.items()}
        self.by_text, self.whole = reached.by_text, set(reached.whole)

    def concerned(self, objects: Iterable[tuple[Any, str, bool]]) -> list[tuple[Any, str, bool]]:
        """The objects that may have an attribute whose name has been found since."""
        now = self.reached
        new = (now.anywhere - self.anywhere) | (now.in_libraries - self.libraries)
        own = {i for i, names in now.named.items() if len(names) != self.of.get(i, 0)}
        own |= now.whole - self.whole
        if now.by_text != self.by_text:
            return [*objects]
        if not (new or own):
            return []
        kinds: dict[type, bool] = {}  # does the class or its metaclass have such a member?
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


class ClassTable:
    """The contents of a class, in the form that a walk needs."""

    def __init__(self, base: type, ran: Ran) -> None:
        self.slots = [*slots_of(base)]
        self.rows = {name: (member, functions_of(member)) for name, member in vars(base).items()}
        inside = {name: functions for name, (_, functions) in self.rows.items() if functions}
        runs = {name for name, each in inside.items() if any(f.__code__ in ran for f in each)}
        special = {name for name in inside if name.startswith("__")}
        self._always = {True: runs | special, False: runs | (special - NOT_CALLED)}
        self._picked: dict[Any, dict[str, None]] = {}
        self.named: set[str] = set()  # of its objects
        self.every = False  # is an attribute of one of them named by a string?

    def picked(
        self, mine: set[str], names: Collection[set[str]], every: bool, alone: bool
    ) -> list[str]:
        """The names in the class that count: for an object whose names are `mine`, or for the class
        `alone`. The names in `names`, which only grow, count for every object."""
        key = alone, every, *map(len, names)
        if key not in self._picked:
            wanted = self._always[alone].union(*[self.rows.keys() & each for each in names])
            wanted.update(name for name in self.rows if every and not name.startswith("__"))
            self._picked[key] = {name: None for name in self.rows if name in wanted}
        found = self._picked[key]
        return [*found, *sorted((self.rows.keys() & mine) - found.keys())]
