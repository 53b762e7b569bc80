"""Trace: one recorded call of a function, and how to make it again.

Beside the Program it has what the Program cannot say: which of its slots are arguments and which
stand in places that have another Tensor each time (`p.grad`), what must still be as it was
(guards), and what the call hands out and leaves behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from typing import Any, NamedTuple

from tutor.backends import registry, simd_cpp
from tutor.backends.step import Step
from tutor.core.buffer import Buffer
from tutor.errors import RecordError
from tutor.ground.memory import held
from tutor.methods.tensor import Tensor
from tutor.programs.call import Call, Walk, Window, run_within, walk_of
from tutor.programs.names import Again, Argument, Before, Moving, Names, moves, of_call
from tutor.programs.passes import PASSES, improved
from tutor.programs.places import MISSING, Guards, Place, Reached, is_same
from tutor.programs.program import Slot
from tutor.programs.record import Recorder
from tutor.programs.replay import check_apart
from tutor.programs.results import plain, taken_apart
from tutor.programs.source.road import Road
from tutor.random import stream


class Made(NamedTuple):
    """A Tensor that a call hands out: over `slot`; or `known`, an Argument or a Tensor that is
    there before, or one that it hands out Again."""

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
        names: Names,
        roots: Any,
        passes: Collection[str] | None,
    ) -> None:
        self.roots = roots  # kept alive: a key has their ids
        self.guards, self.names = guards, names
        self.recorded = note.program()
        on = {slot.device for slot in self.recorded.slots}
        self.program = improved(self.recorded, _possible(passes, on))
        if not all(map(_is_there, self.program)):  # a chain of a dtype that a device has not
            self.program = improved(self.recorded, _unfused(passes))
        self.replay = Road(self.program)
        self.at: dict[Any, int] = {slot: i for i, slot in enumerate(self.replay.slots)}
        self.fixed = [slot.value if slot.role == "state" else None for slot in self.replay.slots]
        self.fresh = [(i, s.count, s.dtype, s.device) for s, i in self.at.items()
                      if s.role == "output"]  # fmt: skip
        self.touched = self._touched()
        self.written = {i for i, _ in self.touched}
        # Gradients that the call finds and does not read; places where it finds nothing; and, as
        # these are many, Tensors that are always the same and have no gradient.
        self.unread: list[Place] = []
        self.empty: list[Place] = []
        self.bare: list[Tensor] = []
        # For each of its Tensors (names.py) where its Buffer goes, or whose it is, if always that.
        self.tensors: list[tuple[int | None, Any]] = []
        self.parts: list[bool] = []  # may an argument be a part of a Buffer, whichever one?
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
            not self.names.places
            and all(state is None for _, state in self.tensors)
            and all(isinstance(p.holder, Argument) for p in self.empty)
            and all(isinstance(p.holder, Tensor) for p in self.unread)
            and all(isinstance(p.holder, Tensor) for p, _ in self.effects)
            and not any(isinstance(m.known, Again) for m in self.results)
            and not any(hooks for _, _, hooks in self.guards.tensors)
            and all(w.first == i for i, w in enumerate(windows))
            and all(w.size == walk[3] for w, walk in zip(windows, self.walks, strict=True))
        )
        if not usual:
            return None
        arguments = [
            (*walk[:3], walk[4], walk[3], -1 if at is None else at, _elsewhere(walk[5]))
            for walk, (at, _) in zip(self.walks, self.tensors, strict=True)
        ]
        guards = self.guards
        results = [
            (self.at[m.slot], *m.walk, m.requires_grad, -1, None)
            if m.slot is not None
            else (-1, None, None, None, None,
                  *((m.known.number, None) if isinstance(m.known, Argument) else (-1, m.known)))
            for m in self.results
        ]  # fmt: skip
        return simd_cpp.caller(
            arguments,
            [p[:2] if p.value is MISSING else p[:3] for p in guards.places],
            [(container, size) for container, size, _ in guards.sizes],
            [(t, *look) for t, look, _ in guards.tensors],
            [(t, False) for t in self.bare] + [(p.holder, True) for p in self.unread],
            list(self.names.buffers.values()),
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
        tensors = self.names.tensors(arguments)
        if (why := self.names.why_not(tensors)) is not None:
            return why
        always, buffers, slots = self.names.buffers, {}, {}  # type: ignore[var-annotated]
        for i, (t, (at, state)) in enumerate(zip(tensors, self.tensors, strict=True)):
            elsewhere = self.parts[i : i + 1] == [False] and t.offset != self.walks[i][2]
            if always.get(id(t.buf)) is not state or elsewhere:
                return "what an argument has in common with the function's state"
            # One slot, one Buffer, and the other way round: so it was when this was recorded.
            if at is not None and (
                buffers.setdefault(at, t.buf) is not t.buf or slots.setdefault(id(t.buf), at) != at
            ):
                return "which of its Tensors share memory"
        for t in self.bare:
            if t._grad is not None:
                return f"the gradient of a Tensor of shape {t.shape}"
        for place in self.empty:
            if of_call(place, tensors).get() is not None:
                return place.path
        for place in self.unread:
            if of_call(place, tensors).get() is None:
                return place.path
        return self.guards.changed()

    def run(self, arguments: Sequence[Tensor], stretches: Sequence[Window]) -> Any:
        """The call again."""
        buffers: list[Any] = list(self.fixed)
        tensors = self.names.tensors(arguments)
        for t, (at, _) in zip(tensors, self.tensors, strict=True):
            if at is not None:
                buffers[at] = t.buf
        several = list(zip(arguments, stretches, self.tensors, self.parts, strict=False))
        for t, window, (at, _), part in several:
            if at is not None and part:
                buffers[at] = window.over(t.buf)
                if at in self.written and buffers[at] is not t.buf:
                    t.buf.touch()
        for i, count, dtype, device in self.fresh:
            buffers[i] = Buffer.empty(count, dtype, device)
        for i, where in self.touched:  # first this, then the change: Buffer.touch
            buffers[i].touch(where)
        self.replay.run(buffers)
        for t, window, (at, _), part in several:
            if at is not None and part and buffers[at] is not t.buf:
                if at in self.written:
                    window.put_back(buffers[at], t.buf)
                buffers[at] = t.buf, window.start  # what is handed out of it is a view of that
        results: list[Any] = []
        for made in self.results:
            results.append(self._made(made, buffers, tensors, results))
        for place, which in self.effects:
            of_call(place, tensors).set(None if which is None else results[which])
        return self.rebuild(results)

    def _made(
        self, made: Made, buffers: list[Any], tensors: Sequence[Tensor], earlier: Sequence[Any]
    ) -> Any:
        if made.slot is None:
            found: Any = made.known
            if isinstance(found, Again):
                return earlier[found.number]
            return tensors[found.number] if isinstance(found, Argument) else found
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


@functools.cache
def _any_tensor() -> Tensor:
    return Tensor(0)


# ---- recording one -------------------------------------------------------------------------------


def record(
    function: Callable[..., Any],
    call: Call,
    roots: Sequence[tuple[Any, str]],
    passes: Collection[str] | None,
) -> tuple[Any, Trace]:
    """Run the function, recorded: its result, and the Trace of the call. `roots` are the function,
    as its author wrote it, and the arguments that are objects."""
    before = Before(Reached(roots), call.tensors)
    tensors, reached = before.arguments, before.reached
    states = [t.buf for t in reached.tensors.values()]
    states += [grad.buf for grad in before.grads if grad is not None] + reached.buffers
    inputs = [(t.buf, w.start, w.size) for t, w in zip(tensors, call.windows, strict=True)]
    for buf in [*states, *[t.buf for t in tensors]]:
        held(buf, "to record a call")  # what is pending for it is no part of the call
    note = Recorder(inputs, [*states, stream().buf])
    result = plain(run_within(lambda: note.run(lambda: function(*call.args, **call.kwargs))))
    _check_unchanged(reached)
    before.check()
    there = {*reached.seen, *map(id, call.containers)}
    return result, _trace(note, before, result, there, roots, passes)


def _trace(
    note: Recorder, before: Before, result: Any, there: Container[Any], roots: Any,
    passes: Collection[str] | None,
) -> Trace:  # fmt: skip
    moving, arguments = Moving(before), before.arguments
    handed_out: list[Any] = []
    rebuild = taken_apart(result, handed_out, there)
    effects: list[tuple[Place, int | None]] = []
    for place, now in moving.changed(arguments):
        effects.append((place, None if now is None else len(handed_out)))
        if now is not None:
            handed_out.append(now)
    used = {id(w.buf) for step in note.steps for w in step.operands}
    read = {i for i, slot in note.slots.items() if id(slot) in used}
    places, unread, empty = moving.sorted(read | {id(t.buf) for t in handed_out})
    for p in places:  # read from its place at each call, it is like an argument
        slot = note.slots.get(id(p.value.buf))
        if slot is not None and id(p.value.buf) not in moving.buffers:
            slot.role = "input"
    names = Names(arguments, places, moving)
    tensors = [*arguments, *(p.value for p in places)]
    made = _made(note, moving, tensors, handed_out)
    handed_out.clear()
    note.check_nothing_escaped()
    parts = [id(t.buf) in note.starts for t in arguments]
    slots, always = [note.slots.get(id(t.buf)) for t in tensors], moving.buffers
    alone = before.reached.tensors.keys() - moving.fixed.keys()
    trace = Trace(note, Guards(before.reached, moves, alone), names, roots, passes)
    known = (slot for slot in trace.at if slot.value is not None)
    check_apart(trace.program, {slot: slot.value for slot in known})
    trace.tensors = [
        (trace.at.get(slot) if slot and slot.role == "input" else None, always.get(id(t.buf)))
        for slot, t in zip(slots, tensors, strict=True)
    ]
    trace.results, trace.rebuild, trace.effects = made, rebuild, effects
    trace.walks = [walk_of(t) for t in arguments]
    trace.unread, trace.parts = unread, parts
    for place in empty:
        fixed = place.key == "_grad" and isinstance(place.holder, Tensor)
        trace.bare.append(place.holder) if fixed else trace.empty.append(place)
    return trace


def _made(
    note: Recorder, moving: Moving, tensors: Sequence[Tensor], handed_out: Sequence[Tensor]
) -> list[Made]:
    """How each of these is made again."""
    known: dict[int, Any] = {}
    for i, t in enumerate(tensors):
        known.setdefault(id(t), Argument(i))
    known.update(moving.fixed)
    made = []
    for i, t in enumerate(handed_out):
        if id(t) in known:
            made.append(Made(None, known=known[id(t)]))
            continue
        known[id(t)] = Again(i)
        offset = t.offset - note.starts.get(id(t.buf), 0)
        made.append(Made(note.slot_of(t.buf), (t.shape, t.strides, offset), t.requires_grad))
    return made


def _check_unchanged(before: Reached) -> None:
    """RecordError where the call has changed something that is no Tensor: a replay would not."""
    for place in before.places:
        now = place.get()
        if is_same(now, place.value) or moves(place):
            continue
        was, shown = ("nothing" if x is MISSING else f"{x!r:.60}" for x in (place.value, now))
        raise RecordError(
            f"to record a call that changes {place.path}",
            f"it was {was}, and is {shown} now; a replay runs no Python",
            "change it outside of the jitted function, or keep it in a Tensor",
        )
    for container, size, path in before.sizes:
        if len(container) != size:
            raise RecordError(
                f"to record a call that puts something into {path} or takes it away",
                f"it had {size} items, and has {len(container)} now; a replay runs no Python",
                "return the Tensor, and keep it outside of the jitted function",
            )
