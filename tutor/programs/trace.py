"""Trace: one recorded call of a function, and how to make it again.

Beside the Program it has what the Program cannot say: which of its slots are arguments and which
stand in places that have another Tensor each time (`p.grad`), what must still be as it was
(guards), and what the call hands out and leaves behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

from tutor.backends import registry, simd_cpp
from tutor.backends.step import Step
from tutor.core.buffer import Buffer
from tutor.errors import RecordError
from tutor.ground.memory import held
from tutor.methods.tensor import Tensor
from tutor.programs.call import Argument, Call, Walk, Window, run_within, walk_of
from tutor.programs.checks import check_known, check_unchanged
from tutor.programs.guards import Guards, Place
from tutor.programs.passes import PASSES, improved
from tutor.programs.places import Reached
from tutor.programs.program import Slot
from tutor.programs.ran import Ran
from tutor.programs.record import Recorder
from tutor.programs.replay import check_apart
from tutor.programs.results import plain, taken_apart
from tutor.programs.source.road import Road
from tutor.random import stream


class Made(NamedTuple):
    """A Tensor that a call hands out: over `slot`; or `known`, an Argument or a Tensor that is
    there before."""

    slot: Slot | None
    walk: Walk = ()
    requires_grad: bool = False
    known: Any = None


class Trace:
    """`run(tensors)` makes the call again if `why_not(tensors)` has nothing against it."""

    def __init__(
        self,
        note: Recorder,
        guards: Guards,
        moving: list[Place],
        passes: Collection[str] | None,
    ) -> None:
        self.roots: list[Any] = []  # what a key has the ids of: weak, where that is possible
        self.used = 0  # when it was called last: the larger, the later
        self.guards = guards
        self.recorded = note.program()
        used = {w.buf for step in self.recorded for w in step.operands}
        on = {slot.device for slot in self.recorded.slots}
        self.program = improved(self.recorded, _possible(passes, on))
        if not all(map(_is_there, self.program)):  # a chain of a dtype that a device has not
            self.program = improved(self.recorded, _unfused(passes))
        self.replay = Road(self.program)
        self.at: dict[Any, int] = {slot: i for i, slot in enumerate(self.replay.slots)}
        self.fixed = [slot.value if slot.role == "state" else None for slot in self.replay.slots]
        self.states = {id(slot.value): slot.value for slot in self.at if slot.role == "state"}
        self.fresh = [(i, s.count, s.dtype, s.device) for s, i in self.at.items()
                      if s.role == "output"]  # fmt: skip
        self.touched = self._touched()
        self.written = {i for i, _ in self.touched}
        # Of places with another Tensor at each call: those that are read, those without any.
        self.read = [(p._replace(value=None), self.at[note.slots[id(p.value.buf)]],
                      walk_of(p.value)) for p in moving
                     if p.value is not None
                     and note.slots.get(id(p.value.buf)) in used]  # fmt: skip
        self.was_none = [p for p in moving if p.value is None]
        # For each argument where its Buffer goes, or which state's it is.
        self.arguments: list[tuple[int | None, Any]] = []
        self.walks: list[Walk] = []  # of the arguments, as they were
        self.results: list[Made] = []
        self.rebuild: Callable[[Sequence[Any]], Any] = tuple
        self.effects: list[tuple[Place, int | None]] = []  # a place, and which of the results

    def _touched(self) -> list[tuple[int, tuple[str, int] | None]]:
        """The Buffers known before that are written: their places in order, and the last line."""
        last = {w.buf: step.where for step in self.recorded for w in step.writes}
        return [(self.at[s], where) for s, where in last.items()
                if s in self.at and s.role != "output"]  # fmt: skip

    def twin(self, windows: Sequence[Window]) -> Any:
        """What makes this call again without Python, where all about it is of the usual kind:
        arguments over whole Buffers, and of places that move none but gradients that are not read.
        `again(args)` has no result where `why_not` would have something to say."""
        usual = (
            not self.read
            and all(isinstance(p.holder, Tensor) for p in self.was_none)
            and all(isinstance(p.holder, Tensor) for p, _ in self.effects)
            and all(w.first == i for i, w in enumerate(windows))
            and all(w.size == walk[3] for w, walk in zip(windows, self.walks, strict=True))
        )
        guards = self.guards
        if not usual or guards.native is None:
            return None
        arguments = [
            (*walk[:3], walk[4], walk[3], -1 if at is None else at, state, _elsewhere(walk[5]))
            for walk, (at, state) in zip(self.walks, self.arguments, strict=True)
        ]
        results = [
            (self.at[m.slot], *m.walk, m.requires_grad, -1, None)
            if m.slot is not None
            else (-1, None, None, None, None,
                  *((m.known.number, None) if isinstance(m.known, Argument) else (-1, m.known)))
            for m in self.results
        ]  # fmt: skip
        return simd_cpp.caller(
            arguments,
            guards.native,
            [p.holder for p in self.was_none],
            list(self.states.values()),
            self.fixed,
            [
                (at, count, dtype.index, _elsewhere(on) and partial(Buffer.empty, count, dtype, on))
                for at, count, dtype, on in self.fresh
            ],
            self.touched,
            results,
            [(p.holder, -1 if which is None else which) for p, which in self.effects],
            self.replay.run,
        )

    def why_not(self, arguments: Sequence[Tensor]) -> str | None:
        """What is no longer as it was when this was recorded; None: nothing."""
        for t, (_, state) in zip(arguments, self.arguments, strict=True):
            if self.states.get(id(t.buf)) is not state:
                return "what an argument has in common with the function's state"
        for place in self.was_none:
            if _of_call(place, arguments).get() is not None:
                return place.path
        buffers = {at: t.buf for t, (at, _) in zip(arguments, self.arguments, strict=True)}
        slots = {id(buf): at for at, buf in buffers.items()}
        for place, at, walk in self.read:
            t = _of_call(place, arguments).get()
            if not isinstance(t, Tensor) or walk_of(t) != walk or id(t.buf) in self.states:
                return place.path
            # One slot, one Buffer, and the other way round: so it was when this was recorded.
            if buffers.setdefault(at, t.buf) is not t.buf or slots.setdefault(id(t.buf), at) != at:
                return f"which other Tensor has the memory of {place.path}, or that this"
        return self.guards.changed()

    def run(self, arguments: Sequence[Tensor], stretches: Sequence[Window]) -> Any:
        """The call again."""
        buffers: list[Any] = list(self.fixed)
        for t, window, (at, _) in zip(arguments, stretches, self.arguments, strict=True):
            if at is not None:
                buffers[at] = window.over(t.buf)
                if at in self.written and buffers[at] is not t.buf:
                    t.buf.touch()
        for place, i, _ in self.read:
            buffers[i] = _of_call(place, arguments).get().buf
        for i, count, dtype, device in self.fresh:
            buffers[i] = Buffer.empty(count, dtype, device)
        for i, where in self.touched:  # first this, then the change: Buffer.touch
            buffers[i].touch(where)
        self.replay.run(buffers)
        for t, window, (at, _) in zip(arguments, stretches, self.arguments, strict=True):
            if at is not None and buffers[at] is not t.buf and t.buf.device != registry.DEVICE:
                if at in self.written:
                    window.put_back(buffers[at], t.buf)
                buffers[at] = t.buf, window.start  # what is handed out of it is a view of that
        results = [self._made(made, buffers, arguments) for made in self.results]
        for place, which in self.effects:
            _of_call(place, arguments).set(None if which is None else results[which])
        return self.rebuild(results)

    def _made(self, made: Made, buffers: list[Any], arguments: Sequence[Tensor]) -> Tensor:
        if made.slot is None:
            found = made.known
            return arguments[found.number] if isinstance(found, Argument) else found
        shape, strides, offset = made.walk
        buf = buffers[self.at[made.slot]]
        if isinstance(buf, tuple):
            buf, start = buf
            offset += start
        t = _any_tensor().over(buf, shape, strides, offset)
        t.requires_grad = made.requires_grad
        return t


def _possible(passes: Collection[str] | None, on: set[str]) -> Collection[str] | None:
    """The passes that are asked for, without that for a kernel that a backend does not have, of
    those that run steps `on` these devices."""
    tables = [registry.table(registry.backend_of(device)) for device in on]
    if all(any(name == "fused" for name, _ in table) for table in tables):
        return passes
    return _unfused(passes)


def _unfused(passes: Collection[str] | None) -> Collection[str]:
    wanted = PASSES if passes is None else passes
    return [name for name in wanted if name not in ("fuse", "products")]


def _is_there(step: Step) -> bool:
    """Does whoever is to run the step have the kernel for chains, if it is one?"""
    return step.kernel != "fused" or (
        ("fused", step.dtype) in registry.table(registry.backend_of(step.device))
    )


def _elsewhere(device: str) -> str | None:
    """The name of a device; None of the host."""
    return None if device == registry.DEVICE else device


def _of_call(place: Place, arguments: Sequence[Tensor]) -> Place:
    holder = place.holder
    return holder.place(place, arguments) if type(holder) is Argument else place


@functools.cache
def _any_tensor() -> Tensor:
    return Tensor(0)


# ---- recording one -------------------------------------------------------------------------------


def record(
    function: Callable[..., Any],
    call: Call,
    roots: Sequence[tuple[Any, str]],
    passes: Collection[str] | None,
    strict: bool,
    before_ran: Ran,
) -> tuple[Any, Trace | RecordError]:
    """Run the function, recorded: its result, and the Trace of the call, or why there is none; that
    is raised in the middle of the call if it is `strict`. `roots` are the function, as its author
    wrote it, and the arguments that are objects; `before_ran` is what ran in calls before."""
    before, tensors, ran = Reached(roots, before_ran), call.tensors, Ran()
    grads = [
        Place(Argument(i), "_grad", t._grad, f"argument {i + 1}.grad")
        for i, t in enumerate(tensors)
        if t.requires_grad or t._grad is not None
    ]
    states = [t.buf for t in before.tensors.values()]
    states += [p.value.buf for p in grads if p.value is not None] + before.buffers
    inputs = [(t.buf, w.start, w.size) for t, w in zip(tensors, call.windows, strict=True)]
    for buf in [*states, *[t.buf for t in tensors]]:
        held(buf, "to record a call")  # what is pending for it is no part of the call
    note, contents = Recorder(inputs, [*states, stream().buf], strict), call.contents()
    result = plain(
        run_within(lambda: note.run(lambda: ran.run(lambda: function(*call.args, **call.kwargs))))
    )
    before_ran.update(ran)
    if note.refused is not None:
        return result, note.refused
    try:
        after = Reached(roots, ran, only=True)
        if call.contents() != contents:
            raise RecordError(
                f"to record {roots[0][1]}",
                "it has changed a list or dict among its arguments; a replay runs no Python",
                "return what is to be added, and add it outside",
            )
        check_unchanged(before, _moves)
        check_known(after, ran)
        moving = [*grads, *filter(_moves, before.places)]
        now = [_of_call(place, tensors).get() for place in moving]
        changed = [(p, t) for p, t in zip(moving, now, strict=True) if t is not p.value]
        return result, _trace(note, before, after, moving, changed, tensors, result, roots, passes)
    except RecordError as error:
        return result, error


def _trace(
    note: Recorder, before: Reached, after: Reached, moving: list[Place],
    changed: list[tuple[Place, Any]], arguments: Sequence[Tensor], result: Any, roots: Any,
    passes: Collection[str] | None,
) -> Trace:  # fmt: skip
    handed_out: list[Any] = []
    rebuild = taken_apart(result, handed_out)
    effects: list[tuple[Place, int | None]] = []
    for place, now in changed:
        if now is not None and now.op is not None:
            raise RecordError(
                f"to record what is kept in {place.path}",
                "it still has its graph, which a replay does not make",
                "keep x.detach() there",
            )
        effects.append((place._replace(value=None), None if now is None else len(handed_out)))
        if now is not None:
            handed_out.append(now)
    moves = {id(p.value) for p in moving if p.value is not None}
    for p in moving:  # read from its place at each call, it is like an argument
        if p.value is not None and id(p.value.buf) in note.slots:
            note.slots[id(p.value.buf)].role = "input"
    made = [_made(note, after, arguments, moves, t) for t in handed_out]
    handed_out.clear()
    note.check_nothing_escaped()
    slots = [note.slots[id(t.buf)] for t in arguments]
    given = {id(root) for root, _ in roots[1:]}  # but for the function: none is kept alive
    trace = Trace(note, Guards(before, after, _moves, moves, given), moving, passes)
    known = (slot for slot in trace.at if slot.value is not None)
    check_apart(trace.program, {slot: slot.value for slot in known})
    trace.arguments = [(trace.at.get(s) if s.role == "input" else None,
                        s.value if s.role == "state" else None) for s in slots]  # fmt: skip
    trace.results, trace.rebuild, trace.effects = made, rebuild, effects
    trace.walks = [walk_of(t) for t in arguments]
    for slot in note.slots.values():
        if slot.role == "input":
            slot.value = None  # it was there for that call alone
    return trace


def _moves(place: Place) -> bool:
    """Is there another Tensor at each call? So it is for gradients, and for what the call set."""
    if place.key == "_grad" and not isinstance(place.holder, type):
        return True
    now = place.get()
    tensors = [x is None or isinstance(x, Tensor) for x in (now, place.value)]
    return now is not place.value and all(tensors)


def _made(note: Recorder, after: Reached, arguments: Sequence[Tensor], moves: set[int], t: Any
          ) -> Made:  # fmt: skip
    for i, argument in enumerate(arguments):
        if t is argument:
            return Made(None, known=Argument(i))
    slot = note.slots.get(id(t.buf))
    if slot is not None and slot.role == "state" and id(t) in after.tensors and id(t) not in moves:
        return Made(None, known=t)
    offset = t.offset - note.starts.get(id(t.buf), 0)
    return Made(note.slot_of(t.buf), (t.shape, t.strides, offset), t.requires_grad)
