"""Chapter 0, five minutes, and its sequel 0b, two hours: eight exercises, six questions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from course.compare import short, what
from course.exercise import Judge, exercise, question

TARGET = -4.0


@exercise(
    "00.1",
    "Another target",
    answer="reached",
    minutes=2,
    hints=(
        "Only one number in the loop knows about the target: look at the loss.",
        "Copy the loop, put -4.0 where 3.0 is, and keep what x is after the last step.",
        "Write `(here - -4.0) ** 2`, and after the loop `reached = x`.",
    ),
)
def check_00_1(judge: Judge, reached: Any) -> None:
    """`reached` is where x arrives if the target is -4."""
    found = f"`reached` is {what(reached)}, and x is a float, a number with a point"
    judge.that(isinstance(reached, float) and reached == reached, found)
    judge.that(reached < 0, f"x is at {reached:.3f}, on the wrong side of 0")
    judge.that(reached != TARGET, "exactly -4: let the loop find it, which comes only near")
    judge.that(abs(reached - TARGET) < 0.1, f"x is at {reached:.3f}, which is not near -4")


question(
    "00.q1",
    "The gradient is +2. Which way must x move to make the loss smaller?",
    choices={"a": "up", "b": "down", "c": "it depends on the loss"},
    right="b",
    why="a positive gradient says that the loss grows with x, so x must shrink",
    tempting={
        "a": "up is where the gradient points, and there the loss grows: we go against it",
        "c": "the gradient has said already all that the loss has to say about a small step",
    },
)
question(
    "00.q2",
    "loss = (x - 3) ** 2. At which x is the gradient 0?",
    right=3,
    why="there the loss is smallest, and flat: a small step changes nothing to speak of",
    tempting={
        0: "at 0 the loop began, and there the gradient was -6",
        -3: "look at the sign: the loss is 0 where x - 3 is 0",
        9: "9 is the loss at 0, and the question is about x",
    },
)
question(
    "00.q3",
    "What happens with 1.1 in place of 0.1?",
    choices={
        "a": "it arrives sooner",
        "b": "it arrives later",
        "c": "each step lands further away than the last",
    },
    right="c",
    why="each step goes past 3 and lands on the other side, 1.2 times as far away",
    tempting={
        "a": "larger steps are faster until they go past the place they want to reach; run it",
        "b": "it does not arrive at all; run it, and look at the column of x",
    },
)


# ---- 00.2: a number that remembers ---------------------------------------------------------------


def _value(judge: Judge, made: Any, cls: Any, given: str) -> None:
    """That something made by the learner's class is of that class."""
    found = f"{what(made)}, and not a {getattr(cls, '__name__', 'Value')}"
    judge.that(isinstance(made, cls), found, given=given)


SUMS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("a + b", lambda a, b: a + b),
    ("a * b", lambda a, b: a * b),
)


@exercise(
    "00.2",
    "A number that remembers",
    answer="Value",
    minutes=10,
    hints=(
        "A new Value takes three things: its number, a tuple of the two it was made from, and a"
        " tuple of two slopes. Begin with `+`, whose slopes are 1 and 1.",
        "The slope of a product towards one factor is the number of the *other* factor. For a plain"
        " number: `if not isinstance(other, Value): other = Value(other)`.",
        "`return Value(self.data + other.data, (self, other), (1.0, 1.0))`, and for the product"
        " `(other.data, self.data)`.",
    ),
    why_ours="A Value that is used twice, as in `a * a`, is its own input twice, with a slope each"
    " time. Nothing special has to be written for that: the walk back will add up both.",
)
def check_00_2(judge: Judge, cls: Any) -> None:
    """+ and * of Values, and of a Value and a number: data, inputs and slopes are right."""
    if not isinstance(cls, type):
        judge.fail({"got": what(cls), "expected": "a class"})
    for x, y in ((2.0, -3.0), (0.5, 4.0), (-1.5, -2.0), (0.0, 7.0)):
        for words, make in SUMS:
            a, b = judge.instance(cls, x), judge.instance(cls, y)
            judge.called = f"a, b = Value({x}), Value({y}); {words}"
            got = judge.run(partial(make, a, b))
            judge.run(lambda: cls(9.0) * cls(8.0))  # another one, of which this one knows nothing
            _value(judge, got, cls, words)
            judge.close(got.data, make(x, y), given=f"the data of {words}")
            inputs = got.inputs
            there = isinstance(inputs, tuple) and len(inputs) == 2
            judge.that(there, f"its inputs are {short(inputs)}, not a tuple of the two Values")
            same = inputs[0] is a and inputs[1] is b
            judge.that(same, f"its inputs are {short(inputs)}: not a and b themselves, in order")
            plain = isinstance(got.slopes, tuple) and all(
                type(slope) in (int, float) for slope in got.slopes
            )
            judge.that(plain, f"its slopes are {short(got.slopes)}, not a tuple of plain numbers")
            slopes = [1.0, 1.0] if words == "a + b" else [y, x]
            judge.close(list(got.slopes), slopes, given=f"the slopes of {words}")
            judge.that((a.data, b.data) == (x, y), f"a and b have become {a!r} and {b!r}")
            judge.that(
                got.grad == 0, f"its grad is {got.grad!r}, and should be 0 until somebody asks"
            )
    a = judge.instance(cls, 5.0)
    for words, mixed, slope, number in (
        ("a + 3", lambda: a + 3, 1.0, 8.0),
        ("3 + a", lambda: 3 + a, 1.0, 8.0),
        ("a * 3", lambda: a * 3, 3.0, 15.0),
        ("-0.5 * a", lambda: -0.5 * a, -0.5, -2.5),
    ):
        judge.called = f"a = Value(5.0); {words}"
        got = judge.run(mixed)
        _value(judge, got, cls, words)
        judge.close(got.data, number, given=f"the data of {words}")
        towards = [s for one, s in zip(got.inputs, got.slopes, strict=True) if one is a]
        judge.close(towards, [slope], given="the slope towards a")
        others = [one for one in got.inputs if one is not a]
        judge.that(all(isinstance(one, cls) for one in others), "the number is no Value among the"
                   f" inputs {short(got.inputs)}")  # fmt: skip
    judge.called = "a = Value(5.0); a * a"
    got = judge.run(lambda: a * a)
    judge.close([got.data, *got.slopes], [25.0, 5.0, 5.0], given="data and slopes of a * a")
    judge.called = "a = Value(5.0); a - 2 * a"
    judge.close(judge.run(lambda: a - 2 * a).data, -5.0)


# ---- 00.3 ----------------------------------------------------------------------------------------

BY_HAND = {"d": -6.0, "c": -6.0, "e": -2.0, "a": 6.0, "b": -4.0}
WHY_NOT = {
    "d": "f is d times e: the slope towards a factor is the other factor",
    "c": "c reaches f through d, and d is a sum",
    "e": "e reaches f on two paths, straight and through d: add up what comes along both",
    "a": "a reaches f through e only: what e has, times the slope of a * b towards a",
    "b": "b reaches f through e only: what e has, times the slope of a * b towards b",
}


@exercise(
    "00.3",
    "By hand, once",
    answer="by_hand",
    minutes=6,
    hints=(
        "Work out the numbers first: e is -6, d is 4. Then the slopes of f = d * e towards d and"
        " towards e are -6 and 4.",
        "c reaches f through d alone: the slope of d towards c, which is 1, times what d has.",
        "e gets 4 straight from f, and 1 times -6 through d: together -2. Then a has -2 times b,"
        " and b has -2 times a.",
    ),
)
def check_00_3(judge: Judge, answer: Any) -> None:
    """How fast f grows with each of d, c, e, a and b."""
    if not isinstance(answer, dict):
        judge.fail({"got": short(answer), "expected": "the dict, with numbers for the dots"})
    for name, right in BY_HAND.items():
        judge.that(name in answer, "it is missing in the dict", given=name)
        got = answer[name]
        good = type(got) in (int, float)
        judge.that(good, f"{what(got)} is no number", given=name)
        judge.that(math.isclose(got, right), f"{got:g}. {WHY_NOT[name]}", given=name)


# ---- 00.4: tanh ----------------------------------------------------------------------------------


class _Value:
    """A Value as the chapter describes it, for checks that need one."""

    def __init__(self, data: float, inputs: Any = (), slopes: Any = ()) -> None:
        self.data, self.grad, self.inputs, self.slopes = float(data), 0.0, inputs, slopes

    def __repr__(self) -> str:
        return f"Value({self.data:.4g}, grad={self.grad:.4g})"


@exercise(
    "00.4",
    "A bend",
    answer="tanh",
    minutes=4,
    hints=(
        "Work out the number first, and give it a name: it is needed twice.",
        "`t = math.tanh(value.data)`. The new Value has t, one input, and one slope.",
        "`return Value(t, (value,), (1 - t * t,))`: with both commas.",
    ),
    why_ours="The slope is worked out from the result, which is there already. Another bend,"
    " such as `max(0, x)`, would be a function of the same three lines.",
)
def check_00_4(judge: Judge, tanh: Any) -> None:
    """tanh of a Value: its number, its one input, its one slope."""
    for x in (0.0, 0.5, -1.25, 3.0, -20.0):
        value = _Value(x)
        got = judge.call(tanh, value, given=f"a Value of {x}")
        judge.that(hasattr(got, "slopes"), f"{what(got)}, and not a Value")
        judge.close(got.data, math.tanh(x), given=f"the data, for a Value of {x}")
        judge.that(isinstance(got.inputs, tuple) and len(got.inputs) == 1
                   and got.inputs[0] is value, f"its inputs are {short(got.inputs)}, not a tuple"
                   " with the Value that was given")  # fmt: skip
        one = isinstance(got.slopes, tuple) and len(got.slopes) == 1
        judge.that(one, f"its slopes are {short(got.slopes)}, not a tuple of one number")
        judge.close(got.slopes[0], 1 - math.tanh(x) ** 2, given=f"the slope, for a Value of {x}")


# ---- 00.5: the order -----------------------------------------------------------------------------


def _graph(seed: int, leaves: int, count: int) -> list[_Value]:
    """Values made at random of those before them, with slopes; the last one needs not use all."""
    rng = random.Random(seed)
    values = [_Value(rng.choice((1.0, 2.0, 3.0))) for _ in range(leaves)]
    for _ in range(count):
        inputs = tuple(rng.choices(values[-4:] if rng.random() < 0.7 else values, k=2))
        slopes = (rng.choice((-2.0, 1.0, 3.0)), rng.choice((-1.0, 0.5, 2.0)))
        values.append(_Value(rng.choice((1.0, 2.0)), inputs, slopes))
    return values


def _behind(last: _Value) -> list[_Value]:
    """What `last` was computed from, and itself, in no order."""
    found, waiting = {id(last): last}, [last]
    while waiting:
        for value in waiting.pop().inputs:
            if id(value) not in found:
                found[id(value)] = value
                waiting.append(value)
    return list(found.values())


def _graphs() -> list[tuple[str, _Value]]:
    """What the walks are tried on, the simplest first."""
    a, b = _Value(2.0), _Value(-3.0)
    c = _Value(-1.0, (a, b), (1.0, 1.0))
    square = _Value(4.0, (a, a), (2.0, 2.0))
    diamond = _Value(-6.0, (c, a), (2.0, -1.0))
    late = _Value(1.0, (diamond, c), (3.0, 5.0))  # c has to wait for diamond
    early = _Value(1.0, (c, diamond), (5.0, 3.0))  # the same, told in the other order
    twins = _Value(4.0, (_Value(2.0), _Value(2.0)), (2.0, 2.0))
    return [
        ("a Value that came from nowhere", a),
        ("a + b", c),
        ("a * a", square),
        ("two Values of the same number", twins),
        ("c = a + b; c * a", diamond),
        ("c = a + b; d = c * a; d and c together", late),
        ("c = a + b; d = c * a; c and d together", early),
        *((f"a graph made at random, number {n}", _graph(n, 3, 4 + 4 * n)[-1]) for n in range(4)),
    ]


def _chain(length: int) -> _Value:
    """b = a + a, c = b + b, ...: as many ways to a as there are numbers of `length` bits."""
    value = _Value(1.0)
    for _ in range(length):
        value = _Value(1.0, (value, value), (0.5, 0.5))
    return value


@exercise(
    "00.5",
    "In which order?",
    answer="order",
    minutes=10,
    hints=(
        "What must stand in the list before a Value may? All of its inputs, and what is behind"
        " them. So ask for those first: the function can call itself for each input.",
        "Write a function inside of yours, `visit(value)`: if it was seen already, do nothing. Else"
        " note that, visit each of its inputs, and only then append it to the list.",
        "`found, seen = [], set()`; in `visit`: `if value in seen: return`, `seen.add(value)`,"
        " visit all `value.inputs`, `found.append(value)`. Then `visit(last)` and return found.",
    ),
    why_ours="Without `seen` a Value that is used twice is visited twice, and so is all behind it."
    " Where everything is used twice, sixty Values would mean as many visits as a chessboard has"
    " grains of rice.",
)
def check_00_5(judge: Judge, order: Any) -> None:
    """A list of all Values behind `last` and itself, each once, each after its inputs."""
    for given, last in [*_graphs(), ("b = a + a; c = b + b; and so on, 60 times", _chain(60))]:
        got = judge.call(order, last, given=given)
        if not isinstance(got, list):
            judge.fail({"got": what(got), "expected": "a list of Values"}, given)
        right = _behind(last)
        strange = [one for one in got if not any(one is value for value in right)]
        judge.that(not strange, f"{short(strange[:1])[1:-1]} is none of the Values", given=given)
        place = {id(value): n for n, value in enumerate(got)}
        judge.that(len(place) == len(got), "a Value is in the list more than once", given=given)
        missing = [value for value in right if id(value) not in place]
        judge.that(not missing, f"{short(got)}: {len(missing)} of {len(right)} Values are missing",
                   given=given)  # fmt: skip
        for value in right:
            for before in value.inputs:
                words = f"{before!r} comes after {value!r}, which was computed from it"
                judge.that(place[id(before)] < place[id(value)], words, given=given)


# ---- 00.6: backward ------------------------------------------------------------------------------


def _gradients(last: _Value) -> dict[int, float]:
    """How fast `last` grows with each Value: the sum over all ways, each a product of slopes."""
    values = _behind(last)
    users: dict[int, list[tuple[_Value, float]]] = {id(value): [] for value in values}
    for value in values:
        for before, slope in zip(value.inputs, value.slopes, strict=True):
            users[id(before)].append((value, slope))
    known = {id(last): 1.0}

    def of(value: _Value) -> float:
        if id(value) not in known:
            known[id(value)] = sum(slope * of(user) for user, slope in users[id(value)])
        return known[id(value)]

    return {id(value): of(value) for value in values}


@exercise(
    "00.6",
    "Backward",
    answer="backward",
    minutes=8,
    hints=(
        "Three loops: one that sets each gradient to 0, and, after `last.grad = 1.0`, two inside of"
        " one another: over the Values from the end of the list, and over the inputs of each.",
        "`zip(value.inputs, value.slopes)` gives each input with its slope. What it gets is"
        " `slope * value.grad`, and it is added, since others may have given before.",
        "`for value in reversed(values):`, inside of it"
        " `for before, slope in zip(value.inputs, value.slopes):`, and inside of that"
        " `before.grad += slope * value.grad`.",
    ),
    why_ours="Setting all gradients to 0 first makes a second call harmless. Larger libraries do it"
    " otherwise: there gradients of several calls add up until you ask for 0, which is of use when"
    " a batch does not fit into memory.",
)
def check_00_6(judge: Judge, backward: Any) -> None:
    """Each .grad is how fast `last` grows with that Value: the sum over all paths to it."""
    for given, last in _graphs():
        values, right = _behind(last), _gradients(last)
        for attempt in ("", "; called a second time", "; after somebody wrote 7 into each grad"):
            if "wrote" in attempt:
                for value in values:
                    value.grad = 7.0
            numbers = [(value.data, value.inputs, value.slopes) for value in values]
            judge.call(backward, last, changes=True, given=given + attempt)
            kept = [(value.data, value.inputs, value.slopes) for value in values]
            judge.that(kept == numbers, "it changed more than .grad", given=given + attempt)
            for value in sorted(values, key=lambda one: one is not last):
                words = f"the grad of {value!r}, {given}{attempt}"
                judge.close(value.grad, right[id(value)], given=words)
    last = _chain(60)
    judge.call(backward, last, changes=True, given="b = a + a; c = b + b; and so on, 60 times")
    judge.close([value.grad for value in _behind(last)], [1.0] * 61)


# ---- 00.7: a neuron ------------------------------------------------------------------------------


class _Counting(_Value):
    """A Value that can be added and multiplied, for the check of what uses them."""

    def __add__(self, other: Any) -> _Counting:
        other = other if hasattr(other, "slopes") else _Counting(other)
        return _Counting(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Any) -> _Counting:
        other = other if hasattr(other, "slopes") else _Counting(other)
        return _Counting(self.data * other.data, (self, other), (other.data, self.data))

    __radd__, __rmul__ = __add__, __mul__


@exercise(
    "00.7",
    "A neuron",
    answer="neuron",
    minutes=5,
    hints=(
        "Begin the sum with the weight that has no input, the last one.",
        "`zip(weights, inputs)` ends with the shorter of the two, so it leaves the bias out.",
        "`total = weights[-1]`, then `total = total + weight * x` for each pair; `tanh` of it.",
    ),
    why_ours="Beginning the sum with the bias saves a line. The weights are Values and the inputs"
    " may be plain numbers: `weight * x` takes both, because your `*` does.",
)
def check_00_7(judge: Judge, neuron: Any) -> None:
    """tanh of the sum of weight times input, plus the last weight, for any number of inputs."""
    for seed, (count, values) in enumerate(
        ((2, False), (2, True), (3, True), (5, False), (1, False))
    ):
        rng = random.Random(seed)
        numbers = [round(rng.uniform(-1, 1), 2) for _ in range(count + 1)]
        points = [round(rng.uniform(-1, 1), 2) for _ in range(count)]
        weights = [_Counting(number) for number in numbers]
        inputs: list[Any] = [_Counting(x) if values else x for x in points]
        total = sum(w * x for w, x in zip(numbers, points, strict=False)) + numbers[-1]
        got = judge.call(neuron, weights, inputs)
        judge.that(hasattr(got, "slopes"), f"{what(got)}, and not a Value")
        judge.close(got.data, math.tanh(total))
        behind, slope = _gradients(got), 1 - math.tanh(total) ** 2
        judge.that(all(id(w) in behind for w in weights), "not all weights are behind the result")
        grads = [behind[id(weight)] for weight in weights]
        judge.close(grads, [slope * x for x in (*points, 1.0)], given="its slopes to the weights")


# ---- 00.8: a step --------------------------------------------------------------------------------


@exercise(
    "00.8",
    "One step",
    answer="step",
    minutes=4,
    hints=(
        "Call `backward(loss)` first: until then the gradients are those of the step before.",
        "Against the gradient is where the loss falls: `parameter.data -= rate * parameter.grad`.",
        "Walk back, change `.data` of each parameter in a loop, and `return loss.data`.",
    ),
    why_ours="Only `.data` changes, so no Value is made, and nothing is remembered: what a step"
    " does to the parameters is not part of what the next loss is computed from.",
)
def check_00_8(judge: Judge, step: Any) -> None:
    """Each parameter's data moves by rate times its gradient, against it; the loss is returned."""
    for rate in (0.1, 0.5, 0.03):
        for seed in range(3):
            values = _graph(seed, 3, 8)
            parameters, loss = values[:3], values[-1]
            for value in values:
                value.grad = 5.0  # left from the step before
            before, right = [p.data for p in values], _gradients(loss)
            wanted = [p.data - rate * right.get(id(p), 5.0) for p in parameters]
            used = [id(p) in right for p in parameters]
            given = f"a loss of {loss.data:g}, and rate={rate}"
            got = judge.call(step, parameters, loss, rate, changes=True, given=given)
            moved = [p.data for p, there in zip(parameters, used, strict=True) if there]
            wanted = [w for w, there in zip(wanted, used, strict=True) if there]
            judge.close(moved, wanted, given=f"the parameters after it, {given}")
            judge.that(isinstance(got, float), f"it returned {what(got)}, not the loss as a float")
            judge.close(got, before[-1], given=given)
            rest = [value.data for value in values[3:]]
            judge.that(rest == before[3:], "it moved numbers that are no parameters", given=given)


question(
    "00.q4",
    "y = a * a * a, with a = Value(2.0). What is a.grad after backward(y)?",
    right=12,
    why="3 * a ** 2, which is 12: three paths lead to a, and along each comes 2 * 2",
    tempting={
        4: "that is what comes along one of the three paths; they are added up",
        8: "that is y itself; the question is how fast it grows",
        6: "that would be a sum of three 2s; the slopes are products of two factors",
        2: "that is a itself; the question is how fast y grows with it",
    },
)
question(
    "00.q5",
    "What goes wrong if backward sets input.grad = ... where it should add?",
    choices={
        "a": "nothing, as long as each Value is visited once",
        "b": "what is used more than once keeps only the last share",
        "c": "the gradients have the wrong sign",
    },
    right="b",
    why="each user hands something on, and the last one would wipe out what the others gave",
    tempting={
        "a": "each Value is visited once, but it is handed something by every one of its users",
        "c": "no sign changes; but shares are lost where a Value is used more than once",
    },
)
question(
    "00.q6",
    "Without tanh, what could the six neurons learn?",
    choices={
        "a": "exclusive or, only more slowly",
        "b": "nothing at all",
        "c": "what one straight line can separate",
    },
    right="c",
    why="sums of products of sums of products of x and y are again a * x + b * y + c: one line",
    tempting={
        "a": "multiply it out: without a bend, six neurons are one, and one draws a straight line",
        "b": "they could still learn a straight line, which is something",
    },
)
