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
import itertools
import random
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from situations.table import bits, vec
from state_lines import ARGUMENTS, BETWEEN, HOLES, INSIDE, MORE, READS, RESULTS, SETS, SETUP, WILD

import tutor
from tutor import Tensor, optim

CALLS = 6


class Function(NamedTuple):
    name: str
    body: tuple[str, ...]
    result: str

    def text(self) -> str:
        lines = ["y = x", *self.body, f"return {self.result}"]
        if any(re.match(r"[GN]\b", line) for line in self.body):
            lines.insert(0, "global G, N")
        return "\n    ".join([f"def {self.name}(x, z):", *lines])


class Call(NamedTuple):
    before: tuple[str, ...]  # what happens first
    function: str
    arguments: str
    block: str = ""  # `with tutor.no_grad(): `

    def text(self) -> str:
        return f"{self.block}last = {self.function}({self.arguments})"


class Program(NamedTuple):
    setup: tuple[str, ...]
    functions: tuple[Function, ...]
    calls: tuple[Call, ...]

    def text(self) -> str:
        """The program as somebody would write it."""
        lines = [*self.setup]
        for function in self.functions:
            lines += ["", "@jit", function.text()]
        lines.append("")
        for call in self.calls:
            lines += [*call.before, call.text()]
        return "\n".join(lines)


class Drawing:
    """Draws a program. Of most the functions have nothing that cannot be replayed: `tame`."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.tame = self.draw.random() < 0.75

    def fill(self, template: str) -> str:
        """The template with its holes filled."""
        while hole := re.search(r"\{([TRMNBF])\}", template):
            chosen = self.draw.choice(HOLES[hole[1]])
            template = template[: hole.start()] + chosen + template[hole.end() :]
        made = template.replace("{i}", str(self.draw.randrange(4)))
        return made.replace("{{", "{").replace("}}", "}")

    def line(self, tables: tuple[tuple[str, ...], ...], tame: bool) -> str:
        made = self.fill(self.draw.choice(self.draw.choice(tables)))
        return self.line(tables, tame) if tame and WILD.search(made) else made

    def lines(self, most: int, *tables: tuple[str, ...], tame: bool = False) -> tuple[str, ...]:
        return tuple([self.line(tables, tame) for _ in range(self.draw.randint(0, most))])

    def function(self, name: str) -> Function:
        body = (
            *self.lines(2, READS, tame=self.tame),
            *self.lines(4, READS, SETS, INSIDE, tame=self.tame),
        )
        return Function(
            name, (*body, self.line((READS,), self.tame)), self.line((RESULTS,), self.tame)
        )

    def calls(self, names: str) -> Iterator[Call]:
        kind = self.draw.choice(ARGUMENTS)  # mostly the same
        for n in range(CALLS * len(names)):
            changes = n > 1 and self.draw.random() < 0.6
            before = self.lines(2, SETS, BETWEEN) if changes else ()
            arguments = kind if self.draw.random() < 0.8 else self.draw.choice(ARGUMENTS)
            block = "with tutor.no_grad(): " if self.draw.random() < 0.05 else ""
            yield Call(before, names[n % len(names)], self.fill(arguments), block)


def drawn(seed: int) -> Program:
    """The program of this number."""
    drawing = Drawing(seed)
    names = drawing.draw.choice(("f", "f", "fg"))
    setup = (*SETUP, *drawing.lines(2, MORE))
    return Program(setup, tuple(map(drawing.function, names)), tuple(drawing.calls(names)))


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
    elif isinstance(value, SimpleNamespace):
        for name, part in vars(value).items():
            yield from reached(part, f"{path}.{name}")
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
    roots["sgd"] = space["sgd"].state_dict() if "sgd" in space else None
    found = [pair for path, value in roots.items() for pair in reached(value, path)]
    gradients = (".grad", ".requires_grad")  # of a result there are none: it may have a graph
    found += [pair for pair in reached(result, "result") if not pair[0].endswith(gradients)]
    found += [("the stream of random numbers", tutor.random.get_state())]
    shown = {path: bits(value) for path, value in found}
    at = [(path, *stretch(t)) for path, t in found if isinstance(t, Tensor)]
    for path, low, high in at:
        others = [p for p, first, last in at if p != path and first <= high and low <= last]
        shown[f"what shares memory with {path}"] = ", ".join(sorted(others))
    return shown


NAMES = {
    "vec": vec, "deque": collections.deque, "OrderedDict": collections.OrderedDict, "optim": optim,
    "Counter": collections.Counter, "SimpleNamespace": SimpleNamespace, "tutor": tutor,
    "Tensor": Tensor, "__name__": "a_program_of_the_fuzzer",
}  # fmt: skip


def run(program: Program, jit: Callable[[Any], Any]) -> Iterator[dict[str, str]]:
    """What is seen after each call, also after one that raises, and at the end all results."""
    space: dict[str, Any] = {**NAMES}
    tutor.manual_seed(0)
    results = []
    try:
        exec("\n".join([*program.setup, *[f.text() for f in program.functions]]), space)
    except Exception as error:
        yield {"raised": type(error).__name__}
        return
    space |= {f.name: jit(space[f.name]) for f in program.functions}
    for call in program.calls:
        try:
            exec("\n".join([*call.before, call.text()]), space)
        except Exception as error:
            raised = {"raised": type(error).__name__, "text": " ".join(str(error).split())}
            yield {**seen(space, None), **raised}
            continue
        results.append(space["last"])
        yield seen(space, results[-1])
    yield {f"result {i + 1}, at the end": bits(r) for i, r in enumerate(results)}


def failure(program: Program, jit: Callable[[Any], Any] = tutor.jit) -> str | None:
    """In what way jit was wrong: "lies: ..." or "raises: ..."; None if it was right, "" if it was,
    but most calls of the program raise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rights = list(run(program, lambda function: function))
        ours = list(run(program, jit))
    pairs = enumerate(itertools.zip_longest(rights, ours, fillvalue={}), 1)
    found = (_different(n, right, got) for n, (right, got) in pairs)
    raising = sum("raised" in right for right in rights) > len(rights) / 2
    return next((wrong for wrong in found if wrong), "" if raising else None)


def _different(call: int, right: dict[str, str], ours: dict[str, str]) -> str | None:
    raised, should = ours.get("raised"), right.get("raised")
    if raised != should:
        return (
            f"raises: call {call}: {raised}, not {should}: {ours.get('text') or right.get('text')}"
        )
    for path in right:
        if right[path] != ours.get(path) and path != "text":
            return f"lies: call {call}: {path} is {ours.get(path)}, and should be {right[path]}"
    more = ours.keys() - right.keys()
    return f"lies: call {call}: there is {min(more)}" if more else None


# ---- making it shorter ---------------------------------------------------------------------------


PLAIN = "vec(), vec()"


def _without_one(parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """All but one of them, the last one first."""
    for i in reversed(range(len(parts))):
        yield parts[:i] + parts[i + 1 :]


def shorter(program: Program) -> Iterator[Program]:
    """The program without one of its lines, or calls."""
    for calls in _without_one(program.calls):
        yield program._replace(calls=calls)
    for i, function in enumerate(program.functions):
        others = [function._replace(body=body) for body in _without_one(function.body)]
        others += [function._replace(result="y")] if function.result != "y" else []
        for other in others:
            functions = (*program.functions[:i], other, *program.functions[i + 1 :])
            yield program._replace(functions=functions)
    for i, call in enumerate(program.calls):
        simpler = [call._replace(before=before) for before in _without_one(call.before)]
        simpler += [call._replace(block="")] if call.block else []
        simpler += [call._replace(arguments=PLAIN)] if call.arguments != PLAIN else []
        for other in simpler:
            yield program._replace(calls=(*program.calls[:i], other, *program.calls[i + 1 :]))
    for setup in _without_one(program.setup[2:]):
        yield program._replace(setup=(*program.setup[:2], *setup))
    for functions in _without_one(program.functions):
        yield program._replace(functions=functions)


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
