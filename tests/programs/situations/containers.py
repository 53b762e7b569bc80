"""Containers whose contents change between calls: of every kind that Python has."""

from __future__ import annotations

import array
import collections
import types
from types import SimpleNamespace

from situations.table import situation, vec


class Bag(dict):
    """A dict of somebody's own."""


class Layers(list):
    """A list of somebody's own, with an attribute beside its items."""

    bias = 0.0


class Pair(tuple):
    """A tuple of somebody's own."""


def _put(key, value):
    return lambda held: held.__setitem__(key, value)


# What is made, what a jitted function reads of it, and what is done to it before the fourth call.
CONTENTS = {
    "an item of a dict": (lambda: {"k": 2.0}, lambda d: d["k"], _put("k", 5.0)),
    "an item of a dict in a dict": (
        lambda: {"a": {"k": 2.0}}, lambda d: d["a"]["k"], lambda d: d["a"].update(k=5.0)),
    "the order of a dict": (
        lambda: {"a": 1.0, "b": 2.0}, lambda d: next(iter(d.values())),
        lambda d: d.update(a=d.pop("a"))),
    "a key of a dict is another": (
        lambda: {"a": 1.0}, lambda d: 1.0 if "a" in d else 3.0,
        lambda d: d.update(b=d.pop("a"))),
    "how many a dict has": (lambda: {"a": 1.0}, len, _put("b", 1.0)),
    "an item of an OrderedDict": (
        lambda: collections.OrderedDict(k=2.0), lambda d: d["k"], _put("k", 5.0)),
    "the order of an OrderedDict": (
        lambda: collections.OrderedDict(a=1.0, b=2.0), lambda d: next(iter(d.values())),
        lambda d: d.move_to_end("a")),
    "the last of an OrderedDict": (
        lambda: collections.OrderedDict(a=1.0, b=2.0), lambda d: d[next(reversed(d))],
        _put("c", 9.0)),
    "get of an OrderedDict": (
        lambda: collections.OrderedDict(a=1.0), lambda d: d.get("b", 4.0), _put("b", 9.0)),
    "a tensor in an OrderedDict": (
        lambda: collections.OrderedDict(x=vec()), lambda d: d["x"], _put("x", vec(7, 8, 9))),
    "an item of a defaultdict": (
        lambda: collections.defaultdict(float, k=2.0), lambda d: d["k"], _put("k", 5.0)),
    "the default of a defaultdict": (
        lambda: collections.defaultdict(lambda: 2.0), lambda d: d.get("k", d.default_factory()),
        lambda d: setattr(d, "default_factory", lambda: 6.0)),
    "a list in a defaultdict": (
        lambda: collections.defaultdict(list, k=[1.0]), lambda d: sum(d["k"]),
        lambda d: d["k"].append(5.0)),
    "a tensor in a defaultdict": (
        lambda: collections.defaultdict(vec, k=vec()), lambda d: d["k"], _put("k", vec(4, 5, 6))),
    "a key appears in a defaultdict": (
        lambda: collections.defaultdict(float, a=1.0), lambda d: 1.0 + len(d), _put("b", 1.0)),
    "a count of a Counter": (
        lambda: collections.Counter("aab"), lambda c: float(c["a"]), lambda c: c.update("a")),
    "a count of a Counter that is not there": (
        lambda: collections.Counter("aab"), lambda c: 1.0 + c["z"], lambda c: c.update("zz")),
    "the total of a Counter": (
        lambda: collections.Counter("ab"), lambda c: float(c.total()), lambda c: c.update("bb")),
    "the most common of a Counter": (
        lambda: collections.Counter("aab"), lambda c: float(ord(c.most_common(1)[0][0])),
        lambda c: c.update("bbb")),
    "a Counter that is subtracted from": (
        lambda: collections.Counter(a=3), lambda c: float(c["a"]), lambda c: c.subtract("a")),
    "the first of a deque": (
        lambda: collections.deque([2.0, 3.0]), lambda d: d[0], lambda d: d.rotate(1)),
    "the sum of a deque": (
        lambda: collections.deque([2.0, 3.0], maxlen=2), sum, lambda d: d.append(9.0)),
    "a tensor in a deque": (
        lambda: collections.deque([vec()], maxlen=1), lambda d: d[-1],
        lambda d: d.append(vec(9, 8, 7))),
    "an item of a deque is set": (
        lambda: collections.deque([2.0, 3.0]), lambda d: d[1], _put(1, 8.0)),
    "the length of a deque": (
        lambda: collections.deque([2.0]), len, lambda d: d.appendleft(1.0)),
    "a member of a set": (
        lambda: {"relu"}, lambda s: 2.0 if "relu" in s else 3.0, lambda s: s.discard("relu")),
    "the size of a set": (lambda: {1, 2}, len, lambda s: s.add(3)),
    "one member for another in a set": (
        lambda: {1.0, 2.0}, sum, lambda s: (s.discard(1.0), s.add(5.0))),
    "a set of names is emptied": (
        lambda: {"frozen"}, lambda s: 0.5 if s else 1.0, lambda s: s.clear()),
    "a set that is compared": (
        lambda: {1, 2}, lambda s: 2.0 if s <= {1, 2, 3} else 4.0, lambda s: s.add(9)),
    "an item of a list": (lambda: [2.0, 3.0], lambda v: v[0], _put(0, 5.0)),
    "the order of a list": (lambda: [2.0, 3.0], lambda v: v[0], lambda v: v.reverse()),
    "a list in a list": (lambda: [[2.0]], lambda v: v[0][0], lambda v: v[0].__setitem__(0, 6.0)),
    "a list in a tuple": (lambda: ([2.0],), lambda v: v[0][0], lambda v: v[0].__setitem__(0, 6.0)),
    "a list grows and shrinks": (
        lambda: [2.0, 3.0], lambda v: v[-1], lambda v: (v.append(7.0), v.pop(0))),
    "an item of a subclass of list": (lambda: Layers([2.0]), lambda v: v[0], _put(0, 5.0)),
    "the length of a subclass of list": (lambda: Layers([2.0]), len, lambda v: v.append(1.0)),
    "an attribute of a subclass of list": (
        lambda: Layers([2.0]), lambda v: v[0] + v.bias, lambda v: setattr(v, "bias", 4.0)),
    "a tensor in a subclass of list": (
        lambda: Layers([vec()]), lambda v: v[0], _put(0, vec(3, 2, 1))),
    "the sum of a subclass of list": (lambda: Layers([1.0, 2.0]), sum, lambda v: v.extend([3.0])),
    "an item of a subclass of dict": (lambda: Bag(k=2.0), lambda d: d["k"], _put("k", 5.0)),
    "get of a subclass of dict": (
        lambda: Bag(), lambda d: d.get("k", 2.0), lambda d: d.update(k=5.0)),
    "a list in a subclass of tuple": (
        lambda: Pair([[2.0]]), lambda v: v[0][0], lambda v: v[0].__setitem__(0, 5.0)),
    "a byte of a bytearray": (lambda: bytearray(b"\2\3"), lambda b: float(b[0]), _put(0, 9)),
    "the length of a bytearray": (lambda: bytearray(b"\2"), len, lambda b: b.extend(b"12")),
    "the sum of a bytearray": (lambda: bytearray(4), lambda b: 1.0 + sum(b), _put(2, 3)),
    "a comparison of a bytearray": (
        lambda: bytearray(b"on"), lambda b: 2.0 if b == b"on" else 3.0,
        lambda b: b.__setitem__(slice(None), b"of")),
    "a bit of a bytearray": (
        lambda: bytearray(1), lambda b: 2.0 if b[0] & 1 else 3.0, _put(0, 1)),
    "an item of an array": (lambda: array.array("d", [2.0]), lambda a: a[0], _put(0, 5.0)),
    "the sum of an array": (
        lambda: array.array("d", [2.0]), sum, lambda a: a.append(4.0)),
    "an array of integers": (
        lambda: array.array("i", [2, 3]), lambda a: a[1], lambda a: a.reverse()),
    "a memoryview of an array": (
        lambda: memoryview(array.array("d", [2.0])), lambda m: m[0], _put(0, 5.0)),
    "a slice of an array": (
        lambda: array.array("d", [1.0, 2.0, 3.0]), lambda a: sum(a[1:]), _put(2, 9.0)),
    "what a mappingproxy shows": (
        lambda: SimpleNamespace(d=(d := {"k": 2.0}), view=types.MappingProxyType(d)),
        lambda s: s.view["k"], lambda s: s.d.update(k=5.0)),
    "a ChainMap": (
        lambda: collections.ChainMap({}, {"k": 2.0}), lambda d: d["k"], _put("k", 5.0)),
    "the last map of a ChainMap": (
        lambda: collections.ChainMap({}, {"k": 2.0}), lambda d: d["k"],
        lambda d: d.maps[1].update(k=5.0)),
    "the values of a dict": (
        lambda: SimpleNamespace(d=(d := {"k": 2.0}), values=d.values()),
        lambda s: sum(s.values), lambda s: s.d.update(k=5.0)),
    "a UserDict": (lambda: collections.UserDict(k=2.0), lambda d: d["k"], _put("k", 5.0)),
    "a UserList": (lambda: collections.UserList([2.0]), lambda d: d[0], _put(0, 5.0)),
    "a range that is replaced": (
        lambda: SimpleNamespace(r=range(3)), lambda s: float(sum(s.r)),
        lambda s: setattr(s, "r", range(5))),
    "a frozenset that is replaced": (
        lambda: SimpleNamespace(f=frozenset({1})), lambda s: float(len(s.f)),
        lambda s: setattr(s, "f", frozenset({1, 2}))),
    "a nested namespace": (
        lambda: SimpleNamespace(a=SimpleNamespace(k=2.0)), lambda s: s.a.k,
        lambda s: setattr(s.a, "k", 5.0)),
}  # fmt: skip

KINDS = {
    "OrderedDict": ("OrderedDict",),
    "defaultdict": ("defaultdict",),
    "Counter": ("Counter",),
    "deque": ("deque",),
    " set": ("set",),
    "bytearray": ("bytearray",),
    " array": ("array",),
    "subclass of": ("subclasses of containers",),
    "mappingproxy": ("views of containers",),
    "ChainMap": ("views of containers",),
    "values of a dict": ("views of containers",),
    "User": ("views of containers",),
    " dict": ("dict",),
    " list": ("list",),
}


def _row(name, make, read, change):
    kinds = next((k for part, k in KINDS.items() if part in name), ("list",))

    @situation(*kinds, "containers", name=name)
    def contents(jit):
        held = make()
        f = jit(lambda x: x * read(held))
        for call in range(6):
            if call == 3:
                change(held)
            yield f(vec())


for _name, _what in CONTENTS.items():
    _row(_name, *_what)
