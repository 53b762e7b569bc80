"""Chapter 5, the engine: tracing, order, the naive walk, a broken sketch, depth, gradcheck.

An answer may make tensors of its own, so the graphs it is given are of the learner's own classes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.built import ch05
from course.exercise import Judge, exercise, question
from tutor import viz

Graph = tuple[Any, dict[str, Any]]  # the result, and its tensors by name


def library(answer: Any) -> Any:
    """The module that an answer has its Tensor from; it may be the notebook itself."""
    cls = getattr(answer, "__globals__", {}).get("Tensor")
    module = sys.modules.get(getattr(cls, "__module__", ""))
    return module if hasattr(module, "Tensor") and hasattr(module, "Op") else ch05


@contextmanager
def recording(lib: Any, on: bool) -> Iterator[None]:
    """Within the block, ops of this library are recorded, or are not, whatever engine it has."""

    def execute(op: Any) -> Any:
        out = op.forward(*op.inputs)
        if on and any(x.requires_grad for x in op.inputs):
            out.op, out.requires_grad = op, True
        return out

    before = lib.Op.execute
    lib.Op.execute = staticmethod(execute)
    try:
        yield
    finally:
        lib.Op.execute = staticmethod(before)


def _leaf(number: float, lib: Any = ch05) -> Any:
    return lib.Tensor(number, dtype="float64", requires_grad=True)


def _slope(f: Callable[..., float], at: list[float], i: int, eps: float = 1e-6) -> float:
    """The measured slope of f along its i-th number."""
    above, below = list(at), list(at)
    above[i] += eps
    below[i] -= eps
    return (f(*above) - f(*below)) / (2 * eps)


# ---- 05.1 ----------------------------------------------------------------------------------------


@exercise(
    "05.1",
    "Trace it by hand",
    answer="by_hand",
    minutes=10,
    hints=(
        "Values first: a·b, then + c, then relu. Only then the gradients, and from the right.",
        "relu hands its gradient on where its input is above 0, and hands on 0 elsewhere. An"
        " addition hands the same gradient to both. A product hands each the other's value.",
        "First case: a·b = 6, the sum is 5, so relu lets 1 through, and the addition hands 1 to a·b"
        " and to c. The product gives b to a, and a to b. Second case: look at the sum's sign.",
    ),
)
def check_05_1(judge: Judge, by_hand: Any) -> None:
    """All eight gradients of (a*b + c).relu() are those that the engine finds."""
    by_hand = list(by_hand) if isinstance(by_hand, tuple) else by_hand
    judge.equal(type(by_hand), list, given="the type of by_hand")
    judge.equal(len(by_hand), 2, given="the number of cases")
    for got, numbers in zip(by_hand, ([-1.5, -4.0, -1.0], [3.0, -2.0, 4.0]), strict=True):
        a, b, c = (_leaf(x) for x in numbers)
        ab = a * b
        inner = _leaf(ab.item())  # the product as a leaf, so that it keeps its gradient
        (a * b + c).relu().backward()
        (inner + numbers[2]).relu().backward()
        found = {"a": a, "b": b, "ab": inner, "c": c}
        expected = {name: t.grad.item() + 0.0 for name, t in found.items()}
        for i, name in enumerate("abc"):
            slope = _slope(lambda a, b, c: max(a * b + c, 0.0), numbers, i)
            assert abs(slope - expected[name]) < 1e-6, "engine and measurement agree"
        where = "a = {:g}, b = {:g}, c = {:g}".format(*numbers)
        judge.that(isinstance(got, dict), f"{got!r:.60} is no dictionary", given=where)
        judge.equal(sorted(got), sorted(expected), given=f"the names for {where}")
        for name, right in expected.items():  # the verdict must not give away the others
            near = isinstance(got[name], int | float) and abs(got[name] - right) < 1e-6
            isnt = f"the gradient of {name} is not {got[name]!r}"
            value = " (that is its value)" if got[name] == found[name].item() else ""
            judge.that(near, isnt + value, given=where)


# ---- 05.2 ----------------------------------------------------------------------------------------


def reused_twice(lib: Any = ch05) -> Graph:
    """The graph of the exercise."""
    a, b = _leaf(2.0, lib), _leaf(3.0, lib)
    u = a * b
    v = u + a
    w = u * v
    y = w.relu()
    return y, {"y": y, "w": w, "v": v, "u": u, "a": a, "b": b}


@exercise(
    "05.2",
    "Who waits for whom?",
    answer="order",
    minutes=10,
    hints=(
        "Begin at y. Who may go next? Whoever has got everything that will ever arrive there.",
        "u is used by w and by v. So u must wait until both have been passed.",
        "y, then w, then v. Now everything has arrived at u. Then a and b, whichever first.",
    ),
)
def check_05_2(judge: Judge, order: Any) -> None:
    """All six names, each after every tensor that was made from it."""
    order = list(order) if isinstance(order, tuple) else order
    judge.equal(type(order), list, given="the type of order")
    y, tensors = reused_twice()
    judge.picture(viz.graph(y, names=tensors))
    for name in order:
        known = isinstance(name, str) and name in tensors
        judge.that(known, f'{name!r} in the list; give names, as "{min(tensors)}"')
    judge.equal(sorted(order), sorted(tensors), given="the names, sorted: each once")
    for reader, t in tensors.items():
        for name, x in tensors.items():
            uses = t.op is not None and any(x is i for i in t.op.inputs)
            judge.that(
                not uses or order.index(reader) < order.index(name),
                f"{name} is passed before {reader}, but {reader} was made from {name} and has"
                " still something to hand to it",
                given=f"the order {', '.join(order)}",
            )


# ---- 05.3 ----------------------------------------------------------------------------------------


def naive(t: Any) -> None:
    """The chapter's naive walk."""
    if t.op is None:
        return
    for x, gx in zip(t.op.inputs, t.op.backward(t.grad), strict=True):
        if x.requires_grad:
            x.grad = gx if x.grad is None else x.grad + gx
            naive(x)


@exercise(
    "05.3",
    "Break it",
    answer="breaks",
    minutes=15,
    hints=(
        "Using `a` many times breaks nothing, as the table shows. What does a leaf not do, that"
        " every other tensor does?",
        "A leaf hands nothing on. So re-use a result that has something behind it.",
        "Give the result of one op a name, `b`, and use `b` twice.",
    ),
)
def check_05_3(judge: Judge, breaks: Any) -> None:
    """For breaks(a) at a = 2 the naive walk's gradient and the measured slope differ."""
    lib = library(breaks)
    a = _leaf(2.0, lib)
    with recording(lib, True):
        y = judge.call(breaks, a, changes=True)
    judge.that(isinstance(y, lib.Tensor) and y.numel() == 1, "it gives no tensor of one number")
    judge.that(y.requires_grad, "it does not depend on a")
    y.grad = lib.Tensor(1.0, dtype="float64")
    judge.picture(viz.graph(y, names={"a": a}))

    def value(number: float) -> float:
        return float(judge.call(breaks, lib.Tensor(number, dtype="float64"), changes=True).item())

    with recording(lib, False):
        slope = _slope(value, [2.0], 0)
        judge.run(lambda: naive(y))
    found = a.grad.item()
    judge.that(
        abs(found - slope) > 1e-3 * max(1.0, abs(slope)),
        f"the naive walk gives {found:g}, the measured slope is {slope:g}: they agree",
        given="a = 2.0",
    )


# ---- 05.4 ----------------------------------------------------------------------------------------


@contextmanager
def undecided(lib: Any) -> Iterator[None]:
    """Within the block, a tensor of several numbers is neither true nor false."""

    def truth(t: Any) -> bool:
        if t.numel() != 1:
            raise ValueError(f"is a tensor of shape {t.shape} true? Perhaps some of it")
        return bool(t.item() != 0)

    before = vars(lib.Tensor).get("__bool__")
    lib.Tensor.__bool__ = truth
    try:
        yield
    finally:
        del lib.Tensor.__bool__
        if before is not None:
            lib.Tensor.__bool__ = before


def _one(lib: Any = ch05) -> Graph:
    a, b = _leaf(2.0, lib), _leaf(-3.0, lib)
    y = a * b
    return y, {"a": a, "b": b}


def _diamond(lib: Any = ch05) -> Graph:
    a = _leaf(2.0, lib)
    b = a + a
    c = b * b
    return c + b, {"a": a, "b": b, "c": c}


def _rows(lib: Any = ch05) -> Graph:
    x = lib.Tensor([1.0, 2.0, 3.0], dtype="float64", requires_grad=True)
    y = x * x
    return (y * x + y).sum(), {"x": x, "y": y}


def _cancelling(lib: Any = ch05) -> Graph:
    """What arrives at b first is 0."""
    a = _leaf(0.0, lib)
    b = a * 3.0
    return b * b + b, {"a": a, "b": b}


def gradients(root: Any, one: Any) -> dict[int, Any]:
    """d root / d t for all tensors of the graph, by id; no shape in it is stretched."""
    grads = {id(root): one}
    for t in ch05.engine.order(root):
        shares = t.op.backward(grads[id(t)]) if t.op else ()
        for x, gx in zip(t.op.inputs if t.op else (), shares, strict=True):
            if x.requires_grad:
                grads[id(x)] = grads[id(x)] + gx if id(x) in grads else gx
    return {key: g.tolist() for key, g in grads.items()}


@exercise(
    "05.4",
    "Repair the sketch",
    answer="walk_back",
    minutes=20,
    hints=(
        'Call it on the smallest graph there is: a * b. The message says what "None" has not.',
        "A leaf has no op. That matters in two places: where the list is built, and where the list"
        " is walked. The third one appears with a tensor of several numbers, used twice.",
        "`for x in t.op.inputs if t.op else ():` in build, `if t.op is None: continue` in the walk,"
        " and `if x.grad is not None:` where the shares are added.",
    ),
)
def check_05_4(judge: Judge, walk_back: Any) -> None:
    """After walk_back(root) every tensor of the graph has its gradient in .grad."""
    makers = {
        "a * b": _one,
        "b = a + a; c = b * b; c + b": _diamond,
        "y = x * x; (y * x + y).sum()": _rows,
        "b = a * 3; b * b + b": _cancelling,
    }
    lib = library(walk_back)
    with undecided(lib):
        for text, make in makers.items():
            with recording(lib, True):
                root, tensors = make(lib)
            judge.picture(viz.graph(root, names=tensors))
            with recording(lib, False):
                expected = gradients(root, lib.Tensor(1.0, dtype="float64"))
                judge.call(walk_back, root, changes=True, given=text)
            for name, t in tensors.items():
                given = f"{text}: the gradient of {name}"
                judge.that(t.grad is not None, f"{name}.grad is still None", given=given)
                judge.close(t.grad, expected[id(t)], given=given)


# ---- 05.5 ----------------------------------------------------------------------------------------


def _deep(n: int) -> Graph:
    """A chain of n ops, put together without computing anything."""
    y = x = _leaf(1.0)
    for _ in range(n):
        op, y = ch05.Neg(y), ch05.Tensor(1.0, dtype="float64", requires_grad=True)
        y.op = op
    return y, {"x": x, "y": y}


def _with_constant(lib: Any = ch05) -> Graph:
    x, k = _leaf(2.0, lib), lib.Tensor(3.0, dtype="float64")
    y = x * k
    return y + k, {"x": x, "y": y}


def _only_a_leaf(lib: Any = ch05) -> Graph:
    x = _leaf(2.0, lib)
    return x, {"x": x}


def _ladder(lib: Any = ch05) -> Graph:
    """Forty doublings: 2**40 paths."""
    y = x = _leaf(1.0, lib)
    for _ in range(40):
        y = y + y
    return y, {"x": x, "y": y}


@exercise(
    "05.5",
    "Order without recursion",
    answer="topological",
    minutes=20,
    hints=(
        "Recursion does something before it goes deeper and something after it comes back. On a"
        " list of your own, both are entries.",
        "Let an entry be a pair (t, done). (t, False): if t is new, put (t, True) on the stack, and"
        " its inputs above it. (t, True): all behind t is listed, so list t.",
        "stack = [(root, False)]; while stack: t, done = stack.pop(). If done, order.append(t)."
        " Else, if id(t) is not seen: remember it, push (t, True), push (x, False) for each input x"
        " that requires grad. At the end return order[::-1].",
    ),
)
def check_05_5(judge: Judge, topological: Any) -> None:
    """Every tensor that requires grad is listed once, before its inputs, however deep the graph."""
    makers: dict[str, Callable[[], Any]] = {
        "a single leaf": _only_a_leaf, "y = x * k; y + k, where k requires no grad": _with_constant,
        "b = a + a; c = b * b; c + b": _diamond, "the graph of 05.2": reused_twice,
        "40 doublings, y = y + y": _ladder, "a chain of 10,000 ops": partial(_deep, 10_000),
    }  # fmt: skip
    for text, make in makers.items():
        root, _ = make()
        limit = sys.getrecursionlimit()
        listed = judge.call(topological, root, changes=True, given=text)
        moved = sys.getrecursionlimit() != limit
        sys.setrecursionlimit(limit)
        judge.that(not moved, "it moves the recursion limit, and with it the crash", given=text)
        judge.that(type(listed) in (list, tuple), "it gives no list", given=text)
        place = {id(t): n for n, t in enumerate(listed)}
        expected = ch05.engine.order(root)
        judge.that(len(place) == len(listed), "a tensor is listed more than once", given=text)
        judge.equal(len(listed), len(expected), given=f"{text}: how many tensors are listed")
        judge.that(
            all(id(t) in place for t in expected), "a tensor of the graph is missing", given=text
        )
        for t in expected:
            for x in t.op.inputs if t.op else ():
                judge.that(
                    not x.requires_grad or place[id(t)] < place[id(x)],
                    f"an input of {type(t.op).__name__} is listed before its result",
                    given=text,
                )


# ---- 05.6 ----------------------------------------------------------------------------------------


class Wrong(ch05.Op):  # type: ignore[misc]  # to mypy, what a learner has written is Any
    """z = x * y, with a backward that is off by a little for y, at the last element only."""

    def forward(self, x: Any, y: Any) -> Any:
        return ch05.Mul(x, y).forward(x, y)

    def backward(self, g: Any) -> Any:
        x, y = self.inputs
        numbers = (g * x).values()
        last = ch05.Tensor([*numbers[:-1], numbers[-1] + 0.25], dtype="float64")
        return g * y, last


@exercise(
    "05.6",
    "gradcheck",
    answer="slope_check",
    minutes=20,
    hints=(
        "First the engine: clear each .grad, f(*inputs).backward(). Then the measurement, number by"
        " number: read it, put a little more there, ask f, a little less, ask f, put it back.",
        "for t in inputs: for p, g in zip(t.positions(), t.grad.values()): here = t.buf[p] ...",
        "t.buf[p] = here + eps; above = f(*inputs).item(); t.buf[p] = here - eps; below ="
        " f(*inputs).item(); t.buf[p] = here. The difference is abs((above - below) / (2 * eps) -"
        " g); keep the largest.",
    ),
)
def check_05_6(judge: Judge, slope_check: Any) -> None:
    """It returns about 0 for right gradients, the error for wrong ones, and changes no input."""
    first, second = [0.5, -1.25, 2.0], [1.5, 0.75, -0.5]

    def fresh(*rows: list[float]) -> list[ch05.Tensor]:
        return [ch05.Tensor(row, dtype="float64", requires_grad=True) for row in rows]

    def product(x: Any, y: Any) -> Any:
        return (x * y * x).sum()

    def cubes(x: Any) -> Any:
        return (x * x * x).sum()

    def wrong(x: Any, y: Any) -> Any:
        return Wrong(x, y).apply().sum()

    for f, expected in ((product, 0.0), (wrong, 0.25)):
        inputs = fresh(first, second)
        for t in inputs:
            t.grad = ch05.Tensor([7.0, 7.0, 7.0], dtype="float64")  # left from before
        text = {product: "(x * y * x).sum()", wrong: "an op whose backward is off by 0.25 for y"}[f]
        got = judge.call(slope_check, f, *inputs, changes=True, given=text)
        after = [t.tolist() for t in inputs]
        judge.close(after, [first, second], given=f"{text}: the inputs afterwards", rtol=1e-12)
        judge.close(got, expected, given=f"{text}, with gradients left from before", atol=1e-4)
    (t,) = fresh([0.5, 1.0, 1.5, 2.0])
    t = ch05.Tensor(t.buf, (2,), (2,), 1, requires_grad=True)  # it reads 1.0 and 2.0
    given = "(t * t).sum() of a view with stride 2, offset 1"
    got = judge.call(slope_check, lambda t: (t * t).sum(), t, changes=True, given=given)
    judge.close(got, 0.0, given=given, atol=1e-4)
    (x,) = fresh([1.0, 2.0])
    given = "(x * x * x).sum() with eps=0.1: measured on both sides, x ** 3 bends by eps ** 2"
    got = judge.call(
        slope_check, lambda x: (x * x * x).sum(), x, eps=0.1, changes=True, given=given
    )
    judge.close(got, 0.01, given=given, atol=1e-6)


# ---- questions -----------------------------------------------------------------------------------

question(
    "05.q1",
    "y = x * x * x + x, and x is 2. What is x.grad after y.backward()?",
    right=13,
    why="3x² + 1 = 13; the engine adds 12 from the product and 1 from the sum, at the same leaf",
)
question(
    "05.q2",
    "Ten doublings, y = y + y, beginning with a leaf a. How many tensors does engine.order(y)"
    " list?",
    right=11,
    why="a and the ten results, each once; there are 2 ** 10 paths to a, and nobody walks them",
)
question(
    "05.q3",
    "Why must the walk be in topological order?",
    choices={
        "a": "so that the forward values are still in memory",
        "b": "so that a tensor hands its gradient on only after every share of it has arrived",
        "c": "so that leaves come first",
    },
    right="b",
    why="what is handed on too early is handed on again, or missing; the leaves come last",
)
question(
    "05.q4",
    "x has shape (5, 1, 3), w has shape (4, 3), the gradient of x * w arrives at w. Over how many"
    " numbers is each number of w.grad a sum?",
    right=5,
    why="the result has shape (5, 4, 3); w was copied 5 times, along the first axis only",
)
question(
    "05.q5",
    "gradcheck in float32 reports 0.002 for an op that is right. What do you do?",
    choices={"a": "make eps smaller", "b": "raise the tolerance", "c": "check in float64"},
    right="c",
    why="a smaller eps makes float32's rounding worse, and a tolerance of 0.01 lets real bugs pass",
)
