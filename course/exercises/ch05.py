"""Chapter 5, the engine: tracing, recording, order, broken walks, fitting, walking, gradcheck.

An answer works with the learner's own library, so the graphs it is given are of that library, too.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from course.exercise import Judge, exercise, question
from course.library import of, ours
from tutor import viz

ch05 = ours(5)
OURS: Any = ch05
NEEDED = ("Buffer", "Tensor", "Op", "Add", "Mul", "Sum", "Greater")  # in no single file
Graph = tuple[Any, dict[str, Any]]  # the result, and its tensors by name


def library(answer: Any) -> Any:
    """The library that an answer works with: where its names come from."""
    return of(answer, *NEEDED, default=ch05)


@contextmanager
def executing(lib: Any, execute: Callable[[Any], Any]) -> Iterator[None]:
    """Within the block, every op of this library is executed by that function."""
    before = lib.Op.execute
    lib.Op.execute = staticmethod(execute)
    try:
        yield
    finally:
        lib.Op.execute = staticmethod(before)


def recording(lib: Any, on: bool) -> Any:
    """Within the block, ops of this library are recorded, or are not, whatever engine it has."""

    def execute(op: Any) -> Any:
        out = op.forward(*op.inputs)
        if on and out.buf.dtype in ch05.LIMITS and any(x.requires_grad for x in op.inputs):
            out.op, out.requires_grad = op, True
        return out

    return executing(lib, execute)


def _leaf(number: Any, lib: Any = OURS, dtype: str = "float64") -> Any:
    return lib.Tensor(number, dtype=dtype, requires_grad=True)


def _slope(f: Callable[..., float], at: list[float], i: int, eps: float = 1e-6) -> float:
    """The measured slope of f along its i-th number."""
    above, below = list(at), list(at)
    above[i] += eps
    below[i] -= eps
    return (f(*above) - f(*below)) / (2 * eps)


def shared(root: Any, one: Any) -> dict[int, Any]:
    """d root / d t for all tensors of the graph, by id; no shape in it is stretched."""
    grads = {id(root): one}
    for t in ch05.topological(root):
        shares = t.op.backward(grads[id(t)]) if t.op else ()
        for x, gx in zip(t.op.inputs if t.op else (), shares, strict=True):
            if x.requires_grad:
                grads[id(x)] = grads[id(x)] + gx if id(x) in grads else gx
    return {key: g.tolist() for key, g in grads.items()}


# ---- 05.1 ----------------------------------------------------------------------------------------


@exercise(
    "05.1",
    "Trace it by hand",
    answer="by_hand",
    minutes=8,
    hints=(
        "Values first: a·b, then + c, then relu. Only then the gradients, and from the right.",
        "relu hands its gradient on where its input is above 0, and hands on 0 elsewhere. An"
        " addition hands the same gradient to both. A product hands each the other's value.",
        "First case: a·b = 6, the sum is 5, so relu lets 1 through, and the addition hands 1 to a·b"
        " and to c. The product gives b to a, and a to b. Second case: look at the sum's sign.",
    ),
    why_ours="In the second case the sum is -2. relu lets nothing through, so nobody behind it"
    " gets anything: neurons that are off learn nothing from this input.",
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
        judge.equal(sorted(map(str, got)), sorted(expected), given=f"the names for {where}")
        for name, right in expected.items():  # the verdict must not give away the others
            near = isinstance(got[name], int | float) and abs(got[name] - right) < 1e-6
            isnt = f"the gradient of {name} is not {got[name]!r}"
            value = " (that is its value)" if got[name] == found[name].item() else ""
            judge.that(near, isnt + value, given=where)


# ---- 05.2 ----------------------------------------------------------------------------------------


def reused_twice(lib: Any = OURS) -> Graph:
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
    minutes=6,
    hints=(
        "Begin at y. Who may go next? Whoever has got everything that will ever arrive there.",
        "u is used by w and by v. So u must wait until both have been passed.",
        "y, then w, then v. Now everything has arrived at u. Then a and b, whichever first.",
    ),
    why_ours="Only a and b may change places. Everything else is forced: each of the others is"
    " waited for by somebody.",
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
    minutes=12,
    hints=(
        "Using `a` many times breaks nothing, as the table shows. What does a leaf not do, that"
        " every other tensor does?",
        "A leaf hands nothing on. So re-use a result that has something behind it.",
        "Give the result of one op a name, `b`, and use `b` twice.",
    ),
    why_ours="Any result that is used twice will do. Ours is the smallest graph there is: two"
    " ops. Its true gradient is 4; naive says 6.",
)
def check_05_3(judge: Judge, breaks: Any) -> None:
    """For breaks(a) the naive walk's gradient and the measured slope differ."""
    lib = library(breaks)

    def value(number: float) -> float:
        return float(judge.run(lambda: breaks(lib.Tensor(number, dtype="float64"))).item())

    apart = []
    for at in (2.0, 1.25, -0.75):
        given = f"a = {at}"
        a = _leaf(at, lib)
        with recording(lib, True):
            y = judge.call(breaks, a, changes=True)
        judge.that(
            isinstance(y, lib.Tensor) and y.numel() == 1,
            "it gives no tensor of one number" + (" (is there a `return`?)" if y is None else ""),
            given=given,
        )
        judge.that(y.requires_grad, "it does not depend on a", given=given)
        judge.picture(viz.graph(y, names={"a": a}))
        one = lib.Tensor(1.0, dtype="float64")
        with recording(lib, False):
            slope = _slope(value, [at], 0)
            true = judge.run(partial(shared, y, one)).get(id(a), 0.0)
        tolerance = 1e-3 * max(1.0, abs(slope))
        judge.that(
            abs(true - slope) <= tolerance,
            f"the graph's true gradient is {true:g}, but the measured slope is {slope:g}: part of"
            " the calculation goes past the graph, so no walk could be right",
            given=given,
        )
        y.grad = one
        with recording(lib, False):
            judge.run(partial(naive, y))
        found = a.grad.item()
        apart.append(abs(found - slope) > tolerance)
        judge.that(
            apart[-1] or at != 2.0,
            f"the naive walk gives {found:g}, the measured slope is {slope:g}: they agree",
            given=given,
        )
    judge.that(sum(apart) >= 2, "the two differ at a = 2.0 only; elsewhere they agree")


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


def _one(lib: Any = OURS) -> Graph:
    a, b = _leaf(2.0, lib), _leaf(-3.0, lib)
    y = a * b
    return y, {"a": a, "b": b}


def _leaf_last(lib: Any = OURS) -> Graph:
    """A leaf that stands before an op in the order."""
    a, b, c = _leaf(2.0, lib), _leaf(-3.0, lib), _leaf(0.5, lib)
    s = a * b
    return s + c, {"a": a, "b": b, "c": c, "s": s}


def _diamond(lib: Any = OURS) -> Graph:
    a = _leaf(2.0, lib)
    b = a + a
    c = b * b
    return c + b, {"a": a, "b": b, "c": c}


def _rows(lib: Any = OURS) -> Graph:
    x = lib.Tensor([1.0, 2.0, 3.0], dtype="float64", requires_grad=True)
    y = x * x
    return (y * x + y).sum(), {"x": x, "y": y}


def _cancelling(lib: Any = OURS) -> Graph:
    """What arrives at b first is 0."""
    a = _leaf(0.0, lib)
    b = a * 3.0
    return b * b + b, {"a": a, "b": b}


@exercise(
    "05.4",
    "Repair the sketch",
    answer="walk_back",
    minutes=15,
    hints=(
        'Call it on the smallest graph there is: a * b. The message says what "None" has not.',
        "A leaf has no op. That matters in two places: where the list is built, and where the list"
        " is walked. The third one appears with a tensor of several numbers, used twice.",
        "`if t.op is not None:` around the loop in build, `if t.op is None: continue` in the walk,"
        " and `if x.grad is not None:` where the shares are added.",
    ),
    why_ours="`is not None` in all three places. `if x.grad` asks whether a number is zero, which"
    " is another question, and of several numbers it has no answer.",
)
def check_05_4(judge: Judge, walk_back: Any) -> None:
    """After walk_back(root) every tensor of the graph has its gradient in .grad."""
    makers = {
        "a * b": _one,
        "a * b + c": _leaf_last,
        "b = a + a; c = b * b; c + b": _diamond,
        "y = x * x; (y * x + y).sum()": _rows,
        "b = a * 3; b * b + b": _cancelling,
        "the graph of 05.2": reused_twice,
    }
    lib = library(walk_back)
    with undecided(lib):
        for text, make in makers.items():
            with recording(lib, True):
                root, tensors = make(lib)
            judge.picture(viz.graph(root, names=tensors))
            with recording(lib, False):
                expected = shared(root, lib.Tensor(1.0, dtype="float64"))
                values = {name: t.tolist() for name, t in tensors.items()}
                judge.call(walk_back, root, changes=True, given=text)
            for name, t in tensors.items():
                given = f"{text}: the gradient of {name}"
                judge.that(t.grad is not None, f"{name}.grad is still None", given=given)
                judge.close(t.grad, expected[id(t)], given=given)
                judge.equal(t.tolist(), values[name], given=f"{text}: {name} itself, afterwards")


# ---- 05.5 ----------------------------------------------------------------------------------------


def _deep(n: int) -> Graph:
    """A chain of n ops, put together without computing anything."""
    y = x = _leaf(1.0)
    for _ in range(n):
        op, y = ch05.Neg(y), ch05.Tensor(1.0, dtype="float64", requires_grad=True)
        y.op = op
    return y, {"x": x, "y": y}


def _with_constant(lib: Any = OURS) -> Graph:
    x, k = _leaf(2.0, lib), lib.Tensor(3.0, dtype="float64")
    y = x * k
    return y + k, {"x": x, "y": y}


def _only_a_leaf(lib: Any = OURS) -> Graph:
    x = _leaf(2.0, lib)
    return x, {"x": x}


def _ladder(lib: Any = OURS) -> Graph:
    """Forty doublings: 2**40 paths."""
    y = x = _leaf(1.0, lib)
    for _ in range(40):
        y = y + y
    return y, {"x": x, "y": y}


def _shortcuts(lib: Any = OURS) -> Graph:
    """A chain of squares, each of which is added at the end: near ones first, and far ones last."""
    x = _leaf(1.0, lib)
    steps = [x]
    for _ in range(6):
        steps.append(steps[-1] * steps[-1])
    y = steps[0]
    for t in (*steps[1::2], *steps[::-2]):
        y = t + y
    return y, {"x": x, "y": y}


@exercise(
    "05.5",
    "Order without recursion",
    answer="topological",
    minutes=20,
    hints=(
        "Recursion does something before it goes deeper and something after it comes back. On a"
        " list of your own, both are entries.",
        "Let an entry be a pair (t, done). (t, False): if t is new, put (t, True) on the list, and"
        " its inputs above it. (t, True): all behind t is listed, so list t.",
        "waiting = [(root, False)]; while waiting: t, done = waiting.pop(). If done,"
        " order.append(t). Else, if id(t) is not seen: remember it, append (t, True), append"
        " (x, False) for each input x that requires grad. At the end return order[::-1].",
    ),
    without=("sorted_by_recursion", "engine", "Engine"),
    why_ours="Each tensor is put on our list twice: once to go deeper, once to come back. Counting"
    " how many results still wait for a tensor, and listing it when none does, is as good.",
)
def check_05_5(judge: Judge, topological: Any) -> None:
    """Every tensor that requires grad is listed once, before its inputs, however deep the graph."""
    makers: dict[str, Callable[[], Any]] = {
        "a single leaf": _only_a_leaf, "y = x * k; y + k, where k requires no grad": _with_constant,
        "a * b + c": _leaf_last,
        "b = a + a; c = b * b; c + b": _diamond, "the graph of 05.2": reused_twice,
        "squares of squares, all added up": _shortcuts,
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
        expected = ch05.topological(root)
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


def liar(lib: Any, place: tuple[int, int], error: float) -> Any:
    """An op of x and y, x * y, whose backward is off at one number of one of them."""

    class Liar(lib.Op):  # type: ignore[misc]  # to mypy, what a learner has written is Any
        def forward(self, x: Any, y: Any) -> Any:
            out = lib.Tensor([p * q for p, q in zip(x.values(), y.values(), strict=True)],
                             dtype="float64")  # fmt: skip
            return out

        def backward(self, g: Any) -> Any:
            x, y = self.inputs
            rows = [[p * q for p, q in zip(g.values(), t.values(), strict=True)] for t in (y, x)]
            rows[place[0]][place[1]] += error
            return tuple(lib.Tensor(row, dtype="float64") for row in rows)

    return lambda x, y: Liar(x, y).apply().sum()


@exercise(
    "05.6",
    "gradcheck",
    answer="gradcheck",
    minutes=15,
    hints=(
        "First the engine: clear each .grad, f(*inputs).backward(). Then the measurement, number by"
        " number: read it, put a little more there, ask f, a little less, ask f, put it back.",
        "for t in inputs: for p, g in zip(t.positions(), t.grad.values()): here = t.buf[p] ...",
        "t.buf[p] = here + eps; above = f(*inputs).item(); t.buf[p] = here - eps; below ="
        " f(*inputs).item(); t.buf[p] = here. The difference is abs((above - below) / (2 * eps) -"
        " g); keep the largest.",
    ),
    why_ours="The number is kept in `here` and put back as it was. And `worst` is kept over all"
    " inputs: one wrong number in a million is enough to be wrong.",
)
def check_05_6(judge: Judge, gradcheck: Any) -> None:
    """It returns about 0 for right gradients, the error for wrong ones, and changes no input."""
    lib = library(gradcheck)
    if hasattr(lib.Tensor, "backward"):
        _gradcheck(judge, gradcheck, lib)
        return
    engine = ch05.Engine()  # where theirs is not plugged in, as for a file with this answer alone
    lib.Tensor.backward = lambda t, create_graph=False: engine.backward(t, create_graph)
    try:
        with executing(lib, lambda op: engine.run(op)):
            _gradcheck(judge, gradcheck, lib)
    finally:
        del lib.Tensor.backward


def _gradcheck(judge: Judge, gradcheck: Any, lib: Any) -> None:
    rows = [0.3, -1.7, 2.1], [1.9, 0.7, -0.6]

    def fresh(*rows: list[float]) -> list[Any]:
        return [_leaf(row, lib) for row in rows]

    def ask(f: Any, inputs: list[Any], given: str, **options: Any) -> Any:
        values = [t.tolist() for t in inputs]
        got = judge.call(gradcheck, f, *inputs, changes=True, given=given, **options)
        after = [t.tolist() for t in inputs]
        near = all(abs(a - b) < 1e-9 for p, q in zip(after, values, strict=True)
                   for a, b in zip(p, q, strict=True))  # fmt: skip
        judge.that(
            after == values or not near,
            "the inputs have changed a little: adding eps and taking it off again rounds. Keep the"
            " number, and put it back",
            given=given,
        )
        judge.equal(after, values, given=f"{given}: the inputs afterwards")
        return got

    calls = [0]

    def product(x: Any, y: Any) -> Any:
        calls[0] += 1
        return (x * y * x).sum()

    inputs = fresh(*rows)
    for t in inputs:
        t.grad = lib.Tensor([7.0, 7.0, 7.0], dtype="float64")  # left from before
    given = "(x * y * x).sum(), with gradients left from before"
    judge.close(ask(product, inputs, given), 0.0, given=given, atol=1e-4)
    judge.that(calls[0] >= 12, f"f was called {calls[0]} times: two a number are 12", given=given)
    words = ("first", "second", "last")
    for (t, i), error in {(1, 2): 0.25, (0, 0): 0.25, (0, 2): -0.5, (1, 0): -0.125,
                          (0, 1): 0.375}.items():  # fmt: skip
        given = f"an op whose backward is off by {error} at the {words[i]} number of {'xy'[t]}"
        got = ask(liar(lib, (t, i), error), fresh(*rows), given)
        judge.close(got, abs(error), given=given, atol=1e-4)
    (t,) = fresh([0.5, 1.0, 1.5, 2.0])
    t = lib.Tensor(t.buf, (2,), (2,), 1, requires_grad=True)  # it reads 1.0 and 2.0
    given = "(t * t).sum() of a view with stride 2, offset 1"
    judge.close(ask(lambda t: (t * t).sum(), [t], given), 0.0, given=given, atol=1e-4)
    for eps in (0.1, 0.2):
        (x,) = fresh([1.0, 2.0])
        given = f"(x * x * x).sum() with eps={eps}: measured on both sides, x ** 3 bends by eps**2"
        got = ask(lambda x: (x * x * x).sum(), [x], given, eps=eps)
        judge.close(got, eps * eps, given=given, atol=1e-6)


# ---- 05.7 ----------------------------------------------------------------------------------------


@exercise(
    "05.7",
    "record",
    answer="record",
    minutes=8,
    hints=(
        "`run(op)` gives the result; call it once, and return it in any case.",
        "There are two conditions, and both must hold: `out.buf.dtype in LIMITS`, and at least one"
        " x in op.inputs has x.requires_grad. Python's `any` asks whether one does.",
        "if out.buf.dtype in LIMITS and any(x.requires_grad for x in op.inputs): then out.op is"
        " op, and out.requires_grad is True.",
    ),
    without=("engine", "Engine", "apply"),
    why_ours="Where nobody may ask, nothing is kept. So a calculation without gradients costs no"
    " memory: its ops are forgotten at once.",
)
def check_05_7(judge: Judge, record: Any) -> None:
    """The result has its op and the flag if it is a float and an input requires grad."""
    lib = library(record)
    with recording(lib, False):
        _record(judge, record, lib)


def _record(judge: Judge, record: Any, lib: Any) -> None:
    for wish in ((True, False), (False, True), (True, True), (False, False)):
        x = lib.Tensor([1.0, -2.0], dtype="float64", requires_grad=wish[0])
        y = lib.Tensor([3.0, 0.5], requires_grad=wish[1])
        for cls, expected, moves in (
            (lib.Mul, [3.0, -1.0], True),
            (lib.Add, [4.0, -1.5], True),
            (lib.Greater, [False, False], False),
        ):
            op = cls(x, y)
            calls: list[int] = []
            forward = op.forward

            def counted(
                *inputs: Any, forward: Callable[..., Any] = forward, calls: list[int] = calls
            ) -> Any:
                calls.append(1)
                return forward(*inputs)

            op.forward = counted
            given = f"{cls.__name__}(x, y), where x {_wants(wish[0])} and y {_wants(wish[1])}"
            out = judge.call(record, op, changes=True, given=given)
            judge.that(isinstance(out, lib.Tensor), "it returns no tensor", given=given)
            judge.equal(out.tolist(), expected, given=f"{given}: the result")
            judge.equal(len(calls), 1, given=f"{given}: how often the op ran")
            wanted = moves and any(wish)
            why = "" if moves else ", which is a bool"
            judge.equal(out.requires_grad, wanted, given=f"{given}: requires_grad of the result"
                        + why)  # fmt: skip
            kept = "its op is not kept in .op" if wanted else "its op is kept for nobody"
            judge.that((out.op is op) is wanted, f"the result{why}: {kept}", given=given)
            judge.that(wanted or out.op is None, "the result: .op is not None", given=given)
            judge.equal([x.requires_grad, y.requires_grad], list(wish),
                        given=f"{given}: the flags of x and y afterwards")  # fmt: skip
            judge.that(x.op is None and y.op is None, "an input was given an op", given=given)
    x = _leaf([[1.0, 2.0, 3.0]], lib)
    op = lib.Sum(x, axis=(0, 1))
    out = judge.call(record, op, changes=True, given="Sum(x, axis=(0, 1)), an op of one input")
    judge.that(out.op is op and out.requires_grad is True, "the result does not know its op")


def _wants(wish: bool) -> str:
    return "requires grad" if wish else "does not"


# ---- 05.8 ----------------------------------------------------------------------------------------


def summed(numbers: list[float], large: tuple[int, ...], small: tuple[int, ...]) -> list[float]:
    """The sums over what `small` was stretched to, number by number."""
    sums = [0.0] * math.prod(small)
    for place, number in enumerate(numbers):
        index, rest = [], place
        for size in reversed(large):
            rest, i = divmod(rest, size)
            index.append(i)
        at = 0
        for axis, size in enumerate(small):
            i = index[len(small) - 1 - axis]
            at = at * size + (0 if size == 1 else i)
        sums[at] += number
    return sums


@exercise(
    "05.8",
    "fit",
    answer="fit",
    minutes=15,
    hints=(
        "Put ones in front of x.shape until it is as long as g.shape. Then compare the two, axis"
        " by axis.",
        "An axis goes into the sum if x has size 1 there and g has not. After the sum those axes"
        " are missing; reshape to x.shape puts those of size 1 back.",
        "sizes = [1] * (len(g.shape) - len(x.shape)) + list(x.shape); copied = those axes a with"
        " sizes[a] == 1 and g.shape[a] != 1; then cast(g.sum(tuple(copied)).reshape(*x.shape),"
        " x.buf.dtype).",
    ),
    without=("engine", "Engine", "reduce_to", "tutor"),
    why_ours="One sum over all stretched axes, then one reshape. Where nothing was stretched,"
    " which is nearly always, nothing is computed.",
)
def check_05_8(judge: Judge, fit: Any) -> None:
    """g in the shape and dtype of x, each number the sum over its copies; and written with ops."""
    lib = library(fit)
    cases: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((3,), (3,)), ((4, 3), (3,)), ((4, 3), (4, 1)), ((4, 3), (1, 3)), ((4, 3), (4, 3)),
        ((3, 3), (3,)), ((4, 3), ()), ((4, 3), (1,)), ((4, 3), (1, 1)), ((5, 4, 3), (4, 3)),
        ((2, 3, 4), (3, 1)), ((2, 3, 4), (2, 1, 4)), ((2, 2, 2), (2, 1)), ((2, 1, 4), (1, 4)),
        ((1, 3), (3,)), ((1, 1), ()), ((3,), ()), ((), ()),
    ]  # fmt: skip
    for (large, small), dtypes in [
        *((case, ("float64", "float64")) for case in cases),
        (((4, 3), (3,)), ("float64", "float32")),
        (((4, 3), (4, 3)), ("float64", "float32")),
        (((2, 3), (2, 1)), ("float32", "float64")),
    ]:
        numbers = [float(3**i % 31) - 9.5 for i in range(math.prod(large))]
        g = lib.Tensor(lib.Buffer(numbers, dtypes[0]), large, requires_grad=True)
        x = lib.Tensor(lib.Buffer([0.5] * math.prod(small), dtypes[1]), small, requires_grad=True)
        given = f"g of shape {large} for x of shape {small}"
        if dtypes[0] != dtypes[1]:
            given += f", g {dtypes[0]} and x {dtypes[1]}"
        with recording(lib, True):
            got = judge.call(fit, g, x, given=given)
        judge.that(isinstance(got, lib.Tensor), "it gives no tensor", given=given)
        judge.equal(tuple(got.shape), small, given=f"{given}: the shape")
        judge.equal(got.buf.dtype, dtypes[1], given=f"{given}: the dtype")
        judge.close(list(got.values()), summed(numbers, large, small), given=given)
        if large != small and dtypes[0] == dtypes[1]:
            judge.that(
                got.op is not None and got.requires_grad,
                "the result has no history: it was not computed with ops, so nobody can walk back"
                " over it",
                given=given,
            )


# ---- 05.9 ----------------------------------------------------------------------------------------


@exercise(
    "05.9",
    "collect",
    answer="collect",
    minutes=8,
    hints=(
        "Three questions: does x want a gradient? Does the share have x's shape? Is there anything"
        " under id(x) already?",
        "`fit(share, x)` answers the second. For the third: `id(x) in arrived`.",
        "If id(x) is in arrived, arrived[id(x)] = arrived[id(x)] + share, which makes a new"
        " tensor. Else arrived[id(x)] = share. All of it only if x.requires_grad.",
    ),
    without=("engine", "Engine", "tutor"),
    why_ours="`+` makes a new tensor. Adding in place would save one, and would be wrong as soon"
    " as an op hands the same tensor to two inputs.",
)
def check_05_9(judge: Judge, collect: Any) -> None:
    """arrived[id(x)] is the sum of all shares of x so far; nothing else has changed."""
    lib = library(collect)
    with recording(lib, False):
        _collect(judge, collect, lib)


def _collect(judge: Judge, collect: Any, lib: Any) -> None:
    x, y = _leaf([1.0, 2.0], lib), _leaf([[3.0, 4.0]], lib, "float32")
    k = lib.Tensor([5.0, 6.0], dtype="float64")
    arrived: dict[int, Any] = {}
    expected: dict[str, Any] = {}
    keys = {"x": id(x), "y": id(y), "k": id(k)}
    shares: list[tuple[str, Any, Any]] = []

    def share(name: str, t: Any, numbers: Any, sums: Any, given: str, tensor: Any = None) -> None:
        part = tensor
        if tensor is None and numbers is not None:
            part = lib.Tensor(numbers, dtype="float64")
        judge.call(collect, arrived, t, part, changes=True, given=given)
        judge.called = "collect(arrived, x, share)"
        expected[name] = sums
        names = {key: name for name, key in keys.items()}
        judge.that(isinstance(arrived, dict) and all(key in names for key in arrived),
                   "a key is no id of a tensor; the key for x is id(x)", given=given)  # fmt: skip
        wanted = {n: s for n, s in expected.items() if s is not None}
        judge.equal(sorted(names[key] for key in arrived), sorted(wanted),
                    given=f"{given}: for which tensors something has arrived")  # fmt: skip
        for other, total in wanted.items():
            got = arrived[keys[other]]
            judge.that(hasattr(got, "buf"), f"what is kept for {other} is no tensor", given=given)
            judge.close(got, total, given=f"{given}: what has arrived at {other}")
        if numbers is not None:
            shares.append((given, part, part.tolist()))
        for when, part, was in shares:
            judge.equal(part.tolist(), was, given=f"{given}: the share of before ({when})")
        judge.equal([x.grad, y.grad, k.grad], [None] * 3, given=f"{given}: .grad, not touched yet")

    share("x", x, [10.0, 20.0], [10.0, 20.0], "the first share for x")
    share("y", y, [[0.5, 0.25]], [[0.5, 0.25]], "a share for y")
    judge.equal(arrived[id(y)].buf.dtype, "float32", given="the dtype of what arrived at y")
    share("x", x, [1.0, 2.0], [11.0, 22.0], "a second share for x")
    share("x", x, [0.5, 0.5], [11.5, 22.5], "a third share for x")
    share("k", k, [1.0, 1.0], None, "a share for k, which requires no grad")
    share("k", k, None, None, "None for k, which requires no grad")
    three = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    share("x", x, three, [20.5, 34.5], "a share of shape (3, 2) for x of shape (2,)")
    arrived.clear()
    expected.clear()
    both = lib.Tensor([2.0, 3.0], dtype="float64")  # one tensor, on its way to two
    z = _leaf([0.0, 0.0], lib)
    keys["z"] = id(z)
    share("x", x, [2.0, 3.0], [2.0, 3.0], "one and the same tensor for x and for z", both)
    share("z", z, [2.0, 3.0], [2.0, 3.0], "the same tensor for z", both)
    share("x", x, [1.0, 1.0], [3.0, 4.0], "then one more share for x")


# ---- 05.10 ---------------------------------------------------------------------------------------


@exercise(
    "05.10",
    "The Engine",
    answer="Engine",
    minutes=20,
    hints=(
        "run is one line: your record if self.recording, else run(op). In backward, the two"
        " refusals come first, before anything is switched off.",
        "arrived = {id(root): a tensor with 1}. For each t in self.order(root): take out g. A leaf"
        " keeps it, any other tensor asks t.op.backward(g), which gives one share per input.",
        "g = arrived.pop(id(t)). If t.op is None: t.grad = g if t.grad is None else t.grad + g."
        " Else, for x, share in zip(t.op.inputs, t.op.backward(g)): collect(arrived, x, share).",
    ),
    without=("engine", "naive", "walk_back", "by_paths", "sorted_by_recursion", "tutor"),
    why_ours="The refusals come before the switch, so that nothing has to be undone. `finally` puts"
    " the switch back even if an op raises half-way.",
)
def check_05_10(judge: Judge, Engine: Any) -> None:  # noqa: N803 - a class
    """run records while `recording` is on; backward adds d root / d leaf to each leaf's grad."""
    judge.that(isinstance(Engine, type), "Engine is no class")
    for name in ("run", "order", "backward"):
        judge.that(hasattr(Engine, name), f"Engine has no method {name}")
    lib = library(Engine)
    engine, other = judge.instance(Engine), judge.instance(Engine)
    with executing(lib, lambda op: engine.run(op)):
        _runs(judge, engine, lib, other)
        _walks(judge, engine, lib)
        _adds(judge, engine, lib)
        _refuses(judge, engine, lib)
        _switches(judge, engine, lib, other)


def _runs(judge: Judge, engine: Any, lib: Any, other: Any) -> None:
    x = _leaf([1.0, 2.0], lib)
    op = lib.Mul(x, x)
    out = judge.call(engine.run, op, changes=True, given="run, while recording")
    judge.that(isinstance(out, lib.Tensor), "it returns no tensor", given="run")
    judge.that(out.op is op and out.requires_grad, "the result is not recorded", given="run")
    engine.recording = False
    out = judge.call(other.run, op, changes=True, given="another Engine, which goes on recording")
    judge.that(out.op is op, "it is not recorded", given="another Engine, which goes on recording")
    out = judge.call(engine.run, op, changes=True, given="run, with recording = False")
    given = "run, with recording = False"
    judge.that(isinstance(out, lib.Tensor), "it returns no tensor", given=given)
    judge.that(out.op is None and not out.requires_grad, "it is recorded", given=given)
    engine.recording = True


def _graphs(lib: Any) -> dict[str, tuple[Any, dict[str, tuple[Any, Any]]]]:
    """Roots, and the leaves behind each with the gradients that they should get."""
    a, b = _leaf(2.0, lib), _leaf(-3.0, lib)
    found: dict[str, tuple[Any, dict[str, tuple[Any, Any]]]] = {}
    found["a * b"] = a * b, {"a": (a, -3.0), "b": (b, 2.0)}
    a, b, c = _leaf(2.0, lib), _leaf(-3.0, lib), _leaf(0.5, lib)
    found["a * b + c"] = a * b + c, {"a": (a, -3.0), "b": (b, 2.0), "c": (c, 1.0)}
    a = _leaf(2.0, lib)
    double = a + a
    found["b = a + a; b + b"] = double + double, {"a": (a, 4.0)}
    root, tensors = reused_twice(lib)
    found["the graph of 05.2"] = root, {"a": (tensors["a"], 48.0), "b": (tensors["b"], 28.0)}
    x, w = _leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], lib), _leaf([0.5, -1.0, 2.0], lib)
    found["(x * w).sum(), w stretched"] = (
        (x * w).sum(),
        {
            "x": (x, [[0.5, -1.0, 2.0]] * 2),
            "w": (w, [5.0, 7.0, 9.0]),
        },
    )
    single = _leaf(5.0, lib, "float32")
    found["a float32 leaf times 3.0 in float64"] = (
        single * lib.Tensor(3.0, dtype="float64"),
        {"a": (single, 3.0)},
    )
    k, x = lib.Tensor([2.0, 4.0], dtype="float64"), _leaf([1.0, -1.0], lib)
    found["(x ** k).sum(), k without a wish"] = (x**k).sum(), {"x": (x, [2.0, -4.0])}
    x, y = _leaf([[1.0, 2.0]], lib), _leaf([[3.0], [5.0]], lib)
    found["x @ y, shape (1, 1)"] = x @ y, {"x": (x, [[3.0, 5.0]]), "y": (y, [[1.0], [2.0]])}
    leaf = _leaf([7.0], lib)
    found["a leaf alone"] = leaf, {"a": (leaf, [1.0])}
    return found


def _walks(judge: Judge, engine: Any, lib: Any) -> None:
    for text, (root, leaves) in _graphs(lib).items():
        given = f"backward from {text}"
        judge.picture(viz.graph(root, names={name: t for name, (t, _) in leaves.items()}))
        inner = [t for t in ch05.topological(root) if t.op is not None]
        values = [t.tolist() for t in inner]
        judge.call(engine.backward, root, changes=True, given=given)
        for name, (t, expected) in leaves.items():
            judge.that(t.grad is not None, f"{name}.grad is still None", given=given)
            judge.equal(tuple(t.grad.shape), tuple(t.shape), given=f"{given}: shape of {name}.grad")
            judge.close(t.grad, expected, given=f"{given}: the gradient of {name}")
            judge.equal(t.grad.buf.dtype, t.buf.dtype, given=f"{given}: the dtype of {name}.grad")
            judge.that(
                t.grad.op is None and not t.grad.requires_grad,
                f"{name}.grad has a history: the walk was recorded",
                given=given,
            )
        kept = [t for t in inner if t.grad is not None]
        judge.that(not kept, "a tensor that is no leaf keeps a .grad", given=given)
        judge.equal([t.tolist() for t in inner], values, given=f"{given}: the values afterwards")


def _adds(judge: Judge, engine: Any, lib: Any) -> None:
    a = _leaf([1.0, 2.0], lib)
    first, second = (a * 3.0).sum(), (a * a).sum()
    judge.call(engine.backward, first, changes=True, given="backward from (a * 3.0).sum()")
    kept = a.grad
    judge.call(engine.backward, second, changes=True, given="then from (a * a).sum()")
    judge.close(a.grad, [5.0, 7.0], given="two losses, one after the other: a.grad")
    judge.equal(kept.tolist(), [3.0, 3.0], given="the first gradient, which somebody may hold")
    a.grad = None
    judge.call(engine.backward, second, changes=True, given="the same graph once more")
    judge.close(a.grad, [2.0, 4.0], given="a.grad = None, then the same graph once more")
    y = x = _leaf(1.0, lib)
    for _ in range(3_000):
        y = -y
    judge.call(engine.backward, y, changes=True, given="a chain of 3,000 ops")
    judge.close(x.grad, 1.0, given="a chain of 3,000 ops: the gradient")


def _refuses(judge: Judge, engine: Any, lib: Any) -> None:
    x = _leaf([1.0, 2.0], lib)
    constant = lib.Tensor([3.0], dtype="float64")
    for root, given in ((x * 2.0, "two numbers"), (constant, "a tensor that requires no grad")):
        judge.raises(
            ValueError, engine.backward, root, given=f"backward from {given}",
            called="engine.backward(root)",
        )  # fmt: skip
        judge.equal(engine.recording, True, given=f"recording, after backward from {given} was"
                    " refused")  # fmt: skip
        judge.that(x.grad is None, "a gradient was stored", given=f"backward from {given}")


def _switches(judge: Judge, engine: Any, lib: Any, other: Any) -> None:
    for on in (True, False):
        x = _leaf(3.0, lib)
        root = x * x
        engine.recording = on
        judge.call(engine.backward, root, changes=True, given=f"backward, recording was {on}")
        judge.equal(engine.recording, on, given=f"recording after backward, where it was {on}")
        judge.equal(other.recording, True, given="recording of another Engine, meanwhile")
        engine.recording = True

    class Boom(lib.Op):  # type: ignore[misc]  # to mypy, what a learner has written is Any
        def forward(self, x: Any) -> Any:
            return lib.Tensor(x.item(), dtype="float64")

        def backward(self, g: Any) -> Any:
            raise ZeroDivisionError("this op cannot")

    root = Boom(_leaf(3.0, lib)).apply()
    given = "an op that raises a ZeroDivisionError on the way"
    judge.raises(ZeroDivisionError, engine.backward, root, given=given,
                 called="engine.backward(root)")  # fmt: skip
    judge.equal(engine.recording, True, given=f"recording, after {given}")
    x = _leaf(2.0, lib)
    given = "backward from x * x * x with create_graph=True"
    judge.call(engine.backward, x * x * x, create_graph=True, changes=True, given=given)
    g, x.grad = x.grad, None
    judge.close(g, 12.0, given=given)
    judge.that(g.requires_grad, "x.grad has no history: the walk was not recorded", given=given)
    judge.call(engine.backward, g, changes=True, given="then backward from x.grad")
    judge.close(x.grad, 12.0, given="the second derivative of x ** 3 at 2")
    judge.that(x.grad.op is None, "the second walk was recorded", given="then from x.grad")
    x.grad = None
    gc.collect()  # create_graph makes rings


# ---- challenges ----------------------------------------------------------------------------------


@exercise(
    "05.s1",
    "Forward, without a graph",
    answer="Dual",
    minutes=15,
    hints=(
        "`self + other` is a new Dual: the values added, and the slopes added. If other is a plain"
        " number, make a Dual of it first.",
        "The product rule: (u v)' = u' v + u v'. For `3 * x` Python asks x.__rmul__(3).",
        "relu keeps value and slope above 0, and gives Dual(0.0, 0.0) elsewhere. The slope of"
        " e ** u is e ** u times the slope of u. a - b is a + b * -1; there is __rsub__, too.",
    ),
    without=("tutor", "Tensor", "backward"),
    why_ours="No graph and no second pass: value and slope travel together. But the slope is with"
    " respect to one input. For a million inputs it takes a million passes; backward takes one.",
)
def check_05_s1(judge: Judge, Dual: Any) -> None:  # noqa: N803 - a class
    """f(Dual(x, 1.0)) has the value f(x) and the slope that is measured there."""
    judge.that(isinstance(Dual, type), "Dual is no class")

    def relu(x: Any) -> Any:
        return x.relu() if hasattr(x, "relu") else max(x, 0.0)

    def exp(x: Any) -> Any:
        return x.exp() if hasattr(x, "exp") else math.exp(x)

    functions: dict[str, Callable[[Any], Any]] = {
        "x": lambda x: x,
        "x + x": lambda x: x + x,
        "x * x * x": lambda x: x * x * x,
        "x + 3": lambda x: x + 3,
        "3 + x": lambda x: 3 + x,
        "2 * x * x": lambda x: 2 * x * x,
        "x - 5": lambda x: x - 5,
        "5 - x * x": lambda x: 5 - x * x,
        "x * x - x": lambda x: x * x - x,
        "relu(x * 2)": lambda x: relu(x * 2),
        "relu(x * x - 3) * x": lambda x: relu(x * x - 3) * x,
        "exp(x * 0.5) * x": lambda x: exp(x * 0.5) * x,
        "b = x * x; c = b * b; c + b": lambda x: (x * x) * (x * x) + x * x,
        "exp(exp(x) * 0.1)": lambda x: exp(exp(x) * 0.1),
    }
    for text, f in functions.items():
        for at in (2.0, -1.5, 0.75):
            given = f"{text} at x = {at}"
            x = judge.instance(Dual, at, 1.0)
            got = judge.run(partial(f, x))
            judge.that(isinstance(got, Dual), f"it gives {got!r:.40}, no Dual", given=given)
            judge.close(got.value, f(at), given=f"the value of {given}")
            judge.close(got.slope, _slope(f, [at], 0), given=f"the slope of {given}", rtol=1e-5,
                        atol=1e-6)  # fmt: skip
            judge.equal([x.value, x.slope], [at, 1.0], given=f"x afterwards, {given}")
    y = judge.run(lambda: Dual(3.0, 1.0) * Dual(4.0) + Dual(2.0, 5.0))
    judge.close(
        [y.value, y.slope], [14.0, 9.0], given="Dual(3.0, 1.0) * Dual(4.0) + Dual(2.0, 5.0)"
    )


@exercise(
    "05.s2",
    "Count the paths",
    answer="paths",
    minutes=10,
    hints=(
        "One path leads from root to root. How many lead to an input of its op?",
        "It is the walk of the engine, with whole numbers in place of gradients: what has arrived"
        " at t is handed on to each of its inputs, and added up there.",
        "arrived = {id(root): 1}; for t in topological(root): for each input x of t.op, add"
        " arrived[id(t)] to arrived[id(x)], which begins at 0. The answer is what arrives at leaf.",
    ),
    without=("tutor", "by_paths"),
    why_ours="The same walk as the engine's: with all slopes equal to 1, the gradient *is* the"
    " number of paths. That is why 81 visits are enough for so many paths.",
)
def check_05_s2(judge: Judge, paths: Any) -> None:
    """The number of ways from root back to leaf, even where there are more than can be walked."""
    lib = library(paths)
    with recording(lib, True):
        a, b, c = _leaf(2.0, lib), _leaf(3.0, lib), _leaf(4.0, lib)
        u = a * b
        v = u + a
        w = u * v
        tower = start = _leaf(1.0, lib)
        for _ in range(40):
            tower = tower + tower * 0.5
        chain = a
        for _ in range(3_000):
            chain = -chain
        cases = [
            ("a * a, to a", a * a, a, 2), ("u = a * b, to a", u, a, 1),
            ("w = u * (u + a) with u = a * b, to a", w, a, 3), ("the same, to b", w, b, 2),
            ("the same, to u, which is no leaf", w, u, 2), ("a leaf, to itself", c, c, 1),
            ("a graph without c, to c", w, c, 0), ("a * a * a * a, to a", a * a * a * a, a, 4),
            ("a chain of 3,000 ops", chain, a, 1), ("the tower of 40 floors", tower, start, 2**40),
        ]  # fmt: skip
    for given, root, leaf, count in cases:
        judge.equal(judge.call(paths, root, leaf, changes=True, given=given), count, given=given)


# ---- questions -----------------------------------------------------------------------------------

question(
    "05.q1",
    "y = x * x * x + x, and x is 2. What is x.grad after y.backward()?",
    right=13,
    why="3x² + 1 = 13; the engine adds 12 from the product and 1 from the sum, at the same leaf",
    tempting={
        12: "that is the product's share; x is also added on its own, and moves y by 1 more",
        10: "that is y itself, 8 + 2; the gradient says how fast y moves",
        5: "2x + 1 would be the slope of x * x + x; here x stands in the product three times",
        1: "that is the share of the last addition; three more come by way of the product",
    },
)
question(
    "05.q2",
    "Ten doublings, y = y + y, beginning with a leaf a. How many tensors does engine.order(y)"
    " list?",
    right=11,
    why="a and the ten results, each once; there are 2 ** 10 paths to a, and nobody walks them",
    tempting={
        10: "those are the results; the leaf a is listed as well",
        1024: "that is the number of paths, 2 ** 10; each tensor is listed once",
        2047: "that is how many visits it takes to walk each path on its own",
        20: "each y is used twice, but it is one tensor, and is listed once",
    },
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
    tempting={
        "a": "the values are there in any order: each op holds its inputs until the graph goes",
        "c": "in the forward pass leaves do come first; on the way back they come last",
    },
)
question(
    "05.q4",
    "x has shape (5, 1, 3), w has shape (4, 3), the gradient of x * w arrives at w. Over how many"
    " numbers is each number of w.grad a sum?",
    right=5,
    why="the result has shape (5, 4, 3); w was copied 5 times, along the first axis only",
    tempting={
        4: "that is how often x was copied, along its axis of size 1; w has that axis itself",
        20: "4 of the 20 is w's own axis; it was copied along the first axis only",
        60: "60 is the size of the whole result; each number of w is behind only some of it",
        15: "each number of w meets one number of x in each of the 5 copies, not all 15",
    },
)
question(
    "05.q5",
    "gradcheck in float32 reports 0.002 for an op that is right. What do you do?",
    choices={"a": "make eps smaller", "b": "raise the tolerance", "c": "check in float64"},
    right="c",
    why="a smaller eps makes float32's rounding worse, and a tolerance of 0.01 lets real bugs pass",
    tempting={
        "a": "a smaller step does bend less, but here rounding is what is wrong, and dividing it by"
        " a smaller eps makes it larger",
        "b": "then this op passes, and so does one that really is off by 0.002",
    },
)
