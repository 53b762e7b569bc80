"""Attributes that something computes: properties, descriptors, slots."""

from __future__ import annotations

import functools

from situations.table import rows, situation, vec
from tutor import nn


@situation("properties")
def a_property_of_another_attribute(jit):
    class Rate:
        base = 1.0

        @property
        def now(self):
            return self.base * 2

    rate = Rate()
    f = jit(lambda x: x * rate.now)
    for base in (1.0, 1.0, 1.0, 3.0, 3.0):
        rate.base = base
        yield f(vec())


@situation("properties")
def a_property_counts_its_calls(jit):
    class Rate:
        calls = 0

        @property
        def now(self):
            self.calls += 1
            return self.calls

    rate = Rate()
    f = jit(lambda x: x * rate.now)
    for _ in range(5):
        yield f(vec()), rate.calls


@situation("properties")
def a_property_is_replaced_on_the_class(jit):
    class Rate:
        @property
        def now(self):
            return 2.0

    rate = Rate()
    f = jit(lambda x: x * rate.now)
    for call in range(5):
        if call == 3:
            Rate.now = property(lambda self: 5.0)
        yield f(vec())


@situation("properties")
def a_cached_property_is_forgotten(jit):
    class Table:
        size = 2.0

        @functools.cached_property
        def doubled(self):
            return self.size * 2

    table = Table()
    f = jit(lambda x: x * table.doubled)
    for call in range(7):
        if call == 3:
            table.size = 5.0
        if call == 5:
            del table.doubled
        yield f(vec())


@situation("properties")
def a_setter_writes_elsewhere(jit):
    class Box:
        kept = 1.0

        @property
        def value(self):
            return self.kept

        @value.setter
        def value(self, v):
            self.kept = v

    box = Box()

    @jit
    def f(x):
        box.value = box.value + 1
        return x * box.value

    for _ in range(5):
        yield f(vec()), box.kept


@situation("properties")
def a_property_of_a_module(jit):
    class Net(nn.Module):
        def __init__(self):
            self.layer, self.depth = nn.Linear(3, 3), 1

        @property
        def passes(self):
            return range(self.depth)

        def forward(self, x):
            for _ in self.passes:
                x = self.layer(x)
            return x

    model = Net()
    f = jit(model)
    for depth in (1, 1, 1, 3, 3, 2):
        model.depth = depth
        yield f(rows())


class Stored:
    """A descriptor that keeps its values outside of the object."""

    def __init__(self, value):
        self.value = value

    def __get__(self, instance, owner=None):
        return self.value

    def __set__(self, instance, value):
        self.value = value


@situation("descriptors")
def a_descriptor_holds_the_value(jit):
    class Layer:
        gain = Stored(2.0)

    layer = Layer()
    f = jit(lambda x: x * layer.gain)
    for gain in (2.0, 2.0, 2.0, 5.0, 5.0):
        layer.gain = gain
        yield f(vec())


@situation("descriptors")
def a_descriptor_is_set_inside(jit):
    class Layer:
        gain = Stored(2.0)

    layer = Layer()

    @jit
    def f(x):
        layer.gain = layer.gain + 1
        return x * layer.gain

    for _ in range(5):
        yield f(vec()), layer.gain


@situation("descriptors")
def a_descriptor_without_set(jit):
    class From:
        def __get__(self, instance, owner=None):
            return instance.table["k"]

    class Layer:
        gain = From()

    layer = Layer()
    layer.table = {"k": 2.0}
    f = jit(lambda x: x * layer.gain)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        layer.table["k"] = k
        yield f(vec())


@situation("descriptors")
def a_descriptor_with_a_tensor(jit):
    class Layer:
        w = Stored(vec(1, 1, 1))

    Layer.__dict__["w"].value = vec(1, 1, 1)
    layer = Layer()
    f = jit(lambda x: x * layer.w)
    for call in range(5):
        if call == 3:
            layer.w = vec(4, 5, 6)
        yield f(vec())


@situation("descriptors")
def a_descriptor_is_taken_away(jit):
    class Layer:
        gain = Stored(2.0)

    layer = Layer()
    layer.__dict__["gain"] = 7.0
    f = jit(lambda x: x * layer.gain)
    for call in range(5):
        if call == 3:
            del Layer.gain
        yield f(vec())


class Slotted:
    __slots__ = ("gain", "w")

    def __init__(self):
        self.gain, self.w = 2.0, vec(1, 1, 1)


@situation("slots")
def a_number_in_a_slot(jit):
    s = Slotted()
    f = jit(lambda x: x * s.gain)
    for gain in (2.0, 2.0, 2.0, 5.0, 2.0):
        s.gain = gain
        yield f(vec())


@situation("slots")
def a_tensor_in_a_slot(jit):
    s = Slotted()

    @jit
    def f(x):
        s.w = s.w + x
        return s.w * 2

    for call in range(5):
        if call == 3:
            s.w = vec(0, 0, 0)
        yield f(vec()), s.w


@situation("slots")
def an_empty_slot(jit):
    s = Slotted()
    f = jit(lambda x: x * getattr(s, "gain", 9.0))
    for call in range(6):
        if call == 2:
            del s.gain
        if call == 4:
            s.gain = 3.0
        yield f(vec())


@situation("slots")
def slots_of_a_base_class(jit):
    class More(Slotted):
        __slots__ = ("more",)

    s = More()
    s.more = 1.0
    f = jit(lambda x: x * s.gain + s.more)
    for gain, more in ((2.0, 1.0), (2.0, 1.0), (2.0, 1.0), (2.0, 4.0), (5.0, 4.0)):
        s.gain, s.more = gain, more
        yield f(vec())


@situation("slots")
def a_counter_in_a_slot(jit):
    s = Slotted()

    @jit
    def f(x):
        s.gain += 1.0
        return x * s.gain

    for _ in range(5):
        yield f(vec()), s.gain
