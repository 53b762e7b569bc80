"""Functions that are patched and rebound; texts of objects; objects that answer every name."""

from __future__ import annotations

import functools
from types import MethodType, SimpleNamespace

from situations.table import net, rows, situation, vec
from tutor import Tensor, nn

# ---- patched -------------------------------------------------------------------------------------


def helper(x):
    return x * 2


@situation("monkeypatched functions")
def a_global_function_is_patched(jit):
    before = globals()["helper"]
    f = jit(lambda x: helper(x))
    for call in range(6):
        globals()["helper"] = (lambda x: x * 5) if call >= 3 else before
        yield f(vec())
    globals()["helper"] = before


@situation("monkeypatched functions")
def forward_is_patched_on_an_object(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(5):
        if call == 3:
            model.layers[1].forward = lambda x: x * 0.5
        yield f(rows(call))


@situation("monkeypatched functions")
def forward_is_patched_on_a_class_of_the_library(jit):
    model, before = net(), nn.Tanh.forward
    f = jit(lambda x: model(x))
    for call in range(5):
        if call == 3:
            nn.Tanh.forward = lambda self, x: x * 0.5
        yield f(rows(call))
    nn.Tanh.forward = before


@situation("monkeypatched functions")
def a_method_of_tensor_is_patched(jit):
    before = Tensor.relu
    f = jit(lambda x: x.relu())
    for call in range(6):
        Tensor.relu = (lambda t: t * 3) if call >= 3 else before
        yield f(rows(call))
    Tensor.relu = before


@situation("monkeypatched functions")
def a_bound_method_is_put_on_an_object(jit):
    class Layer:
        k = 2.0

        def run(self, x):
            return x * self.k

    layer, other = Layer(), Layer()
    other.k = 7.0
    f = jit(lambda x: layer.run(x))
    for call in range(6):
        if call == 3:
            layer.run = MethodType(Layer.run, other)
        yield f(vec())


@situation("monkeypatched functions")
def a_function_of_the_functional_module_is_patched(jit):
    before = nn.functional.relu
    f = jit(lambda x: nn.functional.relu(x))
    for call in range(5):
        if call == 3:
            nn.functional.relu = lambda x: x * 2
        yield f(rows(call))
    nn.functional.relu = before


@situation("lambdas rebound")
def a_lambda_in_an_attribute(jit):
    s = SimpleNamespace(act=lambda x: x * 2)
    f = jit(lambda x: s.act(x))
    for call in range(6):
        if call == 3:
            s.act = lambda x: x * 3
        yield f(vec())


@situation("lambdas rebound")
def a_lambda_of_the_same_code(jit):
    def times(k):
        return lambda x: x * k

    s = SimpleNamespace(act=times(2.0))
    f = jit(lambda x: s.act(x))
    for k in (2.0, 2.0, 2.0, 5.0, 2.0, 5.0):
        s.act = times(k)
        yield f(vec())


@situation("lambdas rebound")
def a_lambda_in_a_list(jit):
    acts = [lambda x: x * 2, lambda x: x + 1]

    @jit
    def f(x):
        for act in acts:
            x = act(x)
        return x

    for call in range(6):
        if call == 3:
            acts[1] = lambda x: x - 10
        yield f(vec())


@situation("lambdas rebound")
def a_lambda_is_an_argument(jit):
    f = jit(lambda act, x: act(x))
    for k in (2.0, 2.0, 3.0, 4.0, 2.0, 5.0):
        yield f(lambda x: x * k, vec())


@situation("lambdas rebound")
def a_local_lambda_is_rebound(jit):
    act = lambda x: x * 2  # noqa: E731
    f = jit(lambda x: act(x))
    for call in range(6):
        if call == 3:
            act = lambda x: x * 9  # noqa: E731
        yield f(vec())


# ---- texts and permissive objects ----------------------------------------------------------------


class Named:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def __len__(self):
        return len(self.name)

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __format__(self, spec):
        return self.name

    def __bool__(self):
        return self.name != "off"


TEXTS = {
    "repr": lambda o: float(len(repr(o))),
    "str": lambda o: float(len(str(o))),
    "an f-string": lambda o: float(len(f"{o}")),
    "len of an object": lambda o: float(len(o)),
    "bool of an object": lambda o: 2.0 if o else 3.0,
    "equality of objects": lambda o: 2.0 if o == Named("on") else 3.0,
    "hash of an object": lambda o: 2.0 if o in {Named("on")} else 3.0,
    "percent of an object": lambda o: float(len("%r" % o)),
}


def _text(name, read):
    @situation("__repr__", name=name)
    def changed(jit):
        o = Named("on")
        f = jit(lambda x: x * read(o))
        for value in ("on", "on", "on", "off", "off", "on"):
            o.name = value
            yield f(vec())


for _name, _read in TEXTS.items():
    _text(_name, _read)


class Open:
    """Answers every name, from a table of its own."""

    def __init__(self, **values):
        self.__dict__["values"] = values

    def __getattr__(self, name):
        return self.__dict__["values"].get(name)

    def __setattr__(self, name, value):
        self.values[name] = value


@situation("permissive __getattr__")
def a_configuration_that_answers_everything(jit):
    c = Open(k=2.0)
    f = jit(lambda x: x * c.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        c.k = k
        yield f(vec())


@situation("permissive __getattr__")
def it_answers_what_is_not_there(jit):
    c = Open()
    f = jit(lambda x: x * (c.k or 1.0))
    for call in range(5):
        if call == 3:
            c.k = 5.0
        yield f(vec())


@situation("permissive __getattr__")
def it_is_an_argument(jit):
    c = Open(k=2.0)
    f = jit(lambda c, x: x * c.k)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        c.k = k
        yield f(c, vec())


@situation("permissive __getattr__")
def a_proxy_of_a_module(jit):
    class Proxy:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    proxy = Proxy(model)
    f = jit(lambda x: proxy.forward(x))
    for call in range(6):
        if call == 3:
            proxy.inner = other
        yield f(rows(call))


@situation("permissive __getattr__", "__wrapped__")
def a_mock_has_every_attribute(jit):
    class Mock:
        k = 2.0

        def __getattr__(self, name):
            return self

        def __call__(self, *args):
            return self.k

    mock = Mock()
    f = jit(lambda x: x * mock.rate.now())
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        mock.k = k
        yield f(vec())


@situation("__wrapped__")
def a_decorator_with_a_setting(jit):
    s = SimpleNamespace(k=2.0)

    def scaling(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * s.k

        return wrapper

    f = jit(scaling(lambda x: x + 1))
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        s.k = k
        yield f(vec())


@situation("__wrapped__")
def what_is_wrapped_is_another(jit):
    class Wrapper:
        def __init__(self, function):
            self.__wrapped__ = function

        def __call__(self, x):
            return self.__wrapped__(x)

    w = Wrapper(lambda x: x * 2)
    f = jit(lambda x: w(x))
    for call in range(5):
        if call == 3:
            w.__wrapped__ = lambda x: x * 3
        yield f(vec())


@situation("__wrapped__")
def an_object_that_wraps_and_counts(jit):
    class Counted:
        def __init__(self, function):
            self.__wrapped__, self.calls = function, 0

        def __call__(self, x):
            self.calls += 1
            return self.__wrapped__(x) * self.calls

    w = Counted(lambda x: x * 2)
    f = jit(w)
    for _ in range(5):
        yield f(vec()), w.calls


@situation("__wrapped__")
def a_wrapper_that_lies_about_what_it_wraps(jit):
    s = SimpleNamespace(k=2.0)

    def outer(x):
        return x * s.k

    outer.__wrapped__ = lambda x: x
    f = jit(outer)
    for k in (2.0, 2.0, 2.0, 5.0, 5.0):
        s.k = k
        yield f(vec())
