"""Chapter 6, what backward promises: flags, leaks, changes in place, curvature, an op of one's own.

The answers work with the learner's own library, so the checks make their tensors of the same one.
"""

from __future__ import annotations

import inspect
import math
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.library import of, ours
from course.turns import Steps, formed, in_forms, take_turns
from tutor import viz

ch06 = ours(6)
NEEDED = ("Buffer", "Tensor", "Op", "Add", "Mul", "Sum", "Engine", "engine")  # in no single file


def library(answer: Any) -> Any:
    """The library whose Tensor and engine an answer works with: where its names come from."""
    inner = inspect.unwrap(answer) if inspect.isfunction(answer) else answer
    return of(inner, *NEEDED, default=ch06)


def _leaf(numbers: Any, lib: Any) -> Any:
    return lib.Tensor(numbers, dtype="float64", requires_grad=True)


# ---- 06.1 ----------------------------------------------------------------------------------------


@exercise(
    "06.1",
    "Predict the flag",
    answer="flags",
    minutes=6,
    hints=(
        "A result requires grad if an input does; unless nothing is recorded, or the result is no"
        " float.",
        "b and d are the two that surprise: one has no input with the wish, the other is a bool.",
        "f was computed where nothing is recorded; but g has w itself among its inputs. And h: what"
        " did detach leave?",
    ),
    why_ours="no_grad and detach are not contagious: f and h are ordinary leaves without a wish,"
    " and g asks for w all the same.",
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
    """Forty pairs (x, slope * x); whoever takes one is counted."""

    def __init__(self, slope: float, before: Callable[[], None]) -> None:
        xs = [1.0 + step % 3 for step in range(40)]
        super().__init__((x, slope * x) for x in xs)
        self.slope, self.before = slope, before

    def __iter__(self) -> Iterator[tuple[float, float]]:
        for pair in super().__iter__():
            self.before()
            yield pair

    def __repr__(self) -> str:
        return f"40 batches (x, {self.slope:g} x)"


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
    minutes=12,
    hints=(
        "Which names live longer than one round of the loop? Whatever they hold, lives as long.",
        "total, smooth and history: all three take `loss` in, and all that hangs on it.",
        "loss.item() is the number without its history. Take it once, after backward(), and use it"
        " in all three places.",
    ),
    without=("tutor",),
    why_ours="One `.item()` per round, in a name of its own: what is kept for longer than a round"
    " is a Python number, and cannot hold a graph.",
)
def check_06_2(judge: Judge, fit_line: Any) -> None:
    """The same three results, while the number of living tensors stays the same in every round."""
    lib = library(fit_line)
    for slope, begin in ((3.0, 0.0), (-2.0, 1.0)):
        _fit_line(judge, fit_line, lib, slope, begin)


def _fit_line(judge: Judge, fit_line: Any, lib: Any, slope: float, begin: float) -> None:
    number, expected, losses = begin, [0.0, 0.0], []
    for x, y in Batches(slope, lambda: None):
        loss = (number * x - y) ** 2
        number -= 0.02 * 2 * (number * x - y) * x
        losses.append(loss)
        expected = [expected[0] + loss, loss * 0.1 + expected[1] * 0.9]
    counts: list[int] = []
    w = _leaf(begin, lib)
    given = f"w = {begin}, batches (x, {slope:g} x)"
    with counted(lib) as alive:
        watched = Batches(slope, lambda: counts.append(alive()))
        results = judge.call(fit_line, w, watched, changes=True)
        judge.picture(viz.curves({"tensors alive": counts}, x="step", title="tensors alive"))
        judge.equal(type(results), tuple, given="the type of the result")
        judge.equal(len(results), 3, given="how many results there are")
        mean, smooth, history = results
        judge.equal(type(history), list, given="the type of the third result")
        plain = [_number(loss) for loss in history]
        judge.close(w.item(), number, given=f"{given}: w after 40 steps", rtol=1e-5)
        judge.close(plain, losses, given=f"{given}: all losses", rtol=1e-5, atol=1e-6)
        judge.close(_number(mean), expected[0] / 40, given=f"{given}: the mean loss", rtol=1e-5,
                    atol=1e-6)  # fmt: skip
        judge.close(_number(smooth), expected[1], given=f"{given}: the smoothed loss", rtol=1e-5,
                    atol=1e-6)  # fmt: skip
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
    minutes=10,
    hints=(
        "Who needs h on the way back? And which op says how relu(h) came about?",
        "h * h multiplies its gradient by h, which by then is relu(h). And fill is no op: the graph"
        " has no relu in it. One line does both.",
        "Leave h as it is and use the op: return (square + h.relu()).sum()",
    ),
    without=("tutor",),
    why_ours="relu as an op makes a new tensor. It costs memory, and that is the price: h is needed"
    " on the way back.",
)
def check_06_3(judge: Judge, block: Any) -> None:
    """The value is the same, and the gradients of x and w are the measured slopes."""
    lib = library(block)
    cases = (
        ([1.0, 2.0], [0.5, 1.5]),
        ([1.0, -2.0, 0.5], [3.0, 0.25, -4.0]),
        ([-1.5], [2.0]),
        ([0.25, -3.0, 2.0, 1.0], [-1.0, -2.0, 0.5, -0.125]),
    )
    for xs, ws in cases:
        given = f"x = {xs}, w = {ws}"
        hs = [x * w for x, w in zip(xs, ws, strict=True)]
        value = sum(h * h + max(h, 0.0) for h in hs)
        slopes = [2 * h + (h > 0) for h in hs]
        x, w = _leaf(xs, lib), _leaf(ws, lib)
        y = judge.call(block, x, w, changes=True)
        judge.that(isinstance(y, lib.Tensor), "it gives no tensor", given=given)
        judge.equal(y.numel(), 1, given=f"how many numbers come out, {given}")
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
    minutes=15,
    hints=(
        "First walk: the gradient of f, with a graph of its own. Then make one number of it and v,"
        " and walk again.",
        "f(x).backward(create_graph=True); g = x.grad. Before the second walk x.grad must be None"
        " again, or the two gradients are added.",
        "(g * v).sum().backward(), then x.grad is H·v. Take it out and leave x.grad as None.",
    ),
    without=("tutor",),
    why_ours="Two walks, whatever the size of x. x.grad is emptied three times: of what somebody"
    " left there, of the first gradient, and of the product, which the caller gets.",
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

    points = (([0.5, -1.0, 2.0], [1.0, 0.5, -2.0]), ([-0.25, 1.5, 0.75], [0.0, -1.0, 3.0]))
    for xs, vs in points:
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
            "(x * 0.5).sum().exp()": (exponential, [0.25 * math.exp(sum(xs) / 2) * sum(vs)] * 3),
        }
        for text, (f, expected) in tops.items():
            for left in (None, [7.0, 7.0, 7.0]):
                x = _leaf(xs, lib)
                x.grad = lib.Tensor(left, dtype="float64") if left else None
                v, calls[0] = lib.Tensor(vs, dtype="float64"), 0
                got = judge.call(hvp, f, x, v, changes=True)
                given = f"f(x) = {text}" + (", a gradient left from before" if left else "")
                judge.that(isinstance(got, lib.Tensor), "it gives no tensor", given=given)
                judge.close(got, expected, given=given, rtol=1e-9)
                times = f"f was called {calls[0]} times; once is enough"
                judge.that(calls[0] == 1, times, given=given)
                after = [x.tolist(), v.tolist()]
                judge.equal(after, [xs, vs], given=f"x and v afterwards, {given}")
                judge.that(x.grad is None, "x.grad is not None afterwards", given=given)


# ---- 06.5 ----------------------------------------------------------------------------------------


def _swish(x: float) -> float:
    return x / (1 + math.exp(-x))


def _walk_back(y: Any, weights: Any) -> None:
    (y * weights).sum().backward()


@exercise(
    "06.5",
    "Swish",
    answer="Swish",
    minutes=15,
    hints=(
        "The forward is arithmetic on the numbers; the backward is g times s + x · s · (1 - s).",
        "forward: return x / ((-x).exp() + 1). backward: with s = 1 / ((-x).exp() + 1), the formula"
        " of the text; 1 - s works, too.",
        "backward: (x,) = self.inputs, and the comma at the end makes the tuple:"
        " return (g * (s + x * s * (1 - s)),)",
    ),
    without=("tutor",),
    why_ours="The forward is written with tensors, too, and is not recorded op by op, because"
    " `run` records only the op that it was given, and forward is called within it.",
)
@in_forms
def check_06_5(judge: Judge, Swish: Any) -> None:  # noqa: N803 - a class
    """Values, first and second derivatives are right, and the graph has one op in it."""
    judge.that(isinstance(Swish, type), "Swish is no class")
    lib = library(Swish)
    judge.that(issubclass(Swish, lib.Op), "Swish is no subclass of Op")

    numbers = [0.5, -1.25, 0.0, 3.0]
    take_turns(*[
        _swishes(judge, Swish, lib, numbers[::turn], shape)
        for turn, shape in ((1, (4,)), (-1, (2, 2)), (1, (2, 2)))
    ])  # fmt: skip
    x = _leaf(numbers, lib)
    judge.run(lambda: Swish(x).apply().sum().backward(create_graph=True))
    g, x.grad = x.grad, None
    judge.that(g.requires_grad, "backward cannot be differentiated again: write it with tensors")
    judge.run(lambda: g.sum().backward())
    curves = [(_swish(v + 1e-4) - 2 * _swish(v) + _swish(v - 1e-4)) / 1e-8 for v in numbers]
    judge.close(x.grad, curves, given=f"the second derivative at {numbers}", rtol=1e-5, atol=1e-6)
    x.grad = None


def _swishes(
    judge: Judge,
    op_type: Any,
    lib: Any,
    numbers: list[float],
    shape: tuple[int, ...],
) -> Steps:
    """One Swish, forward and back; between them come others."""
    given = f"x = {numbers}, shape {shape}"
    x = formed(lib.Tensor(lib.Buffer(numbers, "float64"), shape, requires_grad=True))
    y = judge.run(lambda: op_type(x).apply())
    judge.that(isinstance(y, lib.Tensor), "forward gives no tensor", given=given)
    judge.equal(y.shape, shape, given=f"the shape of the result, {given}")
    judge.equal(y.buf.dtype, x.buf.dtype, given=f"the dtype of the result, {given}")
    judge.close(list(y.values()), [_swish(v) for v in numbers], given=given, mistakes={
        "x / (1 + e ** x): a sign in the exponent": [v / (1 + math.exp(v)) for v in numbers],
        "1 / (1 + e ** -x), without x": [1 / (1 + math.exp(-v)) for v in numbers],
    })  # fmt: skip
    yield
    judge.equal(list(x.values()), numbers, given=f"x afterwards, {given}")
    judge.that(type(y.op) is op_type, "the result's op is not Swish", given=given)
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
    yield
    judge.run(partial(_walk_back, y, weights))
    slopes = [(_swish(v + 1e-6) - _swish(v - 1e-6)) / 2e-6 for v in numbers]
    expected = [w * s for w, s in zip(weights.values(), slopes, strict=True)]
    judge.close(list(x.grad.values()), expected, given=f"the gradient, weighted, {given}",
                rtol=1e-6, atol=1e-8)  # fmt: skip


# ---- 06.6 ----------------------------------------------------------------------------------------


@contextmanager
def on_and_off(lib: Any) -> Iterator[Any]:
    """The library's engine, recording; afterwards it is as it was."""
    engine = lib.engine
    before, engine.recording = engine.recording, True
    try:
        yield engine
    finally:
        engine.recording = before


def _within(block: Any, f: Callable[[], Any]) -> Any:
    with block():
        return f()


def _raising(block: Any) -> None:
    with block():
        raise ZeroDivisionError("inside the block")


@exercise(
    "06.6",
    "no_grad",
    answer="no_grad",
    minutes=10,
    hints=(
        "What stands before `yield` is done at the beginning of the block, what stands behind it at"
        " the end. The switch is `engine.recording`.",
        "Blocks may stand inside blocks. So at the end the switch must go back to what it *was*,"
        " which is not always True.",
        "before, engine.recording = engine.recording, False; then try: yield, finally:"
        " engine.recording = before. The finally is for blocks that end in an error.",
    ),
    without=("tutor", "mode"),
    why_ours="What it was is kept in the block's own `before`, so blocks can be nested; `finally`"
    " puts it back even where the block ends in an error.",
)
def check_06_6(judge: Judge, no_grad: Any) -> None:
    """In the block nothing is recorded; after it, everything is as it was before, errors or not."""
    lib = library(no_grad)
    with on_and_off(lib) as engine:
        x = _leaf([1.0, -2.0], lib)
        judge.called = "with no_grad(): y = x * 2"
        y = judge.run(lambda: _within(no_grad, lambda: x * 2))
        judge.equal(y.tolist(), [2.0, -4.0], given="the numbers")
        judge.that(y.op is None, "y has an op: it was recorded")
        judge.equal(y.requires_grad, False, given="does y require grad?")
        judge.equal(x.requires_grad, True, given="does x still require grad?")
        judge.equal(engine.recording, True, given="engine.recording after the block")
        y = x * 2
        judge.that(y.op is not None, "after the block nothing is recorded any more")
        judge.called = "with no_grad(): ..., with an error inside"
        judge.raises(ZeroDivisionError, _raising, no_grad, called=judge.called)
        judge.equal(engine.recording, True, given="engine.recording after the block")
        judge.called = "a block inside a block"
        inner = judge.run(lambda: _within(no_grad, lambda: _nested(no_grad, x)))
        judge.that(inner[0].op is None, "in the inner block something is recorded")
        judge.that(inner[1].op is None, "after the inner block, still in the outer one, something"
                   " is recorded")  # fmt: skip
        judge.equal(engine.recording, True, given="engine.recording after both")
        judge.called = "with no_grad(): y.sum().backward()"
        total = y.sum()
        judge.run(lambda: _within(no_grad, total.backward))
        judge.close(x.grad, [2.0, 2.0], given="a graph from before may be walked inside")
        engine.recording = False
        judge.called = "a block where recording is off already"
        judge.run(lambda: _within(no_grad, lambda: x * 2))
        judge.equal(engine.recording, False, given="engine.recording after it")


def _nested(block: Any, x: Any) -> tuple[Any, Any]:
    with block():
        inner = x * 2
    return inner, x * 3


# ---- 06.7 ----------------------------------------------------------------------------------------


@exercise(
    "06.7",
    "detach",
    answer="detach",
    minutes=6,
    hints=(
        "Chapter 2 made views: another Tensor over the same Buffer. This one walks it in the very"
        " same way.",
        "A Tensor that no op has made has no history: `.op` is None, and it does not require grad.",
        "t.over(shape, strides, offset) makes such a Tensor; give it t's own three.",
    ),
    without=("tutor",),
    why_ours="No number is copied: a new Tensor over the same Buffer. What is missing is only what"
    " it was not given: `.op` and the wish.",
)
def check_06_7(judge: Judge, detach: Any) -> None:
    """The same numbers in the same memory, as a leaf without the wish; t stays what it is."""
    lib = library(detach)
    with on_and_off(lib):
        w = lib.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype="float64", requires_grad=True)
        cases = {
            "a leaf": w, "a result": w * 2.0, "a transposed result": (w * 2.0).transpose(),
            "a slice": (w * 3.0)[:, 1:], "every other column, from the right": (w + 1.0)[:, ::-2],
            "one number of a result": (w * 5.0)[1, 2], "a stretched one": w[:1].expand(3, 3),
        }  # fmt: skip
        for given, t in cases.items():
            op, wish, grad = t.op, t.requires_grad, t.grad
            d = judge.call(detach, t, changes=True, given=given)
            judge.that(isinstance(d, lib.Tensor), "it gives no tensor", given=given)
            judge.that(d is not t, "it gives t itself", given=given)
            judge.equal(tuple(d.shape), tuple(t.shape), given=f"{given}: the shape")
            judge.equal(d.tolist(), t.tolist(), given=f"{given}: the numbers")
            judge.that(d.op is None, "it still has its op", given=given)
            judge.equal(d.requires_grad, False, given=f"{given}: does it require grad?")
            judge.that(d.buf is t.buf, "its numbers were copied; detach shares the memory",
                       given=given)  # fmt: skip
            untouched = t.op is op and t.requires_grad is wish and t.grad is grad
            judge.that(untouched, "t itself has changed", given=given)
        y = w * 2.0
        d = judge.call(detach, y, changes=True)
        (y * d).sum().backward()
        judge.close(w.grad, [[4.0, 8.0, 12.0], [16.0, 20.0, 24.0]],
                    given="(y * detach(y)).sum(), y = w * 2: one factor counts")  # fmt: skip


# ---- 06.8 ----------------------------------------------------------------------------------------


@contextmanager
def counting_writes(lib: Any) -> Iterator[None]:
    """Within the block, every write to a Buffer of this library counts its version up."""
    cls = lib.Buffer
    plain = cls.write, cls.__setitem__

    def counting(write: Callable[..., None]) -> Callable[..., None]:
        def write_and_count(buf: Any, start: Any, numbers: Any) -> None:
            write(buf, start, numbers)
            buf.version = getattr(buf, "version", 0) + 1

        return write_and_count

    cls.write, cls.__setitem__ = map(counting, plain)
    try:
        yield
    finally:
        cls.write, cls.__setitem__ = plain


@exercise(
    "06.8",
    "The past must not change",
    answer="Watchful",
    minutes=15,
    hints=(
        "Two moments: when the op runs, note how often each input's Buffer has been written to;"
        " when the walk begins, look again and compare.",
        "In run: op.versions = a list with version(x.buf) for each x in op.inputs. In backward:"
        " self.order(root) has all tensors; those with an op have noted something.",
        "for t in self.order(root): if t.op and t.op.versions != [version(x.buf) for x in"
        " t.op.inputs]: raise ValueError with type(t.op).__name__ in it. Then super().backward.",
    ),
    without=("tutor",),
    why_ours="All ops are looked at before the walk begins, so no leaf has got half of its gradient"
    " when it is refused. Numbers are counted, not compared: a copy of each input would be as large"
    " as the graph.",
)
def check_06_8(judge: Judge, Watchful: Any) -> None:  # noqa: N803 - a class
    """backward raises a ValueError that names the op one of whose inputs was changed after use."""
    judge.that(isinstance(Watchful, type), "Watchful is no class")
    lib = library(Watchful)
    judge.that(issubclass(Watchful, lib.Engine), "Watchful is no subclass of Engine")
    execute = lib.Op.execute
    engine = judge.instance(Watchful)
    lib.Op.execute = staticmethod(lambda op: engine.run(op))
    try:
        with counting_writes(lib):
            _watch(judge, engine, lib)
    finally:
        lib.Op.execute = staticmethod(execute)


def _watch(judge: Judge, engine: Any, lib: Any) -> None:
    def scene() -> dict[str, Any]:
        w, k = _leaf([2.0, 3.0], lib), _leaf([1.0, -1.0], lib)
        a = w * 3.0
        b = a.exp()
        c = a * k
        return {"w": w, "k": k, "a": a, "b": b, "c": c, "loss": (b + c).sum()}

    graph = "a = w * 3.0; b = a.exp(); c = a * k; (b + c).sum()"

    def walk(loss: Any, given: str) -> None:
        judge.call(engine.backward, loss, changes=True, given=given)

    def refuses(t: dict[str, Any], name: str, given: str) -> None:
        leaves = [t["w"], t["k"]]
        judge.raises(ValueError, engine.backward, t["loss"], match=name, given=given,
                     called="engine.backward(loss)")  # fmt: skip
        judge.that(all(x.grad is None for x in leaves), "a leaf has got a gradient", given=given)

    x = _leaf([1.0, 2.0], lib)
    out = judge.call(engine.run, lib.Mul(x, x), changes=True, given="run")
    judge.that(isinstance(out, lib.Tensor), "run returns no tensor (is there a `return`?)")
    judge.equal(out.tolist(), [1.0, 4.0], given="run: the result of an op")
    t = scene()
    walk(t["loss"], f"{graph}; nothing was changed")
    judge.that(t["w"].grad is not None, "w.grad is still None", given="nothing was changed")
    slopes = [3.0 * math.exp(3.0 * w) + 3.0 * k for w, k in ((2.0, 1.0), (3.0, -1.0))]
    judge.close(t["w"].grad, slopes, given="nothing was changed: the gradient of w")
    for changed, name in (("w", "Mul"), ("k", "Mul"), ("b", "Add"), ("c", "Add")):
        t = scene()
        t[changed].fill([5.0, 6.0])
        refuses(t, name, f"{graph}; then {changed} is changed")
    t = scene()
    t["a"].fill([5.0, 6.0])
    refuses(t, "Exp|Mul", f"{graph}; then a is changed")
    t = scene()
    t["a"].over((1,), (1,), 1).fill([5.0])
    refuses(t, "Exp|Mul", f"{graph}; then a[1] is changed, by way of a view")
    t = scene()
    t["k"].fill(list(t["k"].values()))
    refuses(t, "Mul", f"{graph}; then k is overwritten, with the numbers that it had")
    t = scene()
    t["loss"].fill([0.0])
    walk(t["loss"], f"{graph}; then the result is changed, which nobody needs")
    w = _leaf([2.0, 3.0], lib)
    w.fill([4.0, 5.0])
    loss = (w * w).sum()
    walk(loss, "w is changed *before* it is used in (w * w).sum()")
    judge.close(w.grad, [8.0, 10.0], given="w changed before its use: the gradient")
    for step in range(3):
        w.grad = None
        loss = (w * w).sum()
        walk(loss, f"a loop: walk, then change w, then compute anew; round {step}")
        w.fill([x * 0.5 for x in w.values()])
    w.grad = None
    again = (w * w * w).sum()
    judge.call(engine.backward, again, create_graph=True, changes=True, given="create_graph=True")
    judge.that(w.grad.requires_grad, "create_graph=True is lost on the way")
    w.grad = None


# ---- 06.9 ----------------------------------------------------------------------------------------


@exercise(
    "06.9",
    "A hook",
    answer="register_hook",
    minutes=10,
    hints=(
        "The engine calls t.op.backward(g) once, with the whole gradient of t. `trace` in chapter 5"
        " listened there, too.",
        "Put a function of your own in its place: one that calls hook(g), and then the backward"
        " that was there before.",
        "backward = t.op.backward; def heard(g): changed = hook(g); return backward(g if changed is"
        " None else changed); t.op.backward = heard.",
    ),
    without=("tutor", "engine"),
    why_ours="Only this one op object is changed, not its class, and a second hook wraps the first."
    " Your engine knows nothing of it.",
)
def check_06_9(judge: Judge, register_hook: Any) -> None:
    """hook(g) sees t's whole gradient once per walk; what it returns, if anything, goes on."""
    lib = library(register_hook)
    classes = [lib.Mul, lib.Add, lib.Sum]
    before = [vars(cls)["backward"] for cls in classes]
    try:
        with on_and_off(lib):
            _hooks(judge, register_hook, lib)
    finally:  # whoever listens to a class would listen for ever
        for cls, backward in zip(classes, before, strict=True):
            cls.backward = backward


def _hooks(judge: Judge, register_hook: Any, lib: Any) -> None:
    def scene() -> tuple[Any, Any, Any, Any]:
        a, b = _leaf([2.0, 1.0], lib), _leaf([3.0, -1.0], lib)
        u = a * b
        return a, b, u, (u * u + u * a).sum()

    graph = "u = a * b; loss = (u * u + u * a).sum()"
    whole = [14.0, -1.0]  # 2u + a
    a, b, u, loss = scene()
    seen: list[Any] = []
    judge.call(register_hook, u, lambda g: seen.append(g.tolist()), changes=True,
               given=f"{graph}, a hook on u")  # fmt: skip
    judge.equal(len(seen), 0, given="how often the hook was called before the walk")
    judge.run(loss.backward)
    judge.equal(len(seen), 1, given="how often the hook was called in one walk")
    judge.close(seen[0], whole, given=f"{graph}: what the hook on u saw")
    judge.close(a.grad, [48.0, 0.0], given="a.grad; the hook returned nothing, so g goes on")
    judge.close(b.grad, [28.0, -1.0], given="b.grad; the hook returned nothing, so g goes on")
    for text, factor in (("g * 10", 10.0), ("g * 0", 0.0), ("g * -1", -1.0)):
        a, b, u, loss = scene()
        judge.call(register_hook, u, lambda g, factor=factor: g * factor, changes=True,
                   given=f"a hook on u that returns {text}")  # fmt: skip
        judge.run(loss.backward)
        given = f"a hook on u that returns {text}"
        judge.close(b.grad, [28.0 * factor, -factor], given=f"b.grad; {given}")
        direct = [6.0, -1.0]  # by way of u * a
        through = [3.0 * 14.0, 1.0]
        expected = [d + factor * t for d, t in zip(direct, through, strict=True)]
        judge.close(a.grad, expected, given=f"a.grad; {given}")
    a, b, u, loss = scene()
    order: list[str] = []

    def double(g: Any) -> Any:
        order.append("doubled")
        return g * 2.0

    def triple(g: Any) -> Any:
        order.append("tripled")
        return g * 3.0

    judge.call(register_hook, u, double, changes=True, given="two hooks on u")
    judge.call(register_hook, u, triple, changes=True, given="two hooks on u")
    judge.run(loss.backward)
    judge.equal(sorted(order), ["doubled", "tripled"], given="two hooks on u: who was called")
    judge.close(b.grad, [168.0, -6.0], given="two hooks on u, g * 2 and g * 3: b.grad")
    given = "a hook on one product; another product has none"
    a, b, u, loss = scene()
    judge.call(register_hook, a * a, lambda g: g * 0.0, changes=True, given=given)
    judge.run(loss.backward)
    judge.close(b.grad, [28.0, -1.0], given=f"{given}: b.grad")
    given = "a hook on the result of the whole"
    a, b, u, loss = scene()
    judge.call(register_hook, loss, lambda g: g * 2.0, changes=True, given=given)
    judge.run(loss.backward)
    judge.close(b.grad, [56.0, -2.0], given=f"{given}: b.grad")
    judge.raises(ValueError, register_hook, _leaf([1.0], lib), lambda g: None,
                 given="a leaf, which has no op", called="register_hook(leaf, hook)")  # fmt: skip


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "06.s1",
    "Free the graph",
    answer="Freeing",
    minutes=15,
    hints=(
        "Which tensors have an op is known before the walk: self.order(root). After it, take that"
        " op away from each of them.",
        "If .op becomes None, they look like leaves, and a second walk would leave gradients in"
        " them. Put something in its place that remembers that an op was there.",
        "A small class with `inputs = ()` and a backward(g) that raises a ValueError. retain_graph"
        " and create_graph both keep the graph.",
    ),
    without=("tutor",),
    why_ours="What is put in the op's place has no inputs, so everything behind it can go, and it"
    " raises when it is asked. `create_graph` keeps the graph as well: its result needs it.",
)
def check_06_s1(judge: Judge, Freeing: Any) -> None:  # noqa: N803 - a class
    """After a walk the graph is gone and a second walk is refused, unless it was retained."""
    judge.that(isinstance(Freeing, type), "Freeing is no class")
    lib = library(Freeing)
    judge.that(issubclass(Freeing, lib.Engine), "Freeing is no subclass of Engine")
    execute = lib.Op.execute
    engine = judge.instance(Freeing)
    lib.Op.execute = staticmethod(lambda op: engine.run(op))
    try:
        _free(judge, engine, lib)
    finally:
        lib.Op.execute = staticmethod(execute)


def _free(judge: Judge, engine: Any, lib: Any) -> None:
    def scene() -> tuple[Any, Any, Any]:
        w = _leaf([2.0, -1.0], lib)
        a = w * w
        return w, weakref.ref(a), (a * 3.0 + a.exp()).sum()

    slopes = [4.0 * (3.0 + math.exp(4.0)), -2.0 * (3.0 + math.exp(1.0))]
    text = "a = w * w; loss = (a * 3.0 + a.exp()).sum()"
    w, inner, loss = scene()
    judge.call(engine.backward, loss, changes=True, given=text)
    judge.close(w.grad, slopes, given=f"{text}: w.grad")
    judge.that(inner() is None, "`a` still exists: loss holds the graph", given=text)
    judge.raises(ValueError, engine.backward, loss, given="a second walk, nothing retained",
                 called="engine.backward(loss)")  # fmt: skip
    judge.close(w.grad, slopes, given="w.grad after the second walk was refused")
    judge.close(loss.item(), 3 * 5.0 + math.exp(4.0) + math.e, given="the value of loss afterwards")
    judge.equal(loss.requires_grad, True, given="does loss still require grad?")
    w, inner, loss = scene()
    given = "retain_graph=True"
    judge.call(engine.backward, loss, retain_graph=True, changes=True, given=given)
    judge.that(inner() is not None, "the graph is gone all the same", given=given)
    judge.call(engine.backward, loss, changes=True, given="then once more, without it")
    judge.close(w.grad, [2 * s for s in slopes], given="two walks, the first retained: w.grad")
    judge.that(inner() is None, "`a` still exists", given="after the second walk")
    w, inner, loss = scene()
    shared = w * w
    first, second = (shared * 2.0).sum(), (shared * 5.0).sum()
    judge.call(engine.backward, first, changes=True, given="b = w * w; (b * 2.0).sum()")
    judge.raises(ValueError, engine.backward, second, called="engine.backward(second)",
                 given="then (b * 5.0).sum(), which needs the same b")  # fmt: skip
    x = _leaf(2.0, lib)
    given = "create_graph=True, then backward from x.grad"
    judge.call(engine.backward, x * x * x, create_graph=True, changes=True, given=given)
    g, x.grad = x.grad, None
    judge.call(engine.backward, g, changes=True, given=given)
    judge.close(x.grad, 12.0, given=f"the second derivative of x ** 3 at 2; {given}")
    x.grad = None
    leaf = _leaf(1.0, lib)
    judge.call(engine.backward, leaf, changes=True, given="a leaf")
    judge.call(engine.backward, leaf, changes=True, given="a leaf, twice")
    judge.close(leaf.grad, 2.0, given="a leaf, twice: its gradient")


@exercise(
    "06.s2",
    "Memory for time",
    answer="recomputed",
    minutes=12,
    hints=(
        "It is an op: `Op` takes parameters beside its inputs, as in Again(*inputs, f=f), and they"
        " stand in self.params. Its forward runs f where nothing is recorded.",
        "Its backward runs f again, this time recorded, on detached inputs that want a gradient."
        " The engine's recording is off during the walk; switch it on meanwhile.",
        "In backward: y = f(*copies); (y * g).sum().backward(); return tuple(x.grad for x in"
        " copies). A copy of an input without a wish gets None, which is right.",
    ),
    without=("tutor",),
    why_ours="A walk inside a walk: the inner one has a dictionary of its own, so the outer one"
    " does not notice. It costs one more forward pass, and saves all that is inside f.",
)
def check_06_s2(judge: Judge, recomputed: Any) -> None:
    """The same values and gradients as f(*inputs), with one op in the graph in place of all."""
    lib = library(recomputed)
    calls = [0]

    def deep(x: Any) -> Any:
        calls[0] += 1
        for _ in range(8):
            x = (x * -0.5).exp()
        return x

    def mixed(x: Any, y: Any) -> Any:
        calls[0] += 1
        return x * y + (x * x).exp()

    with on_and_off(lib) as engine:
        for text, f, rows, wishes in (
            ("eight times exp(x * -0.5)", deep, ([0.3, -0.5],), (True,)),
            ("x * y + (x * x).exp()", mixed, ([0.5, 1.0], [2.0, -3.0]), (True, True)),
            ("the same, y without a wish", mixed, ([0.5, 1.0], [2.0, -3.0]), (True, False)),
        ):
            inputs = [lib.Tensor(row, dtype="float64", requires_grad=wish)
                      for row, wish in zip(rows, wishes, strict=True)]  # fmt: skip
            plain = f(*inputs)
            weights = lib.Tensor([2.0, -0.5], dtype="float64")
            (plain * weights).sum().backward()
            expected = [x.grad.tolist() if x.grad is not None else None for x in inputs]
            for x in inputs:
                x.grad = None
            calls[0] = 0
            given = f"f = {text}"
            out = judge.call(recomputed, f, *inputs, changes=True, given=given)
            judge.that(isinstance(out, lib.Tensor), "it gives no tensor", given=given)
            judge.close(out.tolist(), plain.tolist(), given=f"{given}: the values")
            judge.equal(calls[0], 1, given=f"{given}: how often f was called in the forward pass")
            judge.that(out.requires_grad, "the result has no history", given=given)
            judge.equal(engine.recording, True, given=f"{given}: engine.recording afterwards")
            ops = [t for t in engine.order(out) if t.op is not None]
            judge.equal(len(ops), 1, given=f"{given}: how many ops are in the graph")
            judge.run(partial(_walk_back, out, weights))
            for x, grad, name in zip(inputs, expected, "xy", strict=False):
                got = x.grad.tolist() if x.grad is not None else None
                judge.that((got is None) == (grad is None), f"{name}.grad is {got}", given=given)
                if grad is not None:
                    judge.close(got, grad, given=f"{given}: the gradient of {name}")
            judge.equal(calls[0], 2, given=f"{given}: how often f was called in all")
            judge.equal(engine.recording, True, given=f"{given}: engine.recording after backward")
        x = _leaf([0.5, -0.25], lib)
        given = "f = eight times exp(x * -0.5), of x * x"
        out = judge.call(recomputed, deep, x * x, changes=True, given=given)
        judge.run(lambda: out.sum().backward())
        again = _leaf([0.5, -0.25], lib)
        deep(again * again).sum().backward()
        judge.close(x.grad, again.grad.tolist(), given=f"{given}: the gradient of x")
        judge.that(
            x.grad.op is None,
            "x.grad has a history: the rest of the walk was recorded",
            given=given,
        )


# ---- questions -----------------------------------------------------------------------------------

question(
    "06.q1",
    "A loss takes ten ops, and every step does total = total + loss, which is one op more. How many"
    " ops does total hold after 1,000 steps?",
    right=11_000,
    why="every step's ten, and one addition each: nothing was let go",
    tempting={
        10_000: "those are the losses' own ops; each addition is an op as well",
        1_000: "those are the additions; each of them holds a loss, with ten ops behind it",
        11: "that is one step; the total holds all that came before as well",
        1_010: "only the last loss's ten are counted here; the earlier ones are held, too",
    },
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
    tempting={
        "a": "the message itself says so, and the error goes away: but then every round walks back"
        " into the first one's graph, with numbers that are out of date",
        "c": "then the gradients of two rounds add up, which is wrong, too, but raises nothing",
    },
)
question(
    "06.q3",
    "y = x.exp(), and the op saved its output. Which change before backward() makes the gradient"
    " wrong?",
    choices={"a": "of x in place", "b": "of y in place", "c": "of both"},
    right="b",
    why="the slope of exp is its output, which is y; x is not needed any more",
    tempting={
        "a": "that is so for an op that saved its input, as Mul; this one needs its output only",
        "c": "the change of y does harm, but that of x does none: nobody looks at it again",
    },
)
question(
    "06.q4",
    "x is 2, y = x ** 3. Two walks with retain_graph, x.grad never set to None. What is x.grad?",
    right=24,
    why="3x² = 12 from each walk: a leaf adds",
    tempting={
        12: "that is one walk; the second adds to it, since x.grad was not set to None",
        144: "the walks add, they do not multiply",
        16: "that is two times y; the gradient of x ** 3 is 3x²",
        36: "two walks were made, not three",
    },
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
    tempting={
        "a": "clone() copies; detach only forgets the history, the memory is the same",
        "c": "the change itself is allowed; tutor raises later, in backward(), if an op needs y",
    },
)
