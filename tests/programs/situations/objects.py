"""Bytes that are read inside, results of one's own types, and functions that are copied."""

from __future__ import annotations

import copy
import pickle
import types
from types import SimpleNamespace

from situations.table import rows, situation, vec
from tutor import nn


def _float(raw):
    return raw.cast("B").cast("f")[0]


# Ways by which Python reads the bytes of a Tensor that an attribute holds.
READS = {
    "the raw bytes of a buffer": lambda s: _float(s.w.buf.raw),
    "an item of a buffer": lambda s: s.w.buf[0],
    "the list of a buffer": lambda s: s.w.buf.tolist()[0],
    "the bytes of a copy": lambda s: _float(s.w.copy().buf.raw),
    "the bytes as a text": lambda s: float(s.w.buf.raw.tobytes()[3]),
    "bytes of what was computed": lambda s: _float((s.w * 2).buf.raw),
}


def _raw(name, read):
    @situation("buf.raw", name=name)
    def inside(jit):
        s = SimpleNamespace(w=vec(2, 3))
        f = jit(lambda x: x * read(s))
        for call in range(6):
            if call >= 3:
                s.w.fill_(5.0 + call)
            yield f(vec())


for _name, _read in READS.items():
    _raw(_name, _read)


@situation("buf.raw")
def the_raw_bytes_of_the_argument(jit):
    f = jit(lambda x: x * _float(x.buf.raw))
    for call in range(5):
        yield f(vec(call + 1, 2))


@situation("buf.raw")
def bytes_are_written_inside(jit):
    s = SimpleNamespace(w=vec(2, 3))

    @jit
    def f(x):
        s.w.buf.raw.cast("B").cast("f")[0] += 1
        return x * s.w

    for _ in range(5):
        yield f(vec(1, 1)), s.w


@situation("buf.raw", needs="numpy")
def an_array_over_the_weights(jit):
    w = vec(2, 3)
    array = w.numpy()
    f = jit(lambda x: x * float(array[0]))
    for call in range(6):
        if call >= 3:
            array[0] = 5.0 + call
        yield f(vec())


# ---- results -------------------------------------------------------------------------------------


class Layers(list):
    """A list of somebody's own."""


class Output(dict):
    """A dict of somebody's own, which has attributes."""

    def __getattr__(self, name):
        return self[name]


class Token(int):
    """A number of somebody's own."""


RESULTS = {
    "a subclass of list": lambda x: Layers([x * 2, x + 1]),
    "a subclass of dict with attributes": lambda x: Output(loss=x * 2),
    "a generator of results": lambda x: (x * i for i in range(3)),
    "a set of numbers": lambda x: {1, 2, x.shape[0]},
    "a subclass of int": lambda x: (x * 2, Token(3)),
    "a function of the result": lambda x: lambda y=x * 2: y + 1,
    "an object": lambda x: SimpleNamespace(y=x * 2),
    "the same tensor twice": lambda x: [x * 2] * 2,
    "nested containers": lambda x: {"a": [x * 2, (x + 1, None)], "b": "text"},
    "a range and a slice": lambda x: (range(x.shape[0]), slice(1, 2), x * 2),
    "nothing": lambda x: None,
    "a dict with keys that are numbers": lambda x: {1: x, (2, 3): x * 2, None: 4},
}


def _shown(value):
    if isinstance(value, SimpleNamespace):
        return "object", value.y
    if callable(value):
        return "function", value()
    if isinstance(value, types.GeneratorType):
        return "generator", list(value)
    return value, value[0] is value[1] if isinstance(value, list) else None


def _result(name, make):
    @situation("results", name=name + " comes out")
    def comes_out(jit):
        f = jit(make)
        for call in range(5):
            yield _shown(f(vec(call, 1)))


for _name, _make in RESULTS.items():
    _result(_name, _make)


@situation("results")
def a_result_is_changed_by_its_owner(jit):
    f = jit(lambda x: [x * 2, x + 1])
    kept = []
    for call in range(5):
        made = f(vec(call, 1))
        made[0] += 100
        made.append(call)
        kept.append(made)
        yield kept


@situation("results")
def a_list_that_is_state_comes_out(jit):
    log = [1.0]
    f = jit(lambda x: (x * 2, log))
    for call in range(5):
        _, made = f(vec(call, 1))
        made.append(float(call))
        yield made, made is log


# ---- copies --------------------------------------------------------------------------------------


def plain_step(x):
    return x * 2 + 1


class Net(nn.Module):
    def __init__(self, jit):
        self.layer = nn.Linear(3, 2)
        self.fast = jit(plain_step)

    def forward(self, x):
        return self.layer(self.fast(x))


def identity(function):
    return function


@situation("deepcopy and pickle")
def a_jitted_function_is_copied(jit):
    f = jit(plain_step)
    for call in range(3):
        yield f(vec(call))
    g = copy.deepcopy(f)
    for call in range(3):
        yield g(vec(call)), f(vec(call))


@situation("deepcopy and pickle")
def a_module_with_one_is_copied(jit):
    model = Net(jit)
    for call in range(3):
        yield model(rows(call)).detach()
    other = copy.deepcopy(model)
    other.layer.bias.data.add_(5.0)
    for call in range(3):
        yield other(rows(call)).detach(), model(rows(call)).detach()


@situation("deepcopy and pickle")
def a_module_with_one_is_pickled(jit):
    model = Net(jit)
    for call in range(3):
        model(rows(call))
    other = pickle.loads(pickle.dumps(model))
    for call in range(3):
        yield other(rows(call)).detach()


@situation("deepcopy and pickle")
def a_closure_that_is_copied_shallowly(jit):
    f = jit(plain_step)
    g = copy.copy(f)
    for call in range(4):
        yield g(vec(call)), f(vec(call))


@situation("deepcopy and pickle")
def a_jitted_method_of_a_copied_object(jit):
    class Layer:
        def __init__(self):
            self.w = vec(1, 2)

        @jit
        def run(self, x):
            return x * self.w

    layer = Layer()
    for call in range(3):
        yield layer.run(vec(call, 1))
    other = copy.deepcopy(layer)
    other.w += 5
    for call in range(3):
        yield other.run(vec(call, 1)), layer.run(vec(call, 1))
