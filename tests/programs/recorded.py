"""A Program of what a function computes, for tests that are not about recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tutor import Buffer, Tensor, watch
from tutor.backends.step import Step
from tutor.programs.program import Program, Slot, Walk


class Recorded:
    """The Program of `function()`, which runs once: what it returns is a list of Tensors.

    Buffers of `inputs` are inputs. Of the others, one that a step fills as a whole before anything
    reads it is a temp, or an output if it is returned; one that a step writes later is a state; and
    what is only read is a state if it is among `states`, else a constant.
    """

    def __init__(
        self,
        function: Callable[[], Iterable[Tensor]],
        inputs: Iterable[Tensor] = (),
        states: Iterable[Tensor] = (),
    ) -> None:
        self.buffers: dict[Slot, Buffer] = {}
        self._roles = dict.fromkeys([x.buf for x in states], "state")
        self._roles |= dict.fromkeys([x.buf for x in inputs], "input")
        self._known: dict[Buffer, Slot] = {}
        steps: list[Step] = []

        def observer(step: Step, go: Callable[[], None]) -> None:
            for x in step.ins:
                self._slot(x.buf, "constant")
            steps.append(step.over([self._walk(x, "temp") for x in step.operands]))
            for x in step.writes:
                slot = self._known[x.buf]
                slot.role = "state" if slot.role == "constant" else slot.role
            go()

        with watch(observer):
            self.results = list(function())
        for x in self.results:
            self._known[x.buf].role = "output"
        self.program = Program(steps, self.buffers)

    def _slot(self, buf: Buffer, role: str) -> Slot:
        if buf not in self._known:
            slot = Slot(self._roles.get(buf, role), len(buf), buf.dtype, buf)
            self._known[buf], self.buffers[slot] = slot, buf
        return self._known[buf]

    def _walk(self, x: Any, role: str) -> Walk:
        return Walk(self._slot(x.buf, role), x.shape, x.strides, x.offset)

    def slot(self, x: Tensor) -> Slot:
        return self._known[x.buf]
