"""When training stops early, and exceptions that a function raises and catches."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import labels, net, rows, situation, trained, vec
from tutor import optim

# ---- early stopping ------------------------------------------------------------------------------


@situation("early stopping")
def the_loss_is_looked_at_inside(jit):
    model, s = net(), SimpleNamespace(best=1e9, waited=0)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step(x, y):
        loss = model(x).cross_entropy(y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        if loss.item() < s.best:
            s.best, s.waited = loss.item(), 0
        else:
            s.waited += 1
        return s.waited > 1

    for call in range(6):
        yield step(rows(call), labels()), s.best, s.waited


@situation("early stopping")
def the_best_weights_are_kept(jit):
    model, best = net(), SimpleNamespace(loss=1e9, weights=None)
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    for call in range(6):
        loss = step(rows(call), labels()).item()
        if loss < best.loss:
            best.loss = loss
            best.weights = {name: t.copy() for name, t in model.state_dict().items()}
        yield loss, best.weights
    model.load_state_dict(best.weights)
    yield step(rows(), labels())


@situation("early stopping")
def a_flag_says_that_it_is_over(jit):
    s = SimpleNamespace(stopped=False)
    f = jit(lambda x: None if s.stopped else x * 2)
    for call in range(6):
        s.stopped = call >= 3
        yield f(vec())


@situation("early stopping")
def an_exception_says_that_it_is_over(jit):
    class StopError(Exception):
        pass

    s = SimpleNamespace(left=3)

    @jit
    def f(x):
        if s.left == 0:
            raise StopError
        s.left -= 1
        return x * s.left

    try:
        for _ in range(6):
            yield f(vec())
    except StopError:
        yield "stopped", s.left


@situation("early stopping", "schedulers")
def a_scheduler_waits_for_a_plateau(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5)
    plateau = optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=0)
    step = trained(jit, model, sgd)
    for call in range(6):
        loss = step(rows(call), labels())
        plateau.step(loss.item())
        yield loss, sgd.lr


# ---- exceptions ----------------------------------------------------------------------------------


@situation("exceptions")
def a_key_error_is_caught(jit):
    table = {}

    @jit
    def f(x):
        try:
            return x * table["k"]
        except KeyError:
            return x

    for call in range(6):
        if call == 3:
            table["k"] = 4.0
        yield f(vec())


@situation("exceptions")
def an_index_error_ends_the_loop(jit):
    layers = [2.0]

    @jit
    def f(x):
        i = 0
        try:
            while True:
                x = x * layers[i]
                i += 1
        except IndexError:
            return x

    for call in range(6):
        if call == 3:
            layers.append(5.0)
        yield f(vec())


@situation("exceptions")
def it_raises_when_a_flag_says_so(jit):
    s = SimpleNamespace(broken=False)

    @jit
    def f(x):
        if s.broken:
            raise ValueError("broken")
        return x * 2

    for call in range(7):
        s.broken = call in (3, 5)
        try:
            yield f(vec())
        except ValueError as error:
            yield str(error)


@situation("exceptions")
def it_raises_in_the_call_that_would_be_recorded(jit):
    s = SimpleNamespace(calls=0, w=vec(0))

    @jit
    def f(x):
        s.w += x
        s.calls += 1
        if s.calls == 2:
            raise ValueError("the second")
        return s.w * 2

    for _ in range(6):
        try:
            yield f(vec(1)), s.w, s.calls
        except ValueError:
            yield s.w, s.calls


@situation("exceptions")
def shapes_that_do_not_fit(jit):
    w = rows()
    f = jit(lambda x: x @ w)
    for n in (4, 4, 4, 3, 4, 2):
        try:
            yield f(vec(*range(n)))
        except Exception as error:
            yield type(error).__name__


@situation("exceptions")
def an_assertion_about_the_shape(jit):
    s = SimpleNamespace(width=3)

    @jit
    def f(x):
        assert x.shape[-1] == s.width
        return x * 2

    for width in (3, 3, 3, 2, 3):
        s.width = width
        try:
            yield f(vec())
        except AssertionError:
            yield "refused"


@situation("exceptions")
def finally_puts_back(jit):
    s = SimpleNamespace(gain=1.0)

    @jit
    def f(x):
        before, s.gain = s.gain, 3.0
        try:
            return x * s.gain
        finally:
            s.gain = before

    for gain in (1.0, 1.0, 1.0, 2.0, 2.0):
        s.gain = gain
        yield f(vec()), s.gain
