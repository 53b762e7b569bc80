"""What a function reads by ways other than a name: imports inside, globals(), attrgetter, methods
of C objects."""

from __future__ import annotations

import operator
import sys
import types
from types import SimpleNamespace

from situations.table import situation, vec

K = 2.0


def _module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(names)
    return made


@situation("imports inside")
def a_module_is_imported_inside(jit):
    settings = _module("settings_of_a_situation", rate=2.0)

    @jit
    def f(x):
        import settings_of_a_situation

        return x * settings_of_a_situation.rate

    for rate in (2.0, 2.0, 2.0, 5.0, 5.0):
        settings.rate = rate
        yield f(vec())


@situation("imports inside")
def a_name_is_imported_inside(jit):
    settings = _module("settings_of_a_situation", rate=2.0)

    @jit
    def f(x):
        from settings_of_a_situation import rate

        return x * rate

    for rate in (2.0, 2.0, 2.0, 5.0, 5.0):
        settings.rate = rate
        yield f(vec())


@situation("imports inside")
def an_optional_import_becomes_possible(jit):
    sys.modules.pop("extra_of_a_situation", None)

    @jit
    def f(x):
        try:
            import extra_of_a_situation as extra
        except ImportError:
            return x
        return x * extra.factor

    for call in range(6):
        if call == 3:
            _module("extra_of_a_situation", factor=4.0)
        yield f(vec())
    del sys.modules["extra_of_a_situation"]


@situation("imports inside")
def importlib_finds_it(jit):
    settings = _module("settings_of_a_situation", rate=2.0)

    @jit
    def f(x):
        import importlib

        return x * importlib.import_module("settings_of_a_situation").rate

    for rate in (2.0, 2.0, 2.0, 5.0, 5.0):
        settings.rate = rate
        yield f(vec())


@situation("imports inside")
def the_table_of_modules_is_read(jit):
    settings = _module("settings_of_a_situation", rate=2.0)
    f = jit(lambda x: x * sys.modules["settings_of_a_situation"].rate)
    for rate in (2.0, 2.0, 2.0, 5.0, 5.0):
        settings.rate = rate
        yield f(vec())


@situation("globals()")
def an_item_of_globals(jit):
    globals()["K"] = 2.0
    f = jit(lambda x: x * globals()["K"])
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        globals()["K"] = k
        yield f(vec())


@situation("globals()")
def get_of_globals(jit):
    globals().pop("MAYBE", None)
    f = jit(lambda x: x * globals().get("MAYBE", 1.0))
    for call in range(5):
        if call == 3:
            globals()["MAYBE"] = 4.0
        yield f(vec())
    del globals()["MAYBE"]


@situation("globals()")
def globals_are_written(jit):
    globals()["K"] = 0.0

    @jit
    def f(x):
        globals()["K"] += 1.0
        return x * K

    for _ in range(5):
        yield f(vec()), K


@situation("globals()")
def a_text_is_evaluated(jit):
    globals()["K"] = 2.0
    f = jit(lambda x: x * eval("K"))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        globals()["K"] = k
        yield f(vec())


@situation("globals()")
def getattr_of_this_module(jit):
    here = sys.modules[__name__]
    here.K = 2.0
    f = jit(lambda x: x * getattr(sys.modules[__name__], "K"))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        here.K = k
        yield f(vec())


@situation("globals()")
def vars_of_an_object(jit):
    c = SimpleNamespace(a=1.0, b=2.0)
    f = jit(lambda x: x * sum(vars(c).values()))
    for call in range(6):
        if call == 3:
            c.c = 5.0
        yield f(vec())


# What reads an attribute `a` or an item of an object without naming it in bytecode.
GETTERS = {
    "attrgetter": operator.attrgetter("a"),
    "attrgetter of a chain": operator.attrgetter("child.a"),
    "itemgetter": lambda s: operator.itemgetter("a")(s.table),
    "methodcaller": operator.methodcaller("read"),
    "getattr with a name that is put together": lambda s: getattr(s, "".join(["a"])),
    "a bound get of a dict": lambda s: s.get("a"),
    "a bound getitem of a list": lambda s: s.item(0),
    "object getattribute": lambda s: object.__getattribute__(s, "a"),
    "the dict of an object": lambda s: s.__dict__["a"],
    "map over attributes": lambda s: sum(map(s.table.__getitem__, ["a"])),
}


class Holder:
    def __init__(self):
        self.table, self.row, self.child = {"a": 2.0}, [2.0], SimpleNamespace(a=2.0)
        self.get, self.item, self.a = self.table.get, self.row.__getitem__, 2.0

    def read(self):
        return self.a

    def set(self, a):
        self.a = self.table["a"] = self.row[0] = self.child.a = a


def _getter(name, get):
    @situation("attrgetter" if "getter" in name or "get" in name else "bound C methods", name=name)
    def read(jit):
        s = Holder()
        f = jit(lambda x: x * get(s))
        for a in (2.0, 2.0, 2.0, 5.0, 5.0, 2.0):
            s.set(a)
            yield f(vec())


for _name, _get in GETTERS.items():
    _getter(_name, _get)


@situation("bound C methods")
def append_is_bound_to_a_name(jit):
    log = []
    note = log.append

    @jit
    def f(x):
        note(x.sum())
        return x

    for call in range(5):
        yield f(vec(call)), log


@situation("bound C methods")
def popleft_is_bound_to_a_name(jit):
    import collections

    queue = collections.deque(vec(i) for i in range(8))
    take = queue.popleft
    f = jit(lambda x: x * take())
    for _ in range(6):
        yield f(vec(10))


@situation("bound C methods")
def next_is_bound_to_a_name(jit):
    numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).__next__
    f = jit(lambda x: x * numbers())
    for _ in range(6):
        yield f(vec())


@situation("bound C methods")
def the_size_of_a_buffer_of_text(jit):
    import io

    text = io.StringIO()
    tell = text.tell
    f = jit(lambda x: x * tell())
    for _ in range(5):
        text.write("ab")
        yield f(vec())


@situation("bound C methods")
def a_bound_setdefault(jit):
    kept = {}
    once = kept.setdefault
    f = jit(lambda x: once("first", x * 2) + x)
    for call in range(6):
        if call == 4:
            kept.clear()
        yield f(vec(call)), kept
