"""Road: a Program that is run by what a C compiler made of it, where that pays, or else as ever."""

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

ROUNDS = 7  # in which both run by turns, if they take no longer than
SECONDS = 0.5
AROUND = 1e-6  # seconds that a call through Python takes longer than one by its shortcut


class Road(Replay):
    """A Replay that takes the road through C where TUTOR_CC has made one that is faster: on
    simd_cpp, while nobody watches. Whatever is in the way of that, the Program runs as it would
    without."""

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
        """As Replay.native: none where the road through C is taken."""
        return (None, None) if self._compiled else super().native()

    def run(self, buffers: Sequence[Buffer]) -> None:
        """As Replay.run."""
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
        arena = Buffer.empty(self.nbytes, uint8)  # of this run alone: threads may run it at once
        start = arena.address
        function([
            held[slot].address if slot in held else start + self.layout.offsets[slot]
            for slot in self.program.slots
        ])  # fmt: skip

    def _times(self, function: Any, buffers: Mapping[Slot, Any]) -> tuple[float, float]:
        """The seconds of a call in C, and of one without: the least of some, by turns."""
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
