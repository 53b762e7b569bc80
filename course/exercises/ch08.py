"""Chapter 8, training MNIST: six exercises, five questions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.built import ch07, ch08
from course.exercise import Judge, exercise, question

Numbers = list[list[float]]


@contextmanager
def order_kept() -> Iterator[None]:
    """The learner's `random` goes on as if the check had not been."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


def own(answer: Any, name: str) -> Any:
    """What the learner calls `name`; else ours."""
    names = getattr(getattr(answer, "__init__", None), "__globals__", {})
    return names.get(name, getattr(ch08, name))


def parameters() -> list[Any]:
    """Two parameters to be moved, of different shapes."""
    return [
        ch07.Tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], dtype="float64", requires_grad=True),
        ch07.Tensor([0.25, -0.5], dtype="float64", requires_grad=True),
    ]


def gradients(step: int) -> Numbers:
    """What arrives at them at this step, in several sizes."""
    sizes = (10.0, 1.0, 0.01)
    return [[sizes[i % 3] * ((3 * i + 2 * step) % 7 - 3) for i in range(n)] for n in (6, 2)]


def remembered(optimizer: Any) -> int:
    """How many tensors the graphs hold that the optimizer's own tensors are results of."""
    found = set()
    for kept in getattr(optimizer, "__dict__", {}).values():
        listed = kept.values() if isinstance(kept, dict) else kept
        for t in listed if isinstance(kept, list | tuple | dict) else [kept]:
            if getattr(t, "op", None) is not None:
                found |= set(map(id, ch07.engine.order(t)))
    return len(found)


def follow(judge: Judge, optimizer: Any, moved: list[Any], expected: list[Numbers]) -> None:
    """Let the optimizer make its steps; after each of them the parameters must be as expected."""
    memory, history = [p.buf for p in moved], []
    for step, wanted in enumerate(expected):
        before = [list(p.values()) for p in moved]
        for p, numbers in zip(moved, gradients(step), strict=True):
            p.grad = ch07.Tensor(ch07.Buffer(numbers, "float64"), p.shape)
        judge.run(optimizer.step)
        for i, (p, numbers) in enumerate(zip(moved, wanted, strict=True)):
            given = f"the {('first', 'second')[i]} parameter after step {step + 1}"
            given += f", with the gradient {gradients(step)[i]}"
            judge.that(p.buf is memory[i], "the step is not in place: the Buffer is another one",
                       given=given)  # fmt: skip
            judge.that(
                list(p.values()) != before[i],
                "it has not moved: `p = p - ...` makes a new tensor, add_(p, ...) changes this one",
                given=given,
            )
            judge.close(list(p.values()), numbers, given=given, rtol=1e-6, atol=1e-12)
            judge.that(p.grad is None, "the gradient was not cleared", given=given)
            judge.that(p.op is None and p.requires_grad, "the step is in the graph", given=given)
        history.append(remembered(optimizer))
    judge.that(
        history[-1] <= history[0],
        f"what the optimizer keeps has a history, of {history[0]} tensors after the first step and "
        f"{history[-1]} after step {len(history)}: `with no_grad():` there is none",
    )


@exercise(
    "08.1",
    "Stochastic gradient descent",
    answer="MySGD",
    minutes=12,
    hints=(
        "The constructor keeps what it is given, and one velocity for each parameter. What is a "
        "tensor of zeros in the shape of p?",
        "p.detach() * 0 is one. In step, go over the parameters by number, since velocity i "
        "belongs to parameter i: self.v[i] = self.v[i] * self.momentum + p.grad.",
        "Then add_(p, self.v[i] * -self.lr) and p.grad = None, all of it under `with no_grad():`.",
    ),
)
def check_08_1(judge: Judge, answer: Any) -> None:
    """step() moves each parameter by -lr * v in place, and clears its gradient."""
    choices: list[dict[str, Any]] = [{}, {"momentum": 0.9}, {"momentum": 0.5}]
    for options in choices:
        momentum = options.get("momentum", 0.0)
        moved = parameters()
        numbers, v = [list(p.values()) for p in moved], [[0.0] * p.numel() for p in moved]
        expected = []
        for step in range(4):
            for i, gradient in enumerate(gradients(step)):
                v[i] = [momentum * a + g for a, g in zip(v[i], gradient, strict=True)]
                numbers[i] = [x - 0.1 * a for x, a in zip(numbers[i], v[i], strict=True)]
            expected.append([list(row) for row in numbers])
        follow(judge, judge.instance(answer, moved, 0.1, **options), moved, expected)


@exercise(
    "08.2",
    "Adam",
    answer="MyAdam",
    minutes=15,
    hints=(
        "It is SGD with two running means in place of one velocity, and a counter t of the steps, "
        "which is 1 at the first one.",
        "m[i] = m[i] * b1 + p.grad * (1 - b1), and v[i] the same with b2 and p.grad * p.grad. Keep "
        "these; the corrected ones are only for the step.",
        "add_(p, m / (1 - b1**t) / ((v / (1 - b2**t)) ** 0.5 + eps) * -lr)",
    ),
)
def check_08_2(judge: Judge, answer: Any) -> None:
    """step() follows the formulas of Adam to 1e-6, and clears the gradients."""
    choices: list[dict[str, Any]] = [
        {},
        {"lr": 0.1, "betas": (0.5, 0.75)},
        {"lr": 0.01, "eps": 0.1},
    ]
    for options in choices:
        lr, (b1, b2) = options.get("lr", 0.001), options.get("betas", (0.9, 0.999))
        eps = options.get("eps", 1e-8)
        moved = parameters()
        numbers = [list(p.values()) for p in moved]
        m = [[0.0] * p.numel() for p in moved]
        v = [[0.0] * p.numel() for p in moved]
        expected = []
        for step in range(5):
            t = step + 1
            for i, gradient in enumerate(gradients(step)):
                m[i] = [b1 * a + (1 - b1) * g for a, g in zip(m[i], gradient, strict=True)]
                v[i] = [b2 * a + (1 - b2) * g * g for a, g in zip(v[i], gradient, strict=True)]
                numbers[i] = [
                    x - lr * (a / (1 - b1**t)) / (math.sqrt(s / (1 - b2**t)) + eps)
                    for x, a, s in zip(numbers[i], m[i], v[i], strict=True)
                ]
            expected.append([list(row) for row in numbers])
        follow(judge, judge.instance(answer, moved, **options), moved, expected)


# ---- a checkpoint --------------------------------------------------------------------------------

PICTURES = [[random.Random(17 * i + j).random() for j in range(6)] for i in range(8)]
CLASSES = [0, 1, 2, 0, 1, 2, 0, 1]


def advance(model: Any, optimizer: Any, shuffled: bool) -> None:
    """Three steps, with batches in an order of their own or in the order of `random`."""
    for step in range(3):
        chosen = random.sample(range(8), 4) if shuffled else [(3 * step + i) % 8 for i in range(4)]
        x, y = ch07.Tensor([PICTURES[i] for i in chosen]), [CLASSES[i] for i in chosen]
        ch07.cross_entropy(model(x), y).backward()
        optimizer.step()


def state(model: Any) -> list[bytes]:
    return [bytes(p.buf.raw) for p in model.parameters()]


@exercise(
    "08.3",
    "A checkpoint",
    answer="MyCheckpoint",
    minutes=18,
    hints=(
        "The next step reads the parameters, what the optimizer remembers (velocities; m, v and t; "
        "its lr), and the order of the batches, which comes from `random`.",
        "vars(optimizer) is a dict of its attributes: lists of tensors, and plain values; "
        "copy.deepcopy copies all of it. random.getstate() and random.setstate() do the rest.",
        "To restore, go over what you kept: for a list, `t.buf.raw[:] = kept.buf.raw` for each "
        "tensor t of getattr(optimizer, name); for anything else setattr(optimizer, name, value).",
    ),
)
def check_08_3(judge: Judge, answer: Any) -> None:
    """A training that is restored continues with the same bytes as one that never stopped."""
    SGD, Adam = own(answer, "SGD"), own(answer, "Adam")
    cases: tuple[tuple[str, str, Callable[[Any, float], Any], bool], ...] = (
        ("SGD", "the parameters", lambda p, lr: SGD(p, lr), False),
        ("SGD with momentum", "the velocities", lambda p, lr: SGD(p, lr, 0.9), False),
        ("Adam", "m, v and t", lambda p, lr: Adam(p, lr), False),
        ("SGD, shuffled batches", "the state of `random`", lambda p, lr: SGD(p, lr), True),
    )
    with order_kept():
        for name, needed, optimizer_of, shuffled in cases:
            random.seed(1)
            model = ch07.MLP(6, 4, 3)
            optimizer = optimizer_of(model.parameters(), 0.1)
            advance(model, optimizer, shuffled)
            at_checkpoint = state(model)
            checkpoint = judge.instance(answer, optimizer)
            judge.that(state(model) == at_checkpoint, "taking it has changed the parameters")
            advance(model, optimizer, shuffled)
            expected = state(model)
            for what in ("the same optimizer", "the same optimizer again", "a fresh one"):
                given = f"{name}, restored into {what}"
                if what == "a fresh one":
                    model = ch07.MLP(6, 4, 3)
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
                advance(model, optimizer, shuffled)
                judge.that(
                    state(model) == expected,
                    f"three steps later they differ from a run without a stop; look at {needed}",
                    given=given,
                )


# ---- when it does not learn ----------------------------------------------------------------------


@exercise(
    "08.4",
    "Overfit ten pictures",
    answer="overfit",
    minutes=12,
    seconds=8,
    hints=(
        "Run it and look at where the curve stays. Does it move at all? Then ask of each line what "
        "it would do to a network that is perfect.",
        "Adam's lr is the length of its steps. cross_entropy wants scores. And which label belongs "
        "to which row of x?",
        "lr=0.01; loss = cross_entropy(model(x), ...); and the labels in the order of the "
        "pictures: [labels[i] for i in order].",
    ),
)
def check_08_4(judge: Judge, overfit: Any) -> None:
    """After at most 60 steps a network knows ten pictures, of random pixels, by heart."""
    with order_kept():
        random.seed(3)
        labels = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
        numbers = [[random.random() for _ in range(49)] for _ in labels]
        images, model = ch07.Tensor(numbers), ch07.MLP(49, 24, 10)
        losses = judge.call(overfit, model, images, labels, changes=True)
    given = f"ten pictures of 7 x 7 random pixels, labels {labels}"
    judge.that(isinstance(losses, list) and losses, "it returns no list of losses", given=given)
    judge.that(len(losses) <= 60, f"{len(losses)} steps, more than 60", given=given)
    loss = ch07.cross_entropy(model(images), labels).item()
    judge.that(
        loss < 0.05,
        f"the loss of these ten is {loss:.3f}, and was {losses[0]:.3f} at the first step",
        given=given,
    )


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
    hints=(
        "What goes wrong is that a gradient is changed in place. Nobody says that it must be.",
        "p.grad = p.grad * factor makes a new tensor. The old one, whoever else may hold it, stays "
        "as it is. But work the length out before you change the first.",
        "Collect the parameters whose grad is not None, compute the length, and if it is more than "
        "limit: p.grad = p.grad * (limit / length) for each. Return the length.",
    ),
)
def check_08_6(judge: Judge, clip: Any) -> None:
    """clip(parameters, limit) shortens all gradients together to `limit`, each of them once."""

    def leaves(*grads: Any) -> Leaves:
        made = Leaves()
        for g in grads:
            p = ch07.zeros((2,) if g is None else g.shape, "float64")
            p.requires_grad, p.grad = True, g
            made.append(p)
        return made

    def tensor(*numbers: float) -> Any:
        return ch07.Tensor(list(numbers), dtype="float64")

    one, block = tensor(10.0, -10.0), tensor(3.0, 4.0, 12.0, 0.0)
    cases = (
        ("two gradients", leaves(tensor(3.0), tensor(4.0)), 1.0),
        ("gradients shorter than the limit", leaves(tensor(0.3), tensor(0.4)), 1.0),
        ("gradients of 0", leaves(tensor(0.0, 0.0)), 1.0),
        ("a parameter without a gradient", leaves(None, tensor(6.0, 8.0)), 5.0),
        ("two parameters with one and the same gradient", leaves(one, one), 1.0),
        (
            "a gradient, and a view of it in another shape",
            leaves(block, ch07.reshape(block, (2, 2)), tensor(1.0)),
            1.0,
        ),
        (
            "gradients that are the two halves of one Buffer",
            leaves(
                *(
                    ch07.Tensor(buf, (2,), (1,), at)
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


question(
    "08.q1",
    "60,000 pictures in batches of 64. How many steps has an epoch?",
    right=938,
    why="60,000 / 64 is 937.5, and the last batch, of 32, is a step, too",
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
)
question(
    "08.q5",
    "SGD, momentum 0.9, a gradient that is always 1. How many times lr is a step in the end?",
    right=10.0,
    why="v = 0.9 v + 1 stands still at v = 1 / (1 - 0.9)",
)
