"""Replay buffers, target networks, curricula: what a training carries from call to call."""

from __future__ import annotations

import collections
import random
from types import SimpleNamespace

import tutor
from situations.table import labels, net, rows, situation, state, trained, vec
from tutor import Tensor, optim

# ---- replay buffers and target networks ----------------------------------------------------------


@situation("replay buffers")
def a_deque_is_sampled_inside(jit):
    memory = collections.deque(maxlen=4)

    @jit
    def learn():
        return sum(random.sample(list(memory), 2), 0.0)

    for call in range(8):
        memory.append(vec(call, 1))
        if call >= 2:
            yield learn()


@situation("replay buffers")
def the_last_of_a_deque(jit):
    memory = collections.deque([vec(0, 0)], maxlen=3)
    f = jit(lambda x: memory[-1] * x)
    for call in range(6):
        memory.append(vec(call, 1))
        yield f(vec(2, 3))


@situation("replay buffers")
def a_ring_in_a_tensor(jit):
    s = SimpleNamespace(memory=Tensor.zeros(3, 2), at=0)

    @jit
    def remember(x):
        s.memory[s.at] = x
        return s.memory.sum(0)

    for call in range(7):
        s.at = call % 3
        yield remember(vec(call, 1)), s.memory


@situation("replay buffers")
def transitions_in_a_list_of_tuples(jit):
    memory = [(vec(i, 1), float(i)) for i in range(3)]
    f = jit(lambda: sum(x * reward for x, reward in memory))
    for call in range(6):
        memory[call % 3] = (vec(call, 2), 1.0 + call)
        yield f()


@situation("replay buffers")
def the_buffer_is_full(jit):
    memory = []

    @jit
    def step(x):
        memory.append(x * 2)
        if len(memory) > 2:
            del memory[0]
        return memory[0] + memory[-1]

    for call in range(7):
        yield step(vec(call, 1)), memory


@situation("target networks")
def a_target_follows_slowly(jit):
    online, target = net(), net()
    sgd = optim.SGD(online.parameters(), lr=0.1)

    @jit
    def step(x, y):
        goal = target(x).detach().max(1)
        sgd.zero_grad()
        ((online(x).max(1) - goal - y) ** 2).sum().backward()
        sgd.step()
        with tutor.no_grad():
            for p, q in zip(online.parameters(), target.parameters()):
                q.mul_(0.5).add_(p.detach() * 0.5)

    for call in range(6):
        step(rows(call), labels())
        yield state(online), state(target)


@situation("target networks")
def a_target_is_a_copy_of_the_object(jit):
    import copy

    s = SimpleNamespace(online=net())
    s.target = copy.deepcopy(s.online)
    step = trained(jit, s.online, optim.SGD(s.online.parameters(), lr=0.5))
    value = jit(lambda x: s.target(x))
    for call in range(6):
        if call % 2:
            s.target = copy.deepcopy(s.online)
        yield step(rows(call), labels()), value(rows(call))


# ---- curricula -----------------------------------------------------------------------------------


@situation("curriculum flags")
def an_auxiliary_loss_is_switched_on(jit):
    model, s = net(), SimpleNamespace(auxiliary=False)
    sgd = optim.SGD(model.parameters(), lr=0.1)

    @jit
    def step(x, y):
        loss = model(x).cross_entropy(y)
        if s.auxiliary:
            loss = loss + sum(p.square().sum() for p in model.parameters())
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    for call in range(7):
        s.auxiliary = call >= 3
        yield step(rows(call), labels()), state(model)


@situation("curriculum flags")
def longer_sequences_later(jit):
    s = SimpleNamespace(length=2)
    f = jit(lambda x: x[: s.length].cumsum(0))
    for length in (2, 2, 2, 4, 4, 3):
        s.length = length
        yield f(rows(0, 6))


@situation("curriculum flags")
def a_warm_up_by_epoch(jit):
    class Trainer:
        def __init__(self):
            self.epoch, self.model = 0, net()

        def loss(self, x):
            return self.model(x).sum() * min(1.0, (self.epoch + 1) / 4)

    trainer = Trainer()
    f = jit(trainer.loss)
    for epoch in range(6):
        trainer.epoch = epoch
        yield f(rows(epoch)), f(rows(epoch + 1))


@situation("curriculum flags")
def teacher_forcing_falls(jit):
    s = SimpleNamespace(ratio=1.0)
    f = jit(lambda x, y: x if random.random() < s.ratio else y)
    for call in range(8):
        s.ratio = 1.0 - call / 8
        yield f(vec(1), vec(2))


@situation("curriculum flags")
def phases_in_a_dict(jit):
    phases = {"now": "warm", "gain": {"warm": 0.1, "hot": 1.0}}
    f = jit(lambda x: x * phases["gain"][phases["now"]])
    for call in range(6):
        phases["now"] = "warm" if call < 3 else "hot"
        if call == 5:
            phases["gain"]["hot"] = 3.0
        yield f(vec())


@situation("curriculum flags")
def a_flag_of_the_class_of_the_trainer(jit):
    class Trainer:
        mixing = False

        def step(self, x):
            return x.flip(0) * 0.5 + x * 0.5 if self.mixing else x

    f = jit(Trainer().step)
    for call in range(6):
        Trainer.mixing = call in (3, 4)
        yield f(rows(call))
