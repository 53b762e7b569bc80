"""Hooks that come and go; parameters that are frozen and thawed."""

from __future__ import annotations

from types import SimpleNamespace

from situations.table import grads, labels, net, rows, situation, state, trained, vec, weight
from tutor import nn, optim


@situation("gradients and hooks")
def a_hook_is_added_later(jit):
    w = weight()

    @jit
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    for call in range(6):
        if call == 3:
            w.register_hook(lambda g: g * 10)
        f(vec(call, 1, 2))
        yield w.grad


@situation("gradients and hooks")
def a_hook_is_removed(jit):
    w = weight()
    remove = w.register_hook(lambda g: g * 10)

    @jit
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    for call in range(6):
        if call == 3:
            remove()
        f(vec(call, 1, 2))
        yield w.grad


@situation("gradients and hooks")
def a_hook_reads_a_setting(jit):
    w, s = weight(), SimpleNamespace(clip=1.0)
    w.register_hook(lambda g: g.clamp(-s.clip, s.clip))

    @jit
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    for clip in (1.0, 1.0, 1.0, 2.0, 0.5):
        s.clip = clip
        f(vec(3, 1, 2))
        yield w.grad


@situation("gradients and hooks")
def a_hook_counts(jit):
    w, seen = weight(), []
    w.register_hook(lambda g: seen.append(1))

    @jit
    def f(x):
        w.grad = None
        (w * x).sum().backward()

    for call in range(5):
        f(vec(call, 1, 2))
        yield w.grad, len(seen)


@situation("gradients and hooks")
def a_forward_hook_comes_and_goes(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(7):
        if call == 3:
            handle = model.layers[1].register_forward_hook(lambda m, i, y: y * 2)
        if call == 5:
            handle.remove()
        yield f(rows(call))


@situation("gradients and hooks")
def a_forward_pre_hook_comes_and_goes(jit):
    model = net()
    f = jit(lambda x: model(x))
    for call in range(7):
        if call == 3:
            handle = model.register_forward_pre_hook(lambda m, i: i[0] * 0.5)
        if call == 5:
            handle.remove()
        yield f(rows(call))


@situation("gradients and hooks")
def a_backward_hook_is_added_to_a_layer(jit):
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.1))
    for call in range(6):
        if call == 3:
            model.layers[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0,))
        yield step(rows(call), labels()), state(model), grads(model)


@situation("gradients and hooks")
def activations_are_caught_by_a_hook(jit):
    model, caught = net(), {}
    model.layers[1].register_forward_hook(lambda m, i, y: caught.update(hidden=y.detach()))
    f = jit(lambda x: model(x))
    for call in range(5):
        yield f(rows(call)), caught


@situation("gradients and hooks")
def a_hook_on_an_argument(jit):
    f = jit(lambda x: (x * x).sum().backward())
    for call in range(5):
        x = weight(call, 1)
        if call >= 3:
            x.register_hook(lambda g: g + 100)
        f(x)
        yield x.grad


# ---- frozen and thawed ---------------------------------------------------------------------------


@situation("freezing")
def freeze_train_freeze(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5)
    step = trained(jit, model, sgd)
    first = model.layers[0].weight
    for frozen in (True, True, True, False, False, True, True):
        first.requires_grad_(not frozen)
        yield step(rows(), labels()), state(model), first.grad


@situation("freezing")
def the_gradient_was_none_when_it_was_recorded(jit):
    a, b = weight(1), weight(2).requires_grad_(False)

    @jit
    def step(x):
        a.grad = b.grad = None
        loss = (a * b * x).sum()
        loss.backward()
        for p in (a, b):
            if p.grad is not None:
                p.assign(p.detach() - 0.1 * p.grad)
        return loss

    for wanted in (False, False, False, True, True, False, False):
        b.requires_grad_(wanted)
        yield step(vec(2)), a, b, b.grad


@situation("freezing")
def a_layer_is_frozen_as_a_module(jit):
    model = net()
    step = trained(jit, model, optim.Adam(model.parameters(), lr=0.1))
    for call in range(7):
        model.layers[0].requires_grad_(call < 3 or call > 4)
        yield step(rows(call), labels()), state(model)


@situation("freezing")
def layers_thaw_one_after_another(jit):
    model = net()
    for p in model.layers[0].parameters():
        p.requires_grad_(False)
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    for call in range(7):
        if call == 3:
            model.layers[0].bias.requires_grad_()
        if call == 5:
            model.layers[0].weight.requires_grad_()
        yield step(rows(call), labels()), state(model)


@situation("freezing")
def requires_grad_is_toggled_inside(jit):
    model = nn.Linear(3, 2)

    @jit
    def f(x):
        model.weight.requires_grad_(False)
        model(x).sum().backward()
        model.weight.requires_grad_(True)

    for call in range(5):
        f(rows(call))
        yield model.bias.grad, model.weight.grad, model.weight.requires_grad


@situation("freezing")
def the_argument_begins_to_want_a_gradient(jit):
    w = weight()

    @jit
    def f(x):
        w.grad = None
        (x * w).sum().backward()

    for call in range(6):
        x = vec(call, 1, 2).requires_grad_(call >= 3)
        f(x)
        yield w.grad, x.grad


@situation("freezing")
def the_frozen_part_stays_as_it_is(jit):
    model = net()
    before = model.layers[0].weight.copy()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.1))
    for call in range(6):
        model.layers[0].weight.requires_grad_(call % 2 == 1)
        step(rows(call), labels())
        yield model.layers[0].weight - before
