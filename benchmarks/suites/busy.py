"""A training step while other programs want every core: by how much does it slow down?

With as many programs as cores each gets half of the time at best, so a fair slowdown is 2. Far more
means that a thread which has nothing to do keeps a core from one that has: a barrier that spins.
Samples are long here, and of a fixed time: a short one fits between two turns of the others and
would not notice them, and one of so many steps could take forever.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks import machine, trainers
from benchmarks.case import Case
from benchmarks.libraries import Run
from benchmarks.measure import Effort, Samples
from benchmarks.targets import TARGETS

COLUMNS = {"tutor": "jit", "eager": "eager", "torch": "torch"}
SPIN = "while True: pass"


def cases(effort: Effort) -> Iterator[Case]:
    for batch in effort.pick((32, 128, 512), (128,), (8,)):
        steps = trainers.runs(trainers.jitted("mlp", {}), "step", *trainers.images(batch))
        start = machine.times()
        quiet = turns(steps, effort)
        shared = machine.too_few_cores(effort.threads, machine.others(start))
        busy = among_others(steps, effort)
        name = f"step SGD batch {batch}"
        slowdown = {lib: Samples(s / quiet[lib].best for s in busy[lib]) for lib in steps}
        quietly = "cores that were not quiet" if shared else "quiet cores"
        yield Case(f"{name}, {quietly}", count=partial(dict, quiet))
        yield Case(f"{name}, busy cores", count=partial(dict, busy))
        yield Case(f"{name}, busy / quiet", count=partial(dict, slowdown), unit="x",
                   target=None if shared else TARGETS["busy"])  # fmt: skip


def among_others(steps: dict[str, Run], effort: Effort) -> dict[str, Samples]:
    """Samples beside one program for each core that never rests."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(effort.pick(0.2, 0.2, 0.0))  # they are spinning now
        return turns(steps, effort)
    finally:
        for process in others:
            process.kill()
            process.wait()


def turns(steps: dict[str, Run], effort: Effort) -> dict[str, Samples]:
    """Seconds per step, the libraries in turns."""
    seconds = effort.pick(0.2, 0.1, 0.01)  # many turns of the scheduler
    samples = {name: Samples() for name in steps}
    for _ in range(effort.pick(7, 5, 1)):
        for name, step in steps.items():
            step()
            start, count = time.perf_counter(), 0
            while (passed := time.perf_counter() - start) < seconds:
                step()
                count += 1
            samples[name].append(passed / count)
    return samples
