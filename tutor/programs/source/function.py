"""Compiled: a Program compiled to a C function, called through ctypes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

from tutor._storage.memory import Holder, Memory
from tutor.backends.step import Step, emit
from tutor.errors import DomainError, ShapeError
from tutor.programs.program import Program, Slot, Walk, walks
from tutor.programs.source.text import functions_of, slots_of
from tutor.testing.cases.operands import Block

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


def at(slot: Slot, address: int) -> Holder:
    """An object with the interface that kernels expect of `buf`, over memory owned elsewhere."""
    view = memoryview((ctypes.c_char * slot.nbytes).from_address(address)).cast("B")
    memory = Memory.borrow(view, slot.count, slot.dtype.itemsize, slot.dtype.format)
    return Block(memory, slot.dtype)


class Compiled:
    """`compiled(addresses)`: run the Program on memory at these addresses, one for each of
    `program.slots`, in that order.

    The memories must stay alive during the call, and must not overlap. A step that fails raises the
    error of the library's own kernel. Several threads may run it at once, each on its own memory.
    """

    def __init__(self, program: Program, library: ctypes.CDLL) -> None:
        self.program, self.library = program, library
        functions = functions_of(program)
        self.written = [function is not None for function in functions]
        self.refuses = [function is not None and function.refuses for function in functions]
        self.raised = threading.local()
        self._ask = CALLBACK(self.ask)
        self._arguments = () if all(self.written) else (self._ask,)
        library.run.restype = ctypes.c_int32
        self._run = library.run
        self._array = ctypes.c_void_p * len(program.slots)

    def __call__(self, addresses: Sequence[int]) -> None:
        if len(addresses) != len(self.program.slots):
            raise ShapeError(
                "to run a compiled Program",
                f"{len(addresses)} addresses for {len(self.program.slots)} memories",
                "give the address of each of program.slots, in that order",
            )
        stopped = self._run(self._array(*addresses), *self._arguments)
        if stopped >= 0:
            self.fail(stopped, addresses)

    def step(self, number: int, addresses: Sequence[int]) -> None:
        """Run one step only."""
        step = self.program.steps[number]
        if not self.written[number]:
            return emit(self.over(step, addresses))
        place = dict(zip(self.program.slots, addresses, strict=True))
        function = self.library[f"step_{number}"]
        function.restype = ctypes.c_int32 if self.refuses[number] else None
        if function(*[ctypes.c_void_p(place[slot]) for slot in slots_of(step)]):
            self.fail(number, addresses)
        return None

    def over(self, step: Step, addresses: Sequence[int]) -> Step:
        """The step on memory at these addresses."""
        place = dict(zip(self.program.slots, addresses, strict=True))
        held = {w.buf: at(w.buf, place[w.buf]) for w in walks(step)}
        return step.over([Walk(held[w.buf], *w[1:]) for w in walks(step)])

    def ask(self, number: int, memory: Sequence[int]) -> int:
        """Called by run() for a step that has no C code."""
        try:
            addresses = [memory[n] or 0 for n in range(len(self.program.slots))]
            emit(self.over(self.program.steps[number], addresses))
        except BaseException as error:  # C cannot propagate it: __call__ raises it
            self.raised.error = error
            return 1
        return 0

    def fail(self, number: int, addresses: Sequence[int]) -> None:
        """Raise the error that the library's own kernel raises for the failed step."""
        error = self.raised.__dict__.pop("error", None)
        try:
            if error is not None:
                raise error
            emit(self.over(self.program.steps[number], addresses))
        except Exception as raised:
            raised.step = number  # type: ignore[attr-defined]
            raise
        raise DomainError(
            f"step {number} of a compiled Program, {self.program.steps[number].kernel}",
            "it refused a number that is not there any more",
            "change nothing that a Program reads while it runs",
        )
