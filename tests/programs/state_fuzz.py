"""Random programs about state: python tests/programs/state_fuzz.py --programs 5000 --seed 0

A program is Python text: objects with Tensors, numbers and containers, a function that reads and
changes them, and what happens between its calls: names rebound, aliased, swapped and written to,
lists rotated, hooks, flags and attributes of classes changed. It runs as it is and under tutor.jit,
and after each call all that can be seen must be the same: results, values, gradients, and which of
them share memory. A program that fails is made shorter as long as it fails, and printed.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from situations.table import bits, vec

import tutor
from tutor import Tensor

CALLS = 6

# ---- what programs are made of -------------------------------------------------------------------

SETUP = (
    "class C:\n    k, t = 2.0, vec(1, 2, 3)", "c = C()",
    "c.a = vec(1, 2, 3)", "c.b = vec(3, 2, 1)", "c.best = vec(0, 1, 0)",
    "c.w = vec(1, -1, 2).requires_grad_()", "c.v = vec(2, 1, 1)",
    "c.xs = [vec(1, 0, 0), vec(0, 2, 0), vec(0, 0, 3)]", "c.q = deque([vec(1, 1, 1)], maxlen=3)",
    'c.d = {"p": vec(2, 2, 2)}', "c.o = OrderedDict(u=1.0, v=0.5)", "c.n = 1.0", "c.flag = False",
    'c.s = {"on"}', "c.count = Counter()", "c.view = c.a[:2]", "c.hooks = []",
    "G = vec(1, 1, 2)", "N = 0.5", "base = vec(*range(8))",
)  # fmt: skip
PLACES = ("c.a", "c.b", "c.best", "c.v", "c.xs[0]", "c.xs[-1]", 'c.d["p"]', "c.q[0]", "C.t", "G")
CHOICES = {
    "T": PLACES,  # a Tensor that may be set
    "R": (*PLACES, "c.a", "c.b", "c.w.detach()", "c.view.sum()", "c.q[-1]"),
    "M": ("c.n", "c.n", "C.k", "N", 'c.o["u"]'),  # a number that may be set
    "N": ("c.n", "C.k", "c.k", "N", 'c.o["u"]', "next(iter(c.o.values()))", "len(c.q)", "0.5",
          'getattr(c, "extra", 1.0)', '(1 + c.count["n"])'),
    "B": ("c.flag", '"on" in c.s', 'hasattr(c, "extra")', "c.a is c.b", "c.best is c.w", "c.n > 1",
          'len(c.xs) > 2', '"e" in c.d', "c.w.grad is None", "c.w.requires_grad"),
    "F": ("0.5", "-1.0", "2.0", "1", "0.25", "True", "-0.0"),
}  # fmt: skip
READS = (
    "y = y + {R}", "y = y * {N} + {R}", "y = y - {R} * {N}", "y = y * 2 if {B} else y + {R}",
    "y = y + sum(c.xs)", "y = y + sum(c.q)", "y = y * c.w", "y = (y * 0.5).tanh()",
    "y = y + (0 if c.w.grad is None else c.w.grad)", "y = y + z",
    'y = y + sum(c.d.values())', "for t in c.xs: y = y * 0.5 + t",
)  # fmt: skip
SETS = (
    "{T} = {R}", "{T} = {R}", "{T} = {R} * 0.5", "{T}, {T} = {R}, {R}", "c.a, c.b = c.b, c.a",
    "{T} += {R} * 0.5", "{T}.mul_(0.5)", "{T}.copy_({R})", "{T}[:1] += 1", "{T}.assign({R})",
    "c.xs.append(c.xs.pop(0))", "c.xs[:] = c.xs[1:] + c.xs[:1]", "c.xs.reverse()", "c.q.rotate(1)",
    "c.q.append({R})", "c.q.appendleft({R})", "c.view = {T}[:2]", "c.view = {T}[-2:]",
    "c.view += 1", 'c.d["e"] = {R}', 'c.d.pop("e", None)', 'c.d["p"] = c.d.pop("p")',
    'c.s.add("on")', 'c.s.discard("on")', 'c.o.move_to_end("u")', 'c.count["n"] += 1',
    "{M} = {F}", "{M} = {F}", "c.flag = not c.flag", "c.flag = {B}", "c.k = {F}",
    'c.__dict__.pop("k", None)', "c.extra = {F}", 'c.__dict__.pop("extra", None)',
    "c.w.grad = None", "c.w.grad = {R} * 1", "c.w.requires_grad_({B})",
    "c.v.requires_grad_(not c.v.requires_grad)", "c.w.data = {R}", "c.w.data.mul_(0.5)",
    "c.hooks.append(c.w.register_hook(lambda g: g * {F}))",
    "c.hooks.pop()() if c.hooks else None", "c.best = c.w.detach()",
)  # fmt: skip
INSIDE = (
    "{T} = y.detach()", "{T} = {T} * 0.5 + y.detach()", "c.best = y.detach()",
    "c.q.append(y.detach())",
    "(y * c.w).sum().backward()", "(y * c.w + c.v).sum().backward()", "x += 0.5", "z.mul_(0.5)",
    "c.view = y.detach()[1:]", "c.xs[0] = y.detach()",
)  # fmt: skip
BETWEEN = (
    "{T} = vec({F}, 2, 3)", "c.w = vec({F}, 1, 1).requires_grad_()", "C.act = lambda t: t * {F}",
    "c.xs.append({R})", "del c.xs[:-2]", "c.o = OrderedDict(v={F}, u={F})", "c = c",
)  # fmt: skip
RESULTS = (
    "y", "y", "y, {R}", '{{"y": y, "n": {N}}}', "[y, {T}[:2]]", "y.sum()", "{T}, y", "c.view, y",
    "x, y",
)  # fmt: skip
ARGUMENTS = (
    "vec({F}, 1, 2), vec(1, {F}, 1)", "vec({F}, 1, 2), vec(1, {F}, 1)", "{T}, vec(1, {F}, 1)",
    "{T}, {T}", "base[{i}:{i} + 3], base[{i} + 1:{i} + 4]", "base[{i}:{i} + 3], {T}",
    "base[:3], base[:3]",
)  # fmt: skip
# What cannot be replayed, in lines of a function. Of most programs the function has none of it.
WILD = re.compile(
    r"(c\.n|c\.k|C\.k|N|c\.flag|c\.extra) = |c\.(q|s|o|count|hooks|extra|__dict__)\b|C\.t|\bdel\b"
    r'|c\.d\["e"\] =|c\.d\.pop|requires_grad_'
)


class Program(NamedTuple):
    """Lines before the first call, those of the function, and for each call those before it and its
    arguments."""

    setup: tuple[str, ...]
    body: tuple[str, ...]
    result: str
    calls: tuple[tuple[tuple[str, ...], str], ...]

    def function(self) -> str:
        lines = ["y = x", *self.body, f"return {self.result}"]
        if any(re.match(r"[GN]\b", line) for line in self.body):
            lines.insert(0, "global G, N")
        return "\n    ".join(["def f(x, z):", *lines])

    def text(self) -> str:
        """The program as somebody would write it."""
        lines = [*self.setup, "", "@jit", self.function(), ""]
        for between, arguments in self.calls:
            lines += [*between, f"f({arguments})"]
        return "\n".join(lines)


def drawn(seed: int) -> Program:
    """The program of this number."""
    draw = random.Random(seed)

    def fill(template: str) -> str:
        made = re.sub(r"\{([TRMNBF])\}", lambda m: draw.choice(CHOICES[m[1]]), template)
        return made.replace("{i}", str(draw.randrange(4))).replace("{{", "{").replace("}}", "}")

    def line(*tables: tuple[str, ...], tame: bool = False) -> str:
        made = fill(draw.choice(draw.choice(tables)))
        return line(*tables, tame=tame) if tame and WILD.search(made) else made

    def lines(most: int, *tables: tuple[str, ...], tame: bool = False) -> tuple[str, ...]:
        return tuple([line(*tables, tame=tame) for _ in range(draw.randint(0, most))])

    setup = (*SETUP, *lines(2, ("{T} = {T}", "c.best = c.w", "c.view = {T}[1:]", "c.b = c.a")))
    tame = draw.random() < 0.7
    body = (*lines(2, READS, tame=tame), *lines(4, READS, SETS, INSIDE, tame=tame))
    body = (*body, line(READS, tame=tame))
    kind = draw.choice(ARGUMENTS)  # mostly the same
    calls = [
        (lines(2, SETS, BETWEEN) if n > 1 and draw.random() < 0.6 else (),
         fill(kind if draw.random() < 0.8 else draw.choice(ARGUMENTS)))
        for n in range(CALLS)
    ]  # fmt: skip
    return Program(setup, body, fill(draw.choice(RESULTS)), tuple(calls))


# ---- running one ---------------------------------------------------------------------------------


def reached(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """All Tensors and numbers in a value, each with its path, and the order of what holds them."""
    if isinstance(value, (list, tuple, collections.deque)):
        yield path, f"{type(value).__name__} of {len(value)}"
        for i, part in enumerate(value):
            yield from reached(part, f"{path}[{i}]")
    elif isinstance(value, dict):
        yield path, f"{type(value).__name__} of {list(value)}"
        for key, part in value.items():
            yield from reached(part, f"{path}[{key!r}]")
    elif isinstance(value, set):
        yield path, sorted(value)
    elif isinstance(value, Tensor):
        yield path, value
        if value.is_leaf:
            yield f"{path}.requires_grad", value.requires_grad
            yield f"{path}.grad", value.grad
    elif not callable(value):
        yield path, value


def stretch(t: Tensor) -> tuple[int, int]:
    """From where to where it lies in memory."""
    start = t.buf.address + t.offset * t.dtype.itemsize
    ends = [(n - 1) * s * t.dtype.itemsize for n, s in zip(t.shape, t.strides, strict=True)]
    return start + sum(e for e in ends if e < 0), start + sum(e for e in ends if e > 0)


def seen(space: dict[str, Any], result: Any) -> dict[str, str]:
    """Everything there is after a call, by path; for each Tensor those that share its memory."""
    roots = {f"c.{name}": value for name, value in vars(space["c"]).items()}
    roots |= {f"C.{name}": value for name, value in vars(space["C"]).items() if name in ("k", "t")}
    roots |= {name: space[name] for name in ("G", "N", "base") if name in space}
    found = [pair for path, value in roots.items() for pair in reached(value, path)]
    gradients = (".grad", ".requires_grad")  # of a result there are none: it may have a graph
    found += [pair for pair in reached(result, "result") if not pair[0].endswith(gradients)]
    shown = {path: bits(value) for path, value in found}
    at = [(path, *stretch(t)) for path, t in found if isinstance(t, Tensor)]
    for path, low, high in at:
        others = [p for p, first, last in at if p != path and first <= high and low <= last]
        shown[f"what shares memory with {path}"] = ", ".join(sorted(others))
    return shown


def run(program: Program, jit: Callable[[Any], Any]) -> Iterator[dict[str, str]]:
    """What is seen after each call, and at the end all results; an exception ends it."""
    names = {"vec": vec, "deque": collections.deque, "OrderedDict": collections.OrderedDict,
             "Counter": collections.Counter, "__name__": "a_program_of_the_fuzzer"}  # fmt: skip
    space: dict[str, Any] = dict(names)
    tutor.manual_seed(0)
    results = []
    try:
        exec("\n".join([*program.setup, program.function()]), space)
        space["f"] = jit(space["f"])
        for between, arguments in program.calls:
            exec("\n".join(between), space)
            results.append(eval(f"f({arguments})", space))
            yield seen(space, results[-1])
    except Exception as error:
        yield {"raised": type(error).__name__, "text": " ".join(str(error).split())}
        return
    yield {f"result {i + 1}, at the end": bits(r) for i, r in enumerate(results)}


def failure(program: Program, jit: Callable[[Any], Any] = tutor.jit) -> str | None:
    """In what way jit was wrong: "lies: ..." or "raises: ..."; None if it was right, "" if the
    program itself raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = run(program, jit)
        wrong = None
        for n, right in enumerate(run(program, lambda function: function)):
            if wrong is None:
                wrong = _different(n + 1, right, next(ours, {}))
            if "raised" in right:
                return wrong or ""
    return wrong


def _different(call: int, right: dict[str, str], ours: dict[str, str]) -> str | None:
    if "raised" in right or "raised" in ours:
        raised, should = ours.get("raised"), right.get("raised")
        wrong = f"raises: call {call}: {raised}, not {should}: {ours.get('text')}"
        return None if raised == should else wrong
    for path in right:
        if right[path] != ours.get(path):
            return f"lies: call {call}: {path} is {ours.get(path)}, and should be {right[path]}"
    more = ours.keys() - right.keys()
    return f"lies: call {call}: there is {min(more)}" if more else None


# ---- making it shorter ---------------------------------------------------------------------------


def shorter(program: Program) -> Iterator[Program]:
    """The program without one of its lines, or calls."""
    for i in reversed(range(len(program.calls))):
        yield program._replace(calls=program.calls[:i] + program.calls[i + 1 :])
    for i in reversed(range(len(program.body))):
        yield program._replace(body=program.body[:i] + program.body[i + 1 :])
    for i, (between, arguments) in enumerate(program.calls):
        for j in range(len(between)):
            call = (between[:j] + between[j + 1 :], arguments)
            yield program._replace(calls=(*program.calls[:i], call, *program.calls[i + 1 :]))
        if arguments != "vec(), vec()":
            call = (between, "vec(), vec()")
            yield program._replace(calls=(*program.calls[:i], call, *program.calls[i + 1 :]))
    if program.result != "y":
        yield program._replace(result="y")
    for i in range(2, len(program.setup)):
        yield program._replace(setup=program.setup[:i] + program.setup[i + 1 :])


def shortest(program: Program, jit: Callable[[Any], Any] = tutor.jit) -> Program:
    """As short as it gets by leaving out one thing after another, while it fails in its way."""

    def way(program: Program) -> str:
        return str(failure(program, jit)).partition(":")[0]

    wanted = way(program)
    while True:
        fails = (p for p in shorter(program) if way(p) == wanted)
        if (found := next(fails, None)) is None:
            return program
        program = found


def report(seed: int) -> str:
    """The program of this number, as short as possible, and what is wrong."""
    program = shortest(drawn(seed))
    return f"# program {seed}: {failure(program)}\n{program.text()}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Random programs about state: eager = jit?")
    parser.add_argument("--programs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first program")
    parser.add_argument("--show", type=int, default=5, help="how many that fail are printed")
    asked = parser.parse_args()
    start, counts, failed, replayed = time.perf_counter(), collections.Counter[str](), [], 0
    for seed in range(asked.seed, asked.seed + asked.programs):
        made: list[Any] = []
        wrong = failure(drawn(seed), lambda f, made=made: made.append(tutor.jit(f)) or made[-1])
        replayed += any(jitted.stats()["replayed"] for jitted in made)
        verdict = wrong.partition(":")[0] or "raise themselves" if wrong is not None else "right"
        counts[verdict] += 1
        if wrong:
            failed.append(seed)
            if len(failed) <= asked.show:
                print(report(seed), flush=True)
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    print(f"{asked.programs} programs in {time.perf_counter() - start:.0f} s: {told}")
    print(f"{replayed} had a call that was replayed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
