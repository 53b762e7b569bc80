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
from tutor.core.buffer import Buffer
from tutor.core.engine.forward import serials
from tutor.errors import RecordError
from tutor.ground.memory import held
from tutor.methods.tensor import Tensor
from tutor.programs.call import Argument, Call, Walk, Window, run_within, walk_of
from tutor.programs.graphs import Graph, crossings, graph_of, plain
from tutor.programs.passes import possible
from tutor.programs.places import MISSING, Guards, Place, Reached, is_same
from tutor.programs.program import Slot
from tutor.programs.record import Recorder
from tutor.programs.replay import check_apart
from tutor.programs.results import taken_apart
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
        roots: Any,
        passes: Collection[str] | None,
    ) -> None:
        self.roots = roots  # kept alive: a key has their ids
        self.guards = guards
        self.recorded = note.program()
        used = {w.buf for step in self.recorded for w in step.operands}
        self.program = possible(passes, self.recorded)
        self.replay = Road(self.program)
        self.at: dict[Any, int] = {slot: i for i, slot in enumerate(self.replay.slots)}
        self.fixed = [slot.value if slot.role == "state" else None for slot in self.replay.slots]
        self.states = {id(slot.value): slot.value for slot in self.at if slot.role == "state"}
        self.fresh = [(i, s.count, s.dtype, s.device) for s, i in self.at.items()
                      if s.role == "output"]  # fmt: skip
        self.touched = self._touched()
        self.written = {i for i, _ in self.touched}
        # Of places with another Tensor at each call: those that are read, those without any.
        self.read = [(p, self.at[note.slots[id(p.value.buf)]], walk_of(p.value)) for p in moving
                     if p.value is not None
                     and note.slots.get(id(p.value.buf)) in used]  # fmt: skip
        self.was_none = [p for p in moving if p.value is None]
        # For each argument where its Buffer goes, or which state's it is.
        self.arguments: list[tuple[int | None, Any]] = []
        self.walks: list[Walk] = []  # of the arguments, as they were
        self.results: list[Made] = []
        self.rebuild: Callable[[Sequence[Any]], Any] = tuple
        self.effects: list[tuple[Place, int | None]] = []  # a place, and which of the results
        self.graph: Graph | None = None  # behind the results

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
        if not usual:
            return None
        arguments = [
            (*walk[:3], walk[4], walk[3], -1 if at is None else at, state, _elsewhere(walk[5]))
            for walk, (at, state) in zip(self.walks, self.arguments, strict=True)
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
            [(t, *walk) for t, walk in guards.tensors],
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
            if at is not None and buffers[at] is not t.buf:
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
) -> tuple[Any, Trace | RecordError]:
    """Run the function, recorded: its result, and the Trace of the call, or why there is none.
    `roots` are the function, as its author wrote it, and the arguments that are objects."""
    before, tensors = Reached(roots), call.tensors
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
    note, began = Recorder(inputs, [*states, stream().buf]), next(serials)
    with crossings([*tensors, *before.tensors.values()]) as crossed:
        run = lambda: note.run(lambda: function(*call.args, **call.kwargs))  # noqa: E731
        made = [run_within(run)]  # to be popped: nobody else has the result, and its graph
    if crossed:
        return made.pop(), crossed[0]
    after = Reached(roots)
    _check_unchanged(before)
    moving = [*grads, *filter(_moves, before.places)]
    now = [_of_call(place, tensors).get() for place in moving]
    changed = [(p, t) for p, t in zip(moving, now, strict=True) if t is not p.value]
    return _trace(note, before, after, moving, changed, tensors, made, began, roots, passes)


def _trace(
    note: Recorder, before: Reached, after: Reached, moving: list[Place],
    changed: list[tuple[Place, Any]], arguments: Sequence[Tensor], made: list[Any], began: int,
    roots: Any, passes: Collection[str] | None,
) -> tuple[Any, Trace | RecordError]:  # fmt: skip
    results: list[Any] = []
    rebuild = taken_apart(result := made.pop(), results)
    handed_out = [plain(t, began) for t in results]
    effects: list[tuple[Place, int | None]] = []
    for place, now in changed:
        if now is not None and now.op is not None:
            raise RecordError(
                f"to record what is kept in {place.path}",
                "it still has its graph, which a replay does not make",
                "keep x.detach() there",
            )
        effects.append((place, None if now is None else len(handed_out)))
        if now is not None:
            handed_out.append(now)
    moves = {id(p.value) for p in moving if p.value is not None}
    for p in moving:  # read from its place at each call, it is like an argument
        if p.value is not None and id(p.value.buf) in note.slots:
            note.slots[id(p.value.buf)].role = "input"
    known = partial(_known, note, after, arguments, moves)
    try:
        graph = graph_of(results, began, note, known, handed_out, partial(possible, passes))
    except RecordError as error:
        return result, error
    del result
    results.clear()  # and with them the graph
    specs = [_made(note, known(t), t) for t in handed_out]
    note.check_nothing_escaped()
    slots = [note.slots[id(t.buf)] for t in arguments]
    trace = Trace(note, Guards(before, _moves, moves), moving, roots, passes)
    there = (slot for slot in trace.at if slot.value is not None)
    check_apart(trace.program, {slot: slot.value for slot in there})
    trace.arguments = [(trace.at.get(s) if s.role == "input" else None,
                        s.value if s.role == "state" else None) for s in slots]  # fmt: skip
    trace.results, trace.effects, trace.graph = specs, effects, graph
    trace.rebuild = graph.linked(rebuild) if graph else rebuild
    trace.walks = [walk_of(t) for t in arguments]
    return trace.rebuild(handed_out), trace


def _moves(place: Place) -> bool:
    """Is there another Tensor at each call? So it is for gradients, and for what the call set."""
    if place.key == "_grad":
        return True
    now = place.get()
    tensors = [x is None or isinstance(x, Tensor) for x in (now, place.value)]
    return now is not place.value and all(tensors)


def _known(note: Recorder, after: Reached, arguments: Sequence[Tensor], moves: set[int], t: Any
           ) -> Any:  # fmt: skip
    """An Argument, or a Tensor that stands where it stood before; None where t is neither."""
    for i, argument in enumerate(arguments):
        if t is argument:
            return Argument(i)
    slot = note.slots.get(id(t.buf))
    still = slot is not None and slot.role == "state"
    return t if still and id(t) in after.tensors and id(t) not in moves else None


def _made(note: Recorder, known: Any, t: Any) -> Made:
    if known is not None:
        return Made(None, known=known)
    offset = t.offset - note.starts.get(id(t.buf), 0)
    return Made(note.slot_of(t.buf), (t.shape, t.strides, offset), t.requires_grad)


def _check_unchanged(before: Reached) -> None:
    """RecordError where the call has changed something that is no Tensor: a replay would not."""
    for place in before.places:
        now = place.get()
        if is_same(now, place.value) or _moves(place):
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
