"""Chapters 4 and 4b, ops and the registry: eleven exercises, four challenges, seven questions."""

from __future__ import annotations

import itertools
import math
import operator
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from course.exercise import Judge, exercise, question
from course.library import ours
from tutor import viz

ch04, ch04b = ours(4), ours("04b")
Buffer, Tensor = ch04.Buffer, ch04.Tensor
Shape = tuple[int, ...]


def numbers(*shape: int, dtype: str = "float64", first: float = 1.0) -> Any:
    """A tensor of numbers that are all different."""
    count = ch04.zeros(shape).numel()
    return Tensor(Buffer([first + 0.5 * i * i for i in range(count)], dtype), shape)


def tensor(judge: Judge, value: Any, what: str) -> Any:
    """The value, if it is a tensor; else the verdict says what it is."""
    found = f"{value!r:.60}: a Tensor was expected"
    if hasattr(value, "apply") and hasattr(value, "inputs"):
        found = f"an Op that was not run, {type(value).__name__}(...): .apply() gives the Tensor"
    judge.that(hasattr(value, "shape") and hasattr(value, "values"), f"{what} is {found}")
    return value


def executed(judge: Judge, Class: Any, *inputs: Any, **params: Any) -> tuple[Any, Any]:  # noqa: N803
    """An object of the learner's Op class, and the tensor that its apply() gives."""
    judge.that(isinstance(Class, type), f"{Class!r:.60} is no class")
    op = judge.instance(Class, *inputs, **params)
    for method in ("apply", "backward"):
        judge.that(hasattr(op, method), f"it has no method {method!r}: is it an Op?")
    return op, tensor(judge, judge.run(lambda: op.apply()), "what apply() gives")


def gradients(judge: Judge, op: Any, g: Any, count: int, given: str) -> list[Any]:
    """What op.backward(g) gives: a tuple, or a list, of so many."""
    grads = judge.call(op.backward, g, given=given)
    wanted = "a tuple of one gradient" if count == 1 else f"{count} gradients"
    judge.that(
        isinstance(grads, tuple | list) and len(grads) == count,
        f"backward gives {grads!r:.60}, and not {wanted}",
        given=given,
    )
    return list(grads)


def made_of_operations(judge: Judge, op: Any, g: Any, given: str) -> None:
    """What backward gives must come out of Ops, or it cannot be differentiated again."""
    classes: set[Any] = {c for c in type(op).__mro__ if "execute" in vars(c)} | {ch04.Op}
    usual = {c: vars(c)["execute"] for c in classes}
    seen: list[Any] = []

    def watching(one: Any) -> Any:
        seen.append(one)
        return one.forward(*one.inputs)

    try:
        for c in classes:
            c.execute = staticmethod(watching)
        judge.call(op.backward, g, given=given)
    finally:
        for c, execute in usual.items():
            c.execute = execute
    judge.that(
        seen,
        "backward runs no operation, so its result could not be differentiated again: use Ops, or "
        "the operators and methods of tensors, and no functions that work on their memory",
        given=given,
    )


def turned(t: Any) -> Any:
    """The same numbers, in other places of memory: a view that is not contiguous."""
    back = range(len(t.shape))[::-1]
    copy = Tensor(Buffer(ch04.permute(t, back).values(), t.buf.dtype), t.shape[::-1])
    return ch04.permute(copy, back)


# ---- the registry --------------------------------------------------------------------------------


@exercise(
    "04.1",
    "A table instead of a ladder",
    answer="Registry",
    minutes=15,
    hints=(
        "The key of the dictionary is a tuple: self.kernels[name, backend, dtype]. In lookup the "
        "backend is self.backend.",
        "`dict.get` gives None where there is nothing, and `[...]` raises a KeyError that says "
        "little. Ask `key in self.kernels` first, and raise your own LookupError.",
        "For the message, go through the keys: for n, b, d in self.kernels, collect d (and b, if "
        "you like) where n == name. Put name, dtype, self.backend and that list into the message.",
    ),
    without=("tutor",),
    why_ours="The error lists the pairs of dtype and backend that this name has, and nothing else: "
    "whoever reads it sees at once whether a cast or another backend would help.",
)
def check_04_1(judge: Judge, Registry: Any) -> None:  # noqa: N803 - it is a class
    """lookup finds what was registered for this name, dtype and backend, or says what there is."""
    judge.that(isinstance(Registry, type), f"{Registry!r:.60} is no class")
    one, other = judge.instance(Registry), judge.instance(Registry)
    register, lookup = judge.run(lambda: (one.register, one.lookup))

    def finds(name: str, dtype: str, kernel: Any, given: str) -> None:
        found = judge.call(lookup, name, dtype, given=given)
        judge.that(found is kernel, f"it is {found!r:.60}, and not the kernel entered", given=given)

    given = "on the backend python, which is in use"
    judge.call(register, "add", operator.add, dtypes=["float32", "int64"], changes=True)
    judge.call(register, "neg", operator.neg, dtypes=["float32"], changes=True)
    finds("add", "float32", operator.add, given)
    finds("add", "int64", operator.add, given)
    finds("neg", "float32", operator.neg, given)
    keys = {(name, "python", dtype) for name, dtype in
            [("add", "float32"), ("add", "int64"), ("neg", "float32")]}  # fmt: skip
    kept = judge.run(lambda: set(one.kernels))
    judge.equal(sorted(kept, key=str), sorted(keys, key=str), given="the keys of self.kernels")
    judge.call(register, "add", operator.mul, dtypes=["int64"], changes=True)
    finds("add", "int64", operator.mul, "what was entered last replaces what was there")
    finds("add", "float32", operator.add, "float32 was not to be replaced")
    judge.call(register, "exp", math.exp, changes=True)
    for dtype in ch04.FORMATS:
        finds("exp", dtype, math.exp, "registered without dtypes: for all of them")

    judge.call(register, "mul", math.prod, "fast", ["float32"], changes=True)
    judge.call(register, "add", math.fsum, "fast", ["float32"], changes=True)
    finds("add", "float32", operator.add, "on python, though there is one on fast, too")
    one.backend = "fast"
    finds("add", "float32", math.fsum, "after registry.backend = 'fast'")
    finds("mul", "float32", math.prod, "after registry.backend = 'fast'")
    about = "fast has add for float32 only; on python there are float32 and int64"
    for words in ("add", "int64", "fast", "float32"):
        judge.raises(LookupError, lookup, "add", "int64", match=words, given=about)
    one.backend = "python"
    refuses(judge, lookup)
    judge.raises(LookupError, lookup, "mul", "float32", match="mul", given="only fast has mul")
    empty = judge.run(lambda: other.lookup)
    judge.raises(LookupError, empty, "add", "int64", given="a second Registry, still empty")


def refuses(judge: Judge, lookup: Any) -> None:
    """The message names what was asked for, and what there is of this name: of no other."""
    for name, dtype, there in [
        ("neg", "int8", ["float32"]),
        ("add", "bool", ["float32", "int64"]),
        ("mul", "int64", ["float32"]),
        ("sub", "uint16", []),
    ]:
        given = f"{name!r} was registered for {' and '.join(there) or 'nothing'}"
        for words in (name, dtype, *there):
            judge.raises(LookupError, lookup, name, dtype, match=words, given=given)
        said = ""
        try:
            lookup(name, dtype)
        except LookupError as error:
            said = str(error)
        wrong = [d for d in ch04.FORMATS if d in words_of(said) and d not in (dtype, *there)]
        found = f"the message has {', '.join(wrong)}, which {name!r} does not have: {said!r:.160}"
        judge.that(not wrong, found, given=given)


def words_of(text: str) -> set[str]:
    """The words of a message, without what stands around them."""
    return set("".join(c if c.isalnum() else " " for c in text).split())


# ---- kernels -------------------------------------------------------------------------------------


@exercise(
    "04.2",
    "From a function of numbers to a kernel",
    answer="elementwise",
    minutes=10,
    hints=(
        "elementwise returns a function. Inside of it, read every input with .values(), and write "
        "with out.fill(...), once.",
        "def kernel(out, *ins): gathers any number of inputs. `zip(*lists)` then gives the first "
        "elements of all of them together, and so on.",
        "out.fill([f(*elements) for elements in zip(*[x.values() for x in ins])])",
    ),
    without=("tutor",),
    why_ours="`map` takes as many lists as `f` takes numbers, so one expression does for one "
    "input, for two and for three.",
)
def check_04_2(judge: Judge, elementwise: Any) -> None:
    """The kernel writes f of the elements into out, whatever walks its operands take."""
    a = Tensor([[1, 2], [3, 4]])
    kernel = judge.call(elementwise, operator.add)
    judge.that(callable(kernel), f"elementwise(f) gives {kernel!r:.60}, which cannot be called")
    rows = Tensor([[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])
    cases: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "a + a, a = [[1, 2], [3, 4]]": (operator.add, [a, a]),
        "a + a.T, a = [[1, 2], [3, 4]]": (operator.add, [a, ch04.transpose(a)]),
        "a * a row stretched over it": (operator.mul, [a, ch04.expand(Tensor([10, 20]), (2, 2))]),
        "two views of one Buffer, one of them reversed": (
            operator.sub,
            [rows[1:, 1:3], rows[:2, ::-2]],
        ),
        "-x of a column": (operator.neg, [rows[:, 2]]),
        "x if c else y, three inputs": (
            lambda c, x, y: x if c else y,
            [Tensor([[0, 1], [1, 0]]), a, ch04.transpose(a)],
        ),
    }  # fmt: skip
    for given, (f, ins) in cases.items():
        expected = list(map(f, *[x.values() for x in ins]))
        out = ch04.zeros(ins[0].shape)
        apply(judge, elementwise, f, out, ins, expected, given)
    whole = ch04.zeros((4, 4))
    out = whole[::-2, 1:3]
    apply(judge, elementwise, operator.add, out, [a, a], [2, 4, 6, 8], "an `out` that is a view")
    left = sum(x == 0 for x in whole.values())
    judge.that(left == 12, "it has also written beside the elements of `out`, a view")


def apply(
    judge: Judge,
    elementwise: Any,
    f: Any,
    out: Any,
    ins: list[Any],
    expected: list[Any],
    given: str,
) -> None:
    """Call the kernel elementwise(f), and compare what it has written into out."""
    kernel = judge.call(elementwise, f)
    judge.picture(viz.row(*[viz.explain(t) for t in (*ins, out)]))
    before = [x.tolist() for x in ins]
    judge.call(kernel, out, *ins, changes=True, given=given)
    judge.equal(list(out.values()), [float(x) for x in expected], given=given)
    judge.equal([x.tolist() for x in ins], before, given=given + "; the inputs afterwards")


@exercise(
    "04.8",
    "From a function of a list to a kernel",
    answer="reduction",
    minutes=15,
    hints=(
        "First for x of shape (2, 3) and axis=(1,): `values()` gives the rows one after the other, "
        "and `parts` cuts them apart. For other axes, move those that go to the end first.",
        "kept = [a for a in range(len(x.shape)) if a not in axis]; permute(x, [*kept, *axis]) is x "
        "with the axes that go at the end. Of how many numbers is each part? `out` knows how many "
        "parts there are.",
        "out.fill([f(part) for part in parts(permute(x, [*kept, *axis]).values(), out.numel())])",
    ),
    without=("tutor",),
    why_ours="The axes that go are moved to the end by a view; then what belongs together lies "
    "together, and neither the number of axes nor their places matter any more.",
)
def check_04_8(judge: Judge, reduction: Any) -> None:
    """Each element of out is f of the list of those elements of x that differ along `axis` only."""

    def first_minus_last(found: list[float]) -> float:
        return found[0] - 2 * found[-1] if found else 0.5

    shapes: list[tuple[Shape, Shape]] = [
        ((2, 3), (1,)), ((2, 3), (0,)), ((2, 3), (0, 1)), ((4,), (0,)), ((2, 3, 4), (1,)),
        ((2, 3, 4), (0, 2)), ((3, 3), (0,)), ((2, 3), ()), ((1, 3), (0,)), ((2, 0), (1,)),
    ]  # fmt: skip
    for name, f in (("sum", sum), ("the first, minus twice the last", first_minus_last)):
        kernel = judge.call(reduction, f)
        judge.that(callable(kernel), f"reduction(f) gives {kernel!r:.60}, which cannot be called")
        for shape, axis in shapes:
            for about, x in (("", numbers(*shape)), (", a view", turned(numbers(*shape)))):
                kept = [a for a in range(len(shape)) if a not in axis]
                given = f"f is {name}; x of shape {shape}{about}, axis={axis}"
                places = list(itertools.product(*(range(shape[a]) for a in kept)))
                lists: dict[Shape, list[float]] = {place: [] for place in places}
                for index, value in zip(
                    itertools.product(*map(range, shape)), x.values(), strict=True
                ):
                    lists[tuple(index[a] for a in kept)].append(value)
                out = ch04.zeros([shape[a] for a in kept], "float64")
                before = x.tolist()
                judge.call(kernel, out, x, axis, changes=True, given=given)
                judge.equal(x.tolist(), before, given=given + "; x afterwards")
                expected = [float(f(found)) for found in lists.values()]
                judge.close(list(out.values()), expected, given=given)
    whole, x = ch04.zeros((4, 2), "float64"), numbers(2, 3)
    out = ch04.select(whole, (slice(None, None, -2), 1))
    judge.call(
        judge.call(reduction, sum), out, x, (1,), changes=True, given="an `out` that is a view"
    )
    first, second = sum(x.values()[:3]), sum(x.values()[3:])
    filled = [[0.0, 0.0], [0.0, second], [0.0, 0.0], [0.0, first]]
    judge.close(whole.tolist(), filled, given="an `out` that is a view")


# ---- promotion -----------------------------------------------------------------------------------


@exercise(
    "04.3",
    "The dtype that holds both",
    answer="promote",
    minutes=10,
    hints=(
        "Three things are needed: the richer kind, a sign if one of them has one, and as many bits "
        "as the one with more.",
        "`[max(pair) for pair in zip(SIZES[a], SIZES[b])]` are the three needs. A dtype will do if "
        "it is at least as large in all three.",
        "for d in SIZES: if all(has >= need for has, need in zip(SIZES[d], needed)): return d",
    ),
    without=("tutor",),
    why_ours="The three needs are found first, each by itself; so no pair of dtypes is a case of "
    "its own, and a dtype more would be a line in `SIZES` and nothing else.",
)
def check_04_3(judge: Judge, promote: Any) -> None:
    """The smallest dtype that holds every number of both, for all 144 pairs."""
    first = [("float32", "float32"), ("int8", "int32"), ("int8", "uint8"), ("int32", "float32")]
    for a, b in [*first, *itertools.product(ch04b.SIZES, repeat=2)]:
        judge.equal(judge.call(promote, a, b), ch04b.promote(a, b))


@exercise(
    "04.11",
    "A Python number beside a tensor",
    answer="beside",
    minutes=10,
    hints=(
        "Find the number's own dtype first. Ask for bool before you ask for int.",
        "Compare two kinds: SIZES[dtype][0] of the tensor's dtype, and the same of the number's.",
        "own is 'bool', 'int64' or 'float32'; return dtype if SIZES[dtype][0] >= SIZES[own][0] "
        "else own",
    ),
    without=("tutor", "promote"),
    why_ours="Only the kinds are compared, never the bits: a number in a program is to have as "
    "little say as possible.",
)
def check_04_11(judge: Judge, beside: Any) -> None:
    """The tensor's dtype, unless its kind is too poor for the number; then the number's own."""
    kinds = {"bool": 0, "float16": 2, "float32": 2, "float64": 2}
    for number in (2, 0.5, True, -1, 1e300, False, 2.0, 0, 10**6, math.inf):
        own = "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else ""
        own = own or "float32"
        for dtype in ("float16", "int32", "bool", "uint8", "float64", "int64", "float32", "int8"):
            rich = kinds.get(dtype, 1) >= kinds.get(own, 1)
            judge.equal(judge.call(beside, number, dtype), dtype if rich else own)


def sound(a: str, b: str) -> str:
    return str(ch04b.promote(a, b))


def larger(a: str, b: str) -> str:
    """As `linear` of the text: the later one in the list."""
    return max(a, b, key=list(ch04b.SIZES).index)


def always_float32(a: str, b: str) -> str:
    return "float32"


def the_first(a: str, b: str) -> str:
    return a


@exercise(
    "04.12",
    "Bug hunt: what a list loses",
    answer="losing",
    minutes=10,
    hints=(
        "For one pair: what does the rule give, and is that as large as a in all three respects? "
        "And as b?",
        "Two loops over SIZES. For d = rule(a, b), something is lost if one of SIZES[d] is smaller "
        "than the same one of SIZES[a] or of SIZES[b].",
        "any(has < max(m, n) for has, m, n in zip(SIZES[rule(a, b)], SIZES[a], SIZES[b]))",
    ),
    without=("tutor",),
    why_ours="It asks whether the dtype is large enough, and not whether it is the one that "
    "`promote` would give: a dtype that is too large loses nothing.",
)
def check_04_12(judge: Judge, losing: Any) -> None:
    """All pairs, in the order of two loops, for which the rule's dtype is too poor for one."""
    for rule in (sound, larger, always_float32, the_first):
        got = judge.call(losing, rule)
        expected = []
        for a, b in itertools.product(ch04b.SIZES, repeat=2):
            has = ch04b.SIZES[rule(a, b)]
            if any(x < max(y, z) for x, y, z in
                   zip(has, ch04b.SIZES[a], ch04b.SIZES[b], strict=True)):  # fmt: skip
                expected.append((a, b))
        judge.equal(got, expected)


# ---- operations ----------------------------------------------------------------------------------


@exercise(
    "04.4",
    "Mul",
    answer="Mul",
    minutes=10,
    hints=(
        "One more in x is y more in z, and each 1 in z is worth g. So what is it worth in all?",
        "`x, y = self.inputs`. The gradient of x is g times y, element by element: Mul(g, y).",
        "x, y = self.inputs; return Mul(g, y).apply(), Mul(g, x).apply()",
    ),
    without=("tutor",),
    why_ours="The gradients are products, so they are made by the same class. With operators, "
    "which tensors get next, one would write `g * y, g * x`.",
)
def check_04_4(judge: Judge, Mul: Any) -> None:  # noqa: N803 - it is a class
    """The forward is x * y; backward(g) gives g * y and g * x, in this order."""
    matrix = numbers(2, 2, first=3.0)
    cases = {
        "x = 3, y = 4, g = 10": (Tensor(3), Tensor(4), Tensor(10)),
        "x and y of shape (2, 3)": (numbers(2, 3), numbers(2, 3, first=5.0), numbers(2, 3)),
        "y the transpose of x": (matrix, ch04.transpose(matrix), numbers(2, 2)),
        "x = -2, y = 0.5, g = -3": (Tensor(-2), Tensor(0.5), Tensor(-3)),
    }
    for given, (x, y, g) in cases.items():
        op, z = executed(judge, Mul, x, y)
        judge.close(z, (x * y).tolist(), given=f"{given}: the product")
        grads = gradients(judge, op, g, 2, given)
        for name, got, other in zip("xy", grads, (y, x), strict=True):
            got = tensor(judge, got, f"the gradient of {name}")
            judge.close(got, (g * other).tolist(), given=f"{given}: the gradient of {name}")
    op, _ = executed(judge, Mul, numbers(2, 2), numbers(2, 2, first=3.0))
    made_of_operations(judge, op, numbers(2, 2), "x and y of shape (2, 2)")
    op, _ = executed(judge, Mul, numbers(2, 2), 5.0)
    got = tensor(judge, gradients(judge, op, numbers(2, 2), 2, "y is the number 5.0")[0], "of x")
    judge.close(got, (numbers(2, 2) * 5.0).tolist(), given="y is the number 5.0: the gradient of x")


@exercise(
    "04.5",
    "Sum",
    answer="Sum",
    minutes=10,
    hints=(
        "Put the axes that went away back, with size 1: a g of that shape can be stretched to the "
        "shape of x.",
        'kept = [1 if a in self.params["axis"] else n for a, n in enumerate(self.inputs[0].shape)]',
        "return (g.reshape(*kept).expand(*self.inputs[0].shape),)",
    ),
    without=("tutor",),
    why_ours="It is made of two views, so no number is copied on the way back, however large x "
    "was.",
)
def check_04_5(judge: Judge, Sum: Any) -> None:  # noqa: N803 - it is a class
    """The gradient is g, with the axes that went away put back, stretched to x's shape."""
    shapes = [((2, 3), (1,)), ((2, 3), (0,)), ((2, 3), (0, 1)), ((4,), (0,)), ((2, 3, 4), (1,))]
    shapes += [((2, 3, 4), (0, 2)), ((3, 3), (1,)), ((2, 3), ()), ((1, 3), (0,)), ((2, 1, 2), (0,))]
    cases = {f"x of shape {shape}, axis={axis}": (numbers(*shape), axis) for shape, axis in shapes}
    cases["x a transposed view, axis=(0,)"] = (ch04.transpose(numbers(2, 3)), (0,))
    for given, (x, axis) in cases.items():
        op, z = executed(judge, Sum, x, axis=axis)
        expected = x.sum(axis)
        judge.equal(tuple(z.shape), expected.shape, given=f"{given}: the shape of the sum")
        judge.close(z, expected.tolist(), given=f"{given}: the sum")
        g = numbers(*expected.shape, first=7.0)
        (got,) = gradients(judge, op, g, 1, given)
        got = tensor(judge, got, "the gradient")
        right = ch04.Sum(x, axis=axis).backward(g)[0]
        judge.equal(tuple(got.shape), x.shape, given=f"{given}: the shape of the gradient")
        judge.close(got, right.tolist(), given=f"{given}, g = {g.tolist()}: the gradient")
    op, _ = executed(judge, Sum, numbers(2, 3), axis=(1,))
    made_of_operations(judge, op, numbers(2), "x of shape (2, 3), axis=(1,)")


# ---- the matrix product --------------------------------------------------------------------------


def products() -> dict[str, tuple[Any, Any]]:
    """Pairs of matrices that fit: no square ones, square ones, views."""
    return {
        "x (2, 3), y (3, 4)": (numbers(2, 3), numbers(3, 4, first=5.0)),
        "x (1, 3), y (3, 1)": (numbers(1, 3), numbers(3, 1, first=2.0)),
        "x (2, 2), y (2, 2)": (numbers(2, 2), numbers(2, 2, first=4.0)),
        "x and y transposed views": (turned(numbers(2, 3)), turned(numbers(3, 4, first=-2.0))),
        "x a part of a larger one": (ch04.select(numbers(3, 4), (ALL, STEP)), numbers(2, 2)),
        "x (3, 1), y (1, 2)": (numbers(3, 1), numbers(1, 2, first=3.0)),
    }


ALL, STEP = slice(None), slice(None, None, -2)


def product(x: list[list[float]], y: list[list[float]]) -> list[list[float]]:
    """The product of nested lists, by the definition."""
    columns = list(zip(*y, strict=True))
    return [[sum(map(operator.mul, row, column)) for column in columns] for row in x]


def flipped(rows: list[list[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*rows, strict=True)]


def flat(rows: list[list[float]]) -> list[float]:
    return [x for row in rows for x in row]


class Bare(Tensor):  # type: ignore[misc, valid-type]
    """A Tensor that remembers whether it was asked for a product by `@`."""

    def __init__(self, t: Any) -> None:
        super().__init__(t.buf, t.shape, t.strides, t.offset)
        self.asked = False

    def __matmul__(self, other: Any) -> Any:
        self.asked = True
        return ch04.MatMul(self, other).apply()


@exercise(
    "04.9",
    "The kernel of the matrix product",
    answer="matmul",
    minutes=10,
    hints=(
        "rows = parts(x.values(), x.shape[0]) are the rows of x. How do you get the columns of y?",
        "The columns of y are the rows of transpose(y): parts(transpose(y).values(), y.shape[1]).",
        "out.fill([sum(a * b for a, b in zip(row, column)) for row in rows for column in columns])",
    ),
    without=("tutor", "MatMul"),
    why_ours="The order of the two loops is the order in which `fill` wants the numbers, so no "
    "position has to be worked out.",
)
def check_04_9(judge: Judge, matmul: Any) -> None:
    """out[i, j] is the sum over k of x[i, k] y[k, j], whatever walks the three take."""
    for given, (x, y) in products().items():
        out = ch04.zeros((x.shape[0], y.shape[1]), "float64")
        out.fill([777.0] * out.numel())
        bare, before = Bare(x), [x.tolist(), y.tolist()]
        judge.call(matmul, out, bare, y, changes=True, given=given)
        judge.equal([x.tolist(), y.tolist()], before, given=given + "; x and y afterwards")
        judge.that(not bare.asked, "it asks for x @ y, which is what this kernel is for")
        judge.close(out, product(x.tolist(), y.tolist()), given=given)
    whole, x, y = ch04.zeros((2, 2), "float64"), numbers(2, 3), numbers(3, 2, first=-1.0)
    judge.call(matmul, ch04.transpose(whole), x, y, changes=True, given="an `out` that is a view")
    right = flipped(product(x.tolist(), y.tolist()))
    judge.close(whole, right, given="an `out` that is a view: its Buffer")
    whole = Tensor([[2**53, 1], [0, 1]], dtype="int64")
    out = ch04.zeros((2, 2), "int64")
    judge.call(matmul, out, whole, whole, changes=True, given="int64")
    judge.equal(out.tolist(), [[2**106 % 2**64, 2**53 + 1], [0, 1]], given="int64, exact")


@exercise(
    "04.7",
    "MatMul, the whole operation",
    answer="MatMul",
    minutes=15,
    hints=(
        "prepare: if it fits, return (x.shape[0], y.shape[1]), alike((x, y)). For backward, write "
        "down the shapes of g, x and y, and see which product has the shape of x.",
        "g is (m, n), y is (k, n): g times the transpose of y is (m, k). For y, (k, n): what is "
        "(k, m) times (m, n)?",
        "MatMul(g, y.T).apply() if x.requires_grad else None, and MatMul(x.T, g).apply() if "
        "y.requires_grad else None",
    ),
    without=("tutor",),
    why_ours="A gradient that nobody wants is not made: in the first layer of a network that saves "
    "one product of three.",
)
def check_04_7(judge: Judge, MatMul: Any) -> None:  # noqa: N803 - it is a class
    """The product; a ValueError where shapes do not fit; g y^T and x^T g, or None."""
    for given, (x, y) in products().items():
        x.requires_grad = y.requires_grad = True
        op, z = executed(judge, MatMul, x, y)
        right = product(x.tolist(), y.tolist())
        judge.equal(tuple(z.shape), (x.shape[0], y.shape[1]), given=given + ": the shape")
        judge.close(z, right, given=given + ": the product")
        g = numbers(*z.shape, first=-3.0)
        grads = gradients(judge, op, g, 2, given)
        gs, xs, ys = (t.tolist() for t in (g, x, y))
        wanted = {"x": product(gs, flipped(ys)), "y": product(flipped(xs), gs)}
        for (name, expected), got, t in zip(wanted.items(), grads, (x, y), strict=True):
            got = tensor(judge, got, f"the gradient of {name}")
            where = f"{given}: the gradient of {name}"
            judge.equal(tuple(got.shape), t.shape, given=where + ", its shape")
            judge.close(got, expected, given=where)
    x.requires_grad = y.requires_grad = True
    op, z = executed(judge, MatMul, x, y)
    made_of_operations(judge, op, numbers(*z.shape), given)
    for first, second in ((True, False), (False, True), (False, False)):
        x, y = numbers(2, 3), numbers(3, 4)
        x.requires_grad, y.requires_grad = first, second
        op, z = executed(judge, MatMul, x, y)
        given = f"x.requires_grad is {first}, y.requires_grad is {second}"
        grads = gradients(judge, op, numbers(2, 4), 2, given)
        found = [got is not None for got in grads]
        judge.equal(found, [first, second], given=given + ": which gradients are not None")
    wrong: list[tuple[Shape, Shape]] = [((2, 3), (2, 3)), ((2, 3), (4, 2)), ((3,), (3, 2)),
                                        ((2, 3), (3,)), ((2, 2, 3), (3, 2))]  # fmt: skip
    for shape, other in wrong:
        x, y = numbers(*shape), numbers(*other)
        for words in (str(shape), str(other)):
            judge.raises(
                ValueError, lambda x=x, y=y: MatMul(x, y).apply(), match=re.escape(words),
                called="MatMul(x, y).apply()", given=f"x of shape {shape}, y of shape {other}",
            )  # fmt: skip


# ---- another backend -----------------------------------------------------------------------------


class Array:
    """Takes what numpy.ndarray takes, and walks the bytes as that does."""

    def __init__(
        self,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> None:
        if str(dtype) not in ch04b.FORMATS:
            raise TypeError(f"data type {dtype!r} not understood")
        self.shape, self.dtype, self.offset = tuple(shape), str(dtype), offset
        self.buffer = buffer
        self.strides = None if strides is None else tuple(strides)
        self.room = memoryview(b"" if buffer is None else buffer).nbytes

    def positions(self) -> Iterator[int]:
        """Where each element begins, in bytes."""
        form = ch04b.FORMATS[self.dtype]
        strides = self.strides or [s * struct.calcsize(form) for s in ch04b.strides_for(self.shape)]
        for index in itertools.product(*map(range, self.shape)):
            yield self.offset + sum(map(operator.mul, index, strides))

    def values(self) -> list[Any]:
        """The elements, row by row."""
        form = ch04b.FORMATS[self.dtype]
        return [struct.unpack_from(form, self.buffer, p)[0] for p in self.positions()]


@exercise(
    "04.6",
    "Lend it to NumPy",
    answer="lend",
    minutes=10,
    hints=(
        "It is one call of `ndarray`, with five arguments; all of them are attributes of t or of "
        "t.buf, two of them not quite.",
        "Our offset and strides count numbers, NumPy's count bytes: multiply by t.buf.itemsize.",
        "size = t.buf.itemsize; return ndarray(t.shape, t.buf.dtype, t.buf.raw, t.offset * size, "
        "tuple(s * size for s in t.strides))",
    ),
    without=("tutor", "numpy"),
    why_ours="It is one call, and nothing is copied: two libraries look at the same bytes, and "
    "what one of them writes the other one reads.",
)
def check_04_6(judge: Judge, lend: Any) -> None:
    """The array has the tensor's bytes, shape and dtype; its offset and strides are in bytes."""
    rows = numbers(3, 4, dtype="float32")
    cases = {
        "t of shape (3, 4)": rows,
        "t transposed": ch04.transpose(rows),
        "t[1:]": rows[1:],
        "t[:, ::-2]": rows[:, ::-2],
        "one column stretched": rows[:, :1].expand(3, 5),
        "float64": numbers(2, 2),
        "int16, reversed": numbers(5, dtype="int16")[::-1],
        "a single number": Tensor(3),
    }
    for given, t in cases.items():
        judge.picture(viz.explain(t))
        array = judge.call(lend, Array, t, given=given)
        judge.that(isinstance(array, Array), f"it gives {array!r:.60}, and no array", given=given)
        judge.equal((array.shape, array.dtype), (t.shape, t.buf.dtype), given=given)
        whose = getattr(array.buffer, "obj", array.buffer)  # a memoryview is a look at other bytes
        same = whose is t.buf.raw
        judge.that(same, "the bytes are not those of the tensor: a copy?", given=given)
        ends = [p + t.buf.itemsize for p in array.positions()]
        inside = all(isinstance(e, int) and t.buf.itemsize <= e <= array.room for e in ends)
        found = f"with offset {array.offset} and strides {array.strides} it leaves the memory"
        judge.that(inside, found, given=given)
        judge.equal(array.values(), list(t.values()), given=given)


# ---- for those who want more ---------------------------------------------------------------------


@exercise(
    "04.s1",
    "The running sum, and its derivative",
    answer="CumSum",
    minutes=20,
    hints=(
        "For the forward, `parts` cuts x.values() into rows along the last axis, and "
        "`itertools.accumulate` adds them up on the way.",
        "x[i] occurs in z[i], z[i + 1], and so on to the end. So its gradient is g[i] + g[i + 1] + "
        "...: a running sum, too, but from the other end.",
        "Reverse g by a view, apply the class itself, and reverse what comes out.",
    ),
    without=("tutor",),
    why_ours="The way back is the operation itself, walked from the end: two views and one Op, so "
    "it can be differentiated again.",
)
def check_04_s1(judge: Judge, CumSum: Any) -> None:  # noqa: N803 - it is a class
    """Forward adds up along the last axis; backward does so from the end."""
    for shape in [(4,), (2, 3), (3, 3), (2, 2, 3), (1,), (3, 1), (2, 0)]:
        for about, x in (("", numbers(*shape)), (", a view", turned(numbers(*shape)))):
            given = f"x of shape {shape}{about}"
            op, z = executed(judge, CumSum, x)
            judge.equal(tuple(z.shape), shape, given=given + ": the shape")
            rows = ch04.parts(x.values(), max(x.numel() // max(shape[-1], 1), 0))
            sums = [total for row in rows for total in itertools.accumulate(row)]
            judge.close(list(z.values()), sums, given=given)
            g = numbers(*shape, first=-2.0)
            (got,) = gradients(judge, op, g, 1, given)
            got = tensor(judge, got, "the gradient")
            judge.equal(tuple(got.shape), shape, given=given + ": the shape of the gradient")
            behind = [
                total
                for row in ch04.parts(g.values(), len(rows))
                for total in list(itertools.accumulate(row[::-1]))[::-1]
            ]
            judge.close(list(got.values()), behind, given=given + ": the gradient")


@exercise(
    "04.s2",
    "Many products at once",
    answer="BatchMatMul",
    minutes=20,
    hints=(
        "Stretch both to the same leading axes first: broadcast_shapes of x.shape[:-2] and "
        "y.shape[:-2], then `expand`.",
        "For every index of the leading axes, select a matrix out of x, one out of y and one out "
        "of `out`, and call your kernel `matmul` with them.",
        "Backward is that of MatMul: g y^T and x^T g, by the class itself; `.T` exchanges the last "
        "two axes.",
    ),
    without=("tutor",),
    why_ours="All three matrices are views, so the kernel writes straight into the result, and "
    "nothing is copied.",
)
def check_04_s2(judge: Judge, BatchMatMul: Any) -> None:  # noqa: N803 - it is a class
    """The product of each pair of matrices, leading axes stretched; and both gradients."""
    cases: list[tuple[Shape, Shape]] = [
        ((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 2)), ((5, 2, 3), (3, 2)), ((2, 3), (4, 3, 2)),
        ((2, 1, 2, 3), (3, 3, 2)), ((2, 2, 2), (2, 2, 2)),
    ]  # fmt: skip
    for left, right in cases:
        x, y, given = turned(numbers(*left)), numbers(*right, first=-2.0), f"x {left}, y {right}"
        x.requires_grad = y.requires_grad = True
        lead = ch04.broadcast_shapes(left[:-2], right[:-2])
        op, z = executed(judge, BatchMatMul, x, y)
        shape = (*lead, left[-2], right[-1])
        judge.equal(tuple(z.shape), shape, given=given + ": the shape")
        xs, ys = (ch04.expand(t, (*lead, *t.shape[-2:])) for t in (x, y))
        g = numbers(*shape, first=3.0)
        gx, gy = ch04.zeros(xs.shape, "float64"), ch04.zeros(ys.shape, "float64")
        for index in itertools.product(*map(range, lead)):
            a, b, c = (ch04.select(t, index).tolist() for t in (xs, ys, g))
            judge.close(ch04.select(z, index).tolist(), product(a, b), given=f"{given}, at {index}")
            ch04.select(gx, index).fill(flat(product(c, flipped(b))))
            ch04.select(gy, index).fill(flat(product(flipped(a), c)))
        for name, got, t, whole in zip(
            "xy", gradients(judge, op, g, 2, given), (x, y), (gx, gy), strict=True
        ):
            got, where = tensor(judge, got, name), f"{given}: the gradient of {name}"
            shapes = tuple(got.shape) in (t.shape, whole.shape)
            judge.that(shapes, f"it has shape {tuple(got.shape)}", given=where)
            summed = judge.call(ch04.reduce_to, got, t.shape, given=where)
            judge.close(summed, ch04.reduce_to(whole, t.shape).tolist(), given=where)


@exercise(
    "04.s3",
    "A registry that remembers",
    answer="Remembering",
    minutes=20,
    hints=(
        "Three things change what the right answer is: register, the backend, and nothing else.",
        "`backend` is a plain attribute, so nobody tells you when it changes. You can remember the "
        "backend that `found` is about, and compare.",
        "Clear `found` in register, after super().register(...); in lookup, clear it if "
        "self.backend is not the one that you had remembered. Enter what super().lookup gives only "
        "after it has returned.",
    ),
    without=("tutor",),
    why_ours="It forgets everything as soon as anything changes: changes are rare, and a rule "
    "that forgets just enough is one more thing to get wrong.",
)
def check_04_s3(judge: Judge, Remembering: Any) -> None:  # noqa: N803 - it is a class
    """Right answers as those of Registry, and super() is asked once for each, until a change."""
    judge.that(isinstance(Remembering, type), f"{Remembering!r:.60} is no class")
    bases: list[Any] = [c for c in Remembering.__mro__[1:] if "lookup" in vars(c)]
    judge.that(bases, "it is no subclass of Registry")
    base, asked = bases[0], list[tuple[str, str]]()
    plain = base.lookup

    def listening(self: Any, name: str, dtype: str) -> Any:
        asked.append((name, dtype))
        return plain(self, name, dtype)

    base.lookup = listening
    try:
        one = judge.instance(Remembering)

        def looks(name: str, dtype: str, kernel: Any, count: int, given: str) -> None:
            before = len(asked)
            found = judge.call(one.lookup, name, dtype, changes=True, given=given)
            judge.that(
                found is kernel, f"it gives {found!r:.50}, and not {kernel!r:.50}", given=given
            )
            many = len(asked) - before
            judge.that(many == count, f"super().lookup was asked {many} times, not {count}",
                       given=given)  # fmt: skip

        judge.call(one.register, "add", math.fsum, dtypes=["float32", "int8"], changes=True)
        looks("add", "float32", math.fsum, 1, "for the first time")
        looks("add", "float32", math.fsum, 0, "for the second time")
        looks("add", "int8", math.fsum, 1, "another dtype, for the first time")
        looks("add", "float32", math.fsum, 0, "for the third time")
        judge.call(one.register, "add", math.prod, dtypes=["float32"], changes=True)
        looks("add", "float32", math.prod, 1, "after another kernel was registered")
        judge.call(one.register, "add", math.gcd, "fast", ["float32"], changes=True)
        looks("add", "float32", math.prod, 1, "after one was registered on another backend")
        one.backend = "fast"
        looks("add", "float32", math.gcd, 1, "after backend = 'fast'")
        looks("add", "float32", math.gcd, 0, "after backend = 'fast', again")
        one.backend = "python"
        looks("add", "float32", math.prod, 1, "after backend = 'python' again")
        judge.raises(LookupError, one.lookup, "mul", "float32", given="there is none")
        judge.call(one.register, "mul", math.dist, dtypes=["float32"], changes=True)
        looks("mul", "float32", math.dist, 1, "registered after it had been missing")
        looks("add", "float32", math.prod, 1, "after another name was registered")
        other = judge.instance(Remembering)
        judge.raises(LookupError, other.lookup, "add", "float32", given="a second one, still empty")
    finally:
        base.lookup = plain


@exercise(
    "04.s4",
    "More than two",
    answer="promote_all",
    minutes=10,
    hints=(
        "Try uint8, int8 and float16 in different orders, two at a time.",
        "Two at a time, uint8 and int8 become int16, whose 15 bits nobody had asked for.",
        "Find the three needs of all of them first, and then one dtype, once.",
    ),
    without=("tutor", "promote"),
    why_ours="What is needed is collected from all before anything is chosen; a choice on the way "
    "asks for more than any of them needs.",
)
def check_04_s4(judge: Judge, promote_all: Any) -> None:
    """The first dtype in SIZES that holds all numbers of all, whatever their order."""
    sizes = ch04b.SIZES
    some = ["uint8", "int8", "float16", "int32", "float32", "bool", "uint32", "int64"]
    lists = [["uint8", "int8", "float16"], ["uint8", "float16", "int8"], ["int8"], ["bool", "bool"]]
    lists += [list(names) for names in itertools.product(some, repeat=3)]
    lists += [["uint8", "int8", "uint16", "float16", "bool"], list(sizes)]
    for names in lists:
        needed = [max(column) for column in zip(*[sizes[name] for name in names], strict=True)]
        right = next(d for d in sizes if all(map(operator.ge, sizes[d], needed)))
        judge.equal(judge.call(promote_all, names), right)


# ---- questions -----------------------------------------------------------------------------------

question(
    "04.q1",
    "Which dtype has the sum of a uint32 tensor and an int32 tensor?",
    right="int64",
    why="a sign is needed, and 32 bits for the magnitude; int32 has 31",
    tempting={
        "int32": "it has the sign, but only 31 bits for the magnitude: half of uint32 is too large",
        "uint32": "it has the bits, but no sign",
        "float64": "it would hold them all; but int64 does, too, and is smaller in `SIZES`",
        "float32": "it has 24 bits for the magnitude, and leaves integers out beyond that",
    },
)
question(
    "04.q2",
    "z = x * x with x = 3 and g = 1: what is the gradient of x in all?",
    right=6,
    why="x is both inputs: 3 comes back through each of them, as in d x²/dx = 2x",
    tempting={
        3: "3 is what comes back through one of the two inputs; x is both",
        9: "9 is z itself",
        2: "2x is right as a formula; with x = 3 it is 6",
    },
)
question(
    "04.q3",
    "A fast kernel for mul in float32: what has to be changed in the class Mul?",
    choices={"a": "forward", "b": "backward", "c": "both", "d": "nothing"},
    right="d",
    why="the class names a kernel, the table says who that is; one call of register is enough",
    tempting={
        "a": "forward is where the kernel is called; but it looks it up by name, every time",
        "b": "backward is made of products, too; but of Mul, which looks its kernel up by name",
        "c": "with a ladder that would be so; here neither of them knows who does the work",
    },
)
question(
    "04.q4",
    "x is (64, 784), w is (784, 10). How many numbers are there in the gradient of w?",
    right=7840,
    why="a gradient has the shape of what it is the gradient of, whatever came in beside it",
    tempting={
        640: "that is the shape of the product, (64, 10), and so of g",
        50176: "that is the shape of x, (64, 784)",
        501760: "so many products are added up on the way; what is left are sums over the batch",
    },
)
question(
    "04.q5",
    "The gradient of x.sum(axis=0), for x of shape (5, 2) and g = [7, 9]?",
    choices={
        "a": "[7, 9]",
        "b": "five rows [7, 9]",
        "c": "[35, 45]",
        "d": "five rows [1.4, 1.8]",
    },
    right="b",
    why="one more in any element of a column is one more in its sum; that is not shared out",
    tempting={
        "a": "that is g itself; but a gradient has the shape of x, which has five rows",
        "c": "that adds g up once more; it would be the way back of a stretched tensor",
        "d": "g is not shared out among the five, as it would be for a mean: each counts in full",
    },
)
question(
    "04.q6",
    "add: float32 on python, float32 and int64 on numpy; python in use. lookup('add', 'int64')?",
    choices={
        "a": "it gives NumPy's kernel",
        "b": "it gives Python's kernel for float32",
        "c": "it raises a LookupError",
    },
    right="c",
    why="only the backend in use is asked, and only for this dtype; the message says where it is",
    tempting={
        "a": "that would be convenient, and nobody would notice that the backend was changed",
        "b": "a kernel for another dtype would give wrong numbers, as exp did with the integers",
    },
)
question(
    "04.q7",
    "t has dtype int32. Which dtype has t * 0.5?",
    right="float32",
    why="int32 is of a kind too poor for 0.5, so the number's own dtype is taken, for both",
    tempting={
        "int32": "a number takes the dtype beside it where it can, but the half would be lost",
        "float64": "that is promote('int32', 'float32'), for two tensors; a number has less say",
        "float16": "0.5 would fit into a float16; but a float of Python's counts as a float32",
    },
)
