"""Chapter 18, two hundred lines and the giants: eight exercises, two challenges, four questions.

The capstone itself, tutor200.py, is marked by course/capstone.py: `check 18 tutor200.py`.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

from course.compare import kind
from course.exercise import Judge, exercise, question
from course.giants import GIANTS, verdict
from course.patches import FAULTS, LETTERS
from tutor import OPS, Tensor
from tutor.core.op import Op
from tutor.errors import GraphError
from tutor.testing import gradcheck

# ---- 18.1: what is counted -----------------------------------------------------------------------

TEXTS = {
    "x = 1": 3,
    "x = 1  # one, and no more": 3,
    "": 0,
    "\n\n# nothing\n": 0,
    "f(a, b)": 6,
    "print('a b c')": 4,
    '"""What this file is."""\n\nx = 1\n': 3,
    'def f(x):\n    """x, twice"""\n    return 2 * x\n': 10,
    'def f(x):\n    """x\n    and x"""\n    y = "# no comment"\n    return y\n': 11,
    "total = (1 +\n         2 +\n         3)\n": 9,
    "a **= b // 2; c = -a\n": 10,
    "class A:\n    x = 'one'\n    y = x\n": 9,
    "if a:\n    if b:\n        c = 1e-3\n": 9,
    "names = ['a',\n         'b']\n": 7,
}


@exercise(
    "18.1",
    "What golf does not change",
    answer="tokens",
    minutes=10,
    hints=(
        "Python's own reader is in the standard library: the module tokenize.",
        "tokenize.generate_tokens(f) gives tokens, each with a .type; f() gives the next line, as"
        " iter(text.splitlines(keepends=True)).__next__ does. Four types count: tokenize.NAME,"
        " NUMBER, OP and STRING.",
        "A string is free if the statement ends right behind it and begins with it: the type before"
        " it is NEWLINE, INDENT, DEDENT, NL, COMMENT or nothing, and the type after it is NEWLINE.",
    ),
    why_ours="It remembers only whether a statement has just begun. A line break inside of brackets"
    " is an NL and no NEWLINE, so a string in a list is never taken for a docstring.",
)
def check_18_1(judge: Judge, tokens: Any) -> None:
    """How many names, numbers, operators and strings a text has; strings that are statements by
    themselves, such as docstrings, are free, and so are comments."""
    for text, right in TEXTS.items():
        judge.equal(judge.call(tokens, text), right)


# ---- 18.2: what is needed ------------------------------------------------------------------------

Uses = dict[str, set[str]]
LIBRARY: Uses = {
    "learn": {"MLP", "SGD", "cross_entropy", "len", "range"},
    "MLP": {"Linear", "zip"},
    "Linear": {"Tensor", "glorot"},
    "glorot": {"math", "random"},
    "Tensor": {"Buffer", "strides_for"},
    "Buffer": set(),
    "strides_for": {"tuple"},
    "SGD": {"Tensor"},
    "cross_entropy": {"log_softmax", "Tensor"},
    "log_softmax": set(),
    "Adam": {"Tensor", "math"},
    "gradcheck": {"Tensor"},
    "viz": {"Tensor", "gradcheck"},
}
RING: Uses = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "d"}, "e": set()}


def reached(uses: Uses, wanted: list[str]) -> set[str]:
    """The names that are needed, of those that `uses` has."""
    found: set[str] = set()
    waiting = [name for name in wanted if name in uses]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in uses[name] if other in uses]
    return found


@exercise(
    "18.2",
    "What a network needs",
    answer="needed",
    minutes=12,
    hints=(
        "What a needed name uses is needed as well: it is a walk through a graph, as in"
        " chapter 5. Which names do you still have to look at?",
        "Keep a set of what was found, and a list of what is waiting. A name that was found before"
        " is not looked at again, or a ring never ends.",
        "while waiting: take one; if it is in `uses` and not found yet, add it, and put all of"
        " uses[name] into waiting.",
    ),
    why_ours="A list of names that wait, instead of a function that calls itself: the order does"
    " not matter here, and a long chain is no problem.",
)
def check_18_2(judge: Judge, needed: Any) -> None:
    """The set of all names that these need, directly or not, and these themselves; only names that
    `uses` has."""
    chain: Uses = {f"f{i}": {f"f{i + 1}"} for i in range(400)}
    cases: list[tuple[Uses, list[str]]] = [
        (LIBRARY, ["learn"]),
        (LIBRARY, ["Linear", "Adam"]),
        (LIBRARY, []),
        (LIBRARY, ["viz"]),
        (LIBRARY, ["print", "Buffer"]),
        (RING, ["a"]),
        (RING, ["d"]),
        (RING, ["e", "c"]),
        ({}, ["x"]),
        (chain, ["f390"]),
        (chain, ["f0"]),
    ]
    for uses, wanted in cases:
        got = judge.call(needed, uses, wanted)
        judge.equal(got, reached(uses, wanted))


# ---- 18.3 to 18.6: the hunt ----------------------------------------------------------------------


def hunted(judge: Judge, answers: Any, name: str) -> None:
    """Every place is right: the first one that is not is the verdict."""
    giant = GIANTS[name]
    judge.that(isinstance(answers, dict), f"it is {kind(answers)}; a dict is asked for")
    judge.equal(sorted(map(str, answers)), sorted([*giant.right, *giant.nowhere]),
                given="the keys")  # fmt: skip
    for item in (*giant.right, *giant.nowhere):
        wrong = verdict(giant, item, answers[item])
        judge.that(not wrong, f"{item}: {wrong}", given=f"{name} at {giant.version[:12]}")


@exercise(
    "18.3",
    "The hunt: micrograd",
    answer="micrograd",
    minutes=10,
    hints=(
        "There are two files, and all of it is in the one called engine.py.",
        "`inputs` is in __init__, where a Value is told its children. `order` is the function"
        " inside of backward that calls itself.",
        "`walk` is the last line of backward. And where would numbers be broadcast, if every Value"
        " is one number? What is nowhere is None.",
    ),
    why_ours="There is no `fit`: a Value is one number, so nothing is ever stretched.",
)
def check_18_3(judge: Judge, micrograd: Any) -> None:
    """Five things of yours, in micrograd: a place each, as "path:line", or None."""
    hunted(judge, micrograd, "micrograd")


@exercise(
    "18.4",
    "The hunt: tinygrad",
    answer="tinygrad",
    minutes=15,
    hints=(
        "Three of the five are in a file of 67 lines whose name says what it is about. The other"
        " two are classes of their own, in the files about devices and about ops.",
        "`walk` is the def that goes through the sorted graph in reverse. `slopes` is the line on"
        " which the table of derivatives begins.",
        "`fit` is no function: it is the derivative of an op, since in tinygrad broadcasting is"
        " one. Which op stretches?",
    ),
    why_ours="Broadcasting is an op, EXPAND. So undoing it is no business of the walk: it is that"
    " op's own derivative, a sum.",
)
def check_18_4(judge: Judge, tinygrad: Any) -> None:
    """Five things of yours, in tinygrad: a place each, as "path:line"."""
    hunted(judge, tinygrad, "tinygrad")


@exercise(
    "18.5",
    "The hunt: PyTorch",
    answer="pytorch",
    minutes=20,
    hints=(
        "Two are in c10/core, the smallest part, which knows nothing of gradients. Two are in"
        " torch/csrc/autograd. One is in aten/src/ATen/core/dispatch.",
        "The names are StorageImpl, TensorImpl, Node, Dispatcher and Engine: each a struct or class"
        " in a header. What counts is the line with the name, where its body begins.",
        "`fit`: a Node knows the shape of each of its inputs, as metadata. That has a method which"
        " reduces a gradient. The function that does the sum, in ExpandUtils.h, is right as well.",
    ),
    why_ours="The gradient is reduced where it arrives at a Node, by what the Node knows of its"
    " input. It is checked in the same place: a gradient of a wrong shape is an error.",
)
def check_18_5(judge: Judge, pytorch: Any) -> None:
    """Six things of yours, in PyTorch: a place each, as "path:line"."""
    hunted(judge, pytorch, "PyTorch")


@exercise(
    "18.6",
    "The hunt: JAX",
    answer="jax",
    minutes=20,
    hints=(
        "Three are in jax/_src/core.py, two in jax/_src/interpreters/ad.py, and one is in"
        " jax/_src/lax/lax.py.",
        "An op is a Primitive, one line of a recorded program is a JaxprEqn, and everything that is"
        " computed goes through a method called bind.",
        "`walk` is the pass that goes backward, `collect` adds two tangents. `fit` is what undoes"
        " broadcasting, with an underscore before its name.",
    ),
    why_ours="bind is your Op.apply: the one place that every call passes, whether it is run,"
    " recorded or differentiated.",
)
def check_18_6(judge: Judge, jax: Any) -> None:
    """Six things of yours, in JAX: a place each, as "path:line"."""
    hunted(judge, jax, "JAX")


# ---- 18.7: six patches ---------------------------------------------------------------------------


@exercise(
    "18.7",
    "A bug hunt: six patches",
    answer="faults",
    minutes=12,
    hints=(
        "Differentiate ln(x / (1 - x)) on paper. Which of the six backwards is something else?",
        "One of them computes with Python's numbers, so its result remembers nothing. One of them"
        " asks for a tensor that it does not use.",
        "One rejects integers, though one word would convert them. One sums axes, which is the"
        " Engine's work. The fifth letter is fine.",
    ),
    why_ours="Only one of the five is a wrong number. The others are right today and cost somebody"
    " something later: that is what a review is for.",
)
def check_18_7(judge: Judge, faults: Any) -> None:
    """What is wrong with each of the six patches, in one word; "none" for the one to take."""
    judge.equal(type(faults), dict, given="the type of faults")
    judge.equal(sorted(map(str, faults)), sorted(LETTERS), given="its keys")
    for letter, right in LETTERS.items():
        said = faults[letter]
        judge.that(said in FAULTS, f"{letter} is {said!r}; the words are {', '.join(FAULTS)}")
        judge.that(said == right, f"{letter}: {FAULTS[said]}? Look at it again, or run it")


# ---- 18.8: an op to give -------------------------------------------------------------------------


@exercise(
    "18.8",
    "A first op",
    answer="Logsig",
    minutes=15,
    seconds=4.0,
    hints=(
        "The class of the page Add an op is nearly it: Unary, a docstring with the formula, saves,"
        " wants_float, forward under no_grad, backward.",
        "ln(1 / (1 + e**-x)) overflows for x = -1000. What is it for large negative x? The"
        " softplus of the page has the same trouble, and a formula that has none.",
        "forward: min(x, 0) - ln(1 + e**-|x|), where min(x, 0) is -(-x).relu(). backward: g times"
        " the sigmoid of -x.",
    ),
    why_ours="Nothing in it overflows: e is raised to a number below 0 only. And backward asks for"
    " one sigmoid, not for the result.",
)
def check_18_8(judge: Judge, Logsig: Any) -> None:  # noqa: N803 - it is a class
    """ln(1 / (1 + e**-x)) as an op of tutor, right for all x, and twice differentiable."""
    is_op = isinstance(Logsig, type) and issubclass(Logsig, Op)
    judge.that(is_op, "Logsig is no class of ops: derive it from Unary")
    OPS.setdefault("logsig", Logsig)

    def z(x: Any) -> Any:
        made = judge.run(lambda: Logsig(x).apply())
        judge.that(isinstance(made, Tensor), f"apply() gives {kind(made)}, and no Tensor")
        return made

    numbers = [-2.0, -0.5, 0.0, 0.75, 3.0, -40.0, 40.0]
    right = [min(x, 0.0) - math.log1p(math.exp(-abs(x))) for x in numbers]
    for dtype in ("float64", "float32"):
        x = Tensor(numbers, dtype=dtype)
        judge.close(z(x).tolist(), right, given=f"x is {numbers}, {dtype}", atol=1e-7)
        judge.equal(x.tolist(), numbers, given="x afterwards")
    judge.close(z(Tensor([[1, -2], [0, 3]])).tolist(),
                [[-0.3132617, -2.126928], [-0.6931472, -0.0485874]],
                given="integers, [[1, -2], [0, 3]]", rtol=1e-5)  # fmt: skip
    judge.close(z(Tensor([-1000.0, 1000.0])).tolist(), [-1000.0, 0.0], given="x is -1000 and 1000")
    x = Tensor([-1000.0, 0.0, 1000.0], requires_grad=True)
    judge.run(partial(summed_back, z(x)))
    judge.that(x.grad is not None, "x.grad is None after backward")
    assert x.grad is not None
    judge.close(x.grad.tolist(), [1.0, 0.5, 0.0], given="the gradient at -1000, 0 and 1000")
    for orders in (1, 2):
        found = judge.run(partial(doubts, Logsig, orders))
        judge.that(not found, f"gradcheck of order {orders}: {found}")
    judge.that((Logsig.__doc__ or "").strip(), "its docstring, which has the formula, is missing")


def doubts(Class: Any, orders: int) -> str:  # noqa: N803 - it is a class
    """What gradcheck finds; "" if nothing."""
    try:
        gradcheck(lambda x: Class(x).apply(), [-3.0, -0.5, 0.25, 2.0], orders=orders)
    except GraphError as error:
        return error.found
    return ""


def summed_back(z: Any) -> None:
    with warnings.catch_warnings():  # of a derivative that tutor doubts: the check says so itself
        warnings.simplefilter("ignore")
        z.sum().backward()


# ---- challenges ----------------------------------------------------------------------------------

SOURCE = '''"""A library."""

import math
from itertools import pairwise

LIMIT = 3


def area(r):
    return math.pi * square(r)


def square(x):
    return x * x


def unused(x):
    return area(x) + LIMIT


class Steps:
    def __init__(self, xs):
        self.xs = xs[:LIMIT]

    def sizes(self):
        return [square(b - a) for a, b in pairwise(self.xs)]


class More(Steps):
    pass
'''
SHAKEN = {  # what has to be there, and nothing else
    ("square",): {"square"},
    ("area",): {"area", "square", "math"},
    ("Steps",): {"Steps", "LIMIT", "square", "pairwise"},
    ("More",): {"More", "Steps", "LIMIT", "square", "pairwise"},
    ("unused", "More"): {"unused", "area", "More", "Steps", "LIMIT", "square", "math", "pairwise"},
    ("LIMIT",): {"LIMIT"},
}


def sizes_of(Steps: Any) -> Any:  # noqa: N803 - it is a class
    return Steps([1, 3, 6, 9]).sizes()


@exercise(
    "18.s1",
    "Shake the tree",
    answer="shaken",
    minutes=20,
    hints=(
        "ast.parse(text).body is the list of statements of the file. For each: which names does it"
        " define, and which does it use?",
        "Used are all ast.Name nodes within it: {n.id for n in ast.walk(statement) if"
        " isinstance(n, ast.Name)}. Defined: .name of a def or class, the targets of an"
        " assignment, the aliases of an import.",
        "With these two, needed(uses, wanted) says which names stay. Keep the statements that"
        " define one of them, in their order, each by ast.unparse or ast.get_source_segment.",
    ),
    why_ours="It cuts statements, not lines: what a statement defines and uses is asked of Python's"
    " own tree, so strings and comments cannot fool it.",
)
def check_18_s1(judge: Judge, shaken: Any) -> None:
    """The source of the statements that these names need, in their order, and of no others."""
    for wanted, right in SHAKEN.items():
        text = judge.call(shaken, SOURCE, list(wanted))
        judge.that(isinstance(text, str), f"it gives {kind(text)}; a text is asked for")
        names: dict[str, Any] = {"__name__": "shaken"}
        judge.run(partial(exec, text, names))
        got = {name for name in names if not name.startswith("__")}
        judge.equal(sorted(got), sorted(right), given=f"what its text defines, for {wanted}")
        for name in wanted:
            if name in ("area", "unused"):
                value = judge.run(partial(names[name], 2.0))
                judge.close(value, math.pi * 4 + (3 if name == "unused" else 0))
            if name in ("Steps", "More"):
                sizes = judge.run(partial(sizes_of, names[name]))
                judge.equal(sizes, [4, 9])


File = tuple[str, int, tuple[str, ...]]
TREES: dict[str, tuple[list[File], int]] = {
    "a chain": ([("c", 10, ("b",)), ("b", 10, ("a",)), ("a", 10, ())], 20),
    "one file": ([("a", 7, ())], 7),
    "no file": ([], 5),
    "four boxes": (
        [("engine", 60, ("op", "tensor")), ("op", 50, ("tensor",)), ("tensor", 80, ("buffer",)),
         ("buffer", 40, ()), ("nn", 30, ("op",)), ("optim", 45, ("tensor",))], 100,
    ),
    "all alone": ([(name, 30, ()) for name in "fedcba"], 90),
    "of two sizes": ([("z", 60, ()), ("y", 60, ("x",)), ("x", 40, ()), ("w", 40, ("z",))], 100),
    "what is read elsewhere": ([("b", 10, ("a", "math")), ("a", 10, ("struct",))], 10),
}  # fmt: skip


@exercise(
    "18.s2",
    "A plan to read by",
    answer="weeks",
    minutes=20,
    hints=(
        "Which files can be read next? Those whose imports were all read. Imports that are in no"
        " row of the list, such as math, do not count.",
        "Take one of them that still fits into this week. If none fits, and the week is not empty,"
        " a new week begins.",
        "while left: ready = those of left whose imports among all paths are done; fitting = those"
        " of ready with lines <= room; if fitting: read one, else: begin the next week.",
    ),
    why_ours="It takes the longest file that fits: long ones are hard to place later.",
)
def check_18_s2(judge: Judge, weeks: Any) -> None:
    """Lists of paths, one for each week: each file once, after what it imports, no week longer than
    `most`; and no file waits for the next week if it could have been read in this one."""
    for given, (files, most) in TREES.items():
        plan = judge.call(weeks, files, most, given=given)
        judge.that(isinstance(plan, list) and all(isinstance(week, list) for week in plan),
                   f"it gives {kind(plan)}; a list of lists is asked for")  # fmt: skip
        flat = [path for week in plan for path in week]
        judge.equal(sorted(flat), sorted(path for path, _, _ in files), given=f"{given}: its files")
        lines = {path: count for path, count, _ in files}
        imports = {path: set(others) & set(lines) for path, _, others in files}
        read: set[str] = set()
        for number, week in enumerate(plan, 1):
            judge.that(week, f"week {number} has no file", given=given)
            room = most - sum(lines[path] for path in week)
            judge.that(room >= 0, f"week {number} has {most - room} lines", given=given)
            for path in week:
                judge.that(imports[path] <= read, f"{path} comes before what it imports",
                           given=given)  # fmt: skip
                read.add(path)
            late = [p for p in lines if p not in read and imports[p] <= read and lines[p] <= room]
            judge.that(not late, f"{late[:1]} could have been read in week {number}", given=given)


# ---- questions -----------------------------------------------------------------------------------

question(
    "18.q1",
    "Which of the four has no counterpart of `fit`, and why?",
    choices={
        "a": "micrograd: every Value is a single number",
        "b": "tinygrad: there the sum is an op's derivative",
        "c": "JAX: arrays are never changed",
    },
    right="a",
    why="nothing can be stretched, so there is nothing to undo",
    tempting={
        "b": "it is in another place, and it is there: the derivative of EXPAND is a sum",
        "c": "that arrays are never changed has nothing to do with it: _unbroadcast is there",
    },
)
question(
    "18.q2",
    "What is the counterpart of your Buffer in PyTorch?",
    choices={"a": "TensorImpl", "b": "StorageImpl", "c": "Dispatcher"},
    right="b",
    why="a storage has bytes and an allocator, and no shape",
    tempting={
        "a": "that one has sizes, strides and an offset: it is your Tensor",
        "c": "that one finds kernels: it is your Registry",
    },
)
question(
    "18.q3",
    "Why does the scoreboard count tokens, if it counts lines?",
    choices={
        "a": "a token takes as long to run as any other",
        "b": "lines can be made fewer without anything becoming simpler",
        "c": "docstrings would cost too much otherwise",
    },
    right="b",
    why="two statements in a line, or an expression of eight lines in one, change no token",
    tempting={
        "a": "neither count says anything about time",
        "c": "docstrings are free in both counts",
    },
)
question(
    "18.q4",
    "A patch makes `exp` twice as fast. Which of these will be asked for first?",
    choices={
        "a": "a table of times on three machines",
        "b": "a test that fails without the patch, and the agreement with python_ref",
        "c": "a page of the site that explains it",
    },
    right="b",
    why="what is faster and wrong is wrong; the definition of right is the backend in Python",
    tempting={
        "a": "times will be asked for as well, but after it is known to be right",
        "c": "a page is read by people who trust the number",
    },
)
