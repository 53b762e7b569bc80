"""Noting a step: instead of running the kernel, promise what it would write.

A step is noted only if tutor alone can reach the memory of all its operands. If an array of another
library can see or change that memory, the step cannot wait and runs at once.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple
from weakref import ref

from tutor._storage import bounds_checks
from tutor._storage.device_memory import is_elsewhere
from tutor._storage.memory import Holder, Memory, PythonMemory
from tutor._util.atomic import exchange
from tutor._util.callers import user_line
from tutor._util.typing import Walked
from tutor.backends.registry import Kernel
from tutor.backends.step import Step, emit, mode
from tutor.core.buffer import Buffer
from tutor.programs.lazy_buffers import Noted, Place, Promise, Value, Work, run
from tutor.programs.program import Walk


def note(step: Step, kernel: Kernel) -> None:
    """Note the step, and put promises where it writes; run it if it cannot wait."""
    recorded = bounds_checks.closed.get() is not None  # by tutor.jit, which sees what runs
    while not recorded and (found := _values(step)) is not None:
        noted = Noted(step.where or user_line())
        work, puts = _work(noted, step, kernel, found)
        noted.work = work
        for value in (*work.reads, *work.overwrites):
            value.add(noted)
        bufs, old, new = zip(*puts, strict=True)
        if exchange(bufs, "memory", old, new):
            if any(value.closed for value in (*work.reads, *work.overwrites)):
                run([noted])
            return
    mode.during(None, emit, step, kernel)


class Found(NamedTuple):
    """A Buffer of the step's operands, its memory (or promise), and the Value there."""

    buf: Buffer
    memory: Any  # None for a constant, which never changes, so nothing has to wait for it
    value: Value


def _values(step: Step) -> dict[int, Found] | None:
    """The values in the operands' Buffers, by id(buf); None if the step cannot wait."""
    found: dict[int, Found] = {}
    written = {id(x.buf) for x in step.writes}
    for x in step.operands:
        buf = x.buf
        if type(buf) is not Buffer or type(x.shape) is not tuple or type(x.strides) is not tuple:
            return None  # it was tampered with: the kernel will report the error
        if id(buf) in found:
            continue
        memory: Any = getattr(buf, "memory", None)
        if type(memory) is Promise:
            found[id(buf)] = Found(buf, memory, memory.value)
        elif (
            not isinstance(memory, Memory) and not is_elsewhere(memory)
        ) or memory.format != buf.dtype.format:
            return None
        elif type(getattr(memory, "owner", None)) is bytes and id(buf) not in written:
            found[id(buf)] = Found(buf, None, Value(Place(len(buf), buf.dtype, buf)))
        else:
            del memory
            if not is_alone(buf):
                return None
            place = Place(len(buf), buf.dtype, Buffer.over(buf.memory, buf.dtype))
            found[id(buf)] = Found(buf, buf.memory, Value(place))
    return found


def _work(
    noted: Noted, step: Step, kernel: Kernel, found: dict[int, Found]
) -> tuple[Work, list[tuple[Buffer, Any, Promise]]]:
    """The Work, and what to put where: a Buffer, its current memory, and a Promise."""
    reads = {id(x.buf): found[id(x.buf)] for x in step.reads}
    writes = step.writes
    overwrites, puts = [], []
    made: dict[int, Value] = {}
    for x in writes:
        buf, memory, value = found[id(x.buf)]
        place = value.place
        if id(buf) in made:
            continue
        if id(buf) not in reads and any(_is_whole(w, place) for w in writes if w.buf is buf):
            place = Place(
                place.count, place.dtype, device=place.device
            )  # the old numbers do not matter: use new memory
        else:
            overwrites.append(value)
        made[id(buf)] = value = Value(place, noted)
        puts.append((buf, memory, Promise(value)))
    for n, (buf, memory, value) in found.items():
        if n not in made and memory is not None and type(memory) is not Promise:
            puts.append((buf, memory, Promise(value)))

    def walk(x: Walked) -> Walk:
        value = made.get(id(x.buf)) or found[id(x.buf)].value
        return Walk(value.place, x.shape, x.strides, x.offset)

    out, *ins = map(walk, step.operands)
    over_places = Step(step.kernel, step.dtype, out, tuple(ins), step.params, noted.where)
    waits_for = tuple([value for _, memory, value in reads.values() if memory is not None])
    makes = tuple(map(ref, made.values()))
    return Work(over_places, kernel, waits_for, tuple(overwrites), makes), puts


def _is_whole(x: Walked, place: Place) -> bool:
    return Walk(place, x.shape, x.strides, x.offset).is_whole


# ---- can another library reach the bytes? --------------------------------------------------------


def _references(buf: Any) -> int:
    """Counts references to its Memory; in plain Python also to its view and that view's bytes."""
    count = sys.getrefcount(buf.memory)
    if Memory is PythonMemory:
        count += sys.getrefcount(buf.memory.raw) + sys.getrefcount(buf.memory.raw.obj)
    return count


_alone = Holder()
_alone.memory = Memory(1, 1, "b")
_FEWEST = _references(_alone)


def is_alone(buf: Any) -> bool:
    """Can the bytes of `buf`, which has a Memory, be reached only through `buf`? If not, another
    library's array, say, may read and write them unnoticed."""
    if is_elsewhere(buf.memory):
        return sys.getrefcount(buf.memory) == 2  # one from `buf`, one from this call
    if buf.memory.owner is not None or getattr(buf.memory, "lent", False):
        return False
    return _references(buf) == _FEWEST
