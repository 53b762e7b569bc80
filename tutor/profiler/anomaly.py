"""Anomaly mode: finds the first operation that turns finite numbers into nan or inf, and its line.

    with tutor.detect_anomaly():
        loss = model(x).log().mean()
        loss.backward()

It observes each kernel call (tutor/backends/step.py) and checks its inputs and results, so a step
takes several times as long meanwhile. During a backward it names the line of the corresponding
forward: the Buffers identify the operands of a kernel call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tutor._util.callers import user_line
from tutor._util.keyword_aliases import spelled
from tutor.backends.step import Step, watch
from tutor.core.op import Op
from tutor.core.op.edges import nothing
from tutor.errors import AnomalyError
from tutor.profiler.debug import is_finite

Key = tuple[str, tuple[int, ...]]


class Anomaly:
    """The observer. `lines` maps inputs to the line that called a kernel with them; it keeps the
    Buffers alive, so that their ids are not reused."""

    def __init__(self) -> None:
        self.lines: dict[Key, tuple[str, int]] = {}
        self.kept: list[Any] = []

    def __call__(self, step: Step, go: Callable[[], None]) -> None:
        were_finite = all(map(is_finite, step.ins))
        op = _op_in_backward()
        if op is None:
            bufs = [x.buf for x in (*step.ins, step.out)]
            self.kept += bufs
            self.lines.setdefault((step.kernel, tuple(map(id, bufs))), user_line())
        go()
        if were_finite and not is_finite(step.out):
            raise self._error(step, op)

    def _error(self, step: Step, op: Op | None) -> AnomalyError:
        file, line = user_line()
        asked = f"{step} at {file}:{line}"
        if op is not None:
            made = self._line_of(op)
            where = " at {}:{}".format(*made) if made else ""
            asked = f"the derivative of {op.name}{where}: {step}, in the backward at {file}:{line}"
        return AnomalyError(
            asked,
            "it has made the first nan or inf, of finite numbers",
            "keep its operands where it has a finite result and derivative: clip them, or add a "
            "small number before a division, a log, a sqrt",
        )

    def _line_of(self, op: Op) -> tuple[str, int] | None:
        """The line of an Op's forward, which has read and made the values that the Op saved."""
        values = zip(op.save_positions, op.saved or (), strict=False)
        known = [(position, id(t.buf)) for position, t in values if t is not nothing()]
        for (kernel, bufs), line in self.lines.items():
            if known and kernel == op.kernel and all(bufs[i] == buf for i, buf in known):
                return line
        return None


def _op_in_backward() -> Op | None:
    """The Op whose derivative is being computed, if any."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name in ("backward", "_backward"):
            op = frame.f_locals.get("self")
            if isinstance(op, Op):
                return op
        frame = frame.f_back
    return None


@spelled
def detect_anomaly() -> watch:
    """`with tutor.detect_anomaly():` raises AnomalyError, with your line (in a backward, the line
    of its forward), at the first operation that turns finite numbers into nan or inf."""
    return watch(Anomaly())
