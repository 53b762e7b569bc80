"""Updates side by side: groups the steps of optimizers.

    p0 = sgd(g0)                   g0 = matmul(...)
    g1 = matmul(...)               g1 = matmul(...)
    p1 = sgd(g1)                   p0 = sgd(g0)
                                   p1 = sgd(g1)

They are many, most are small, and none waits for another. So a backend can run them as a group, and
the threads synchronize once after the group instead of after each update. The Program is ordered by
phases. A phase begins with the steps that depend only on updates of earlier phases, and ends with
the updates that are then ready.
"""

from __future__ import annotations

from tutor.backends.step import Step
from tutor.programs.passes.uses import dependences
from tutor.programs.program import Program


def updates(program: Program) -> Program:
    """Puts optimizer updates next to each other."""
    steps, phases = program.steps, list[int]()
    for i, needed in enumerate(dependences(program)):
        waits = not _is_update(steps[i])  # does it need a new phase after an update?
        phases.append(
            max((phases[n] + (waits and _is_update(steps[n])) for n in needed), default=0)
        )
    order = sorted(range(len(steps)), key=lambda i: (phases[i], _is_update(steps[i])))
    return program.with_steps([steps[i] for i in order])


def _is_update(step: Step) -> bool:
    return step.signature.form == "update"
