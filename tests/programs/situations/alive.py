"""What is kept alive, and writes into windows that overlap."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

from situations.table import rows, situation, vec
from tutor import Tensor, memory, nn
from tutor.errors import TutorError


def _few(refs):
    """Have all been forgotten but the latest few?"""
    gc.collect()
    return sum(ref() is not None for ref in refs) <= 3


@situation("kept alive")
def models_that_are_forgotten(jit):
    f = jit(lambda model, x: model(x))
    refs = []
    for call in range(12):
        model = nn.Linear(3, 2)
        refs.append(weakref.ref(model))
        yield f(model, rows(call)), f(model, rows(call))
    yield _few(refs)


@situation("kept alive")
def memory_of_batches_that_are_forgotten(jit):
    f = jit(lambda x: (x * 2).sum())
    before = memory.stats().in_use
    for n in range(1, 13):
        yield f(Tensor.ones(n, 1 << 14)), f(Tensor.ones(n, 1 << 14))
    gc.collect()
    yield memory.stats().in_use - before < 30 << 14


@situation("kept alive")
def an_object_of_a_jitted_method(jit):
    class Layer:
        def __init__(self):
            self.w = vec(1, 2)

        @jit
        def run(self, x):
            return x * self.w

    refs = []
    for call in range(12):
        layer = Layer()
        refs.append(weakref.ref(layer))
        for _ in range(3):
            yield layer.run(vec(call, 1))
    yield _few(refs)


@situation("kept alive")
def the_finalizer_of_a_result(jit):
    f = jit(lambda x: x * 2)
    gone = []
    for call in range(5):
        y = f(vec(call))
        weakref.finalize(y, gone.append, call)
        del y
        gc.collect()
        yield len(gone)


@situation("kept alive")
def weights_that_were_replaced(jit):
    s = SimpleNamespace(w=vec(1, 2))
    f = jit(lambda x: x * s.w)
    refs = []
    for call in range(12):
        s.w = vec(call, 2)
        refs.append(weakref.ref(s.w))
        yield f(vec(1, 1))
    yield _few(refs)


@situation("kept alive")
def callbacks_that_are_forgotten(jit):
    f = jit(lambda act, x: act(x))
    refs = []
    for call in range(12):
        act = nn.Tanh()
        refs.append(weakref.ref(act))
        yield f(act, rows(call))
    yield _few(refs)


# ---- windows that overlap ------------------------------------------------------------------------

# What is done to windows of three numbers, each of which begins one after the last.
WRITES = {
    "adding to": lambda windows: windows.add_(1.0),
    "multiplying": lambda windows: windows.mul_(2.0),
    "filling": lambda windows: windows.fill_(7.0),
    "copying into": lambda windows: windows.copy_(windows * 2),
    "setting items of": lambda windows: windows.__setitem__(0, 5.0),
    "adding their own sums to": lambda windows: windows.add_(windows.sum(1, keepdims=True)),
}


def _overlapping(name, write):
    @situation("overlapping views", name=f"{name} windows that overlap")
    def inside(jit):
        @jit
        def f(x):
            y = x * 1
            try:
                write(y.unfold(0, 3, 1))
            except TutorError as error:
                return type(error).__name__
            return y

        for count in (8, 8, 8, 600, 600, 600):
            yield f(Tensor.arange(count).cast("float32"))


for _name, _write in WRITES.items():
    _overlapping(_name, _write)
