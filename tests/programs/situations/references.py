"""What stands behind a reference: context variables and weak references."""

from __future__ import annotations

import contextvars
import threading
import weakref

from situations.table import situation, vec

CURRENT = contextvars.ContextVar("CURRENT", default=1.0)
LOCAL = threading.local()


@situation("ContextVar")
def a_context_variable_is_set(jit):
    token = CURRENT.set(1.0)
    f = jit(lambda x: x * CURRENT.get())
    for value in (1.0, 1.0, 1.0, 4.0, 4.0, 1.0):
        CURRENT.set(value)
        yield f(vec())
    CURRENT.reset(token)


@situation("ContextVar")
def a_context_variable_without_a_value(jit):
    var = contextvars.ContextVar("var")
    f = jit(lambda x: x * var.get(2.0))
    for call in range(5):
        if call == 3:
            var.set(7.0)
        yield f(vec())


@situation("ContextVar")
def a_context_variable_of_another_context(jit):
    f = jit(lambda x: x * CURRENT.get())
    for value in (1.0, 1.0, 2.0, 3.0, 1.0):
        context = contextvars.copy_context()
        context.run(CURRENT.set, value)
        yield context.run(f, vec())


@situation("ContextVar")
def a_context_variable_holds_a_tensor(jit):
    var = contextvars.ContextVar("var", default=vec(1, 1, 1))
    f = jit(lambda x: x * var.get())
    for call in range(5):
        if call == 3:
            var.set(vec(4, 5, 6))
        yield f(vec())


@situation("ContextVar")
def a_context_variable_is_set_inside(jit):
    var = contextvars.ContextVar("var", default=1)

    @jit
    def f(x):
        var.set(var.get() + 1)
        return x * var.get()

    yield f(vec())
    for _ in range(4):
        yield f(vec())


class Owner:
    k = 2.0


@situation("weakref")
def a_weak_reference_to_what_changes(jit):
    owner = Owner()
    owner.k = 2.0
    ref = weakref.ref(owner)
    f = jit(lambda x: x * ref().k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        owner.k = k
        yield f(vec())


@situation("weakref")
def what_it_refers_to_goes_away(jit):
    owner = Owner()
    ref = weakref.ref(owner)
    f = jit(lambda x: x * 2 if ref() is not None else x)
    for call in range(5):
        if call == 3:
            del owner
        yield f(vec())


@situation("weakref")
def a_weak_dict_has_another_value(jit):
    table, key = weakref.WeakKeyDictionary(), Owner()
    table[key] = 2.0
    f = jit(lambda x: x * table[key])
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        table[key] = k
        yield f(vec())


@situation("weakref")
def a_weak_set_grows(jit):
    known, kept = weakref.WeakSet(), [Owner() for _ in range(6)]
    f = jit(lambda x: x * len(known))
    for call in range(6):
        if call != 1:
            known.add(kept[call])
        yield f(vec())


@situation("weakref")
def a_weak_proxy(jit):
    owner = Owner()
    proxy = weakref.proxy(owner)
    f = jit(lambda x: x * proxy.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        owner.k = k
        yield f(vec())
