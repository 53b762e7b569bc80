"""What is asked for and not there: attributes, keys, globals."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import net, rows, situation, vec
from tutor import nn

# ---- absent --------------------------------------------------------------------------------------


@situation("absent attributes")
def getattr_with_a_default(jit):
    c = SimpleNamespace()
    f = jit(lambda x: x * getattr(c, "k", 1.0))
    for call in range(7):
        if call == 3:
            c.k = 5.0
        if call == 5:
            del c.k
        yield f(vec())


@situation("absent attributes")
def hasattr_decides(jit):
    c = SimpleNamespace()
    f = jit(lambda x: x * 2 if hasattr(c, "k") else x)
    for call in range(5):
        if call == 3:
            c.k = None
        yield f(vec())


@situation("absent attributes")
def an_attribute_error_is_caught(jit):
    c = SimpleNamespace()

    @jit
    def f(x):
        try:
            return x * c.k
        except AttributeError:
            return x

    for call in range(5):
        if call == 3:
            c.k = 4.0
        yield f(vec())


@situation("absent attributes")
def a_global_is_defined_later(jit):
    globals().pop("LATER", None)

    @jit
    def f(x):
        try:
            return x * LATER  # noqa: F821
        except NameError:
            return x

    for call in range(5):
        if call == 3:
            globals()["LATER"] = 6.0
        yield f(vec())


@situation("absent attributes")
def a_builtin_is_hidden_by_a_global(jit):
    globals().pop("max", None)
    f = jit(lambda x: x * max(2, 3))
    for call in range(5):
        if call == 3:
            globals()["max"] = lambda *n: 10
        yield f(vec())
    globals().pop("max", None)


@situation("absent attributes")
def an_adapter_is_added_to_a_module(jit):
    class Net(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            y = self.layer(x)
            return y + self.adapter(x) if hasattr(self, "adapter") else y

    model, adapter = Net(), nn.Linear(3, 3)
    f = jit(lambda x: model(x))
    for call in range(6):
        if call == 3:
            model.adapter = adapter
        yield f(rows(call))


@situation("absent attributes")
def a_key_that_is_missing_in_vars(jit):
    c = SimpleNamespace(a=1.0)
    f = jit(lambda x: x * vars(c).get("b", 2.0))
    for call in range(5):
        if call == 3:
            c.b = 7.0
        yield f(vec())


@situation("absent attributes")
def a_layer_asks_for_what_it_does_not_have(jit):
    model = net()
    f = jit(lambda x: model(x) * getattr(model.layers[0], "scale", 1.0))
    for call in range(5):
        if call == 3:
            model.layers[0].scale = 3.0
        yield f(rows(call))


@situation("absent attributes")
def the_first_call_makes_the_attribute(jit):
    c = SimpleNamespace()

    @jit
    def f(x):
        if not hasattr(c, "total"):
            c.total = x * 0
        c.total = c.total + x
        return c.total

    for call in range(7):
        if call == 4:
            del c.total
        yield f(vec())
