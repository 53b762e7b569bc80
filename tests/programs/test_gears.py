"""A replay never lies: whatever changes between two calls, jit gives what the function gives.

Each row is a situation: a world, the function that reads or changes it, and what happens to it from
outside. It is played as it is and jitted, in two worlds that are made alike: the results and what
is left must be the same at each call. Each row says in which gear it has to be: replayed where all
of it can be compared, as it is where that cannot be.
"""

from __future__ import annotations

import array
import collections
import contextvars
import enum
import functools
import importlib
import io
import itertools
import math
import operator
import queue
import random
import re
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tutor
from tutor import Tensor, nn
from tutor.backends import simd_cpp

REPLAYED, AS_IT_IS, EITHER = "replayed", "as it is", "either"

X = Tensor([1.0, 2.0])


class World:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def attribute(kind: str) -> Any:
    """An object, an attribute of which is somewhere: in it, in its class, nowhere."""

    class Base:
        scale = 2.0
        table: Any = {"k": 2.0}  # noqa: RUF012 - that it is shared is the point

        @staticmethod
        def by(x: Any) -> Any:
            return x * 2.0

        @classmethod
        def of(cls, x: Any) -> Any:
            return x * cls.scale

        @property
        def half(self) -> float:
            return self.scale / 2

        def method(self, x: Any) -> Any:
            return x * self.scale

    class Config(Base):
        pass

    return Config


def other(x: Any) -> Any:
    return x * 7.0


def other_of(cls: Any, x: Any) -> Any:
    return x * 9.0


# ---- rows: a name, a maker of the world `o`, the step, what changes, the gear ------------------

Row = tuple[str, Callable[[], Any], Callable[[Any, Any], Any], Callable[[Any, int], Any], str]


class Meta(type):
    level = 2.0

    @property
    def depth(cls) -> float:
        return cls.level * 2


def with_meta() -> Any:
    kind = Meta("kind", (Meta,), {})
    return kind("made", (), {"own": 1.0})


class Held:
    def __init__(self) -> None:
        self.w, self.k = 3.0, {"a": 1.0}


def holding() -> Any:
    return type(
        "Holding", (), {"held": Held(), "list": [1.0, 2.0], "inner": type("I", (), {"v": 2.0})}
    )


CLASSES: list[Row] = [
    (
        "attribute",
        lambda: attribute("")(),
        lambda o, x: x * o.scale,
        lambda o, n: setattr(type(o), "scale", float(n)),
        REPLAYED,
    ),
    (
        "attribute of a base",
        lambda: attribute("")(),
        lambda o, x: x * o.scale,
        lambda o, n: setattr(type(o).__base__, "scale", float(n)),
        REPLAYED,
    ),
    (
        "of the class itself",
        lambda: attribute(""),
        lambda o, x: x * o.scale,
        lambda o, n: setattr(o, "scale", float(n)),
        REPLAYED,
    ),
    (
        "of the class's base",
        lambda: attribute(""),
        lambda o, x: x * o.scale,
        lambda o, n: setattr(o.__base__, "scale", float(n)),
        REPLAYED,
    ),
    (
        "__class__.x",
        lambda: attribute("")(),
        lambda o, x: x * o.__class__.scale,
        lambda o, n: setattr(type(o), "scale", float(n)),
        REPLAYED,
    ),
    (
        "type(o).x",
        lambda: attribute("")(),
        lambda o, x: x * type(o).scale,
        lambda o, n: setattr(type(o), "scale", float(n)),
        REPLAYED,
    ),
    (
        "static method",
        lambda: attribute("")(),
        lambda o, x: o.by(x),
        lambda o, n: setattr(type(o), "by", staticmethod(other)),
        REPLAYED,
    ),
    (
        "static method of the class",
        lambda: attribute(""),
        lambda o, x: o.by(x),
        lambda o, n: setattr(o, "by", staticmethod(other)),
        REPLAYED,
    ),
    (
        "class method",
        lambda: attribute("")(),
        lambda o, x: o.of(x),
        lambda o, n: setattr(type(o), "of", classmethod(other_of)),
        REPLAYED,
    ),
    (
        "class method reads",
        lambda: attribute(""),
        lambda o, x: o.of(x),
        lambda o, n: setattr(o, "scale", float(n)),
        REPLAYED,
    ),
    (
        "property",
        lambda: attribute("")(),
        lambda o, x: x * o.half,
        lambda o, n: setattr(type(o), "half", property(lambda self: 5.0 + n)),
        REPLAYED,
    ),
    (
        "property reads",
        lambda: attribute("")(),
        lambda o, x: x * o.half,
        lambda o, n: setattr(type(o), "scale", float(n)),
        REPLAYED,
    ),
    (
        "method",
        lambda: attribute("")(),
        lambda o, x: o.method(x),
        lambda o, n: setattr(type(o), "method", lambda self, x: x * n),
        REPLAYED,
    ),
    (
        "method deleted",
        lambda: attribute("")(),
        lambda o, x: o.method(x),
        lambda o, n: (
            setattr(type(o), "method", other_of)
            if n % 2
            else type(o).__dict__.get("method") and delattr(type(o), "method")
        ),
        REPLAYED,
    ),
    (
        "dict of a class",
        lambda: attribute("")(),
        lambda o, x: x * o.table["k"],
        lambda o, n: o.table.update(k=float(n)),
        REPLAYED,
    ),
    (
        "what a class's object holds",
        holding,
        lambda o, x: x * o.held.w,
        lambda o, n: setattr(o.held, "w", float(n)),
        REPLAYED,
    ),
    (
        "deeper",
        holding,
        lambda o, x: x * o().held.k["a"],
        lambda o, n: o.held.k.update(a=float(n)),
        REPLAYED,
    ),
    (
        "list of a class",
        holding,
        lambda o, x: x * o.list[1] + len(o.list),
        lambda o, n: o.list.append(1.0),
        REPLAYED,
    ),
    (
        "class in a class",
        holding,
        lambda o, x: x * o.inner.v,
        lambda o, n: setattr(o.inner, "v", float(n)),
        REPLAYED,
    ),
    (
        "metaclass attribute",
        with_meta,
        lambda o, x: x * o.level,
        lambda o, n: setattr(Meta, "level", 2.0 + n % 3),
        REPLAYED,
    ),
    (
        "metaclass property",
        with_meta,
        lambda o, x: x * o.depth,
        lambda o, n: setattr(Meta, "level", 2.0 + n % 3),
        REPLAYED,
    ),
    (
        "bases",
        lambda: attribute("")(),
        lambda o, x: x * o.scale,
        lambda o, n: setattr(type(o), "__bases__", (type("B", (), {"scale": float(n)}),)),
        REPLAYED,
    ),
    (
        "__class__ replaced",
        lambda: attribute("")(),
        lambda o, x: o.method(x),
        lambda o, n: setattr(o, "__class__", type("C", (type(o),), {"scale": float(n)})),
        REPLAYED,
    ),
    (
        "an operator added",
        lambda: attribute("")(),
        lambda o, x: x * (o + 1.0 if hasattr(type(o), "__add__") else 1.0),
        lambda o, n: setattr(type(o), "__add__", lambda self, v: v + n),
        REPLAYED,
    ),
]


def plain_object() -> Any:
    class Thing:
        kind = 1.0

        def __init__(self) -> None:
            self.a = 2.0

    return Thing()


def tried(o: Any, x: Any) -> Any:
    try:
        return x * o.late
    except AttributeError:
        return x


def named_text(o: Any, x: Any) -> Any:
    return x * getattr(o, "l" + "ate", 1.0)


class Permissive:
    def __init__(self) -> None:
        self._data = {"k": 2.0}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._data.get(name, 1.0)


def late_global(o: Any, x: Any) -> Any:
    try:
        return x * SOMETIMES  # type: ignore[name-defined]
    except NameError:
        return x


def shadowed(o: Any, x: Any) -> Any:
    return x * abs(-2.0)


def in_module(name: str) -> Callable[[Any, int], Any]:
    return lambda o, n: globals().update({name: float(n)} if name == "SOMETIMES" else {name: other})


ABSENT: list[Row] = [
    (
        "getattr",
        plain_object,
        lambda o, x: x * getattr(o, "late", 1.0),
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
    (
        "getattr of the class",
        plain_object,
        lambda o, x: x * getattr(o, "late", 1.0),
        lambda o, n: setattr(type(o), "late", float(n)),
        REPLAYED,
    ),
    (
        "getattr by a made text",
        plain_object,
        named_text,
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
    (
        "hasattr",
        plain_object,
        lambda o, x: x * 2 if hasattr(o, "late") else x,
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
    (
        "hasattr, then deleted",
        plain_object,
        lambda o, x: x * 2 if hasattr(o, "a") else x,
        lambda o, n: o.__dict__.pop("a", None),
        REPLAYED,
    ),
    (
        "except AttributeError",
        plain_object,
        tried,
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
    (
        "except AttributeError, of the class",
        plain_object,
        tried,
        lambda o, n: setattr(type(o), "late", float(n)),
        REPLAYED,
    ),
    (
        "an attribute hides the class's",
        plain_object,
        lambda o, x: x * o.kind,
        lambda o, n: setattr(o, "kind", float(n)),
        REPLAYED,
    ),
    (
        "in a list, hides the class's",
        lambda: [plain_object()],
        lambda o, x: x * o[0].kind,
        lambda o, n: setattr(o[0], "kind", float(n)),
        REPLAYED,
    ),
    (
        "vars",
        plain_object,
        lambda o, x: x * len(vars(o)),
        lambda o, n: setattr(o, f"late{n}", 1.0),
        REPLAYED,
    ),
    (
        "in __dict__",
        plain_object,
        lambda o, x: x * (3.0 if "late" in o.__dict__ else 1.0),
        lambda o, n: setattr(o, "late", 1.0),
        REPLAYED,
    ),
    (
        "__dict__ replaced",
        plain_object,
        lambda o, x: x * o.a,
        lambda o, n: setattr(o, "__dict__", {"a": float(n)}),
        REPLAYED,
    ),
    (
        "a dict's get",
        lambda: {"a": 1.0},
        lambda o, x: x * o.get("late", 1.0),
        lambda o, n: o.update(late=float(n)),
        REPLAYED,
    ),
    (
        "__getattr__",
        Permissive,
        lambda o, x: x * o.k,
        lambda o, n: o._data.update(k=float(n)),
        REPLAYED,
    ),
    (
        "__getattr__, absent",
        Permissive,
        lambda o, x: x * o.late,
        lambda o, n: o._data.update(late=float(n)),
        REPLAYED,
    ),
    (
        "__getattr__, then there",
        Permissive,
        lambda o, x: x * o.late,
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
    ("a global defined later", lambda: None, late_global, in_module("SOMETIMES"), REPLAYED),
    ("a global that hides a builtin", lambda: None, shadowed, in_module("abs"), REPLAYED),
    (
        "an adapter added to a Module",
        lambda: Adapted(),
        lambda o, x: o(x),
        lambda o, n: setattr(o, "adapter", lambda x: x * n),
        REPLAYED,
    ),
    (
        "a slot filled later",
        lambda: Slotted(),
        lambda o, x: x * getattr(o, "late", 1.0),
        lambda o, n: setattr(o, "late", float(n)),
        REPLAYED,
    ),
]


class Adapted(nn.Module):
    def forward(self, x: Any) -> Any:
        if hasattr(self, "adapter"):
            return self.adapter(x * 1.0)
        return x * 3.0


class Slotted:
    __slots__ = ("a", "late")


class MyList(list[Any]):
    def total(self) -> Any:
        return sum(self)


class MyDict(dict[str, Any]):
    def pick(self) -> Any:
        return self["a"]


def numbers() -> Iterator[float]:
    yield from map(float, itertools.count(1))


def tensors() -> Iterator[Tensor]:
    for i in itertools.count(1):
        yield Tensor([float(i), 1.0])


ONE = Tensor([1.0, 1.0])
CONTENTS: list[Row] = [
    (
        "OrderedDict, a Tensor",
        lambda: collections.OrderedDict(x=Tensor([1.0, 2.0])),
        lambda o, x: x * o["x"],
        lambda o, n: o.update(x=Tensor([float(n), 0.0])),
        REPLAYED,
    ),
    (
        "OrderedDict, a number",
        lambda: collections.OrderedDict(x=1.0),
        lambda o, x: x * o["x"],
        lambda o, n: o.update(x=float(n)),
        REPLAYED,
    ),
    (
        "OrderedDict, order",
        lambda: collections.OrderedDict(a=1.0, b=2.0),
        lambda o, x: x * next(iter(o.values())),
        lambda o, n: o.move_to_end(next(iter(o))),
        REPLAYED,
    ),
    (
        "defaultdict",
        lambda: collections.defaultdict(float, a=1.0),
        lambda o, x: x * o["a"],
        lambda o, n: o.update(a=float(n)),
        REPLAYED,
    ),
    (
        "defaultdict, its factory",
        lambda: collections.defaultdict(lambda: 2.0, a=1.0),
        lambda o, x: x * o.default_factory(),
        lambda o, n: setattr(o, "default_factory", lambda: float(n)),
        REPLAYED,
    ),
    (
        "Counter",
        lambda: collections.Counter("aab"),
        lambda o, x: x * o["a"],
        lambda o, n: o.update("a"),
        REPLAYED,
    ),
    (
        "Counter, absent",
        lambda: collections.Counter("b"),
        lambda o, x: x * (1 + o["a"]),
        lambda o, n: o.update("a"),
        REPLAYED,
    ),
    (
        "deque",
        lambda: collections.deque([1.0, 2.0]),
        lambda o, x: x * o[0],
        lambda o, n: o.rotate(),
        REPLAYED,
    ),
    (
        "deque of Tensors",
        lambda: collections.deque([ONE, ONE * 2]),
        lambda o, x: x * o[0],
        lambda o, n: o.append(Tensor([float(n), 1.0])) or o.popleft(),
        REPLAYED,
    ),
    (
        "deque, its length",
        lambda: collections.deque([1.0]),
        lambda o, x: x * len(o),
        lambda o, n: o.append(1.0),
        REPLAYED,
    ),
    ("set", lambda: {1.0}, lambda o, x: x * sum(o), lambda o, n: o.add(float(n)), REPLAYED),
    (
        "set, in",
        lambda: {"a"},
        lambda o, x: x * 2 if "late" in o else x,
        lambda o, n: o.add("late"),
        REPLAYED,
    ),
    (
        "frozenset of a dict",
        lambda: {"s": frozenset({1.0})},
        lambda o, x: x * sum(o["s"]),
        lambda o, n: o.update(s=frozenset({float(n)})),
        REPLAYED,
    ),
    (
        "list subclass",
        lambda: MyList([1.0]),
        lambda o, x: x * o.total(),
        lambda o, n: o.append(float(n)),
        REPLAYED,
    ),
    (
        "list subclass, an item",
        lambda: MyList([1.0]),
        lambda o, x: x * o[0],
        lambda o, n: o.__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "list subclass, an attribute",
        lambda: MyList([1.0]),
        lambda o, x: x * getattr(o, "k", 1.0),
        lambda o, n: setattr(o, "k", float(n)),
        REPLAYED,
    ),
    (
        "dict subclass",
        lambda: MyDict(a=1.0),
        lambda o, x: x * o.pick(),
        lambda o, n: o.update(a=float(n)),
        REPLAYED,
    ),
    (
        "dict subclass, a Tensor",
        lambda: MyDict(a=ONE),
        lambda o, x: x * o.pick(),
        lambda o, n: o.update(a=Tensor([float(n), 1.0])),
        REPLAYED,
    ),
    (
        "dict, order",
        lambda: {"a": 1.0, "b": 2.0},
        lambda o, x: x * next(iter(o.values())),
        lambda o, n: o.update(a=o.pop("a")) if n % 2 else o.update(b=o.pop("b")),
        REPLAYED,
    ),
    (
        "dict, a key that equals",
        lambda: {1: 2.0},
        lambda o, x: x * 2 if str(next(iter(o))) == "1" else x,
        lambda o, n: (o.clear(), o.update({True: 2.0})),
        REPLAYED,
    ),
    (
        "dict, a key more",
        lambda: {"a": 1.0},
        lambda o, x: x * len(o),
        lambda o, n: o.update({n: 1.0}),
        REPLAYED,
    ),
    (
        "tuple in a list",
        lambda: [(1.0, [2.0])],
        lambda o, x: x * o[0][1][0],
        lambda o, n: o[0][1].__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "bytearray",
        lambda: bytearray(b"\x01\x02"),
        lambda o, x: x * o[0],
        lambda o, n: o.__setitem__(0, n),
        REPLAYED,
    ),
    (
        "array",
        lambda: array.array("d", [1.0, 2.0]),
        lambda o, x: x * o[0],
        lambda o, n: o.__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "NumPy array",
        lambda: np.array([1.0, 2.0]),
        lambda o, x: x * float(o[0]),
        lambda o, n: o.__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "NumPy array, its sum",
        lambda: np.ones(3),
        lambda o, x: x * float(o.sum()),
        lambda o, n: o.__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "NumPy array, large",
        lambda: np.ones(10000),
        lambda o, x: x * float(o[5000]),
        lambda o, n: o.__setitem__(5000, float(n)),
        AS_IT_IS,
    ),
    (
        "mappingproxy",
        lambda: (d := {"a": 1.0}, types.MappingProxyType(d)),
        lambda o, x: x * o[1]["a"],
        lambda o, n: o[0].update(a=float(n)),
        REPLAYED,
    ),
    (
        "mappingproxy alone",
        lambda: World(p=types.MappingProxyType(ALONE)),
        lambda o, x: x * o.p["a"],
        lambda o, n: ALONE.update(a=1.0 + n % 4),
        REPLAYED,
    ),
    (
        "popleft of Tensors",
        lambda: collections.deque([ONE, ONE * 2, ONE * 3] * 9),
        lambda o, x: x * o.popleft(),
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("next of a generator", tensors, lambda o, x: x * next(o), lambda o, n: None, AS_IT_IS),
    (
        "next of numbers",
        lambda: World(g=numbers()),
        lambda o, x: x * next(o.g),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "for of a generator",
        lambda: World(g=numbers()),
        lambda o, x: first_of(o.g, x),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "zip of a generator",
        lambda: World(g=zip(numbers(), [1.0] * 99, strict=False)),
        lambda o, x: x * next(o.g)[0],
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "itertools.count",
        lambda: World(c=itertools.count(1)),
        lambda o, x: x * next(o.c),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "cycle",
        lambda: World(c=itertools.cycle([1.0, 2.0, 3.0])),
        lambda o, x: x * next(o.c),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "an iterator of a list",
        lambda: World(i=iter([1.0] * 5 + [2.0] * 9)),
        lambda o, x: x * next(o.i),
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("Queue", lambda: filled(queue.Queue()), lambda o, x: x * o.get(), lambda o, n: None, AS_IT_IS),
    (
        "SimpleQueue",
        lambda: filled(queue.SimpleQueue()),
        lambda o, x: x * o.get(),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "LifoQueue",
        lambda: filled(queue.LifoQueue()),
        lambda o, x: x * o.get(),
        lambda o, n: None,
        AS_IT_IS,
    ),
]
ALONE = {"a": 1.0}


def first_of(numbers: Any, x: Any) -> Any:
    for number in numbers:
        return x * number
    return x


def filled(made: Any) -> Any:
    for i in range(20):
        made.put(Tensor([float(i), 1.0]))
    return made


def incremented(o: Any, x: Any) -> Any:
    o[0] += 1
    return x * float(o[0])


COUNT = 0.0


def a_global(o: Any, x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x * o.by


def set_global(o: Any, x: Any) -> Any:
    global COUNT
    COUNT = 5.0 + o.by
    return x


def nonlocal_of() -> Any:
    n = 0.0

    def count(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * n

    return count


class Registry:
    made = 0

    def __init__(self) -> None:
        type(self).made += 1


def printed(o: Any, x: Any) -> Any:
    return x * len(f"{o}")


class Shown:
    def __init__(self) -> None:
        self.size = 1

    def __repr__(self) -> str:
        return "x" * self.size


class Counting:
    calls = 0

    def __repr__(self) -> str:
        self.calls += 1
        return "x" * self.calls


SIDE: list[Row] = [
    (
        "Counter",
        collections.Counter,
        lambda o, x: (o.update(["a"]), x * o["a"])[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "Counter item",
        collections.Counter,
        lambda o, x: operator.setitem(o, "k", o["k"] + 1) or x,
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("set.add", set, lambda o, x: (o.add(len(o)), x * len(o))[1], lambda o, n: None, AS_IT_IS),
    (
        "deque.append",
        collections.deque,
        lambda o, x: (o.append(1), x * len(o))[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "deque.append, full",
        lambda: collections.deque([1.0], maxlen=1),
        lambda o, x: (o.append(o[0] + 1), x * o[0])[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("list item", lambda: [0], incremented, lambda o, n: None, AS_IT_IS),
    ("array item", lambda: array.array("d", [0]), incremented, lambda o, n: None, AS_IT_IS),
    ("bytearray item", lambda: bytearray(1), incremented, lambda o, n: None, AS_IT_IS),
    ("NumPy item", lambda: np.zeros(2), incremented, lambda o, n: None, AS_IT_IS),
    ("dict item", lambda: {0: 0}, incremented, lambda o, n: None, AS_IT_IS),
    (
        "OrderedDict item",
        lambda: collections.OrderedDict({0: 0}),
        incremented,
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "dict order",
        lambda: {"a": 1.0, "b": 2.0},
        lambda o, x: (
            o.__setitem__("a", o.pop("a"))
            if next(iter(o)) == "a"
            else o.__setitem__("b", o.pop("b")),
            x * next(iter(o.values())),
        )[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("a global", lambda: World(by=2.0), a_global, lambda o, n: None, AS_IT_IS),
    (
        "a global set from outside",
        lambda: World(by=2.0),
        set_global,
        lambda o, n: globals().update(COUNT=0.0),
        EITHER,
    ),
    ("a nonlocal", nonlocal_of, lambda o, x: o(x), lambda o, n: None, AS_IT_IS),
    (
        "of a class",
        lambda: type("R", (Registry,), {}),
        lambda o, x: (o(), x * o.made)[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "an attribute",
        lambda: World(n=0),
        lambda o, x: (setattr(o, "n", o.n + 1), x * o.n)[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "a new attribute",
        lambda: World(n=0),
        lambda o, x: (setattr(o, "m", getattr(o, "m", 0) + 1), x * o.m)[1],
        lambda o, n: None,
        AS_IT_IS,
    ),
    ("__repr__ reads", Shown, printed, lambda o, n: setattr(o, "size", n), REPLAYED),
    (
        "__repr__ reads, format",
        Shown,
        lambda o, x: x * len(f"{o!r:>9}") * o.size,
        lambda o, n: setattr(o, "size", n),
        REPLAYED,
    ),
    ("__repr__ counts", Counting, printed, lambda o, n: None, AS_IT_IS),
    (
        "__repr__ of a list",
        lambda: [Shown()],
        lambda o, x: x * len(repr(o)),
        lambda o, n: setattr(o[0], "size", n),
        REPLAYED,
    ),
    (
        "__str__ of a class",
        lambda: type("S", (), {"__str__": lambda self: "ab"})(),
        lambda o, x: x * len(str(o)),
        lambda o, n: setattr(type(o), "__str__", lambda self: "a" * n),
        REPLAYED,
    ),
]


VARIABLE: contextvars.ContextVar[float] = contextvars.ContextVar("variable", default=1.0)
LOCAL = threading.local()
LOCAL.k = 1.0
FRAMES: list[Any] = []


class Slow(threading.local):
    k = 1.0


def default(x: Any, by: Any = 2.0, *, plus: Any = 0.0) -> Any:
    return x * by + plus


def dispatched() -> Any:
    @functools.singledispatch
    def f(v: Any) -> float:
        return 1.0

    return f


def read_inside(o: Any, x: Any) -> Any:
    import config_of_guards

    return x * config_of_guards.K


def read_from_inside(o: Any, x: Any) -> Any:
    from config_of_guards import K

    return x * K


def read_as_inside(o: Any, x: Any) -> Any:
    import config_of_guards as c

    return x * c.deep.k


def fresh_module(o: Any) -> Any:
    module = types.ModuleType("config_of_guards")
    module.K, module.deep, module.f = 2.0, World(k=2.0), default  # type: ignore[attr-defined]
    sys.modules["config_of_guards"] = module
    return module


def module_world() -> Any:
    return World(m=fresh_module(None))


class Wrapping:
    def __init__(self) -> None:
        self.__wrapped__, self.k = default, 2.0

    def __call__(self, x: Any) -> Any:
        return self.__wrapped__(x) * self.k


OTHERS: list[Row] = [
    (
        "import inside",
        module_world,
        read_inside,
        lambda o, n: setattr(o.m, "K", float(n)),
        REPLAYED,
    ),
    (
        "from import inside",
        module_world,
        read_from_inside,
        lambda o, n: setattr(o.m, "K", float(n)),
        REPLAYED,
    ),
    (
        "import as inside",
        module_world,
        read_as_inside,
        lambda o, n: setattr(o.m.deep, "k", float(n)),
        REPLAYED,
    ),
    (
        "import inside, replaced",
        module_world,
        read_inside,
        lambda o, n: setattr(fresh_module(o), "K", float(n)),
        REPLAYED,
    ),
    (
        "a module's attribute",
        module_world,
        lambda o, x: x * o.m.K,
        lambda o, n: setattr(o.m, "K", float(n)),
        REPLAYED,
    ),
    (
        "a module's function",
        module_world,
        lambda o, x: o.m.f(x),
        lambda o, n: setattr(o.m, "f", other),
        REPLAYED,
    ),
    (
        "globals()",
        lambda: None,
        lambda o, x: x * (1 + globals()["COUNT"]),
        lambda o, n: globals().update(COUNT=float(n % 3)),
        AS_IT_IS,
    ),
    (
        "sys.modules",
        module_world,
        lambda o, x: x * sys.modules["config_of_guards"].K,
        lambda o, n: setattr(o.m, "K", float(n)),
        EITHER,
    ),
    (
        "vars of a module",
        module_world,
        lambda o, x: x * vars(o.m)["K"],
        lambda o, n: setattr(o.m, "K", float(n)),
        EITHER,
    ),
    (
        "attrgetter",
        lambda: World(k=1.0, g=operator.attrgetter("k")),
        lambda o, x: x * o.g(o),
        lambda o, n: setattr(o, "k", float(n)),
        EITHER,
    ),
    (
        "attrgetter made inside",
        lambda: World(a=World(k=1.0)),
        lambda o, x: x * operator.attrgetter("a.k")(o),
        lambda o, n: setattr(o.a, "k", float(n)),
        EITHER,
    ),
    (
        "methodcaller",
        lambda: World(o=attribute("")(), m=operator.methodcaller("method", 2.0)),
        lambda o, x: x * o.m(o.o),
        lambda o, n: setattr(o.o, "scale", float(n)),
        EITHER,
    ),
    (
        "itemgetter",
        lambda: World(d={"a": 1.0}, g=operator.itemgetter("a")),
        lambda o, x: x * o.g(o.d),
        lambda o, n: o.d.update(a=float(n)),
        REPLAYED,
    ),
    (
        "bound method of a list",
        lambda: (v := [1.0], v.__getitem__),
        lambda o, x: x * o[1](0),
        lambda o, n: o[0].__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "bound method of a dict",
        lambda: World(g={"a": 1.0}.get),
        lambda o, x: x * o.g("a"),
        lambda o, n: o.g.__self__.update(a=float(n)),
        REPLAYED,
    ),
    (
        "bound method of a deque",
        lambda: World(p=collections.deque(map(float, range(1, 30))).popleft),
        lambda o, x: x * o.p(),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "bound method of random",
        lambda: World(r=random.Random(3).random),
        lambda o, x: x * o.r(),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "bound method of a set",
        lambda: World(s={1.0}.__contains__),
        lambda o, x: x * 2 if o.s(5.0) else x,
        lambda o, n: o.s.__self__.add(5.0),
        REPLAYED,
    ),
    (
        "ContextVar",
        lambda: None,
        lambda o, x: x * VARIABLE.get(),
        lambda o, n: VARIABLE.set(float(n)),
        AS_IT_IS,
    ),
    (
        "weakref",
        lambda: World(k=World(v=1.0), keep=[]),
        lambda o, x: x * ref_of(o)().v,
        lambda o, n: setattr(o.k, "v", float(n)),
        EITHER,
    ),
    (
        "weakref, dead",
        lambda: (w := World(k=Held()), setattr(w, "r", weakref.ref(w.k)), w)[2],
        lambda o, x: x if o.r() is None else x * 2,
        lambda o, n: setattr(o, "k", None),
        AS_IT_IS,
    ),
    (
        "weakref, its object",
        lambda: (w := World(k=Held()), setattr(w, "r", weakref.ref(w.k)), w)[2],
        lambda o, x: x * o.r().w,
        lambda o, n: setattr(o.k, "w", float(n)),
        AS_IT_IS,
    ),
    (
        "WeakValueDictionary",
        lambda: (w := World(k=Held()), setattr(w, "d", weakref.WeakValueDictionary(a=w.k)), w)[2],
        lambda o, x: x * o.d["a"].w,
        lambda o, n: setattr(o.k, "w", float(n)),
        AS_IT_IS,
    ),
    (
        "__defaults__",
        lambda: functools.partial(copy_of(default)),
        lambda o, x: o.func(x),
        lambda o, n: setattr(o.func, "__defaults__", (float(n),)),
        REPLAYED,
    ),
    (
        "__kwdefaults__",
        lambda: World(f=copy_of(default)),
        lambda o, x: o.f(x),
        lambda o, n: setattr(o.f, "__kwdefaults__", {"plus": float(n)}),
        REPLAYED,
    ),
    (
        "__kwdefaults__, an item",
        lambda: World(f=copy_of(default)),
        lambda o, x: o.f(x),
        lambda o, n: o.f.__kwdefaults__.update(plus=float(n)),
        REPLAYED,
    ),
    (
        "__code__",
        lambda: World(f=copy_of(default)),
        lambda o, x: o.f(x),
        lambda o, n: setattr(o.f, "__code__", (lambda x, by=1, *, plus=0: x * 11.0).__code__),
        REPLAYED,
    ),
    (
        "an attribute of a function",
        lambda: World(f=copy_of(default)),
        lambda o, x: x * getattr(o.f, "k", 1.0),
        lambda o, n: setattr(o.f, "k", float(n)),
        REPLAYED,
    ),
    (
        "partial's keywords",
        lambda: functools.partial(default, by=3.0),
        lambda o, x: o(x),
        lambda o, n: o.keywords.update(by=float(n)),
        REPLAYED,
    ),
    (
        "partial's arguments",
        lambda: functools.partial(scaled, [2.0]),
        lambda o, x: o(x),
        lambda o, n: o.args[0].__setitem__(0, float(n)),
        REPLAYED,
    ),
    (
        "partial of a method",
        lambda: functools.partial(attribute("")().method),
        lambda o, x: o(x),
        lambda o, n: setattr(o.func.__self__, "scale", float(n)),
        REPLAYED,
    ),
    (
        "singledispatch",
        dispatched,
        lambda o, x: x * o("text"),
        lambda o, n: o.register(str, lambda v: float(n)),
        AS_IT_IS,
    ),
    (
        "singledispatch, another kind",
        dispatched,
        lambda o, x: x * o(1.5),
        lambda o, n: o.register(float, lambda v: float(n)),
        AS_IT_IS,
    ),
    (
        "thread-local",
        lambda: LOCAL,
        lambda o, x: x * o.k,
        lambda o, n: setattr(o, "k", 1.0 + n % 3),
        AS_IT_IS,
    ),
    (
        "thread-local subclass",
        Slow,
        lambda o, x: x * o.k,
        lambda o, n: setattr(o, "k", float(n)),
        AS_IT_IS,
    ),
    (
        "thread-local in an object",
        lambda: World(t=threading.local()),
        lambda o, x: x * getattr(o.t, "k", 1.0),
        lambda o, n: setattr(o.t, "k", float(n)),
        AS_IT_IS,
    ),
    (
        "the thread's name",
        lambda: None,
        lambda o, x: x * len(threading.current_thread().name),
        lambda o, n: setattr(threading.current_thread(), "name", "MainThread" + "x" * (n % 2)),
        AS_IT_IS,
    ),
    (
        "random",
        lambda: None,
        lambda o, x: x * random.random(),
        lambda o, n: random.seed(n),
        AS_IT_IS,
    ),
    (
        "np.random",
        lambda: None,
        lambda o, x: x * float(np.random.rand()),
        lambda o, n: np.random.seed(n),
        AS_IT_IS,
    ),
    (
        "a generator of NumPy",
        lambda: World(r=np.random.default_rng(0)),
        lambda o, x: x * float(o.r.random()),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "lru_cache",
        lambda: World(k=1.0),
        lambda o, x: x * cached(o),
        lambda o, n: cached.cache_clear(),
        AS_IT_IS,
    ),
    (
        "re.Match",
        lambda: World(m=re.match("a+", "aaa")),
        lambda o, x: x * len(o.m.group()),
        lambda o, n: setattr(o, "m", re.match("a+", "a" * n)),
        EITHER,
    ),
    ("__wrapped__", Wrapping, lambda o, x: o(x), lambda o, n: setattr(o, "k", float(n)), REPLAYED),
    (
        "__wrapped__ replaced",
        Wrapping,
        lambda o, x: o(x),
        lambda o, n: setattr(o, "__wrapped__", other),
        REPLAYED,
    ),
    (
        "an Event",
        threading.Event,
        lambda o, x: x * 2 if o.is_set() else x,
        lambda o, n: o.set(),
        EITHER,
    ),
    (
        "a lock",
        lambda: World(lock=threading.Lock(), k=1.0),
        lambda o, x: locked(o, x),
        lambda o, n: setattr(o, "k", float(n)),
        REPLAYED,
    ),
    (
        "a file",
        lambda: World(f=io.BufferedReader(io.BytesIO(bytes(99)))),
        lambda o, x: x * len(o.f.read(2)),
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "hash of a text",
        lambda: World(s="a"),
        lambda o, x: x * (hash(o.s) % 3),
        lambda o, n: setattr(o, "s", "a" * n),
        EITHER,
    ),
    (
        "-0.0 in an attribute",
        lambda: World(k=0.0),
        lambda o, x: 1.0 / (x * o.k),
        lambda o, n: setattr(o, "k", -0.0 if n % 2 else 0.0),
        REPLAYED,
    ),
    (
        "-0.0 in a list",
        lambda: [0.0],
        lambda o, x: 1.0 / (x * o[0]),
        lambda o, n: o.__setitem__(0, -0.0 if n % 2 else 0.0),
        REPLAYED,
    ),
    (
        "-0.0 in a complex",
        lambda: World(k=0j),
        lambda o, x: 1.0 / (x * o.k.imag),
        lambda o, n: setattr(o, "k", complex(0.0, -0.0)),
        REPLAYED,
    ),
    (
        "-0.0 in a deque",
        lambda: collections.deque([0.0]),
        lambda o, x: 1.0 / (x * o[0]),
        lambda o, n: o.__setitem__(0, -0.0),
        REPLAYED,
    ),
    (
        "1, True and 1.0",
        lambda: World(k=1),
        lambda o, x: x * 2 if isinstance(o.k, bool) else x,
        lambda o, n: setattr(o, "k", (True, 1.0, 1)[n % 3]),
        REPLAYED,
    ),
    (
        "1, True and 1.0 in a set",
        lambda: {1},
        lambda o, x: x * len(repr(o)),
        lambda o, n: (o.clear(), o.add((True, 1.0, 1)[n % 3])),
        REPLAYED,
    ),
    (
        "nan",
        lambda: World(k=float("nan")),
        lambda o, x: x * (2.0 if o.k == o.k else 3.0),
        lambda o, n: setattr(o, "k", float("nan") if n % 2 else 1.0),
        REPLAYED,
    ),
]


def patched(o: Any, n: int) -> None:
    Tensor.relu = o.relu if n % 2 else o.other  # type: ignore[method-assign]


class Rate(enum.Enum):
    SLOW = 1.0


def counted_in_context(o: Any, x: Any) -> Any:
    VARIABLE.set(VARIABLE.get() + 1)
    return x * VARIABLE.get()


def set_rate(o: Any, n: int) -> None:
    Rate.SLOW._value_ = 1.0 + n % 3


class Kinds:
    """Calls a jitted function with a class as its argument."""

    def __init__(self) -> None:
        self.kind, self.k = attribute(""), 2.0
        self.inner = tutor.jit(lambda kind, x: x * kind.scale)


MORE: list[Row] = [
    (
        "another jitted function",
        Kinds,
        lambda o, x: o.inner(o.kind, x) + o.inner(o.kind, x * o.k),
        lambda o, n: (setattr(o.kind, "scale", float(n)), o.inner(o.kind, X))[0],
        REPLAYED,
    ),
    (
        "a method of Tensor",
        lambda: World(relu=Tensor.relu, other=lambda t: t * 3.0),
        lambda o, x: x.relu(),
        patched,
        EITHER,
    ),
    (
        "a ContextVar that is set inside",
        lambda: None,
        counted_in_context,
        lambda o, n: None,
        AS_IT_IS,
    ),
    (
        "partial made of others",
        lambda: functools.partial(default, by=2.0),
        lambda o, x: o(x),
        lambda o, n: o.__setstate__((default, (), {"by": float(n)}, None)),
        REPLAYED,
    ),
    ("a member's value", lambda: Rate, lambda o, x: x * o.SLOW.value, set_rate, REPLAYED),
    (
        "a number of Python's, by a text",
        lambda: World(m=math),
        lambda o, x: x * vars(o.m)["tau"],
        lambda o, n: setattr(math, "tau", 6.0 + n % 2),
        AS_IT_IS,
    ),
    (
        "a number of Python's",
        lambda: None,
        lambda o, x: x * math.tau,
        lambda o, n: setattr(math, "tau", 6.0 + n % 2),
        REPLAYED,
    ),
    (
        "a module through importlib",
        module_world,
        lambda o, x: x * importlib.import_module("config_of_guards").K,
        lambda o, n: setattr(o.m, "K", float(n)),
        EITHER,
    ),
]


def locked(o: Any, x: Any) -> Any:
    with o.lock:
        return x * o.k


def scaled(by: list[float], x: Any) -> Any:
    return x * by[0]


def ref_of(o: Any) -> Any:
    return weakref.ref(o.k)


@functools.lru_cache
def cached(o: Any) -> float:
    return float(len(vars(o)))


def copy_of(function: Any) -> Any:
    return (
        types.FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
        if function.__kwdefaults__ is None
        else _with_keywords(function)
    )


def _with_keywords(function: Any) -> Any:
    made = types.FunctionType(
        function.__code__, globals(), function.__name__, function.__defaults__
    )
    made.__kwdefaults__ = dict(function.__kwdefaults__)
    return made


ROWS = {
    f"{kind}: {row[0]}": row[1:]
    for kind, rows in [("class", CLASSES), ("absent", ABSENT), ("content", CONTENTS),
                       ("side effect", SIDE), ("other", OTHERS), ("more", MORE)]
    for row in rows
}  # fmt: skip


def seen(value: Any) -> Any:
    """What can be seen of a world after a call."""
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (collections.Counter, collections.OrderedDict, dict)):
        return [(repr(k), seen(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return [seen(v) for v in value]
    if isinstance(value, (set, array.array, bytearray)):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [seen(v) for v in vars(value).values()] if type(value) is World else None


def played(name: str, jitted: bool) -> tuple[list[Any], Any]:
    make, step, change, _ = ROWS[name]
    before, relu, math.tau, Rate.SLOW._value_ = dict(globals()), Tensor.relu, 6.0, 1.0
    ALONE["a"], Meta.level = 1.0, 2.0
    world, found = make(), []
    function = types.FunctionType(
        step.__code__, globals(), "step", step.__defaults__, step.__closure__
    )
    run: Any = tutor.jit(lambda x: function(world, x)) if jitted else lambda x: function(world, x)
    random.seed(0), np.random.seed(0), VARIABLE.set(1.0), LOCAL.__dict__.update(k=1.0)
    globals().update(COUNT=0.0)
    try:
        for n in range(1, 11):
            if n > 4:
                change(world, n)
            result = run(Tensor([1.0, 2.0]))
            found.append((result.tolist(), seen(world), COUNT))
    finally:
        Tensor.relu = relu  # type: ignore[method-assign]
        for added in globals().keys() - before.keys():
            del globals()[added]
        globals().update(before)
    return found, run


@pytest.fixture(params=[True, False], ids=["twin", "readable"])
def twin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the quick look of C++ stands in for the guards."""
    if not request.param:
        monkeypatch.setattr(simd_cpp, "guards", lambda: None)
    return bool(request.param)


@pytest.mark.usefixtures("twin")
@pytest.mark.parametrize("name", ROWS)
def test_each_call_is_as_without_jit(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = played(name, False)
        found, run = played(name, True)
    assert repr(found) == repr(expected)
    stats, gear = run.stats(), ROWS[name][3]
    if gear == REPLAYED:
        assert stats["recorded"] >= 1 and stats["replayed"] >= 1 and stats["refused"] == 0, stats
    elif gear == AS_IT_IS:
        assert (stats["recorded"], stats["eager"]) == (0, 10), stats
