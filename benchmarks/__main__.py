"""The command `python -m tutor bench [NAME ...]`: options, and the number of threads."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from tutor.errors import TutorError

SUITES = (
    "elementwise", "reductions", "matmul", "layers", "mlp", "overhead", "cnn", "real", "jit",
    "compilers", "process", "busy",
)  # fmt: skip
INSTRUMENTS = {  # beside --threads 1:N
    "diagnose": "why do times scatter? Figures of this system for each cause",
    "energy": "the joules of each row, if the processor counts them (RAPL)",
}
HERE = Path(__file__).parent
THREADS = (
    "TUTOR_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


def arguments(argv: list[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="python -m tutor bench", description="Measure tutor beside "
                                "NumPy and PyTorch, where those are installed.")  # fmt: skip
    p.add_argument("suites", nargs="*", metavar="NAME", help=f"of {', '.join(SUITES)} "
                   "(default: all)")  # fmt: skip
    p.add_argument("--threads", default="1", metavar="N", help="for each library; 1:N measures how "
                   "tutor's rows get faster from 1 to N (default: %(default)s)")  # fmt: skip
    p.add_argument("--compare", nargs=2, metavar=("A", "B"), help="measure nothing, compare two "
                   "results: files, REVISION:FILE, commits or dates of --out "
                   "(default: measure)")  # fmt: skip
    for name, what in INSTRUMENTS.items():
        p.add_argument(f"--{name}", dest="instrument", action="store_const", const=name,
                       help=f"{what} (default: measure)")  # fmt: skip
    p.add_argument("--quick", action="store_true", help="some rows of every suite (default: all)")
    p.add_argument("--smoke", action="store_true", help=argparse.SUPPRESS)  # tiny sizes, for tests
    p.add_argument("--out", type=Path, default=HERE / "results.jsonl", metavar="FILE",
                   help="where JSON lines are added (default: %(default)s)")  # fmt: skip
    p.add_argument("--pictures", type=Path, default=HERE / "pictures", metavar="FOLDER",
                   help="where pictures are drawn (default: %(default)s)")  # fmt: skip
    args = p.parse_args(argv)
    if unknown := [name for name in args.suites if name not in SUITES]:
        p.error(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    first, _, last = args.threads.rpartition(":")
    if first not in ("", "1") or not last.isdecimal() or int(last) < 1:
        p.error(f"--threads {args.threads}: use a number from 1 on, or 1:N")
    args.threads, args.instrument = int(last), "amdahl" if first else args.instrument
    return args


def use_threads(count: int, argv: list[str]) -> None:
    """Begin this process anew, with the variables set that libraries read when they are loaded."""
    wanted = dict.fromkeys(THREADS, str(count))
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, **wanted, "PYTHONPATH": path}
        sys.stdout.flush()
        command = [sys.executable, "-m", "benchmarks", *argv]
        os.execve(sys.executable, command, environment)


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    try:
        return measured(arguments(argv), argv)
    except TutorError as error:
        print(error, file=sys.stderr)
        return 2


def measured(args: argparse.Namespace, argv: list[str]) -> int:
    """Do what was asked; the exit code."""
    if args.compare:
        from benchmarks import compare

        compare.show(args.compare, args.out)
        return 0
    use_threads(args.threads, argv)
    from benchmarks import run  # from here on, with the right number of threads

    effort = run.begin("smoke" if args.smoke else "quick" if args.quick else "full", args.threads)
    if args.instrument:
        instrument = importlib.import_module(f"benchmarks.{args.instrument}")
        instrument.show(args.suites, effort, args.pictures)
        return 0
    start = time.perf_counter()
    right = run.suites(args.suites or SUITES, effort, args.out, args.pictures)
    print(f"took {time.perf_counter() - start:.0f} s")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
