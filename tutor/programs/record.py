"""Recording: the Steps of a call, as they are emitted, become a Program.

The recorder is an observer (tutor/backends/step.py): the call runs normally, and each Step of this
context is noted. A Buffer's role follows from its first appearance:

- it belongs to an argument, or to a Tensor that the function can reach: input, or state;
- a step fills it whole: temp, or output if it is still in use when the call ends;
- otherwise it holds numbers written in the code, `Tensor([1.0, 2.0])`: constant. If a step writes
  into it later, the Program copies it first, so that the next call finds the same numbers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from tutor._storage import bounds_checks
from tutor._storage.layout import reach
from tutor._storage.memory import held
from tutor._util.callers import user_line
from tutor._util.typing import Walked
from tutor.backends.step import Step, watch
from tutor.core.buffer import Buffer
from tutor.errors import RecordError
from tutor.programs.call import BufferWindow
from tutor.programs.program import Program, Slot, Walk, copied, whole
from tutor.programs.ran import unseen

recorder: ContextVar[Recorder | None] = ContextVar("tutor.recorder", default=None)

INSTEAD = {  # what to write instead of reading or writing numbers in Python
    "item()": "return the Tensor and call .item() outside of the jitted function",
    "how many are true, the shape of t[mask]": "keep the shape: write tutor.where(mask, t, 0), or "
    "pick what is true outside of the jitted function",
    "a yes or no (bool)": "write tutor.where(condition, x, y) for `if`, or decide outside",
    "the text of a Tensor": "return the Tensor and print it outside",
    "the bytes of a Buffer": "stay with Tensors; look at the bytes outside",
    "to write an item": "set it outside of the jitted function: a learning rate stands in a cell, "
    "and a replay reads what it holds then",
    "where the random numbers stand": "seed them, or keep their state, outside; what is drawn in "
    "the function goes on by itself",
    "tutor.lazy()": "leave it out: what is recorded becomes a Program, and is improved, as there",
    "a Tensor from an array": "make the Tensor outside and hand it over as an argument",
}


class Recorder:
    """Notes the Steps of one call. `inputs` and `states` are the Buffers known before it; an input
    comes with the stretch that is the argument (start, count). The error of a step that cannot be
    recorded goes into `refused`, and the call continues unrecorded; `strict` raises it at once."""

    def __init__(
        self,
        inputs: Iterable[tuple[Buffer, int, int]],
        states: Iterable[Buffer],
        strict: bool = True,
    ) -> None:
        self.strict = strict
        self.refused: RecordError | None = None
        self.steps: list[Step] = []
        self.handed_out: list[Slot] = []
        self.first: list[Step] = []  # copies of constants, which run before all steps
        self.slots: dict[int, Slot] = {}  # by the id of the Buffer, kept alive by the slot
        self.starts: dict[int, int] = {}  # the slot's start in its Buffer
        for buf in states:
            self.slots.setdefault(id(buf), Slot("state", len(buf), buf.dtype, buf))
        for buf, start, count in inputs:
            if id(buf) not in self.slots:
                self.slots[id(buf)] = Slot("input", count, buf.dtype, buf)
                self.starts[id(buf)] = start

    def run(self, function: Callable[[], Any], asked: Callable[[str], Any] | None = None) -> Any:
        """`function()`, recorded. `asked` is told what reads or writes numbers in Python meanwhile;
        by default that is refused."""
        before, open_before = recorder.set(self), bounds_checks.closed.set(asked or refuse)
        try:
            with watch(self.note):
                result = function()
        except Exception as error:
            if not self.strict or self.refused in (None, error):
                raise
            raise self.refused from error
        finally:
            bounds_checks.closed.reset(open_before)
            recorder.reset(before)
        if self.strict and self.refused is not None:  # the function has caught it
            raise self.refused
        return result

    # ---- one step --------------------------------------------------------------------------------

    def note(self, step: Step, go: Callable[[], None]) -> None:
        """The observer: note the step, and let it run. Steps of other contexts and steps after a
        refusal are not noted."""
        if recorder.get() is self and self.refused is None:
            bounds_checks.closed.set(None)  # in this copy of the context: kernels may read
            try:
                unseen(self._note, step)
            except RecordError as error:
                self.refuse(error)
        return go()

    def refuse(self, error: RecordError) -> None:
        """Note that this call cannot be recorded; the first reason is kept."""
        self.refused = self.refused or error
        if self.strict:
            raise error

    def _note(self, step: Step) -> None:
        if step.kernel == "nonzero":
            raise refusal("positions of what is true, as in t[mask]")
        reads = {id(x.buf) for x in step.reads}
        written = {id(x.buf) for x in step.writes}
        walks = [self.walk(x, id(x.buf) in written, id(x.buf) in reads) for x in step.operands]
        noted = Step(step.kernel, step.dtype, walks[0], tuple(walks[1:]), dict(step.params))
        noted.where = user_line()
        self.steps.append(noted)

    def walk(self, x: Walked, written: bool, read: bool) -> Walk:
        """The operand as a Walk of the Program, with a Slot for its Buffer."""
        slot, shape, strides = self.slots.get(id(x.buf)), tuple(x.shape), tuple(x.strides)
        if slot is None:
            slot = self.slots[id(x.buf)] = Slot("temp", len(x.buf), x.buf.dtype, x.buf)
            if read or not (written and Walk(slot, shape, strides, x.offset).is_whole):
                slot.role = "constant"
        if written and slot.role == "constant":
            self.thaw(slot)
        walk = Walk(slot, shape, strides, x.offset - self.starts.get(id(x.buf), 0))
        within = walk.is_whole or 0 in walk.shape
        low, high = (0, -1) if within else reach(*walk[1:])
        if low < 0 or high >= slot.count:
            self.refuse(RecordError(
                "to record a jitted function",
                "it reaches around its argument, into the Buffer that this is a part of",
                "hand over a copy of the part: x.copy()",
            ))  # fmt: skip
        return walk

    def thaw(self, slot: Slot) -> None:
        """Turn a constant that is about to be written into a temp, into which the Program copies
        the constant's numbers first."""
        constant = Slot("constant", slot.count, slot.dtype, copied(slot.value))
        slot.role = "temp"
        self.first.append(copy_of(constant, slot))

    # ---- when the call is over -------------------------------------------------------------------

    def slot_of(self, buf: Buffer) -> Slot:
        """The slot of a Buffer that the call returns: a temp becomes an output; a constant is
        copied, because its own numbers must not change."""
        slot = self.slots.get(id(buf))
        if slot is None:  # made in the call, but used by no step
            slot = self.slots[id(buf)] = Slot("constant", len(buf), buf.dtype, buf)
        if slot.role == "constant":
            self.thaw(slot)
        if slot.role == "temp":
            slot.role = "output"
        self.handed_out.append(slot)
        return slot

    def program(self) -> Program:
        """The recorded Program. Call `slot_of` for everything the call returns before this."""
        for number, slot in self.slots.items():
            if slot.role in ("temp", "output"):
                slot.value = None
            elif slot.role == "input" and slot.count < len(slot.value):  # rows of something larger
                slot.value = BufferWindow(self.starts[number], slot.count, 0).over(slot.value)
        return Program([*self.first, *self.steps], self.handed_out)

    def check_nothing_escaped(self) -> None:
        """RecordError if a Buffer made in the call is stored somewhere that a replay would not
        update. Call this when the results have been taken apart."""
        if any(map(is_held, self.slots.values())):
            gc.collect()  # an unreachable graph may hold it
        for slot in self.slots.values():
            if is_held(slot):
                where = next((s.where for s in self.steps if any(w.buf is slot for w in s.writes)),
                             None)  # fmt: skip
                file, line = where or ("a line that made it", 0)
                raise RecordError(
                    "to record a jitted function",
                    f"a Tensor of {slot.count} {slot.dtype.name} from {file}:{line} is kept "
                    "somewhere that the next call would not know of, or came from there",
                    "return it, or keep it in an attribute that holds a Tensor already; hand over "
                    "as an argument what the function cannot name",
                )


def is_held(slot: Slot) -> bool:
    """Does something else refer to the Buffer of a temp or constant? (Constants of the library are
    read-only and cached for later calls.)"""
    if slot.role not in ("temp", "constant") or slot.value is None:
        return False
    readonly = getattr(held(slot.value, "a Buffer"), "readonly", False)
    return sys.getrefcount(slot.value) > 2 and not readonly


def copy_of(source: Slot, target: Slot) -> Step:
    """The step that copies all numbers of a slot to another."""
    return Step("copy", source.dtype, whole(target), (whole(source),), {}, user_line())


def instead(asked: str) -> str:
    if asked.startswith("the setting "):
        name = asked.split()[2]
        return f"read it outside; a Tensor that a replay reads anew is optimizer.cells[{name!r}][0]"
    return INSTEAD.get(asked, "do it outside of the jitted function")


def refusal(asked: str) -> RecordError:
    """The error that names the user's line."""
    file, line = user_line()
    return RecordError(
        f"{asked} at {file}:{line}, in a function under tutor.jit",
        "the call is recorded: its numbers are other ones each time it is replayed",
        instead(asked),
    )


def refuse(asked: str) -> None:
    """Refuse to read or write numbers in Python while a call is recorded. Unless `strict`, the
    first refusal drops the recording, and the call itself continues with access allowed."""
    note = recorder.get()
    error = refusal(asked)
    if note is None:
        raise error
    bounds_checks.closed.set(None)
    note.refuse(error)
