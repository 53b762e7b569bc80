"""Places: where a function finds its state, and what of it has to be as it was.

A jitted function is recorded once and then replayed, so whatever it reads beside its arguments must
be known: a model's parameters, an optimizer's cells, a flag, a number in a closure. Nobody lists
these; they are found, by walking from the function to all that its code names (code_names.py):

- globals, variables of functions around it, modules that it imports, and defaults;
- of an object the attributes that are named, `self.model.layers`; where it is not known of which
  object, `layer.weight` in a loop, those of that name wherever one is found. A name that is not
  there counts, too: it may be there later;
- containers as a whole (kinds.py);
- the methods that are named, and those with __names__; and so on from them.

Once it is known what code ran (ran.py), that alone is read for names. What is reached and is of a
kind that cannot be compared is `unknown`. tutor's own code is read for what it names, but for its
globals. Attributes that are named by a text (`getattr`, `vars`) make all attributes count.
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
from tutor.programs.code_names import AROUND, BY_TEXT, GLOBAL, MODULE, Chain, chains, codes
from tutor.programs.guards import (
    MISSING,
    Content,
    Keys,
    Members,
    Place,
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
    NOT_CALLED,
    contents,
    functions_of,
    inner,
    is_trusted,
    slots_of,
    why_unknown,
)  # fmt: skip
from tutor.programs.naming import MOST, Reach, find_names, how_many, identity
from tutor.programs.ran import UNSEEN, Ran, is_ours, is_users, module_of

IMMUTABLE = 1 << 8  # of a class, in C: nobody can set its attributes


class Reached:
    """All that a walk from `roots` has found. Of code that is not tutor's, that counts which `ran`,
    and, but for `only`, what may run: the user's."""

    def __init__(self, roots: Iterable[Reach], ran: Ran | None = None, only: bool = False) -> None:
        self.ran, self.only = ran or Ran(), only
        roots = list(roots)
        self.named: dict[int, set[str]] = defaultdict(set)  # by an object's id: its attributes
        self.anywhere: set[str] = set()  # attributes of objects that are not known
        self.in_libraries: set[str] = set()  # the same, in tutor's code
        self.by_text = False
        self.whole: set[int] = set()  # ids of layers whose attributes are named by a text
        self._begin()
        self.kept = find_names(self, roots)  # alive, so that no id is given twice
        found = -1
        while found < (now := how_many(self)):  # once, where these were all
            found = now
            self._begin()
            self._walk(roots)

    def _begin(self) -> None:
        self.places: list[Place] = []
        self.keys: list[Keys] = []
        self.things: list[Thing] = []
        self.contents: list[Content] = []
        self.members: dict[type, Members] = {Tensor: Members.of(Tensor)}  # of tutor's classes
        self.tensors: dict[int, Tensor] = {}
        self.buffers: list[Buffer] = []
        self.codes: set[int] = set()  # ids of all code that was read
        self.unknown: dict[str, str] = {}  # what cannot be compared, and why
        self.seen: dict[Any, Any] = {}  # kept alive, so that no id is given twice
        self.ways: Counter[int] = Counter()  # to each Tensor, by its id

    def is_named(self, attribute: str) -> bool:
        """May the user's code look at the attribute of that name, of any object?"""
        names = (self.anywhere, *self.named.values())
        return self.by_text or any(attribute in each for each in names)

    def _walk(self, roots: Iterable[Reach]) -> None:
        unseen = [(*root, False) for root in roots]
        while unseen:
            value, path, trusted = unseen.pop()
            if type(value) in FIXED or value is MISSING:
                continue
            if not trusted and (why := why_unknown(value)):
                self.unknown.setdefault(path, why)
            key = identity(value)
            if isinstance(value, Tensor):
                self.ways[key] += 1
            if len(self.seen) > MOST:
                self.unknown = {path: f"is one of more than {MOST} objects that are reached"}
                return
            if key not in self.seen:
                self.seen[key] = value
                found = self.step_from(value, path)
                trusted = is_trusted(value, trusted)
                unseen.extend([(*reach, trusted) for reach in found])

    def step_from(self, value: Any, path: str) -> Iterator[Reach]:
        """What is reached from `value` in one step. Each place of it is noted."""
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            yield self._note(value, "_grad", value._grad, f"{path}.grad")
            yield from ((hook, path) for hook in hooks_of(value))
            if type(value) is not Tensor:
                yield from self._object(value, path)
        elif isinstance(value, Buffer):
            self.buffers.append(value)
        elif isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                yield self._note(value, name, getattr(value, name), f"{path}.{name}")
        elif isinstance(value, types.MethodType):
            yield value.__self__, path
            if isinstance(value.__func__, types.FunctionType):
                yield from self._function(value.__func__, path, value.__self__)
            else:
                yield value.__func__, path
        elif isinstance(value, types.FunctionType):
            yield from self._function(value, path)
            yield from self._attributes(value, path)
        elif isinstance(value, types.ModuleType):
            if not is_ours(value.__name__):
                yield from self._attributes(value, path)
        elif isinstance(value, type):
            if is_ours(value.__module__):
                self.members[value] = Members.of(value)
                return
            yield from self._class(value, None, path)
            if type(value) is not type:
                yield from self._class(type(value), value, path)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if not isinstance(value.__self__, types.ModuleType):
                yield value.__self__, path
        elif isinstance(value, (property, staticmethod, classmethod)):
            yield from [(function, path) for function in functions_of(value)]
        else:
            if (items := contents(value)) is not None:
                yield from self._items(value, items, path)
            if type(value) not in CONTAINERS:
                yield from self._object(value, path)

    def _note(self, holder: Any, key: Any, value: Any, path: str) -> Reach:
        self.places.append(Place(holder, key, value, path))
        return value, path

    def _items(self, value: Any, items: tuple[Any, ...], path: str) -> Iterator[Reach]:
        if isinstance(value, dict) and not isinstance(value, defaultdict):
            self.keys.append(Keys(value, keys_of(value), None, path))
            for key, item in list(dict.items(value)):
                yield self._note(value, key, item, f"{path}[{shown_key(key)}]")
                yield key, path
        elif isinstance(value, list):
            self.keys.append(Keys(value, (None,) * len(items), None, path))
            for i, item in enumerate(items):
                yield self._note(value, i, item, f"{path}[{i}]")
        else:
            if not isinstance(value, (tuple, frozenset)):
                self.contents.append(Content(value, items, path))
            yield from inner(value, path)

    # ---- code ------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str, bound: Any = None
                  ) -> Iterator[Reach]:  # fmt: skip
        """What a function names; of a method `bound` is the object whose it is."""
        code, module = function.__code__, module_of(function.__globals__)
        ours = is_ours(module)
        if not ours:
            may_run = not self.only and is_users(module)
            if not may_run and code not in self.ran:
                return
            self.codes.update(map(id, codes(code)))
            if module in UNSEEN:
                return
            for name in ("__code__", "__defaults__", "__kwdefaults__"):
                yield self._note(function, name, getattr(function, name), f"{path}.{name}")
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        layers = ours and module.startswith("tutor.nn.")  # parameters named by a text
        first = code.co_varnames[0] if code.co_argcount and bound is not None else None
        for chain in chains(code):
            kind, name, attributes = chain
            if not ours and kind != AROUND and not BY_TEXT.isdisjoint((name, *attributes)):
                self.by_text = True
            elif kind == GLOBAL and name == "getattr" and bound is not None and layers:
                self.whole.add(id(bound))
            if name == first and kind != GLOBAL:
                yield from self._name(bound, attributes, path, ours)
            elif kind == AROUND and name in cells and ours:
                value = Place(cells[name], "cell_contents", None, name).get()
                if callable(value):  # what a decorator of tutor's holds
                    yield value if bound is None else types.MethodType(value, bound), path
            elif ours and kind == GLOBAL and name in function.__globals__:
                pass
            elif not ours and (kind in (GLOBAL, MODULE) or name in cells):
                yield from self._root(chain, function.__globals__, cells)
            else:
                self._anywhere(attributes, ours)

    def _root(self, chain: Chain, names: dict[str, Any], cells: dict[str, Any]) -> Iterator[Reach]:
        """What a chain begins with, and what it leads to."""
        kind, name, attributes = chain
        if kind == AROUND:
            cell = Place(cells[name], "cell_contents", None, name)
            value, _ = self._note(cell.holder, cell.key, cell.get(), name)
        elif kind == GLOBAL:
            value, _ = self._note(names, name, names.get(name, MISSING), name)
            if value is MISSING:
                held = vars(builtins)
                value, _ = self._note(held, name, held.get(name, MISSING), name)
        else:
            levels = len(name) - len(name.lstrip("."))
            package = str(names.get("__package__") or "").split(".")
            parts = [*package[: len(package) + 1 - levels], name.lstrip(".")] if levels else [name]
            name = ".".join(filter(None, parts))
            value = sys.modules.get(name, MISSING)
            yield self._note(sys.modules, name, value, name)
            root = name.partition(".")[0]
            yield self._note(sys.modules, root, sys.modules.get(root, MISSING), root)
        if not (isinstance(value, types.ModuleType) and attributes):
            yield value, name
        yield from self._name(value, attributes, name, False)

    def _name(self, value: Any, attributes: Iterable[str], path: str, ours: bool
              ) -> Iterator[Reach]:  # fmt: skip
        """Note that `value.attribute.attribute` is named. Of a module that alone is reached."""
        attributes = [*attributes]
        while attributes and value is not MISSING:
            if isinstance(value, (*FIXED, Tensor)) and not isinstance(value, type):
                break
            attribute = attributes.pop(0)
            if isinstance(value, types.ModuleType):
                path = f"{path}.{attribute}"
                held = vars(value)
                value, _ = self._note(held, attribute, held.get(attribute, MISSING), path)
                if not (isinstance(value, types.ModuleType) and attributes):
                    yield value, path
            else:
                self.named[id(value)].add(attribute)
                value = standing(value, attribute)
        self._anywhere(attributes, ours)

    def _anywhere(self, attributes: Iterable[str], ours: bool) -> None:
        (self.in_libraries if ours else self.anywhere).update(attributes)

    # ---- objects ---------------------------------------------------------------------------------

    def _names(self, value: Any, kind: type | None) -> frozenset[str]:
        """The names that count of an object, but for those that are named by a text."""
        names = self.named.get(id(value), set()) | self.anywhere
        if kind is not None and any(is_ours(base.__module__) for base in kind.__mro__):
            names |= self.in_libraries
        return frozenset(names)

    def _all(self, value: Any) -> bool:
        return self.by_text or id(value) in self.whole

    def _object(self, value: Any, path: str) -> Iterator[Reach]:
        wrapped = (dict_of(value) or {}).get("__wrapped__")
        yield wrapped, path
        if wrapped is None or not is_ours(type(value).__module__):  # else a jitted function
            yield from self._attributes(value, path)
            yield from self._class(type(value), value, path)

    def _attributes(self, value: Any, path: str) -> Iterator[Reach]:
        kind = None if isinstance(value, types.ModuleType) else type(value)
        names = self._names(value, kind)
        if isinstance(value, enum.Enum):
            names |= {"_value_", "_name_"}
        every = self._all(value) and (kind is not None or is_users(value.__name__))
        attributes = dict_of(value)
        if kind is None and self._all(value) and not every:
            self.unknown[path] = "is a module, of which something may be read by a text"
        if attributes is not None and (
            kind is not types.FunctionType or attributes or every or id(value) in self.named
        ):
            for name, held in list(attributes.items()):
                runs = isinstance(held, types.FunctionType) and held.__code__ in self.ran
                if name in names or runs or (every and not name.startswith("__")):
                    yield self._note(attributes, name, held, f"{path}.{name}")
            if kind is not None:
                keys = tuple(attributes)
                self.keys.append(Keys(attributes, keys, None if every else names, path))
        if kind in (None, types.FunctionType):
            return
        if kind is not ref:  # a Thing takes one for what it leads to, and it has no attributes
            self.things.append(Thing(value, kind, attributes, path))
        for base in kind.__mro__:
            for slot in slots_of(base):
                if slot in names or every:
                    held = Place(value, slot, None, path).get()
                    yield self._note(value, slot, held, f"{path}.{slot}")

    def _class(self, kind: type, of: Any, path: str) -> Iterator[Reach]:
        """What counts of a class: of one of an object, or of none: then its objects may be made."""
        names = self._names(of, kind) | self._names(kind, kind)
        every = self._all(of) or self._all(kind)
        self.things.append(Thing(kind, None, kind.__mro__, path))
        if any(is_ours(base.__module__) for base in kind.__mro__):
            self.members[kind] = Members.of(kind)
        for base in kind.__mro__:
            if base.__flags__ & IMMUTABLE:
                continue
            if not is_ours(base.__module__):
                counts = None if every else names
                self.keys.append(Keys(base, tuple(vars(base)), counts, base.__name__))
            for name, member in list(vars(base).items()):
                functions = functions_of(member)
                special = name.startswith("__")
                if (
                    any(f.__code__ in self.ran for f in functions)
                    or name in names
                    or (every and not special)
                    or (special and functions and (of is None or name not in NOT_CALLED))
                ):
                    yield from self._member(base, name, member, functions, of)

    def _member(self, base: type, name: str, member: Any, functions: list[Any], of: Any
                ) -> Iterator[Reach]:  # fmt: skip
        path = f"{base.__name__}.{name}"
        if not is_ours(base.__module__):
            self._note(base, name, member, path)
        for function in functions:
            yield function if of is None else types.MethodType(function, of), path
        if not functions or not isinstance(member, types.FunctionType):
            yield member, path
