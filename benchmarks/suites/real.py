"""Real networks: whole training steps, one answer, and how much memory a step needs.

Each network has one source for both libraries (benchmarks/networks.py), and all columns start from
the same weights. The losses of three steps are compared first: tutor's with jit and without must be
the same bits, PyTorch's may differ by the problem's tolerance. Dropout draws other numbers in each
library, so a network that has it is compared with p = 0.

The memory of a step is the largest resident set of a process while it takes three steps, minus its
resident set before them, when the model and its inputs exist already. That leaves the gradients,
the optimizer's state, what forward keeps for backward, temporary results, and with jit what the
recording takes. Each column has a process of its own, which loads one library and first takes steps
of a tiny model, so that code which is loaded on demand does not count: benchmarks/child.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tutor
from benchmarks.case import Case
from benchmarks.libraries import Run, modules, view
from benchmarks.measure import Effort, Samples
from benchmarks.problems import ANSWERS, PROBLEMS, Problem, answering
from benchmarks.suites import process

COLUMNS = {"tutor": "jit", "eager": "eager", "torch": "torch"}
LIBRARIES = {"tutor": "tutor", "eager": "tutor", "torch": "torch"}
STEPS = 3  # the first is eager, the second recorded, the third a replay
QUICK = ("LSTM 256", "U-Net", "recommender 70,000 x 32")


def cases(effort: Effort) -> Iterator[Case]:
    names = effort.pick(tuple(PROBLEMS), QUICK, tuple(PROBLEMS))
    measured = effort.pick(names, names[:1], names[-1:])  # a process for each column takes seconds
    for name in names:
        yield step(name, PROBLEMS[name], effort)
        if name in measured:
            yield memory(name, effort)
    for name in effort.pick(ANSWERS, ANSWERS[:2], ANSWERS):
        yield answer(name, PROBLEMS[name], effort)


def models(problem: Problem, small: bool, **options: Any) -> dict[str, Any]:
    """A model for each column, from the same weights."""
    made = {
        column: problem.model(modules[library], small, **options)
        for column, library in LIBRARIES.items()
        if modules[library] is not None
    }
    ours = dict(made["tutor"].named_parameters())
    for column, model in made.items():
        named = dict(model.named_parameters())
        if named.keys() != ours.keys():
            raise ValueError(f"{column} names its parameters {[*named]}, tutor {[*ours]}")
        for name, p in named.items():
            p.data.copy_(view(column, ours[name].detach()))
    return made


def steps(problem: Problem, small: bool, inputs: tuple[Any, ...], **options: Any) -> dict[str, Run]:
    """A training step of each column, ready to be called again and again."""
    runs: dict[str, Run] = {}
    for column, model in models(problem, small, **options).items():
        take: Callable[..., Any] = problem.trainer(modules[LIBRARIES[column]], model).step
        if column == "tutor":
            take = tutor.jit(take)
        runs[column] = functools.partial(take, *(view(column, x) for x in inputs))
    return runs


def step(name: str, problem: Problem, effort: Effort) -> Case:
    small = effort.name == "smoke"
    inputs = problem.batches(tutor, small)
    runs = steps(problem, small, inputs)
    certain = steps(problem, small, inputs, p=0.0) if "dropout" in name else runs
    title = f"step {name}, {problem.optimizer}, batch {len(inputs[0])}"
    return Case(title, runs, check=several(certain), tolerance=problem.tolerance)


def several(runs: dict[str, Run]) -> dict[str, Run]:
    """The losses of some steps: equal only if forward, backward and update are."""

    def losses(run: Run) -> list[Any]:
        return [loss for _ in range(STEPS) for loss in run()]

    return {column: functools.partial(losses, run) for column, run in runs.items()}


def answer(name: str, problem: Problem, effort: Effort) -> Case:
    """Batch 1, without a gradient."""
    small = effort.name == "smoke"
    x, *_ = problem.batches(tutor, small, answer=True)
    runs: dict[str, Run] = {}
    for column, model in models(problem, small).items():
        run: Callable[..., Any] = answering(modules[LIBRARIES[column]], model)
        runs[column] = functools.partial(tutor.jit(run) if column == "tutor" else run,
                                         view(column, x))  # fmt: skip
    check = several({column: functools.partial(_listed, run) for column, run in runs.items()})
    return Case(f"one answer {name}", runs, check=check, tolerance=problem.tolerance)


def _listed(run: Run) -> list[Any]:
    return [run()]


def memory(name: str, effort: Effort) -> Case:
    """MiB, of a process for each column."""
    columns = [column for column, library in LIBRARIES.items() if modules[library] is not None]
    small = str(int(effort.name == "smoke"))

    def count() -> dict[str, Samples]:
        found = process.turns(1, columns, "step", name, str(effort.threads), small)
        return process.samples(found, "printed")

    return Case(f"memory of a step {name}", count=count, unit="MiB")
