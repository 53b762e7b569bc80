"""Places: where a function finds its state, and whether that is still the same.

A jitted function is recorded once and then replayed, so whatever it reads beside its arguments must
be known: a model's parameters, an optimizer's cells, a flag, a number in a closure. Nobody lists
these; they are found, by walking from the function to all that its code names (mentions.py):

- globals, variables of functions around it, and defaults;
- of an object the attributes that are named, `self.model.layers`; where it is not known of which
  object, `layer.weight` in a loop, those of that name wherever one is found;
- lists, tuples and dicts as a whole;
- the methods that are named, and those with __names__; and so on from them.

The code of tutor, of Python and of installed packages is read for what it names, too, but their
globals are their own business. Attributes that are named by a text (`getattr`, `vars`) make all
attributes count.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from tutor.core.buffer import Buffer
from tutor.methods.tensor import Tensor
from tutor.programs.mentions import AROUND, GLOBAL, chains

MISSING: Any = object()
PLAIN = (bool, int, float, complex, str, bytes, type(None))
BY_TEXT = {"getattr", "setattr", "vars", "__dict__", "get_parameters", "parameters", "state_dict"}
# Methods with __names__ that nothing but making, printing and keeping an object calls.
NOT_CALLED = {
    "__annotations__", "__copy__", "__deepcopy__", "__del__", "__dict__", "__doc__",
    "__getstate__", "__init__", "__init_subclass__", "__module__", "__new__", "__reduce__",
    "__repr__", "__setstate__", "__slots__", "__str__", "__weakref__",
}  # fmt: skip
_look_of = operator.attrgetter("buf", "shape", "strides", "offset", "requires_grad")
Reach = tuple[Any, str]  # something that is reached, and how a person would write it


class Place(NamedTuple):
    """`holder`, an object, a class, a dict, a list or a closure's cell, has `value` under `key`."""

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
        if isinstance(holder, type):
            return vars(holder).get(key, MISSING)
        try:
            return getattr(holder, key, MISSING)
        except ValueError:  # a cell that is empty
            return MISSING

    def set(self, value: Any) -> None:
        if type(self.holder) in (dict, list):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def hooks_of(t: Tensor) -> tuple[Any, ...]:
    """What is called with the gradient of a Tensor."""
    return tuple(getattr(t, "_hooks", ()))


def is_same(now: Any, before: Any) -> bool:
    """One and the same thing, or an equal number or text."""
    return now is before or (
        type(now) is type(before) and isinstance(now, PLAIN) and bool(now == before)
    )


class Reached:
    """All that a walk from `roots` has found: places, sizes of containers, Tensors and Buffers."""

    def __init__(self, roots: Iterable[Reach]) -> None:
        roots = list(roots)
        self.named: dict[int, set[str]] = defaultdict(set)  # by an object's id: its attributes
        self.anywhere: set[str] = set()  # attributes of objects that are not known
        self.in_libraries: set[str] = set()  # the same, in code of libraries
        self.by_text = False
        self.whole: set[int] = set()  # ids of layers whose attributes are named by a text
        found = -1
        while found < (now := self._known()):  # code that is found names what is found next
            found = now
            self.places: list[Place] = []
            self.sizes: list[tuple[Any, int, str]] = []  # of lists and dicts
            self.tensors: dict[int, Tensor] = {}
            self.buffers: list[Buffer] = []
            self.seen: dict[Any, Any] = {}  # kept alive, so that no id is given twice
            self.ways: Counter[int] = Counter()  # to each Tensor, by its id
            self._walk(roots)

    def _known(self) -> int:
        known = len(self.whole) + len(self.anywhere) + len(self.in_libraries)
        return known + sum(map(len, self.named.values()))

    def is_named(self, attribute: str) -> bool:
        """May the user's code look at the attribute of that name, of any object?"""
        names = (self.anywhere, *self.named.values())
        return self.by_text or any(attribute in each for each in names)

    def _walk(self, roots: Iterable[Reach]) -> None:
        unseen = list(roots)
        while unseen:
            value, path = unseen.pop()
            if isinstance(value, PLAIN):
                continue
            key: Any = id(value)
            if isinstance(value, Tensor):
                self.ways[key] += 1
            elif isinstance(value, types.MethodType):  # a new object each time
                key = id(value.__func__), id(value.__self__)
            if key not in self.seen:
                self.seen[key] = value
                unseen.extend(self._inner(value, path))

    def _inner(self, value: Any, path: str) -> Iterator[Reach]:
        """What is reached from `value` in one step. Each place of it is noted."""
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
            yield self._note(value, "_grad", value._grad, f"{path}.grad")
            yield from ((hook, path) for hook in hooks_of(value))
        elif isinstance(value, Buffer):
            self.buffers.append(value)
        elif isinstance(value, (list, tuple, dict)):
            yield from self._items(value, path)
        elif isinstance(value, (set, frozenset)):
            yield from ((item, path) for item in value)
        elif isinstance(value, functools.partial):
            yield from ((v, path) for v in (value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            yield value.__self__, path
            if isinstance(value.__func__, types.FunctionType):
                yield from self._function(value.__func__, path, value.__self__)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value, path)
        elif isinstance(value, types.ModuleType):
            if is_users(value.__name__):
                yield from self._attributes(value, path)
        elif isinstance(value, type):
            if is_users(value.__module__):
                yield from self._methods(value, None, ())
        elif hasattr(value, "__wrapped__"):  # what stands for a function, as a jitted one does
            yield value.__wrapped__, path
        elif not isinstance(value, types.BuiltinFunctionType):
            yield from self._attributes(value, path)
            yield from self._methods(type(value), value, NOT_CALLED)

    def _note(self, holder: Any, key: Any, value: Any, path: str) -> Reach:
        self.places.append(Place(holder, key, value, path))
        return value, path

    def _items(self, value: Any, path: str) -> Iterator[Reach]:
        if not isinstance(value, tuple):
            self.sizes.append((value, len(value), path))
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if type(value) in (list, dict):
                yield self._note(value, key, item, f"{path}[{key!r}]")
            else:
                yield item, f"{path}[{key!r}]"

    # ---- code ------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str, bound: Any = None
                  ) -> Iterator[Reach]:  # fmt: skip
        """What a function names; of a method `bound` is the object whose it is."""
        code, users = function.__code__, is_users(function.__module__)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        layers = str(function.__module__).startswith("tutor.nn.")  # parameters named by a text
        first = code.co_varnames[0] if code.co_argcount and bound is not None else None
        for kind, name, attributes in chains(code):
            if kind == GLOBAL and users and name in BY_TEXT:
                self.by_text = True
            elif kind == GLOBAL and name == "getattr" and bound is not None and layers:
                self.whole.add(id(bound))
            if name == first and kind != GLOBAL:
                self._name(bound, attributes, users)
            elif kind == GLOBAL and name in function.__globals__:
                value = function.__globals__[name]
                if users:
                    yield self._note(function.__globals__, name, value, name)
                    self._name(value, attributes, users)
            elif kind == AROUND and name in cells:
                value = Place(cells[name], "cell_contents", None, name).get()
                if users:
                    yield self._note(cells[name], "cell_contents", value, name)
                    self._name(value, attributes, users)
                elif callable(value):  # what a decorator of a library holds
                    yield value if bound is None else types.MethodType(value, bound), path
            else:
                self._name(None, attributes, users)
        for held in (function.__defaults__, function.__kwdefaults__) if users else ():
            yield held, path

    def _name(self, value: Any, attributes: Iterable[str], users: bool) -> None:
        """Note that `value.attribute.attribute` is named; None: of an object that is not known."""
        self.by_text |= users and not BY_TEXT.isdisjoint(attributes)
        for attribute in attributes:
            if value is None:
                (self.anywhere if users else self.in_libraries).add(attribute)
            elif not isinstance(value, (*PLAIN, Tensor)):
                self.named[id(value)].add(attribute)
                value = _held(value, attribute)

    # ---- objects ---------------------------------------------------------------------------------

    def _counts(self, value: Any, kind: type | None, name: str) -> bool:
        """Is that attribute of the object named somewhere?"""
        if name in self.named.get(id(value), ()) or name in self.anywhere:
            return True
        library = kind is not None and not is_users(kind.__module__)
        return (library and name in self.in_libraries) or (
            (self.by_text or id(value) in self.whole) and not name.startswith("__")
        )

    def _attributes(self, value: Any, path: str) -> Iterator[Reach]:
        kind = None if isinstance(value, types.ModuleType) else type(value)
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            for name, held in list(attributes.items()):
                if self._counts(value, kind, name):
                    yield self._note(attributes, name, held, f"{path}.{name}")
        for base in kind.__mro__ if kind else ():
            slots = vars(base).get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                held = Place(value, slot, None, path).get()
                if held is not MISSING and self._counts(value, kind, slot):
                    yield self._note(value, slot, held, f"{path}.{slot}")

    def _methods(self, kind: type, of: Any, without: Collection[str]) -> Iterator[Reach]:
        """The methods, of an object or of none, that are named or have __names__."""
        for base in kind.__mro__[:-1]:
            for name, member in vars(base).items():
                if name in without or not (name.startswith("__") or self._counts(of, kind, name)):
                    continue
                path = f"{base.__name__}.{name}"
                if is_users(base.__module__):
                    self._note(base, name, member, path)
                if _may_be_hidden(base, name, member, own := getattr(of, "__dict__", None)):
                    self._note(own, name, MISSING, path)
                member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                member = getattr(member, "func", member)  # of a cached_property
                if isinstance(member, types.FunctionType):
                    yield member if of is None else types.MethodType(member, of), path
                elif is_users(base.__module__) and not name.startswith("__"):
                    yield member, path


def _may_be_hidden(base: type, name: str, member: Any, own: Any) -> bool:
    """Would an attribute of the object itself, which it does not have so far, be found before this
    one of its class? (Of a library's methods nobody puts one there.)"""
    ours = is_users(base.__module__) or not isinstance(member, types.FunctionType)
    first = hasattr(type(member), "__set__") or name.startswith("__")
    return ours and not first and type(own) is dict and name not in own


def _held(value: Any, attribute: str) -> Any:
    """The attribute as it stands in the object, no code of it is run; MISSING: not there."""
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and attribute in attributes:
        return attributes[attribute]
    member = getattr(type(value), attribute, MISSING)
    return (
        getattr(value, attribute, MISSING)
        if type(member).__name__ == "member_descriptor"
        else MISSING
    )


@functools.cache
def is_users(module: str | None) -> bool:
    """Is it a module of the user's: not tutor, not Python's, not an installed package's? What runs
    as __main__ is, also within an installed program: a notebook's cell, a page's example."""
    root = str(module).partition(".")[0]
    if root == "tutor" or root in sys.stdlib_module_names:
        return False
    if root == "__main__":
        return True
    file = str(getattr(sys.modules.get(str(module)), "__file__", None) or "")
    return "site-packages" not in file and "dist-packages" not in file


class Guards:
    """Whether all that was reached is still as it was, but for places with a rule of their own and
    the Tensors there, whose ids are `moving`."""

    def __init__(
        self, reached: Reached, except_for: Callable[[Place], bool], moving: Collection[int] = ()
    ) -> None:
        found = {(id(p.holder), p.key): p for p in reached.places if not except_for(p)}
        self.places = list(found.values())
        self.sizes = reached.sizes
        tensors = [t for i, t in reached.tensors.items() if i not in moving]
        self.tensors = [(t, _look_of(t), hooks_of(t)) for t in tensors]

    def changed(self) -> str | None:
        """The path of the first thing that is no longer what it was; None: all are."""
        for place in self.places:
            now = place.get()
            if now is not place.value and not is_same(now, place.value):
                return place.path
        for container, size, path in self.sizes:
            if len(container) != size:
                return f"the length of {path}"
        for t, look, hooks in self.tensors:
            if _look_of(t) != look:
                return f"the memory, shape or requires_grad of a Tensor of shape {look[1]}"
            if hooks_of(t) != hooks:
                return f"the hooks of a Tensor of shape {look[1]}"
        return None
