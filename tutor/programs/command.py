"""The command `python -m tutor program`: the Programs of a script's jitted functions."""

from __future__ import annotations

import argparse
import gc
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Any

from tutor import viz
from tutor.backends.step import Step, watch
from tutor.errors import DataError, RecordError
from tutor.programs import jit
from tutor.programs.passes import PASSES, stages
from tutor.programs.plan import plan
from tutor.programs.program import Program


class Recordings:
    """The functions that a script records, until all of `wanted` are among them; if `wanted` is
    empty, until one of them is called again."""

    def __init__(self, wanted: Collection[str]) -> None:
        self.wanted, self.before = wanted, all_functions()
        self.found: list[jit.Jitted] = []
        self.others: list[str] = []  # jitted functions that were not recorded by then

    def told(self, function: jit.Jitted) -> None:
        """Called with each function that has been recorded."""
        if function not in self.found and (not self.wanted or names(function) & {*self.wanted}):
            self.found.append(function)
        if self.wanted and not self.missing:
            self.end()

    def observe(self, step: Step, go: Callable[[], None]) -> None:
        """Called for each kernel call. Only calls of a replay have `where`, their source line."""
        if not self.wanted and step.where:
            self.end()
        go()

    @property
    def missing(self) -> list[str]:
        return [n for n in self.wanted if not any(n in names(f) for f in self.found)]

    def end(self) -> None:
        """End the script by SystemExit: a thread ends silently, and a script does not mistake it
        for an error of its own."""
        theirs = [f for f in all_functions() if f not in self.before]
        self.others = sorted({f.name for f in theirs if f not in self.found})
        raise SystemExit


def all_functions() -> list[jit.Jitted]:
    """Every function under tutor.jit in this process."""
    return [f for f in gc.get_objects() if type(f) is jit.Jitted]


def names(function: jit.Jitted) -> set[str]:
    """The names a user may give for it: Training.step, step."""
    return {function.name, function.name.rpartition(".")[2]}


def program_command(args: argparse.Namespace) -> int:
    """Run a script until something under tutor.jit is recorded, and print its Program."""
    path = Path(args.script)
    if not path.is_file():
        raise DataError(
            f"the Programs of {path}",
            "there is no such file",
            "give a script that uses tutor.jit, and behind it the arguments it wants",
        )
    finding = Recordings(args.function)
    ending = run(path, args.arguments, finding)
    failed = isinstance(ending, Exception)
    if isinstance(ending, Exception):
        tail = ending.__traceback__
        traceback.print_exception(ending.with_traceback(within(tail, path) or tail))
    if not failed and (finding.missing or not finding.found):
        raise RecordError(
            f"the Program of {', '.join(finding.missing) or 'a jitted function'} in {path}",
            f"{how(ending)}, and {_recorded(finding)}",
            "call it twice with arguments of one kind: the first call runs as ever, the second is "
            "recorded; arguments for the script stand behind its name",
        )
    drawn: list[Path] = []
    for function in finding.found:
        print("\n" + report(function))
        drawn += pictures(function, Path(args.picture), len(drawn)) if args.picture else []
    if drawn:
        print("\nwrote " + ", ".join(map(str, drawn)))
    if finding.others:
        print("\nUnder tutor.jit, too, and not recorded until then: " + ", ".join(finding.others))
        print("--function NAME waits for one of them")
    return int(failed)


def run(path: Path, arguments: list[str], finding: Recordings) -> BaseException | None:
    """Run the script, as `python path arguments` would; the exception that ended it, or None."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [str(path), *arguments], str(path.parent.resolve())
    jit.told.append(finding.told)
    try:
        with watch(finding.observe):
            runpy.run_path(str(path), run_name="__main__")
        return None
    except (Exception, SystemExit, KeyboardInterrupt) as ending:
        return ending
    finally:
        jit.told.remove(finding.told)
        sys.argv, sys.path[0] = before
        sys.stdout.flush()


def within(tail: TracebackType | None, path: Path) -> TracebackType | None:
    """The part of a traceback that begins in the script."""
    while tail is not None and tail.tb_frame.f_code.co_filename != str(path):
        tail = tail.tb_next
    return tail


def how(ending: BaseException | None) -> str:
    if isinstance(ending, KeyboardInterrupt):
        return "it was stopped"
    if isinstance(ending, SystemExit):
        return "it has ended" if not ending.code else f"it ended with {ending.code}"
    return "it has ended"


def _recorded(finding: Recordings) -> str:
    found = ", ".join(f.name for f in finding.found)
    return f"only {found} was recorded" if found else "nothing was recorded under tutor.jit"


# ---- the report ----------------------------------------------------------------------------------


def report(function: jit.Jitted) -> str:
    """The Program as recorded, the effect of each pass, and the Program that is replayed."""
    passed = stages(function.recorded, function.passes)
    code: Any = getattr(function.function, "__code__", None)
    where = f", {os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""
    parts = [f"{function.name}{where}, as it was recorded:", str(function.recorded)]
    if len(passed) > 1:
        parts += ["What the passes made of it:", table_of(passed)]
    if passed[-1][1] != function.recorded:
        parts += ["What is replayed:", str(passed[-1][1])]
    return "\n\n".join(parts)


def pictures(function: jit.Jitted, folder: Path, drawn: int) -> list[Path]:
    """Draw the Program before and after the passes; `drawn` pictures exist already."""
    name = re.sub(r"[^A-Za-z0-9_]+", "-", function.name.rpartition(".")[2]).strip("-")
    name += f"-{drawn // 2 + 1}" if drawn else ""
    after = stages(function.recorded, function.passes)[-1][1]
    return [
        viz.program(function.recorded).save(folder / f"{name}-recorded.svg"),
        viz.program(after).save(folder / f"{name}-replayed.svg"),
    ]


def table_of(passed: list[tuple[str, Program]]) -> str:
    """A line for each pass that changed something, with the size of the Program after it. `arena`
    is the memory that all of its temps share."""
    rows: list[tuple[str, ...]] = [("", "steps", "bytes", "flops", "arena", "")]
    idle, before = [], None
    for name, program in passed:
        if before is not None and program == before:
            idle.append(name)
            continue
        numbers = len(program), program.nbytes, program.flops, plan(program).nbytes
        rows.append((name, *(f"{n:,}" for n in numbers), headline(name)))
        before = program
    wide = [max(len(row[c]) for row in rows) for c in range(6)]
    lines = [
        "  ".join(cell.rjust(w) if 0 < c < 5 else cell.ljust(w)
                  for c, (cell, w) in enumerate(zip(row, wide, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip
    changed = {row[0] for row in rows}
    idle = [name for name in dict.fromkeys(idle) if name not in changed]
    return "\n".join([*lines, *([f"nothing to do here: {', '.join(idle)}"] if idle else [])])


def headline(name: str) -> str:
    """The first line of a pass's docstring (empty under `python -OO`, which strips docstrings)."""
    if name == "recorded":
        return "Each kernel call of the Python code."
    return (getattr(PASSES.get(name), "__doc__", None) or "").partition("\n")[0]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of `python -m tutor`."""
    command = commands.add_parser("program", help=(program_command.__doc__ or "").splitlines()[0])
    command.set_defaults(run=program_command)
    command.add_argument("--function", action="append", default=[], metavar="NAME", help="wait for "
                         "this one, may be given again (default: all that are recorded until one "
                         "is called once more)")  # fmt: skip
    command.add_argument("--picture", metavar="FOLDER", help="draw each Program there, before and "
                         "after all passes (default: draw nothing)")  # fmt: skip
    command.add_argument("script", help="a file that uses tutor.jit")
    command.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script wants")
