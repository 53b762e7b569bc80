"""Averages of weights, scales of losses, gradients that are added up."""

from __future__ import annotations

from types import SimpleNamespace

import tutor
from situations.table import labels, net, rows, situation, state, vec, weight
from tutor import optim


@situation("EMA")
def an_average_in_the_step(jit):
    model = net()
    sgd, average = optim.SGD(model.parameters(), lr=0.5), optim.EMA(model.parameters(), 0.9)

    @jit
    def step(x, y):
        sgd.zero_grad()
        model(x).cross_entropy(y).backward()
        sgd.step()
        average.update()

    for call in range(6):
        step(rows(call), labels())
        yield state(model), average.averages


@situation("EMA")
def an_average_is_swapped_in(jit):
    model = net()
    average = optim.EMA(model.parameters(), 0.5)
    f = jit(lambda x: model(x))
    for call in range(6):
        model.layers[0].weight.data.mul_(1.5)
        average.update()
        with average.swapped():
            yield f(rows(call))
        yield f(rows(call))


@situation("EMA")
def an_average_of_my_own(jit):
    w, s = weight(1, 2), SimpleNamespace(decay=0.5)
    s.average = w.detach().copy()

    @jit
    def step(x):
        w.data.add_(x)
        s.average = s.decay * s.average + (1 - s.decay) * w.detach()
        return s.average * 1

    for decay in (0.5, 0.5, 0.5, 0.9, 0.9, 0.0):
        s.decay = decay
        yield step(vec(1, 2)), s.average


@situation("EMA")
def an_average_in_a_dict(jit):
    model = net()
    shadow = {name: t.copy() for name, t in model.state_dict().items()}

    @jit
    def update(x):
        for name, t in model.state_dict().items():
            shadow[name] = shadow[name] * 0.5 + t.detach() * 0.5
        return shadow["0.bias"] + x

    for call in range(6):
        model.layers[0].bias.data.add_(1.0)
        if call == 4:
            shadow["0.bias"] = vec(0, 0, 0, 0)
        yield update(vec(1, 1, 1, 1)), shadow


@situation("EMA")
def a_decay_that_warms_up(jit):
    w, s = weight(1, 2), SimpleNamespace(average=vec(0, 0), steps=0)

    @jit
    def update():
        decay = min(0.9, (1 + s.steps) / (10 + s.steps))
        s.average.mul_(decay).add_(w.detach() * (1 - decay))

    for call in range(6):
        s.steps = call
        update()
        yield s.average


@situation("EMA")
def the_average_begins_again(jit):
    model = net()
    average = optim.EMA(model.parameters(), 0.5)
    step = jit(lambda: average.update())
    for call in range(6):
        model.layers[0].weight.data.add_(1.0)
        if call == 3:
            average.averages[0] = model.layers[0].weight.detach().copy()
        step()
        yield average.averages


# ---- GradScaler ----------------------------------------------------------------------------------


def scaled(jit, model, sgd, scaler, clip=None):
    @jit
    def step(x, y):
        sgd.zero_grad()
        loss = model(x).cross_entropy(y)
        scaler.scale(loss).backward()
        if clip is not None:
            scaler.unscale_(sgd)
            optim.clip_grad_norm_(model.parameters(), clip)
        scaler.step(sgd)
        scaler.update()
        return loss

    return step


@situation("GradScaler")
def a_scaled_step(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0, growth_interval=2)
    step = scaled(jit, model, optim.SGD(model.parameters(), lr=0.5), scaler)
    for call in range(6):
        yield step(rows(call), labels()), state(model), scaler.get_scale()


@situation("GradScaler")
def a_scaled_step_that_clips(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0)
    step = scaled(jit, model, optim.SGD(model.parameters(), lr=0.5), scaler, 0.1)
    for call in range(6):
        yield step(rows(call), labels()), state(model)


@situation("GradScaler")
def unscaled_inside_and_stepped_outside(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def backward(x, y):
        sgd.zero_grad()
        scaler.scale(model(x).cross_entropy(y)).backward()
        scaler.unscale_(sgd)

    for call in range(6):
        backward(rows(call), labels())
        scaler.step(sgd)
        scaler.update()
        yield state(model)


@situation("GradScaler")
def unscaled_outside_and_stepped_inside(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def move():
        scaler.step(sgd)
        scaler.update()

    for call in range(6):
        sgd.zero_grad()
        scaler.scale(model(rows(call)).cross_entropy(labels())).backward()
        if call % 2:
            scaler.unscale_(sgd)
        move()
        yield state(model)


@situation("GradScaler")
def an_infinite_gradient_is_skipped(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0)
    step = scaled(jit, model, optim.Adam(model.parameters(), lr=0.1), scaler)
    for call in range(7):
        x = rows(call) * (float("inf") if call in (1, 4) else 1.0)
        step(x, labels())
        yield state(model), scaler.get_scale()


@situation("GradScaler")
def the_scaler_is_switched_off(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0)
    step = scaled(jit, model, optim.SGD(model.parameters(), lr=0.5), scaler)
    for call in range(6):
        scaler.enabled = call < 3
        yield step(rows(call), labels()), state(model)


@situation("GradScaler")
def the_scale_is_loaded(jit):
    model, scaler = net(), tutor.amp.GradScaler(16.0, growth_interval=2)
    step = scaled(jit, model, optim.SGD(model.parameters(), lr=0.5), scaler)
    saved = {name: t.copy() for name, t in scaler.state_dict().items()}
    for call in range(6):
        if call == 4:
            scaler.load_state_dict(saved)
        yield step(rows(call), labels()), scaler.get_scale()


# ---- accumulated gradients -----------------------------------------------------------------------


@situation("gradient accumulation")
def a_counter_decides_when_to_step(jit):
    model, s = net(), SimpleNamespace(micro=0)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step(x, y):
        (model(x).cross_entropy(y) / 2).backward()
        s.micro += 1
        if s.micro % 2 == 0:
            sgd.step()
            sgd.zero_grad()

    for call in range(7):
        step(rows(call), labels())
        yield state(model), s.micro


@situation("gradient accumulation")
def a_flag_decides_when_to_step(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step(x, y, last):
        (model(x).cross_entropy(y) / 3).backward()
        if last:
            sgd.step()
            sgd.zero_grad()

    for call in range(9):
        step(rows(call), labels(), call % 3 == 2)
        yield state(model), [p.grad for p in model.parameters()]


@situation("gradient accumulation")
def accumulated_inside_and_stepped_outside(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5)
    backward = jit(lambda x, y: model(x).cross_entropy(y).backward())
    for call in range(8):
        backward(rows(call), labels())
        if call % 3 == 2:
            sgd.step()
            sgd.zero_grad()
        yield state(model), [p.grad for p in model.parameters()]


@situation("gradient accumulation")
def gradients_are_zeroed_and_not_forgotten(jit):
    model = net()
    sgd = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    backward = jit(lambda x, y: model(x).cross_entropy(y).backward())
    for call in range(8):
        backward(rows(call), labels())
        if call % 2:
            sgd.step()
            sgd.zero_grad(set_to_none=call > 4)
        yield state(model), [p.grad for p in model.parameters()]


@situation("gradient accumulation")
def the_number_of_micro_batches_changes(jit):
    model, s = net(), SimpleNamespace(micro=2)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step(x, y):
        sgd.zero_grad()
        for part, target in zip(x.split(4 // s.micro), y.split(4 // s.micro)):
            (model(part).cross_entropy(target) / s.micro).backward()
        sgd.step()

    for micro in (2, 2, 2, 4, 1, 2):
        s.micro = micro
        step(rows(), labels())
        yield state(model)
