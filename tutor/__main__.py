"""The command line: `python -m tutor conformance | kernels | doctor | program | bench | ...`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import tutor
from course import lab, shell
from tutor import doctor
from tutor.backends import registry, simd_cpp
from tutor.backends.matrix_signatures import MATRICES
from tutor.backends.signatures import SIGNATURES
from tutor.distributed import launcher
from tutor.doctor import names, processor
from tutor.errors import KernelNotFound, TutorError
from tutor.programs import command as program_command
from tutor.testing import cases, conformance, matrices
from tutor.training.screen import Screen

# The text above the table in docs/conformance.md.
CONFORMANCE_PAGE = """\
# Agreement, measured

Written by `make conformance`, which runs

```sh
python -m tutor conformance {backend} --markdown docs/conformance.md
```

Every kernel of this backend is run on the same memory as the reference's: all its dtypes; operands
contiguous, offset, transposed, cut out, sliced, reversed, stretched, in any mixture; from none up
to {most:,} elements; nan, infinities, signed zeros, subnormals, extremes and ties among the
numbers. What stands around and between the elements of the result must stay as it was, to the bit.
The classes of agreement are explained with [the kernel table](kernels.md); *worst error* is the
largest one that was met, and what is allowed. Kernels on matrices (*residual*) come from LAPACK, by
way of NumPy: what comes out is put into its own equation. The level was: {level}.

"""

# The text below it, if `make exhaustive` has written docs/exhaustive.md.
EVERY_FLOAT = """
## Every float there is

(This part is `exhaustive.md`, beside this page.)

```{include} exhaustive.md
```
"""


def check_conformance(args: argparse.Namespace) -> int:
    """Print how a backend agrees with python_ref; 1 where it does not."""
    level = args.level or (simd_cpp.level() if args.backend.startswith("simd") else "none")
    table, named = kernel_table(args.backend, args.level), args.kernel or [*SIGNATURES, *MATRICES]
    conformance.must_be_listed(kernel for kernel in named if kernel not in MATRICES)
    screen, verdicts = Screen(wanted=True), []
    for done, kernel in enumerate(named):
        if screen.is_due():  # all of them take minutes, on a device far longer
            screen.show(kernel, done, len(named), {}, "kernels")
        if kernel in MATRICES:
            verdicts += matrices.run(args.backend, [kernel], args.seed)
        else:
            verdicts += conformance.run(table, [kernel], args.seed)
    screen.clear()
    print(conformance.report(verdicts))
    if args.markdown:
        page = Path(args.markdown)
        page.write_text(
            CONFORMANCE_PAGE.format(backend=args.backend, most=cases.LARGE, level=level)
            + conformance.markdown(verdicts)
            + (EVERY_FLOAT if page.with_name("exhaustive.md").exists() else "")
        )
    return 0 if any(v.cases for v in verdicts) and all(v.ok for v in verdicts) else 1


def kernel_table(backend: str, level: str | None) -> registry.Table:
    if level is None:
        return registry.table(backend)
    if registry.ALIASES.get(backend, backend) != "simd_cpp":
        raise KernelNotFound(
            f"level {level!r} of backend {backend!r}",
            "only simd_cpp has levels",
            "leave --level out",
        )
    if level not in simd_cpp.levels():
        raise KernelNotFound(
            f"level {level!r} of backend {backend!r}",
            f"this build on this CPU has the levels {', '.join(simd_cpp.levels())}",
            "choose one of those",
        )
    return simd_cpp.table(level)


def list_kernels(args: argparse.Namespace) -> int:
    """Print every kernel with its formula, and for how many dtypes each backend has it."""
    print(registry.report())
    return 0


def examine(args: argparse.Namespace) -> int:
    """Print what is installed, what of it is in use, and how to get what is missing."""
    print(doctor.report(tutor.__version__, os.path.dirname(tutor.__file__), args.measure))
    return 0


def of_the_tree(module: str) -> Any:
    """A module of benchmarks/, which only the source tree has."""
    root = Path(tutor.__file__).parents[1]
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise TutorError(
            "the benchmarks",
            f"they are not installed with the library, and {root} has no folder benchmarks",
            "get the source tree, and run `make bench` in it",
        )
    sys.path.insert(0, str(root))
    return importlib.import_module(f"benchmarks.{module}")


def bench(args: argparse.Namespace) -> int:
    """Measure tutor beside NumPy and PyTorch; 1 where results differ. It needs the source tree."""
    return int(of_the_tree("__main__").main(args.rest))


def roofline(args: argparse.Namespace) -> int:
    """Measure what this machine can do at most, and draw five operations below those roofs."""
    of_the_tree("roofline").show(args.threads, args.out)
    return 0


def headline(described: object) -> str:
    """The first line of its docstring, which is empty under `python -OO`."""
    return (described.__doc__ or "").partition("\n")[0]


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m tutor", description=headline(tutor))
    commands = p.add_subparsers(required=True, metavar="command")
    for name, run in (
        ("conformance", check_conformance),
        ("kernels", list_kernels),
        ("doctor", examine),
        ("bench", bench),
        ("roofline", roofline),
    ):
        command = commands.add_parser(name, help=headline(run), add_help=run is not bench)
        command.set_defaults(run=run)
        if run is check_conformance:
            command.add_argument("backend", help="the backend to compare with python_ref")
            command.add_argument("--level", help="instruction-set level of simd_cpp (default: the "
                                 "one in use)")  # fmt: skip
            command.add_argument("--kernel", action="append", help="only this kernel, may be given "
                                 "again (default: all)")  # fmt: skip
            command.add_argument("--seed", type=int, default=0, help="draws other cases "
                                 "(default: %(default)s)")  # fmt: skip
            command.add_argument("--markdown", metavar="FILE", help="write the table there, too "
                                 "(default: only print it)")  # fmt: skip
        if run is roofline:
            command.add_argument("--threads", type=int, default=1, help="of tutor's and of the "
                                 "probes (default: %(default)s)")  # fmt: skip
            command.add_argument("--out", type=Path, default=Path("roofline.svg"), metavar="FILE",
                                 help="where it is drawn (default: %(default)s)")  # fmt: skip
        if run is examine:
            command.add_argument("--measure", action="store_true", help="how fast the kernels are "
                                 "here, too, in 2 s (default: only what is there)")  # fmt: skip
    program_command.add_command(commands)
    launcher.add_command(commands)
    shell.add_commands(commands)
    lab.add_command(commands, processor.name)
    return p


def main(argv: list[str] | None = None) -> int:
    try:
        try:
            names.check(tutor)
            return command(argv)
        finally:
            sys.stdout.flush()
    except TutorError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the output has stopped, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the end
        return 128 + 13  # like a program that SIGPIPE has ended


def command(argv: list[str] | None) -> int:
    args, rest = parser().parse_known_args(argv)
    if args.run is bench:
        args.rest = rest  # it has a parser of its own
    elif rest:
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    return int(args.run(args))


if __name__ == "__main__":
    sys.exit(main())
