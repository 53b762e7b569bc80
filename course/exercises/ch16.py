"""Chapter 16, lazy, fused, compiled: twelve exercises, two challenges, five questions.

Kernels, numbers moved, bytes, guards and calls are counted, nothing is timed. Reference programs
are recorded with our own library; answers that record do so with the learner's.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from course.compare import kind, short
from course.exercise import Judge, exercise, question
from course.exercises.ch15 import is_number
from course.jits import jits
from course.library import of, ours
from course.statements import run_statements
from course.turns import Steps, take_turns
from tutor.errors import TutorError

Lines = list[Any]
Kernels = list[list[Any]]


def line(
    name: str, op: str, inputs: str = "", size: Sequence[int] = (), rows: Any = 0, **params: Any
) -> Any:
    """A line of a program: its loop goes over the first axis of its shape, unless `rows` says."""
    loop = (size[0] if size else 1) if rows == 0 else rows
    loop = None if op in ("input", "constant") else loop
    return ours(16).Line(name, op, tuple(inputs.split()), tuple(size), loop, params)


def chain(x: Any) -> Any:
    """Ten operations, one after the other."""
    for _ in range(5):
        x = (x + 1.0) * 0.5
    return x


def adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    """One step of Adam, which changes nothing: it gives the new p, m and v."""
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    return p + m / 0.19 / ((v / 0.002) ** 0.5 + 1e-8) * -0.01, m, v


def loss_and_gradient(x: Any) -> Any:
    """Softmax with cross-entropy, forward and backward."""
    x.requires_grad, x.grad = True, None
    loss = ours(16).cross_entropy(x, [1, 0, 3, 2])
    loss.backward()
    return loss, x.grad


def layer(x: Any, w: Any, b: Any) -> Any:
    """A layer, and the mean of each of its columns taken away."""
    y = (x @ w + b).relu()
    return y - y.sum(0) * 0.25


def recording(f: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[Lines, list[str]]:
    """A program of f, recorded by our library, and the names of its results."""
    lib = ours(16)
    inputs = []
    for k, shape in enumerate(shapes):
        t = lib.zeros(shape)
        t.fill([((7 * i + 3 * k) % 11 - 4) / 4 for i in range(t.numel())])
        inputs.append(t)
    found, notes = lib.recorded(f, *inputs)
    lines, names = lib.lines_of(notes, inputs, found if isinstance(found, tuple) else [found])
    return lines, names


@functools.cache
def programs() -> dict[str, tuple[Lines, list[str]]]:
    """Steps of networks, recorded: by name, their lines and results."""
    return {
        "a chain of ten": recording(chain, (6,)),
        "Adam": recording(adam, *[(6,)] * 4),
        "Adam, for a table": recording(adam, *[(4, 4)] * 4),
        "softmax and cross-entropy": recording(loss_and_gradient, (4, 5)),
        "softmax and cross-entropy, square": recording(loss_and_gradient, (4, 4)),
        "a layer": recording(layer, (4, 3), (3, 4), (4,)),
    }


def calculated(lines: Lines) -> Lines:
    return [one for one in lines if one.op not in ours(16).FREE]


def alone(lines: Lines) -> Kernels:
    """A kernel for each line: what happens without a fuser."""
    return [[one] for one in calculated(lines)]


def written(one: Any) -> str:
    """A line as one reads it: a2 = add(i0, c1)."""
    extra = "".join(f", {key}={value}" for key, value in one.params.items())
    return f"{one.name} = {one.op}({', '.join(one.inputs)}{extra}) of shape {one.shape}"


# ---- 16.1: recorded ------------------------------------------------------------------------------


def names_of(notes: Any) -> list[str]:
    return [type(op).__name__ for op, _ in notes]


def noted(judge: Judge, recorded: Any, lib: Any, f: Any, *inputs: Any) -> tuple[Any, Any]:
    """What recorded(f, *inputs) gives, if it has the form that is asked for."""
    got = judge.run(lambda: recorded(f, *inputs))
    pair = isinstance(got, tuple | list) and len(got) == 2
    judge.that(pair, f"it gives {kind(got)}; a pair (result, notes) is asked for")
    notes = got[1]
    judge.that(isinstance(notes, list), f"the notes are {kind(notes)}; a list is asked for")
    for note in notes:
        right = isinstance(note, tuple | list) and len(note) == 2 and isinstance(note[0], lib.Op)
        right = right and isinstance(note[1], lib.Tensor)
        judge.that(right, f"a note is {short(note)}; (op, the tensor it gave) is asked for")
    return got[0], notes


@exercise(
    "16.1",
    "Record at Op.execute",
    answer="recorded",
    minutes=12,
    hints=(
        "Every op goes through Op.execute(op). Keep what is there, and put a function of your own"
        " in its place, which calls what was there and writes down what it gave.",
        "An op that is made of others calls them before it returns. So look how long the list is"
        " before the op runs, and after it: if it has grown, others ran inside.",
        "def noting(op): before = len(notes); out = execute(op); if len(notes) == before, append"
        " (op, out); return out. Set Op.execute = staticmethod(noting), and put the old one back in"
        " a `finally`.",
    ),
    why_ours="What was there goes on doing its work, so the engine records for backward as well."
    " The `finally` matters: a recorder that stays on after an error slows down, and keeps alive,"
    " all that comes later.",
)
def check_16_1(judge: Judge, recorded: Any) -> None:
    """f's result, and (op, result) for each op that has no other op inside, in the order in which
    they ran; afterwards Op.execute is what it was."""
    lib = of(recorded, "Op", "Tensor", default=ours(16))
    before = lib.Op.execute
    x, y = lib.Tensor([1.0, 2.0]), lib.Tensor([[0.5, 4.0]])

    def same_hook(when: str) -> None:
        judge.that(lib.Op.execute is before, f"Op.execute is not what it was, {when}")

    cases: list[tuple[str, Any, list[str], Any]] = [
        ("(x + y) * x", lambda: (x + y) * x, ["Add", "Mul"], [[1.5, 12.0]]),
        ("x", lambda: x, [], [1.0, 2.0]),
        ("y.T.reshape(2) + 1.0, with two views", lambda: y.T.reshape(2) + 1.0,
         ["Transpose", "Reshape", "Add"], [1.5, 5.0]),
    ]  # fmt: skip
    for given, f, wanted, numbers in [*cases, cases[0]]:
        result, notes = noted(judge, recorded, lib, lambda *_, f=f: f(), x, y)
        same_hook(f"after recording {given}")
        judge.equal(names_of(notes), wanted, given=f"the ops of {given}")
        judge.equal(result.tolist(), numbers, given=f"the result of {given}")
        outs = [out.tolist() for _, out in notes]
        judge.that(not outs or outs[-1] == numbers, f"the last note of {given} has {outs[-1:]}")
    _composites(judge, recorded, lib, x)
    _failing(judge, recorded, lib, same_hook)
    _nested(judge, recorded, lib, x)


def _composites(judge: Judge, recorded: Any, lib: Any, x: Any) -> None:
    """An op that is made of others, and an engine that has to go on."""

    class Whole(lib.Op):  # type: ignore[misc]
        """z = e ** -x * x"""

        def forward(self, x: Any) -> Any:
            return (-x).exp() * x

    _, notes = noted(judge, recorded, lib, lambda x: Whole(x).apply() + 1.0, x)
    words = names_of(notes)
    given = "Whole(x) + 1.0, where the op Whole calculates (-x).exp() * x"
    judge.that("Whole" not in words, f"the notes are {words}: Whole is noted beside its parts",
               given=given)  # fmt: skip
    judge.equal(words, ["Neg", "Exp", "Mul", "Add"], given=given)
    w = lib.Tensor([3.0, -1.0], requires_grad=True)

    def with_backward(w: Any) -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    _, notes = noted(judge, recorded, lib, with_backward, w)
    given = "w * w, sum, and backward"
    judge.that(w.grad is not None, "w.grad is None: the engine did not see the ops", given=given)
    judge.equal(w.grad.tolist(), [6.0, -2.0], given=given)
    words = names_of(notes)
    judge.that(words[:2] == ["Mul", "Sum"], f"the first are {words[:2]}", given=given)
    judge.that(words.count("Mul") == 3, f"backward's two products are not noted: {words}",
               given=given)  # fmt: skip


def _failing(judge: Judge, recorded: Any, lib: Any, same_hook: Callable[[str], None]) -> None:
    def fails() -> Any:
        lib.Tensor([1.0]) + 1.0
        raise KeyError("on purpose")

    judge.raises(KeyError, recorded, fails, given="a function that raises")
    same_hook("after a function that raised")


def _nested(judge: Judge, recorded: Any, lib: Any, x: Any) -> None:
    inner: list[Any] = []

    def outer(x: Any) -> Any:
        y = x + 1.0
        result, notes = recorded(lambda z: -z, y)
        inner.extend(notes)
        return result * 2.0

    _, notes = noted(judge, recorded, lib, outer, x)
    given = "a recording inside a recording"
    judge.equal(names_of(inner), ["Neg"], given=given)
    judge.equal(names_of(notes), ["Add", "Neg", "Mul"], given=given)


# ---- 16.2: what one loop can do ------------------------------------------------------------------


def _pairs() -> list[tuple[str, Any, Any, bool]]:
    """A line that is made, one that uses it, and whether one loop over rows can do both."""
    t = line("t", "exp", "x", (4, 3))
    square = line("t", "exp", "x", (4, 4))
    row = line("t", "exp", "x", (4,))
    by_row = line("s", "sum", "x", (4,), axis=(1,))
    by_column = line("s", "sum", "x", (4,), 4, axis=(0,))
    return [
        ("the same shape", t, line("u", "add", "t x", (4, 3)), True),
        ("a sum of each row", t, line("u", "sum", "t", (4,), axis=(1,)), True),
        ("a sum of each column", t, line("u", "sum", "t", (3,), 4, axis=(0,)), True),
        ("a sum of all", t, line("u", "sum", "t", (), 4, axis=(0, 1)), True),
        ("what a sum of rows has given, as a column", by_row,
         line("u", "reshape", "s", (4, 1), shape=(4, 1)), True),
        ("that column, stretched over a table", line("r", "reshape", "s", (4, 1), shape=(4, 1)),
         line("u", "add", "x r", (4, 3)), True),
        ("a sum of columns, which is complete only after the last row",
         line("s", "sum", "x", (3,), 4, axis=(0,)), line("u", "add", "x s", (4, 3)), False),
        ("a sum of columns, in a square", by_column, line("u", "exp", "s", (4,)), False),
        ("a sum over the first axis and another", line("s", "sum", "x", (4,), 4, axis=(0, 2)),
         line("u", "exp", "s", (4,)), False),
        ("the largest of all", line("s", "max", "x", (), 4, axis=(0, 1)),
         line("u", "add", "x s", (4, 3)), False),
        ("another number of rows", t, line("u", "add", "t x", (5, 4, 3)), False),
        ("a row for each column of a square: it is aligned at the right", row,
         line("u", "add", "y t", (4, 4)), False),
        ("the same with sums of rows, not made columns", by_row,
         line("u", "add", "x s", (4, 4)), False),
        ("that row, stretched", row, line("u", "expand", "t", (4, 4), shape=(4, 4)), False),
        ("a square and a sum of its rows", square,
         line("u", "sum", "t", (4,), axis=(1,)), True),
        ("a product, which has a loop of its own", line("m", "matmul", "x y", (4, 3), None),
         line("u", "exp", "m", (4, 3)), False),
        ("an input of a product", t, line("m", "matmul", "t y", (4, 2), None), False),
        ("two products", line("m", "matmul", "x y", (4, 4), None),
         line("n", "matmul", "m y", (4, 4), None), False),
        ("a table as a longer row", t, line("u", "reshape", "t", (12,), shape=(12,)), False),
        ("rows as shorter tables", t, line("u", "reshape", "t", (4, 3, 1), shape=(4, 3, 1)), True),
        ("scalars", line("a", "add", "x y", ()), line("b", "mul", "a y", ()), True),
        ("a scalar, in a table", line("a", "add", "x y", ()), line("b", "mul", "a t", (4, 3)),
         False),
        ("a largest per row, negative axes are not used", line("s", "max", "x", (4,), axis=(1,)),
         line("u", "neg", "s", (4,)), True),
    ]  # fmt: skip


@exercise(
    "16.2",
    "What one loop can do",
    answer="together",
    minutes=10,
    hints=(
        "Picture the loop: for i in range(rows). In round i, row i of `made` is calculated. Is all"
        " that row i of `line` needs there by then?",
        "Three things prevent it: the loops have different lengths, or one has none (rows is None);"
        " `made` is a reduction over axis 0, which needs all rows; or broadcasting turns the rows"
        " of `made` into columns.",
        "made.rows is not None and made.rows == line.rows; not (made.op in REDUCTIONS and 0 in"
        " made.params['axis']); and if line.op is in ELEMENTWISE, both shapes are equally long.",
    ),
    why_ours="Shapes are aligned at the right, so a shorter one lies along the columns. In a square"
    " both readings have the right size, and only one is right: that is why the lengths of the"
    " shapes are compared, not the numbers in them.",
)
def check_16_2(judge: Judge, together: Any) -> None:
    """Whether one loop over rows can calculate `made` and, in the same round, use it for `line`."""
    for given, made, user, expected in _pairs():
        got = judge.call(together, made, user, given=given)
        judge.that(isinstance(got, bool), f"it gives {kind(got)}; True or False is asked for")
        judge.equal(got, expected, given=f"{given}: {written(made)}; {written(user)}")
    right = ours(16).together
    for name, (lines, _) in programs().items():
        made = {one.name: one for one in calculated(lines)}
        for user in made.values():
            for source in (made[n] for n in user.inputs if n in made):
                given = f"{name}: {written(source)}; {written(user)}"
                judge.equal(judge.call(together, source, user), right(source, user), given=given)


# ---- 16.3: the fuser -----------------------------------------------------------------------------


def kernels_of(judge: Judge, got: Any, lines: Lines) -> Kernels:
    """What a fuser gave, if it is a list of lists of these lines, and in a possible order."""
    form = isinstance(got, list) and all(isinstance(kernel, list) for kernel in got)
    judge.that(form, f"it gives {kind(got)}; a list of kernels, which are lists of lines, is asked"
               " for")  # fmt: skip
    own = {one.name: one for one in calculated(lines)}
    everything = [one for kernel in got for one in kernel]
    for one in everything:
        known = isinstance(one, tuple) and len(one) == 6 and one[0] in {x.name for x in lines}
        judge.that(known, f"{short(one)} is no line of the program")
        judge.that(one[0] in own, f"{one[0]} is {one[1]}: nothing is calculated for it")
    judge.that(all(got), "a kernel is empty")
    counts = Counter(one.name for one in everything)
    twice = [name for name, count in counts.items() if count > 1]
    judge.that(not twice, f"{', '.join(twice)}: calculated twice")
    missing = [name for name in own if name not in counts]
    judge.that(not missing, f"{', '.join(missing[:3])}: never calculated")
    where = {one.name: (k, i) for k, kernel in enumerate(got) for i, one in enumerate(kernel)}
    for kernel in got:
        for one in kernel:
            _placed(judge, one, own, where)
        _one_loop(judge, kernel)
    return list(got)


def _one_loop(judge: Judge, kernel: Lines) -> None:
    loops = {one.rows for one in kernel}
    if len(kernel) > 1:
        words = f"{', '.join(one.name for one in kernel)} are one kernel"
        judge.that(None not in loops, f"{words}, and one of them needs a loop of its own")
        judge.that(len(loops) == 1, f"{words}, and their loops have {sorted(loops)} rows")


def _placed(judge: Judge, one: Any, own: Any, where: dict[str, tuple[int, int]]) -> None:
    """Whatever a line uses is made before it, or in the same round of the same loop."""
    k, i = where[one.name]
    for name in one.inputs:
        if name not in own:
            continue
        other, j = where[name]
        judge.that((other, j) < (k, i), f"{one.name} is made before {name}, which it uses")
        if other == k:
            fits = ours(16).together(own[name], one)
            judge.that(fits, f"{one.name} uses {name} in the same kernel, and one loop cannot do"
                       f" both: {written(own[name])}; {written(one)}")  # fmt: skip


FEWEST = {  # kernels, at most
    "a chain of ten": 1,
    "Adam": 1,
    "Adam, for a table": 1,
    "softmax and cross-entropy": 3,
    "softmax and cross-entropy, square": 3,
    "a layer": 4,
}


def _small_programs() -> dict[str, tuple[Lines, int]]:
    """By hand: programs, and with how many kernels one can do."""
    x, y = line("x", "input", size=(4, 4)), line("y", "input", size=(3,))
    return {
        "nothing": ([x], 0),
        "two chains side by side, line by line": (
            [x, y, line("a", "exp", "x", (4, 4)), line("b", "exp", "y", (3,)),
             line("c", "neg", "a", (4, 4)), line("d", "neg", "b", (3,))], 2),
        "two products": (
            [x, line("a", "matmul", "x x", (4, 4), None),
             line("b", "matmul", "a x", (4, 4), None)], 2),
        "two products that need not wait for each other": (
            [x, line("a", "matmul", "x x", (4, 4), None),
             line("b", "matmul", "x x", (4, 4), None)], 2),
        "work before a product, and after it": (
            [x, line("a", "exp", "x", (4, 4)), line("m", "matmul", "a x", (4, 4), None),
             line("b", "neg", "m", (4, 4)), line("c", "neg", "a", (4, 4))], 3),
        "sums of columns, used": (
            [x, line("a", "exp", "x", (4, 4)), line("s", "sum", "a", (4,), 4, axis=(0,)),
             line("b", "add", "a s", (4, 4)), line("c", "neg", "s", (4,))], 2),
        "late work with an early loop, that needs something in between": (
            [x, y, line("a", "exp", "x", (4, 4)), line("s", "sum", "a", (), 4, axis=(0, 1)),
             line("b", "add", "y s", (3,)), line("t", "sum", "b", (), 3, axis=(0,)),
             line("c", "add", "x t", (4, 4)), line("d", "neg", "x", (4, 4))], 3),
    }  # fmt: skip


@exercise(
    "16.3",
    "A fuser",
    answer="fuse",
    minutes=20,
    hints=(
        "Go through the lines in order, and put each into the first kernel that can take it. Which"
        " is the first one that is not too early?",
        "For each line that it uses: if `together` says so, that line's kernel; otherwise the one"
        " after. The latest of these is the first possible. From there on, look for a kernel with"
        " the same rows.",
        "place[name] = number of the kernel. first = max over what it uses of place[...] + (0 if"
        " together(...) else 1). Then the first k >= first with kernels[k][0].rows == line.rows; if"
        " there is none, or rows is None, append a new kernel.",
    ),
    why_ours="Greedy, and about twenty lines. It is not always the fewest possible: that is a hard"
    " problem, and compilers have the same greedy loop with a better measure of what a merge is"
    " worth.",
)
def check_16_3(judge: Judge, fuse: Any) -> None:
    """Kernels with all lines once each, nothing used before it is complete, and few of them: 1 for
    Adam, 1 for a chain of ten, at most 3 for softmax with cross-entropy, both ways."""
    cases = {name: (lines, most) for name, (lines, most) in _small_programs().items()}
    cases |= {name: (programs()[name][0], most) for name, most in FEWEST.items()}
    for name, (lines, most) in cases.items():
        got = judge.call(fuse, list(lines), given=name)
        kernels = kernels_of(judge, got, lines)
        count = len(kernels)
        alone_ = len(alone(lines))
        words = " (as many as lines: nothing is fused)" if count == alone_ > most else ""
        judge.that(count <= most, f"{count} kernels{words}; {most} can do it")


# ---- 16.4: numbers moved -------------------------------------------------------------------------


def moved(kernels: Kernels, lines: Lines, results: Sequence[str]) -> int:
    """Numbers read and written, as the exercise defines it."""
    return int(ours(16).traffic(kernels, lines, list(results)))


def _by_line(kernels: Kernels, lines: Lines, results: Sequence[str]) -> int:
    return moved([[one] for kernel in kernels for one in kernel], lines, results)


def _every_use(kernels: Kernels, lines: Lines, results: Sequence[str]) -> int:
    """With each use of an array counted."""
    sizes = {one.name: math.prod(one.shape) for one in lines}
    again = 0
    for kernel in kernels:
        made = {one.name for one in kernel}
        read = [name for one in kernel for name in one.inputs if name not in made]
        again += sum(sizes[name] for name in read) - sum(sizes[name] for name in set(read))
    return moved(kernels, lines, results) + again


def _no_results(kernels: Kernels, lines: Lines, results: Sequence[str]) -> int:
    return moved(kernels, lines, [])


@exercise(
    "16.4",
    "Numbers that move",
    answer="traffic",
    minutes=10,
    hints=(
        "For each kernel, make two sets of names: what it reads that it does not make itself, and"
        " what it makes that somebody else needs.",
        "Somebody else: a line of another kernel, or `results`. The size of a name is"
        " math.prod(shape) of its line, and inputs and constants are lines as well.",
        "read = names of all inputs of the kernel's lines, minus names made in it. written = names"
        " made in it that are in another kernel's inputs or in results. Add up the sizes of both.",
    ),
    why_ours="Sets count each array once for each kernel, however often it is used there: the loop"
    " has it in a register. What a kernel makes and only it uses never reaches the memory at all.",
)
def check_16_4(judge: Judge, traffic: Any) -> None:
    """How many numbers the kernels read and write, each array once for each kernel."""
    for name, (lines, results) in programs().items():
        fused = ours(16).fuse(lines)
        halves = [part for kernel in fused for part in (kernel[:1], kernel[1:]) if part]
        for words, kernels in (("fused", fused), ("one by one", alone(lines)),
                               ("halved", halves)):  # fmt: skip
            given = f"{name}, {words}"
            got = judge.call(traffic, kernels, lines, results, given=given)
            judge.that(type(got) is int, f"it gives {kind(got)}; an int is asked for")
            three = kernels, lines, results
            judge.close(got, moved(*three), rtol=0, atol=0, given=given, mistakes={
                "every line's arrays, as if nothing were fused": _by_line(*three),
                "every use of an array, not each array once for each kernel": _every_use(*three),
                "without the results, which have to be written, too": _no_results(*three),
                "four bytes for each number, where numbers are asked for": 4 * moved(*three),
            })  # fmt: skip
    x = line("x", "input", size=(5,))
    a, b = line("a", "mul", "x x", (5,)), line("b", "neg", "a", (5,))
    for kernels, results, wanted in (([[a, b]], ["b"], 10), ([[a, b]], ["a", "b"], 15),
                                     ([[a], [b]], ["b"], 20), ([], ["x"], 0)):  # fmt: skip
        shown = [[one.name for one in kernel] for kernel in kernels]
        got = judge.call(traffic, kernels, [x, a, b], results, given=f"{shown} for {results}")
        judge.equal(got, wanted)


# ---- 16.5: patterns ------------------------------------------------------------------------------

PATTERNS: list[tuple[str, Any, Any, dict[str, Any] | None]] = [
    ("an op and its operands", ("add", "?x", "?y"), ("add", "a", "b"), {"?x": "a", "?y": "b"}),
    ("another op", ("add", "?x", "?y"), ("mul", "a", "b"), None),
    ("a number", ("mul", "?x", 1.0), ("mul", "a", 1.0), {"?x": "a"}),
    ("another number", ("mul", "?x", 1.0), ("mul", "a", 2.0), None),
    ("a name for the number", ("mul", "?x", 1.0), ("mul", "a", "b"), None),
    ("a term", ("neg", ("neg", "?x")), ("neg", ("neg", ("add", "a", 1.0))),
     {"?x": ("add", "a", 1.0)}),
    ("only one of two", ("neg", ("neg", "?x")), ("neg", "a"), None),
    ("the same name twice", ("add", "?x", "?x"), ("add", "a", "a"), {"?x": "a"}),
    ("the same name for two things", ("add", "?x", "?x"), ("add", "a", "b"), None),
    ("the same term twice", ("add", "?x", "?x"), ("add", ("exp", "a"), ("exp", "a")),
     {"?x": ("exp", "a")}),
    ("nearly the same term", ("add", "?x", "?x"), ("add", ("exp", "a"), ("exp", "b")), None),
    ("the same name, two levels apart", ("mul", "?x", ("exp", "?x")), ("mul", "a", ("exp", "b")),
     None),
    ("fewer operands", ("max", "?x", "?y"), ("max", "a"), None),
    ("more operands", ("neg", "?x"), ("neg", "a", "b"), None),
    ("no name at all", ("exp", 0.0), ("exp", 0.0), {}),
    ("only a name", "?x", ("exp", "a"), {"?x": ("exp", "a")}),
    ("a plain name stands for itself", ("add", "a", "?y"), ("add", "b", "a"), None),
    ("a pattern where a name is", ("neg", "?x"), "a", None),
    ("minus zero is another number", ("add", "?x", -0.0), ("add", "a", 0.0), None),
    ("minus zero", ("add", "?x", -0.0), ("add", "a", -0.0), {"?x": "a"}),
    ("two zeros with different signs", ("add", "?x", "?x"), ("add", 0.0, -0.0), None),
]  # fmt: skip


@exercise(
    "16.5",
    "Patterns",
    answer="matched",
    minutes=15,
    hints=(
        "Walk through both at once. There are three cases: the pattern is a ?name, or a tuple, or"
        " anything else.",
        "A ?name that has been met before must stand for the same term again. A tuple needs a tuple"
        " of the same length, whose parts all fit. Anything else must be equal.",
        "found.setdefault(pattern, term) gives what the name stands for. And 0.0 == -0.0 is True in"
        " Python: compare math.copysign(1, a) as well, where both are numbers.",
    ),
    why_ours="One dictionary for the whole walk, which is how a name that occurs twice is noticed.",
)
def check_16_5(judge: Judge, matched: Any) -> None:
    """A dict of what each ?name stands for; None if the term does not have the pattern."""
    for given, pattern, term, expected in PATTERNS:
        got = judge.call(matched, pattern, term, given=given)
        judge.that(got is None or isinstance(got, dict), f"it gives {kind(got)}; a dict is asked"
                   " for, or None")  # fmt: skip
        if expected == {}:
            judge.that(got is not None, "it gives None, and it fits: there is no name, so {}")
        judge.equal(got, expected, signs=True)


# ---- 16.6: which rules keep every bit ------------------------------------------------------------

RULES = {  # what is right about each, for float32: "" or a case in which it is not
    "A": "",
    "B": "x = -0.0: -0.0 + 0.0 is 0.0",
    "C": "x = inf: inf - inf is nan, and so is nan - nan",
    "D": "x = -1.0 gives -0.0, and inf and nan give nan",
    "E": "",
    "F": "",
    "G": "x = 3.0: 3 / 10 and 3 * float32(0.1) differ in the last bit",
    "H": "x = 1e8, y = -1e8, z = 1: one is 1, the other 0",
    "I": "",
    "J": "",
    "K": "x = 200: exp is infinite there, and so is its log",
}


@exercise(
    "16.6",
    "Which rules keep every bit?",
    answer="keeping",
    minutes=6,
    hints=(
        "A rule is kept only if it holds for every float32: for -0.0, for inf and nan, for the"
        " largest and the smallest.",
        "Which of the right-hand sides is the same real number, rounded in the same way? And which"
        " lose the sign of a zero, or make a number of a nan?",
        "Five of the eleven are right. Powers of two are exact, a tenth is not; adding 0.0 changes"
        " -0.0, multiplying by 1 changes nothing.",
    ),
    why_ours="A rewrite is an optimization only if nobody can tell. `-ffast-math` allows all of"
    " them, and that is why results then change with the compiler's version.",
)
def check_16_6(judge: Judge, keeping: Any) -> None:
    """The letters of the rules that keep every bit, for every float32."""
    letters = isinstance(keeping, str | list | tuple | set | frozenset)
    judge.that(letters, f"it is {kind(keeping)}; letters are asked for, as in 'AC'")
    unknown = [letter for letter in keeping if letter not in RULES]
    judge.that(not unknown, f"there is no rule {unknown[:1]}; they are A to K")
    for letter, case in RULES.items():
        if letter in keeping:
            judge.that(not case, f"{letter} does not hold for {case}")
    missing = sum(not case and letter not in keeping for letter, case in RULES.items())
    judge.that(not missing, f"{missing} more of them keep every bit")


# ---- 16.7: from a program to lives ---------------------------------------------------------------


@exercise(
    "16.7",
    "Lives",
    answer="lives",
    minutes=12,
    hints=(
        "A temp is written by the kernel that has its line, and last read by the last kernel that"
        " has its name among the inputs of a line. What needs no memory at all?",
        "What only its own kernel uses stays in a register: it is not listed. A result is needed"
        " until the end: its last kernel is the last one of the program.",
        "For kernel k and each of its lines: uses = [j for each kernel j with the name among its"
        " inputs]; add len(kernels) - 1 if it is a result. List it if max(uses) > k, or if it is a"
        " result. Bytes are 4 * math.prod(shape).",
    ),
    why_ours="The question of `traffic`, where else it is needed, with the time added. What comes"
    " out is what your planner of chapter 15 takes in.",
)
def check_16_7(judge: Judge, lives: Any) -> None:
    """For what has to be in memory: (bytes, the kernel that makes it, the last that needs it)."""
    a, b = line("a", "mul", "x x", (5,)), line("b", "neg", "a", (5,))
    c = line("c", "add", "a b", (5,))
    small: list[tuple[str, Kernels, list[str], dict[str, Any]]] = [
        ("one kernel", [[a, b]], ["b"], {"b": (20, 0, 0)}),
        ("two kernels", [[a], [b]], ["b"], {"a": (20, 0, 1), "b": (20, 1, 1)}),
        ("used by the next, and later", [[a], [b], [c]], ["c"],
         {"a": (20, 0, 2), "b": (20, 1, 2), "c": (20, 2, 2)}),
        ("a result that is made early", [[a], [b, c]], ["a", "c"],
         {"a": (20, 0, 1), "c": (20, 1, 1)}),
        ("a result that nobody uses", [[a], [b]], ["a"], {"a": (20, 0, 1)}),
        ("nothing", [], [], {}),
    ]  # fmt: skip
    for given, kernels, results, expected in small:
        got = judge.call(lives, kernels, results, given=given)
        judge.that(isinstance(got, dict), f"it gives {kind(got)}; a dict is asked for")
        judge.equal(_as_tuples(got), expected)
    for name, (lines, results) in programs().items():
        for words, kernels in (("one by one", alone(lines)), ("fused", ours(16).fuse(lines))):
            got = judge.call(lives, kernels, results, given=f"{name}, {words}")
            judge.equal(_as_tuples(got), ours(16).lives(kernels, results))


def _as_tuples(found: dict[Any, Any]) -> dict[Any, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}


# ---- 16.8: C -------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 3e38, 1e-40, 0.1, 100.0, -0.3]


def _c_cases() -> list[tuple[str, Lines, list[str]]]:
    """Kernels by hand: arrays are x and y, single numbers c and d."""
    size = (len(SPECIAL),)

    def made(*words: str) -> Lines:
        rows = [word.split(" ", 2) for word in words]
        return [line(name, op, inputs, size) for name, op, inputs in rows]

    return [
        ("an addition", made("a add x y"), ["a"]),
        ("a product with a number", made("a mul x c"), ["a"]),
        ("a number first", made("a pow c x"), ["a"]),
        ("a chain", made("a add x c", "b mul a d", "z neg b"), ["z"]),
        ("two results, one of which is used", made("a exp x", "b mul a y"), ["a", "b"]),
        ("a result that uses a sum twice", made("a add x y", "b mul a a"), ["b"]),
        ("relu, nan and minus zero included", made("a relu x"), ["a"]),
        ("exp and log", made("a exp x", "b log y", "z add a b"), ["z"]),
        ("a power", made("a mul y y", "b pow a c"), ["b"]),
        ("the negative of a negative", made("a neg x", "b neg a"), ["a", "b"]),
        ("a product, then a sum: not one rounding, but two", made("a mul x y", "b add a c"), ["b"]),
    ]  # fmt: skip


def _tensor(numbers: Sequence[float]) -> Any:
    return ours(16).Tensor(list(numbers), dtype="float32")


def _wanted(lines: Lines, results: list[str], arrays: dict[str, Any], numbers: Any) -> Any:
    """What the kernels of the library give."""
    lib, tensors = ours(16), {name: _tensor(row) for name, row in arrays.items()}
    tensors |= {name: lib.Tensor(value) for name, value in numbers.items()}
    classes = {"add": lib.Add, "mul": lib.Mul, "neg": lib.Neg, "exp": lib.Exp, "log": lib.Log,
               "pow": lib.Pow, "relu": lib.ReLU}  # fmt: skip
    for one in lines:
        op = classes[one.op](*[tensors[name] for name in one.inputs])
        tensors[one.name] = op.forward(*op.inputs)
    return {name: tensors[name].tolist() for name in results}


@exercise(
    "16.8",
    "A generator of C",
    answer="c_body",
    minutes=15,
    hints=(
        "One statement for each line: `float a = x[i] + c;`. A name is followed by [i] if it is an"
        " array in memory; what the kernel has made itself, and single numbers, are not.",
        "A table has a function for each op: add is lambda x, y: f'{x} + {y}', exp is"
        " lambda x: f'exp({x})'. relu of nan is nan in our kernels: which way round does the"
        " comparison have to be?",
        "f'float {line.name} = {C[line.op](*words)};' for each line, then"
        " f'{name}_out[i] = {name};' for each result. relu is f'{x} < 0 ? 0 : {x}'.",
    ),
    why_ours="Every intermediate result has a variable of type float, so it is rounded there, as"
    " the kernels of the library round. The compiler keeps them in registers.",
)
def check_16_8(judge: Judge, c_body: Any) -> None:
    """Statements in C that make element i of each result, to the bit as the kernels do."""
    values = {"x": SPECIAL, "y": SPECIAL[::-1]}
    for numbers in ({"c": 0.5, "d": -3.0}, {"c": 0.1, "d": 7.0}):
        for given, lines, results in _c_cases():
            arrays = {"x", "y"} & {name for one in lines for name in one.inputs}
            got = judge.call(c_body, lines, arrays, results, given=given)
            texts = isinstance(got, list | tuple) and all(isinstance(s, str) for s in got)
            judge.that(texts, f"it gives {kind(got)}; a list of statements is asked for")
            outputs = {f"{name}_out": [7.0] * len(SPECIAL) for name in results}
            used = {name: values[name] for name in arrays}
            try:
                run_statements(got, used, numbers, outputs)
            except TutorError as error:
                judge.fail({"found": error.found, "to do": error.do, "statements": " ".join(got)})
            singles = {k: ours(16).Tensor(v).item() for k, v in numbers.items()}
            for name, expected in _wanted(lines, results, values, singles).items():
                judge.equal(outputs[f"{name}_out"], expected, signs=True,
                            given=f"{given}: {' '.join(got)}")  # fmt: skip


# ---- 16.9: a jit ---------------------------------------------------------------------------------


def counted(f: Callable[..., Any]) -> Any:
    """f, which counts how often Python runs it."""

    def counting(*inputs: Any) -> Any:
        counting.runs += 1  # type: ignore[attr-defined]
        return f(*inputs)

    counting.runs = 0  # type: ignore[attr-defined]
    return counting


def _expect(judge: Judge, jitted: Any, f: Any, inputs: Any, runs: int, given: str) -> Any:
    """The call gives what f gives, bits and dtype, and f has run so many times by then."""
    shown = ", ".join(f"{t.tolist()} of {t.buf.dtype}" for t in inputs)
    got = judge.run(lambda: jitted(*inputs))
    given = f"{given}, called with {shown}"
    judge.that(hasattr(got, "buf"), f"it gives {kind(got)}; a tensor is asked for", given=given)
    before = f.runs
    wanted = f(*inputs)
    f.runs = before
    judge.equal(got.tolist(), wanted.tolist(), given=given, signs=True)
    judge.equal(got.buf.dtype, wanted.buf.dtype, given=f"the dtype, {given}")
    judge.that(before == runs, f"f has run {before} times; {runs} is enough and necessary",
               given=given)  # fmt: skip
    return got


def _repeated(judge: Judge, jit: Any, lib: Any, scale: float) -> Steps:
    """Five calls, other numbers each time; then another shape and another dtype."""
    f = counted(lambda x: (x * scale + 1.0).exp())
    jitted = judge.instance(jit, f, again=False)
    given, results = f"exp(x * {scale} + 1)", []
    for i in range(5):
        inputs = [lib.Tensor([i / 4, -i / 8])]
        results.append((_expect(judge, jitted, f, inputs, 1, given), f(*inputs).tolist()))
        f.runs -= 1
        yield
    for got, wanted in results:
        judge.equal(got.tolist(), wanted, given="a result of an earlier call, looked at later")
    wide = lib.Tensor([[1.0, 2.0], [0.5, 0.25]])
    for runs, t in ((2, wide), (2, wide), (3, lib.Tensor([0.1, 0.7], dtype="float64")),
                    (3, lib.Tensor([0.1, 0.3], dtype="float64")), (3, wide.T),
                    (3, lib.Tensor([2.0, 1.0]))):  # fmt: skip
        _expect(judge, jitted, f, [t], runs, given)
        yield


def _branching(judge: Judge, jit: Any, lib: Any) -> Steps:
    """Two branches of a function, by turns: each is recorded once."""

    def decides(x: Any) -> Any:
        y = x * 2.0 if (x.sum() > 0).item() else x + 1.0
        return -y if (y.max() > 9).item() else y

    f = counted(decides)
    jitted = judge.instance(jit, f, again=False)
    calls = (([1.0, 2.0], 1), ([2.0, 2.0], 1), ([-1.0, -2.0], 2), ([1.0, 3.0], 2),
             ([9.0, 1.0], 3), ([-1.0, -3.0], 3), ([8.0, 1.0], 3), ([1.0, 1.0], 3),
             ([-20.0, 12.0], 4), ([-30.0, 15.0], 4))  # fmt: skip
    for numbers, runs in calls:
        _expect(judge, jitted, f, [lib.Tensor(numbers)], runs, "x * 2 or x + 1, by its sum")
        yield


def _two_inputs(judge: Judge, jit: Any, lib: Any) -> Steps:
    """A weight that changes in place, and a second input."""
    w = lib.Tensor([1.0, -1.0])
    f = counted(lambda x, y: x * w + y)
    jitted = judge.instance(jit, f, again=False)
    for i in range(4):
        w.fill([i / 2, 3.0])
        inputs = [lib.Tensor([i + 1.0, 2.0]), lib.Tensor([0.25, i / 4])]
        _expect(judge, jitted, f, inputs, 1, "x * w + y, and w has been changed in place")
        yield
    x = lib.Tensor([1.0, 2.0])
    for runs, inputs in ((2, [x, lib.Tensor([[1.0], [2.0]])]), (3, [lib.Tensor([[1.0], [2.0]]), x]),
                         (3, [x, lib.Tensor([[5.0], [0.0]])])):  # fmt: skip
        _expect(judge, jitted, f, inputs, runs, "x * w + y, with shapes exchanged")
        yield


@exercise(
    "16.9",
    "A jit with guards",
    answer="Jit",
    minutes=20,
    hints=(
        "A dictionary of programs. What has to be in its key, so that a program never meets inputs"
        " that it was not recorded for?",
        "Shapes and dtypes of all inputs, in order. For one key there may be several programs, one"
        " for each way through f: so a list. `replayed` gives None where a guard does not hold.",
        "For each program of the key's list: result = replayed(program, inputs); if it is not None,"
        " return it. After the loop: append traced(self.f, *inputs), and replay that.",
    ),
    why_ours="A program that does not fit is kept: the branch may come back. A real jit also puts a"
    " limit on the list, and says so when it is reached.",
)
def check_16_9(judge: Judge, jit: Any) -> None:
    """f(*inputs) to the bit, and f itself runs only for new shapes, new dtypes and new branches."""
    lib = of(jit, "traced", "replayed", "Tensor", default=ours(16))
    take_turns(
        _repeated(judge, jit, lib, 0.5),
        _branching(judge, jit, lib),
        _two_inputs(judge, jit, lib),
        _repeated(judge, jit, lib, -0.25),
    )


# ---- 16.10: four faults of jits ------------------------------------------------------------------

FAULTS = ("alias", "stale", "reused", "branch", "right")


@exercise(
    "16.10",
    "A bug hunt: four faults of jits",
    answer="tells",
    minutes=20,
    seconds=4,
    hints=(
        "Write one experiment for each fault: a function f, inputs, and what only this fault would"
        " get wrong. Compare with f itself. Call five times: some faults begin at the third call.",
        "alias: keep all results, and look at them at the end. stale: change a tensor that f uses,"
        " by fill, after five calls. reused: as many numbers in another shape, and another dtype."
        " branch: (x.sum() > 0).item() in an `if`, and inputs for both sides, by turns.",
        "For branch, take two decisions, one after the other: some jits look at the first only. For"
        " reused, compare result.buf.dtype as well. For alias, more than two results.",
    ),
    why_ours="Each experiment can fail by one fault only, so the order of the experiments does not"
    " matter. Where a test can fail for two reasons, it says less than it seems to.",
)
def check_16_10(judge: Judge, tells: Any) -> None:
    """"alias", "stale", "reused", "branch" or "right", for every planted jit."""  # fmt: skip
    lib = of(tells, "Tensor", "traced", "replayed", default=ours(16))
    judge.function(tells)
    planted = list(jits(lib).items())
    caught = []
    for _, (fault, make) in planted:
        got = judge.run(functools.partial(tells, make))
        judge.that(isinstance(got, str) and got in FAULTS, f"it gives {short(got)}; one of"
                   f" {', '.join(map(repr, FAULTS))} is asked for")  # fmt: skip
        caught.append(got == fault)
        given = f"a jit with this fault: {fault}" if fault != "right" else "a jit that is right"
        if got != fault:
            count = f"{sum(caught)} of the first {len(caught)} of {len(planted)} are told rightly"
            judge.fail({"got": repr(got), "expected": repr(fault), "so far": count,
                        "to do": _advice(fault, got)}, given)  # fmt: skip
    got = judge.run(lambda: tells(planted[0][1][1]))
    judge.equal(got, planted[0][1][0], given="the first one, once more")


def _advice(fault: str, got: str) -> str:
    """What to look at where a jit was taken for another."""
    if fault == "right":
        return "this one does what f does: compare with f itself, and not with what you expect"
    if got != "right":
        return f"the experiment for {got!r} can fail by {fault!r} as well: change one thing only"
    return {
        "alias": "keep the results of many calls, and look at all of them at the end",
        "stale": "change a tensor that f uses, after more calls, and call again",
        "reused": "take the same count of numbers in another shape; and another dtype",
        "branch": "two decisions in one f, all ways through it, and more rounds",
    }[fault]


# ---- 16.11: a verifier ---------------------------------------------------------------------------


def _base() -> tuple[Lines, list[str]]:
    """A right program that has one of everything."""
    return [
        line("x", "input", size=(4, 3)),
        line("w", "constant", size=(3, 2)),
        line("b", "constant", size=(2,)),
        line("m", "matmul", "x w", (4, 2), None),
        line("y", "add", "m b", (4, 2)),
        line("r", "relu", "y", (4, 2)),
        line("s", "sum", "r", (4,), axis=(1,)),
        line("c", "reshape", "s", (4, 1), shape=(4, 1)),
        line("d", "mul", "r c", (4, 2)),
        line("t", "max", "d", (), 4, axis=(0, 1)),
    ], ["d", "t"]


def _changed(name: str, **new: Any) -> tuple[Lines, list[str]]:
    lines, results = _base()
    return [one._replace(**new) if one.name == name else one for one in lines], results


def broken_programs() -> dict[str, tuple[Lines, list[str]]]:
    """Programs with one fault each."""
    lines, results = _base()
    return {
        "a line is used before it is made": ([*lines[:4], lines[5], lines[4], *lines[6:]], results),
        "a name is made twice": ([*lines[:6], lines[5], *lines[6:]], results),
        "an input that is not there": _changed("d", inputs=("r", "q")),
        "a line that uses itself": _changed("r", inputs=("r",)),
        "a shape that broadcasting does not give": _changed("y", shape=(4, 3)),
        "operands that do not fit": _changed("d", inputs=("r", "x")),
        "a sum with the wrong axis gone": _changed("s", shape=(2,)),
        "an axis that there is not": _changed("s", params={"axis": (2,)}),
        "a reshape of fewer numbers": _changed("c", shape=(1, 1)),
        "too few operands": _changed("y", inputs=("m",)),
        "a result that nobody makes": (lines, ["d", "loss"]),
        "a product whose sides do not fit": _changed("m", inputs=("w", "x")),
    }


@exercise(
    "16.11",
    "A verifier",
    answer="verify",
    minutes=18,
    hints=(
        "Go through the lines once, with a dict of the shapes of all that is made so far. That"
        " settles what is used too early, made twice, or never made.",
        "Then the shapes: broadcast_shapes for ELEMENTWISE, all axes that are not in"
        " params['axis'] for REDUCTIONS, the same count of numbers for reshape, (m, k) and (k, n)"
        " for matmul.",
        "broadcast_shapes raises a ValueError if shapes do not fit: catch it, and make it one of"
        " your words. And count the operands: add has 2, exp has 1.",
    ),
    why_ours="It returns words and does not raise, so that all faults are seen at once. It costs"
    " little, so real compilers run theirs after every pass: the pass that broke the program is"
    " then the last one that ran.",
)
def check_16_11(judge: Judge, verify: Any) -> None:
    """A list of words about what is wrong with a program; an empty one for a right program."""

    def words(lines: Lines, results: list[str], given: str) -> list[Any]:
        got = judge.call(verify, lines, results, given=given)
        judge.that(isinstance(got, list), f"it gives {kind(got)}; a list is asked for")
        return list(got)

    def sound(name: str, lines: Lines, results: list[str]) -> None:
        found = words(lines, results, name)
        judge.that(not found, f"a right program, and it says {short(found)}", given=name)

    right = {"a right program": _base(), "nothing at all": ([], []), **programs()}
    wrong = broken_programs()
    for (name, (lines, results)), other in itertools.zip_longest(right.items(), list(wrong)[:2]):
        sound(name, lines, results)
        if other:
            found = words(*wrong[other], other)
            judge.that(found, f"{other}: it finds nothing wrong")
    for name, (lines, results) in wrong.items():
        judge.that(words(lines, results, name), f"{name}: it finds nothing wrong")


# ---- 16.12: search -------------------------------------------------------------------------------

TILES = (1, 2, 4, 8, 16)
START = (4, 4, 4)
QUESTIONS = 60  # how many tiles may be asked about, of 125
LEAST = {10: 576, 14: 448, 30: 320}  # lines of a cache, and the misses of the best of all tiles
NEAR = 1.1  # times the misses of the best of all


@functools.cache
def misses(tile: tuple[int, int, int], lines: int, n: int = 16) -> int:
    """Misses of C += A @ B, n x n, by tiles (rows, columns, depth), in a cache of so many lines of
    4 numbers each, the least recently used of which goes."""
    rows, columns, depth = tile
    cache: OrderedDict[int, None] = OrderedDict()
    count = 0
    for i0, j0, k0 in itertools.product(range(0, n, rows), range(0, n, columns),
                                        range(0, n, depth)):  # fmt: skip
        across = range(j0 // 4, (min(j0 + columns, n) + 3) // 4)
        for i, k in itertools.product(range(i0, min(i0 + rows, n)), range(k0, min(k0 + depth, n))):
            touched = [(i * n + k) // 4]
            for j in across:
                touched += [1000 + k * n // 4 + j, 2000 + i * n // 4 + j]
            for address in touched:
                if address in cache:
                    cache.move_to_end(address)
                    continue
                count += 1
                cache[address] = None
                if len(cache) > lines:
                    cache.popitem(last=False)
    return count


@exercise(
    "16.12",
    "A search for tiles",
    answer="tuned",
    minutes=12,
    seconds=4,
    hints=(
        "Start with the given tile, and try all sizes on one axis after the other. That gets stuck:"
        " with some caches no single size can change for the better, and two together can.",
        "Two ways out: begin the same search again at other tiles; or look at all neighbours that"
        " have the next size up or down on one axis or on two, and go on from the two best.",
        "Keep a dict of what you have asked, so that no tile is asked about twice, stop at 60, and"
        " return min(known, key=known.get). Four starts, such as (4, 4, 4), (16, 4, 4), (4, 8, 1)"
        " and (8, 8, 2), are enough for one axis after the other.",
    ),
    why_ours="A beam search: it continues from the best two, so a plateau does not end it. The one"
    " of tinygrad is called BEAM, and its costs are measured times.",
)
def check_16_12(judge: Judge, tuned: Any) -> None:
    """A tile with fewer misses than the start, within 1.1 times the best, found by at most 60
    questions."""
    for lines, least in LEAST.items():
        given, asked = f"a cache of {lines} lines", []  # type: ignore[var-annotated]

        def cost(tile: Any, lines: int = lines, asked: list[Any] = asked) -> int:
            form = isinstance(tile, tuple) and len(tile) == 3 and all(s in TILES for s in tile)
            if not form:
                raise ValueError(f"{tile!r} is no tile: three of the sizes, as (4, 4, 4)")
            asked.append(tile)
            return misses(tile, lines)

        best = judge.call(tuned, cost, TILES, START, given=given, again=False)
        judge.that(len(asked) <= QUESTIONS, f"{len(asked)} questions; {QUESTIONS} are allowed")
        form = isinstance(best, tuple) and len(best) == 3 and all(s in TILES for s in best)
        judge.that(form, f"it gives {short(best)}; a tile of three sizes is asked for")
        got, default = misses(best, lines), misses(START, lines)
        judge.that(got < default, f"{best} has {got} misses; the start {START} has {default}")
        most = NEAR * least
        judge.that(got <= most, f"{best} has {got} misses; the best of all has {least}, and"
                   f" {int(most)} are enough")  # fmt: skip


# ---- challenges ----------------------------------------------------------------------------------


def _doubled() -> dict[str, tuple[Lines, list[str], int]]:
    """Programs, their results, and how many calculated lines are enough."""
    x, y = line("x", "input", size=(2, 2)), line("y", "input", size=(2, 2))
    return {
        "the same twice": ([x, y, line("a", "add", "x y", (2, 2)), line("b", "add", "x y", (2, 2)),
                            line("c", "mul", "a b", (2, 2))], ["c"], 2),
        "another op": ([x, line("a", "exp", "x", (2, 2)), line("b", "neg", "x", (2, 2))],
                       ["a", "b"], 2),
        "the same after the same": (
            [x, line("a", "exp", "x", (2, 2)), line("b", "exp", "x", (2, 2)),
             line("c", "neg", "a", (2, 2)), line("d", "neg", "b", (2, 2)),
                                     line("e", "mul", "c d", (2, 2))], ["e"], 3),
        "a result that is the same as another": (
            [x, line("a", "exp", "x", (2, 2)), line("b", "exp", "x", (2, 2))], ["a", "b"], 1),
        "operands the other way round": (
            [x, y, line("a", "pow", "x y", (2, 2)), line("b", "pow", "y x", (2, 2))],
            ["a", "b"], 2),
        "another axis, and the same shape": (
            [x, line("a", "sum", "x", (2,), 2, axis=(0,)), line("b", "sum", "x", (2,), axis=(1,))],
            ["a", "b"], 2),
        "two inputs": ([x, y, line("a", "neg", "x", (2, 2)), line("b", "neg", "y", (2, 2))],
                       ["a", "b"], 2),
    }  # fmt: skip


@exercise(
    "16.s1",
    "Once is enough",
    answer="once",
    minutes=20,
    hints=(
        "Two lines are the same if op, inputs and params are. But their inputs may have been"
        " replaced by then.",
        "Keep a dict from names to the names that replace them, and translate the inputs of each"
        " line before you compare it. Inputs and constants are never the same as others.",
        "key = line.op, inputs, repr(params). Where the key is known, only note the replacement;"
        " otherwise keep line._replace(inputs=inputs). At the end translate the results.",
    ),
    why_ours="One walk, since a line comes after all that it uses. This is common subexpression"
    " elimination. Backward passes give it much to do: they repeat what forward has done.",
)
def check_16_s1(judge: Judge, once: Any) -> None:
    """(lines, results) in which nothing is calculated twice; the numbers are the same."""
    lib = ours(16)
    cases = _doubled()
    lines, results = programs()["softmax and cross-entropy, square"]
    cases["softmax and cross-entropy"] = (lines, results, len(calculated(lines)))
    for name, (lines, results, most) in cases.items():
        got = judge.call(once, lines, results, given=name)
        pair = isinstance(got, tuple | list) and len(got) == 2
        judge.that(pair, f"it gives {kind(got)}; (lines, results) is asked for")
        found, names = got
        lists = isinstance(found, list) and isinstance(names, list)
        judge.that(lists, "a list of lines and a list of names are asked for")
        judge.equal([one.name for one in found if one.op == "input"],
                    [one.name for one in lines if one.op == "input"])  # fmt: skip
        faults = lib.verify(found, names)
        judge.that(not faults, f"the program is broken: {faults[:1]}")
        count = len(calculated(found))
        judge.that(count <= most, f"{count} lines are calculated; {most} are enough")
        size = next(one.shape for one in lines if one.op == "input")
        inputs = [lib.zeros(size) for one in lines if one.op == "input"]
        for k, t in enumerate(inputs):
            t.fill([(i * (k + 2) % 7 + 1) / 4 for i in range(t.numel())])
        before, after = [[t.tolist() for t in lib.evaluate(*program, inputs)]
                         for program in ((lines, results), (found, names))]  # fmt: skip
        judge.equal(after, before, given=name, signs=True)


class OnePass:
    """Numbers that can be walked through once only."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self.numbers, self.left = numbers, iter(numbers)

    def __iter__(self) -> Any:
        return self.left

    def __repr__(self) -> str:
        return f"OnePass({self.numbers})"


@exercise(
    "16.s2",
    "One pass over a row",
    answer="one_pass",
    minutes=15,
    hints=(
        "While you walk, keep the largest so far, and the sum of e**(x - largest) so far. What"
        " becomes of the sum when a larger one comes?",
        "Every term has a factor e**(-old largest) that should be e**(-new largest): multiply the"
        " sum by e**(old - new).",
        "if x > m: s = s * math.exp(m - x) + 1; m = x. Else s += math.exp(x - m). Begin with"
        " m = -inf and s = 0, and mind -inf - -inf, which is nan.",
    ),
    why_ours="This step makes flash attention possible: softmax without a whole row in memory. The"
    " kernel for the largest and that for the sum become one.",
)
def check_16_s2(judge: Judge, one_pass: Any) -> None:
    """(largest, sum of e**(x - largest)), from numbers that can be walked through only once."""
    inf = math.inf
    rows: list[list[float]] = [
        [0.0], [1.0, 2.0, 0.5], [3.0, 2.0, 1.0], [1000.0, 1001.0, 999.5], [-1000.0, -1001.0],
        [-inf, 1.0, -inf, 2.0], [1.0, -inf], [-inf, -inf, 0.25], [2.0, 2.0, 2.0],
        [i * 0.25 % 3.1 for i in range(50)], [-800.0, 800.0],
    ]  # fmt: skip
    for row in rows:
        top = max(row)
        right = (top, math.fsum(math.exp(x - top) for x in row))
        got = judge.call(one_pass, OnePass(row), changes=True)
        pair = isinstance(got, tuple | list) and len(got) == 2 and all(map(is_number, got))
        judge.that(pair, f"it gives {short(got)}; two numbers are asked for")
        judge.close(tuple(got), right, rtol=1e-12, mistakes={
            "the sum of e**(x - the first)": lambda row=row, top=top: (
                top, sum(math.exp(x - row[0]) for x in row)),
            "the sum was not brought to the new largest": lambda row=row, top=top: (
                top, _not_scaled(row)),
        })  # fmt: skip


def _not_scaled(row: Sequence[float]) -> float:
    top, found = -math.inf, 0.0
    for x in row:
        top = max(top, x)
        found += math.exp(x - top)
    return found


# ---- questions -----------------------------------------------------------------------------------

question(
    "16.q1",
    "A chain of ten operations on a million float32. How many bytes move if it is one kernel?",
    right=8_000_000,
    why="a million numbers are read and a million written, of 4 bytes each; what lies between stays"
    " in registers. Ten kernels would move ten times as much",
)
question(
    "16.q2",
    "if x.sum().item() > 0 is traced, and called with five different sums, all of them positive",
    right=5,
    why="item() gives the sum itself, so the guard asks for that very number again. Ask for the"
    " decision, (x.sum() > 0).item(), and once is enough",
)
question(
    "16.q3",
    "Which rewrite can change a bit of a float32?",
    choices={"a": "x * 1 to x", "b": "x * 2 to x + x", "c": "(x + y) + z to x + (y + z)"},
    right="c",
    why="each addition rounds, and in the other order other sums are rounded: 1e8 - 1e8 + 1",
    tempting={
        "a": "it looks like a rule that could fail for nan or -0.0, but both stay what they are",
        "b": "both are exactly twice x, rounded once: the same bits, infinity included",
    },
)
question(
    "16.q4",
    "losses.append(step(x)) for a hundred steps, and at the end all hundred are equal",
    choices={"a": "a stale constant", "b": "results that share memory", "c": "a missing guard"},
    right="b",
    why="every entry of the list is the same memory, which the last step has written",
    tempting={
        "a": "then the loss would depend on old numbers, but each step would still differ with x",
        "c": "then a branch would be the wrong one; the hundred results would not all be equal",
    },
)
question(
    "16.q5",
    "A compiler keeps t = x * y in a register and uses it for t + z with one rounding (fma). What"
    " happens to the equal bits?",
    choices={
        "a": "they are equal: fma is more exact",
        "b": "they may differ, just because it is more exact",
        "c": "they differ only for inf and nan",
    },
    right="b",
    why="the library rounds x * y and then the sum. More exact is different: either both do it, or"
    " the compiler is told -ffp-contract=off",
    tempting={
        "a": "it is more exact, and so it is not the same number",
        "c": "it is ordinary numbers that differ, in their last bit",
    },
)
