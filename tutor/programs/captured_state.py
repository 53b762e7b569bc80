"""Places: where a function finds its state, and which parts of it must be unchanged.

A jitted function is recorded once and then replayed, so everything it reads besides its arguments
must be known: a model's parameters, an optimizer's cells, a flag, a number in a closure. They are
found by walking from the function to everything that its code names (code_names.py):

- globals, variables of enclosing functions, modules that it imports, and defaults;
- the attributes of an object that the code names, `self.model.layers`; if the object is not known,
  as for `layer.weight` in a loop, the attributes of that name on every object found. A missing
  attribute counts as well, since it may be set later;
- containers as a whole (kinds.py);
- the methods that the code names, special methods (__names__), and whatever these name in turn.

Once we know which code ran (ran.py), only that code is read for names. Objects that are reached but
of a kind that cannot be compared are `unknown`. tutor's own code is read for names as well, except
its globals. Attributes named by a string (`getattr`, `vars`) make all attributes count.
"""

from __future__ import annotations

import builtins
import enum
import functools
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import ref

from tutor.core.buffer import Buffer
from tutor.methods.tensor import Tensor
from tutor.programs.code_names import AROUND, GLOBAL, MODULE, NameChain, codes, mentions
from tutor.programs.guards import (
    MISSING,
    Content,
    Keys,
    Members,
    StatePlace,
    Thing,
    dict_of,
    hooks_of,
    keys_of,
    shown_key,
    standing,
)  # fmt: skip
from tutor.programs.kinds import (
    CONTAINERS,
    FIXED,
    contents,
    functions_of,
    inner,
    is_plain,
    is_trusted,
    why_unknown,
)  # fmt: skip
from tutor.programs.naming import MOST, ClassTable, Known, Reach, identity, is_from_ours, nameless
from tutor.programs.ran import UNSEEN, Ran, is_ours, is_users, module_of

IMMUTABLE = 1 << 8  # CPython's type flag: the class's attributes cannot be set


class Reached:
    """Everything that a walk from `roots` has found. Outside tutor, the walk reads the code that
    `ran` and, unless `only`, the code that may run: the user's."""

    def __init__(self, roots: Iterable[Reach], ran: Ran | None = None, only: bool = False) -> None:
        self.ran, self.only = ran or Ran(), only
        self.named: dict[int, set[str]] = defaultdict(set)  # attribute names by an object's id
        self.anywhere: set[str] = set()  # attribute names of unknown objects
        self.in_libraries: set[str] = set()  # the same, from tutor's code
        self.by_text, self.objects = False, 0  # objects: those in `seen` that are no methods
        self.whole: set[int] = set()  # ids of layers whose attributes are named by a string
        # The findings, by the id of the object concerned; a place also by its key.
        self.places: dict[tuple[int, Any], StatePlace] = {}
        self.keys: dict[int, Keys] = {}
        self.things: dict[int, Thing] = {}
        self.contents: dict[int, Content] = {}
        self.members: dict[type, Members] = {Tensor: Members.of(Tensor)}  # of tutor's classes
        self.tensors: dict[int, Tensor] = {}
        self.buffers: list[Buffer] = []
        self.codes: set[int] = set()  # ids of all code that was read
        self.unknown: dict[str, str] = {}  # paths that cannot be compared, and why
        self.seen: dict[Any, Any] = {}  # kept alive, so that no id is reused
        self.ways: Counter[int] = Counter()  # paths to each Tensor, by its id
        self._trusted: set[Any] = set()  # containers reached from tutor's objects only
        self._with_names: list[tuple[Any, str, bool]] = []  # may get more names
        self._read: set[tuple[types.FunctionType, bool]] = set()
        self._table = functools.cache(functools.partial(ClassTable, ran=self.ran))  # of a class
        unseen = [(*root, False) for root in roots]
        while unseen:
            known = Known(self)
            self._walk(unseen)
            for value, path, trusted in known.concerned(self._with_names):
                trusted = is_trusted(value, trusted)
                unseen += [(*reach, trusted) for reach in self._by_names(value, path)]

    def is_named(self, attribute: str) -> bool:
        """May the user's code read the attribute of that name on any object?"""
        names = (self.anywhere, *self.named.values())
        return self.by_text or any(attribute in each for each in names)

    def _walk(self, unseen: list[tuple[Any, str, bool]]) -> None:
        while unseen:
            value, path, trusted = unseen.pop()
            if type(value) in FIXED or value is MISSING:
                continue
            if not trusted and (why := why_unknown(value)):
                self.unknown.setdefault(path, why)
            key, found = identity(value), list[Reach]()
            if isinstance(value, Tensor):
                self.ways[key] += 1
            if self.objects > MOST:
                self.unknown = {path: f"is one of more than {MOST} objects that are reached"}
                self._with_names.clear()
                return unseen.clear()
            if key not in self.seen:
                self.seen[key] = value
                self.objects += not isinstance(value, types.MethodType)  # every object has many
                found = [*self._step_from(value, path)]
                if not nameless(value):
                    self._with_names.append((value, path, trusted))
                    found += self._by_names(value, path)
                if trusted and isinstance(value, CONTAINERS):
                    self._trusted.add(key)
                trusted = is_trusted(value, trusted)
            elif key in self._trusted and not trusted:
                self._trusted.remove(key)
                found = [reach for reach in inner(value, path) if not isinstance(reach[0], Tensor)]
            unseen += [(*reach, trusted) for reach in found]

    def _step_from(self, value: Any, path: str) -> Iterator[Reach]:
        """Everything reached from `value` in one step, except attributes. Notes each place."""
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            yield from self._note(value, "_grad", value._grad, f"{path}.grad")
            yield from ((hook, path) for hook in hooks_of(value))
        elif isinstance(value, types.MethodType):
            yield value.__self__, path
            if isinstance(value.__func__, types.FunctionType):
                yield from self._function(value.__func__, path, value.__self__)
            else:
                yield value.__func__, path
        elif isinstance(value, Buffer):
            self.buffers.append(value)
        elif isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                yield from self._note(value, name, getattr(value, name), f"{path}.{name}")
        elif isinstance(value, types.FunctionType):
            yield from self._function(value, path)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if not isinstance(value.__self__, types.ModuleType):
                yield value.__self__, path
        elif isinstance(value, (property, staticmethod, classmethod)):
            yield from [(function, path) for function in functions_of(value)]
        elif not isinstance(value, (type, types.ModuleType)):
            yield from self._items(value, path)

    def _note(self, holder: Any, key: Any, value: Any, path: str) -> tuple[Reach, ...]:
        """The value in that place and its path; nothing if the place is already known."""
        at = id(holder), key
        if at in self.places and not isinstance(value, types.ModuleType):
            return ()
        self.places[at] = StatePlace(holder, key, value, path)
        return ((value, path),)

    def _items(self, value: Any, path: str) -> Iterator[Reach]:
        if (items := contents(value)) is None:
            return
        if isinstance(value, (dict, list)) and not isinstance(value, defaultdict):
            self.keys[id(value)] = Keys(value, keys_of(value), None, path)
            each = list(dict.items(value)) if isinstance(value, dict) else enumerate(items)
            for key, item in each:
                yield from self._note(value, key, item, f"{path}[{shown_key(key)}]")
                yield key, path
        else:
            if not isinstance(value, (tuple, frozenset)):
                self.contents[id(value)] = Content(value, items, path)
            yield from inner(value, path)

    # ---- code ------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str, bound: Any = None
                  ) -> Iterator[Reach]:  # fmt: skip
        """Everything that a function names; `bound` is the object of a method."""
        code, names = function.__code__, function.__globals__
        ours = is_ours(module := module_of(names))
        if not ours:
            may_run = not self.only and is_users(module)
            if not may_run and code not in self.ran:
                return
            self.codes.update(map(id, codes(code)))
            if module in UNSEEN:
                return
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                yield from self._note(function, name, getattr(function, name), f"{path}.{name}")
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        mine, others, by_text = mentions(code, bound is not None)
        for attributes in mine:
            yield from self._name(bound, attributes, path, ours)
        for chain in others if ours and cells else ():
            value = StatePlace(cells.get(chain.name), "cell_contents", None, "").get()
            if chain.kind == AROUND and callable(value):  # wrapped by a tutor decorator
                yield value if bound is None else types.MethodType(value, bound), path
        if bound is not None and module.startswith("tutor.nn.") and "getattr" in by_text:
            self.whole.add(id(bound))  # parameters named by a string
        if (function, bound is None) in self._read:
            return
        self._read.add((function, bound is None))
        self.by_text |= bool(by_text) and not ours
        for chain in others:
            kind, name, attributes = chain
            if not ours and (kind in (GLOBAL, MODULE) or name in cells):
                yield from self._root(chain, names, cells)
            elif not ours or name not in {GLOBAL: names, AROUND: cells}.get(kind, ()):
                (self.in_libraries if ours else self.anywhere).update(attributes)

    def _root(
        self, chain: NameChain, names: dict[str, Any], cells: dict[str, Any]
    ) -> Iterator[Reach]:
        """The root of a chain, and everything that it leads to."""
        kind, name, attributes = chain
        if kind == AROUND:
            value = StatePlace(cells[name], "cell_contents", None, name).get()
            found = self._note(cells[name], "cell_contents", value, name)
        elif kind == GLOBAL:
            for held in (names, vars(builtins)):
                value = held.get(name, MISSING)
                found = self._note(held, name, value, name)
                if value is not MISSING:
                    break
        else:
            levels = len(name) - len(name.lstrip("."))
            package = str(names.get("__package__") or "").split(".")
            parts = [*package[: len(package) + 1 - levels], name.lstrip(".")] if levels else [name]
            name = ".".join(filter(None, parts))
            value, root = sys.modules.get(name, MISSING), name.partition(".")[0]
            yield from self._note(sys.modules, name, value, name)
            found = self._note(sys.modules, root, sys.modules.get(root, MISSING), root)
            yield from found
        if not (isinstance(value, types.ModuleType) and attributes):
            yield from found
        yield from self._name(value, attributes, name, False)

    def _name(self, value: Any, attributes: Iterable[str], path: str, ours: bool
              ) -> Iterator[Reach]:  # fmt: skip
        """Note that `value.attribute.attribute` is named. In a module, only that is reached."""
        attributes = [*attributes]
        while attributes and not (value is MISSING or is_plain(value) or isinstance(value, Tensor)):
            attribute = attributes.pop(0)
            if isinstance(value, types.ModuleType):
                path = f"{path}.{attribute}"
                held = vars(value)
                value = held.get(attribute, MISSING)
                found = self._note(held, attribute, value, path)
                if not (isinstance(value, types.ModuleType) and attributes):
                    yield from found
            else:
                self.named[id(value)].add(attribute)
                value = standing(value, attribute) if attributes else MISSING
        (self.in_libraries if ours else self.anywhere).update(attributes)

    # ---- objects ---------------------------------------------------------------------------------

    def _by_names(self, value: Any, path: str) -> Iterator[Reach]:
        """Everything reached from a value by attribute names."""
        if isinstance(value, types.ModuleType):
            if not is_ours(value.__name__):
                yield from self._attributes(value, path)
        elif isinstance(value, type):
            if is_ours(value.__module__):
                self.members[value] = Members.of(value)
                return
            yield from self._class(value, None, path)
            if type(value) is not type:
                yield from self._class(type(value), value, path)
        elif isinstance(value, types.FunctionType):
            yield from self._attributes(value, path)
        else:
            wrapped = (dict_of(value) or {}).get("__wrapped__")
            yield wrapped, path
            if wrapped is None or not is_ours(type(value).__module__):  # else a jitted function
                yield from self._attributes(value, path)
                yield from self._class(type(value), value, path)

    def _all(self, value: Any) -> bool:
        return self.by_text or id(value) in self.whole

    def _attributes(self, value: Any, path: str) -> Iterator[Reach]:
        kind = None if isinstance(value, types.ModuleType) else type(value)
        mine = self.named[id(value)]
        names = (mine, self.anywhere, self.in_libraries if kind and is_from_ours(kind) else ())
        if isinstance(value, enum.Enum):
            mine |= {"_value_", "_name_"}
        every = self._all(value) and (kind is not None or is_users(value.__name__))
        attributes = dict_of(value)
        if kind is None and self._all(value) and not every:
            self.unknown[path] = "is a module, of which something may be read by a text"
        plain = kind is types.FunctionType and not (attributes or every or mine)
        if attributes is not None and not plain:
            for name, held in list(attributes.items()):
                runs = isinstance(held, types.FunctionType) and held.__code__ in self.ran
                counts = any(name in each for each in names) or (every and name[:2] != "__")
                if counts or runs:
                    yield from self._note(attributes, name, held, f"{path}.{name}")
            if kind is not None:
                keys = tuple(attributes)
                self.keys[id(attributes)] = Keys(attributes, keys, None if every else names, path)
        if kind in (None, types.FunctionType):
            return
        if kind is not ref:  # a Thing would replace a weakref by its referent; it has no attributes
            self.things[id(value)] = Thing(value, kind, attributes, path)
        for base in kind.__mro__:
            for slot in self._table(base).slots:
                if any(slot in each for each in names) or every:
                    held = StatePlace(value, slot, None, path).get()
                    yield from self._note(value, slot, held, f"{path}.{slot}")

    def _class(self, kind: type, of: Any, path: str) -> Iterator[Reach]:
        """The members of a class that count for the object `of`; None: instances may be created."""
        mine = self.named[id(kind)] | self.named[id(of)]
        every = self._all(of) or self._all(kind)
        self.things[id(kind)] = Thing(kind, None, kind.__mro__, path)
        names = [self.anywhere]
        if is_from_ours(kind):
            names.append(self.in_libraries)
            self.members[kind] = self.members.get(kind) or Members.of(kind)
        for base in kind.__mro__:
            if base.__flags__ & IMMUTABLE:
                continue
            table = self._table(base)
            table.named |= mine
            table.every |= every
            counts = None if table.every else (table.named, self.anywhere, self.in_libraries)
            if not is_ours(base.__module__):
                self.keys[id(base)] = Keys(base, tuple(table.rows), counts, base.__name__)
            for name in table.picked(mine, names, every, of is None):
                member, functions = table.rows[name]
                there = f"{base.__name__}.{name}"
                for function in functions:
                    if of is None or (id(function), id(of)) not in self.seen:
                        yield function if of is None else types.MethodType(function, of), there
                found: tuple[Reach, ...] = ((member, there),)
                if not is_ours(base.__module__):
                    found = self._note(base, name, member, there)
                if not isinstance(member, types.FunctionType):
                    yield from found
