"""Updates side by side: the steps of optimizers one after another.

    p0 = sgd(g0)                   g0 = matmul(...)
    g1 = matmul(...)               g1 = matmul(...)
    p1 = sgd(g1)                   p0 = sgd(g0)
                                   p1 = sgd(g1)

They are many, most are small, and none waits for another. So who runs them can take them together:
the threads meet once after all of them, and not once after each. The order in a Program is that of
its phases. A phase is what can be done without what the updates before it have changed; then come
the updates that can be done by then.
"""

from __future__ import annotations

from tutor.backends.step import Step
from tutor.programs.passes.uses import dependences
from tutor.programs.program import Program


def updates(program: Program) -> Program:
    """With the updates next to each other."""
    steps, phases = program.steps, list[int]()
    for i, needed in enumerate(dependences(program)):
        waits = not _is_update(steps[i])  # does it need another phase to follow an update?
        phases.append(
            max((phases[n] + (waits and _is_update(steps[n])) for n in needed), default=0)
        )
    order = sorted(range(len(steps)), key=lambda i: (phases[i], _is_update(steps[i])))
    return program.with_steps([steps[i] for i in order])


def _is_update(step: Step) -> bool:
    return step.signature.form == "update"
