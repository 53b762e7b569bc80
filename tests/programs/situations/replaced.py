"""What a function is made of is replaced: its defaults, code, class, __dict__ and dispatch."""

from __future__ import annotations

import functools
from types import SimpleNamespace

from situations.table import rows, situation, vec
from tutor import nn


def scaled(x, k=2.0, *, bias=0.0):
    return x * k + bias


@situation("replaced")
def the_defaults_of_a_function(jit):
    scaled.__defaults__ = (2.0,)
    f = jit(lambda x: scaled(x))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        scaled.__defaults__ = (k,)
        yield f(vec())
    scaled.__defaults__ = (2.0,)


@situation("replaced")
def the_defaults_of_the_jitted_function(jit):
    def own(x, k=2.0):
        return x * k

    f = jit(own)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        own.__defaults__ = (k,)
        yield f(vec())


@situation("replaced", "keywords")
def the_keyword_defaults_of_a_function(jit):
    f = jit(lambda x: scaled(x))
    for bias in (0.0, 0.0, 0.0, 5.0, 0.0):
        scaled.__kwdefaults__["bias"] = bias
        yield f(vec())


@situation("replaced")
def the_code_of_a_function(jit):
    def act(x):
        return x * 2

    def other(x):
        return x - 1

    f = jit(lambda x: act(x))
    for call in range(5):
        if call == 3:
            act.__code__ = other.__code__
        yield f(vec())


@situation("replaced")
def the_code_of_the_jitted_function(jit):
    def own(x):
        return x * 2

    f = jit(own)
    for call in range(5):
        if call == 3:
            own.__code__ = (lambda x: x * 7).__code__
        yield f(vec())


@situation("replaced")
def the_class_of_an_object(jit):
    class Relu:
        def __call__(self, x):
            return x.relu()

    class Tanh:
        def __call__(self, x):
            return x.tanh()

    act = Relu()
    f = jit(lambda x: act(x))
    for call in range(6):
        act.__class__ = Tanh if call >= 3 else Relu
        yield f(rows(call))


@situation("replaced")
def the_class_of_a_layer(jit):
    model = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))
    f = jit(lambda x: model(x))
    for call in range(6):
        model.layers[0].__class__ = nn.Tanh if call >= 3 else nn.ReLU
        yield f(rows(call))


@situation("replaced")
def the_dict_of_an_object_is_replaced(jit):
    s = SimpleNamespace()

    class Box:
        def __init__(self):
            self.k = 2.0

    s.box = Box()
    f = jit(lambda x: x * s.box.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        s.box.__dict__ = {"k": k}
        yield f(vec())


@situation("replaced")
def the_dict_of_an_object_is_shared(jit):
    """The "Borg": all objects of the class have one __dict__."""

    class Borg:
        shared = {"k": 2.0}

        def __init__(self):
            self.__dict__ = self.shared

    one, other = Borg(), Borg()
    f = jit(lambda x: x * one.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        other.k = k
        yield f(vec())


# ---- dispatched ----------------------------------------------------------------------------------


@situation("singledispatch")
def a_kind_is_registered_later(jit):
    @functools.singledispatch
    def act(kind, x):
        return x

    f = jit(lambda x: act(1, x))
    for call in range(5):
        if call == 3:
            act.register(int, lambda kind, x: x * 5)
        yield f(vec())


@situation("singledispatch")
def a_kind_is_registered_again(jit):
    @functools.singledispatch
    def act(kind, x):
        return x

    act.register(str, lambda kind, x: x * 2)
    f = jit(lambda x: act("a", x))
    for call in range(5):
        if call == 3:
            act.register(str, lambda kind, x: x * 3)
        yield f(vec())


@situation("singledispatch")
def what_is_dispatched_on_changes(jit):
    @functools.singledispatch
    def act(kind, x):
        return x

    act.register(int, lambda kind, x: x * 2)
    act.register(str, lambda kind, x: x * 3)
    s = SimpleNamespace(kind=1)
    f = jit(lambda x: act(s.kind, x))
    for kind in (1, 1, 1, "a", 2.0, 1):
        s.kind = kind
        yield f(vec())


@situation("singledispatch")
def a_method_is_dispatched(jit):
    class Loss:
        @functools.singledispatchmethod
        def of(self, kind, x):
            return x

    f = jit(lambda loss, x: loss.of(1, x))
    loss = Loss()
    for call in range(5):
        if call == 3:
            Loss.__dict__["of"].register(int)(lambda self, kind, x: x * 4)
        yield f(loss, vec())


@situation("singledispatch")
def the_registered_function_reads_a_setting(jit):
    s = SimpleNamespace(k=2.0)

    @functools.singledispatch
    def act(kind, x):
        return x

    act.register(int, lambda kind, x: x * s.k)
    f = jit(lambda x: act(1, x))
    for k in (2.0, 2.0, 2.0, 6.0, 2.0):
        s.k = k
        yield f(vec())


@situation("singledispatch")
def a_table_of_functions_by_name(jit):
    table = {"act": lambda x: x * 2}
    f = jit(lambda x: table["act"](x))
    for call in range(5):
        if call == 3:
            table["act"] = lambda x: x * 3
        yield f(vec())
