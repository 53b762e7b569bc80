"""Chapter 4, ops and the registry: seven exercises, five questions."""

from __future__ import annotations

import itertools
import operator
import struct
from collections.abc import Callable, Iterator
from typing import Any

from course.built import ch04
from course.built.ch04 import Buffer, Tensor
from course.exercise import Judge, exercise, question
from tutor import viz


def numbers(*shape: int, dtype: str = "float64", first: float = 1.0) -> Tensor:
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


# ---- the registry --------------------------------------------------------------------------------


@exercise(
    "04.1",
    "A table instead of a ladder",
    answer="Registry",
    minutes=10,
    hints=(
        "A dictionary can have pairs for keys: table[name, dtype].",
        "The dictionary must be made in `__init__`, one for each object. As an attribute of the "
        "class it would be one for all.",
        "In lookup: if (name, dtype) is not in the table, collect [d for n, d in self.table if "
        "n == name], and raise LookupError with name, dtype and that list in its message.",
    ),
)
def check_04_1(judge: Judge, Registry: Any) -> None:  # noqa: N803 - it is a class
    """lookup finds what was registered for this name and dtype, or says what there is."""
    judge.that(isinstance(Registry, type), f"{Registry!r:.60} is no class")
    one, other = judge.instance(Registry), judge.instance(Registry)
    add, hypot = operator.add, operator.mul
    register = judge.run(lambda: one.register)
    lookup = judge.run(lambda: one.lookup)
    judge.call(register, "add", add, ["float32", "int64"])
    judge.call(register, "neg", operator.neg, ["float32"])
    for name, dtype, function in [
        ("add", "float32", add), ("add", "int64", add), ("neg", "float32", operator.neg),
    ]:  # fmt: skip
        found = judge.call(lookup, name, dtype)
        judge.that(found is function, f"it is {found!r:.60}, and not the function entered")
    judge.call(register, "add", hypot, ["int64"])
    judge.that(
        judge.call(lookup, "add", "int64") is hypot, "what was entered last should have replaced it"
    )
    judge.that(judge.call(lookup, "add", "float32") is add, "float32 was not to be replaced")
    given = "after register('neg', ..., ['float32']) and register('add', ..., ['float32', 'int64'])"
    for words in ("neg", "int64", "float32"):
        judge.raises(LookupError, lookup, "neg", "int64", match=words, given=given)
    for words in ("add", "bool", "float32", "int64"):
        judge.raises(LookupError, lookup, "add", "bool", match=words, given=given)
    for words in ("mul", "float32"):
        judge.raises(LookupError, lookup, "mul", "float32", match=words, given=given)
    empty = judge.run(lambda: other.lookup)
    judge.raises(LookupError, empty, "add", "int64", given="a second Registry, still empty")


# ---- kernels -------------------------------------------------------------------------------------


@exercise(
    "04.2",
    "From a function of numbers to a kernel",
    answer="lift",
    minutes=10,
    hints=(
        "lift returns a function. Inside of it, read every input with .values(), and write with "
        "out.fill(...), once.",
        "def kernel(out, *ins): gathers any number of inputs. `zip(*lists)` then gives the first "
        "elements of all of them together, and so on.",
        "out.fill([f(*elements) for elements in zip(*[x.values() for x in ins])])",
    ),
)
def check_04_2(judge: Judge, lift: Any) -> None:
    """The kernel writes f of the elements into out, whatever walks its operands take."""
    a = Tensor([[1, 2], [3, 4]])
    kernel = judge.call(lift, operator.add)
    judge.that(callable(kernel), f"lift(f) gives {kernel!r:.60}, which cannot be called")
    rows = Tensor([[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])
    cases: dict[str, tuple[Callable[..., Any], list[Tensor]]] = {
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
        apply(judge, lift, f, out, ins, expected, given)
    whole = ch04.zeros((4, 4))
    out = whole[::-2, 1:3]
    apply(judge, lift, operator.add, out, [a, a], [2, 4, 6, 8], "an `out` that is a view")
    left = sum(x == 0 for x in whole.values())
    judge.that(left == 12, "it has also written beside the elements of `out`, a view")


def apply(
    judge: Judge, lift: Any, f: Any, out: Tensor, ins: list[Tensor], expected: list[Any], given: str
) -> None:
    """Call the kernel lift(f), and compare what it has written into out."""
    kernel = judge.call(lift, f)
    judge.picture(viz.row(*[viz.explain(t) for t in (*ins, out)]))
    judge.call(kernel, out, *ins, changes=True, given=given)
    judge.equal(list(out.values()), [float(x) for x in expected], given=given)


# ---- promotion -----------------------------------------------------------------------------------


@exercise(
    "04.3",
    "The dtype that holds both",
    answer="meet",
    minutes=10,
    hints=(
        "Three things are needed: the richer kind, a sign if one of them has one, and as many bits "
        "as the one with more.",
        "`[max(pair) for pair in zip(SIZES[a], SIZES[b])]` are the three needs. A dtype will do if "
        "it is at least as large in all three.",
        "for d in SIZES: if all(has >= need for has, need in zip(SIZES[d], needed)): return d",
    ),
)
def check_04_3(judge: Judge, meet: Any) -> None:
    """The smallest dtype that holds every number of both, for all 144 pairs."""
    first = [("float32", "float32"), ("int8", "int32"), ("int8", "uint8"), ("int32", "float32")]
    for a, b in [*first, *itertools.product(ch04.SIZES, repeat=2)]:
        judge.equal(judge.call(meet, a, b), ch04.promote(a, b))


# ---- operations ----------------------------------------------------------------------------------


@exercise(
    "04.4",
    "Mul",
    answer="MyMul",
    minutes=15,
    hints=(
        "One more in x is y more in z, and each 1 in z is worth g. So what is it worth in all?",
        "`x, y = self.inputs`. The gradient of x is g times y, element by element: MyMul(g, y).",
        "x, y = self.inputs; return MyMul(g, y).apply(), MyMul(g, x).apply()",
    ),
)
def check_04_4(judge: Judge, MyMul: Any) -> None:  # noqa: N803 - it is a class
    """The forward is x * y; backward(g) gives g * y and g * x, in this order."""
    matrix = numbers(2, 2, first=3.0)
    cases = {
        "x = 3, y = 4, g = 10": (Tensor(3), Tensor(4), Tensor(10)),
        "x and y of shape (2, 3)": (numbers(2, 3), numbers(2, 3, first=5.0), numbers(2, 3)),
        "y the transpose of x": (matrix, ch04.transpose(matrix), numbers(2, 2)),
    }
    for given, (x, y, g) in cases.items():
        op, z = executed(judge, MyMul, x, y)
        judge.close(z, (x * y).tolist(), given=f"{given}: the product")
        grads = judge.call(op.backward, g, given=given)
        judge.that(
            isinstance(grads, tuple | list) and len(grads) == 2,
            f"backward gives {grads!r:.60}, and not two gradients",
        )
        for name, got, other in zip("xy", grads, (y, x), strict=True):
            got = tensor(judge, got, f"the gradient of {name}")
            judge.close(got, (g * other).tolist(), given=f"{given}: the gradient of {name}")


@exercise(
    "04.5",
    "Sum",
    answer="MySum",
    minutes=20,
    hints=(
        "Keep the axes at first, with size 1: a tensor of that shape can be stretched to x's "
        "shape, and reshaped to the result's in the end.",
        "forward is reduce_to: `expand(out, x.shape).positions()` says into which cell of out.buf "
        "each element of x is to be added. backward is a reshape, then an expand.",
        'kept = tuple(1 if a in self.params["axis"] else n for a, n in enumerate(x.shape)). '
        "backward: return (expand(reshape(g, kept), x.shape),), where x is self.inputs[0].",
    ),
)
def check_04_5(judge: Judge, MySum: Any) -> None:  # noqa: N803 - it is a class
    """The axes are gone from the sum; the gradient is g, stretched to x's shape."""
    shapes = [((2, 3), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((4,), (0,)), ((2, 3, 4), (1,))]
    shapes += [((2, 3, 4), (0, 2)), ((3, 3), (1,)), ((2, 3), ()), ((1, 3), (0,)), ((2, 1, 2), (0,))]
    cases = {f"x of shape {shape}, axis={axis}": (numbers(*shape), axis) for shape, axis in shapes}
    cases["x a transposed view, axis=(0,)"] = (ch04.transpose(numbers(2, 3)), (0,))
    for given, (x, axis) in cases.items():
        op, z = executed(judge, MySum, x, axis=axis)
        expected = x.sum(axis)
        judge.equal(tuple(z.shape), expected.shape, given=f"{given}: the shape of the sum")
        judge.close(z, expected.tolist(), given=f"{given}: the sum")
        g = numbers(*expected.shape, first=7.0)
        grads = judge.call(op.backward, g, given=given)
        got = grads[0] if isinstance(grads, tuple | list) and len(grads) == 1 else grads
        got = tensor(judge, got, "the gradient")
        right = ch04.Sum(x, axis=axis).backward(g)[0]
        judge.equal(tuple(got.shape), x.shape, given=f"{given}: the shape of the gradient")
        judge.close(got, right.tolist(), given=f"{given}, g = {g.tolist()}: the gradient")


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
        if str(dtype) not in ch04.FORMATS:
            raise TypeError(f"data type {dtype!r} not understood")
        self.shape, self.dtype, self.offset = tuple(shape), str(dtype), offset
        self.buffer = buffer
        self.strides = None if strides is None else tuple(strides)
        self.room = memoryview(b"" if buffer is None else buffer).nbytes

    def positions(self) -> Iterator[int]:
        """Where each element begins, in bytes."""
        form = ch04.FORMATS[self.dtype]
        strides = self.strides or [s * struct.calcsize(form) for s in ch04.strides_for(self.shape)]
        for index in itertools.product(*map(range, self.shape)):
            yield self.offset + sum(map(operator.mul, index, strides))

    def values(self) -> list[Any]:
        """The elements, row by row."""
        form = ch04.FORMATS[self.dtype]
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
        judge.that(
            array.buffer is t.buf.raw, "the bytes are not those of the tensor: a copy?", given=given
        )
        ends = [p + t.buf.itemsize for p in array.positions()]
        inside = all(isinstance(e, int) and t.buf.itemsize <= e <= array.room for e in ends)
        found = f"with offset {array.offset} and strides {array.strides} it leaves the memory"
        judge.that(inside, found, given=given)
        judge.equal(array.values(), list(t.values()), given=given)


# ---- the matrix product --------------------------------------------------------------------------


@exercise(
    "04.7",
    "The way back through a product",
    answer="matmul_backward",
    minutes=10,
    hints=(
        "The gradient of x must have x's shape. Write down the shapes of g, x and y, and see which "
        "product, with something transposed, has it.",
        "g is (m, n), y is (k, n): g times the transpose of y is (m, k). For y, (k, n): what is "
        "(k, m) times (m, n)?",
        "return product(g, transpose(y)), product(transpose(x), g)",
    ),
)
def check_04_7(judge: Judge, matmul_backward: Any) -> None:
    """x's gradient has at [a, b] the sum over j of g[a, j] y[b, j]; y's at [b, j] over a of
    x[a, b] g[a, j]."""
    square = numbers(2, 2)
    for x, y in [
        (numbers(2, 3), numbers(3, 4, first=5.0)),
        (numbers(1, 3), numbers(3, 1, first=2.0)),
        (square, numbers(2, 2, first=4.0)),
        (ch04.transpose(numbers(3, 2)), ch04.transpose(numbers(4, 3))),
    ]:
        (m, k), n = x.shape, y.shape[1]
        g = numbers(m, n, first=-3.0)
        given = f"x {x.shape}, y {y.shape}, g {g.shape}"
        grads = judge.call(matmul_backward, g, x, y, given=given)
        judge.that(
            isinstance(grads, tuple | list) and len(grads) == 2,
            f"it gives {grads!r:.60}, and not two gradients",
            given=given,
        )
        gs, xs, ys = (t.tolist() for t in (g, x, y))
        right = {
            "x": [[sum(gs[a][j] * ys[b][j] for j in range(n)) for b in range(k)] for a in range(m)],
            "y": [[sum(xs[a][b] * gs[a][j] for a in range(m)) for j in range(n)] for b in range(k)],
        }
        for (name, expected), got, t in zip(right.items(), grads, (x, y), strict=True):
            got = tensor(judge, got, f"the gradient of {name}")
            where = f"{given}: the gradient of {name}"
            judge.equal(tuple(got.shape), t.shape, given=where + ", its shape")
            judge.close(got, expected, given=where)


question(
    "04.q1",
    "Which dtype has the sum of a uint32 tensor and an int32 tensor?",
    right="int64",
    why="a sign is needed, and 32 bits for the magnitude; int32 has 31",
)
question(
    "04.q2",
    "z = x * x with x = 3 and g = 1: what is the gradient of x in all?",
    right=6,
    why="x is both inputs: 3 comes back through each of them, as in d x²/dx = 2x",
)
question(
    "04.q3",
    "A fast kernel for mul in float32: what has to be changed in the class Mul?",
    choices={"a": "forward", "b": "backward", "c": "both", "d": "nothing"},
    right="d",
    why="the class names a kernel, the table says who that is; one call of register is enough",
)
question(
    "04.q4",
    "x is (64, 784), w is (784, 10). How many numbers are there in the gradient of w?",
    right=7840,
    why="a gradient has the shape of what it is the gradient of, whatever came in beside it",
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
)
