"""Road: a Program that is run by what a C compiler made of it, or else as ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from tutor.backends import registry
from tutor.backends.step import WATCHES
from tutor.core.buffer import Buffer
from tutor.dtype import uint8
from tutor.ground.memory import Holder
from tutor.programs.program import Program, Slot
from tutor.programs.replay import Replay
from tutor.programs.source.compiled import compiled

ALIGNMENT = 64  # bytes: of the memory of each temp


class Road(Replay):
    """A Replay that takes the road through C where TUTOR_CC has made one: on simd_cpp, while nobody
    watches. Whatever is in the way of that, the Program runs as it would without."""

    __slots__ = ("_compiled", "_constants", "_nbytes", "_offsets")

    def __init__(self, program: Program, example: Mapping[Slot, Holder] | None = None) -> None:
        super().__init__(program)
        asked = registry.current() == "simd_cpp"
        self._compiled = compiled(program, example) if asked else None
        temps = [slot for slot in program.slots if slot.role == "temp"]
        sizes = [-(-slot.nbytes // ALIGNMENT) * ALIGNMENT for slot in temps]
        *starts, self._nbytes = accumulate(sizes, initial=0)
        self._offsets = dict(zip(temps, starts, strict=True))
        self._constants = {s: s.value for s in program.slots if s.role == "constant"}

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def run(self, buffers: Sequence[Buffer]) -> None:
        """As Replay.run."""
        if self._compiled is None or WATCHES or registry.current() != "simd_cpp":
            return super().run(buffers)
        held = self._checked(buffers)
        held.update(self._constants)
        arena = Buffer.empty(self._nbytes, uint8)  # of this run alone: threads may run it at once
        start = arena.address
        addresses = [
            held[slot].address if slot in held else start + self._offsets[slot]
            for slot in self.program.slots
        ]
        try:
            self._compiled(addresses)
        except Exception as error:
            self._note(error)
            raise
        return None
