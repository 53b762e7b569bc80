"""What is changed about an optimizer in the course of a training: settings, groups, schedules."""

from __future__ import annotations

import copy
from types import SimpleNamespace

from situations.table import labels, net, rows, situation, state, trained, vec, weight
from tutor import optim


def training(jit, optimizer, change=lambda call, model, optimizer: None, calls=6):
    """Seven steps, with a change before each; the losses, the weights, the rates."""
    model = net()
    made = optimizer(model.parameters())
    step = trained(jit, model, made)
    for call in range(calls):
        change(call, model, made)
        yield step(rows(call), labels()), state(model), made.lr


def _set(name, values):
    """A setting is another one at each call."""
    return lambda call, model, optimizer: setattr(optimizer, name, values[call])


def _in_group(name, values):
    return lambda call, model, optimizer: optimizer.param_groups[0].update({name: values[call]})


def _sgd(**settings):
    return lambda params: optim.SGD(params, **{"lr": 0.5, **settings})


RATES = (0.5, 0.5, 0.5, 0.1, 0.0, 0.5)
CHANGES = {
    "lr": ("lr is set", _sgd(), _set("lr", RATES)),
    "lr by group": ("lr is set in a group", _sgd(), _in_group("lr", RATES)),
    "lr of Adam": ("lr of Adam is set", lambda p: optim.Adam(p, lr=0.1), _set("lr", RATES)),
    "lr of Lion": ("lr of Lion is set", lambda p: optim.Lion(p, lr=0.01), _set("lr", RATES)),
    "lr of RMSprop": (
        "lr of RMSprop is set", lambda p: optim.RMSprop(p, lr=0.01), _set("lr", RATES)),
    "momentum": (
        "momentum is set", _sgd(momentum=0.9), _set("momentum", (0.9, 0.9, 0.9, 0.5, 0, 0.9))),
    "momentum by group": (
        "momentum is set in a group", _sgd(momentum=0.9),
        _in_group("momentum", (0.9, 0.9, 0.9, 0.5, 0.0, 0.9))),
    "momentum to zero": (
        "momentum is switched off", _sgd(momentum=0.9), _set("momentum", (0.9, 0.9, 0.9, 0, 0, 1))),
    "momentum and nesterov": (
        "nesterov is switched on", _sgd(momentum=0.9),
        _set("nesterov", (False, False, False, True, True, False))),
    "momentum dampened": (
        "dampening is set", _sgd(momentum=0.9), _set("dampening", (0.0, 0.0, 0.0, 0.5, 0.5, 0.0))),
    "betas": (
        "momentum of Adam is set", lambda p: optim.Adam(p, lr=0.1),
        _set("betas", ((0.9, 0.999),) * 3 + ((0.5, 0.9),) * 3)),
    "weight decay": ("weight decay is set", _sgd(), _set("weight_decay", (0, 0, 0, 0.1, 0.1, 0))),
    "decay of AdamW": (
        "weight decay of AdamW is set", lambda p: optim.AdamW(p, lr=0.1),
        _set("weight_decay", (0.01, 0.01, 0.01, 0.5, 0.5, 0.0))),
    "eps": ("eps of Adam is set", lambda p: optim.Adam(p, lr=0.1),
            _set("eps", (1e-8, 1e-8, 1e-8, 1e-2, 1e-2, 1e-8))),
    "maximize": ("maximize is switched", _sgd(), _set("maximize", (False,) * 3 + (True,) * 3)),
    "steps": ("the count of steps is set", lambda p: optim.Adam(p, lr=0.1),
              lambda call, model, o: setattr(o, "steps", 0) if call == 3 else None),
}  # fmt: skip


def _change(kind, name, optimizer, change):
    word = "momentum" if "moment" in kind or kind == "betas" else "lr" if "lr" in kind else "decay"
    kinds = ("optimizer settings",) if word == "decay" else (word,)

    @situation(*kinds, name=name)
    def changed(jit):
        yield from training(jit, optimizer, change)


for _kind, _what in CHANGES.items():
    _change(_kind, *_what)


@situation("lr")
def a_rate_that_is_a_number_of_my_own(jit):
    s, w = SimpleNamespace(lr=0.5), weight(1, 2)

    @jit
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        w.data -= s.lr * w.grad

    for lr in RATES:
        s.lr = lr
        step(vec(1, 2))
        yield w


# ---- groups --------------------------------------------------------------------------------------


@situation("param groups")
def a_group_is_added(jit):
    model, more = net(), weight(1, 1, 1)
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step(x):
        sgd.zero_grad()
        model(x * more).sum().backward()
        sgd.step()

    for call in range(7):
        if call == 3:
            sgd.add_param_group({"params": [more], "lr": 0.1})
        step(rows(call))
        yield state(model), more, more.grad


@situation("param groups")
def a_group_is_added_to_adam(jit):
    a, b = weight(1, 2), weight(3, 4)
    adam = optim.Adam([a], lr=0.1)

    @jit
    def step(x):
        adam.zero_grad()
        (a * b * x).sum().backward()
        adam.step()

    for call in range(7):
        if call == 3:
            adam.add_param_group({"params": b, "lr": 0.5})
        step(vec(call, 1))
        yield a, b, adam.steps


@situation("param groups")
def the_second_group_has_another_rate(jit):
    a, b = weight(1, 2), weight(3, 4)
    sgd = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.1}], lr=0.5)

    @jit
    def step(x):
        sgd.zero_grad()
        (a * b * x).sum().backward()
        sgd.step()

    for call in range(6):
        sgd.param_groups[1]["lr"] = (0.1, 0.1, 0.1, 0.9, 0.0, 0.1)[call]
        step(vec(call, 1))
        yield a, b


@situation("param groups")
def rates_of_all_groups_are_halved(jit):
    a, b = weight(1, 2), weight(3, 4)
    sgd = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.25}], lr=0.5)

    @jit
    def step(x):
        sgd.zero_grad()
        (a * a * b * x).sum().backward()
        sgd.step()

    for call in range(6):
        if call % 2:
            for group in sgd.param_groups:
                group["lr"] *= 0.5
        step(vec(call, 1))
        yield a, b, [group["lr"] for group in sgd.param_groups]


@situation("param groups")
def another_optimizer_takes_over(jit):
    model = net()
    s = SimpleNamespace(optimizer=optim.SGD(model.parameters(), lr=0.5))

    @jit
    def step(x, y):
        s.optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        s.optimizer.step()
        return loss

    for call in range(7):
        if call == 3:
            s.optimizer = optim.Adam(model.parameters(), lr=0.1)
        yield step(rows(call), labels()), state(model)


@situation("param groups")
def two_optimizers_take_turns(jit):
    model = net()
    both = [optim.SGD(model.parameters(), lr=0.5), optim.Adam(model.parameters(), lr=0.1)]

    @jit
    def step(optimizer, x, y):
        optimizer.zero_grad()
        model(x).cross_entropy(y).backward()
        optimizer.step()

    for call in range(7):
        step(both[call % 2], rows(call), labels())
        yield state(model)


@situation("param groups")
def the_state_of_the_optimizer_is_loaded(jit):
    model = net()
    adam = optim.Adam(model.parameters(), lr=0.1)
    step, saved = trained(jit, model, adam), None
    for call in range(7):
        if call == 2:
            saved = copy.deepcopy(adam.state_dict())
        if call == 5:
            adam.load_state_dict(saved)
        yield step(rows(call), labels()), state(model), adam.steps


# ---- schedules, averages, scales -----------------------------------------------------------------

SCHEDULES = {
    "a rate that falls in steps": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "a rate that falls": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.7),
    "a rate along a cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5),
    "a rate in one cycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=9),
    "a rate of a function": lambda o: optim.lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)),
    "a rate that warms up": lambda o: optim.lr_scheduler.LinearLR(o, 0.1, total_iters=3),
}


def _schedule(name, make):
    @situation("schedulers", name=name)
    def outside(jit):
        model = net()
        sgd = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        step, schedule = trained(jit, model, sgd), make(sgd)
        for call in range(7):
            yield step(rows(call), labels()), state(model), sgd.lr
            schedule.step()

    @situation("schedulers", name=name + " inside")
    def inside(jit):
        model = net()
        sgd = optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
        schedule = make(sgd)

        @jit
        def step(x, y):
            sgd.zero_grad()
            model(x).cross_entropy(y).backward()
            sgd.step()
            schedule.step()

        for call in range(7):
            step(rows(call), labels())
            yield state(model), sgd.lr


for _name, _make in SCHEDULES.items():
    _schedule(_name, _make)
