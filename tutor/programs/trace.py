"""Trace: one recorded call of a function, and how to replay it.

Besides the Program it holds what the Program cannot express: which slots are arguments and which
are in places with a different Tensor each time (`p.grad`), what must be unchanged (guards), and the
results and side effects of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from typing import Any

from tutor._storage.memory import held
from tutor.core.engine.forward import serials
from tutor.errors import RecordError
from tutor.methods.tensor import Tensor
from tutor.programs.call import BufferWindow, JitCall, Walk, run_within, walk_of
from tutor.programs.captured_state import Reached
from tutor.programs.checks import check_known, check_unchanged
from tutor.programs.graphs import RecordedGraph, behind, crossings, ended, graph_of, plain
from tutor.programs.guards import Guards, StatePlace
from tutor.programs.names import (
    Argument,
    Before,
    EarlierResult,
    Made,
    Moving,
    Names,
    known_to,
    made_again,
    moves,
    of_call,
)
from tutor.programs.passes import improved, saved
from tutor.programs.ran import Ran, uncollected
from tutor.programs.record import Recorder
from tutor.programs.replay import check_apart
from tutor.programs.results import taken_apart, with_roots
from tutor.programs.source.compiled_runner import Road
from tutor.random import stream


class Trace:
    """`run(tensors)` replays the call, which is valid if `why_not(tensors)` is None."""

    def __init__(
        self,
        note: Recorder,
        guards: Guards,
        names: Names,
        passes: Collection[str] | None,
    ) -> None:
        self.roots: list[Any] = []  # objects whose ids are in a key; weak where possible
        self.used = 0  # the time of the last call: larger is later
        self.replayed = False
        self.guards, self.names = guards, names
        self.recorded = note.program()
        self.program = improved(self.recorded, passes)
        self.replay = Road(self.program)
        self.at: dict[Any, int] = self.replay.at
        self.fixed = [slot.value if slot.role == "state" else None for slot in self.replay.slots]
        self.touched = self._touched()
        self.written = {i for i, _ in self.touched}
        # Gradients that the call finds but does not read; places that it finds empty; and,
        # separately because they are many, Tensors that are always the same and have no gradient.
        self.unread: list[StatePlace] = []
        self.empty: list[StatePlace] = []
        self.bare: list[Tensor] = []
        # For each of its Tensors (names.py): where its Buffer goes, or the Buffer if it is fixed.
        self.tensors: list[tuple[int | None, Any]] = []
        self.parts: list[bool] = []  # may an argument be any part of a Buffer?
        self.walks: list[Walk] = []  # of the recorded arguments
        self.results: list[Made] = []
        self.rebuild: Callable[[Sequence[Any]], Any] = tuple
        self.effects: list[
            tuple[StatePlace, int | None]
        ] = []  # a place, and the number of a result
        self.graph: RecordedGraph | None = None  # behind the results

    def _touched(self) -> list[tuple[int, tuple[str, int] | None]]:
        """The previously known Buffers that are written: their indices, and the last line."""
        last = {w.buf: step.where for step in self.recorded for w in step.writes}
        return [(self.at[s], where) for s, where in last.items()
                if s in self.at and s.role != "output"]  # fmt: skip

    def explain(self, passes: Collection[str] | None) -> list[str]:
        """The savings of the passes, the places of its states, and its guards, line by line."""
        return [
            f"a Program of {len(self.program)} steps, after these passes",
            *[f"  {line}" for line in saved(self.recorded, passes)],
            *[f"  {s} is {place}" for s, place in self.program.far_places().items()],
            "that is replayed as long as",
            *[f"  {guard}" for guard in self.guards.texts()],
        ]

    def why_not(self, arguments: Sequence[Tensor]) -> str | None:
        """What has changed since this was recorded; None if nothing has."""
        tensors = self.names.tensors(arguments)
        if (why := self.names.why_not(tensors)) is not None:
            return why
        always, buffers, slots = self.names.buffers, {}, {}  # type: ignore[var-annotated]
        for i, (t, (at, state)) in enumerate(zip(tensors, self.tensors, strict=True)):
            elsewhere = self.parts[i : i + 1] == [False] and t.offset != self.walks[i][2]
            if always.get(id(t.buf)) is not state or elsewhere:
                return "what an argument has in common with the function's state"
            # Slots and Buffers must correspond one to one, as when this was recorded.
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

    def run(self, arguments: Sequence[Tensor], stretches: Sequence[BufferWindow]) -> Any:
        """Replay the call."""
        buffers: list[Any] = list(self.fixed)
        tensors = self.names.tensors(arguments)
        for t, (at, _) in zip(tensors, self.tensors, strict=True):
            if at is not None:
                buffers[at] = t.buf
        parts = [(t.buf, window, at) for i, (t, window, (at, _), part) in enumerate(
                     zip(arguments, stretches, self.tensors, self.parts, strict=False))
                 if at is not None and part and window.first == i]  # fmt: skip
        for buf, window, at in parts:
            buffers[at] = window.over(buf)
            if at in self.written and buffers[at] is not buf:
                buf.touch()
        self.replay.make_outputs(buffers)
        for i, where in self.touched:  # touch before the change: see Buffer.touch
            buffers[i].touch(where)
        self.replay.run(buffers)
        for buf, window, at in parts:
            if buffers[at] is not buf:
                if at in self.written:
                    window.put_back(buffers[at], buf)
                buffers[at] = buf, window.start  # results in it are views of that Buffer
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
            if isinstance(found, EarlierResult):
                return earlier[found.number]
            return tensors[found.number] if isinstance(found, Argument) else found
        shape, strides, offset = made.walk
        buf = buffers[self.at[made.slot]]
        if isinstance(buf, tuple):
            buf, start = buf
            offset += start
        t = Tensor.over(buf, shape, strides, offset)
        t.requires_grad = made.requires_grad
        t.__class__ = made.kind
        return t


# ---- recording one -------------------------------------------------------------------------------


@uncollected()
def record(
    function: Callable[..., Any],
    call: JitCall,
    roots: Sequence[tuple[Any, str]],
    passes: Collection[str] | None,
    strict: bool,
    before_ran: Ran,
) -> tuple[Any, Trace | RecordError]:
    """Run the function, recorded: its result, and the Trace of the call, or the error that prevents
    one, which `strict` raises in the middle of the call. `roots` are the original function and the
    arguments that are objects; `before_ran` is what ran in earlier calls."""
    before, ran = Before(Reached(roots, before_ran), call.tensors), Ran()
    tensors, reached = before.arguments, before.reached
    states = [t.buf for t in reached.tensors.values()]
    states += [grad.buf for grad in before.grads if grad is not None] + reached.buffers
    inputs = [(t.buf, w.start, w.size) for t, w in zip(tensors, call.windows, strict=True)]
    for buf in [*states, *[t.buf for t in tensors]]:
        held(buf, "to record a call")  # pending steps are not part of the call
    note, contents = Recorder(inputs, [*states, stream().buf], strict), call.contents()
    began = next(serials)
    with crossings([*tensors, *reached.tensors.values()]) as crossed:
        run = lambda: ran.run(lambda: function(*call.args, **call.kwargs))  # noqa: E731
        made = [run_within(lambda: note.run(run))]  # popped later, so nothing else holds its graph
    before_ran.update(ran)
    if note.refused is not None or crossed:
        return made.pop(), note.refused or crossed[0]
    try:
        after = Reached(roots, ran, only=True)
        if call.contents() != contents:
            raise RecordError(
                f"to record {roots[0][1]}",
                "it has changed a list or dict among its arguments; a replay runs no Python",
                "return what is to be added, and add it outside",
            )
        check_unchanged(reached, moves)
        before.check()
        check_known(after, ran)
    except RecordError as error:
        return made.pop(), error
    there = {*reached.seen, *map(id, call.containers)}
    return _trace(note, before, after, made, began, there, roots, passes)


def _trace(
    note: Recorder, before: Before, after: Reached, made: list[Any], began: int,
    there: Container[Any], roots: Any, passes: Collection[str] | None,
) -> tuple[Any, Trace | RecordError]:  # fmt: skip
    moving, arguments, results = Moving(before), before.arguments, list[Any]()
    result = made.pop()
    effects: list[tuple[StatePlace, int | None]] = []
    try:
        rebuild = taken_apart(result, results, there)
        bare = {id(t): plain(t, began) for t in results}  # the same Tensor gives the same one
        handed_out = [bare[id(t)] for t in results]
        for place, now in moving.changed(arguments):
            effects.append((place._replace(value=None), None if now is None else len(handed_out)))
            if now is not None:
                handed_out.append(now)
        there_now = [*arguments, *(p.value for p in moving.places)]
        known = known_to(there_now, moving)
        is_known = lambda t: known.get(id(t))  # noqa: E731
        rebuild = with_roots(results, known, handed_out, rebuild)
        walked = ended(results, began)
        graph = graph_of(
            results,
            began,
            note,
            there_now,
            is_known,
            handed_out,
            partial(improved, wanted=passes),
        )
    except RecordError as error:
        return result, error
    del result
    results.clear()  # and the graph with them
    again = behind(walked, graph.linked(rebuild) if graph else rebuild)
    try:
        trace = _of_call(note, before, after, moving, handed_out, roots, passes)
    except RecordError as error:
        return again(handed_out), error
    trace.rebuild, trace.effects, trace.graph = again, effects, graph
    return again(handed_out), trace


def _of_call(
    note: Recorder, before: Before, after: Reached, moving: Moving, handed_out: list[Any],
    roots: Any, passes: Collection[str] | None,
) -> Trace:  # fmt: skip
    arguments = before.arguments
    used = {id(w.buf) for step in note.steps for w in step.operands}
    read = {i for i, slot in note.slots.items() if id(slot) in used}
    places, unread, empty = moving.sorted(read | {id(t.buf) for t in handed_out})
    for p in places:  # read from its place at each call, like an argument
        slot = note.slots.get(id(p.value.buf))
        if slot is not None and id(p.value.buf) not in moving.buffers:
            slot.role = "input"
    names = Names(arguments, places, moving)
    tensors = [*arguments, *(p.value for p in places)]
    _name_states(note, before.reached, f"{roots[0][1]}.")
    made = made_again(note, known_to(tensors, moving), handed_out)
    note.check_nothing_escaped()
    slots, always = [note.slots.get(id(t.buf)) for t in tensors], moving.buffers
    alone = before.reached.tensors.keys() - moving.fixed.keys()
    given = {id(root) for root, _ in roots[1:]}  # all but the function: not kept alive
    trace = Trace(note, Guards(before.reached, after, moves, alone, given), names, passes)
    known = (slot for slot in trace.at if slot.value is not None)
    check_apart(trace.program, {slot: slot.value for slot in known})
    trace.tensors = [
        (trace.at.get(slot) if slot and slot.role == "input" else None, always.get(id(t.buf)))
        for slot, t in zip(slots, tensors, strict=True)
    ]
    trace.results, trace.walks = made, [walk_of(t) for t in arguments]
    trace.unread = [place._replace(value=None) for place in unread]
    trace.parts = [id(t.buf) in note.starts for t in arguments]
    for place in empty:
        fixed = place.key == "_grad" and isinstance(place.holder, Tensor)
        trace.bare.append(place.holder) if fixed else trace.empty.append(place)
    for slot in note.slots.values():
        if slot.role == "input":
            slot.value = None  # it existed for that call only
    return trace


def _name_states(note: Recorder, reached: Reached, start: str) -> None:
    """Name each state by its place: an attribute rather than an item, and the shortest path."""
    for p in sorted(reached.places.values(), key=lambda p: (p.path.endswith("]"), len(p.path))):
        slot = note.slots.get(id(p.value.buf)) if isinstance(p.value, Tensor) else None
        if slot is not None and slot.role == "state" and not slot.place:
            slot.place = p.path.removeprefix(start)
