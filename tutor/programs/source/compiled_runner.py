"""Road: runs the compiled Program if that is faster, otherwise the usual replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from tutor._storage.memory import Holder
from tutor.backends import registry
from tutor.backends.step import WATCHES
from tutor.core.buffer import Buffer
from tutor.dtype import uint8
from tutor.programs.program import Program, Slot
from tutor.programs.replay import Replay, Run
from tutor.programs.source.compiled import compiled

ROUNDS = 7  # in which both run alternately, if they take no longer than
SECONDS = 0.5
AROUND = 1e-6  # extra seconds of a call through Python, compared with its shortcut


class Road(Replay):
    """A Replay that runs compiled C if TUTOR_CC produced a faster version: on simd_cpp, while no
    watcher is active. If anything prevents that, the Program runs as it would without."""

    __slots__ = ("_compiled", "_constants")

    def __init__(self, program: Program, example: Mapping[Slot, Holder] | None = None) -> None:
        super().__init__(program)
        self._constants = {s: s.value for s in program.slots if s.role == "constant"}
        asked = registry.current() == "simd_cpp"
        self._compiled = compiled(program, example, self._times) if asked else None

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def native(self) -> tuple[Any, Any]:
        """Like Replay.native; (None, None) if compiled C is used."""
        return (None, None) if self._compiled else super().native()

    def run(self, buffers: Sequence[Buffer]) -> None:
        """Like Replay.run."""
        if self._compiled is None or WATCHES or registry.current() != "simd_cpp":
            return super().run(buffers)
        try:
            return self._run_in_c(self._compiled, buffers)
        except Exception as error:
            self.note(error)
            raise

    def _run_in_c(self, function: Any, buffers: Sequence[Buffer]) -> None:
        held = self._checked(buffers)
        held.update(self._constants)
        arena = Buffer.empty(self.nbytes, uint8)  # per run, as threads may run it at once
        start = arena.address
        function([
            held[slot].address if slot in held else start + self.layout.offsets[slot]
            for slot in self.program.slots
        ])  # fmt: skip

    def _times(self, function: Any, buffers: Mapping[Slot, Any]) -> tuple[float, float]:
        """The seconds of a call in C, and of one without: the least of several alternating runs."""
        given = [buffers[slot] for slot in self.slots]
        both: tuple[Run, Run] = (
            partial(self._run_in_c, function),
            super().native()[1] or super().run,
        )
        best, end = [float("inf")] * 2, perf_counter() + SECONDS
        for _ in range(ROUNDS):
            for n, run in enumerate(both):
                begin = perf_counter()
                run(given)
                best[n] = min(best[n], perf_counter() - begin)
            if perf_counter() > end:
                break
        return best[0] + AROUND, best[1]
