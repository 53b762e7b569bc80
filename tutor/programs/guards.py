"""Guards: the state that must be unchanged since a call was recorded, and the check that it is.

Each kind of record states one fact about a reached object (captured_state.py), and can check
whether it still holds. simd_cpp/replay/guards.cpp checks all of them quickly: an untouched object
is unchanged. If something was touched, the records here decide.
"""

from __future__ import annotations

import collections
import operator
import types
import weakref
from collections.abc import Callable, Collection
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tutor.backends import simd_cpp
from tutor.errors import RecordError
from tutor.programs.kinds import alike, contents, is_plain, is_same
from tutor.programs.ran import is_ours

MISSING: Any = object()
_look_of = operator.attrgetter("buf", "shape", "strides", "offset", "requires_grad")


class StatePlace(NamedTuple):
    """`holder`, an object, a class, a dict, a list or a closure's cell, has `value` under `key`."""

    holder: Any
    key: Any
    value: Any
    path: str  # as a person would write it

    def get(self) -> Any:
        """The value there now; MISSING if it is gone."""
        holder, key = self.holder, self.key
        if isinstance(holder, dict):
            return dict.get(holder, key, MISSING)
        if isinstance(holder, list):
            return list.__getitem__(holder, key) if key < list.__len__(holder) else MISSING
        if isinstance(holder, type):
            return vars(holder).get(key, MISSING)
        try:
            return object.__getattribute__(holder, key)
        except (AttributeError, ValueError):  # an empty slot or cell
            return MISSING

    def set(self, value: Any) -> None:
        if isinstance(self.holder, (dict, list)):
            known = (kind for kind in (collections.OrderedDict, dict, list))
            kind: Any = next(kind for kind in known if isinstance(self.holder, kind))
            kind.__setitem__(self.holder, self.key, value)
        else:
            setattr(self.holder, self.key, value)

    def changed(self) -> str | None:
        return None if is_same(self.get(), self.value) else self.path

    def __str__(self) -> str:
        return f"{self.path} is {shown(self.value)}"


class Keys(NamedTuple):
    """`holder`, a dict, a list or a class, has these keys (for a list, this number of items).
    `names` are sets of the keys whose absence counts; None: every key counts, and their order."""

    holder: Any
    keys: tuple[Any, ...]
    names: tuple[Collection[str], ...] | None
    path: str

    def changed(self) -> str | None:
        now = keys_of(self.holder)
        if len(now) == len(self.keys) and all(map(operator.is_, now, self.keys)):
            return None
        if self.names is None:
            return None if alike(now, self.keys) else f"what is in {self.path}"
        special = isinstance(self.holder, type)
        for name in set(now).difference(self.keys):
            if any(name in each for each in self.names) or (special and name.startswith("__")):
                return f"{self.path}.{name}"
        return None

    def __str__(self) -> str:
        if self.names is None:
            return f"{self.path} has {len(self.keys)} items"
        return f"{self.path} has no other attributes of the names that count"


class Thing(NamedTuple):
    """An object has this class and this dict of attributes. A class (`kind` is None) looks up
    attributes in these classes, in order."""

    value: Any
    kind: Any
    attributes: Any
    path: str

    def changed(self) -> str | None:
        value = self.value() if type(self.value) is weakref.ref else self.value
        if self.kind is None:
            same = getattr(value, "__mro__", None) is self.attributes
            return None if same else f"the bases of {self.path}"
        if type(value) is not self.kind:
            return f"the class of {self.path}"
        same = dict_of(value) is self.attributes
        return None if same else f"the attributes of {self.path}"

    def without(self, roots: Collection[int]) -> Thing:
        """The same record, but it does not keep the roots alive."""
        held = self.kind is None or id(self.value) not in roots
        return self if held else self._replace(value=weak(self.value))

    def __str__(self) -> str:
        if self.kind is None:
            return f"{self.path} inherits what it did"
        return f"{self.path} is of the class {self.kind.__qualname__}"


class Content(NamedTuple):
    """A container has these contents."""

    value: Any
    items: tuple[Any, ...]
    path: str

    def changed(self) -> str | None:
        return None if alike(contents(self.value), self.items) else f"what is in {self.path}"

    def __str__(self) -> str:
        return f"{self.path} has {len(self.items)} items"


def hooks_of(t: Any) -> tuple[Any, ...]:
    """The functions called with a Tensor's gradient."""
    return tuple(getattr(t, "_hooks", None) or ())


class Members(NamedTuple):
    """A class of tutor's and its base classes have these members."""

    kind: type
    members: tuple[tuple[type, dict[str, Any]], ...]

    @classmethod
    def of(cls, kind: type) -> Members:
        bases = [base for base in kind.__mro__ if is_ours(base.__module__)]
        now = tuple([(base, dict(vars(base))) for base in bases])
        before = _members.get(kind)
        if before is None or before.members != now:
            before = _members[kind] = cls(kind, now)
        return before

    def changed(self) -> str | None:
        for base, members in self.members:
            if dict(vars(base)) != members:
                return f"the class {base.__qualname__}"
        return None

    def __str__(self) -> str:
        return f"the class {self.kind.__qualname__} has its members"


_members: WeakKeyDictionary[type, Members] = WeakKeyDictionary()


def keys_of(holder: Any) -> tuple[Any, ...]:
    """The keys of a dict or of a class, in their order; for a list, None per item."""
    if isinstance(holder, list):
        return (None,) * list.__len__(holder)
    if isinstance(holder, collections.OrderedDict):
        return tuple(collections.OrderedDict.keys(holder))
    return tuple(dict.keys(holder) if isinstance(holder, dict) else vars(holder))


def weak(value: Any, gone: Callable[[Any], object] | None = None) -> Any:
    """A weak reference to the value, which calls `gone` when the value is gone; or the value itself
    if it does not support weak references."""
    try:
        return weakref.ref(value, gone)
    except TypeError:
        return value


def dict_of(value: Any) -> dict[str, Any] | None:
    """An object's own attributes, without running any of its code."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def shown(value: Any) -> str:
    """A value as an error shows it."""
    if value is MISSING:
        return "nothing"
    is_text = isinstance(value, (bool, int, float, complex, str, bytes, type(None)))
    return f"{value!r:.60}" if is_text else f"a {type(value).__name__}"


def shown_key(key: Any) -> str:
    return f"{key!r:.60}" if is_plain(key) else f"a {type(key).__name__}"


def standing(value: Any, attribute: str) -> Any:
    """The attribute as stored in the object or its class, without running any of its code; MISSING
    if it is absent or computed."""
    own = dict_of(value)
    if not isinstance(value, type) and own is not None and attribute in own:
        return own[attribute]
    for base in (value if isinstance(value, type) else type(value)).__mro__:
        if attribute in vars(base):
            member = vars(base)[attribute]
            if isinstance(member, types.MemberDescriptorType) and not isinstance(value, type):
                return StatePlace(value, attribute, None, "").get()
            return MISSING if hasattr(type(member), "__get__") else member
    return MISSING


class UnforeseenError(RecordError):
    """The call ran code that was not expected to run, so the previous values in the places that it
    reads are unknown. The next call can be recorded."""


class Guards:
    """Checks that everything reached is unchanged, except places with a rule of their own and the
    Tensors there, whose ids are `moving`. It compares with the values found `before` the call, as
    far as the call read them, which is what is reached `after` it."""

    def __init__(
        self, before: Any, after: Any, except_for: Callable[[StatePlace], bool],
        moving: Collection[int] = (), roots: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.keys = [before.keys.get(i, k)._replace(names=k.names) for i, k in after.keys.items()]
        things = [t for i, t in before.things.items() if i in after.things]
        self.things = [thing.without(roots) for thing in things]
        self.contents = [c for i, c in before.contents.items() if i in after.contents]
        self.members = [m for k, m in before.members.items() if k in after.members]
        self.places = [p for at, p in before.places.items()
                       if at in after.places and not except_for(p)]  # fmt: skip
        self.tensors = [(t, _look_of(t), hooks_of(t)) for i, t in before.tensors.items()
                        if i not in moving and i in after.tensors]  # fmt: skip
        for at, place in after.places.items():
            # The place of a gradient of a Tensor that the call created did not exist before.
            if not (at in before.places or except_for(place) or _was_absent(place, before.keys)):
                raise UnforeseenError(
                    f"to record what is read at {place.path}", "it was not known that it is read"
                )
        hooked = any(hooks for _, _, hooks in self.tensors)  # the quick check ignores hooks
        self.native = None if hooked else simd_cpp.guards()
        self.look()

    def look(self) -> None:
        """Mark everything that was touched but is unchanged as untouched."""
        if self.native is not None:
            self.keys = [k._replace(keys=keys_of(k.holder)) for k in self.keys]
            self.native.read(*self._quick())

    def _quick(self) -> tuple[Any, ...]:
        """The data of the quick check: dicts and lists with their expected items, all other places,
        classes, objects, Tensors, and the checks that are left to Python."""
        values = {(id(p.holder), p.key): p.value for p in self.places
                  if type(p.holder) in (dict, list)}  # fmt: skip
        whole = [k for k in self.keys if type(k.holder) in (dict, list)]
        inside = {id(k.holder) for k in whole}

        def expected(keys: Keys) -> tuple[Any, ...]:
            names = keys.keys if type(keys.holder) is dict else range(len(keys.keys))
            return tuple([values.get((id(keys.holder), name), MISSING) for name in names])

        functions = {id(p.holder): p.holder for p in self.places
                     if isinstance(p.holder, types.FunctionType)}  # fmt: skip
        inside.update(functions)
        others = [p for p in self.places
                  if id(p.holder) not in inside and not isinstance(p.holder, type)]  # fmt: skip
        rest: list[Any] = [*self.contents]
        rest += [k for k in self.keys if type(k.holder) not in (dict, list)
                 and not isinstance(k.holder, type)]  # fmt: skip
        return (
            MISSING,
            [(k.holder, k.keys, expected(k)) for k in whole],
            [p[:2] if p.value is MISSING else p[:3] for p in others],
            [(f, f.__code__, f.__defaults__, f.__kwdefaults__) for f in functions.values()],
            [
                *[k.holder for k in self.keys if isinstance(k.holder, type)],
                *[m.kind for m in self.members],
            ],
            [t[:3] for t in self.things if t.kind is not None],
            [(t, *look) for t, look, _ in self.tensors],
            rest,
        )

    def texts(self) -> list[str]:
        """The guards as text: each object checked, and its expected value."""
        guards = [*self.places, *self.keys, *self.contents, *self.things]
        shapes = [f"a Tensor of shape {walk[1]} has its memory" for _, walk, _ in self.tensors]
        return list(dict.fromkeys([*map(str, guards), *shapes]))

    def changed(self) -> str | None:
        """The path of the first object that has changed; None if all are unchanged."""
        if self.native is not None and self.native.hold():
            return None
        if (path := first_changed(self)) is not None:
            return path
        for t, look, hooks in self.tensors:
            if _look_of(t) != look:
                return f"the memory, shape or requires_grad of a Tensor of shape {look[1]}"
            if hooks_of(t) != hooks:
                return f"the hooks of a Tensor of shape {look[1]}"
        self.look()
        return None


def first_changed(of: Guards) -> str | None:
    """The path of the first object among these guards that has changed, or None."""
    for guard in (*of.places, *of.keys, *of.things, *of.contents, *of.members):
        path: str | None = guard.changed()
        if path is not None:
            return path
    return None


def _was_absent(place: StatePlace, known: dict[int, Keys]) -> bool:
    """Was that place empty, according to the keys of its holder?"""
    keys = known.get(id(place.holder))
    return place.value is MISSING and keys is not None and place.key not in keys.keys
