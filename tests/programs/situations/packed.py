"""Batches that are named tuples or dataclasses, slices that overlap, numbers of NumPy's."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from situations.table import net, rows, situation, state, vec
from tutor import Tensor, nn, optim

SCALE = 2.0


class Pair(NamedTuple):
    x: Any
    y: Any

    @property
    def scaled(self):
        return self.x * SCALE


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any = None
    weight: float = 1.0
    factor = 3.0

    def both(self):
        return self.x * self.factor + self.weight


@dataclasses.dataclass(frozen=True)
class Result:
    loss: Any
    rest: Any = None

    def __post_init__(self):
        object.__setattr__(self, "rest", (self.rest, "made"))


@situation("namedtuple batches")
def a_named_tuple_goes_in(jit):
    f = jit(lambda pair: pair.x * 2 + pair.y)
    for call in range(6):
        yield f(Pair(vec(call, 1), vec(2, call)))


@situation("namedtuple batches")
def a_property_of_a_named_tuple_reads_a_global(jit):
    f = jit(lambda pair: pair.scaled)
    for call in range(7):
        globals()["SCALE"] = 5.0 if call > 3 else 2.0
        yield f(Pair(vec(call, 1), None))
    globals()["SCALE"] = 2.0


@situation("namedtuple batches")
def one_class_of_named_tuples_after_another(jit):
    first = collections.namedtuple("first", "x y")
    second = collections.namedtuple("second", "y x")
    f = jit(lambda pair: pair.x * 2 + pair.y)
    for call in range(8):
        yield f((first, second)[call // 2 % 2](vec(call, 1), vec(2, 3)))


@situation("namedtuple batches")
def a_named_tuple_of_named_tuples_comes_out(jit):
    f = jit(lambda pair: Pair(pair.y * 2, Pair(pair.x.x, 1.5)))
    for call in range(6):
        yield f(Pair(Pair(vec(call), 0), vec(2, call)))


@situation("namedtuple batches", "arguments sharing memory")
def the_same_named_tuple_twice(jit):
    f = jit(lambda a, b: a.x * (2 if a is b else 3))
    for call in range(8):
        one = Pair(vec(call), 0)
        two = Pair(one.x, 0)
        yield f(one, one if call % 4 < 2 else two)


@situation("namedtuple batches", "arguments sharing memory")
def a_list_twice_and_a_tensor_in_either_place(jit):
    f = jit(lambda a, b, c: b * 2 if isinstance(b, Tensor) else c * 3)
    for call in range(8):
        empty: list[Any] = []
        x = vec(call, 1)
        yield f(empty, empty, x) if call % 4 < 2 else f(empty, x, empty)


@situation("namedtuple batches")
def a_list_that_holds_itself(jit):
    f = jit(lambda items: items[0] * len(items))
    for call in range(5):
        items: list[Any] = [vec(call, 1)]
        items.append(items)
        yield f(items)


@situation("dataclass batches")
def a_dataclass_of_two_tensors_goes_in(jit):
    f = jit(lambda batch: batch.both() + batch.y)
    for call in range(6):
        yield f(Batch(vec(call, 1), vec(2, call)))


@situation("dataclass batches")
def a_number_in_a_dataclass_changes(jit):
    f = jit(lambda batch: batch.both())
    for call in range(8):
        yield f(Batch(vec(call, 1), weight=float(call > 3)))


@situation("dataclass batches", "class attributes")
def a_dataclass_inherits_another_number(jit):
    f = jit(lambda batch: batch.both())
    for call in range(8):
        Batch.factor = 4.0 if call > 3 else 3.0
        yield f(Batch(vec(call, 1)))
    Batch.factor = 3.0


@situation("dataclass batches")
def an_attribute_beside_the_fields(jit):
    f = jit(lambda batch: batch.x * getattr(batch, "extra", 1.0))
    for call in range(8):
        batch = Batch(vec(call, 1))
        if call > 3:
            batch.extra = call
        yield f(batch)


@situation("dataclass batches")
def a_field_is_set_in_the_call(jit):
    @jit
    def f(batch):
        batch.y = batch.x * 2
        return batch.y + 1

    for call in range(6):
        batch = Batch(vec(call, 1))
        yield f(batch), batch.y


@situation("dataclass batches")
def a_field_is_written_in_place(jit):
    @jit
    def f(batch):
        batch.x *= 2
        return batch.x + 1

    for call in range(6):
        batch = Batch(vec(call, 1))
        yield f(batch), batch.x


@situation("dataclass batches")
def a_dataclass_with_a_method_of_its_own_comes_out(jit):
    f = jit(lambda x: Result(x.sum(), x * 2))
    for call in range(6):
        found = f(vec(call, 1))
        yield type(found).__name__, found.loss, *found.rest


@situation("dataclass batches")
def the_batch_itself_comes_out(jit):
    f = jit(lambda batch: batch)
    for call in range(6):
        batch = Batch(vec(call, 1))
        yield f(batch) is batch, batch.x


@situation("dataclass batches")
def a_dataclass_is_kept_in_a_list(jit):
    kept: list[Any] = []

    @jit
    def f(batch):
        kept.append(batch)
        return batch.x * 2

    for call in range(6):
        yield f(Batch(vec(call, 1))), len(kept), kept[-1].x


@situation("dataclass batches")
def a_training_step_on_dataclasses(jit):
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @jit
    def step(batch):
        optimizer.zero_grad()
        loss = (model(batch.x) * batch.y).sum()
        loss.backward()
        optimizer.step()
        return Result(loss)

    for call in range(6):
        yield step(Batch(rows(call), 0.5)).loss, state(model)


# ---- slices of one text --------------------------------------------------------------------------

TEXT = Tensor([float(i * i % 17) for i in range(60)])


@situation("overlapping slices")
def a_text_and_what_follows_it(jit):
    f = jit(lambda x, y: (x * 2 - y).sum())
    for i in range(0, 40, 3):
        yield f(TEXT[i : i + 8], TEXT[i + 1 : i + 9])


@situation("overlapping slices")
def slices_at_changing_distance(jit):
    f = jit(lambda x, y: x * 2 - y)
    for i, by in (
        (0, 1),
        (4, 1),
        (8, 1),
        (3, 2),
        (9, 2),
        (8, 0),
        (9, 0),
        (9, -1),
        (12, -1),
        (2, 1),
    ):
        yield f(TEXT[i : i + 5], TEXT[i + by : i + by + 5])


@situation("overlapping slices")
def one_of_two_slices_is_written(jit):
    text = TEXT.clone()

    @jit
    def f(x, y):
        x += y
        return y * 1

    for i in (0, 3, 9, 20, 21, 22):
        yield f(text[i : i + 5], text[i + 2 : i + 7]), text


@situation("overlapping slices")
def a_view_of_one_of_two_slices_comes_out(jit):
    text = TEXT.clone()
    f = jit(lambda x, y: (y[1:3], x * 2))
    for i in (0, 3, 9, 20, 21, 22):
        view, double = f(text[i : i + 5], text[i + 2 : i + 7])
        view += 1
        yield view, double, text


@situation("overlapping slices", "gradients")
def slices_within_a_graph(jit):
    w = vec(2.0, 3.0)
    f = jit(lambda x, y: (x * w[0] - y * w[1]).sum())
    w.requires_grad_()
    for i in (0, 3, 9, 20, 21, 22):
        loss = f(TEXT[i : i + 4], TEXT[i + 1 : i + 5])
        loss.backward()
        yield loss, w.grad


@situation("overlapping slices")
def three_slices_two_of_which_are_one(jit):
    f = jit(lambda x, y, z: x * y + z * (2 if x is z else 3))
    for i in (0, 3, 9, 20, 21, 22):
        x, y = TEXT[i : i + 4], TEXT[i + 1 : i + 5]
        yield f(x, y, x if i % 2 else TEXT[i : i + 4])


@situation("overlapping slices")
def a_slice_and_the_whole(jit):
    f = jit(lambda x, y: x.sum() + y)
    for i in (0, 3, 9, 20, 21, 22):
        yield f(TEXT, TEXT[i : i + 4])


@situation("overlapping slices")
def rows_and_a_transposed_block(jit):
    table = TEXT.reshape(10, 6)
    f = jit(lambda x, y: x @ y)
    for i in (0, 1, 2, 3, 4, 5):
        yield f(table[i : i + 2], table[i + 1 : i + 3].T)


@situation("overlapping slices", "arguments that are also state")
def a_slice_of_what_the_function_reads(jit):
    f = jit(lambda x, y: x * y + TEXT[:4])
    for i in (0, 3, 9, 20, 21, 22):
        yield f(TEXT[i : i + 4], TEXT[i + 1 : i + 5])


# ---- numbers of NumPy's --------------------------------------------------------------------------


@situation("numbers of NumPy's", needs="numpy")
def a_scale_of_numpy(jit):
    f = jit(lambda x, s: x * s)
    for call in range(8):
        yield f(vec(), np.float32(1 + call // 4))


@situation("numbers of NumPy's", needs="numpy")
def an_index_of_numpy(jit):
    f = jit(lambda x, i: x[i] * 2)
    for call in range(8):
        yield f(vec(1, 2, 3), np.int64(call // 3))


@situation("numbers of NumPy's", needs="numpy")
def zero_and_minus_zero_of_numpy(jit):
    f = jit(lambda x, s: 1 / (x * s))
    for call in range(8):
        yield f(vec(), np.float64(0.0 if call % 4 < 2 else -0.0))


@situation("numbers of NumPy's", needs="numpy")
def one_of_two_dtypes_of_numpy(jit):
    f = jit(lambda x, s: (x * s.itemsize, str(s.dtype)))
    for call in range(8):
        yield f(vec(), (np.float32, np.float64)[call // 2 % 2](1.5))


@situation("numbers of NumPy's", needs="numpy")
def a_time_of_numpy(jit):
    f = jit(lambda x, t: x * int(t.astype(int)))
    for call in range(8):
        yield f(vec(), np.datetime64(call // 3, "D" if call % 2 else "s"))


@situation("numbers that change")
def a_rate_that_is_another_one_each_time(jit):
    model = nn.Linear(2, 1)

    @jit
    def step(x, rate):
        model.zero_grad()
        loss = model(x).sum()
        loss.backward()
        for p in model.parameters():
            p.data -= rate * p.grad
        return loss

    for call in range(24):
        yield step(rows(call % 3)[:, :2], 0.1 / (1 + call)), model.weight


@situation("numbers that change")
def sizes_that_are_other_ones_each_time(jit):
    f = jit(lambda x: (x * 2).sum() / len(x))
    for call in range(40):
        yield f(TEXT[: 1 + call % 20])


@situation("numbers that change")
def a_number_that_comes_to_rest(jit):
    f = jit(lambda x, s: x * s)
    for call in range(40):
        yield f(vec(), float(min(call, 15)))


@situation("numbers that change")
def a_keyword_in_another_order(jit):
    f = jit(lambda **named: [*named][0] + str([*named.values()][0].tolist()[:0]))
    for call in range(8):
        given = {"a": vec(), "b": vec()}
        yield f(**dict(sorted(given.items(), reverse=call % 4 > 1)))


@situation("numbers that change")
def a_number_in_a_dict_that_nobody_reads(jit):
    f = jit(lambda batch: batch["x"] * 2)
    for call in range(24):
        yield f({"x": vec(call), "n": call})
