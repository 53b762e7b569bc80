"""Where batches come from, what they look like, and how large they are."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import queue
from types import SimpleNamespace
from typing import NamedTuple

from situations.table import labels, net, rows, situation, state, trained, vec
from tutor import Tensor, data, optim


@situation("generators")
def next_of_a_generator(jit):
    batches = (rows(call) for call in range(6))
    f = jit(lambda: next(batches) * 2)
    for _ in range(6):
        yield f()


@situation("generators")
def next_of_a_generator_of_numbers(jit):
    s = SimpleNamespace(rates=(1 / (1 + i) for i in range(9)))
    f = jit(lambda x: x * next(s.rates))
    for _ in range(6):
        yield f(vec())


@situation("generators")
def send_to_a_generator(jit):
    def smoothed():
        total = 0.0
        while True:
            total = 0.5 * total + (yield total)

    s = smoothed()
    next(s)
    f = jit(lambda x: x * s.send(1.0))
    for _ in range(6):
        yield f(vec())


@situation("generators", "iterators")
def a_counter_of_itertools(jit):
    count = itertools.count(1)
    f = jit(lambda x: x * next(count))
    for _ in range(6):
        yield f(vec())


@situation("generators", "iterators")
def a_cycle_of_scales(jit):
    scales = itertools.cycle([1.0, 2.0, 3.0])
    f = jit(lambda x: x * next(scales))
    for _ in range(7):
        yield f(vec())


@situation("iterators")
def an_iterator_of_a_list(jit):
    batches = iter([rows(call) for call in range(6)])
    f = jit(lambda: next(batches) + 1)
    for _ in range(6):
        yield f()


@situation("iterators")
def an_iterator_of_my_own(jit):
    class Batches:
        at = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1
            return rows(self.at)

    batches = Batches()
    f = jit(lambda: next(batches) * 2)
    for _ in range(5):
        yield f(), batches.at


@situation("iterators")
def a_zip_of_two(jit):
    pairs = zip([rows(i) for i in range(6)], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    @jit
    def f():
        x, k = next(pairs)
        return x * k

    for _ in range(6):
        yield f()


@situation("iterators")
def an_iterator_with_a_default(jit):
    left = iter([1.0, 2.0, 3.0, 4.0])
    f = jit(lambda x: x * next(left, 0.0))
    for _ in range(6):
        yield f(vec())


@situation("iterators")
def batches_of_the_library(jit):
    x, y = rows(0, 10), labels(10)
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    for epoch in range(2):
        for part, target in data.batches(x, y, 4, epoch=epoch):
            yield step(part, target), state(model)


@situation("queues")
def get_of_a_queue(jit):
    batches = queue.Queue()
    f = jit(lambda: batches.get() * 2)
    for call in range(6):
        batches.put(rows(call))
        yield f()


@situation("queues")
def get_nowait_until_it_is_empty(jit):
    batches = queue.SimpleQueue()
    for call in range(4):
        batches.put(rows(call))

    @jit
    def f():
        try:
            return batches.get_nowait()
        except queue.Empty:
            return None

    for _ in range(6):
        yield f()


@situation("queues")
def popleft_of_a_deque(jit):
    batches = collections.deque(rows(call) for call in range(7))
    f = jit(lambda: batches.popleft() + 1)
    for _ in range(6):
        yield f(), len(batches)


@situation("queues")
def the_next_batch_in_an_ordered_dict(jit):
    model, batch = net(), collections.OrderedDict(x=rows(), y=labels())
    sgd = optim.SGD(model.parameters(), lr=0.5)

    @jit
    def step():
        sgd.zero_grad()
        loss = model(batch["x"]).cross_entropy(batch["y"])
        loss.backward()
        sgd.step()
        return loss

    for call in range(6):
        batch["x"] = rows(call)
        yield step(), state(model)


@situation("queues")
def the_next_batch_in_an_attribute(jit):
    loader = SimpleNamespace(batch=rows())
    f = jit(lambda: loader.batch * 2)
    for call in range(6):
        loader.batch = rows(call)
        yield f()


@situation("queues")
def the_next_batch_in_a_list(jit):
    batch = [rows(), labels()]
    model = net()
    f = jit(lambda: model(batch[0]).cross_entropy(batch[1]))
    for call in range(6):
        batch[0] = rows(call)
        yield f()


# ---- how they look -------------------------------------------------------------------------------


@dataclasses.dataclass
class Batch:
    x: Tensor
    y: Tensor
    scale: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Tensor
    scale: float


class Pair(NamedTuple):
    x: Tensor
    y: Tensor


@situation("dataclass batches")
def a_dataclass_goes_in(jit):
    model = net()
    f = jit(lambda batch: model(batch.x).cross_entropy(batch.y) * batch.scale)
    for call in range(6):
        yield f(Batch(rows(call), labels(), 1.0 if call < 4 else 2.0))


@situation("dataclass batches")
def one_dataclass_is_filled_again(jit):
    batch = Batch(rows(), labels())
    f = jit(lambda b: b.x * b.scale)
    for call in range(6):
        batch.x, batch.scale = rows(call), float(call // 3 + 1)
        yield f(batch)


@situation("dataclass batches")
def a_dataclass_comes_out(jit):
    @jit
    def f(x):
        made = Batch(x * 2, x + 1)
        return made.x if made.scale > 5 else made

    for call in range(5):
        made = f(rows(call))
        yield type(made) is Batch, made.x, made.y, made.scale


@situation("dataclass batches")
def a_frozen_dataclass(jit):
    f = jit(lambda b: b.x * b.scale)
    for call in range(6):
        yield f(Frozen(rows(call), 1.0 if call < 3 else 4.0))


@situation("dataclass batches")
def a_configuration_as_a_dataclass(jit):
    config = dataclasses.replace(Batch(vec(), vec()), scale=2.0)
    f = jit(lambda x: x * dataclasses.asdict(config)["scale"])
    for scale in (2.0, 2.0, 2.0, 5.0, 5.0):
        config.scale = scale
        yield f(vec())


@situation("namedtuple batches")
def a_namedtuple_goes_in(jit):
    f = jit(lambda pair: pair.x * 2 + pair.y)
    for call in range(5):
        yield f(Pair(rows(call), rows(call + 1)))


@situation("namedtuple batches")
def a_namedtuple_comes_out(jit):
    f = jit(lambda x: Pair(x * 2, x + 1))
    for call in range(5):
        made = f(rows(call))
        yield made, made.x


@situation("namedtuple batches")
def a_namedtuple_and_a_tuple(jit):
    f = jit(lambda pair: pair[0] * (2 if hasattr(pair, "x") else 3))
    for kind in (Pair, Pair, Pair, lambda a, b: (a, b), Pair):
        yield f(kind(rows(), labels()))


@situation("namedtuple batches")
def two_kinds_of_namedtuple(jit):
    other = collections.namedtuple("Other", "y x")
    f = jit(lambda pair: pair.x - pair.y)
    for call in range(6):
        made = (Pair if call % 2 else other)(rows(call), rows(1))
        yield f(made)


@situation("namedtuple batches")
def a_namedtuple_as_state(jit):
    s = SimpleNamespace(pair=Pair(vec(1, 1), vec(2, 2)))

    @jit
    def f(x):
        s.pair = s.pair._replace(x=s.pair.x + x)
        return s.pair.x * s.pair.y

    for call in range(5):
        yield f(vec(call, 1)), s.pair


# ---- how large they are --------------------------------------------------------------------------


@situation("batch size changed")
def the_last_batch_is_smaller(jit):
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    for count in (4, 4, 2, 4, 4, 2, 4, 4, 2):
        yield step(rows(count, count), labels(count)), state(model)


@situation("batch size changed")
def the_first_batch_is_smaller(jit):
    f = jit(lambda x: (x - x.mean(0)) / x.shape[0])
    for count in (1, 4, 4, 4, 1, 1):
        yield f(rows(count, count))


@situation("batch size changed")
def the_size_is_a_number_in_the_result(jit):
    f = jit(lambda x: (x.sum(), len(x), x.shape))
    for count in (4, 4, 4, 3, 3, 4):
        yield f(rows(0, count))


@situation("batch size changed")
def batches_grow(jit):
    model = net()
    step = trained(jit, model, optim.SGD(model.parameters(), lr=0.5))
    for count in (1, 1, 2, 2, 4, 4, 8, 8):
        yield step(rows(0, count), labels(count))


@situation("batch size changed")
def an_empty_batch(jit):
    f = jit(lambda x: (x * 2).sum())
    for count in (3, 3, 3, 0, 0, 3):
        yield f(rows(0, 5)[:count])


@situation("batch size changed")
def a_batch_that_is_not_contiguous(jit):
    f = jit(lambda x: (x * 2).sum(0))
    x = rows(0, 6)
    for part in (x[:3], x[:3], x[::2], x[:3], x[1::2], x[3:], x.flip(0)[:3]):
        yield f(part)
