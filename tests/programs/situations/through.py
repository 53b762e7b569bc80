"""`.grad` that is set and forgotten, and gradients through what a jitted function gave."""

from __future__ import annotations

from types import SimpleNamespace

import tutor
from situations.table import grads, labels, net, rows, situation, state, vec, weight
from tutor import nn, optim
from tutor.errors import GraphError

# ---- grad ----------------------------------------------------------------------------------------


@situation("gradients")
def grad_of_the_argument_is_set_later(jit):
    f = jit(lambda x: (x * x).sum().backward())
    x = weight(1, 2)
    for call in range(6):
        if call == 2:
            x.grad = None
        if call == 4:
            x.grad = vec(100, 100)
        f(x)
        yield x.grad


@situation("gradients")
def grad_that_the_function_reads(jit):
    w = weight(1, 2)
    f = jit(lambda x: x * 2 if w.grad is None else x + w.grad)
    for call in range(7):
        if call == 3:
            w.grad = vec(5, 5)
        if call == 5:
            w.grad = None
        yield f(vec(1, 2))


@situation("gradients", "gradient accumulation")
def gradients_add_up(jit):
    w = weight(1, 2)
    f = jit(lambda x: (w * x).sum().backward())
    for call in range(8):
        if call % 3 == 0:
            w.grad = None
        f(vec(call, 1))
        yield w.grad


@situation("gradients")
def the_same_gradient_object_is_kept(jit):
    w = weight(1, 2)

    @jit
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    kept = []
    for call in range(5):
        f(vec(call, 1))
        kept.append(w.grad)
        yield kept


@situation("gradients")
def grad_of_a_function(jit):
    slope = jit(lambda w, x: tutor.grad((w * w * x).sum(), [w])[0])
    for call in range(5):
        yield slope(weight(call, 2), vec(3, call))


@situation("gradients")
def two_losses_of_one_graph(jit):
    w = weight(1, 2)

    @jit
    def f(x):
        w.grad = None
        y = w * x
        y.sum().backward(retain_graph=True)
        (y * y).sum().backward()

    for call in range(5):
        f(vec(call, 1))
        yield w.grad


# ---- through a jitted function -------------------------------------------------------------------


@situation("gradients through jit")
def the_forward_of_a_layer_is_jitted(jit):
    model = net()
    model.layers[0].forward = jit(model.layers[0].forward)
    sgd = optim.SGD(model.parameters(), lr=0.5)
    for call in range(5):
        sgd.zero_grad()
        loss = model(rows(call)).cross_entropy(labels())
        loss.backward()
        sgd.step()
        yield loss, state(model)


@situation("gradients through jit")
def the_loss_is_made_inside_and_backward_is_outside(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5)
    loss_of = jit(lambda x, y: model(x).cross_entropy(y))
    for call in range(5):
        sgd.zero_grad()
        loss = loss_of(rows(call), labels())
        loss.backward()
        sgd.step()
        yield loss, state(model)


@situation("gradients through jit")
def an_argument_wants_a_gradient(jit):
    f = jit(lambda x: (x * x).sum())
    for call in range(5):
        x = weight(call, 2)
        f(x).backward()
        yield x.grad


@situation("gradients through jit")
def an_activation_between_layers_is_jitted(jit):
    gelu = jit(lambda x: x * (1.702 * x).sigmoid())
    first, last = nn.Linear(3, 4), nn.Linear(4, 2)
    for call in range(5):
        for p in (*first.parameters(), *last.parameters()):
            p.grad = None
        last(gelu(first(rows(call)))).sum().backward()
        yield grads(first), grads(last)


@situation("gradients through jit")
def one_of_two_results_is_used(jit):
    w = weight(1, 2)
    f = jit(lambda x: (w * x, w + x))
    for call in range(6):
        w.grad = None
        f(vec(call, 1))[call % 2].sum().backward()
        yield w.grad


@situation("gradients through jit")
def whether_a_result_wants_a_gradient(jit):
    w = weight(1, 2)
    f = jit(lambda x: w * x)
    for call in range(6):
        w.requires_grad_(call != 4)
        yield f(vec(call, 1)).requires_grad


@situation("gradients through jit")
def a_model_is_jitted(jit):
    model = net()
    fast = jit(model)
    sgd = optim.SGD(fast.parameters(), lr=0.5)
    for call in range(6):
        fast.train(call < 4)
        sgd.zero_grad()
        fast(rows(call)).cross_entropy(labels()).backward()
        sgd.step()
        yield fast.state_dict()


# ---- graphs that are used up ---------------------------------------------------------------------


def again(t):
    """What another backward() through t gives, or what it says."""
    try:
        t.sum().backward()
    except GraphError as error:
        return error.found
    return t.grad


@situation("graphs that are used up")
def the_loss_is_handed_out_after_its_backward(jit):
    w = weight(1, 2)

    @jit
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    for call in range(5):
        loss = step(vec(call, 1))
        yield loss.is_leaf, loss.requires_grad, again(loss), w.grad


@situation("graphs that are used up")
def what_lies_before_the_loss_is_kept_for_the_next_call(jit):
    s = SimpleNamespace(before=vec(1, 1))
    w = weight(1, 2)

    @jit
    def step(x):
        y = w * x + s.before.detach()
        (y * y).sum().backward()
        return y

    for call in range(6):
        s.before = step(vec(call, 1))
        yield s.before, s.before.grad, w.grad


@situation("graphs that are used up")
def what_is_used_up_goes_in_again(jit):
    s = SimpleNamespace(before=vec(1, 1))
    w = weight(1, 2)

    @jit
    def step(x):
        y = w * x + s.before
        (y * y).sum().backward()
        return y

    for call in range(4):
        w.grad = None
        try:
            y = step(vec(call, 1))
        except GraphError as error:
            yield error.found, w.grad
            s.before = vec(1, 1)
        else:
            yield y, w.grad
            s.before = y


@situation("graphs that are used up")
def a_measure_beside_the_loss(jit):
    w = weight(1, 2)

    @jit
    def step(x):
        y = w * x
        y.sum().backward()
        return (y - 1).abs().mean()

    for call in range(5):
        measure = step(vec(call, 3))
        yield measure, measure.is_leaf, again(measure)


@situation("graphs that are used up")
def a_graph_that_an_update_has_made_stale(jit):
    w = weight(1, 2)
    sgd = optim.SGD([w], lr=0.5)

    @jit
    def step(x):
        sgd.zero_grad()
        y = w * w * x
        (w * x).sum().backward()
        sgd.step()
        return y

    for call in range(5):
        y = step(vec(call, 1))
        yield y, y.is_leaf, again(y)
