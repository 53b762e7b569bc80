"""State that is carried from token to token: recurrent nets, caches, beams."""

from __future__ import annotations

from types import SimpleNamespace

import tutor
from situations.table import rows, situation, state, vec
from tutor import Tensor, nn, optim


@situation("RNN state carried")
def a_hidden_state_in_an_attribute(jit):
    cell, s = nn.GRUCell(3, 4), SimpleNamespace(h=Tensor.zeros(4, 4))

    @jit
    def step(x):
        with tutor.no_grad():
            s.h = cell(x, s.h)
        return s.h * 1

    for call in range(7):
        if call == 4:
            s.h = Tensor.zeros(4, 4)
        yield step(rows(call)), s.h


@situation("RNN state carried")
def a_hidden_state_that_is_none_at_first(jit):
    cell, s = nn.GRUCell(3, 4), SimpleNamespace(h=None)

    @jit
    def step(x):
        s.h = cell(x, s.h).detach()
        return s.h.sum()

    for call in range(8):
        if call in (3, 6):
            s.h = None
        yield step(rows(call)), s.h


@situation("RNN state carried")
def a_hidden_state_that_is_handed_on(jit):
    cell = nn.RNNCell(3, 4)
    step = jit(lambda x, h: cell(x, h))
    h = Tensor.zeros(4, 4)
    for call in range(6):
        h = step(rows(call), h).detach()
        yield h


@situation("RNN state carried")
def two_states_of_a_long_memory(jit):
    cell, s = nn.LSTMCell(3, 4), SimpleNamespace(state=None)

    @jit
    def step(x):
        h, c = cell(x, s.state)
        s.state = h.detach(), c.detach()
        return h.sum()

    for call in range(7):
        if call == 4:
            s.state = None
        yield step(rows(call)), s.state


@situation("RNN state carried")
def truncated_backpropagation(jit):
    cell, s = nn.GRUCell(3, 4), SimpleNamespace(h=Tensor.zeros(4, 4))
    sgd = optim.SGD(cell.parameters(), lr=0.1)

    @jit
    def step(x):
        h = cell(x, s.h)
        sgd.zero_grad()
        h.square().sum().backward()
        sgd.step()
        s.h = h.detach()

    for call in range(7):
        if call == 4:
            s.h.zero_()
        step(rows(call))
        yield s.h, state(cell)


# ---- language models -----------------------------------------------------------------------------


@situation("caches of a language model")
def a_cache_that_grows(jit):
    block = nn.TransformerBlock(4, 2)
    cache = nn.KVCache()
    with tutor.no_grad():
        step = jit(lambda x: block(x, cache))
        for call in range(6):
            yield step(Tensor.full((1, 1, 4), call + 1.0)), len(cache)


@situation("caches of a language model")
def a_cache_with_room(jit):
    block, cache = nn.TransformerBlock(4, 2), nn.KVCache(8)
    with tutor.no_grad():
        step = jit(lambda x: block(x, cache))
        for call in range(8):
            if call == 5:
                cache.reset()
            yield step(Tensor.full((1, 1, 4), call + 1.0)), len(cache)


@situation("caches of a language model")
def a_list_of_keys(jit):
    s = SimpleNamespace(keys=[])

    @jit
    def step(q):
        s.keys.append(q * 2)
        return sum((q * k).sum() for k in s.keys)

    for call in range(7):
        if call == 4:
            s.keys = []
        yield step(vec(call, 1)), len(s.keys)


@situation("caches of a language model")
def a_cache_of_each_layer_in_a_dict(jit):
    caches = {}

    @jit
    def step(x):
        for layer in range(2):
            past = caches.get(layer)
            caches[layer] = x if past is None else tutor.cat([past, x])
            x = x + caches[layer].mean()
        return x

    for call in range(6):
        if call == 4:
            caches.clear()
        yield step(vec(call, 1)), caches


@situation("caches of a language model")
def beams_are_sorted(jit):
    beams = [SimpleNamespace(score=float(i), h=vec(i, 1)) for i in range(3)]

    @jit
    def step(x):
        return [beam.h * x + beam.score for beam in beams]

    for call in range(6):
        yield step(vec(call, 2))
        beams.sort(key=lambda beam: -beam.score if call % 2 else beam.score)
        beams[0].h = beams[-1].h


@situation("caches of a language model")
def windows_of_a_long_text(jit):
    text = Tensor([i * 7 % 11 for i in range(40)])
    table = nn.Embedding(11, 4)
    head = nn.Linear(4, 11)
    sgd = optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)

    @jit
    def step(x, y):
        loss = head(table(x)).cross_entropy(y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return loss

    for i in (0, 8, 16, 5, 24, 3):
        yield step(text[i : i + 8], text[i + 1 : i + 9])


@situation("caches of a language model")
def a_token_is_chosen_by_temperature(jit):
    s = SimpleNamespace(temperature=1.0, greedy=False)
    head = nn.Linear(3, 5)

    @jit
    def step(x):
        p = (head(x) / s.temperature).softmax(-1)
        return p.argmax(-1) if s.greedy else tutor.multinomial(p, 1)

    for call in range(7):
        s.temperature, s.greedy = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 1.0)[call], call == 5
        yield step(rows(call))
