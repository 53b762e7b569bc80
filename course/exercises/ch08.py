"""Chapter 8, training MNIST: thirteen exercises, two challenges, five questions."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.exercises.ch07 import needs_tensor, order_kept
from course.library import theirs_or_ours
from course.turns import Steps, formed, in_forms, scattered, take_turns

Numbers = list[list[float]]


own = partial(theirs_or_ours, chapter=8)


# ---- the loop ------------------------------------------------------------------------------------


class Stepper:
    """An optimizer that makes plain steps, and takes down what it finds."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters, self.steps, self.missing = parameters, 0, 0

    def step(self) -> None:
        self.steps += 1
        for p in self.parameters:
            if p.grad is None:
                self.missing += 1
                continue
            moved = [x - 0.3 * g for x, g in zip(p.values(), p.grad.values(), strict=True)]
            p.fill(moved)
            p.grad = None


def lots(answer: Any, sizes: list[int]) -> list[tuple[Any, list[int]]]:
    """Batches of these sizes: six numbers for each picture, and one of three classes."""
    made, at = [], 0
    for size in sizes:
        numbers = [[math.sin(1.7 * (at + i) + 0.9 * j) for j in range(6)] for i in range(size)]
        made.append(
            (own(answer, "Tensor")(numbers), [(at + i) * (at + i) % 3 for i in range(size)])
        )
        at += size
    return made


def seeded(answer: Any) -> Any:
    """The same small network every time."""
    random.seed(2)
    return own(answer, "MLP")(6, 4, 3)


def trained(answer: Any, sizes: list[int]) -> tuple[list[float], list[Any]]:
    """What the loop should give: the losses, and the parameters afterwards."""
    model, losses = seeded(answer), []
    optimizer = Stepper(model.parameters())
    for x, labels in lots(answer, sizes):
        loss = own(answer, "cross_entropy")(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.tolist() for p in model.parameters()]


def looks_trained(judge: Judge, got: Any, model: Any, optimizer: Stepper, expected: Any) -> None:
    """What a loop gave, and what it has done, against what it should."""
    losses, numbers = expected
    judge.that(isinstance(got, list), f"it gives {kind(got)}; a list of the losses is asked for")
    found = "the list has tensors in it. Each keeps the graph of its step alive, and with it all of"
    found += " its memory: keep the number alone"
    judge.that(not any(hasattr(loss, "buf") for loss in got), found)
    judge.equal(optimizer.steps, len(losses), given="how often step() was called")
    found = "step() was called for parameters that had no gradient: backward comes before it"
    judge.that(not optimizer.missing, found)
    judge.close(got, losses, rtol=1e-5, given="the losses, one for each batch")
    for p, wanted in zip(model.parameters(), numbers, strict=True):
        judge.close(p.tolist(), wanted, rtol=1e-4, atol=1e-6, given="a parameter afterwards")
        judge.that(p.grad is None, "a gradient is left: it would be added to the next one")


@exercise(
    "08.7",
    "The loop",
    answer="train",
    minutes=6,
    without=("tutor",),
    hints=(
        "Four things happen for each batch, and you have seen them in chapter 5: forward, "
        "backward, a step, and a number to remember.",
        "cross_entropy(model(x), labels) is the loss of a batch; optimizer.step() moves the "
        "parameters and clears their gradients.",
        "Begin with losses = []; in `for x, labels in batches:` compute loss, call "
        "loss.backward() and optimizer.step(), append loss.item(); return losses at the end.",
    ),
    why_ours="The list keeps loss.item(), a plain number. Everything else is the order of four "
    "lines: the step needs the gradient, and the gradient needs the loss.",
)
def check_08_7(judge: Judge, train: Any) -> None:
    """train(model, optimizer, batches) makes a step for each batch (x, labels), and gives the
    losses as a list of numbers."""
    with order_kept():
        for sizes, once in (([4, 4, 2], False), ([3], False), ([2, 5, 1, 2], True)):
            expected = judge.run(partial(trained, train, sizes))
            model = seeded(train)
            optimizer, made = Stepper(model.parameters()), lots(train, sizes)
            given = f"{len(sizes)} batches, of {', '.join(map(str, sizes))}"
            given += ", from a generator, which can be gone through once" if once else ""
            batches = iter(made) if once else made
            got = judge.call(train, model, optimizer, batches, changes=True, given=given)
            looks_trained(judge, got, model, optimizer, expected)


class Identity:
    """A model whose scores are what it is given, by way of a parameter that is watched."""

    def __init__(self, answer: Any, classes: int) -> None:
        ones = [[float(i == j) for j in range(classes)] for i in range(classes)]
        self.w, self.graphs = own(answer, "Tensor")(ones, requires_grad=True), 0

    def __call__(self, x: Any) -> Any:
        scores = x @ self.w
        self.graphs += scores.op is not None
        return scores

    def __repr__(self) -> str:
        return "model"


@exercise(
    "08.8",
    "How many are right",
    answer="accuracy",
    minutes=8,
    without=("tutor",),
    hints=(
        "What the network reads is the place of the largest score in a row.",
        "row.index(max(row)) is that place. Nothing here needs a gradient, so `with no_grad():` "
        "keeps the Engine from recording ten thousand pictures.",
        "Under no_grad take scores = model(images).tolist(); count the rows where "
        "row.index(max(row)) == label; divide by len(labels).",
    ),
    why_ours="Only the forward pass is under `no_grad`, because only there are ops. A truth counts "
    "as 1 when it is added.",
)
@in_forms
def check_08_8(judge: Judge, accuracy: Any) -> None:
    """accuracy(model, images, labels) is the share, from 0 to 1, of the rows whose largest score is
    at their label; it leaves no graph."""
    Tensor = own(accuracy, "Tensor")
    cases: list[tuple[Numbers, list[int]]] = [
        ([[0.1, 0.9], [0.8, 0.2]], [1, 0]),
        ([[0.1, 0.9], [0.8, 0.2]], [0, 1]),
        ([[1.0, 0.0, 0.5], [2.0, 3.0, -1.0], [0.0, 0.1, 0.2], [5.0, 4.0, 3.0]], [0, 1, 1, 0]),
        ([[-5.0, -1.0, -3.0], [-0.5, -9.0, -0.25], [-7.0, -8.0, -6.5]], [1, 0, 2]),
        ([[0.0, 0.0, 0.0, 7.0], [0.0, 9.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]], [0, 0, 0]),
    ]
    for rows, labels in cases:
        model = Identity(accuracy, len(rows[0]))
        given = f"scores {rows}"
        images = formed(Tensor(rows))
        got = judge.call(accuracy, model, images, labels, changes=True, given=given)
        right = sum(row.index(max(row)) == label for row, label in zip(rows, labels, strict=True))
        mistakes = {
            "how many are right; the share is asked for": float(right),
            "the share of 100": 100 * right / len(rows),
            "the share of those that are read wrong": 1 - right / len(rows),
            "the share where the smallest score is at the label": math.fsum(
                row.index(min(row)) == label for row, label in zip(rows, labels, strict=True)
            ) / len(rows),
        }  # fmt: skip
        judge.close(got, right / len(rows), rtol=1e-6, given=given, mistakes=mistakes)
        found = "the Engine has recorded it: of ten thousand pictures that is a lot of memory, for "
        judge.that(not model.graphs, f"{found}nothing. Which block records nothing?", given=given)


# ---- batches -------------------------------------------------------------------------------------


@exercise(
    "08.9",
    "Rows",
    answer="rows",
    minutes=10,
    without=("tutor",),
    hints=(
        "In a contiguous tensor row i is a run of bytes. How long is it, and where does it begin?",
        "A row has t.buf.itemsize * math.prod(t.shape[1:]) bytes. The first one begins at "
        "t.buf.itemsize * t.offset. contiguous(t) makes sure that rows are runs.",
        "Join the pieces t.buf.raw[start : start + size] of all indices with b''.join, make `out` "
        "with zeros((len(indices), *t.shape[1:]), t.buf.dtype), and put them in: "
        "out.buf.raw[:] = joined.",
    ),
    why_ours="No number is looked at: bytes are copied in runs, whatever their dtype. `contiguous` "
    "costs nothing where rows are runs already, and makes a copy where they are not.",
)
def check_08_9(judge: Judge, rows: Any) -> None:
    """rows(t, indices) is a new tensor of the same dtype, with memory of its own, made of the rows
    of t at these indices, in their order; t may be any view."""
    Tensor = own(rows, "Tensor")
    table = [[10.0 * i + j for j in range(3)] for i in range(6)]
    base = Tensor(table)
    numbers = Tensor([[(50 * i + j) % 256 for j in range(4)] for i in range(5)], dtype="uint8")
    cases = [
        ("a table of 6 rows", base, [5, 0, 5]),
        ("a table of 6 rows", base, [2]),
        ("bytes", numbers, [3, 1, 1, 4]),
        ("doubles", Tensor([[0.1, 0.2], [0.3, 0.4]], dtype="float64"), [1, 0]),
        ("a row of single numbers", Tensor([1.5, 2.5, 3.5]), [2, 0]),
        (
            "the last 4 rows of a table: its offset is 6",
            Tensor(base.buf, (4, 3), (3, 1), 6),
            [3, 0],
        ),
        ("every second row of a table", Tensor(base.buf, (3, 3), (6, 1)), [2, 0]),
        ("a table upside down", Tensor(base.buf, (6, 3), (-3, 1), 15), [0, 5]),
        ("the columns of a table as rows", Tensor(base.buf, (3, 6), (1, 3)), [2, 0]),
        ("pictures of 1 x 3", Tensor(base.buf, (6, 1, 3), (3, 3, 1)), [4, 4]),
    ]
    for given, t, indices in cases:
        got = judge.call(rows, t, indices, given=given)
        needs_tensor(judge, got)
        lists = t.tolist()
        judge.equal(tuple(got.shape), (len(indices), *t.shape[1:]), given=f"the shape, {given}")
        judge.equal(got.tolist(), [lists[i] for i in indices], given=given)
        judge.equal(got.buf.dtype, t.buf.dtype, given=f"the dtype, {given}")
        judge.run(partial(got.fill, [0] * got.numel()))
        judge.equal(t.tolist(), lists, given="t, after the new tensor was filled with zeros: it "
                    "must have memory of its own")  # fmt: skip
    many = own(rows, "zeros")((3000, 784), "uint8")
    judge.call(forty_batches, rows, many, given="40 batches of 32 rows, from 3,000 pictures: "
               "only the rows that are asked for should be touched")  # fmt: skip


def forty_batches(rows: Any, t: Any) -> None:
    for k in range(40):
        rows(t, list(range(k, 3000, 100)))


@exercise(
    "08.10",
    "Batches",
    answer="batches",
    minutes=10,
    without=("tutor",),
    hints=(
        "Shuffle numbers, not pictures: an order of 0 to n - 1. Then take slices of that order.",
        "random.sample(range(n), n) is such an order, and leaves everything else as it is. "
        "range(0, n, size) gives where each batch begins.",
        "For each start: chosen = order[start : start + size], and yield rows(images, chosen), "
        "[labels[i] for i in chosen].",
    ),
    why_ours="`random.sample` makes a new list; `random.shuffle(labels)` would change the caller's."
    " A slice that reaches beyond the end is simply shorter, so the last batch needs no `if`.",
)
def check_08_10(judge: Judge, batches: Any) -> None:
    """batches(images, labels, size) yields pairs (rows of images, their labels as a list), `size`
    at a time, the last one perhaps shorter; every picture once, in an order from `random`."""
    Tensor = own(batches, "Tensor")

    def epoch(n: int, size: int) -> list[Any]:
        images = Tensor([[float(i), 10.0 * i] for i in range(n)])
        labels = [100 + i for i in range(n)]
        got = judge.run(lambda: list(batches(images, labels, size)))
        found = "the caller's list of labels has another order now: shuffle a list of your own"
        judge.that(labels == [100 + i for i in range(n)], found, given=f"{n} pictures")
        judge.equal(images.tolist(), [[float(i), 10.0 * i] for i in range(n)],
                    given="the caller's images, afterwards")  # fmt: skip
        return list(got)

    with order_kept():
        random.seed(5)
        for n, size in ((10, 4), (8, 4), (3, 5), (1, 1), (6, 1)):
            given = f"{n} pictures, {size} at a time"
            pairs = epoch(n, size)
            for pair in pairs:
                is_pair = isinstance(pair, tuple | list) and len(pair) == 2
                judge.that(is_pair, f"it yields {kind(pair)}; pairs (x, labels) are asked for")
                needs_tensor(judge, pair[0], "the first of a pair is")
                found = f"the second of a pair is {kind(pair[1])}; a list of labels is asked for"
                judge.that(isinstance(pair[1], list), found, given=given)
            sizes = [len(labels) for _, labels in pairs]
            wanted = [min(size, n - start) for start in range(0, n, size)]
            judge.equal(sizes, wanted, given=f"how many there are in each batch, {given}")
            for x, labels in pairs:
                seen = [[label - 100.0, 10.0 * (label - 100)] for label in labels]
                judge.equal(x.tolist(), seen, given=f"the pictures of the labels {labels}, {given}")
            all_of_them = sorted(label - 100 for _, labels in pairs for label in labels)
            judge.equal(all_of_them, list(range(n)), given=f"each picture once, {given}")
        orders = []
        for seed in (1, 1, 2, None):
            if seed is not None:
                random.seed(seed)
            orders.append([label for _, labels in epoch(40, 8) for label in labels])
        judge.that(orders[0] != sorted(orders[0]), "they come in the order of the file")
        judge.that(orders[2] != orders[3], "a second epoch has the same order as the first")
        found = "after random.seed(1) the order is another one each time: take it from `random`"
        judge.that(orders[0] == orders[1], found)
        neighbours = sum(abs(a - b) == 1 for a, b in itertools.pairwise(orders[0]))
        found = (
            f"{neighbours} of 40 pictures come right beside their neighbour in the file: shuffle "
        )
        judge.that(neighbours < 15, f"{found}the pictures, not where they begin, or the batches")
        counts = [[0] * 4 for _ in range(4)]
        for _ in range(300):
            for place, label in enumerate(label for _, labels in epoch(4, 3) for label in labels):
                counts[label - 100][place] += 1
        for i, row in enumerate(counts):
            found = (
                f"in 300 epochs of 4 pictures, number {i} came {row} times at each place; about "
            )
            judge.that(max(abs(n - 75) for n in row) < 37, f"{found}75 times each is even")


def idx(shape: tuple[int, ...], first: int = 0) -> bytes:
    """An IDX file of unsigned bytes."""
    head = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    return head + bytes((first + 7 * i) % 256 for i in range(math.prod(shape)))


@exercise(
    "08.11",
    "The file itself",
    answer="read_idx",
    minutes=8,
    without=("tutor",),
    hints=(
        "How many axes there are stands in one byte. How long is the header, then?",
        "struct.unpack_from(f'>{count}I', payload, 4) reads the sizes; > says that the highest "
        "byte comes first. The numbers begin at byte 4 + 4 * count.",
        "Make t = zeros(shape, 'uint8'), and copy: t.buf.raw[:] = payload[4 + 4 * count :].",
    ),
    why_ours="The bytes of the file are the bytes of the Buffer, so they are copied as they are. "
    "No number is converted, and 47 million of them are there in an instant.",
)
def check_08_11(judge: Judge, read_idx: Any) -> None:
    """read_idx(payload) is a uint8 tensor with the shape and the numbers of the file."""
    for shape in ((5,), (2, 3, 4), (2, 3), (300, 2), (1, 2, 2, 1)):
        payload = idx(shape, first=shape[0])
        given = f"a file of {len(payload):,} bytes, shape {shape}"
        got = judge.call(read_idx, payload, given=given)
        needs_tensor(judge, got)
        judge.equal(tuple(got.shape), shape, given=f"the shape, {given}")
        judge.equal(got.buf.dtype, "uint8", given=f"the dtype, {given}")
        numbers = list(payload[4 + 4 * len(shape) :])
        judge.equal(got.reshape(-1).tolist(), numbers, given=f"the numbers, {given}")
        judge.run(partial(got.fill, [1] * got.numel()))  # no memory that cannot be changed
        judge.equal(got.reshape(-1).tolist(), [1] * len(numbers), given="filled with ones")


# ---- the step ------------------------------------------------------------------------------------


@exercise(
    "08.12",
    "A step in place",
    answer="add_",
    minutes=6,
    without=("tutor",),
    hints=(
        "`t = t + change` gives a new tensor, and t is only a name. Which part of a kernel's call "
        "says where the result goes?",
        "lookup('add', dtype) is the kernel: kernel(out, x, y). Nobody says that out must be new.",
        "lookup('add', t.buf.dtype)(t, t, change)",
    ),
    why_ours="The kernel writes where it reads, number by number, which is safe because no number "
    "is needed again. The Engine is not asked, so nothing is recorded.",
)
def check_08_12(judge: Judge, add_: Any) -> None:
    """add_(t, change) adds change to the numbers of t where they stand: in the same Buffer, through
    the same strides, with nothing recorded."""
    Tensor = own(add_, "Tensor")
    for given, shape, strides, offset in (
        ("a whole tensor", (2, 3), (3, 1), 0),
        ("a view of 2 numbers in the middle", (2,), (1,), 3),
        ("every second number", (3,), (2,), 1),
        ("columns and rows exchanged", (3, 2), (1, 3), 0),
        ("a single number", (), (), 4),
    ):
        for watched, dtype in ((False, "float64"), (True, "float32")):
            base = Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=dtype)
            t = Tensor(base.buf, shape, strides, offset)
            t.requires_grad = watched
            places = t.positions()
            change = Tensor(own(add_, "zeros")(shape, dtype).buf, shape)
            change.fill([0.5 * i - 1.25 for i in range(change.numel())])
            change = scattered(change) if watched else change
            amounts = list(change.values())
            expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
            for p, amount in zip(places, amounts, strict=True):
                expected[p] += amount
            about = f"{given} of six" + (", a parameter that is watched" if watched else "")
            buffer = t.buf
            judge.call(add_, t, change, changes=True, given=about)
            judge.that(t.buf is buffer, "t has another Buffer now: others still see the old one",
                       given=about)  # fmt: skip
            judge.equal(list(base.values()), expected, given=f"all six numbers; t is {about}")
            judge.equal(list(change.values()), amounts, given="change, which is only to be read")
            found = "the step has been recorded in the graph"
            judge.that(t.op is None and t.requires_grad == watched, found, given=about)


def parameters(answer: Any) -> list[Any]:
    """Two parameters to be moved, of different shapes."""
    Tensor = own(answer, "Tensor")
    return [
        Tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], dtype="float64", requires_grad=True),
        scattered(Tensor([0.25, -0.5], dtype="float64", requires_grad=True)),
    ]


def gradients(step: int) -> Numbers:
    """What arrives at them at this step, in several sizes."""
    sizes = (10.0, 1.0, 0.01)
    return [[sizes[i % 3] * ((3 * i + 2 * step) % 7 - 3) for i in range(n)] for n in (6, 2)]


RATES = (1.0, 1.0, 0.2, 3.0, 3.0)  # at each step, as a share of the first one


def behind(t: Any) -> set[int]:
    """The tensors that t is the result of."""
    found: set[int] = set()
    waiting = [t]
    while waiting:
        t = waiting.pop()
        if id(t) not in found:
            found.add(id(t))
            waiting += t.op.inputs if getattr(t, "op", None) is not None else []
    return found


def remembered(optimizer: Any) -> int:
    """How many tensors the graphs hold that the optimizer's own tensors are results of."""
    found: set[int] = set()
    for kept in getattr(optimizer, "__dict__", {}).values():
        listed = kept.values() if isinstance(kept, dict) else kept
        for t in listed if isinstance(listed, list | tuple) else [listed]:
            if getattr(t, "op", None) is not None:
                found |= behind(t)
    return len(found)


def follow(
    judge: Judge, answer: Any, optimizer: Any, moved: list[Any], lr: float, expected: list[Numbers],
    mistakes: dict[str, list[Numbers]] | None = None,
) -> Steps:  # fmt: skip
    """Let the optimizer make its steps; after each of them the parameters must be as expected."""
    Tensor = own(answer, "Tensor")
    memory, history, rate = [p.buf for p in moved], [], lr
    kept = getattr(optimizer, "parameters", None)
    same = isinstance(kept, list) and list(map(id, kept)) == list(map(id, moved))
    judge.that(same, "its attribute `parameters` is not the list of tensors that it was given")
    for step, wanted in enumerate(expected):
        before, arrived = [list(p.values()) for p in moved], []
        told = ""
        if RATES[step] * lr != rate:
            rate = optimizer.lr = RATES[step] * lr
            told = f", with lr set to {rate:g}"
        for p, numbers in zip(moved, gradients(step), strict=True):
            p.grad = Tensor(own(answer, "Buffer")(numbers, "float64"), p.shape)
            arrived.append(p.grad)
        judge.run(optimizer.step)
        yield
        for i, (p, numbers) in enumerate(zip(moved, wanted, strict=True)):
            given = f"the {('first', 'second')[i]} parameter after step {step + 1}{told}"
            given += f", with the gradient {gradients(step)[i]}"
            judge.that(p.buf is memory[i], "the step is not in place: the Buffer is another one",
                       given=given)  # fmt: skip
            judge.that(
                list(p.values()) != before[i],
                "it has not moved: `p = p - ...` makes a new tensor, add_(p, ...) changes this one",
                given=given,
            )
            known = {words: way[step][i] for words, way in (mistakes or {}).items()}
            judge.close(list(p.values()), numbers, given=given, rtol=1e-6, atol=1e-12,
                        mistakes=known)  # fmt: skip
            judge.that(p.grad is None, "the gradient was not cleared", given=given)
            judge.that(p.op is None and p.requires_grad, "the step is in the graph", given=given)
            judge.that(
                list(arrived[i].values()) == gradients(step)[i],
                "the numbers of the gradient itself were changed. It may be shared with others: "
                "read it, and write into tensors of your own",
                given=given,
            )
            arrived[i].fill([99.0] * p.numel())  # whoever has kept it will be seen
        history.append(remembered(optimizer))
    for name, value in vars(optimizer).items():
        found = f"its attribute `{name}` is {kind(value)}. Keep tensors in lists, one for each "
        found += "parameter, in their order: a checkpoint will look for them there"
        judge.that(not isinstance(value, dict) and not hasattr(value, "buf"), found)
    judge.that(
        history[-1] <= history[0],
        f"what the optimizer keeps has a history, of {history[0]} tensors after the first step and "
        f"{history[-1]} after step {len(history)}: `with no_grad():` there is none",
    )


@exercise(
    "08.1",
    "Stochastic gradient descent",
    answer="SGD",
    minutes=12,
    without=("tutor",),
    hints=(
        "The constructor keeps what it is given, and one velocity for each parameter. What is a "
        "tensor of zeros in the shape of p?",
        "p.detach() * 0 is one. In step, go over the parameters by number, since velocity i "
        "belongs to parameter i: self.v[i] = self.v[i] * self.momentum + p.grad.",
        "Then add_(p, self.v[i] * -self.lr) and p.grad = None, all of it under `with no_grad():`.",
    ),
    why_ours="The velocity is a new tensor at every step, so it shares no memory with a gradient "
    "that others may hold. lr stands outside of it: who changes lr changes the very next step, and "
    "not only what is added to the velocity from now on.",
)
def check_08_1(judge: Judge, answer: Any) -> None:
    """step() moves each parameter by -lr * v in place, and clears its gradient."""
    choices: list[dict[str, Any]] = [{}, {"momentum": 0.9}, {"momentum": 0.5}]
    cases = []
    for options in choices:
        momentum = options.get("momentum", 0.0)
        moved = parameters(answer)
        start = [list(p.values()) for p in moved]
        mistakes = {
            "up the slope: the step goes against the gradient": by_velocity(start, momentum, -1.0),
            "v = momentum v + (1 - momentum) grad, where grad is added whole": by_velocity(
                start, momentum, share=1 - momentum
            ),
            "v = momentum v + lr grad: a new lr then comes too late": by_velocity(
                start, momentum, inside=True
            ),
        }
        optimizer = judge.instance(answer, moved, 0.1, **options)
        expected = by_velocity(start, momentum)
        cases.append(follow(judge, answer, optimizer, moved, 0.1, expected, mistakes))
    take_turns(*cases)


def by_velocity(
    start: Numbers, momentum: float, sign: float = 1.0, share: float = 1.0, inside: bool = False
) -> list[Numbers]:
    """Where the steps of SGD lead, in floats; or those of a mistake."""
    numbers, v, expected = [list(row) for row in start], [[0.0] * len(row) for row in start], []
    for step in range(5):
        lr = 0.1 * RATES[step]
        for i, gradient in enumerate(gradients(step)):
            added = share * (lr if inside else 1.0)
            v[i] = [momentum * a + added * g for a, g in zip(v[i], gradient, strict=True)]
            rate = sign * (1.0 if inside else lr)
            numbers[i] = [x - rate * a for x, a in zip(numbers[i], v[i], strict=True)]
        expected.append([list(row) for row in numbers])
    return expected


def by_adam(
    start: Numbers, lr: float, betas: tuple[float, float], eps: float, decay: float = 0.0,
    corrected: bool = True, eps_inside: bool = False, decay_as_gradient: bool = False,
) -> list[Numbers]:  # fmt: skip
    """Where Adam's steps lead, in floats; or those of a mistake."""
    (b1, b2), numbers, expected = betas, [list(row) for row in start], []
    m, v = [[0.0] * len(row) for row in start], [[0.0] * len(row) for row in start]
    for step in range(5):
        t, rate = step + 1, lr * RATES[step]
        c1, c2 = (1 - b1**t, 1 - b2**t) if corrected else (1.0, 1.0)
        outside, inside = (0.0, eps) if eps_inside else (eps, 0.0)
        for i, gradient in enumerate(gradients(step)):
            shrink = decay
            if decay_as_gradient:
                gradient = [g + decay * x for g, x in zip(gradient, numbers[i], strict=True)]
                shrink = 0.0
            m[i] = [b1 * a + (1 - b1) * g for a, g in zip(m[i], gradient, strict=True)]
            v[i] = [b2 * a + (1 - b2) * g * g for a, g in zip(v[i], gradient, strict=True)]
            numbers[i] = [
                x - rate * shrink * x - rate * (a / c1) / (math.sqrt(s / c2 + inside) + outside)
                for x, a, s in zip(numbers[i], m[i], v[i], strict=True)
            ]
        expected.append([list(row) for row in numbers])
    return expected


@exercise(
    "08.2",
    "Adam",
    answer="Adam",
    minutes=15,
    without=("tutor",),
    hints=(
        "It is SGD with two running means in place of one velocity, and a counter t of the steps, "
        "which is 1 at the first one.",
        "m[i] = m[i] * b1 + p.grad * (1 - b1), and v[i] the same with b2 and p.grad * p.grad. Keep "
        "these; the corrected ones are only for the step.",
        "add_(p, m / (1 - b1**t) / ((v / (1 - b2**t)) ** 0.5 + eps) * -lr)",
    ),
    why_ours="The means that are kept and the corrected ones have different names, self.m[i] and "
    "m, so that the correction is never corrected again.",
)
def check_08_2(judge: Judge, answer: Any) -> None:
    """step() follows the formulas of Adam to 1e-6, and clears the gradients."""
    choices: list[dict[str, Any]] = [
        {},
        {"lr": 0.1, "betas": (0.5, 0.75)},
        {"lr": 0.01, "eps": 0.1},
    ]
    cases = []
    for options in choices:
        lr, betas = options.get("lr", 0.001), options.get("betas", (0.9, 0.999))
        moved, eps = parameters(answer), options.get("eps", 1e-8)
        start = [list(p.values()) for p in moved]
        expected = by_adam(start, lr, betas, eps)
        mistakes = {
            "m and v as they are: at the first steps both are too small": by_adam(
                start, lr, betas, eps, corrected=False
            ),
            "eps under the root; it stands beside it": by_adam(
                start, lr, betas, eps, eps_inside=True
            ),
            "up the slope: the step goes against m": by_adam(start, -lr, betas, eps),
            "the two betas exchanged": by_adam(start, lr, betas[::-1], eps),
        }
        optimizer = judge.instance(answer, moved, **options)
        cases.append(follow(judge, answer, optimizer, moved, lr, expected, mistakes))
    take_turns(*cases)


@exercise(
    "08.13",
    "AdamW",
    answer="AdamW",
    minutes=8,
    without=("tutor",),
    hints=(
        "All that Adam does stays as it is: super().step() does it. What comes before?",
        "Each weight loses lr * decay times itself. add_ changes it in place, and nothing of that "
        "should be recorded.",
        "Under no_grad, for each p of self.parameters: add_(p, p * (-self.lr * self.decay)); then "
        "super().step().",
    ),
    why_ours="It inherits everything, and shrinks the weights before Adam's own step, which never "
    "looks at the weights: so it makes no difference to the means.",
)
def check_08_13(judge: Judge, answer: Any) -> None:
    """AdamW(parameters, lr, decay): step() first takes lr * decay * p from every p, and then does
    what Adam does."""
    choices: list[dict[str, Any]] = [{}, {"lr": 0.1, "decay": 0.5}, {"lr": 0.01, "decay": 0.0}]
    cases = []
    for options in choices:
        lr, decay = options.get("lr", 0.001), options.get("decay", 0.01)
        moved = parameters(answer)
        start = [list(p.values()) for p in moved]
        expected = by_adam(start, lr, BETAS, 1e-8, decay)
        optimizer = judge.instance(answer, moved, **options)
        mistakes = wrong_decays(start, lr, decay)
        cases.append(follow(judge, answer, optimizer, moved, lr, expected, mistakes))
    take_turns(*cases)


BETAS = (0.9, 0.999)


def wrong_decays(start: Numbers, lr: float, decay: float) -> dict[str, list[Numbers]]:
    """Where the mistakes lead that are made most with a decay."""
    if not decay:
        return {}
    return {
        "the decay as a part of the gradient, where Adam divides it away": by_adam(
            start, lr, BETAS, 1e-8, decay, decay_as_gradient=True
        ),
        "decay times p, without lr": by_adam(start, lr, BETAS, 1e-8, decay / lr),
        "what Adam does: nothing shrinks": by_adam(start, lr, BETAS, 1e-8),
        "weights that grow: the decay is taken away": by_adam(start, lr, BETAS, 1e-8, -decay),
    }


# ---- a checkpoint --------------------------------------------------------------------------------

PICTURES = [[random.Random(17 * i + j).random() for j in range(6)] for i in range(8)]
CLASSES = [0, 1, 2, 0, 1, 2, 0, 1]


def advance(answer: Any, model: Any, optimizer: Any, shuffled: bool) -> None:
    """Three steps, with batches in an order of their own or in the order of `random`."""
    for step in range(3):
        chosen = random.sample(range(8), 4) if shuffled else [(3 * step + i) % 8 for i in range(4)]
        x, y = own(answer, "Tensor")([PICTURES[i] for i in chosen]), [CLASSES[i] for i in chosen]
        own(answer, "cross_entropy")(model(x), y).backward()
        optimizer.step()


def state(model: Any) -> list[bytes]:
    return [bytes(p.buf.raw) for p in model.parameters()]


@exercise(
    "08.3",
    "A checkpoint",
    answer="Checkpoint",
    minutes=16,
    without=("tutor",),
    hints=(
        "The next step reads the parameters, what the optimizer remembers (velocities; m, v and t; "
        "its lr), and the order of the batches, which comes from `random`.",
        "vars(optimizer) is a dict of its attributes: lists of tensors, and plain values; "
        "copy.deepcopy copies all of it. random.getstate() and random.setstate() do the rest.",
        "To restore, go over what you kept: for a list, `t.buf.raw[:] = kept.buf.raw` for each "
        "tensor t of getattr(optimizer, name); for anything else setattr(optimizer, name, value).",
    ),
    why_ours="It knows no optimizer by name: `vars` gives whatever attributes there are, lists of "
    "tensors and plain values. Bytes are written into the tensors that are there, because the "
    "model holds the same ones.",
)
def check_08_3(judge: Judge, answer: Any) -> None:
    """A training that is restored continues with the same bytes as one that never stopped."""
    SGD, Adam, MLP = own(answer, "SGD"), own(answer, "Adam"), own(answer, "MLP")
    cases: tuple[tuple[str, str, Callable[[Any, float], Any], bool], ...] = (
        ("SGD", "the parameters", lambda p, lr: SGD(p, lr), False),
        ("SGD with momentum", "the velocities", lambda p, lr: SGD(p, lr, 0.9), False),
        ("Adam", "m, v and t", lambda p, lr: Adam(p, lr), False),
        ("SGD, shuffled batches", "the state of `random`", lambda p, lr: SGD(p, lr), True),
    )
    with order_kept():
        for name, needed, optimizer_of, shuffled in cases:
            random.seed(1)
            model = MLP(6, 4, 3)
            optimizer = optimizer_of(model.parameters(), 0.1)
            advance(answer, model, optimizer, shuffled)
            at_checkpoint = state(model)
            drawn = random.getstate()
            checkpoint = judge.instance(answer, optimizer)
            judge.that(state(model) == at_checkpoint, "taking it has changed the parameters")
            other = optimizer_of(MLP(6, 4, 3).parameters(), 0.25)
            judge.instance(answer, other)  # belongs to another training
            random.setstate(drawn)
            advance(answer, model, optimizer, shuffled)
            expected = state(model)
            for what in ("the same optimizer", "the same optimizer again", "a fresh one"):
                given = f"{name}, restored into {what}"
                if what == "a fresh one":
                    model = MLP(6, 4, 3)
                    optimizer = optimizer_of(model.parameters(), 0.5)
                random.random()
                judge.run(partial(checkpoint.restore, optimizer))
                judge.that(
                    list(map(id, optimizer.parameters)) == list(map(id, model.parameters())),
                    "the optimizer has other parameters than the model now: write the kept numbers"
                    " into the tensors that are there",
                    given=given,
                )
                judge.that(
                    state(model) == at_checkpoint,
                    "the parameters are not what they were when the checkpoint was taken",
                    given=given,
                )
                judge.that(optimizer.lr == 0.1, f"lr is {optimizer.lr}, and was 0.1", given=given)
                judge.run(partial(advance, answer, model, optimizer, shuffled))
                judge.that(
                    state(model) == expected,
                    f"three steps later they differ from a run without a stop; look at {needed}",
                    given=given,
                )


# ---- when it does not learn ----------------------------------------------------------------------

DEMANDED = 0.2


class Counting:
    """A model that counts how often it is asked."""

    def __init__(self, model: Any) -> None:
        self.model, self.asked = model, 0

    def __call__(self, x: Any) -> Any:
        self.asked += 1
        return self.model(x)

    def parameters(self) -> Any:
        return self.model.parameters()

    def __repr__(self) -> str:
        return "model"


def missing(right: int, first: float, told: float, true: float) -> str:
    """What a training of ten pictures lacks that did not bring the loss down."""
    if true > 1.2 * first:
        return "they are read worse than before. Which label goes with which row, and which way?"
    if told > 0.95 * first:
        return "next to nothing has changed. Does a step go anywhere?"
    if right < 7:
        return (
            "it has learned something, but not these labels for these pictures. What does the "
            "loss compare, row by row?"
        )
    if told > 1.4 and right == 10:
        return (
            "every one of them is read right, and the loss stays high all the same. Is what the "
            "loss is given what it wants?"
        )
    return "it is on the way, and has not arrived. How far do 60 steps of this length go?"


@exercise(
    "08.4",
    "Overfit ten pictures",
    answer="overfit",
    minutes=12,
    seconds=15,
    hints=(
        "Run it and look at where the curve stays. Does it move at all? Then ask of each line what "
        "it would do to a network that is perfect.",
        "Adam's lr is the length of its steps. cross_entropy wants scores. And which label belongs "
        "to which row of x?",
        "lr=0.01; loss = cross_entropy(model(x), ...); and the labels in the order of the "
        "pictures: [labels[i] for i in order].",
    ),
    why_ours="Steps of 0.01 are long enough for 60 of them; 0.001, Adam's own default, is still "
    "enough. The loss is given scores, and the labels go through the same order as the pictures.",
)
def check_08_4(judge: Judge, overfit: Any) -> None:
    """After at most 60 steps the loss of ten pictures is below 0.2, whatever they show."""
    given = "ten pictures of 14 x 14 random dots"
    with order_kept():
        random.seed(3)
        labels = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
        dots = [[2 * random.random() * (random.random() < 0.3) for _ in range(196)] for _ in labels]
        images = own(overfit, "Tensor")(dots)
        model = Counting(own(overfit, "MLP")(196, 32, 10))
        losses = judge.call(overfit, model, images, labels, changes=True, given=given)
    judge.that(isinstance(losses, list) and losses, "it returns no list of losses", given=given)
    judge.that(len(losses) <= 60, f"{len(losses)} steps, more than 60", given=given)
    found = f"the network was asked {model.asked} times, for {len(losses)} losses"
    judge.that(model.asked <= 130, found, given=given)
    scores = model(images)
    numbers = all(isinstance(loss, float | int) for loss in losses)
    judge.that(numbers, "the list of losses has other things in it than numbers", given=given)
    true_loss = own(overfit, "cross_entropy")(scores, labels).item()
    loss = max(losses[-1], true_loss)  # what the training itself saw counts, too
    pairs = zip(scores.tolist(), labels, strict=True)
    right = sum(row.index(max(row)) == label for row, label in pairs)
    judge.compared += 1
    if not loss < DEMANDED:
        judge.fail(
            {
                "demanded": f"a loss of these ten below {DEMANDED}, after at most 60 steps",
                "found": f"{loss:.3f} after {len(losses)} steps; it was {losses[0]:.3f} at the "
                f"first one, and {right} of the 10 are read right",
                "missing": missing(right, losses[0], losses[-1], true_loss),
            },
            given,
        )
    judge.that(right == 10, f"{right} of the 10 are read right", given=given)


@exercise(
    "08.5",
    "Read four curves",
    answer="causes",
    minutes=8,
    hints=(
        "One curve shoots far above ln 10 in its first few steps. One never leaves ln 10, "
        "because there is nothing to be learned. What do the others do?",
        "A gradient that is never cleared is a step that grows: it falls at first, and then it "
        "swings. A double softmax learns, and cannot get below 1.46.",
        "The one that swings is fault 1, the one that shoots up is fault 2, the "
        "one that stays at 2.3 is fault 5. One curve and fault 4 are left.",
    ),
    why_ours="A stays at ln 10, B swings wider and wider, C levels out far above 0, and D is "
    "thrown up by its very first steps.",
)
def check_08_5(judge: Judge, causes: Any) -> None:
    """`causes` has the number of a fault, from 1 to 6, for each of A, B, C and D."""
    right = {"A": 5, "B": 1, "C": 4, "D": 2}
    judge.that(isinstance(causes, dict), "it is no dict, as the cell gave it")
    judge.that(sorted(causes, key=str) == sorted(right), "its keys are not A, B, C and D")
    judge.that(
        all(isinstance(n, int) and 1 <= n <= 6 for n in causes.values()),
        "its values are not numbers from 1 to 6",
    )
    count = sum(causes[name] == right[name] for name in right)
    judge.that(count == 4, f"{count} of the 4 are right")


class Leaves(list[Any]):
    """Parameters, which a verdict shows with their gradients."""

    def __repr__(self) -> str:
        shown = (p.grad if p.grad is None else p.grad.tolist() for p in self)
        return f"[{', '.join(f'p with grad {g}' for g in shown)}]"


@exercise(
    "08.6",
    "Clip once",
    answer="clip",
    minutes=12,
    without=("tutor",),
    hints=(
        "What goes wrong is that a gradient is changed in place. Nobody says that it must be.",
        "p.grad = p.grad * factor makes a new tensor. The old one, whoever else may hold it, stays "
        "as it is. But work the length out before you change the first.",
        "Collect the parameters whose grad is not None, compute the length, and if it is more than "
        "limit: p.grad = p.grad * (limit / length) for each. Return the length.",
    ),
    why_ours="The length is computed before anything is changed, and a new tensor is put in the "
    "place of each gradient. Memory that is shared is only read.",
)
@in_forms
def check_08_6(judge: Judge, clip: Any) -> None:
    """clip(parameters, limit) shortens all gradients together to `limit`, each of them once."""

    Tensor, zeros, reshape = own(clip, "Tensor"), own(clip, "zeros"), own(clip, "reshape")

    def leaves(*grads: Any) -> Leaves:
        made = Leaves()
        for g in grads:
            p = zeros((2,) if g is None else g.shape, "float64")
            p.requires_grad, p.grad = True, g
            made.append(p)
        return made

    def tensor(*numbers: float) -> Any:
        return formed(Tensor(list(numbers), dtype="float64"))

    one, block = tensor(10.0, -10.0), tensor(3.0, 4.0, 12.0, 0.0)
    cases = (
        ("two gradients", leaves(tensor(3.0), tensor(4.0)), 1.0),
        ("gradients shorter than the limit", leaves(tensor(0.3), tensor(0.4)), 1.0),
        ("gradients of 0", leaves(tensor(0.0, 0.0)), 1.0),
        ("a parameter without a gradient", leaves(None, tensor(6.0, 8.0)), 5.0),
        ("two parameters with one and the same gradient", leaves(one, one), 1.0),
        (
            "a gradient, and a view of it in another shape",
            leaves(block, reshape(block, (2, 2)), tensor(1.0)),
            1.0,
        ),
        (
            "gradients that are the two halves of one Buffer",
            leaves(
                *(
                    Tensor(buf, (2,), (1,), at)
                    for buf in [tensor(3.0, 4.0, 12.0, 84.0).buf]
                    for at in (0, 2)
                )
            ),
            2.0,
        ),
    )
    for given, params, limit in cases:
        before = [list(p.grad.values()) if p.grad is not None else None for p in params]
        length = math.sqrt(sum(x * x for row in before if row for x in row))
        factor = limit / length if length > limit else 1.0
        said = judge.call(clip, params, limit, changes=True)
        judge.close(said, length, given=f"{given}: what it returns")
        for p, row in zip(params, before, strict=True):
            judge.equal(p.grad is None, row is None, given=f"{given}: whether there is a gradient")
            if row is not None:
                wanted = [x * factor for x in row]
                judge.close(list(p.grad.values()), wanted, given=f"{given}, limit {limit}")
                judge.that(not any(p.values()), "the parameter itself was changed", given=given)


# ---- challenges ----------------------------------------------------------------------------------


class Watched(Counting):
    """A model that takes down how many images it is given at a time."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.most = 0

    def __call__(self, x: Any) -> Any:
        self.most = max(self.most, x.shape[0])
        return super().__call__(x)


@exercise(
    "08.s1",
    "A batch too large for the memory",
    answer="train_in_parts",
    minutes=12,
    without=("tutor", "train"),
    hints=(
        "backward adds to the gradients that are there. For once that is just what is wanted: "
        "when may they be cleared?",
        "The loss of a part is a mean over the part. In the mean over the whole batch a part of 3 "
        "of 7 counts 3 / 7.",
        "For each part: loss = cross_entropy(model(x[start : start + size]), its labels) * "
        "(len(part) / len(labels)), then loss.backward(); after all parts one optimizer.step().",
    ),
    why_ours="Each part's loss is weighted by its share of the batch, so the last, shorter one "
    "counts for less. The gradients add up by themselves, and step() comes once.",
)
def check_08_s1(judge: Judge, train_in_parts: Any) -> None:
    """train_in_parts(model, optimizer, batches, size) makes the same steps as `train`, and gives
    the same losses, but the network never sees more than `size` images at a time."""
    with order_kept():
        for sizes, size in (([4, 4], 2), ([7, 5], 3), ([3], 8), ([6, 1], 4)):
            expected = judge.run(partial(trained, train_in_parts, sizes))
            model = Watched(seeded(train_in_parts))
            optimizer = Stepper(model.parameters())
            made = lots(train_in_parts, sizes)
            given = f"batches of {', '.join(map(str, sizes))}, at most {size} at a time"
            got = judge.call(
                train_in_parts, model, optimizer, made, size, changes=True, given=given
            )
            found = f"the network was given {model.most} images at once"
            judge.that(model.most <= size, found, given=given)
            looks_trained(judge, got, model, optimizer, expected)


class OnPurposeError(Exception):
    """What goes wrong in a block."""


@exercise(
    "08.s2",
    "The mean of the last weights",
    answer="Averaged",
    minutes=15,
    without=("tutor",),
    hints=(
        "The means are tensors of their own: p.detach() looks at the memory of p, so it would "
        "change with it. A product makes a new one.",
        "update: means[i] = means[i] * keep + p.detach() * (1 - keep), under no_grad. applied: "
        "remember the numbers, fill in the means, yield, and put the numbers back.",
        "Decorate applied with contextlib.contextmanager; `try: yield` and `finally:` put the "
        "numbers back even if the block raises.",
    ),
    why_ours="Numbers are exchanged inside the tensors, since the model holds those very tensors. "
    "`finally` puts them back whatever happens in the block.",
)
def check_08_s2(judge: Judge, answer: Any) -> None:
    """Averaged(parameters, keep).update() keeps running means of the parameters, which begin as
    they are; within `with averaged.applied():` the parameters have these numbers, afterwards their
    own again."""
    take_turns(*[_averaged(judge, answer, keep) for keep in (0.5, 0.9)])


def _averaged(judge: Judge, answer: Any, keep: float) -> Steps:
    """The means of one set of parameters."""
    moved = parameters(answer)
    memory = [p.buf for p in moved]
    means = [list(p.values()) for p in moved]
    averaged = judge.instance(answer, moved, keep)
    for step in range(4):
        for p, change in zip(moved, gradients(step), strict=True):
            p.fill([x + c for x, c in zip(p.values(), change, strict=True)])
        judge.run(averaged.update)
        yield
        for i, p in enumerate(moved):
            means[i] = [keep * m + (1 - keep) * x
                        for m, x in zip(means[i], p.values(), strict=True)]  # fmt: skip
        trained_numbers = [list(p.values()) for p in moved]
        given = f"keep {keep}, after {step + 1} updates"
        inside: list[Any] = []
        for fails in (False, True):
            judge.run(partial(look_inside, averaged, moved, inside, fails))
            judge.close(inside, means, given=f"the parameters within the block, {given}")
            after = [list(p.values()) for p in moved]
            words = ", which raised an error" if fails else ""
            judge.equal(after, trained_numbers, given=f"after the block{words}, {given}")
        same = all(p.buf is buf for p, buf in zip(moved, memory, strict=True))
        judge.that(same, "a parameter has another Buffer now: the model does not see it")
        clean = all(p.op is None and p.requires_grad for p in moved)
        judge.that(clean, "a parameter has become part of a graph", given=given)
    judge.that(remembered(averaged) == 0, "the means have a history: use no_grad and detach")


def look_inside(averaged: Any, moved: list[Any], inside: list[Any], fails: bool) -> None:
    """Take down the parameters within the block."""
    try:
        with averaged.applied():
            inside[:] = [list(p.values()) for p in moved]
            if fails:
                raise OnPurposeError
    except OnPurposeError:
        pass


question(
    "08.q1",
    "60,000 pictures in batches of 64. How many steps has an epoch?",
    right=938,
    why="60,000 / 64 is 937.5, and the last batch, of 32, is a step, too",
    tempting={
        937: "that leaves out the last 32 pictures, which are a batch as well",
        937.5: "half a step is no step: the last batch is shorter, and makes a whole one",
        60_000: "that would be a step for each picture; a step is made for each batch",
        64: "that many pictures are in a batch. How many batches are there?",
    },
)
question(
    "08.q2",
    "Why does `train` keep `loss.item()` and not `loss`?",
    choices={
        "a": "floats are more exact",
        "b": "each loss would keep the graph of its step in memory",
        "c": "a Tensor cannot be put into a list",
    },
    right="b",
    why="the loss holds its op, the op its inputs, and so on, back to the batch",
    tempting={
        "a": "it is the same number: item() reads it out of the tensor's memory",
        "c": "it can, and the list looks fine; only the memory goes up and up",
    },
)
question(
    "08.q3",
    "The training loss falls and falls; the accuracy on the test pictures goes down. What is it?",
    choices={
        "a": "the learning rate is too large",
        "b": "the network learns the training pictures by heart",
        "c": "the gradients are not cleared",
    },
    right="b",
    why="it is called overfitting; with the other two the training loss would not fall so well",
    tempting={
        "a": "then the training loss would jump, and it falls and falls",
        "c": "then the steps would grow, and the training loss would swing in the end",
    },
)
question(
    "08.q4",
    "Training continues with the right weights and a fresh Adam. What is different?",
    choices={
        "a": "nothing",
        "b": "only the order of the batches",
        "c": "m, v and t are 0 again, so the next steps are others",
    },
    right="c",
    why="the first step of a fresh Adam is lr long for every parameter, as at the very beginning",
    tempting={
        "a": "the weights are where they were, but where they go next depends on m, v and t, too",
        "b": "the order may differ as well; but even with the same batches the steps are others",
    },
)
question(
    "08.q5",
    "SGD, momentum 0.9, a gradient that is always 1. How many times lr is a step in the end?",
    right=10.0,
    why="v = 0.9 v + 1 stands still at v = 1 / (1 - 0.9)",
    tempting={
        1.9: "that is the second step. The velocity goes on growing",
        0.9: "that is the share of the old velocity that is kept; 1 is added to it each time",
        1.0: "without momentum, yes",
        9.0: "from 9 it still grows: 0.9 times 9 plus 1 is 9.1. Where does it stand still?",
    },
)
