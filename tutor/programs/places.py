"""Places: where a function finds its state, and whether that is still the same.

A jitted function is recorded once and then replayed, so whatever it reads beside its arguments must
be known: a model's parameters, an optimizer's cells, a flag, a number in a closure. Nobody lists
these; they are found, by walking from the function to all that it can name:

- its closure and defaults, and the globals that its code mentions;
- of an object, the attributes whose names are mentioned by code that is reached; lists, tuples and
  dicts as a whole;
- of a class, the methods whose names are mentioned (and those with __names__); and so on from them.

Code of tutor, of Python and of installed packages is read for the names it mentions; its globals
are its own business. What is mentioned as a text only (`getattr`, `vars`) makes every attribute
count.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from tutor.methods.tensor import Tensor

MISSING: Any = object()
PLAIN = (bool, int, float, complex, str, bytes, type(None))
BY_TEXT = {"getattr", "setattr", "vars", "__dict__", "get_parameters", "parameters", "state_dict"}
# Methods with __names__ that nothing but making, printing and keeping an object calls.
NOT_CALLED = {
    "__annotations__", "__copy__", "__deepcopy__", "__del__", "__dict__", "__doc__",
    "__getstate__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
    "__repr__", "__setstate__", "__slots__", "__str__", "__weakref__",
}  # fmt: skip
_walk_of = operator.attrgetter("buf", "shape", "strides", "offset", "requires_grad")


class Place(NamedTuple):
    """`holder`, an object, a dict, a list or a closure's cell, has `value` under `key`."""

    holder: Any
    key: Any
    value: Any
    path: str  # how a person would write it

    def get(self) -> Any:
        """What stands there now; MISSING where there is nothing any more."""
        holder, key = self.holder, self.key
        if type(holder) is dict:
            return holder.get(key, MISSING)
        if type(holder) is list:
            return holder[key] if key < len(holder) else MISSING
        try:
            return getattr(holder, key, MISSING)
        except ValueError:  # a cell that is empty
            return MISSING

    def set(self, value: Any) -> None:
        if type(self.holder) in (dict, list):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def is_same(now: Any, before: Any) -> bool:
    """One and the same thing, or an equal number or text."""
    return now is before or (
        type(now) is type(before) and isinstance(now, PLAIN) and bool(now == before)
    )


class Reached:
    """All that a walk from `roots` has found: places, sizes of containers, and Tensors."""

    def __init__(self, roots: Iterable[tuple[Any, str]]) -> None:
        roots = list(roots)
        self.names: set[str] = set()
        self.by_text = False
        found = -1
        while found < len(self.names):  # code that is found mentions names of what is found next
            found = len(self.names)
            self.places: list[Place] = []
            self.sizes: list[tuple[Any, int, str]] = []  # of lists and dicts that count as a whole
            self.tensors: dict[int, Tensor] = {}
            self.seen: dict[int, Any] = {}  # kept alive, so that no id is given twice
            self._walk(roots)

    def _walk(self, roots: Iterable[tuple[Any, str]]) -> None:
        unseen = list(roots)
        while unseen:
            value, path = unseen.pop()
            if isinstance(value, PLAIN) or id(value) in self.seen:
                continue
            self.seen[id(value)] = value
            unseen.extend(self._inner(value, path))

    def _inner(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        """What is reached from `value` in one step. Each place of it is noted."""
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            if value.requires_grad or value._grad is not None:
                yield self._note(value, "_grad", value._grad, f"{path}.grad")
        elif isinstance(value, (list, tuple, dict)):
            yield from self._items(value, path)
        elif isinstance(value, (set, frozenset)):
            yield from ((item, path) for item in value)
        elif isinstance(value, functools.partial):
            yield from ((v, path) for v in (value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            yield from ((value.__self__, path), (value.__func__, path))
        elif isinstance(value, (property, staticmethod, classmethod, functools.cached_property)):
            inner = ("fget", "fset", "func", "__func__")
            yield from ((getattr(value, name, None), path) for name in inner)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value, path)
        elif isinstance(value, types.ModuleType):
            if is_users(value.__name__):
                yield from self._mentioned(vars(value), path)
        elif isinstance(value, type):
            if is_users(value.__module__):
                yield from self._methods(value, ())
        elif not isinstance(value, types.BuiltinFunctionType):
            yield from self._object(value, path)

    def _note(self, holder: Any, key: Any, value: Any, path: str) -> tuple[Any, str]:
        self.places.append(Place(holder, key, value, path))
        return value, path

    def _items(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        if not isinstance(value, tuple):
            self.sizes.append((value, len(value), path))
        pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
        for key, item in pairs:
            if type(value) in (list, dict):
                yield self._note(value, key, item, f"{path}[{key!r}]")
            else:
                yield item, f"{path}[{key!r}]"

    def _function(self, function: types.FunctionType, path: str) -> Iterator[tuple[Any, str]]:
        names = set(mentioned(function.__code__))
        self.names |= names
        cells = list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if not is_users(function.__module__):
            inner = [Place(cell, "cell_contents", None, name).get() for name, cell in cells]
            yield from ((f, path) for f in inner if callable(f))  # what a decorator holds
            return
        self.by_text |= not names.isdisjoint(BY_TEXT)
        for name, cell in cells:
            value = Place(cell, "cell_contents", None, name).get()
            yield self._note(cell, "cell_contents", value, name)
        for held in (function.__defaults__, function.__kwdefaults__, function.__dict__):
            if held:
                yield held, path
        inside = function.__globals__
        for name in names & inside.keys():
            yield self._note(inside, name, inside[name], name)

    def _object(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            yield from self._mentioned(attributes, path)
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                held = Place(value, slot, None, path).get()
                if held is not MISSING and (slot in self.names or self.by_text):
                    yield self._note(value, slot, held, f"{path}.{slot}")
            if kind is not object:
                yield from self._methods(kind, NOT_CALLED)

    def _methods(self, kind: type, without: Collection[str]) -> Iterator[tuple[Any, str]]:
        users = is_users(kind.__module__)
        for name, member in vars(kind).items():
            mentioned = name in self.names or (name.startswith("__") and name not in without)
            if mentioned and (users or isinstance(member, (types.FunctionType, property))):
                yield member, f"{kind.__name__}.{name}"

    def _mentioned(self, attributes: dict[str, Any], path: str) -> Iterator[tuple[Any, str]]:
        for name, value in list(attributes.items()):
            if name in self.names or (self.by_text and not name.startswith("__")):
                yield self._note(attributes, name, value, f"{path}.{name}")


def mentioned(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in some code, and in functions that it defines."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from mentioned(constant)


@functools.cache
def is_users(module: str | None) -> bool:
    """Is it a module of the user's: not tutor, not Python's, not an installed package's?"""
    root = str(module).partition(".")[0]
    if root == "tutor" or (root in sys.stdlib_module_names and root != "__main__"):
        return False
    file = str(getattr(sys.modules.get(str(module)), "__file__", None) or "")
    return "site-packages" not in file and "dist-packages" not in file


class Guards:
    """Whether all that was reached is still as it was, but for places with a rule of their own and
    the Tensors there, whose ids are `moving`."""

    def __init__(
        self, reached: Reached, except_for: Callable[[Place], bool], moving: Collection[int] = ()
    ) -> None:
        places = [p for p in reached.places if not except_for(p)]
        self.dicts = [(p.holder, p.key, p.value, p) for p in places if type(p.holder) is dict]
        self.others = [p for p in places if type(p.holder) is not dict]
        self.sizes = reached.sizes
        self.tensors = [(t, _walk_of(t)) for i, t in reached.tensors.items() if i not in moving]

    def changed(self) -> str | None:
        """The path of the first thing that is no longer what it was; None: all are."""
        for holder, key, value, place in self.dicts:
            now = holder.get(key, MISSING)
            if now is not value and not is_same(now, value):
                return place.path
        for place in self.others:
            now = place.get()
            if now is not place.value and not is_same(now, place.value):
                return place.path
        for container, size, path in self.sizes:
            if len(container) != size:
                return f"the length of {path}"
        for t, walk in self.tensors:
            if _walk_of(t) != walk:
                return f"the memory, shape or requires_grad of a Tensor of shape {walk[1]}"
        return None
