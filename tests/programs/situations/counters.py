"""What counts or keeps in closures, attributes and files."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from types import SimpleNamespace

from situations.table import situation, vec


@situation("nonlocal counters", "side effects")
def a_nonlocal_counts(jit):
    count = 0

    @jit
    def f(x):
        nonlocal count
        count += 1
        return x * count

    for _ in range(5):
        yield f(vec()), count


@situation("nonlocal counters")
def a_nonlocal_holds_the_sum(jit):
    total = vec(0, 0)

    @jit
    def f(x):
        nonlocal total
        total = total + x
        return total * 2

    for call in range(6):
        if call == 3:
            total = vec(100, 100)
        yield f(vec(call, 1)), total


@situation("nonlocal counters")
def every_third_call_is_another(jit):
    count = 0

    @jit
    def f(x):
        nonlocal count
        count = (count + 1) % 3
        return x * 10 if count == 0 else x

    for _ in range(8):
        yield f(vec())


@situation("nonlocal counters")
def a_nonlocal_is_set_outside(jit):
    warm = True
    f = jit(lambda x: x * 0.1 if warm else x)
    for call in range(6):
        warm = call < 3
        yield f(vec())


@situation("nonlocal counters")
def a_factory_of_counting_steps(jit):
    def make(start):
        n = start

        def step(x):
            nonlocal n
            n += 1
            return x + n

        return step

    a, b = jit(make(0)), jit(make(10))
    for _ in range(5):
        yield a(vec()), b(vec())


@situation("nonlocal counters")
def a_nonlocal_without_a_value(jit):
    def build():
        @jit
        def f(x):
            nonlocal cache
            try:
                cache = cache + 1
            except NameError:
                cache = 0
            return x * cache

        if False:
            cache = 0
        return f

    f = build()
    for _ in range(5):
        yield f(vec())


@situation("side effects")
def an_attribute_counts(jit):
    s = SimpleNamespace(step=0)

    @jit
    def f(x):
        s.step += 1
        return x / s.step

    for _ in range(5):
        yield f(vec()), s.step


@situation("side effects", "dict")
def a_cache_by_shape(jit):
    masks = {}

    @jit
    def f(x):
        n = x.shape[0]
        if n not in masks:
            masks[n] = vec(*range(n))
        return x * masks[n]

    for n in (3, 3, 3, 2, 2, 3, 4):
        yield f(vec(*range(n))), sorted(masks)


@situation("side effects")
def what_was_printed(jit):
    text = io.StringIO()
    s = SimpleNamespace(lines=0)

    @jit
    def f(x):
        s.lines += 1
        text.write("x")
        return x * 2

    with redirect_stdout(text):
        for _ in range(5):
            yield f(vec()), s.lines, text.getvalue()


@situation("side effects", "list")
def a_stack_is_popped(jit):
    stack = [vec(i) for i in range(8)]

    @jit
    def f(x):
        return stack.pop() * x

    for _ in range(6):
        yield f(vec(10)), len(stack)


@situation("side effects", "generators")
def a_file_is_read_line_by_line(jit):
    lines = io.StringIO("1\n2\n3\n4\n5\n6\n")
    f = jit(lambda x: x * float(lines.readline()))
    for _ in range(6):
        yield f(vec())


@situation("side effects", "subclasses of containers")
def a_dict_of_my_own_counts_its_reads(jit):
    class Counted(dict):
        reads = 0

        def __getitem__(self, key):
            self.reads += 1
            return super().__getitem__(key)

    held = Counted(k=2.0)
    f = jit(lambda x: x * held["k"])
    for _ in range(5):
        yield f(vec()), held.reads
