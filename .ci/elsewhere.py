"""Conformance of a machine that is emulated: only its kernels run there.

    python .ci/elsewhere.py neon scalar [--kernel KERNEL ...] -- COMMAND

`python -m tutor conformance` spends nearly all its time in Python: in the reference, which is slow
on purpose, and in comparing. Under emulation that takes hours. So here the cases are drawn, run by
the reference and compared by this process, and COMMAND, which is to start `elsewhere.py` without
arguments over there, runs the very same cases by the kernels of each level, on the same bytes.
Between the two goes, through pipes, one message for each row of signatures.py.

The reference takes exp, erf and their like from the C library, and the one over there may round the
last bit another way. So a row that does not agree is compared once more, wholly over there: what it
then says is what `python -m tutor conformance` says on that machine, and counts.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).parents[1]))

from tutor.backends import simd_cpp
from tutor.backends.signatures import SIGNATURES
from tutor.dtype import BY_NAME
from tutor.testing import conformance
from tutor.testing.cases.operands import execute, through
from tutor.testing.conformance import Verdict, agreement, differences, prepared, signed


def send(pipe: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message)
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; None where the other side has ended."""
    size = int.from_bytes(pipe.read(8), "little")
    return pickle.loads(pipe.read(size)) if size else None


def serve() -> None:
    """Over there: run the cases that come, until no more do."""
    into, out = sys.stdin.buffer, sys.stdout.buffer
    while (message := receive(into)) is not None:
        kernel, dtype, levels, work = message
        key, results = (kernel, BY_NAME[dtype]), []
        if not work:
            send(out, conformance.check(simd_cpp.table(levels[0]), *key))
            continue
        for level in levels:
            table = simd_cpp.table(level)
            for case, before in work:
                try:
                    results.append(execute(through(*key, table[key]), case, before))
                except Exception as error:
                    results.append(f"raised {type(error).__name__}: {error}")
        send(out, results)


def compare(levels: list[str], command: list[str], kernels: list[str]) -> int:
    """Here: draw, ask, compare, say. 1 where they do not agree."""
    there = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert there.stdin is not None and there.stdout is not None
    verdicts: dict[str, list[Verdict]] = {level: [] for level in levels}
    began = time.monotonic()
    for kernel in kernels:
        for dtype in SIGNATURES[kernel].dtypes:
            drawn = prepared(kernel, dtype, 0)
            bare = [  # without the values, which stand in the memory
                (case._replace(params=dict(case.params), out=case.out._replace(values=None),
                               ins=tuple(x._replace(values=None) for x in case.ins)), before)
                for case, before, _ in drawn
            ]  # fmt: skip
            with contextlib.suppress(BrokenPipeError):  # then no answer comes, either
                send(there.stdin, (kernel, dtype.name, levels, bare))
            results = receive(there.stdout)
            if results is None:
                print(f"{kernel} of {dtype.name}: the process over there ended, {there.wait()}")
                return 1
            for n, level in enumerate(levels):
                got = results[n * len(drawn) : (n + 1) * len(drawn)]
                verdict = judged(kernel, dtype, drawn, got)
                if not verdict.ok:
                    print(f"{level}: {verdict.first_failure}", flush=True)
                    send(there.stdin, (kernel, dtype.name, [level], []))
                    verdict = receive(there.stdout) or verdict
                    print(f"... and wholly over there: {verdict.ok}", flush=True)
                verdicts[level].append(verdict)
        minutes = (time.monotonic() - began) / 60
        print(f"{minutes:5.1f} min  {kernel}", file=sys.stderr, flush=True)
    there.stdin.close()
    there.wait()
    for level in levels:
        wrong = sum(not verdict.ok for verdict in verdicts[level])
        print(conformance.report(verdicts[level]))
        print(f"{level}: {len(verdicts[level])} rows, {wrong} wrong")
    return int(any(not v.ok or not v.cases for found in verdicts.values() for v in found))


def judged(kernel: str, dtype: Any, drawn: list[Any], results: list[Any]) -> Verdict:
    """The verdict on one row, as conformance.check has it."""
    (kind, limit), worst, first = agreement(kernel, dtype), 0.0, ""
    for (case, before, expected), got in zip(drawn, results, strict=True):
        if isinstance(got, str):
            first = first or got + signed(kernel, dtype, case)
            continue
        for off, say in differences(kernel, dtype, kind, case, before, expected, got):
            worst = max(worst, off)
            if off > limit and not first:
                first = say(off, kind, limit) + signed(kernel, dtype, case)
    layouts = {spec.layout for case, *_ in drawn for spec in (case.out, *case.ins)}
    return Verdict(kernel, dtype, len(drawn), worst, limit, not first, first, tuple(layouts))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve()
    else:
        split = sys.argv.index("--")
        parser = argparse.ArgumentParser(usage=__doc__)
        parser.add_argument("levels", nargs="+")
        parser.add_argument("--kernel", action="append")
        args = parser.parse_args(sys.argv[1:split])
        sys.exit(compare(args.levels, sys.argv[split + 1 :], args.kernel or list(SIGNATURES)))
