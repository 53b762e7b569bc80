"""Replay: the Steps of a Program on memory that is there."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.backends.registry import Operand
from tutor.backends.step import emit
from tutor.core.buffer import Buffer
from tutor.programs.program import Program, walks


class Replay:
    """`run(buffers)`: one Buffer for each of `slots`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.slots = [s for s in program.slots if s.lasts]

    def run(self, buffers: Sequence[Buffer]) -> None:
        """Make each call of the Program, one after another."""
        found = dict(zip(self.slots, buffers, strict=True))
        for s in self.program.slots:
            if s not in found:
                found[s] = s.value if s.role == "constant" else Buffer.empty(s.count, s.dtype)
        for step in self.program:
            emit(step.over([Operand(found[w.buf], *w[1:]) for w in walks(step)]))
