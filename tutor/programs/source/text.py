"""`source(program)`: the whole Program as readable C.

From top to bottom: an introduction; the helpers that it needs; one function for each step, under a
comment that says what it computes and which line of the user's code it comes from; and
`run(memory)`, which calls them in order.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from tutor.backends.codegen.dialect import C99, Dialect
from tutor.backends.codegen.expressions import EXPRESSIONS
from tutor.backends.codegen.helpers import needed
from tutor.backends.codegen.loops import Lines, indented
from tutor.backends.codegen.updates import UPDATES
from tutor.backends.signatures import SIGNATURES, signature_of
from tutor.backends.step import Step
from tutor.programs.program import Program, Slot, walks
from tutor.programs.source import chain, elementwise, moving, products, reductions, scores
from tutor.programs.source.call import Call, Function

Writer = Callable[[Call], Function | None]

WRITERS: dict[str, Writer] = {  # by kernel; the library runs the others, such as sorts and draws
    **dict.fromkeys((*EXPRESSIONS, "cast"), elementwise.elementwise),
    "fill": elementwise.fill,
    "arange": elementwise.arange,
    **dict.fromkeys(UPDATES, elementwise.update),
    **{row.name: reductions.reduce for row in SIGNATURES.values() if row.form == "reduce"},
    "matmul": products.matmul,
    "linear": products.linear,
    **dict.fromkeys(("softmax", "log_softmax"), scores.softmax),
    "cross_entropy": scores.cross_entropy,
    "cross_entropy_grad": scores.cross_entropy_grad,
    "cat": moving.cat,
    "pad": moving.pad,
    "gather": moving.gather,
    "index_select": moving.index_select,
    **dict.fromkeys(("scatter", "scatter_add"), moving.scatter),
    "fused": chain.fused,
}

HEAD = """\
/* A Program of tutor as C: {steps} steps over {slots} memories.

   Each step is a function. run(memory) calls them in order; memory[n] is where number n of the list
   in run() begins. It returns -1, or the number of a step that found a number for which it has no
   result (an index beyond the end, an integer divided by 0): that step and those after it have then
   written nothing.{library}

   No two memories overlap. To have the bits of the library, compile without contraction
   (-ffp-contract=off) and without -ffast-math:

       cc -O3 -ffp-contract=off -fno-math-errno -shared -fPIC program.c -lm */

{head}"""

LIBRARY = """

   Sorting, random numbers and windows are not written out here. For such a step run() asks whoever
   calls it: library(n, memory) does step n on the memories and returns 0, or else anything at all,
   for run() to stop there."""

DECLARED = "\ntypedef int32_t Library(int32_t step, void **memory);\n"


def source(program: Program, dialect: Dialect = C99) -> str:
    """C for the whole Program."""
    names = program.names()
    functions = functions_of(program, dialect)
    parts = [
        step_text(number, step, function, names, dialect)
        for number, (step, function) in enumerate(zip(program, functions, strict=True))
    ]
    asks = any(function is None for function in functions)
    head = HEAD.format(
        steps=len(program),
        slots=len(program.slots),
        library=LIBRARY if asks else "",
        head=dialect.head,
    )
    code = "\n".join([*parts, run_text(program, functions, names, dialect)])
    return head + (DECLARED if asks else "") + needed(code, dialect) + "\n" + code


def functions_of(program: Program, dialect: Dialect = C99) -> list[Function | None]:
    """The function for each step; None for a step that is left to the library."""
    names = program.names()
    calls = [Call(number, step, names, dialect) for number, step in enumerate(program)]
    writers = [WRITERS.get(step.kernel) for step in program]
    return [writer and writer(call) for writer, call in zip(writers, calls, strict=True)]


def slots_of(step: Step) -> list[Slot]:
    """The memories of a step, in the order of its function's parameters."""
    return list(dict.fromkeys(w.buf for w in walks(step)))


def step_text(
    number: int, step: Step, function: Function | None, names: dict[Slot, str], c: Dialect
) -> str:
    """The comment and the function of one step."""
    comment = comment_of(number, step, names)
    if function is None:
        return f"{comment[:-3]}\n   The library does it. */\n"
    changed = {w.buf for w in step.writes}
    before, behind = c.pointer
    parameters = []
    for slot in slots_of(step):
        kind = f"{before}{'' if slot in changed else 'const '}{c.stored[slot.dtype]}"
        parameters.append(f"{kind} *{behind}{names[slot]}")
    kind = "int32_t" if function.refuses else "void"
    head = wrapped(f"{kind} step_{number}(", parameters, ") {")
    body = indented(line for statement in function.body for line in statement)
    if function.refuses:
        body.append("    return 0;")
    parts = [line for part in function.parts for line in (*split(part), "")]
    return "\n".join([comment, *parts, *head, *body, "}", ""])


def split(part: Lines) -> Lines:
    """A function, with its first line wrapped if it is too long."""
    start, _, rest = part[0].partition("(")
    parameters, _, end = rest.rpartition(")")
    return [*wrapped(f"{start}(", parameters.split(", "), f"){end}"), *part[1:]]


def comment_of(number: int, step: Step, names: dict[Slot, str]) -> str:
    """The step's kernel, its inputs and outputs, and the line it comes from."""
    out, *ins = [f"{names[w.buf]}{w.shape}" for w in walks(step)]
    params = "".join(f", {name}={value}" for name, value in step.params.items() if name != "code")
    lines = [f"{number}: {step.kernel} {step.dtype.name}: {', '.join(ins)}{params} -> {out}"]
    if step.kernel == "fused":
        lines += str(step.params["code"]).split("; ")
    else:
        lines.append(signature_of(step.kernel).formula)
    if step.where:
        lines.append(f"{step.where[0].rpartition('/')[2]}:{step.where[1]}")
    text = [part for line in lines for part in textwrap.wrap(line, 94, subsequent_indent="  ")]
    return ("/* " + "\n   ".join(text)).replace("*/", "* /") + " */"


def wrapped(start: str, parts: list[str], end: str) -> list[str]:
    """`start` a, b, c `end`, in lines of at most 100 columns."""
    lines = [start]
    for n, part in enumerate(parts):
        piece = part + (", " if n < len(parts) - 1 else end)
        if len(lines[-1]) + len(piece) > 100:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * len(start))
        lines[-1] += piece
    return lines if parts else [start + end]


def run_text(
    program: Program, functions: list[Function | None], names: dict[Slot, str], c: Dialect
) -> str:
    """`run`: a description of each memory, and the calls."""
    changed = {w.buf for step in program for w in step.writes}
    body = []
    for number, slot in enumerate(program.slots):
        kind = f"{'' if slot in changed else 'const '}{c.stored[slot.dtype]} *{names[slot]}"
        what = f"{slot.role}: {slot.count} {slot.dtype.name}"
        body.append(f"{kind} = memory[{number}];  /* {what} */")
    used = {s for step, f in zip(program, functions, strict=True) if f for s in slots_of(step)}
    body += [f"(void){names[slot]};" for slot in program.slots if slot not in used]
    for number, (step, function) in enumerate(zip(program, functions, strict=True)):
        if function is None:
            body.append(f"if (library({number}, memory) != 0) return {number};")
            continue
        arguments = [names[slot] for slot in slots_of(step)]
        if function.refuses:
            body += wrapped(f"if (step_{number}(", arguments, f") != 0) return {number};")
        else:
            body += wrapped(f"step_{number}(", arguments, ");")
    asks = ", Library *library" if None in functions else ""
    return "\n".join(
        [f"int32_t run(void **memory{asks}) {{", *indented([*body, "return -1;"]), "}", ""]
    )
