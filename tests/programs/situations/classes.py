"""Classes: their attributes and methods, and what stands above them."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import rows, situation, vec
from tutor import nn


class Config:
    scale, layers = 2.0, [1.0, 2.0]
    child = SimpleNamespace(bias=1.0)


@situation("class attributes")
def a_scale_of_the_configuration(jit):
    Config.scale = 2.0
    f = jit(lambda x: x * Config.scale)
    for scale in (2.0, 2.0, 2.0, 5.0, 5.0, 2.0):
        Config.scale = scale
        yield f(vec())


@situation("class attributes")
def a_list_of_the_configuration(jit):
    Config.layers = [1.0, 2.0]
    f = jit(lambda x: x * sum(Config.layers))
    for call in range(6):
        if call == 3:
            Config.layers[0] = 10.0
        yield f(vec())


@situation("class attributes")
def what_an_object_of_a_class_holds(jit):
    Config.child = SimpleNamespace(bias=1.0)
    f = jit(lambda x: x + Config.child.bias)
    for call in range(6):
        if call == 3:
            Config.child.bias = 4.0
        yield f(vec())


@situation("class attributes")
def a_class_attribute_read_through_self(jit):
    class Layer:
        gain = 1.0

        def __call__(self, x):
            return x * self.gain

    f = jit(Layer())
    for gain in (1.0, 1.0, 1.0, 3.0, 3.0, 1.0):
        Layer.gain = gain
        yield f(vec())


@situation("class attributes")
def an_attribute_of_self_hides_that_of_the_class(jit):
    class Layer:
        gain = 1.0

        def __call__(self, x):
            return x * self.gain

    layer = Layer()
    f = jit(layer)
    for call in range(7):
        if call == 3:
            layer.gain = 5.0
        if call == 5:
            del layer.gain
        yield f(vec())


@situation("class attributes")
def the_class_of_self_is_asked(jit):
    class Layer:
        gain = 1.0

        def run(self, x):
            return x * self.__class__.gain + type(self).gain

    layer = Layer()
    f = jit(layer.run)
    for gain in (1.0, 1.0, 1.0, 3.0, 3.0):
        Layer.gain = gain
        yield f(vec())


@situation("class attributes")
def a_static_method_is_replaced(jit):
    class Ops:
        @staticmethod
        def act(x):
            return x * 2

    f = jit(lambda x: Ops.act(x))
    for call in range(6):
        if call == 3:
            Ops.act = staticmethod(lambda x: x - 1)
        yield f(vec())


@situation("class attributes")
def a_class_method_reads_its_class(jit):
    class Ops:
        gain = 2.0

        @classmethod
        def act(cls, x):
            return x * cls.gain

    f = jit(lambda x: Ops.act(x))
    for gain in (2.0, 2.0, 2.0, 7.0, 7.0):
        Ops.gain = gain
        yield f(vec())


@situation("class attributes")
def a_counter_of_the_class_goes_up(jit):
    class Run:
        calls = 0

    @jit
    def f(x):
        Run.calls += 1
        return x * Run.calls

    for _ in range(6):
        yield f(vec()), Run.calls


@situation("class attributes")
def a_tensor_of_the_class_is_another(jit):
    class Shared:
        table = vec(1, 1, 1)

    f = jit(lambda x: x * Shared.table)
    for call in range(6):
        if call == 3:
            Shared.table = vec(5, 6, 7)
        yield f(vec())


@situation("class attributes")
def a_class_is_an_argument(jit):
    class A:
        k = 2.0

    class B:
        k = 3.0

    f = jit(lambda kind, x: x * kind.k)
    for kind, k in ((A, 2.0), (A, 2.0), (B, 3.0), (A, 2.0), (A, 8.0), (B, 9.0)):
        kind.k = k
        yield f(kind, vec())


# ---- metaclasses, inheritance --------------------------------------------------------------------


@situation("metaclasses")
def a_property_of_a_metaclass(jit):
    class Meta(type):
        at = 2.0

        @property
        def gain(cls):
            return Meta.at

    class Layer(metaclass=Meta):
        pass

    f = jit(lambda x: x * Layer.gain)
    for at in (2.0, 2.0, 2.0, 4.0, 4.0):
        Meta.at = at
        yield f(vec())


@situation("metaclasses")
def a_metaclass_holds_the_attribute(jit):
    class Meta(type):
        gain = 2.0

    class Layer(metaclass=Meta):
        pass

    f = jit(lambda x: x * Layer.gain)
    for gain in (2.0, 2.0, 2.0, 4.0, 2.0):
        Meta.gain = gain
        yield f(vec())


@situation("metaclasses")
def the_class_begins_to_hide_its_metaclass(jit):
    class Meta(type):
        gain = 2.0

    class Layer(metaclass=Meta):
        pass

    f = jit(lambda x: x * Layer.gain)
    for call in range(5):
        if call == 3:
            Layer.gain = 9.0
        yield f(vec())


@situation("metaclasses")
def a_metaclass_keeps_a_registry(jit):
    class Meta(type):
        known = {}

        def __init__(cls, name, bases, space):
            Meta.known[name] = cls

    class A(metaclass=Meta):
        k = 2.0

    f = jit(lambda x: x * sum(kind.k for kind in Meta.known.values()))
    for call in range(6):
        if call == 3:
            type.__call__(Meta, "B", (A,), {"k": 5.0})
        yield f(vec())


@situation("metaclasses")
def a_metaclass_answers_what_is_missing(jit):
    answers = {"gain": 2.0}

    class Meta(type):
        def __getattr__(cls, name):
            return answers[name]

    class Layer(metaclass=Meta):
        pass

    f = jit(lambda x: x * Layer.gain)
    for gain in (2.0, 2.0, 2.0, 4.0, 4.0):
        answers["gain"] = gain
        yield f(vec())


@situation("inheritance")
def the_base_class_changes(jit):
    class Base:
        gain = 2.0

    class Layer(Base):
        def run(self, x):
            return x * self.gain

    f = jit(Layer().run)
    for gain in (2.0, 2.0, 2.0, 4.0, 4.0):
        Base.gain = gain
        yield f(vec())


@situation("inheritance")
def a_middle_class_begins_to_override(jit):
    class Base:
        def act(self, x):
            return x * 2

    class Middle(Base):
        pass

    class Layer(Middle):
        def run(self, x):
            return self.act(x)

    f = jit(Layer().run)
    for call in range(5):
        if call == 3:
            Middle.act = lambda self, x: x * 7
        yield f(vec())


@situation("inheritance")
def what_super_finds_is_replaced(jit):
    class Base:
        def act(self, x):
            return x * 2

    class Layer(Base):
        def act(self, x):
            return super().act(x) + 1

    f = jit(Layer().act)
    for call in range(5):
        if call == 3:
            Base.act = lambda self, x: x * 7
        yield f(vec())


@situation("inheritance")
def the_bases_are_others(jit):
    class A:
        gain = 2.0

    class B:
        gain = 5.0

    class Layer(A):
        pass

    f = jit(lambda layer, x: x * layer.gain)
    layer = Layer()
    for call in range(6):
        Layer.__bases__ = (B,) if call >= 3 else (A,)
        yield f(layer, vec())


@situation("inheritance")
def a_module_that_inherits_its_forward(jit):
    class Base(nn.Module):
        slope = 1.0

        def forward(self, x):
            return x.relu() * self.slope

    class Net(Base):
        pass

    model = Net()
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 2:
            Base.slope = 3.0
        if call == 4:
            Net.slope = 5.0
        yield f(rows(call))


@situation("inheritance")
def isinstance_of_a_registered_kind(jit):
    class Even:
        pass

    class Odd(Even):
        pass

    s = SimpleNamespace(kind=Odd())
    f = jit(lambda x: x * 2 if isinstance(s.kind, Odd) else x * 3)
    for call in range(6):
        s.kind = Even() if call >= 3 else Odd()
        yield f(vec())
