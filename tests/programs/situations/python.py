"""Recursion, closures, caches, context managers: what Python code is made of."""

from __future__ import annotations

import contextlib
import functools
from types import SimpleNamespace

import tutor
from situations.table import net, rows, situation, vec
from tutor import Tensor, nn


@situation("recursion")
def a_power_by_recursion(jit):
    @jit
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    for n in (2, 2, 2, 3, 1, 3):
        yield power(vec(), n)


@situation("recursion")
def a_depth_that_changes(jit):
    s = SimpleNamespace(depth=2)

    def go(x, depth):
        return x if depth == 0 else go(x * 2, depth - 1)

    f = jit(lambda x: go(x, s.depth))
    for depth in (2, 2, 2, 4, 0, 2):
        s.depth = depth
        yield f(vec())


@situation("recursion")
def a_tree_of_tensors(jit):
    def total(tree):
        if isinstance(tree, Tensor):
            return tree.sum()
        return sum((total(part) for part in tree), Tensor(0.0))

    f = jit(total)
    for call in range(5):
        tree = [vec(call), [vec(2), [vec(3)]]]
        yield f(tree if call != 3 else [*tree, vec(9)])


@situation("recursion")
def a_tree_that_is_state(jit):
    def total(node):
        return node.w + sum(map(total, node.children), 0.0)

    leaf = SimpleNamespace(w=vec(1), children=[])
    root = SimpleNamespace(w=vec(2), children=[leaf])
    f = jit(lambda x: x * total(root))
    for call in range(7):
        if call == 3:
            leaf.children.append(SimpleNamespace(w=vec(5), children=[]))
        if call == 5:
            leaf.children[0].w = vec(7)
        yield f(vec(10))


@situation("recursion")
def two_functions_call_each_other(jit):
    s = SimpleNamespace(stop=3)

    def even(x, n):
        return x if n >= s.stop else odd(x * 2, n + 1)

    def odd(x, n):
        return x if n >= s.stop else even(x + 1, n + 1)

    f = jit(lambda x: even(x, 0))
    for stop in (3, 3, 3, 5, 1, 3):
        s.stop = stop
        yield f(vec())


@situation("recursion")
def a_jitted_function_calls_another(jit):
    s = SimpleNamespace(k=2.0)
    inner = jit(lambda x: x * s.k)
    outer = jit(lambda x: inner(x) + inner(x * 2))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        s.k = k
        yield outer(vec()), inner(vec())


# ---- closures ------------------------------------------------------------------------------------


@situation("closures in loops")
def late_binding_of_the_variable_of_a_loop(jit):
    functions = []
    for k in (1.0, 2.0, 3.0):
        functions.append(jit(lambda x: x * k))
    for _ in range(3):
        yield [f(vec()) for f in functions]
    k = 10.0
    yield [f(vec()) for f in functions]


@situation("closures in loops")
def a_function_is_jitted_in_the_loop(jit):
    for k in (1.0, 2.0, 3.0):
        f = jit(lambda x, k=k: x * k)
        for _ in range(3):
            yield f(vec())


@situation("closures in loops")
def layers_are_closures(jit):
    gains = [1.0, 2.0, 3.0]
    layers = [lambda x, i=i: x * gains[i] + i for i in range(3)]

    @jit
    def f(x):
        for layer in layers:
            x = layer(x)
        return x

    for call in range(6):
        if call == 3:
            gains[1] = 5.0
        yield f(vec())


@situation("closures in loops")
def the_variable_of_the_loop_goes_on(jit):
    epoch = 0
    f = jit(lambda x: x * (epoch + 1))
    for epoch in range(6):
        yield f(vec())


@situation("closures in loops")
def a_cell_is_emptied(jit):
    k = 2.0

    @jit
    def f(x):
        try:
            return x * k
        except NameError:
            return x

    for call in range(6):
        if call == 3:
            del k
        if call == 5:
            k = 4.0
        yield f(vec())


@situation("closures in loops")
def a_generator_expression_over_state(jit):
    gains = [1.0, 2.0]
    f = jit(lambda x: sum(x * g for g in gains))
    for call in range(6):
        if call == 3:
            gains[:] = [4.0, 5.0]
        yield f(vec())


# ---- caches --------------------------------------------------------------------------------------


@situation("functools.cache")
def a_cached_table(jit):
    @functools.cache
    def table(n):
        return vec(*range(n))

    f = jit(lambda x: x * table(x.shape[0]))
    for n in (3, 3, 3, 2, 2, 3):
        yield f(vec(*range(n)))


@situation("functools.cache")
def a_cache_of_numbers_is_cleared(jit):
    s = SimpleNamespace(k=2.0)

    @functools.cache
    def gain():
        return s.k

    f = jit(lambda x: x * gain())
    for call in range(7):
        if call == 3:
            s.k = 5.0
        if call == 5:
            gain.cache_clear()
        yield f(vec())


@situation("functools.cache")
def how_often_a_cache_was_asked(jit):
    @functools.lru_cache(maxsize=2)
    def gain(n):
        return n * 2.0

    f = jit(lambda x: x * gain(x.shape[0]))
    for n in (3, 3, 3, 2, 3, 4):
        yield f(vec(*range(n))), gain.cache_info().hits


@situation("functools.cache")
def a_cached_method(jit):
    class Layer:
        k = 2.0

        @functools.lru_cache
        def gain(self):
            return self.k

    layer = Layer()
    f = jit(lambda x: x * layer.gain())
    for call in range(6):
        if call == 3:
            layer.k = 5.0
        if call == 4:
            Layer.gain.cache_clear()
        yield f(vec())


@situation("functools.cache")
def a_cache_of_my_own(jit):
    def remembered(function):
        kept = {}

        def wrapper(n):
            if n not in kept:
                kept[n] = function(n)
            return kept[n]

        wrapper.kept = kept
        return wrapper

    table = remembered(lambda n: float(n))
    f = jit(lambda x: x * table(x.shape[0]))
    for call, n in enumerate((3, 3, 3, 2, 3, 3)):
        if call == 4:
            table.kept[3] = 50.0
        yield f(vec(*range(n))), sorted(table.kept)


# ---- context managers ----------------------------------------------------------------------------


@situation("contextmanagers")
def a_context_manager_sets_a_flag(jit):
    s = SimpleNamespace(scale=1.0)

    @contextlib.contextmanager
    def scaled(k):
        before, s.scale = s.scale, k
        try:
            yield
        finally:
            s.scale = before

    f = jit(lambda x: x * s.scale)
    for k in (1.0, 1.0, 1.0, 4.0, 1.0, 4.0):
        with scaled(k):
            yield f(vec())


@situation("contextmanagers")
def a_context_manager_inside(jit):
    s = SimpleNamespace(depth=0, entered=0)

    @contextlib.contextmanager
    def deeper():
        s.depth += 1
        s.entered += 1
        yield s.depth
        s.depth -= 1

    @jit
    def f(x):
        with deeper() as depth:
            return x * depth

    for call in range(6):
        if call == 3:
            s.depth = 4
        yield f(vec()), s.entered


@situation("contextmanagers")
def without_gradients_now_and_then(jit):
    model = net()
    f = jit(lambda x: model(x).sum())
    for call in range(6):
        with tutor.no_grad() if call % 2 else contextlib.nullcontext():
            yield f(rows(call)), tutor.is_grad_enabled()


@situation("contextmanagers")
def whether_gradients_are_on_is_asked(jit):
    f = jit(lambda x: x * 2 if tutor.is_grad_enabled() else x)
    for call in range(7):
        with tutor.no_grad() if call >= 4 else contextlib.nullcontext():
            yield f(vec())


@situation("contextmanagers")
def an_exit_stack(jit):
    s = SimpleNamespace(log=[])

    @jit
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.callback(s.log.append, "left")
            return x * 2

    for _ in range(5):
        yield f(vec()), s.log


@situation("contextmanagers")
def autocast_now_and_then(jit):
    model = nn.Linear(3, 2)
    f = jit(lambda x: model(x))
    for call in range(6):
        with tutor.autocast("bfloat16", enabled=call % 2 == 1):
            yield f(rows(call))
