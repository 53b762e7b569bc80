"""Chapter 6, what backward promises: flags, leaks, changes in place, curvature, an op of one's own.

The answers work with the learner's own classes, so the checks make their tensors of the same ones.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.built import ch06
from course.compare import kind
from course.exercise import Judge, exercise, question
from tutor import viz

NEEDED = ("Tensor", "Op", "engine", "gradcheck")


def library(answer: Any) -> Any:
    """The module whose Tensor and engine an answer works with: where its names come from."""
    names = getattr(answer, "__globals__", {})
    found = [names.get("Tensor")]
    if isinstance(answer, type):
        found = [cls for cls in answer.__mro__ if cls.__name__ == "Op"]
    for cls in found:
        module = sys.modules.get(getattr(cls, "__module__", ""))
        if all(hasattr(module, name) for name in NEEDED):
            return module
    return ch06


# ---- 06.1 ----------------------------------------------------------------------------------------


@exercise(
    "06.1",
    "Predict the flag",
    answer="flags",
    minutes=10,
    hints=(
        "A result requires grad if an input does; unless nothing is recorded, or the result is no"
        " float.",
        "b and d are the two that surprise: one has no input with the wish, the other is a bool.",
        "f was computed where nothing is recorded; but g has w itself among its inputs. And h: what"
        " did detach leave?",
    ),
)
def check_06_1(judge: Judge, flags: Any) -> None:
    """Eight times True or False, as `requires_grad` of the eight results really is."""
    w = ch06.Tensor([1.0, -2.0], requires_grad=True)
    x = ch06.Tensor([3.0, 4.0])
    a, b, d = w * 2, x * 2, w > 0
    with ch06.no_grad():
        f = w * 2
    results = {"a": a, "b": b, "c": (a * b).sum(), "d": d, "e": w * d, "f": f, "g": f * w,
               "h": a.detach() + x}  # fmt: skip
    judge.equal(type(flags), dict, given="the type of flags")
    judge.equal(sorted(map(str, flags)), sorted(results), given="its keys")
    for name, t in results.items():
        judge.equal(flags[name], t.requires_grad, given=f"does {name} require grad?")


# ---- 06.2 ----------------------------------------------------------------------------------------


class Batches(list[tuple[float, float]]):
    """Forty pairs (x, 3x); whoever takes one is counted."""

    def __init__(self, before: Callable[[], None]) -> None:
        super().__init__((1.0 + step % 3, 3.0 * (1.0 + step % 3)) for step in range(40))
        self.before = before

    def __iter__(self) -> Iterator[tuple[float, float]]:
        for pair in super().__iter__():
            self.before()
            yield pair

    def __repr__(self) -> str:
        return "40 batches (x, 3x)"


@contextmanager
def counted(lib: Any) -> Iterator[Any]:
    """Within the block, `alive()` says how many of the results made in it still exist."""
    made: Any = weakref.WeakSet()
    execute = lib.Op.execute

    def watched(op: Any) -> Any:
        out = execute(op)
        made.add(out)
        return out

    lib.Op.execute = staticmethod(watched)
    try:
        yield lambda: len(made)
    finally:
        lib.Op.execute = staticmethod(execute)


@exercise(
    "06.2",
    "A leak hunt",
    answer="fit_line",
    minutes=15,
    hints=(
        "Which names live longer than one round of the loop? Whatever they hold, lives as long.",
        "total, smooth and history: all three take `loss` in, and all that hangs on it.",
        "loss.item() is the number without its history. Take it once, after backward(), and use it"
        " in all three places.",
    ),
)
def check_06_2(judge: Judge, fit_line: Any) -> None:
    """The same three results, while the number of living tensors stays the same in every round."""
    lib = library(fit_line)
    number, expected, losses = 0.0, [0.0, 0.0], []
    for x, y in Batches(lambda: None):
        loss = (number * x - y) ** 2
        number -= 0.02 * 2 * (number * x - y) * x
        losses.append(loss)
        expected = [expected[0] + loss, loss * 0.1 + expected[1] * 0.9]
    counts: list[int] = []
    w = lib.Tensor(0.0, dtype="float64", requires_grad=True)
    with counted(lib) as alive:
        watched = Batches(lambda: counts.append(alive()))
        results = judge.call(fit_line, w, watched, changes=True)
        judge.picture(viz.curves({"tensors alive": counts}, x="step", title="tensors alive"))
        judge.equal(type(results), tuple, given="the type of the result")
        judge.equal(len(results), 3, given="how many results there are")
        mean, smooth, history = results
        judge.equal(type(history), list, given="the type of the third result")
        plain = [_number(loss) for loss in history]
        judge.close(w.item(), number, given="w after 40 steps", rtol=1e-5)
        judge.close(plain, losses, given="all losses", rtol=1e-5, atol=1e-6)
        judge.close(_number(mean), expected[0] / 40, given="the mean loss", rtol=1e-5, atol=1e-6)
        judge.close(_number(smooth), expected[1], given="the smoothed loss", rtol=1e-5, atol=1e-6)
        judge.that(len(counts) == 40, "it does not go through the batches once")
        early, late = counts[10], counts[-1]
        per_step = (late - early) / 29
        judge.that(
            per_step < 1.5,
            f"{early} tensors live at step 10, {late} at step 39: {per_step:.0f} more per step",
            given="40 steps",
        )
        for name, t in (("mean", mean), ("smoothed", smooth), ("last", history[-1])):
            held = getattr(t, "op", None) is not None
            judge.that(not held, f"the {name} loss still has its history")


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


# ---- 06.3 ----------------------------------------------------------------------------------------


@exercise(
    "06.3",
    "The in-place bug",
    answer="block",
    minutes=15,
    hints=(
        "Who needs h on the way back? And which op says how relu(h) came about?",
        "h * h multiplies its gradient by h, which by then is relu(h). And fill is no op: the graph"
        " has no relu in it. One line does both.",
        "Leave h as it is and use the op: return (square + h.relu()).sum()",
    ),
)
def check_06_3(judge: Judge, block: Any) -> None:
    """The value is the same, and the gradients of x and w are the measured slopes."""
    lib = library(block)
    for xs, ws in (([1.0, 2.0], [0.5, 1.5]), ([1.0, -2.0, 0.5], [3.0, 0.25, -4.0])):
        given = f"x = {xs}, w = {ws}"
        hs = [x * w for x, w in zip(xs, ws, strict=True)]
        value = sum(h * h + max(h, 0.0) for h in hs)
        slopes = [2 * h + (h > 0) for h in hs]
        x, w = (lib.Tensor(row, dtype="float64", requires_grad=True) for row in (xs, ws))
        y = judge.call(block, x, w, changes=True)
        judge.that(isinstance(y, lib.Tensor), "it gives no tensor", given=given)
        judge.close(y.item(), value, given=f"the value at {given}")
        judge.that(y.requires_grad, "the result has no history", given=given)
        judge.run(y.backward)
        for name, t, others in (("w", w, xs), ("x", x, ws)):
            expected = [slope * other for slope, other in zip(slopes, others, strict=True)]
            judge.that(t.grad is not None, f"{name}.grad is None after backward()", given=given)
            judge.close(t.grad, expected, given=f"the gradient of {name} at {given}")
        judge.equal([x.tolist(), w.tolist()], [xs, ws], given=f"x and w afterwards, {given}")


# ---- 06.4 ----------------------------------------------------------------------------------------


@exercise(
    "06.4",
    "Curvature in one direction",
    answer="hvp",
    minutes=20,
    hints=(
        "First walk: the gradient of f, with a graph of its own. Then make one number of it and v,"
        " and walk again.",
        "f(x).backward(create_graph=True); g = x.grad. Before the second walk x.grad must be None"
        " again, or the two gradients are added.",
        "(g * v).sum().backward(), then x.grad is H·v. Take it out and leave x.grad as None.",
    ),
)
def check_06_4(judge: Judge, hvp: Any) -> None:
    """H·v to the last digits, with few calls of f, whatever x.grad was before."""
    lib = library(hvp)
    calls = [0]

    def cubes(x: Any) -> Any:
        calls[0] += 1
        return (x * x * x).sum()

    def mixed(x: Any) -> Any:
        calls[0] += 1
        return (x[:-1] * x[1:] * x[1:]).sum()

    def exponential(x: Any) -> Any:
        calls[0] += 1
        return (x * 0.5).sum().exp()

    xs, vs = [0.5, -1.0, 2.0], [1.0, 0.5, -2.0]
    a, b, c = xs
    tops = {
        "(x * x * x).sum()": (cubes, [6 * x * v for x, v in zip(xs, vs, strict=True)]),
        "(x[:-1] * x[1:] * x[1:]).sum()": (  # a b² + b c²
            mixed,
            [
                2 * b * vs[1],
                2 * b * vs[0] + 2 * a * vs[1] + 2 * c * vs[2],
                2 * c * vs[1] + 2 * b * vs[2],
            ],
        ),
        "(x * 0.5).sum().exp()": (exponential, [0.25 * math.exp(0.5 * sum(xs)) * sum(vs)] * 3),
    }
    for text, (f, expected) in tops.items():
        for left in (None, [7.0, 7.0, 7.0]):
            x = lib.Tensor(xs, dtype="float64", requires_grad=True)
            x.grad = lib.Tensor(left, dtype="float64") if left else None
            v, calls[0] = lib.Tensor(vs, dtype="float64"), 0
            got = judge.call(hvp, f, x, v, changes=True)
            given = f"f(x) = {text}" + (", a gradient left from before" if left else "")
            judge.that(isinstance(got, lib.Tensor), "it gives no tensor", given=given)
            judge.close(got, expected, given=given, rtol=1e-9)
            judge.that(calls[0] == 1, f"f was called {calls[0]} times; once is enough", given=given)
            judge.equal([x.tolist(), v.tolist()], [xs, vs], given=f"x and v afterwards, {given}")


# ---- 06.5 ----------------------------------------------------------------------------------------


def _swish(x: float) -> float:
    return x / (1 + math.exp(-x))


def _walk_back(y: Any, weights: Any) -> None:
    (y * weights).sum().backward()


@exercise(
    "06.5",
    "Swish",
    answer="Swish",
    minutes=20,
    hints=(
        "The forward is arithmetic on the numbers; the backward is g times s + x · s · (1 - s).",
        "forward: return x / ((-x).exp() + 1). backward: with s = 1 / ((-x).exp() + 1), the formula"
        " of the text; 1 - s works, too.",
        "backward: (x,) = self.inputs, and the comma at the end makes the tuple:"
        " return (g * (s + x * s * (1 - s)),)",
    ),
)
def check_06_5(judge: Judge, Swish: Any) -> None:  # noqa: N803 - a class
    """Values, first and second derivatives are right, and the graph has one op in it."""
    judge.that(isinstance(Swish, type), "Swish is no class")
    lib = library(Swish)
    judge.that(issubclass(Swish, lib.Op), "Swish is no subclass of Op")

    def swish(x: Any) -> Any:
        return judge.run(lambda: Swish(x).apply())

    numbers = [0.5, -1.25, 0.0, 3.0]
    for shape in ((4,), (2, 2)):
        given = f"x = {numbers}, shape {shape}"
        x = lib.Tensor(lib.Buffer(numbers, "float64"), shape, requires_grad=True)
        y = swish(x)
        judge.that(isinstance(y, lib.Tensor), "forward gives no tensor", given=given)
        judge.equal(y.shape, shape, given=f"the shape of the result, {given}")
        judge.equal(y.buf.dtype, "float64", given=f"the dtype of the result, {given}")
        judge.close(list(y.values()), [_swish(v) for v in numbers], given=given)
        judge.that(type(y.op) is Swish, "the result's op is not Swish", given=given)
        behind = y.op.inputs
        judge.that(len(behind) == 1 and behind[0] is x, "its input is not x", given=given)
        weights = lib.Tensor(lib.Buffer([0.5, 2.0, -1.0, 1.5], "float64"), shape)
        grads = judge.run(partial(y.op.backward, weights))
        judge.that(
            isinstance(grads, tuple | list) and len(grads) == 1 and hasattr(grads[0], "buf"),
            f"backward gives {kind(grads)}; a tuple of one tensor is asked for: return (...,)",
            given=given,
        )
        judge.equal(grads[0].shape, shape, given=f"the shape of the gradient, {given}")
        judge.run(partial(_walk_back, y, weights))
        slopes = [(_swish(v + 1e-6) - _swish(v - 1e-6)) / 2e-6 for v in numbers]
        expected = [w * s for w, s in zip(weights.values(), slopes, strict=True)]
        judge.close(list(x.grad.values()), expected, given=f"the gradient, weighted, {given}",
                    rtol=1e-6, atol=1e-8)  # fmt: skip
    x = lib.Tensor(numbers, dtype="float64", requires_grad=True)
    judge.run(lambda: swish(x).sum().backward(create_graph=True))
    g, x.grad = x.grad, None
    judge.that(g.requires_grad, "backward cannot be differentiated again: write it with tensors")
    judge.run(lambda: g.sum().backward())
    curves = [(_swish(v + 1e-4) - 2 * _swish(v) + _swish(v - 1e-4)) / 1e-8 for v in numbers]
    judge.close(x.grad, curves, given=f"the second derivative at {numbers}", rtol=1e-5, atol=1e-6)


# ---- questions -----------------------------------------------------------------------------------

question(
    "06.q1",
    "A loss takes ten ops, and every step does total = total + loss, which is one op more. How many"
    " ops does total hold after 1,000 steps?",
    right=11_000,
    why="every step's ten, and one addition each: nothing was let go",
)
question(
    "06.q2",
    'A loop fails with "backward through the graph a second time". What do you look for first?',
    choices={
        "a": "a missing retain_graph=True",
        "b": "something computed before the loop that is part of the loss",
        "c": "a missing zero_grad",
    },
    right="b",
    why="its graph was freed in the first round; compute it anew in every round, or detach it",
)
question(
    "06.q3",
    "y = x.exp(), and the op saved its output. Which change before backward() makes the gradient"
    " wrong?",
    choices={"a": "of x in place", "b": "of y in place", "c": "of both"},
    right="b",
    why="the slope of exp is its output, which is y; x is not needed any more",
)
question(
    "06.q4",
    "x is 2, y = x ** 3. Two walks with retain_graph, x.grad never set to None. What is x.grad?",
    right=24,
    why="3x² = 12 from each walk: a leaf adds",
)
question(
    "06.q5",
    "d = y.detach(), then d.fill(...). What is true?",
    choices={
        "a": "y is as it was, detach copies",
        "b": "y has changed, and its history does not know",
        "c": "an error is raised",
    },
    right="b",
    why="they share the memory; tutor's version counter, which is shared too, tells at backward()",
)
